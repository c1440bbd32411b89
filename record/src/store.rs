//! The run folder on disk: made, locked, appended to, repaired, read. Its own file because "append-only and the
//! only truth" (ARCHITECTURE.md, invariant 8) is a promise about files, not about the types that stand in them.
//!
//! A line is one `write(2)`, so a kill leaves at most one torn line, and that one at the end. Trials are on the
//! disk before the search sees them. A line that could not be written whole is taken back, so that a full disk
//! costs the last trial and nothing that was measured before.

pub mod date;
mod jsonl;

use crate::folder::Outcome;
use jsonl::Appender;
pub use jsonl::{Lines, Torn, read_lines};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The scenario as it was read.
pub const SCENARIO: &str = "scenario.toml";
/// [`crate::folder::Header`].
pub const HEADER: &str = "run.json";
/// [`crate::folder::Facts`].
pub const FACTS: &str = "facts.json";
/// [`crate::folder::Calibration`].
pub const CALIBRATION: &str = "calibration.json";
/// [`crate::folder::SelfTest`].
pub const SELF_TEST: &str = "selftest.json";
/// The trials of a self-test's checks that did not pass, one a line; not there where all passed.
pub const SELF_TEST_TRIALS: &str = "selftest.jsonl";
/// Every DUT command with its output: [`crate::folder::CommandLine`].
pub const COMMANDS: &str = "commands.jsonl";
/// What happened, in order.
pub const EVENTS: &str = "events.jsonl";
/// One trial a line.
pub const TRIALS: &str = "trials.jsonl";
/// [`Outcome`] lines.
pub const RESULTS: &str = "results.jsonl";

/// Why the run folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name would not be one folder below the parent.
    #[error("`{0}` cannot be part of a folder's name: use letters, digits, `-`, `_` and `.`, not first a `.`")]
    Name(String),
    /// Something that is not a run folder was opened.
    #[error("{} is not a run folder ({} is missing): name the folder that `natmeter run` printed", .path.display(), .missing)]
    NotARun {
        /// What was opened.
        path: PathBuf,
        /// The file that every run folder has.
        missing: &'static str,
    },
    /// A version 1 folder whose values cannot be had from its text.
    #[error(
        "{}: no scenario in the text of this run gives the recorded values, so its report cannot be written by this version of \
         natmeter; report it with natmeter 0.1.0", .path.display()
    )]
    Underivable {
        /// The file with the values.
        path: PathBuf,
    },
    /// Another process appends to it.
    #[error("{} is in use by another natmeter: wait until it has finished, or stop it", .0.display())]
    InUse(PathBuf),
    /// A file that is written once is there already.
    #[error("{} exists already and is never written twice", .0.display())]
    Exists(PathBuf),
    /// No room for another line.
    #[error("{} could not be extended: {source}. Everything before is stored whole; make room, then `natmeter resume`", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A new folder for a run cannot be made: nothing has happened yet.
    #[error("{} cannot be made: {source}. Nothing was measured; choose a folder for runs that you can write to with --runs", .path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder cannot be written.
    #[error("{} cannot be written: {source}. What was measured is stored; make the folder writable, then `natmeter resume`", .path.display())]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Any other failure of the system.
    #[error("{} could not be {doing}: {source}", .path.display())]
    Io {
        /// What was being done, as a participle.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file whose end is unknown after an earlier failure.
    #[error("{} may end in a torn line after an earlier failure: `natmeter resume` repairs it", .0.display())]
    Broken(PathBuf),
    /// A whole line or document is not what it should be.
    #[error("{}, line {line}: {source}; the file was changed, or written by another version of natmeter", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A value that cannot be written as JSON.
    #[error("{} got something that is no JSON: {source}", .path.display())]
    Serialize {
        /// The file.
        path: PathBuf,
        /// What the serializer said.
        source: serde_json::Error,
    },
}

impl StoreError {
    /// The right variant for a failed system call.
    fn io(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
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
}

/// What was taken away from a file when it was opened again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// Always `torn-line`.
    pub event: &'static str,
    /// The file.
    pub file: &'static str,
    /// Bytes of the torn line.
    pub bytes: u64,
}

/// A run folder that this process, and no other, appends to.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    trials: Appender,
    results: Appender,
    events: Appender,
    commands: Appender,
}

impl RunFolder {
    /// Make `parent/name-YYYYMMDD-HHMMSS` with scenario and header in it, and lock it. The folder appears together with
    /// both: killed at any moment, a run leaves a folder that can be resumed or none (at most a hidden draft, which
    /// nothing reads). Two runs that start in the same second get different folders; nothing is ever overwritten.
    ///
    /// # Errors
    /// When the name is no name, or the folder cannot be made.
    pub fn create(
        parent: &Path,
        name: &str,
        now: SystemTime,
        scenario: &str,
        header: &impl Serialize,
    ) -> Result<RunFolder, StoreError> {
        if name.is_empty()
            || name.starts_with('.')
            || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            return Err(StoreError::Name(name.to_owned()));
        }
        let no_folder = |path: &Path, source| StoreError::NoFolder { path: path.to_path_buf(), source };
        let header = document(header, Path::new(HEADER))?;
        fs::create_dir_all(parent).map_err(|e| no_folder(parent, e))?;
        let (draft, path) = Draft::new(parent, &format!("{name}-{}", date::compact(now)))?;
        draft.publish(&path, &[(SCENARIO, scenario), (HEADER, &header)]).map_err(|e| no_folder(&path, e))?;
        let (folder, _) = RunFolder::open(path)?;
        // The names must survive a power cut too: a trial is on the disk only if its file is.
        sync_dir(&folder.path)?;
        sync_dir(parent)?;
        Ok(folder)
    }

    /// Open a run that was interrupted, lock it, and take torn last lines away. Each of these becomes an event.
    ///
    /// # Errors
    /// When it is no run folder, is in use, or cannot be written.
    pub fn open_for_resume(path: &Path) -> Result<(RunFolder, Vec<Repair>), StoreError> {
        if !path.join(HEADER).is_file() {
            return Err(StoreError::NotARun { path: path.to_path_buf(), missing: HEADER });
        }
        let (mut folder, repairs) = RunFolder::open(path.to_path_buf())?;
        for repair in &repairs {
            folder.append_event(repair)?;
        }
        Ok((folder, repairs))
    }

    fn open(path: PathBuf) -> Result<(RunFolder, Vec<Repair>), StoreError> {
        let mut repairs = Vec::new();
        let mut open = |name: &'static str, lock: bool| {
            let (appender, torn) = Appender::open(path.join(name), lock)?;
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
        Ok((RunFolder { path, trials, results, events, commands }, repairs))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Record a trial. When this returns, the trial is on the disk.
    ///
    /// # Errors
    /// When it could not be stored; the file then ends with the trial before.
    pub fn append_trial(&mut self, record: &impl Serialize) -> Result<(), StoreError> {
        self.trials.append(record)?;
        self.trials.sync()
    }

    /// Record the result of a measurement, and have it on the disk.
    ///
    /// # Errors
    /// As [`RunFolder::append_trial`].
    pub fn append_outcome(&mut self, outcome: &Outcome) -> Result<(), StoreError> {
        self.results.append(outcome)?;
        self.results.sync()
    }

    /// Note what happened.
    ///
    /// # Errors
    /// As [`RunFolder::append_trial`].
    pub fn append_event(&mut self, event: &impl Serialize) -> Result<(), StoreError> {
        self.events.append(event)
    }

    /// Note a command with its output.
    ///
    /// # Errors
    /// As [`RunFolder::append_trial`].
    pub fn append_command(&mut self, command: &impl Serialize) -> Result<(), StoreError> {
        self.commands.append(command)
    }

    /// Store a document under its name; a second time is an error.
    ///
    /// # Errors
    /// When it exists or cannot be written.
    pub fn write_once(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let path = self.path.join(name);
        let text = document(value, &path)?;
        if path.exists() {
            return Err(StoreError::Exists(path));
        }
        write_whole(&path, &text)
    }

    /// The recorded trials.
    ///
    /// # Errors
    /// When a whole line cannot be read.
    pub fn trials<T: DeserializeOwned>(&self) -> Result<Vec<T>, StoreError> {
        Ok(read_lines(&self.path.join(TRIALS))?.values)
    }

    /// The results so far.
    ///
    /// # Errors
    /// When a whole line cannot be read.
    pub fn outcomes(&self) -> Result<Vec<Outcome>, StoreError> {
        Ok(read_lines(&self.path.join(RESULTS))?.values)
    }
}

/// A folder that is not a run yet: `.NAME.draft` beside the run that it becomes. Whoever has made it has the name, so of two
/// processes that want the same one the second takes the next; one that a kill left behind does not stand in the way.
struct Draft(PathBuf);

impl Draft {
    /// The first of `stem`, `stem-2`, … that is free, held by its draft.
    fn new(parent: &Path, stem: &str) -> Result<(Draft, PathBuf), StoreError> {
        let mut copy = 1u32;
        loop {
            let name = if copy == 1 { stem.to_owned() } else { format!("{stem}-{copy}") };
            let (draft, path) = (parent.join(format!(".{name}.draft")), parent.join(&name));
            match fs::create_dir(&draft) {
                // Looked at while nobody else can make it.
                Ok(()) if !path.exists() => return Ok((Draft(draft), path)),
                Ok(()) => drop(Draft(draft)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StoreError::NoFolder { path, source }),
            }
            copy += 1;
        }
    }

    /// Write the documents, have them on the disk, and give the folder its name.
    fn publish(self, path: &Path, documents: &[(&str, &str)]) -> io::Result<()> {
        for (name, text) in documents {
            let mut file = File::create_new(self.0.join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        File::open(&self.0)?.sync_all()?;
        fs::rename(&self.0, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already when it has become a run; and a draft left behind is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A value as the text of a document.
fn document(value: &impl Serialize, path: &Path) -> Result<String, StoreError> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|source| StoreError::Serialize { path: path.to_path_buf(), source })
}

/// Read one JSON document of a run folder; `None` if it was never written.
///
/// # Errors
/// When it cannot be read or is not what it should be.
pub fn read_document<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::io("read", path, e)),
    };
    serde_json::from_str(&text).map(Some).map_err(|source| StoreError::Content {
        path: path.to_path_buf(),
        line: source.line(),
        source,
    })
}

/// Read a text file of a run folder.
///
/// # Errors
/// When it cannot be read.
pub fn read_text(path: &Path) -> Result<String, StoreError> {
    fs::read_to_string(path).map_err(|e| StoreError::io("read", path, e))
}

/// Write a file so that it is there whole or not at all: for documents, and for reports, which may be replaced.
///
/// # Errors
/// When it cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<(), StoreError> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".draft");
    let draft = PathBuf::from(draft);
    let written = File::create(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, path));
    written.map_err(|e| {
        // The error that is reported is the first one; a draft left behind is harmless.
        let _ = fs::remove_file(&draft);
        StoreError::io("written", path, e)
    })
}

fn sync_dir(path: &Path) -> Result<(), StoreError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path).and_then(|d| d.sync_all()).map_err(|e| StoreError::io("written to the disk", path, e))
}

/// Lock a file for this process, at once or not at all.
fn lock(file: &File, folder: &Path) -> Result<(), StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(folder.to_path_buf())),
        Err(TryLockError::Error(e)) => Err(StoreError::io("locked", folder, e)),
    }
}

#[cfg(test)]
mod tests;
