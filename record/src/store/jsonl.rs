//! One file of JSON lines: appends complete lines only, and reads a file whose last line a kill left incomplete (torn).

use super::dir::{DOCUMENT_AT_MOST, Dir, LINES_AT_MOST};
use super::{StoreError, lock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines<T> {
    pub values: Vec<T>,
    /// Octets of a torn (incomplete) last line, which a killed process left.
    pub torn: Option<u64>,
}

impl Dir {
    /// Reads a file of JSON lines without changing it; a missing file has no lines.
    ///
    /// # Errors
    /// If the file cannot be read, or a complete line is not a `T`. A torn last line is not an error.
    pub fn lines<T: DeserializeOwned>(&self, name: impl AsRef<Path>) -> Result<Lines<T>, StoreError> {
        let mut values = Vec::new();
        let torn = self.each_line(name, |value| values.push(value))?;
        Ok(Lines { values, torn })
    }

    /// Passes the lines of a JSON Lines file on one by one. Returns the octets of the torn last line, if any.
    pub fn each_line<T: DeserializeOwned>(
        &self,
        name: impl AsRef<Path>,
        mut take: impl FnMut(T),
    ) -> Result<Option<u64>, StoreError> {
        let name = name.as_ref();
        let Some(file) = self.read(name, LINES_AT_MOST)? else { return Ok(None) };
        let (mut reader, mut line, mut number) = (BufReader::new(file), Vec::new(), 0);
        loop {
            line.clear();
            let read = reader.by_ref().take(DOCUMENT_AT_MOST).read_until(b'\n', &mut line);
            let n = read.map_err(|e| StoreError::io("read", &self.path_of(name), e))? as u64;
            if line.last() != Some(&b'\n') {
                return if n == DOCUMENT_AT_MOST {
                    Err(StoreError::Large { path: self.path_of(name), at_most: DOCUMENT_AT_MOST })
                } else {
                    Ok((n > 0).then_some(n))
                };
            }
            number += 1;
            let value = serde_json::from_slice(&line);
            take(value.map_err(|source| StoreError::Content { path: self.path_of(name), line: number, source })?);
        }
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
    pub fn open(dir: &Dir, name: &str, locked: bool) -> Result<(Appender, u64), StoreError> {
        let file = dir.append(name)?;
        if locked {
            lock(&file, dir.path())?;
        }
        Appender::over(file, dir.path_of(name))
    }

    pub(super) fn over(mut file: File, path: PathBuf) -> Result<(Appender, u64), StoreError> {
        let fail = |e| StoreError::io("opened", &path, e);
        let size = file.metadata().map_err(fail)?.len();
        let large = |at_most| StoreError::Large { path: path.clone(), at_most };
        if size > LINES_AT_MOST {
            return Err(large(LINES_AT_MOST));
        }
        let len = end_of_lines(&mut file, size).map_err(fail)?.ok_or_else(|| large(DOCUMENT_AT_MOST))?;
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
        if self.len + line.len() as u64 > LINES_AT_MOST {
            let error = io::Error::new(io::ErrorKind::FileTooLarge, "a file of lines has at most 4 GiB");
            return Err(StoreError::io("extended", &self.path, error));
        }
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
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|e| StoreError::io("written to the disk", &self.path, e))
    }
}

/// The position after the last newline, searched from the end; none if what follows it is longer than any line.
fn end_of_lines(file: &mut File, size: u64) -> io::Result<Option<u64>> {
    const BLOCK: u64 = 64 * 1024;
    let (mut end, mut block) = (size, Vec::new());
    while end > 0 {
        if size - end > DOCUMENT_AT_MOST {
            return Ok(None);
        }
        let start = end.saturating_sub(BLOCK);
        block.resize((end - start) as usize, 0);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block)?;
        if let Some(at) = block.iter().rposition(|&b| b == b'\n') {
            return Ok(Some(start + at as u64 + 1));
        }
        end = start;
    }
    Ok(Some(0))
}
