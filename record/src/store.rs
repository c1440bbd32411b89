//! The run folder on disk: creates, locks, extends, repairs and reads its files (ARCHITECTURE.md, invariant 8). A line is one
//! `write(2)`, so a kill leaves at most one incomplete line, at the end; a full disk loses the last trial only.

pub mod date;
pub mod dir;
mod jsonl;

use crate::folder::{NullDevice, Outcome};
use crate::versioned::VersionedDocument;
pub use dir::Dir;
pub use jsonl::{Appender, Lines};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const SCENARIO: &str = "scenario.toml";
/// [`crate::folder::Header`].
pub const HEADER: &str = "run.json";
/// [`crate::folder::Facts`].
pub const FACTS: &str = "facts.json";
/// [`crate::folder::Calibration`].
pub const CALIBRATION: &str = "calibration.json";
/// [`crate::folder::SelfTest`].
pub const SELF_TEST: &str = "selftest.json";
/// The trials of a self-test's checks that did not pass, one a line; absent if all passed.
pub const SELF_TEST_TRIALS: &str = "selftest.jsonl";
/// Every DUT command with its output: [`crate::folder::CommandLine`].
pub const COMMANDS: &str = "commands.jsonl";
pub const EVENTS: &str = "events.jsonl";
pub const TRIALS: &str = "trials.jsonl";
/// [`Outcome`] lines.
pub const RESULTS: &str = "results.jsonl";
/// [`NullDevice`] lines; absent until one is recorded.
pub const NULLS: &str = "null.jsonl";
pub const PAGE: &str = "report.html";
pub const CAPTURES: &str = "captures";

const ALL_FILES: [&str; 12] =
    [SCENARIO, HEADER, FACTS, CALIBRATION, SELF_TEST, SELF_TEST_TRIALS, COMMANDS, EVENTS, TRIALS, RESULTS, NULLS, PAGE];

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "`{0}` cannot be part of a folder's name: use letters, digits, `-`, `_` and `.`, and do not begin with `.` or `-`"
    )]
    Name(String),
    #[error("{} is not a run folder ({} is missing): name the folder that `natmeter run` printed", .path.display(), .missing)]
    NotARun { path: PathBuf, missing: &'static str },
    #[error(
        "{}: the recorded values do not follow from the scenario text of this run, so this version of natmeter cannot report \
         it; use natmeter 0.1.0", .path.display()
    )]
    Underivable { path: PathBuf },
    #[error("{} is missing; restore it from a copy", .0.display())]
    Missing(PathBuf),
    #[error("{} is in use by another natmeter: wait until it has finished, or stop it", .0.display())]
    InUse(PathBuf),
    #[error("{} could not be extended: {source}. Everything measured before is stored. Free disk space, then run `natmeter resume`", .path.display())]
    Full { path: PathBuf, source: io::Error },
    #[error("{} cannot be created: {source}. Nothing was measured. Name a writable folder with --runs", .path.display())]
    NoFolder { path: PathBuf, source: io::Error },
    #[error("{} cannot be written: {source}. Everything measured before is stored. Make the folder writable, then run `natmeter resume`", .path.display())]
    ReadOnly { path: PathBuf, source: io::Error },
    #[error("{} could not be {doing}: {source}", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is {found}, not {wanted}; remove it, or restore it from a copy", .path.display())]
    Kind { path: PathBuf, found: &'static str, wanted: &'static str },
    #[error("{} has a second name (a hard link), and natmeter would write both; replace it by a copy", .0.display())]
    Linked(PathBuf),
    #[error("{} has more than {at_most} octets, or a line that long; restore it from a copy", .path.display())]
    Large { path: PathBuf, at_most: u64 },
    #[error("{} is in the way, and is no draft of natmeter: rename it; nothing was changed", .0.display())]
    Taken(PathBuf),
    #[error("{} may end in an incomplete line after an earlier failure: run `natmeter resume`, which repairs it", .0.display())]
    Broken(PathBuf),
    #[error("{}, line {line}: {source}; the file was changed, or another version of natmeter wrote it; restore it from a copy, or use that version", .path.display())]
    Content { path: PathBuf, line: usize, source: serde_json::Error },
    #[error(
        "{}, line {line}: device number {number} with the name `{name}` is not in the scenario of this run; the file was changed; \
         restore it from a copy", .path.display()
    )]
    Device { path: PathBuf, line: usize, number: usize, name: String },
    #[error("{}: a value cannot be written as JSON: {source}", .path.display())]
    Serialize { path: PathBuf, source: serde_json::Error },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                StoreError::Full { path, source }
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied if doing != "read" => {
                StoreError::ReadOnly { path, source }
            }
            _ => StoreError::Io { doing, path, source },
        }
    }

    fn is_taken(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists)
    }

    fn of_new(self, path: &Path) -> StoreError {
        match self {
            StoreError::Io { source, .. } | StoreError::Full { source, .. } | StoreError::ReadOnly { source, .. } => {
                StoreError::NoFolder { path: path.to_path_buf(), source }
            }
            other => other,
        }
    }
}

/// The incomplete line that was removed from a file when it was opened again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Repair {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// Always `torn-line`.
    pub event: &'static str,
    /// The file.
    pub file: &'static str,
    /// Bytes of the incomplete line.
    pub bytes: u64,
}

/// A run folder that only this process appends to.
#[derive(Debug)]
pub struct RunFolder {
    dir: Dir,
    trials: Appender,
    results: Appender,
    events: Appender,
    commands: Appender,
    nulls: Option<Appender>,
}

impl RunFolder {
    /// Creates and locks `parent/name-YYYYMMDD-HHMMSS`, which appears together with scenario and header: a kill at any moment
    /// leaves a folder that can be resumed, or a hidden draft. Two runs of one second get different folders.
    pub fn create(
        parent: &Path,
        name: &str,
        now: SystemTime,
        scenario: &str,
        header: &impl Serialize,
    ) -> Result<RunFolder, StoreError> {
        if name.is_empty()
            || name.starts_with(['.', '-'])
            || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            return Err(StoreError::Name(name.to_owned()));
        }
        let header = document(header, Path::new(HEADER))?;
        let made = std::fs::create_dir_all(parent);
        made.map_err(|source| StoreError::NoFolder { path: parent.to_path_buf(), source })?;
        let parent = Dir::open(parent)?;
        let draft = Draft::new(&parent, &format!("{name}-{}", date::compact(now)))?;
        let path = parent.path_of(&draft.name);
        let dir = draft.publish(&[(SCENARIO, scenario), (HEADER, &header)]).map_err(|error| error.of_new(&path))?;
        let (folder, _) = RunFolder::open(dir)?;
        // Syncs the directories too: after a power failure a trial exists only if the entry of its file does.
        folder.dir.sync()?;
        parent.sync()?;
        Ok(folder)
    }

    /// Opens and locks an interrupted run, and removes incomplete last lines. Each removal becomes an event.
    ///
    /// # Errors
    /// If it is not a run folder, is in use, or cannot be written; also if something other than a regular file has the name of
    /// one of its files. Then nothing is changed.
    pub fn open_for_resume(path: &Path) -> Result<(RunFolder, Vec<Repair>), StoreError> {
        let dir = Dir::of_run(path)?;
        dir.see_that_files_are_regular()?;
        ALL_FILES.iter().try_for_each(|name| dir.regular(dir::draft_of(name.as_ref())).map(drop))?;
        if dir.has(CAPTURES) {
            dir.folder(CAPTURES)?;
        }
        if !dir.has(HEADER) {
            return Err(StoreError::NotARun { path: path.to_path_buf(), missing: HEADER });
        }
        let (mut folder, repairs) = RunFolder::open(dir)?;
        for repair in &repairs {
            folder.append_event(repair)?;
        }
        Ok((folder, repairs))
    }

    fn open(dir: Dir) -> Result<(RunFolder, Vec<Repair>), StoreError> {
        let mut repairs = Vec::new();
        let mut open = |name: &'static str, lock: bool| {
            let (appender, torn) = Appender::open(&dir, name, lock)?;
            if torn > 0 {
                repairs.push(Repair {
                    at: date::rfc3339(SystemTime::now()),
                    event: "torn-line",
                    file: name,
                    bytes: torn,
                });
            }
            Ok(appender)
        };
        // The lock is on the trials: it ends with the process, however that ends.
        let trials = open(TRIALS, true)?;
        let (results, events, commands) = (open(RESULTS, false)?, open(EVENTS, false)?, open(COMMANDS, false)?);
        let nulls = dir.has(NULLS).then(|| open(NULLS, false)).transpose()?;
        Ok((RunFolder { dir, trials, results, events, commands, nulls }, repairs))
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Records a trial. When this returns, the trial is on the disk.
    ///
    /// # Errors
    /// If it could not be stored; the file then ends with the trial before.
    pub fn append_trial(&mut self, record: &impl Serialize) -> Result<(), StoreError> {
        self.trials.append(record)?;
        self.trials.sync()
    }

    pub fn append_outcome(&mut self, outcome: &Outcome) -> Result<(), StoreError> {
        self.results.append(outcome)?;
        self.results.sync()
    }

    /// Records a measurement of the null device on the disk.
    pub fn append_null(&mut self, null: &NullDevice) -> Result<(), StoreError> {
        let nulls = match &mut self.nulls {
            Some(nulls) => nulls,
            // Most folders of devices without a null device never have this file.
            none => none.insert(Appender::open(&self.dir, NULLS, false)?.0),
        };
        nulls.append(null)?;
        nulls.sync()
    }

    pub fn append_event(&mut self, event: &impl Serialize) -> Result<(), StoreError> {
        self.events.append(&VersionedDocument::of(event))
    }

    pub fn append_command(&mut self, command: &impl Serialize) -> Result<(), StoreError> {
        self.commands.append(command)
    }

    pub fn trials<T: DeserializeOwned>(&self) -> Result<Vec<T>, StoreError> {
        Ok(self.dir.lines(TRIALS)?.values)
    }

    pub fn outcomes(&self) -> Result<Vec<Outcome>, StoreError> {
        Ok(self.dir.lines(RESULTS)?.values)
    }
}

/// A folder that is not a run yet: `.NAME.draft`, next to the run that it becomes. The process that creates it has the name.
struct Draft<'a> {
    parent: &'a Dir,
    dir: Dir,
    name: String,
}

impl Draft<'_> {
    /// The first of `stem`, `stem-2`, … that is free, held by its draft.
    fn new<'a>(parent: &'a Dir, stem: &str) -> Result<Draft<'a>, StoreError> {
        let mut copy = 1u32;
        loop {
            let name = if copy == 1 { stem.to_owned() } else { format!("{stem}-{copy}") };
            match parent.make(hidden(&name)) {
                Ok(dir) => {
                    let draft = Draft { parent, dir, name };
                    // Checked while no other process can create it.
                    if !parent.has(&draft.name) {
                        return Ok(draft);
                    }
                }
                Err(error) if error.is_taken() => {}
                Err(error) => return Err(error.of_new(&parent.path_of(name))),
            }
            copy += 1;
        }
    }

    /// Writes and syncs the documents, and gives the folder its name.
    fn publish(self, documents: &[(&str, &str)]) -> Result<Dir, StoreError> {
        documents.iter().try_for_each(|(name, text)| self.dir.replace(name, text))?;
        self.dir.sync()?;
        self.parent.rename(hidden(&self.name), &self.name)?;
        Ok(self.dir.again()?.renamed(self.parent.path_of(&self.name)))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // Fails if the draft has become a run. A remaining draft is harmless.
        let _ = std::fs::remove_dir_all(self.parent.path_of(hidden(&self.name)));
    }
}

fn hidden(name: &str) -> String {
    format!(".{name}.draft")
}

fn document(value: &impl Serialize, path: &Path) -> Result<String, StoreError> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|source| StoreError::Serialize { path: path.to_path_buf(), source })
}

impl Dir {
    /// Opens the folder that the user named as a run.
    pub fn of_run(folder: &Path) -> Result<Dir, StoreError> {
        match Dir::open(folder) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::NotARun { path: folder.to_path_buf(), missing: HEADER })
            }
            opened => opened,
        }
    }

    /// Checks that each file of a run is a regular one, or missing.
    pub(crate) fn see_that_files_are_regular(&self) -> Result<(), StoreError> {
        ALL_FILES.iter().try_for_each(|name| self.regular(name).map(drop))
    }

    /// Reads one JSON document; `None` if it does not exist.
    pub fn document<T: DeserializeOwned>(&self, name: impl AsRef<Path>) -> Result<Option<T>, StoreError> {
        let name = name.as_ref();
        let Some(text) = self.text(name)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|source| StoreError::Content {
            path: self.path_of(name),
            line: source.line(),
            source,
        })
    }

    /// Writes one JSON document; it may replace an existing one.
    pub fn write(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        self.replace(name, &document(value, &self.path_of(name))?)
    }
}

/// Whether a folder has the first document of a run.
pub fn is_run(folder: &Path) -> bool {
    Dir::open(folder).is_ok_and(|folder| folder.has(HEADER))
}

/// Writes a file atomically; it may replace an existing file.
pub fn write_whole(path: &Path, text: &str) -> Result<(), StoreError> {
    let (dir, name) = Dir::of_file(path)?;
    dir.replace(name, text)
}

/// Locks a file for this process, without waiting.
fn lock(file: &File, folder: &Path) -> Result<(), StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(folder.to_path_buf())),
        Err(TryLockError::Error(e)) => Err(StoreError::io("locked", folder, e)),
    }
}

#[cfg(test)]
mod tests;
