//! The journal of machine-wide settings: the old value is on disk before a new one is written, so that teardown, and
//! `natmeter clean` after a kill, put back exactly what this tool changed and nothing else. A setting that somebody
//! else changed meanwhile is left alone and reported.
//!
//! Lines of JSON, each flushed to the disk before the change it speaks of. Only one run at a time has a journal: the
//! machine lock is taken with it. A journal that is there when the lock is free was left by a run that was killed;
//! the next run that needs machine-wide settings puts them back first and says so.
//!
//! A kill leaves the journal cut after any octet. What has no newline is cut off before anything is appended, and the
//! value that the kernel makes of ours is known before it is written, so that every cut says which values are ours.

use crate::DutError;
use crate::host::Host;
use crate::lock::{Lock, RunDir, What};
use crate::step::{Action, Place};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "machine.journal";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    /// `path` is about to change to `new`, which is what the kernel is known to make of the value asked for.
    Change { path: String, old: String, new: String },
    /// The kernel made something else of the change before, which nobody foresaw.
    Became { value: String },
    /// The change of this number is taken back, or nobody's business any more.
    Done { change: usize },
}

/// One change of a machine-wide setting.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    path: String,
    old: String,
    new: String,
    became: Option<String>,
    done: bool,
}

/// What became of one change when it was to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// Put back.
    Back {
        /// The setting.
        path: String,
        /// What it was set to by us.
        from: String,
        /// What it is again.
        to: String,
    },
    /// It has the old value already.
    Already {
        /// The setting.
        path: String,
        /// Its value.
        value: String,
    },
    /// Somebody else changed it after us: left alone.
    LeftAlone {
        /// The setting.
        path: String,
        /// What it is now.
        now: String,
        /// What we had written.
        wrote: String,
        /// What it was before that.
        old: String,
    },
    /// It could not be read or written; the journal keeps it.
    Failed {
        /// The setting.
        path: String,
        /// What it should be.
        old: String,
        /// What the kernel said.
        error: String,
    },
}

impl std::fmt::Display for Restored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Restored::Back { path, from, to } => write!(f, "{path}: {from} put back to {to}"),
            Restored::Already { path, value } => write!(f, "{path}: is {value} already"),
            Restored::LeftAlone { path, now, wrote, old } => {
                write!(
                    f,
                    "{path}: is {now}, but we had written {wrote}: somebody else changed it, left alone (it was {old} before us)"
                )
            }
            Restored::Failed { path, old, error } => write!(f, "{path}: not put back to {old}: {error}"),
        }
    }
}

/// An open journal, with the machine lock.
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
    /// Take the machine lock, and put back what a killed run left behind; tell what that was.
    ///
    /// # Errors
    /// When another run has the lock, or old settings cannot be put back.
    pub fn begin(dir: &RunDir, host: &mut dyn Host) -> Result<(Journal, Vec<Restored>), DutError> {
        let lock = Lock::take(dir, What::Machine)?;
        let path = dir.path().join(FILE);
        let (changes, sound) = load(&path)?;
        let mut journal = Journal { path, file: None, sound, changes, _lock: lock };
        let restored = journal.restore(host);
        let failures = failures(&restored);
        if failures.is_empty() {
            return Ok((journal, restored));
        }
        Err(DutError::NotRestored { failures, journal: journal.path.clone() })
    }

    /// Write a setting, its old value being on disk first. Gives the number by which it can be taken back; none if
    /// it had the value already.
    ///
    /// # Errors
    /// When the journal cannot be written (then the setting is untouched); the inner error is the host's own.
    pub fn write(
        &mut self,
        host: &mut dyn Host,
        why: &str,
        path: &str,
        value: &str,
    ) -> Result<io::Result<Option<usize>>, DutError> {
        let value = &settled(path, value);
        let old = match host.read(Place::Machine, path) {
            Ok(old) if same(&old, value) => return Ok(Ok(None)),
            Ok(old) => old,
            Err(e) => return Ok(Err(e)),
        };
        let action = Action::Write { path: path.to_owned(), value: value.clone() };
        let number = self.changes.len();
        self.append(&Line::Change { path: path.to_owned(), old: old.clone(), new: value.clone() })?;
        self.changes.push(Change { path: path.to_owned(), old, new: value.clone(), became: None, done: false });
        if let Err(e) = host.perform(Place::Machine, why, &action) {
            // Mostly nothing has changed; what has is put back.
            self.take_back(host, number);
            return Ok(Err(e));
        }
        match host.read(Place::Machine, path) {
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
            let file = OpenOptions::new().append(true).create(true).open(&self.path).map_err(failed)?;
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

/// Undo what a killed run left behind: `natmeter clean`. Nothing is touched that is not in the journal; the files of
/// locks that nobody has go too.
///
/// # Errors
/// When a run is alive, or settings cannot be put back (then the journal is kept).
pub fn clean(dir: &RunDir, host: &mut dyn Host) -> Result<Vec<Restored>, DutError> {
    if !dir.path().exists() {
        return Ok(Vec::new());
    }
    let _bed = Lock::take(dir, What::Bed)?;
    Journal::begin(dir, host).map(|(_, restored)| restored)
}

/// Whether a run left a journal behind (or is alive and has one).
pub fn is_left(dir: &RunDir) -> bool {
    dir.path().join(FILE).exists()
}

/// The changes of a journal, and the octets of its whole lines.
fn load(path: &Path) -> Result<(Vec<Change>, u64), DutError> {
    let failed = |source| DutError::Journal { doing: "reading", path: path.to_owned(), source };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(e) => return Err(failed(e)),
    };
    // What has no newline was cut short by a crash, before the change it announces was made.
    let sound = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    let mut changes: Vec<Change> = Vec::new();
    for line in bytes[..sound].split_inclusive(|b| *b == b'\n') {
        let broken = || {
            let line = String::from_utf8_lossy(line);
            let way_out = "what the lines before it changed is for you to put back; then remove the file";
            failed(io::Error::new(io::ErrorKind::InvalidData, format!("not a line of a journal: {line}({way_out})")))
        };
        match serde_json::from_slice(line).map_err(|_| broken())? {
            Line::Change { path, old, new } => changes.push(Change { path, old, new, became: None, done: false }),
            Line::Became { value } => changes.last_mut().ok_or_else(broken)?.became = Some(value),
            Line::Done { change } => changes.get_mut(change).ok_or_else(broken)?.done = true,
        }
    }
    Ok((changes, sound as u64))
}

/// What the kernel will make of a value: the hash of connection tracking fills whole pages of list heads, eight octets
/// each. Only an exact value can be recognised as ours by somebody who knows nothing but what was intended.
fn settled(path: &str, value: &str) -> String {
    let rounded = ["/nf_conntrack_buckets", "/nf_conntrack/parameters/hashsize"].iter().any(|end| path.ends_with(end));
    match value.parse::<u64>() {
        Ok(number) if rounded => {
            let heads_a_page = rustix::param::page_size() as u64 / 8;
            number.checked_next_multiple_of(heads_a_page).map_or_else(|| value.to_owned(), |exact| exact.to_string())
        }
        _ => value.to_owned(),
    }
}

fn put_back(host: &mut dyn Host, change: &Change) -> Restored {
    let Change { path, old, new, became, .. } = change.clone();
    let failed = |error: String| Restored::Failed { path: path.clone(), old: old.clone(), error };
    let now = match host.read(Place::Machine, &path) {
        Ok(now) => now,
        Err(e) => return failed(e.to_string()),
    };
    if same(&now, &old) {
        return Restored::Already { path, value: old };
    }
    let wrote = became.unwrap_or(new);
    if !same(&now, &wrote) {
        return Restored::LeftAlone { path, now, wrote, old };
    }
    let action = Action::Write { path: path.clone(), value: old.clone() };
    if let Err(e) = host.perform(Place::Machine, "put back the value of before", &action) {
        return failed(e.to_string());
    }
    match host.read(Place::Machine, &path) {
        Ok(again) if same(&again, &old) => Restored::Back { path, from: now, to: old },
        Ok(again) => failed(format!("it reads {again} after writing")),
        Err(e) => failed(e.to_string()),
    }
}

/// Everything that could not be put back, in words.
pub fn failures(restored: &[Restored]) -> Vec<String> {
    restored.iter().filter(|r| matches!(r, Restored::Failed { .. })).map(ToString::to_string).collect()
}

/// The kernel prints some values with tabs.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.split_ascii_whitespace().eq(b.split_ascii_whitespace())
}

#[cfg(test)]
mod tests;
