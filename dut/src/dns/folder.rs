//! A temporary folder, private to its user, for the programs of a bed.

use crate::DutError;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new() -> Result<Folder, DutError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("natmeter-dns-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder { path }),
                // Of a run that was killed, or of another user.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(DutError::Journal { doing: "making the folder", path, source }),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), DutError> {
        self.write_with(name, |out| out.write_all(text.as_bytes()))
    }

    pub(super) fn write_with(
        &self,
        name: &str,
        pieces: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), DutError> {
        let path = self.path.join(name);
        let written = File::create_new(&path).map(BufWriter::new).and_then(|mut out| {
            pieces(&mut out)?;
            out.flush()
        });
        written.map_err(|source| DutError::Journal { doing: "writing", path, source })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
