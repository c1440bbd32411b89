//! One file of JSON lines: appends complete lines only, and reads a file whose last line a kill left incomplete (torn).

use super::{StoreError, lock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A torn (incomplete) last line: the process was killed while it wrote this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Its length.
    pub bytes: u64,
}

/// The content of a file of JSON lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines<T> {
    /// The complete lines.
    pub values: Vec<T>,
    /// The torn line after them, if any.
    pub torn: Option<Torn>,
}

/// Reads a file of JSON lines without changing it; a missing file has no lines.
///
/// # Errors
/// If the file cannot be read, or a complete line is not a `T`. A torn last line is not an error.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Lines<T>, StoreError> {
    let mut values = Vec::new();
    let torn = each_line(path, |value| values.push(value))?;
    Ok(Lines { values, torn })
}

/// Passes the lines of such a file on one by one, and returns the torn line after them, if any.
///
/// # Errors
/// Those of [`read_lines`].
pub fn each_line<T: DeserializeOwned>(path: &Path, mut take: impl FnMut(T)) -> Result<Option<Torn>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::io("read", path, e)),
    };
    let (mut reader, mut line, mut number) = (BufReader::new(file), Vec::new(), 0);
    loop {
        line.clear();
        let n = reader.read_until(b'\n', &mut line).map_err(|e| StoreError::io("read", path, e))?;
        if line.last() != Some(&b'\n') {
            return Ok((n > 0).then_some(Torn { bytes: n as u64 }));
        }
        number += 1;
        let value = serde_json::from_slice(&line);
        take(value.map_err(|source| StoreError::Content { path: path.to_path_buf(), line: number, source })?);
    }
}

/// An append-only file of JSON lines.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    /// Length up to the end of the last whole line.
    len: u64,
    /// A failed line could not be removed.
    broken: bool,
}

impl Appender {
    /// Opens or creates the file, removes a torn last line and returns the length of that line. It locks the file first;
    /// otherwise it would remove a line that another process is writing.
    ///
    /// # Errors
    /// If it cannot be opened, or another process has locked it.
    pub fn open(path: PathBuf, locked: bool) -> Result<(Appender, u64), StoreError> {
        let fail = |e| StoreError::io("opened", &path, e);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(fail)?;
        if locked {
            lock(&file, path.parent().unwrap_or(&path))?;
        }
        let size = file.metadata().map_err(fail)?.len();
        let len = end_of_lines(&mut file, size).map_err(fail)?;
        if len < size {
            file.set_len(len).and_then(|()| file.sync_all()).map_err(fail)?;
        }
        Ok((Appender { file, path, len, broken: false }, size - len))
    }

    /// Appends one line with one `write(2)`.
    ///
    /// # Errors
    /// If it could not be written completely; the file then ends with the line before.
    pub fn append(&mut self, value: &impl Serialize) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::Broken(self.path.clone()));
        }
        let mut line =
            serde_json::to_vec(value).map_err(|source| StoreError::Serialize { path: self.path.clone(), source })?;
        line.push(b'\n');
        let written = loop {
            match self.file.write(&line) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let error = match written {
            Ok(n) if n == line.len() => {
                self.len += n as u64;
                return Ok(());
            }
            // A partial write means that there is no space for the rest.
            Ok(_) => io::Error::from(io::ErrorKind::StorageFull),
            Err(e) => e,
        };
        self.broken = self.file.set_len(self.len).is_err();
        Err(StoreError::io("extended", &self.path, error))
    }

    /// Syncs everything appended so far to the disk.
    ///
    /// # Errors
    /// If the disk cannot be written.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|e| StoreError::io("written to the disk", &self.path, e))
    }
}

/// The position after the last newline, searched from the end.
fn end_of_lines(file: &mut File, size: u64) -> io::Result<u64> {
    const BLOCK: u64 = 64 * 1024;
    let (mut end, mut block) = (size, Vec::new());
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        block.resize((end - start) as usize, 0);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block)?;
        if let Some(at) = block.iter().rposition(|&b| b == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
