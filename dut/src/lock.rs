//! The folder for files that outlive a killed run, and locks that prevent two runs at a time. A
//! lock is a kernel lock (flock), released when the process ends, even after a kill.

use crate::{DutError, Holder, private_file};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// `/run/natmeter` for root, else `natmeter` in the user's runtime folder. It stays when it is empty: removing it would
/// detach what another mount namespace has mounted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// The folder of this user, inside and outside a user namespace.
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

    /// Folder of root, which alone changes machine-wide settings.
    pub fn of_root() -> RunDir {
        RunDir::at("/run/natmeter")
    }

    pub fn at(path: impl Into<PathBuf>) -> RunDir {
        RunDir { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nothing outlives the runs of this user.
    pub fn is_empty(&self) -> bool {
        fs::read_dir(&self.path).into_iter().flatten().next().is_none()
    }

    /// Creates the folder if necessary. Fails if another user can write to it.
    pub fn make(&self) -> Result<(), DutError> {
        let failed = |doing, source| DutError::Journal { doing, path: self.path.clone(), source };
        match fs::DirBuilder::new().mode(0o755).create(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                let what = "the file system is read-only: mount a tmpfs on its parent (docker run --tmpfs /run)";
                return Err(failed("making", io::Error::new(e.kind(), what)));
            }
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed("making", e)),
            _ => {}
        }
        let found = fs::symlink_metadata(&self.path).map_err(|e| failed("reading the attributes of", e))?;
        let ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0;
        if ours {
            return Ok(());
        }
        let theirs =
            io::Error::new(io::ErrorKind::PermissionDenied, "it is not a folder that only this user can write to");
        Err(failed("using", theirs))
    }
}

/// User id, or inside a user namespace the outer one to which root is mapped.
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

/// A resource that one run at a time may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    file: &'static str,
    pub(crate) words: &'static str,
}

pub const SETTINGS: Resource =
    Resource { file: "machine.lock", words: "the set of machine-wide settings (connection tracking, backlog)" };
/// Cores and caches of this machine, locked for runs of this user.
pub const MACHINE: Resource = Resource { file: "measuring.lock", words: "this machine" };
/// Network namespaces of this machine.
pub const TEST_BED: Resource = Resource { file: "bed.lock", words: "the test bed on this machine" };

/// The lock file is removed on drop.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes a lock. Fails if another process has it.
    pub fn take(dir: &RunDir, of: Resource) -> Result<Lock, DutError> {
        Lock::take_file(dir, of.file, of.words)
    }

    /// `words` names the resource in the error.
    pub(crate) fn take_file(dir: &RunDir, file: &str, words: &str) -> Result<Lock, DutError> {
        let path = dir.path.join(file);
        let failed = |doing, source| DutError::Journal { doing, path: path.clone(), source };
        loop {
            dir.make()?;
            let file = match private_file::open_or_create(&path) {
                Ok(file) => file,
                // Another process removed the empty folder.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(failed("opening", e)),
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(busy(&path, words)),
                Err(e) => return Err(failed("locking", e.into())),
            }
            // The former holder may have removed the file in the meantime, so that the lock is worthless.
            if !is_at(&file, &path) {
                continue;
            }
            let mut lock = Lock { path: path.clone(), file };
            lock.sign().map_err(|e| failed("writing", e))?;
            return Ok(lock);
        }
    }

    fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all(format!("{}\n{}\n", std::process::id(), in_words(std::env::args_os())).as_bytes())
    }
}

/// Command line in words; arguments may have any octets.
fn in_words(arguments: impl Iterator<Item = OsString>) -> String {
    arguments.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<String>>().join(" ")
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is still held, so that no other process locks a vanishing file.
        let _ = fs::remove_file(&self.path);
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Refuses early. Fails if another process has the test bed.
pub fn see_that_bed_is_free(dir: &RunDir) -> Result<(), DutError> {
    if dir.path.join(TEST_BED.file).exists() { Lock::take(dir, TEST_BED).map(drop) } else { Ok(()) }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |m: fs::Metadata| (m.dev(), m.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

fn busy(path: &Path, words: &str) -> DutError {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut lines = text.lines().map(str::to_owned);
    let holder = match (lines.next(), lines.next()) {
        (Some(pid), Some(command)) => Holder::Process { pid, command },
        // The child has not written its pid yet.
        _ => Holder::Unknown,
    };
    DutError::Busy { what: words.to_owned(), holder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_process_that_has_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let dir = RunDir::at(dir.path().join("natmeter"));
        let first = Lock::take(&dir, TEST_BED).unwrap();
        assert!(matches!(see_that_bed_is_free(&dir), Err(DutError::Busy { .. })));
        let error = Lock::take(&dir, TEST_BED).unwrap_err().to_string();
        assert!(
            error.contains(&format!("the test bed on this machine is in use by process {} (", std::process::id())),
            "{error}"
        );
        let other = Lock::take(&dir, SETTINGS).unwrap();
        drop(first);
        see_that_bed_is_free(&dir).unwrap();
        Lock::take(&dir, TEST_BED).unwrap();
        assert!(dir.path().exists(), "the other lock is still in it");
        drop(other);
        assert!(dir.is_empty() && dir.path().exists());
    }

    #[test]
    fn a_command_line_may_have_any_octets() {
        use std::os::unix::ffi::OsStringExt;
        let arguments = [b"natmeter".to_vec(), b"z/\xff\xfeq".to_vec()].map(OsString::from_vec);
        assert_eq!(in_words(arguments.into_iter()), "natmeter z/\u{fffd}\u{fffd}q");
    }

    #[test]
    fn a_file_without_a_lock_can_be_taken() {
        let dir = tempfile::tempdir().unwrap();
        let dir = RunDir::at(dir.path());
        fs::write(dir.path().join("bed.lock"), "1\ninit\n").unwrap();
        Lock::take(&dir, TEST_BED).unwrap();
    }

    #[test]
    fn a_folder_that_other_users_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Lock::take(&RunDir::at(dir.path()), TEST_BED).is_err());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(tempfile::tempdir().unwrap().path(), &link).unwrap();
        assert!(Lock::take(&RunDir::at(link), TEST_BED).is_err());
    }
}
