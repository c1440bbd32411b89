//! The journal of machine-wide settings: the old value is on disk before a setting changes.
//! Teardown, and `natmeter clean` after a kill, restore exactly what natmeter changed, except what
//! another program changed since.
//!
//! It consists of JSON lines, each flushed before the change that it describes. Opening it takes
//! the lock of the settings; a journal whose lock is free is a killed run's, which the next run
//! restores first.
//!
//! Because root acts on it, natmeter replays only a file that no other user can write, and an entry
//! names a [`Setting`], never a command or an arbitrary path.
//!
//! A kill can truncate the journal after any octet: an incomplete last line is removed before the
//! next, and values are noted as the kernel will round them, so that each prefix identifies
//! natmeter's values.

use crate::DutError;
use crate::host::Host;
use crate::lock::{self, Lock, RunDir};
use crate::private_file;
use crate::setting::Setting;
use crate::step::{Action, Target};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

mod restored;

pub use restored::{Restoration, failures};

const FILE: &str = "machine.journal";
/// Journal of changes that stay until the user undoes them.
const KEPT: &str = "doctor.journal";
/// Prefix of the journals of other hosts.
const KEPT_OF: &str = "doctor-of-";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    /// A change to `new`, as the kernel will round it; version 0.1.0 wrote the path instead.
    Change {
        #[serde(alias = "path")]
        setting: Setting,
        old: String,
        new: String,
    },
    /// The kernel rounded the previous change to an unforeseen value.
    Became { value: String },
    /// Undone, or another program has changed the setting since.
    Done { change: usize },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    setting: Setting,
    old: String,
    new: String,
    became: Option<String>,
    done: bool,
}

#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    /// Octets up to the end of the last complete line.
    sound: u64,
    changes: Vec<Change>,
    // Dropped after all others.
    _lock: Lock,
}

impl Journal {
    /// Takes the lock of the settings, and restores and returns those that a killed run left behind. Fails if another
    /// run has the lock, an existing journal is refused, or its settings cannot be restored.
    pub fn begin(dir: &RunDir, host: &mut dyn Host) -> Result<(Journal, Vec<Restoration>), DutError> {
        let mut journal = Journal::open(dir, FILE)?;
        let restored = journal.all_restored(host)?;
        Ok((journal, restored))
    }

    /// Locks the settings, and opens the journal of changes that stay until [`undo_kept`] (on this machine also
    /// [`clean`]) undoes them. `of` is the ssh destination of another host. Fails if another process has the lock, or
    /// an existing journal is refused.
    pub fn keep(dir: &RunDir, of: Option<&str>) -> Result<Journal, DutError> {
        Journal::open(dir, &kept(of))
    }

    fn open(dir: &RunDir, name: &str) -> Result<Journal, DutError> {
        let lock = Lock::take(dir, lock::SETTINGS)?;
        let path = dir.path().join(name);
        let (file, changes, sound) = load(&path)?;
        Ok(Journal { path, file, sound, changes, _lock: lock })
    }

    /// The journal keeps changes that cannot be undone.
    fn all_restored(&mut self, host: &mut dyn Host) -> Result<Vec<Restoration>, DutError> {
        let restored = self.restore(host);
        let failures = failures(&restored);
        if failures.is_empty() {
            return Ok(restored);
        }
        Err(DutError::NotRestored { failures, journal: self.path.clone() })
    }

    /// Writes a setting after its old value is on disk. Returns the number of the change, if the value differs. The
    /// outer error: the journal cannot be written, and the setting is unchanged. The inner one: the host cannot write
    /// the setting.
    pub fn write(
        &mut self,
        host: &mut dyn Host,
        why: &str,
        setting: &Setting,
        value: &str,
    ) -> Result<io::Result<Option<usize>>, DutError> {
        let value = &setting.rounded(value);
        let old = match host.read_setting(setting) {
            Ok(old) if same(&old, value) => return Ok(Ok(None)),
            Ok(old) if !setting.takes(&old) => {
                let why = format!("its value {old:?} is not a single line, so natmeter could not restore it");
                return Ok(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
            }
            Ok(old) => old,
            Err(e) => return Ok(Err(e)),
        };
        let number = self.changes.len();
        self.append(&Line::Change { setting: setting.clone(), old: old.clone(), new: value.clone() })?;
        self.changes.push(Change { setting: setting.clone(), old, new: value.clone(), became: None, done: false });
        if let Err(e) = set(host, why, setting, value) {
            // Restores the setting if it has changed all the same.
            self.undo(host, number);
            return Ok(Err(e));
        }
        match host.read_setting(setting) {
            Ok(now) if !same(&now, value) => {
                self.changes[number].became = Some(now.clone());
                if let Err(e) = self.append(&Line::Became { value: now }) {
                    self.undo(host, number);
                    return Err(e);
                }
            }
            _ => {}
        }
        Ok(Ok(Some(number)))
    }

    pub fn undo(&mut self, host: &mut dyn Host, number: usize) -> Restoration {
        let change = self.changes[number].clone();
        let result = restore_one(host, &change);
        if !matches!(result, Restoration::Failed { .. }) {
            self.finish(number);
        }
        result
    }

    pub fn restore(&mut self, host: &mut dyn Host) -> Vec<Restoration> {
        let open: Vec<usize> = (0..self.changes.len()).rev().filter(|&i| !self.changes[i].done).collect();
        let restored = open.into_iter().map(|number| self.undo(host, number)).collect();
        self.remove_if_finished();
        restored
    }

    /// Marks a change as done; without this line the change is replayed, which does no harm.
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
            // Else a crash of the machine could lose the new file.
            let folder = self.path.parent().unwrap_or(Path::new("/"));
            File::open(folder).and_then(|f| f.sync_all()).map_err(failed)?;
            self.file = Some(file);
        }
        let mut text = serde_json::to_string(line).expect("a line of strings");
        text.push('\n');
        let file = self.file.as_mut().expect("opened above");
        // An incomplete line, left by a crash or a full disk, would corrupt this one.
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

/// Restores what a killed run, then what [`Journal::keep`] recorded, and removes free lock files. Fails if a run has
/// the lock, a journal is refused, or settings cannot be restored (then it keeps the journal).
pub fn clean(dir: &RunDir, host: &mut dyn Host) -> Result<Vec<Restoration>, DutError> {
    if !dir.path().exists() {
        return Ok(Vec::new());
    }
    let _bed = Lock::take(dir, lock::TEST_BED)?;
    let (_, mut restored) = Journal::begin(dir, host)?;
    restored.extend(undo_kept(dir, None, host)?);
    Ok(restored)
}

/// Undoes the changes that [`Journal::keep`] recorded, the last first.
pub fn undo_kept(dir: &RunDir, of: Option<&str>, host: &mut dyn Host) -> Result<Vec<Restoration>, DutError> {
    if fs::symlink_metadata(dir.path().join(kept(of))).is_err() {
        return Ok(Vec::new());
    }
    Journal::keep(dir, of)?.all_restored(host)
}

pub fn kept_elsewhere(dir: &RunDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names
        .filter_map(|name| {
            Some(name.strip_prefix(KEPT_OF)?.strip_suffix(".journal")?.replace("%2F", "/").replace("%25", "%"))
        })
        .collect();
    found.sort();
    found
}

fn kept(of: Option<&str>) -> String {
    let of_host = |host: &str| format!("{KEPT_OF}{}.journal", host.replace('%', "%25").replace('/', "%2F"));
    of.map_or_else(|| KEPT.to_owned(), of_host)
}

/// Whether a journal exists, also of a run in progress.
pub fn is_left(dir: &RunDir) -> bool {
    fs::symlink_metadata(dir.path().join(FILE)).is_ok()
}

/// Reads a journal. Returns the file, its changes, and the number of octets in complete lines.
fn load(path: &Path) -> Result<(Option<File>, Vec<Change>, u64), DutError> {
    let failed = |source| DutError::Journal { doing: "reading", path: path.to_owned(), source };
    let mut file = match private_file::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((None, Vec::new(), 0)),
        Err(e) => return Err(failed(e)),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    // A crash left a last line without newline, whose change was not made.
    let sound = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    let mut changes = Vec::new();
    for (number, line) in bytes[..sound].split_inclusive(|b| *b == b'\n').enumerate() {
        apply(&mut changes, line).map_err(|reason| failed(refusal(number + 1, line, &reason)))?;
    }
    Ok((Some(file), changes, sound as u64))
}

fn apply(changes: &mut Vec<Change>, line: &[u8]) -> Result<(), String> {
    let unknown = || "it refers to a change that no earlier line describes".to_owned();
    match serde_json::from_slice(line).map_err(|e| e.to_string())? {
        Line::Change { setting, old, new } => {
            if let Some(value) = [&old, &new].into_iter().find(|value| !setting.takes(value)) {
                return Err(format!("{value:?} is not a value of {setting}"));
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

/// A program that fails is an error.
fn set(host: &mut dyn Host, why: &str, setting: &Setting, value: &str) -> io::Result<()> {
    let output = host.perform(Target::Machine, why, &Action::set(setting, value))?;
    if output.ok() { Ok(()) } else { Err(io::Error::other(output.stderr)) }
}

fn restore_one(host: &mut dyn Host, change: &Change) -> Restoration {
    let Change { setting, old, new, became, .. } = change.clone();
    let failed = |error: String| Restoration::Failed { setting: setting.clone(), old: old.clone(), error };
    let now = match host.read_setting(&setting) {
        Ok(now) => now,
        Err(e) => return failed(e.to_string()),
    };
    if same(&now, &old) {
        return Restoration::Already { setting, value: old };
    }
    let wrote = became.unwrap_or(new);
    if !same(&now, &wrote) {
        return Restoration::LeftAlone { setting, now, wrote, old };
    }
    if let Err(e) = set(host, "restore the old value", &setting, &old) {
        return failed(e.to_string());
    }
    match host.read_setting(&setting) {
        Ok(again) if same(&again, &old) => Restoration::Back { setting, from: now, to: old },
        Ok(again) => failed(format!("it reads {again} after writing")),
        Err(e) => failed(e.to_string()),
    }
}

/// Compares without blanks, because the kernel prints tabs in some values.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.split_ascii_whitespace().eq(b.split_ascii_whitespace())
}

#[cfg(test)]
mod forged;
#[cfg(test)]
mod tests;
