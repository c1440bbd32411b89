//! The journal of machine-wide settings: the old value is on disk before a new one is written, so that teardown, and
//! `natmeter clean` after a kill, restore exactly what natmeter changed and nothing else. A setting that another program
//! changed meanwhile is left alone and reported.
//!
//! Lines of JSON, each flushed to the disk before the change that it announces. Only one run at a time has a journal: the
//! lock of the settings is taken with it. A journal that is there when the lock is free was left by a killed run; the
//! next run that needs machine-wide settings restores them first and says so.
//!
//! A journal makes root write. Only a file that nobody but this user could have written is replayed, and an entry names a
//! [`Setting`] by kind, never a command or any other path.
//!
//! A kill leaves the journal cut after any octet. What has no newline is cut off before anything is appended, and the
//! value that the kernel makes of ours is known before it is written, so that every cut says which values are ours.

use crate::DutError;
use crate::host::Host;
use crate::lock::{Lock, RunDir, What};
use crate::private_file;
use crate::setting::Setting;
use crate::software::conntrack;
use crate::step::Place;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

mod restored;

pub use restored::{Restored, failures};

const FILE: &str = "machine.journal";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    /// A setting is about to change to `new`, which is what the kernel is known to make of the value asked for.
    /// Version 0.1.0 wrote its path instead.
    Change {
        #[serde(alias = "path")]
        setting: Setting,
        old: String,
        new: String,
    },
    /// The kernel made an unforeseen value of the change before.
    Became { value: String },
    /// The change of this number is taken back, or superseded by another program's.
    Done { change: usize },
}

/// One change of a machine-wide setting.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    setting: Setting,
    old: String,
    new: String,
    became: Option<String>,
    done: bool,
}

/// An open journal, with the lock of the settings.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    /// Octets of the file up to the end of its last whole line.
    sound: u64,
    changes: Vec<Change>,
    // Last, so that it is given back when all else is done.
    _lock: Lock,
}

impl Journal {
    /// Take the lock of the settings, and restore what a killed run left behind; tell what that was.
    ///
    /// # Errors
    /// When another run has the lock, the journal found is refused, or old settings cannot be restored.
    pub fn begin(dir: &RunDir, host: &mut dyn Host) -> Result<(Journal, Vec<Restored>), DutError> {
        let lock = Lock::take(dir, What::Settings)?;
        let path = dir.path().join(FILE);
        let Found { file, changes, sound } = load(&path)?;
        let mut journal = Journal { path, file, sound, changes, _lock: lock };
        let restored = journal.restore(host);
        let failures = failures(&restored);
        if failures.is_empty() {
            return Ok((journal, restored));
        }
        Err(DutError::NotRestored { failures, journal: journal.path.clone() })
    }

    /// Write a setting, its old value being on disk first. Returns the number by which it can be taken back; none if
    /// it had the value already.
    ///
    /// # Errors
    /// When the journal cannot be written (then the setting is untouched); the inner error is the host's own.
    pub fn write(
        &mut self,
        host: &mut dyn Host,
        why: &str,
        setting: &Setting,
        value: &str,
    ) -> Result<io::Result<Option<usize>>, DutError> {
        let value = &settled(setting, value);
        let old = match setting.read(host) {
            Ok(old) if same(&old, value) => return Ok(Ok(None)),
            Ok(old) if !setting.takes(&old) => {
                let why = format!("its value {old:?} is no single line, so it could not be restored");
                return Ok(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
            }
            Ok(old) => old,
            Err(e) => return Ok(Err(e)),
        };
        let number = self.changes.len();
        self.append(&Line::Change { setting: setting.clone(), old: old.clone(), new: value.clone() })?;
        self.changes.push(Change { setting: setting.clone(), old, new: value.clone(), became: None, done: false });
        if let Err(e) = set(host, why, setting, value) {
            // Mostly nothing has changed; what has is restored.
            self.take_back(host, number);
            return Ok(Err(e));
        }
        match setting.read(host) {
            Ok(now) if !same(&now, value) => {
                self.changes[number].became = Some(now.clone());
                if let Err(e) = self.append(&Line::Became { value: now }) {
                    self.take_back(host, number);
                    return Err(e);
                }
            }
            _ => {}
        }
        Ok(Ok(Some(number)))
    }

    /// Take one change back.
    pub fn take_back(&mut self, host: &mut dyn Host, number: usize) -> Restored {
        let change = self.changes[number].clone();
        let result = put_back(host, &change);
        if !matches!(result, Restored::Failed { .. }) {
            self.finish(number);
        }
        result
    }

    /// Take all changes back, the last first.
    pub fn restore(&mut self, host: &mut dyn Host) -> Vec<Restored> {
        let open: Vec<usize> = (0..self.changes.len()).rev().filter(|&i| !self.changes[i].done).collect();
        let restored = open.into_iter().map(|number| self.take_back(host, number)).collect();
        self.remove_if_finished();
        restored
    }

    /// A change is settled. Should the line not reach the disk, replaying the change once more does no harm.
    fn finish(&mut self, change: usize) {
        self.changes[change].done = true;
        let _ = self.append(&Line::Done { change });
        self.remove_if_finished();
    }

    fn remove_if_finished(&mut self) {
        if self.changes.iter().all(|c| c.done) {
            self.changes.clear();
            self.file = None;
            self.sound = 0;
            let _ = fs::remove_file(&self.path);
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), DutError> {
        let failed = |source| DutError::Journal { doing: "writing", path: self.path.clone(), source };
        if self.file.is_none() {
            let file = private_file::create(&self.path).map_err(failed)?;
            // The folder too, or the file itself might not survive a crash of the machine.
            let folder = self.path.parent().unwrap_or(Path::new("/"));
            File::open(folder).and_then(|f| f.sync_all()).map_err(failed)?;
            self.file = Some(file);
        }
        let mut text = serde_json::to_string(line).expect("a line of strings");
        text.push('\n');
        let file = self.file.as_mut().expect("opened above");
        // A line that a crash or a full disk cut short would swallow this one.
        file.set_len(self.sound)
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        self.sound += text.len() as u64;
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.remove_if_finished();
    }
}

/// Undo what a killed run left behind: `natmeter clean`. Nothing is touched that is not in the journal; lock files that
/// no process holds are removed too.
///
/// # Errors
/// When a run is alive, the journal is refused, or settings cannot be restored (then the journal is kept).
pub fn clean(dir: &RunDir, host: &mut dyn Host) -> Result<Vec<Restored>, DutError> {
    if !dir.path().exists() {
        return Ok(Vec::new());
    }
    let _bed = Lock::take(dir, What::Bed)?;
    Journal::begin(dir, host).map(|(_, restored)| restored)
}

/// Whether a run left a journal behind (or is alive and has one).
pub fn is_left(dir: &RunDir) -> bool {
    fs::symlink_metadata(dir.path().join(FILE)).is_ok()
}

/// A journal as it was found.
#[derive(Default)]
struct Found {
    /// Open for more lines, if there is one.
    file: Option<File>,
    changes: Vec<Change>,
    /// Octets of its whole lines.
    sound: u64,
}

fn load(path: &Path) -> Result<Found, DutError> {
    let failed = |source| DutError::Journal { doing: "reading", path: path.to_owned(), source };
    let mut file = match private_file::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::default()),
        Err(e) => return Err(failed(e)),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    // What has no newline was cut short by a crash, before the change it announces was made.
    let sound = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    let mut changes = Vec::new();
    for (number, line) in bytes[..sound].split_inclusive(|b| *b == b'\n').enumerate() {
        apply(&mut changes, line).map_err(|reason| failed(refusal(number + 1, line, &reason)))?;
    }
    Ok(Found { file: Some(file), changes, sound: sound as u64 })
}

/// Read one more line of a journal.
fn apply(changes: &mut Vec<Change>, line: &[u8]) -> Result<(), String> {
    let unknown = || "it speaks of a change that no line before it announces".to_owned();
    match serde_json::from_slice(line).map_err(|e| e.to_string())? {
        Line::Change { setting, old, new } => {
            if let Some(value) = [&old, &new].into_iter().find(|value| !setting.takes(value)) {
                return Err(format!("{value:?} is no value of {setting}"));
            }
            changes.push(Change { setting, old, new, became: None, done: false });
        }
        Line::Became { value } => changes.last_mut().ok_or_else(unknown)?.became = Some(value),
        Line::Done { change } => changes.get_mut(change).ok_or_else(unknown)?.done = true,
    }
    Ok(())
}

fn refusal(number: usize, line: &[u8], reason: &str) -> io::Error {
    let line = String::from_utf8_lossy(line.trim_ascii_end()).replace(char::is_control, " ");
    let text = format!(
        "line {number} is refused, so nothing was restored: {reason}. The line is `{line}`. If natmeter did not write it, remove \
         the file; else restore what the file names by hand, then remove it"
    );
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// What the kernel will make of a value: the hash of connection tracking fills whole pages of list heads, eight octets
/// each. Only an exact value can be recognised as natmeter's from the intended one alone.
fn settled(setting: &Setting, value: &str) -> String {
    match value.parse::<u64>() {
        Ok(number) if *setting == conntrack::buckets() => {
            let heads_a_page = rustix::param::page_size() as u64 / 8;
            number.checked_next_multiple_of(heads_a_page).map_or_else(|| value.to_owned(), |exact| exact.to_string())
        }
        _ => value.to_owned(),
    }
}

/// Give a setting a value; a program that refuses is an error, too.
fn set(host: &mut dyn Host, why: &str, setting: &Setting, value: &str) -> io::Result<()> {
    let output = host.perform(Place::Machine, why, &setting.set(value))?;
    if output.ok() { Ok(()) } else { Err(io::Error::other(output.stderr)) }
}

fn put_back(host: &mut dyn Host, change: &Change) -> Restored {
    let Change { setting, old, new, became, .. } = change.clone();
    let failed = |error: String| Restored::Failed { setting: setting.clone(), old: old.clone(), error };
    let now = match setting.read(host) {
        Ok(now) => now,
        Err(e) => return failed(e.to_string()),
    };
    if same(&now, &old) {
        return Restored::Already { setting, value: old };
    }
    let wrote = became.unwrap_or(new);
    if !same(&now, &wrote) {
        return Restored::LeftAlone { setting, now, wrote, old };
    }
    if let Err(e) = set(host, "restore the value of before", &setting, &old) {
        return failed(e.to_string());
    }
    match setting.read(host) {
        Ok(again) if same(&again, &old) => Restored::Back { setting, from: now, to: old },
        Ok(again) => failed(format!("it reads {again} after writing")),
        Err(e) => failed(e.to_string()),
    }
}

/// The kernel prints some values with tabs.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.split_ascii_whitespace().eq(b.split_ascii_whitespace())
}

#[cfg(test)]
mod forged;
#[cfg(test)]
mod tests;
