//! The control socket of a gateway: one word asks, text answers, the connection ends. A file of its own, because both
//! ends of it live here: what listens in the gateway, and what asks from a command.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A socket that listens; its file goes with it.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

/// Whoever does not say a word in this time is hung up on.
const PATIENCE: Duration = Duration::from_secs(2);
/// No request is longer.
const LONGEST: u64 = 4096;

impl Control {
    /// Listen at a path. A socket left behind by a gateway that is gone is replaced; one that is answered is not.
    ///
    /// # Errors
    /// When another gateway listens there, or the file cannot be made.
    pub fn listen(path: &Path) -> io::Result<Control> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another gateway listens there"));
        }
        match std::fs::symlink_metadata(path) {
            Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => std::fs::remove_file(path)?,
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is no socket is there")),
            Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        // Whoever may stop a gateway is its owner.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Control { listener, path: path.to_owned() })
    }

    /// Answer one request, if there is one.
    pub fn serve(&self, answer: impl FnOnce(&str) -> String) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        // Whoever hangs up early gets no answer; that is no error of ours.
        let _ = converse(&stream, answer);
    }
}

fn converse(stream: &UnixStream, answer: impl FnOnce(&str) -> String) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    let mut out = stream;
    out.write_all(answer(line.trim()).as_bytes())
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Ask a gateway.
///
/// # Errors
/// When none listens at this path, or it does not answer.
pub fn ask(path: &Path, word: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(4 * PATIENCE))?;
    writeln!(stream, "{word}")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_answered_and_a_socket_left_behind_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.sock");
        drop(UnixListener::bind(&path).unwrap());
        let control = Control::listen(&path).unwrap();
        assert_eq!(Control::listen(&path).err().map(|e| e.kind()), Some(io::ErrorKind::AddrInUse));
        let at = path.clone();
        let asked = std::thread::spawn(move || ask(&at, "status").unwrap());
        while !asked.is_finished() {
            control.serve(|word| format!("{word} is fine\n"));
            std::thread::yield_now();
        }
        assert_eq!(asked.join().unwrap(), "status is fine\n");
        drop(control);
        assert!(!path.exists());
        std::fs::write(&path, "mine").unwrap();
        assert!(Control::listen(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
