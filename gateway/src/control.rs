//! The control socket of a gateway: a client sends one line, gets text, and the connection ends.
//! Serves many clients in turn without waiting for any.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A control socket; dropping the value removes the file.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    clients: VecDeque<Client>,
}

/// Time limit for a client's line.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);
/// Time limit for taking the answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Longest request in octets.
const LONGEST: usize = 4096;
/// A further client replaces the oldest, so that silent ones cannot block others.
const MOST_CLIENTS: usize = 256;

impl Control {
    /// Listens at a path. Replaces the socket of a gateway that has ended.
    ///
    /// # Errors
    /// Another gateway listens there, or the file cannot be made.
    pub fn listen(path: &Path) -> io::Result<Control> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(ErrorKind::AddrInUse, "another gateway listens there"));
        }
        match std::fs::symlink_metadata(path) {
            Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => std::fs::remove_file(path)?,
            Ok(_) => return Err(io::Error::new(ErrorKind::AlreadyExists, "a file that is no socket is there")),
            Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        // Only the owner may stop a gateway.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Control { listener, path: path.to_owned(), clients: VecDeque::new() })
    }

    /// Waits at most `wait` until a client or one of `others` is ready, and answers every complete request.
    pub fn serve(&mut self, wait: Duration, others: &[BorrowedFd<'_>], mut answer: impl FnMut(&str) -> String) {
        self.wait(wait, others);
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                if self.clients.len() == MOST_CLIENTS {
                    self.clients.pop_front();
                }
                self.clients.push_back(Client::new(stream));
            }
        }
        let now = Instant::now();
        // A client that hangs up early is no error.
        self.clients.retain_mut(|client| client.step(&mut answer).unwrap_or(false) && now < client.deadline);
    }

    fn wait(&self, wait: Duration, others: &[BorrowedFd<'_>]) {
        let clients = self.clients.iter().map(|c| PollFd::new(&c.stream, c.wants()));
        let others = others.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN));
        let mut all: Vec<_> = clients.chain(others).collect();
        all.push(PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN));
        // A signal ends the wait early; there is no other error.
        let _ = poll(&mut all, Timespec::try_from(wait).ok().as_ref());
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Client {
    stream: UnixStream,
    deadline: Instant,
    talk: Talk,
}

enum Talk {
    Request(Vec<u8>),
    /// The answer, and how many octets are sent.
    Answer(Vec<u8>, usize),
}

impl Client {
    fn new(stream: UnixStream) -> Client {
        Client { stream, deadline: Instant::now() + REQUEST_WITHIN, talk: Talk::Request(Vec::new()) }
    }

    fn wants(&self) -> PollFlags {
        match self.talk {
            Talk::Request(_) => PollFlags::IN,
            Talk::Answer(..) => PollFlags::OUT,
        }
    }

    /// Goes on with the talk; false when the connection is over.
    fn step(&mut self, answer: &mut impl FnMut(&str) -> String) -> io::Result<bool> {
        if let Talk::Request(so_far) = &mut self.talk {
            let Some(line) = read_line(&mut self.stream, so_far)? else { return Ok(true) };
            let text = answer(line.trim());
            self.talk = Talk::Answer(text.into_bytes(), 0);
            self.deadline = Instant::now() + ANSWER_WITHIN;
        }
        match &mut self.talk {
            Talk::Request(_) => Ok(true),
            Talk::Answer(text, sent) => write_rest(&mut self.stream, text, sent),
        }
    }
}

fn read_line(stream: &mut UnixStream, so_far: &mut Vec<u8>) -> io::Result<Option<String>> {
    let mut part = [0; LONGEST];
    loop {
        let ended = match stream.read(&mut part) {
            Ok(n) => {
                so_far.extend_from_slice(&part[..n]);
                n == 0
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let end = so_far.iter().position(|octet| *octet == b'\n');
        if end.or(ended.then_some(so_far.len())).is_some_and(|n| n <= LONGEST) {
            so_far.truncate(end.unwrap_or(so_far.len()));
            return Ok(Some(String::from_utf8_lossy(so_far).into_owned()));
        }
        if so_far.len() > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
    }
}

/// Writes what the socket takes; true while there is more.
fn write_rest(stream: &mut UnixStream, text: &[u8], sent: &mut usize) -> io::Result<bool> {
    while *sent < text.len() {
        match stream.write(&text[*sent..]) {
            Ok(n) => *sent += n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}

/// A gateway may read a large binding table before it answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks a gateway.
///
/// # Errors
/// None listens at this path, or it does not answer.
pub fn ask(path: &Path, word: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    writeln!(stream, "{word}")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{ScopedJoinHandle, scope};

    fn echo(word: &str) -> String {
        format!("{word} is fine\n")
    }

    fn serve_until<T>(control: &mut Control, client: &ScopedJoinHandle<'_, T>) {
        while !client.is_finished() {
            control.serve(Duration::from_millis(1), &[], echo);
        }
    }

    fn listening() -> (tempfile::TempDir, Control) {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::listen(&folder.path().join("g.sock")).unwrap();
        (folder, control)
    }

    #[test]
    fn a_word_is_answered_and_a_socket_left_behind_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.sock");
        drop(UnixListener::bind(&path).unwrap());
        let mut control = Control::listen(&path).unwrap();
        assert_eq!(Control::listen(&path).err().map(|e| e.kind()), Some(ErrorKind::AddrInUse));
        scope(|threads| {
            let asked = threads.spawn(|| ask(&path, "status").unwrap());
            serve_until(&mut control, &asked);
            assert_eq!(asked.join().unwrap(), "status is fine\n");
        });
        drop(control);
        assert!(!path.exists());
        std::fs::write(&path, "mine").unwrap();
        assert!(Control::listen(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    /// The gateway waits neither for silent clients nor for those that have sent half a word, however many there are.
    #[test]
    fn slow_clients_delay_no_other() {
        let (_folder, mut control) = listening();
        let path = control.path.clone();
        let slow: Vec<_> = (0..MOST_CLIENTS)
            .map(|i| {
                let mut stream = UnixStream::connect(&path).unwrap();
                stream.write_all(if i % 2 == 0 { b"" } else { b"sta" }).unwrap();
                control.serve(Duration::ZERO, &[], echo);
                stream
            })
            .collect();
        assert_eq!(control.clients.len(), MOST_CLIENTS);
        let deadlines: Vec<_> = control.clients.iter().map(|c| c.deadline).collect();
        scope(|threads| {
            let honest = threads.spawn(|| ask(&path, "status").unwrap());
            serve_until(&mut control, &honest);
            assert_eq!(honest.join().unwrap(), "status is fine\n");
        });
        assert_eq!(control.clients.len(), MOST_CLIENTS - 1, "the oldest made room");
        // A further octet does not extend the time limit.
        for mut stream in slow.iter().skip(1) {
            stream.write_all(b"t").unwrap();
        }
        control.serve(Duration::ZERO, &[], echo);
        assert!(control.clients.iter().map(|c| c.deadline).eq(deadlines.into_iter().skip(1)));
    }

    #[test]
    fn a_client_is_hung_up_on_at_its_deadline() {
        let (_folder, mut control) = listening();
        let mut silent = UnixStream::connect(&control.path).unwrap();
        control.serve(Duration::ZERO, &[], echo);
        control.clients[0].deadline = Instant::now();
        control.serve(Duration::ZERO, &[], echo);
        assert!(control.clients.is_empty());
        assert_eq!(silent.read(&mut [0]).unwrap(), 0, "hung up");
    }

    /// An answer larger than the socket's buffer is sent as the client reads it.
    #[test]
    fn a_long_answer_waits_for_its_reader_and_nothing_else() {
        let (_folder, mut control) = listening();
        let path = control.path.clone();
        let long = "x".repeat(4 << 20);
        let mut reader = UnixStream::connect(&path).unwrap();
        reader.write_all(b"sessions\n").unwrap();
        control.serve(Duration::ZERO, &[], |_| long.clone());
        assert!(matches!(control.clients[0].talk, Talk::Answer(..)), "more than the buffer holds");
        scope(|threads| {
            let other = threads.spawn(|| ask(&path, "status").unwrap());
            serve_until(&mut control, &other);
            assert_eq!(other.join().unwrap(), "status is fine\n");
            let read = threads.spawn(|| {
                let mut text = String::new();
                reader.read_to_string(&mut text).unwrap();
                text
            });
            serve_until(&mut control, &read);
            assert!(read.join().unwrap() == long);
        });
    }

    #[test]
    fn a_request_without_an_end_is_refused_and_one_without_a_line_feed_is_not() {
        let (_folder, mut control) = listening();
        let mut endless = UnixStream::connect(&control.path).unwrap();
        endless.write_all(&[b'x'; LONGEST + 1]).unwrap();
        let mut short = UnixStream::connect(&control.path).unwrap();
        short.write_all(b"status").unwrap();
        short.shutdown(std::net::Shutdown::Write).unwrap();
        control.serve(Duration::ZERO, &[], echo);
        assert!(control.clients.is_empty());
        let mut text = String::new();
        short.read_to_string(&mut text).unwrap();
        assert_eq!(text, "status is fine\n");
        assert!(endless.read(&mut [0]).map_or(true, |n| n == 0));
    }
}
