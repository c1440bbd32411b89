//! A note of what must be restored on a device that hooks changed: the hook `restore`, its host,
//! and the copies of hooks there. It is written before `prepare` and removed after `restore`, so
//! that the next run and `natmeter clean` can restore the device without the bed file.
//!
//! Root may run the command in it, so natmeter reads only a note that no other user could have written.

use super::ExternalConfig;
use super::hook::{Hook, Hooks};
use super::hook_host::{self, HookHost, On};
use crate::changes::UndoResult;
use crate::host::ssh;
use crate::lock::{Lock, RunDir};
use crate::step::Sink;
use crate::{DutError, private_file};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "external-";
const NOTE: &str = "note";
const LOCK: &str = "lock";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    pub(super) name: String,
    /// Destination of ssh, if not this machine.
    pub(super) host: Option<String>,
    pub(super) ssh_config: Option<PathBuf>,
    pub(super) folder: PathBuf,
    pub(super) files: Vec<String>,
    pub(super) copies: Option<String>,
    pub(super) restore: Option<String>,
    pub(super) timeout_ms: u64,
}

impl Note {
    fn on(&self) -> On {
        self.host.clone().map_or(On::Local, On::Ssh)
    }

    /// Returns the configuration of the device without hooks, so that `restore` can run there.
    fn config(&self) -> ExternalConfig {
        let Note { name, ssh_config, folder, timeout_ms, .. } = self.clone();
        let (timeout, hooks) = (Duration::from_millis(timeout_ms), Hooks::new());
        ExternalConfig { name, on: self.on(), ssh_config, hooks, folder, timeout, values: Vec::new(), software: None }
    }
}

/// The lock of a device with its note; one run at a time has it.
pub(super) struct DeviceLock {
    note: PathBuf,
    // Dropped after all others.
    _lock: Option<Lock>,
}

impl DeviceLock {
    /// Fails with [`DutError::Busy`] when another process has it.
    pub(super) fn take(dir: &RunDir, name: &str, on: &On) -> Result<DeviceLock, DutError> {
        if matches!(on, On::Namespace(_)) {
            // No other process has this namespace.
            return Ok(DeviceLock { note: dir.path().join(key(name, on)).with_extension(NOTE), _lock: None });
        }
        DeviceLock::at(dir, &key(name, on), &format!("the DUT {name} ({on})"))
    }

    fn at(dir: &RunDir, key: &str, words: &str) -> Result<DeviceLock, DutError> {
        let lock = Lock::take_file(dir, &format!("{key}.{LOCK}"), words)?;
        Ok(DeviceLock { note: dir.path().join(key).with_extension(NOTE), _lock: Some(lock) })
    }

    pub(super) fn note(&self) -> &Path {
        &self.note
    }

    /// The last complete line of the file counts.
    pub(super) fn write(&self, note: &Note) -> Result<(), DutError> {
        let failed = |source| DutError::Journal { doing: "writing", path: self.note.clone(), source };
        let mut file = private_file::open_or_create(&self.note).map_err(failed)?;
        let line = serde_json::to_string(note).expect("a note of strings") + "\n";
        // A crash may have left an incomplete line.
        file.write_all(format!("\n{line}").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        let folder = self.note.parent().unwrap_or(Path::new("/"));
        File::open(folder).and_then(|f| f.sync_all()).map_err(failed)
    }

    pub(super) fn forget(&self) {
        let _ = fs::remove_file(&self.note);
    }

    fn left(&self) -> Result<Option<Note>, DutError> {
        let failed = |source| DutError::Journal { doing: "reading", path: self.note.clone(), source };
        let mut text = String::new();
        match private_file::open(&self.note) {
            Ok(mut file) => file.read_to_string(&mut text).map_err(failed)?,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed(e)),
        };
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let Some(line) = complete.lines().rfind(|line| !line.is_empty()) else { return Ok(None) };
        let note: Note = serde_json::from_str(line).map_err(|e| failed(io::Error::other(e)))?;
        if note.copies.as_deref().is_some_and(|copies| !hook_host::is_folder_of_copies(copies)) {
            return Err(failed(io::Error::other("it names a folder that natmeter did not make")));
        }
        Ok(Some(note))
    }

    /// Returns what was done, or [`DutError::StillChanged`].
    pub(super) fn restore_left(&self, dir: &RunDir, sink: &Sink) -> Result<Vec<String>, DutError> {
        let Some(note) = self.left()? else {
            // A crash before the first complete line: nothing was changed.
            self.forget();
            return Ok(Vec::new());
        };
        match self.retry(&note, dir, sink) {
            Ok(done) => {
                self.forget();
                Ok(done)
            }
            Err(cause) => Err(DutError::StillChanged {
                what: format!("the DUT {} ({})", note.name, note.on()),
                cause: Box::new(cause),
                note: self.note.clone(),
            }),
        }
    }

    fn retry(&self, note: &Note, dir: &RunDir, sink: &Sink) -> Result<Vec<String>, DutError> {
        let mut place = HookHost::of(&note.config(), dir, sink)?;
        let mut done = Vec::new();
        let exists = match &note.copies {
            Some(copies) => place.use_folder(copies)?,
            None => true,
        };
        let Note { name, .. } = note;
        if let Some(line) = &note.restore {
            if !exists {
                // The host may have restarted: copy the hooks again.
                let copies = place.make_folder()?;
                self.write(&Note { copies, ..note.clone() })?;
                place.copy(&note.files)?;
            }
            place.must(Hook::Restore, line)?;
            done.push(format!("{name} ({}): restored by `{line}`", place.on));
        }
        place.remove_folder()?;
        if note.copies.is_some() {
            done.push(format!("{name} ({}): the copies of its hooks are removed", place.on));
        }
        Ok(done)
    }
}

/// Restores the devices that killed runs left changed, and continues after a failure. Fails if a run has one of the
/// devices.
pub fn clean(dir: &RunDir, sink: &Sink) -> Result<UndoResult, DutError> {
    let mut undone = UndoResult::default();
    for key in keys(dir) {
        let lock = DeviceLock::at(dir, &key, "a device under test")?;
        match lock.restore_left(dir, sink) {
            Ok(done) => undone.done.extend(done),
            Err(error) => undone.left.push(error.to_string()),
        }
    }
    ssh::remove_left_folders(dir);
    Ok(undone)
}

/// Whether a note exists, also of a run in progress.
pub fn is_left(dir: &RunDir) -> bool {
    let is_note = |key: &String| dir.path().join(key).with_extension(NOTE).exists();
    keys(dir).iter().any(is_note)
}

fn keys(dir: &RunDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).into_iter().flatten().flatten();
    let key = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (key, kind) = name.rsplit_once('.')?;
        (key.starts_with(PREFIX) && [NOTE, LOCK].contains(&kind)).then(|| key.to_owned())
    };
    let mut keys: Vec<String> = entries.filter_map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A device that natmeter makes belongs to its process.
fn key(name: &str, on: &On) -> String {
    if is_made(on) { format!("{}-{}", of_all(name, on), std::process::id()) } else { of_all(name, on) }
}

fn is_made(on: &On) -> bool {
    matches!(on, On::Namespace(_) | On::Guest(_))
}

/// The FNV-1a hash of name and host.
fn of_all(name: &str, on: &On) -> String {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = format!("{name}\0{on}").bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    format!("{PREFIX}{hash:016x}")
}

/// Restores what ended runs changed under this name and host; returns what was done, or [`DutError::StillChanged`].
pub(super) fn restore_ended(dir: &RunDir, name: &str, on: &On, sink: &Sink) -> Result<Vec<String>, DutError> {
    let mut done = Vec::new();
    let (own, all) = (key(name, on), of_all(name, on));
    for ended in keys(dir).into_iter().filter(|key| is_made(on) && *key != own && key.starts_with(&all)) {
        match DeviceLock::at(dir, &ended, "a device under test") {
            Ok(lock) => done.extend(lock.restore_left(dir, sink)?),
            // Another run has its own.
            Err(DutError::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
