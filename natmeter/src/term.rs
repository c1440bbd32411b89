//! What natmeter prints: the only way to stdout and stderr. Its own file because every command has to print safely, in
//! colours only where they are wanted (`NO_COLOR`, no terminal), and has to say when its output was lost.
//!
//! A reader that has gone away (EPIPE) wants no more and loses nothing. After any other failure, such as a full disk,
//! the command goes on, because a run in progress is worth more than its output, and does not end with success.

use crate::exit::Exit;
use record::printable::{escaped_json, with_colours};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Some output was lost, and it was said.
static LOST: AtomicBool = AtomicBool::new(false);

/// Print to stdout.
pub fn out(text: &str) {
    let written = write(&mut anstream::stdout().lock(), &with_colours(text));
    let first = |error: &io::Error| is_loss(error) && !LOST.swap(true, Ordering::Relaxed);
    if let Some(error) = written.err().filter(first) {
        err(&format!(
            "error: stdout cannot be written: {error}; the output is incomplete: free disk space, or write elsewhere\n"
        ));
    }
}

/// Print a value to stdout as one line of JSON.
pub fn json(value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(text) => out(&format!("{}\n", escaped_json(&text))),
        Err(error) => {
            LOST.store(true, Ordering::Relaxed);
            err(&format!("error: JSON cannot be written: {error}\n"));
        }
    }
}

/// Print to stderr. Where that fails, there is nowhere to say so.
pub fn err(text: &str) {
    let _ = write(&mut anstream::stderr().lock(), &with_colours(text));
}

/// Erase the line that the cursor is on, on stderr.
pub fn erase_line() {
    let _ = io::stderr().write_all(b"\r\x1b[2K");
}

/// The exit code of a command that has printed: no success if output was lost.
pub fn ending(exit: Exit) -> Exit {
    if exit == Exit::Done && LOST.load(Ordering::Relaxed) { Exit::Failed } else { exit }
}

fn write(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush())
}

/// Whether a failure loses output that someone waits for.
fn is_loss(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::BrokenPipe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_gone_away_loses_nothing() {
        assert!(!is_loss(&io::ErrorKind::BrokenPipe.into()));
        assert!(is_loss(&io::ErrorKind::StorageFull.into()));
    }
}
