//! Writes a folder as the archive of a kernel's first file system: format "newc" of
//! Documentation/driver-api/early-userspace/buffer-format.rst. Owners are root and times 0: equal
//! folders make equal archives.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_777;

pub(super) struct Archive<W: Write> {
    to: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    pub(super) fn to(to: W) -> Archive<W> {
        Archive { to, entries: 0 }
    }

    /// Appends a folder `from` as `name`, without the paths that `keep` refuses.
    pub(super) fn tree(&mut self, from: &Path, name: &Path, keep: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        if !name.as_os_str().is_empty() {
            self.entry(name, FOLDER, b"")?;
        }
        let mut inside: Vec<PathBuf> = fs::read_dir(from)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
        inside.sort_unstable();
        for path in inside {
            let name = name.join(path.file_name().unwrap_or_default());
            if !keep(&name) {
                continue;
            }
            let found = fs::symlink_metadata(&path)?;
            if found.is_dir() {
                self.tree(&path, &name, keep)?;
            } else if found.is_symlink() {
                self.entry(&name, LINK, fs::read_link(&path)?.as_os_str().as_bytes())?;
            } else {
                // The group bits of set-user-ID programs have no use in a guest of one user.
                self.entry(&name, FILE | found.permissions().mode() & 0o755, &fs::read(&path)?)?;
            }
        }
        Ok(())
    }

    pub(super) fn program(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.entry(Path::new(name), FILE | 0o755, text.as_bytes())
    }

    pub(super) fn folder(&mut self, name: &str) -> io::Result<()> {
        self.entry(Path::new(name), FOLDER, b"")
    }

    pub(super) fn link(&mut self, name: &str, target: &str) -> io::Result<()> {
        self.entry(Path::new(name), LINK, target.as_bytes())
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.entries = 0;
        self.entry(Path::new("TRAILER!!!"), 0, b"")?;
        self.to.flush()
    }

    fn entry(&mut self, name: &Path, mode: u32, data: &[u8]) -> io::Result<()> {
        let name = name.as_os_str().as_bytes();
        let too_long = |_| io::Error::new(io::ErrorKind::FileTooLarge, "a file of more than 4 GiB");
        let (size, length) = (u32::try_from(data.len()).map_err(too_long)?, name.len() as u32 + 1);
        // inode, mode, user, group, links, time, size, device of the file (2), device of a node (2), name, checksum
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, length, 0];
        self.entries += 1;
        self.to.write_all(b"070701")?;
        fields.iter().try_for_each(|field| write!(self.to, "{field:08x}"))?;
        self.to.write_all(name)?;
        self.padded(1, 110 + length as usize)?;
        self.to.write_all(data)?;
        self.padded(0, data.len())
    }

    /// Writes `ends` zeroes, and pads what was `written` to four octets.
    fn padded(&mut self, ends: usize, written: usize) -> io::Result<()> {
        self.to.write_all(&[0; 4][..ends + written.wrapping_neg() % 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The octets follow from the format's description: header of 110 octets, name and data padded to four.
    #[test]
    fn entries_have_the_format_newc() {
        let mut octets = Vec::new();
        let mut archive = Archive::to(&mut octets);
        archive.program("init", "hello").unwrap();
        archive.end().unwrap();
        let head = |fields: [u32; 13]| fields.map(|f| format!("{f:08x}")).concat();
        let init = head([0, 0o100_755, 0, 0, 1, 0, 5, 0, 0, 0, 0, 5, 0]);
        let end = head([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 11, 0]);
        let text = format!("070701{init}init\0\0hello\0\0\0070701{end}TRAILER!!!\0\0\0\0");
        assert_eq!(String::from_utf8(octets).unwrap(), text);
    }

    #[test]
    fn equal_folders_make_equal_archives() {
        let make = || {
            let folder = tempfile::tempdir().unwrap();
            for name in ["b", "a", "skipped"] {
                fs::create_dir(folder.path().join(name)).unwrap();
                fs::write(folder.path().join(name).join("file"), name).unwrap();
            }
            std::os::unix::fs::symlink("a", folder.path().join("c")).unwrap();
            let mut octets = Vec::new();
            let mut archive = Archive::to(&mut octets);
            archive.tree(folder.path(), Path::new(""), &|name| !name.starts_with("skipped")).unwrap();
            archive.end().unwrap();
            octets
        };
        assert_eq!(make(), make());
        let text = String::from_utf8(make()).unwrap();
        let at = |name: &str| text.find(name).unwrap_or(usize::MAX);
        assert!(at("a/file\0") < at("b/file\0") && at("skipped") == usize::MAX, "{text}");
    }
}
