//! Table files of a running gateway, which another program may be writing. The gateway refuses a
//! file that is empty, ends within a line, or changes while it is read, and a new binding table
//! that lacks most softwires of the old one: the file may be incomplete.

use plane::lw4o6::{BindingTable, Softwire};
use std::cmp::Ordering;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tech::Technology;

/// A table file, with its state before it is read.
pub(super) struct TableFile {
    key: &'static str,
    path: PathBuf,
    stamp: Stamp,
}

/// Device, number, length and time of the last change.
type Stamp = (u64, u64, u64, i64, i64);

impl TableFile {
    /// Fails if the file is empty or ends within a line.
    pub(super) fn of(technology: &dyn Technology) -> Result<Option<TableFile>, String> {
        let Some((key, path)) = technology.file() else { return Ok(None) };
        let refused = |why: &dyn fmt::Display| refused(key, path, why);
        let last = File::open(path).and_then(|file| last_octet(&file)).map_err(|e| refused(&e))?;
        match last {
            Some(b'\n') => {}
            Some(_) => {
                return Err(refused(&"the file ends within a line: end its last line with a line feed"));
            }
            None => return Err(refused(&"the file is empty")),
        }
        let stamp = stamp(path).map_err(|e| refused(&e))?;
        Ok(Some(TableFile { key, path: path.to_owned(), stamp }))
    }

    /// Fails if the file has changed since.
    pub(super) fn is_unchanged(&self) -> Result<(), String> {
        if stamp(&self.path).is_ok_and(|now| now == self.stamp) {
            return Ok(());
        }
        let (key, path) = (self.key, self.path.display());
        Err(format!(
            "{key} = \"{path}\": the file changed while it was read; the gateway keeps the old table: reload again when the file is complete"
        ))
    }

    /// Fails if the file removes more than half of the softwires.
    pub(super) fn keeps_most(&self, changes: &Changes) -> Result<(), String> {
        let Changes { before, all, removed, .. } = changes;
        if *removed <= before / 2 {
            return Ok(());
        }
        let why = format!("the file has {all} softwires, and lacks {removed} of the {before} in use");
        Err(format!(
            "{}; complete the file, or accept the removal with natmeter gateway reload --allow-removal",
            refused(self.key, &self.path, &why)
        ))
    }
}

fn refused(key: &str, path: &Path, why: &dyn fmt::Display) -> String {
    format!("{key} = \"{}\": {why}; the gateway keeps the old table", path.display())
}

fn last_octet(mut file: &File) -> io::Result<Option<u8>> {
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    let mut octet = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut octet)?;
    Ok(Some(octet[0]))
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    std::fs::metadata(path).map(|m| (m.dev(), m.ino(), m.len(), m.mtime(), m.mtime_nsec()))
}

/// The changes of a new binding table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    before: u64,
    /// Softwires of the new table.
    all: u64,
    added: u64,
    removed: u64,
    /// Softwires with the same address and port set, but another lwB4 or another lwAFTR address.
    changed: u64,
}

impl Changes {
    /// Softwires are sorted by address and PSID.
    pub(super) fn between(old: &BindingTable, new: &BindingTable) -> Changes {
        let by = |s: &Softwire| (s.ipv4, s.ports.psid);
        let mut changes = Changes { before: old.len(), all: new.len(), ..Changes::default() };
        let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => by(a).cmp(&by(b)),
            };
            match order {
                Ordering::Less => changes.removed += u64::from(old.next().is_some()),
                Ordering::Greater => changes.added += u64::from(new.next().is_some()),
                Ordering::Equal => changes.changed += u64::from(old.next() != new.next()),
            }
        }
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes { all, added, removed, changed, .. } = self;
        write!(f, "{all} softwires, {added} added, {removed} removed, {changed} changed")
    }
}
