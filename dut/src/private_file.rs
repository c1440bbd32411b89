//! Files that only this user can write: journal, locks and notes, on which root acts. Each is
//! created with an explicit mode, and its owner checked before it is read.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Follows no link at the end, and never blocks on a FIFO.
const FLAGS: OFlags =
    OFlags::RDWR.union(OFlags::APPEND).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);
/// Reading suffices to take the lock, so other users must not.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Creates a new file. Fails if the name exists, even as a link.
pub fn create(path: &Path) -> io::Result<File> {
    // The umask may have removed bits.
    Ok(File::from(rustix::fs::open(path, FLAGS | OFlags::CREATE | OFlags::EXCL, MODE)?))
}

/// Opens an existing file. Fails unless this user alone can write it.
pub fn open(path: &Path) -> io::Result<File> {
    checked(File::from(rustix::fs::open(path, FLAGS, Mode::empty())?))
}

pub fn open_or_create(path: &Path) -> io::Result<File> {
    checked(File::from(rustix::fs::open(path, FLAGS | OFlags::CREATE, MODE)?))
}

fn checked(file: File) -> io::Result<File> {
    let found = file.metadata()?;
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    let wrong = if !found.is_file() {
        "it is not a regular file".to_owned()
    } else if owner != user {
        format!("it belongs to user {owner}, and natmeter runs as user {user}")
    } else if found.mode() & 0o022 != 0 {
        format!("other users can write it (mode {:03o})", found.mode() & 0o777)
    } else {
        return Ok(file);
    };
    let way_out = "natmeter trusts only files that it wrote itself: inspect this one, then remove it";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{wrong}; {way_out}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn refusal(path: &Path) -> String {
        open(path).unwrap_err().to_string()
    }

    #[test]
    fn a_new_file_is_private_to_the_user() {
        let dir = tempfile::tempdir().unwrap();
        for (name, make) in [("new", create as fn(&Path) -> io::Result<File>), ("opened", open_or_create)] {
            let path = dir.path().join(name);
            assert_eq!(make(&path).unwrap().metadata().unwrap().mode() & 0o777, 0o600);
            open(&path).unwrap();
            assert!(create(&path).is_err(), "it is there already");
        }
    }

    #[test]
    fn a_file_that_others_could_have_written_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, fifo) = (dir.path().join("file"), dir.path().join("link"), dir.path().join("fifo"));
        fs::write(&file, "").unwrap();
        for mode in [0o620, 0o602, 0o666] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert!(refusal(&file).contains(&format!("other users can write it (mode {mode:03o})")));
        }
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        open(&file).unwrap();
        symlink(&file, &link).unwrap();
        assert!(open(&link).is_err() && open_or_create(&link).is_err() && create(&link).is_err());
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, MODE, 0).unwrap();
        assert!(refusal(&fifo).contains("not a regular file"));
        assert!(open(dir.path()).is_err());
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_file_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        create(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        assert!(refusal(&path).contains("it belongs to user 12345, and natmeter runs as user 0"), "{}", refusal(&path));
    }
}
