//! All output of natmeter to stdout and stderr: removes unsafe characters, prints colours only to terminals without `NO_COLOR`,
//! and reports lost output.
//!
//! A closed pipe (EPIPE) is not an error: its reader wants no more output. After any other failure, such as a full disk, the
//! command continues, because a run in progress is worth more than its output, but does not exit with success.

use crate::exit::Exit;
use record::printable::{escaped_json, with_colours};
use record::versioned::Versioned;
use serde::Serialize;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once an error about lost output was printed.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints to stdout.
pub fn out(text: &str) {
    let written = write(&mut anstream::stdout().lock(), &with_colours(text));
    let first = |error: &io::Error| is_loss(error) && !LOST.swap(true, Ordering::Relaxed);
    if let Some(error) = written.err().filter(first) {
        err(&format!(
            "error: stdout cannot be written: {error}; the output is incomplete: free disk space, or write elsewhere\n"
        ));
    }
}

/// Prints a document to stdout as one line of JSON, with the version of its format.
pub fn json(document: &impl Serialize) {
    match serde_json::to_string(&Versioned::of(document)) {
        Ok(text) => out(&format!("{}\n", escaped_json(&text))),
        Err(error) => {
            LOST.store(true, Ordering::Relaxed);
            err(&format!("error: JSON cannot be written: {error}\n"));
        }
    }
}

/// Prints to stderr; a failure cannot be reported anywhere.
pub fn err(text: &str) {
    let _ = write(&mut anstream::stderr().lock(), &with_colours(text));
}

/// Erases the line of the cursor on stderr.
pub fn erase_line() {
    let _ = io::stderr().write_all(b"\r\x1b[2K");
}

/// Returns the exit code, changed to a failure if output was lost.
pub fn ending(exit: Exit) -> Exit {
    if exit == Exit::Done && LOST.load(Ordering::Relaxed) { Exit::Failed } else { exit }
}

fn write(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush())
}

/// Whether a failure loses wanted output.
fn is_loss(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::BrokenPipe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_loss() {
        assert!(!is_loss(&io::ErrorKind::BrokenPipe.into()));
        assert!(is_loss(&io::ErrorKind::StorageFull.into()));
    }
}
