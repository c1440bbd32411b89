//! An open folder, below which natmeter opens regular files of limited size by their name alone and without following links:
//! another user who may write the folder cannot lead it to another file.

use super::{StoreError, lock};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Take, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Largest document, and longest line, octets.
pub(crate) const DOCUMENT_AT_MOST: u64 = 64 << 20;
/// Largest file of lines, octets.
pub(crate) const LINES_AT_MOST: u64 = 4 << 30;

/// Follows no link, and waits for no other end of a FIFO.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// The umask removes bits.
const FILE: Mode = Mode::from_raw_mode(0o666);
const FOLDER: Mode = Mode::from_raw_mode(0o777);

#[derive(Debug)]
pub struct Dir {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens the folder that the user named. Links in its path are the user's, so they are followed.
    pub fn open(path: &Path) -> Result<Dir, StoreError> {
        let at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let opened = fs::open(at, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let descriptor = opened.map_err(|e| StoreError::io("read", path, e.into()))?;
        Ok(Dir { descriptor, path: path.to_path_buf() })
    }

    /// Opens the folder of a file that the user named, and returns the name of the file.
    pub fn of_file(path: &Path) -> Result<(Dir, &OsStr), StoreError> {
        let name = path.file_name();
        let name = name.ok_or_else(|| StoreError::io("opened", path, io::Error::other("it names no file")))?;
        Ok((Dir::open(path.parent().unwrap_or(Path::new("")))?, name))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn path_of(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The same folder once more.
    pub fn again(&self) -> Result<Dir, StoreError> {
        let descriptor = self.descriptor.try_clone().map_err(|e| StoreError::io("opened", &self.path, e))?;
        Ok(Dir { descriptor, path: self.path.clone() })
    }

    pub fn folder(&self, name: impl AsRef<Path>) -> Result<Dir, StoreError> {
        let name = self.a_name(name.as_ref())?;
        self.see_that_it_is(FileType::Directory, name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | FLAGS;
        let opened = fs::openat(&self.descriptor, name, flags, Mode::empty());
        let descriptor = opened.map_err(|e| self.failed("read", name, e))?;
        Ok(Dir { descriptor, path: self.path.join(name) })
    }

    /// Makes a new folder in it.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken.
    pub fn make(&self, name: impl AsRef<Path>) -> Result<Dir, StoreError> {
        let name = self.a_name(name.as_ref())?;
        fs::mkdirat(&self.descriptor, name, FOLDER).map_err(|e| self.failed("created", name, e))?;
        self.folder(name)
    }

    /// Opens a folder in it, and makes it if there is none.
    pub fn folder_or_new(&self, name: impl AsRef<Path>) -> Result<Dir, StoreError> {
        match self.make(name.as_ref()) {
            Err(error) if error.is_taken() => self.folder(name),
            made => made,
        }
    }

    /// Returns the attributes of what has this name; none if nothing has it. Follows no link.
    pub fn attributes(&self, name: impl AsRef<Path>) -> Option<Stat> {
        fs::statat(&self.descriptor, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        self.attributes(name).is_some()
    }

    /// Checks that a name is free or that of a regular file, and returns the file's attributes.
    pub fn regular(&self, name: impl AsRef<Path>) -> Result<Option<Stat>, StoreError> {
        self.see_that_it_is(FileType::RegularFile, name.as_ref())
    }

    /// The names in it, with the kind of each.
    pub fn names(&self) -> Result<Vec<(OsString, FileType)>, StoreError> {
        let failed = |e: rustix::io::Errno| StoreError::io("read", &self.path, e.into());
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.descriptor).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            // Some file systems do not know the kind.
            let kind = match entry.file_type() {
                FileType::Unknown => self.attributes(name).map_or(FileType::Unknown, |stat| kind(&stat)),
                known => known,
            };
            names.push((name.to_owned(), kind));
        }
        Ok(names)
    }

    /// Opens a file for reading; none if it does not exist.
    pub fn read(&self, name: impl AsRef<Path>, at_most: u64) -> Result<Option<Take<File>>, StoreError> {
        let name = name.as_ref();
        if self.regular(name)?.is_none() {
            return Ok(None);
        }
        let file = self.file("read", name, OFlags::RDONLY)?;
        let length = file.metadata().map_err(|e| StoreError::io("read", &self.path_of(name), e))?.len();
        if length > at_most {
            Err(StoreError::Large { path: self.path_of(name), at_most })
        } else {
            Ok(Some(file.take(at_most)))
        }
    }

    pub fn text(&self, name: impl AsRef<Path>) -> Result<Option<String>, StoreError> {
        let name = name.as_ref();
        let Some(mut file) = self.read(name, DOCUMENT_AT_MOST)? else { return Ok(None) };
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| StoreError::io("read", &self.path_of(name), e))?;
        Ok(Some(text))
    }

    /// Opens or creates a file that only grows.
    ///
    /// # Errors
    /// If it is not a regular file, or has a second name elsewhere (a hard link).
    pub fn append(&self, name: impl AsRef<Path>) -> Result<File, StoreError> {
        self.file("opened", name.as_ref(), OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    /// Creates a file, or empties an existing one.
    pub fn rewrite(&self, name: impl AsRef<Path>) -> Result<File, StoreError> {
        let name = name.as_ref();
        // Emptied only after it was checked.
        let file = self.file("written", name, OFlags::WRONLY | OFlags::CREATE)?;
        file.set_len(0).map_err(|e| StoreError::io("written", &self.path_of(name), e))?;
        Ok(file)
    }

    /// Creates a file.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, even by a link.
    pub fn create(&self, name: impl AsRef<Path>) -> Result<File, StoreError> {
        self.file("created", name.as_ref(), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Begins a file that gets its name when it is complete. It replaces the draft of a killed process.
    ///
    /// # Errors
    /// If another process writes it, or something other than a regular file has its name or the name of its draft.
    pub fn draft(&self, name: impl AsRef<Path>) -> Result<Draft<'_>, StoreError> {
        let name = name.as_ref();
        self.regular(name)?;
        let draft = draft_of(name);
        loop {
            if self.regular(&draft)?.is_some() {
                let left = self.file("opened", &draft, OFlags::RDWR)?;
                lock(&left, &self.path_of(&draft))?;
                self.remove_if_it_is(&left, &draft)?;
            }
            let file = match self.create(&draft) {
                Err(error) if error.is_taken() => continue,
                created => created?,
            };
            lock(&file, &self.path_of(&draft))?;
            // Another process may have removed it before it was locked.
            if self.is_at(&file, &draft) {
                return Ok(Draft { dir: self, file, name: name.to_path_buf(), until_then: draft });
            }
        }
    }

    /// Writes a file atomically; it may replace an existing file.
    pub fn replace(&self, name: impl AsRef<Path>, text: &str) -> Result<(), StoreError> {
        let mut draft = self.draft(name)?;
        let written = draft.file.write_all(text.as_bytes());
        written.map_err(|e| StoreError::io("written", &self.path_of(&draft.name), e))?;
        draft.publish()
    }

    /// Begins a folder under the name of a draft. It replaces the draft of a killed process, if `is_draft` knows its content.
    ///
    /// # Errors
    /// If another process fills it, or the name belongs to something else.
    pub fn draft_folder(&self, name: impl AsRef<Path>, is_draft: impl Fn(&Dir) -> bool) -> Result<Dir, StoreError> {
        let name = name.as_ref();
        loop {
            let dir = match self.make(name) {
                Err(error) if error.is_taken() => {
                    let left = self.folder(name)?;
                    left.lock()?;
                    if !is_draft(&left) {
                        return Err(StoreError::Taken(left.path));
                    }
                    // Follows no link below it.
                    let removed = std::fs::remove_dir_all(&left.path);
                    removed.map_err(|e| StoreError::io("removed", &left.path, e))?;
                    continue;
                }
                made => made?,
            };
            dir.lock()?;
            if self.is_at(&dir.descriptor, name) {
                return Ok(dir);
            }
        }
    }

    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let to = to.as_ref();
        let renamed = fs::renameat(&self.descriptor, from.as_ref(), &self.descriptor, to);
        renamed.map_err(|e| self.failed("created", to, e))
    }

    #[must_use]
    pub fn renamed(self, path: PathBuf) -> Dir {
        Dir { path, ..self }
    }

    /// Syncs the names in it to the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        fs::fsync(&self.descriptor).map_err(|e| StoreError::io("written to the disk", &self.path, e.into()))
    }

    fn lock(&self) -> Result<(), StoreError> {
        let descriptor = self.descriptor.try_clone().map_err(|e| StoreError::io("locked", &self.path, e))?;
        // The lock belongs to the open folder, not to this descriptor.
        lock(&File::from(descriptor), &self.path)
    }

    fn file(&self, doing: &'static str, name: &Path, flags: OFlags) -> Result<File, StoreError> {
        let name = self.a_name(name)?;
        if !flags.contains(OFlags::EXCL) {
            self.regular(name)?;
        }
        let opened =
            fs::openat(&self.descriptor, name, flags | FLAGS, FILE).map_err(|e| self.failed(doing, name, e))?;
        let stat = fs::fstat(&opened).map_err(|e| self.failed(doing, name, e))?;
        self.see_that(&stat, FileType::RegularFile, name)?;
        if stat.st_nlink > 1 && flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
            return Err(StoreError::Linked(self.path_of(name)));
        }
        Ok(File::from(opened))
    }

    /// Refuses a path: nothing outside the folder is opened.
    fn a_name<'a>(&self, name: &'a Path) -> Result<&'a Path, StoreError> {
        let mut components = name.components();
        match (components.next(), components.next()) {
            (Some(Component::Normal(only)), None) if only == name.as_os_str() => Ok(name),
            _ => {
                Err(StoreError::io("opened", &self.path_of(name), io::Error::other("it is not a name in this folder")))
            }
        }
    }

    fn see_that_it_is(&self, wanted: FileType, name: &Path) -> Result<Option<Stat>, StoreError> {
        match fs::statat(&self.descriptor, self.a_name(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.see_that(&stat, wanted, name).map(|()| Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(e) => Err(self.failed("read", name, e)),
        }
    }

    fn see_that(&self, stat: &Stat, wanted: FileType, name: &Path) -> Result<(), StoreError> {
        let found = kind(stat);
        if found == wanted {
            return Ok(());
        }
        let (found, wanted) = (in_words(found), in_words(wanted));
        Err(StoreError::Kind { path: self.path_of(name), found, wanted })
    }

    fn is_at(&self, file: impl AsFd, name: &Path) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        fs::fstat(file).is_ok_and(|open| self.attributes(name).map(identity) == Some(identity(open)))
    }

    fn remove_if_it_is(&self, file: &File, name: &Path) -> Result<(), StoreError> {
        if self.is_at(file, name) {
            let removed = fs::unlinkat(&self.descriptor, name, AtFlags::empty());
            removed.map_err(|e| self.failed("removed", name, e))?;
        }
        Ok(())
    }

    fn failed(&self, doing: &'static str, name: &Path, e: rustix::io::Errno) -> StoreError {
        StoreError::io(doing, &self.path_of(name), e.into())
    }
}

/// A file that is not complete.
#[derive(Debug)]
pub struct Draft<'a> {
    dir: &'a Dir,
    /// Where to write.
    pub file: File,
    name: PathBuf,
    until_then: PathBuf,
}

impl Draft<'_> {
    /// Syncs the file, and gives it its name.
    pub fn publish(self) -> Result<(), StoreError> {
        self.file.sync_all().map_err(|e| StoreError::io("written", &self.dir.path_of(&self.name), e))?;
        self.dir.rename(&self.until_then, &self.name)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // After an error. A complete file has another name by now.
        let _ = self.dir.remove_if_it_is(&self.file, &self.until_then);
    }
}

pub(crate) fn draft_of(name: &Path) -> PathBuf {
    with_ending(name, ".draft")
}

pub(crate) fn with_ending(name: &Path, ending: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "a device",
    }
}
