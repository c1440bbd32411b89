//! Progress of a run on the terminal: one line for each finished step, and below them a few live
//! lines on the current step. Without a terminal there are no live lines.

mod live;
mod words;

use crate::event::{Event, Listener};
use crate::term;
pub(crate) use live::Live;
use words::{device, loss, seconds, short};
pub(crate) use words::{line_of, plain};

/// Prints text for people on stderr; results go to stdout after the run.
pub(crate) struct Console {
    live: bool,
    quiet: bool,
    current: Live,
    /// Columns of each live line on the terminal.
    shown: Vec<usize>,
}

impl Console {
    /// A quiet console prints only doubts and repairs.
    pub(crate) fn new(quiet: bool) -> Console {
        Console { live: term::replaces_lines(), quiet, current: Live::default(), shown: Vec::new() }
    }

    /// Prints above the live lines.
    fn line(&mut self, text: &str) {
        self.wipe();
        term::err_lines(text);
        self.show();
    }

    fn show(&mut self) {
        let lines = self.current.lines(term::columns(), term::lines());
        self.replace(&lines);
    }

    fn replace(&mut self, lines: &[String]) {
        if !self.live || self.quiet {
            return;
        }
        self.wipe();
        term::err(&lines.join("\n"));
        self.shown = lines.iter().map(|line| plain(line).chars().count()).collect();
    }

    /// A narrower terminal has wrapped longer lines.
    fn wipe(&mut self) {
        let shown = std::mem::take(&mut self.shown);
        if let Some(above) = rows(&shown, term::columns()).checked_sub(1) {
            term::erase_lines(above);
        }
    }
}

/// Rows of lines of these lengths on a terminal of so many columns.
fn rows(lengths: &[usize], columns: usize) -> usize {
    lengths.iter().map(|length| length.div_ceil(columns).max(1)).sum()
}

impl Drop for Console {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl Listener for Console {
    fn on(&mut self, event: &Event) {
        if self.quiet && !matches!(event, Event::Doubt { .. } | Event::Repaired { .. }) {
            return;
        }
        let is_live = self.current.learn(event);
        match (event, line_of(event)) {
            (Event::SelfTesting { number, of, check }, _) => {
                let line = live::of_self_test(*number, *of, &check.name, check.verdict(), term::columns());
                self.replace(&[line]);
            }
            (_, Some(line)) => self.line(&line),
            _ if is_live => self.show(),
            _ => {}
        }
    }
}

/// Prints each event as one JSON line on stdout.
pub(crate) struct JsonLines;

impl Listener for JsonLines {
    fn on(&mut self, event: &Event) {
        term::json(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_became_narrower_has_wrapped_lines() {
        assert_eq!([80, 40, 39, 20].map(|columns| rows(&[79, 40, 1], columns)), [3, 4, 6, 7]);
        assert_eq!(rows(&[], 80), 0);
    }
}
