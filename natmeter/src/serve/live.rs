//! A run in progress: reads the events of its folder as they are appended, and sends them as server-sent events (HTML Living
//! Standard, section 9.2). The stream begins with the state of the run, and each event has its place in the file as its id, so
//! that a browser continues where it was interrupted.

mod progress;

pub(super) use progress::{FIELDS, Progress};

use record::store::{Dir, EVENTS};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Octets that are read at once.
const BLOCK: usize = 64 << 10;
/// Longest line of events, octets. A longer one ends the stream.
const LINE: usize = 8 << 20;
/// Lines of the log on a page.
const LOG: usize = 100;
/// A stream without news sends a comment after this time, so that both sides notice a lost connection.
const COMMENT: Duration = Duration::from_secs(5);
/// Streams at one time.
const STREAMS: usize = 16;

/// The complete lines at the end of a file that grows.
#[derive(Debug)]
struct Tail {
    file: File,
    /// Place after the last complete line.
    at: u64,
    /// An incomplete line after it.
    begun: Vec<u8>,
}

impl Tail {
    fn open(run: &Path) -> io::Result<Tail> {
        let file = Dir::open(run).and_then(|run| run.read(EVENTS, u64::MAX)).map_err(io::Error::other)?;
        let file = file.ok_or(io::ErrorKind::NotFound)?.into_inner();
        Ok(Tail { file, at: 0, begun: Vec::new() })
    }

    /// Returns the complete lines of the next block, with the place after each; none at the end of the file.
    fn next(&mut self) -> io::Result<Vec<(Vec<u8>, u64)>> {
        let from = self.at + self.begun.len() as u64;
        if self.file.metadata()?.len() < from {
            // `resume` removed an incomplete line.
            self.begun.clear();
            return Ok(Vec::new());
        }
        let mut block = vec![0; BLOCK];
        let read = self.file.read_at(&mut block, from)?;
        self.begun.extend_from_slice(&block[..read]);
        let mut lines = Vec::new();
        let complete = self.begun.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
        for line in self.begun[..complete].split_inclusive(|octet| *octet == b'\n') {
            self.at += line.len() as u64;
            lines.push((line.to_vec(), self.at));
        }
        self.begun.drain(..complete);
        if self.begun.len() > LINE { Err(io::Error::other("a line is too long")) } else { Ok(lines) }
    }

    fn is_at_end(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() <= self.at + self.begun.len() as u64)
    }
}

/// Reads the events so far. Returns the state, the last lines of the log, and the place after them.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn so_far(run: &Path, mut progress: Progress) -> io::Result<(Progress, Vec<String>, u64)> {
    let (mut tail, mut said) = (Tail::open(run)?, Vec::new());
    while !tail.is_at_end() {
        for (line, _) in tail.next()? {
            said.extend(progress.learn(&line));
        }
        said.drain(..said.len().saturating_sub(LOG));
    }
    Ok((progress, said, tail.at))
}

/// Slots for streams.
#[derive(Debug, Default)]
pub(super) struct Streams(Arc<AtomicUsize>);

/// The events of one run, from a place in the file on.
pub(super) struct Events {
    tail: Tail,
    progress: Progress,
    /// Lines that end at or before this place were seen by the client.
    seen: u64,
    /// Whether the client has the state.
    is_told: bool,
    last: Instant,
    has_ended: bool,
    open: Arc<AtomicUsize>,
}

impl Streams {
    /// Opens the events of a run after a place in its file.
    ///
    /// # Errors
    /// If the file cannot be read, or if too many streams are open.
    pub(super) fn open(&self, run: &Path, progress: Progress, seen: u64) -> io::Result<Events> {
        if self.0.fetch_add(1, Ordering::Relaxed) >= STREAMS {
            self.0.fetch_sub(1, Ordering::Relaxed);
            return Err(io::Error::other(format!("{STREAMS} live views are open; close one")));
        }
        let open = Arc::clone(&self.0);
        let tail = Tail::open(run).inspect_err(|_| {
            self.0.fetch_sub(1, Ordering::Relaxed);
        })?;
        Ok(Events { tail, progress, seen, is_told: false, last: Instant::now(), has_ended: false, open })
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Events {
    /// Returns what happened since the last call: pending without news, ready without a text at the end of the run.
    pub(super) fn poll(&mut self) -> Poll<Option<String>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let mut text = String::new();
        // The state alone of what the client has seen, block by block.
        while self.is_told || !self.tail.is_at_end() {
            let Ok(lines) = self.tail.next() else {
                self.has_ended = true;
                return Poll::Ready(None);
            };
            if lines.is_empty() && self.tail.is_at_end() {
                break;
            }
            for (line, place) in lines {
                let said = self.progress.learn(&line);
                if let Some(line) = said.filter(|_| place > self.seen) {
                    message(&mut text, place, "line", &line);
                }
            }
            if self.is_told {
                break;
            }
        }
        if !self.is_told || !text.is_empty() || self.progress.take_change() {
            message(&mut text, self.tail.at, "state", &self.progress.fields());
            self.progress.take_change();
        }
        self.is_told = true;
        if self.progress.has_ended() && self.tail.is_at_end() {
            message(&mut text, self.tail.at, "end", &"");
            self.has_ended = true;
        }
        if text.is_empty() && self.last.elapsed() > COMMENT {
            text.push_str(":\n\n");
        }
        if text.is_empty() {
            return Poll::Pending;
        }
        self.last = Instant::now();
        Poll::Ready(Some(text))
    }
}

/// Appends one message. JSON has no line feed, so its text is one line.
fn message(text: &mut String, place: u64, event: &str, data: &impl Serialize) {
    if let Ok(data) = serde_json::to_string(data) {
        let _ = write!(text, "id: {place}\nevent: {event}\ndata: {data}\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn append(run: &Path, text: &str) {
        let path = run.join(EVENTS);
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn text(events: &mut Events) -> Option<String> {
        match events.poll() {
            Poll::Ready(text) => text,
            Poll::Pending => Some(String::new()),
        }
    }

    const DOUBT: &str = "{\"event\":\"doubt\",\"text\":\"one\"}\n";
    const FINISHED: &str = "{\"event\":\"finished\",\"folder\":\"x\",\"seconds\":3}\n";

    #[test]
    fn appended_lines_become_events_when_they_are_complete() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), DOUBT);
        let streams = Streams::default();
        let mut events = streams.open(dir.path(), Progress::default(), DOUBT.len() as u64).unwrap();
        let first = text(&mut events).unwrap();
        assert!(first.starts_with("id: 31\nevent: state\ndata: {") && !first.contains("event: line"), "{first}");
        assert_eq!(text(&mut events).unwrap(), "");
        append(dir.path(), &DOUBT[..10]);
        assert_eq!(text(&mut events).unwrap(), "");
        append(dir.path(), &DOUBT[10..]);
        assert!(text(&mut events).unwrap().contains("id: 62\nevent: line\ndata: \"note: one\"\n\n"));
        append(dir.path(), FINISHED);
        assert!(text(&mut events).unwrap().ends_with("event: end\ndata: \"\"\n\n"));
        assert_eq!(text(&mut events), None);
    }

    #[test]
    fn a_stream_continues_after_the_place_that_the_client_names() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), &DOUBT.repeat(3));
        let streams = Streams::default();
        let seen = 2 * DOUBT.len() as u64;
        let mut events = streams.open(dir.path(), Progress::default(), seen).unwrap();
        assert_eq!(text(&mut events).unwrap().matches("event: line").count(), 1);
    }

    #[test]
    fn an_incomplete_line_that_resume_removes_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), DOUBT);
        append(dir.path(), "{\"event\":\"doubt\",\"te");
        let mut events = Streams::default().open(dir.path(), Progress::default(), 0).unwrap();
        text(&mut events);
        fs::write(dir.path().join(EVENTS), DOUBT).unwrap();
        text(&mut events);
        append(dir.path(), DOUBT);
        assert!(text(&mut events).unwrap().contains("note: one"));
    }

    #[test]
    fn the_number_of_streams_is_limited_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), DOUBT);
        let streams = Streams::default();
        let open = || streams.open(dir.path(), Progress::default(), 0);
        let all: Vec<Events> = (0..STREAMS).map(|_| open().unwrap()).collect();
        assert!(open().is_err());
        drop(all);
        drop(open().unwrap());
        let link = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join(EVENTS), link.path().join(EVENTS)).unwrap();
        assert!(streams.open(link.path(), Progress::default(), 0).is_err());
    }
}
