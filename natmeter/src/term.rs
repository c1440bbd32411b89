//! All output of natmeter to stdout and stderr: removes unsafe characters, prints colours only to
//! terminals without `NO_COLOR`, and reports lost output.
//!
//! A closed pipe (EPIPE) is not an error. After any other failure, such as a full disk, the command
//! continues, because a run in progress is worth more than its output, but does not exit with
//! success.

use crate::exit::Exit;
use record::printable::{escaped_json, with_colours};
use record::versioned::VersionedDocument;
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// An error about lost output was printed.
static LOST: AtomicBool = AtomicBool::new(false);

pub(crate) fn out(text: &str) {
    let written = write(&mut anstream::stdout().lock(), &with_colours(text));
    let first = |error: &io::Error| is_loss(error) && !LOST.swap(true, Ordering::Relaxed);
    if let Some(error) = written.err().filter(first) {
        err(&format!(
            "error: stdout cannot be written: {error}; the output is incomplete: free disk space, or write elsewhere\n"
        ));
    }
}

/// One line on stdout, with the version of its format.
pub(crate) fn json(document: &impl Serialize) {
    match serde_json::to_string(&VersionedDocument::of(document)) {
        Ok(text) => out(&format!("{}\n", escaped_json(&text))),
        Err(error) => {
            LOST.store(true, Ordering::Relaxed);
            err(&format!("error: JSON cannot be written: {error}\n"));
        }
    }
}

/// A failure cannot be reported anywhere.
pub(crate) fn err(text: &str) {
    let _ = write(&mut anstream::stderr().lock(), &with_colours(text));
}

/// Returns the columns of the terminal on stderr; 80 if they are unknown.
pub(crate) fn columns() -> usize {
    columns_of(io::stderr()).unwrap_or(80)
}

/// Returns the columns of a terminal; `None` if they are unknown, or if it is no terminal.
pub(crate) fn columns_of(terminal: impl AsFd) -> Option<usize> {
    tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns the lines of the terminal on stderr; 24 if they are unknown.
pub(crate) fn lines() -> usize {
    let size = tcgetwinsize(io::stderr()).ok();
    size.map(|size| usize::from(size.ws_row)).filter(|lines| *lines > 0).unwrap_or(24)
}

/// stderr is a terminal on which lines can be replaced.
pub(crate) fn replaces_lines() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Prints a line; on a terminal, as several lines that end between words.
pub(crate) fn err_lines(text: &str) {
    let text = if io::stderr().is_terminal() { folded(text, columns()) } else { text.to_owned() };
    err(&format!("{text}\n"));
}

/// Indentation of further lines, beyond that of the first.
const HANGING: usize = 4;

/// Breaks a text between words. Colours take no columns.
pub(crate) fn folded(text: &str, columns: usize) -> String {
    folded_after("", HANGING, text, columns)
}

/// Further lines begin below the end of the head.
pub(crate) fn below_head(head: &str, text: &str, columns: usize) -> String {
    folded_after(head, 0, text, columns.max(head.len() + 20))
}

/// `hanging` indents further lines of a line.
fn folded_after(head: &str, hanging: usize, text: &str, columns: usize) -> String {
    let mut shown = head.to_owned();
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            shown.push('\n');
        }
        let indentation = line.chars().take_while(|c| *c == ' ').count();
        let hanging = " ".repeat(head.len() + indentation + hanging);
        let mut used = head.len();
        // Several spaces in a row stay.
        for word in line.split_inclusive(' ') {
            let length = anstream::adapter::strip_str(word.trim_end()).to_string().chars().count();
            if length > 0 && used > hanging.len() && used + length > columns {
                shown.truncate(shown.trim_end().len());
                shown.push('\n');
                shown.push_str(&hanging);
                used = hanging.len();
            }
            shown.push_str(word);
            used += length + (word.len() - word.trim_end().len());
        }
    }
    shown
}

/// Formats rows as lines with a margin, in columns as wide as their longest cells.
pub(crate) fn in_columns(margin: &str, rows: &[Vec<String>], is_left: impl Fn(usize) -> bool) -> String {
    let widest = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(widest).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = margin.to_owned();
        for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let gap = if at == 0 { "" } else { "  " };
            let cell = if is_left(at) { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            line.extend([gap, &cell]);
        }
        text.extend([line.trim_end(), "\n"]);
    }
    text
}

/// Erases the line of the cursor on stderr, and lines above it.
pub(crate) fn erase_lines(above: usize) {
    let text = format!("\r\x1b[2K{}", "\x1b[1A\x1b[2K".repeat(above));
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A failure if output was lost.
pub(crate) fn ending(exit: Exit) -> Exit {
    if exit == Exit::Done && LOST.load(Ordering::Relaxed) { Exit::Failed } else { exit }
}

fn write(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush())
}

/// Whether the error loses wanted output.
fn is_loss(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::BrokenPipe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_end_between_words() {
        let text = "  note: the host is busy,\u{1b}[33m and many\u{1b}[0m trials were invalid";
        for columns in 20..100 {
            let folded = folded(text, columns);
            let plain = anstream::adapter::strip_str(&folded).to_string();
            assert!(plain.lines().all(|line| line.chars().count() <= columns), "{columns}: {plain}");
            assert_eq!(plain.split_whitespace().count(), 10, "{plain}");
        }
        assert_eq!(folded("one two three", 9), "one two\n    three");
        assert_eq!(folded("one two  three", 8), "one two\n    three");
        assert_eq!(folded("a  b\n\nc", 80), "a  b\n\nc");
    }

    #[test]
    fn a_closed_pipe_is_no_loss() {
        assert!(!is_loss(&io::ErrorKind::BrokenPipe.into()));
        assert!(is_loss(&io::ErrorKind::StorageFull.into()));
    }
}
