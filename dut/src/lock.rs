//! Where natmeter keeps what must outlive a run that is killed, and the locks that keep two runs apart. A lock is
//! the kernel's (flock): it goes with the process that holds it, however that ends.

use crate::{DutError, Holder, private_file};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folder for locks and the journal: `/run/natmeter` for root, else `natmeter` in the user's runtime folder.
/// It is there only while something is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// That of this user; the same before and after entering a user namespace.
    pub fn of_this_user() -> RunDir {
        let uid = first_user_id();
        if uid == 0 {
            return RunDir::of_root();
        }
        match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(dir) if Path::new(&dir).is_dir() => RunDir::at(Path::new(&dir).join("natmeter")),
            _ => RunDir::at(format!("/tmp/natmeter-{uid}")),
        }
    }

    /// That of root, whoever asks: only root changes the machine.
    pub fn of_root() -> RunDir {
        RunDir::at("/run/natmeter")
    }

    /// Another one.
    pub fn at(path: impl Into<PathBuf>) -> RunDir {
        RunDir { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Make it if it is not there, and see that nobody else can write to it.
    ///
    /// # Errors
    /// When it cannot be made, or is not ours alone.
    pub fn make(&self) -> Result<(), DutError> {
        let failed = |doing, source| DutError::Journal { doing, path: self.path.clone(), source };
        match fs::DirBuilder::new().mode(0o755).create(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed("making", e)),
            _ => {}
        }
        let found = fs::symlink_metadata(&self.path).map_err(|e| failed("looking at", e))?;
        let ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0;
        if ours {
            return Ok(());
        }
        let theirs = io::Error::new(io::ErrorKind::PermissionDenied, "not a folder that only this user can write to");
        Err(failed("using", theirs))
    }

    /// Remove it if nothing is in it.
    pub fn tidy(&self) {
        // Refused when it is not empty, which is the purpose.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The user that started us: inside a user namespace everybody is root, so what this user is mapped to counts.
fn first_user_id() -> u32 {
    let own = rustix::process::geteuid().as_raw();
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let parse = |line: &str| -> Option<[u32; 3]> {
        let numbers: Vec<u32> = line.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        numbers.try_into().ok()
    };
    map.lines()
        .filter_map(parse)
        .find(|[inside, _, count]| own.checked_sub(*inside).is_some_and(|offset| offset < *count))
        .map_or(own, |[inside, outside, _]| outside + (own - inside))
}

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The settings of the whole machine.
    Settings,
    /// The cores and caches of this machine, among the runs of one user.
    Measuring,
    /// The test bed in namespaces of this machine: two at once would measure each other.
    Bed,
}

impl What {
    fn file(self) -> &'static str {
        match self {
            What::Settings => "machine.lock",
            What::Measuring => "measuring.lock",
            What::Bed => "bed.lock",
        }
    }
    pub(crate) fn words(self) -> &'static str {
        match self {
            What::Settings => "this machine's settings (connection tracking, backlog)",
            What::Measuring => "this machine, for measuring,",
            What::Bed => "the test bed on this machine",
        }
    }
}

/// A lock that is held. Its file goes when it is given back.
#[derive(Debug)]
pub struct Lock {
    dir: RunDir,
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Take a lock.
    ///
    /// # Errors
    /// [`DutError::Busy`] when another process has it.
    pub fn take(dir: &RunDir, what: What) -> Result<Lock, DutError> {
        let path = dir.path.join(what.file());
        let failed = |doing, source| DutError::Journal { doing, path: path.clone(), source };
        loop {
            dir.make()?;
            let file = match private_file::open_or_create(&path) {
                Ok(file) => file,
                // The folder was tidied away between making and opening.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(failed("opening", e)),
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(busy(&path, what)),
                Err(e) => return Err(failed("locking", e.into())),
            }
            // Whoever had it before may have removed the file after we opened it: then this lock protects nothing.
            if !is_at(&file, &path) {
                continue;
            }
            let mut lock = Lock { dir: dir.clone(), path: path.clone(), file };
            lock.sign().map_err(|e| failed("writing", e))?;
            return Ok(lock);
        }
    }

    /// Say who has it.
    fn sign(&mut self) -> io::Result<()> {
        let command: Vec<String> = std::env::args().collect();
        self.file.set_len(0)?;
        self.file.write_all(format!("{}\n{}\n", std::process::id(), command.join(" ")).as_bytes())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is still held, so that nobody can take a file that is about to go.
        let _ = fs::remove_file(&self.path);
        let _ = flock(&self.file, FlockOperation::Unlock);
        self.dir.tidy();
    }
}

/// See that no run has the test bed at this moment. It is taken when a device is prepared; this is for those who want to
/// refuse before they do anything else.
///
/// # Errors
/// [`DutError::Busy`] when another process has it.
pub fn see_that_bed_is_free(dir: &RunDir) -> Result<(), DutError> {
    if dir.path.join(What::Bed.file()).exists() { Lock::take(dir, What::Bed).map(drop) } else { Ok(()) }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |m: fs::Metadata| (m.dev(), m.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

fn busy(path: &Path, what: What) -> DutError {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut lines = text.lines().map(str::to_owned);
    let holder = match (lines.next(), lines.next()) {
        (Some(pid), Some(command)) => Holder::Process { pid, command },
        // It has the lock, and has not signed yet.
        _ => Holder::Unknown,
    };
    DutError::Busy { what: what.words().to_owned(), holder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_who_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = RunDir::at(dir.path().join("natmeter"));
        let first = Lock::take(&dir, What::Bed).unwrap();
        assert!(matches!(see_that_bed_is_free(&dir), Err(DutError::Busy { .. })));
        let error = Lock::take(&dir, What::Bed).unwrap_err().to_string();
        assert!(
            error.contains(&format!("the test bed on this machine is in use by process {} (", std::process::id())),
            "{error}"
        );
        let other = Lock::take(&dir, What::Settings).unwrap();
        drop(first);
        see_that_bed_is_free(&dir).unwrap();
        Lock::take(&dir, What::Bed).unwrap();
        assert!(dir.path().exists(), "the other lock is still in it");
        drop(other);
        assert!(!dir.path().exists(), "nothing is left");
    }

    #[test]
    fn a_file_without_its_lock_is_nobodys() {
        let dir = tempfile::tempdir().unwrap();
        let dir = RunDir::at(dir.path());
        fs::write(dir.path().join("bed.lock"), "1\ninit\n").unwrap();
        Lock::take(&dir, What::Bed).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Lock::take(&RunDir::at(dir.path()), What::Bed).is_err());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(tempfile::tempdir().unwrap().path(), &link).unwrap();
        assert!(Lock::take(&RunDir::at(link), What::Bed).is_err());
    }
}
