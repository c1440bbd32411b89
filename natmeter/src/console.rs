//! Progress of a run: on a terminal a few lines that are replaced and do not stay, elsewhere one line a minute; in detail, one line
//! for each finished step.

mod live;
mod words;

use crate::cli::Output;
use crate::event::{Event, Listener};
use crate::term;
pub(crate) use live::Live;
use std::time::{Duration, Instant};
use words::{device, loss, seconds, short};
pub(crate) use words::{line_of, plain};

const MINUTE: Duration = Duration::from_secs(60);

/// Prints text for people on stderr; results go to stdout after the run.
pub(crate) struct Console {
    live: bool,
    output: Output,
    /// When the last line was printed where lines cannot be replaced.
    said: Option<Instant>,
    current: Live,
    /// Columns of each live line on the terminal.
    shown: Vec<usize>,
}

impl Console {
    /// A quiet console prints only doubts and repairs.
    pub(crate) fn new(output: Output) -> Console {
        Console { live: term::replaces_lines(), output, said: None, current: Live::default(), shown: Vec::new() }
    }

    fn stays(&self, event: &Event) -> bool {
        match event {
            Event::Repaired { .. } => true,
            Event::Doubt { .. } => self.output.quiet || self.output.verbose,
            Event::RunStarted { .. } => !self.output.quiet && (self.output.verbose || !self.live),
            _ => self.output.verbose,
        }
    }

    /// Prints where the run is, if that was not said for a minute and lines cannot be replaced.
    fn say_each_minute(&mut self) {
        let now = Instant::now();
        if self.live || self.output.quiet || self.output.verbose {
            return;
        }
        let is_due = self.said.is_some_and(|said| now.duration_since(said) >= MINUTE);
        if is_due {
            term::err_lines(&plain(&self.current.line(term::columns())));
        }
        if is_due || self.said.is_none() {
            self.said = Some(now);
        }
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
        if !self.live || self.output.quiet {
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
        let is_live = self.current.learn(event);
        match (event, line_of(event).filter(|_| self.stays(event))) {
            (_, Some(line)) => self.line(&line),
            (Event::SelfTesting { number, of, check }, None) => {
                let line = live::of_self_test(*number, *of, &check.name, check.verdict(), term::columns());
                self.replace(&[line]);
            }
            _ if is_live => self.show(),
            _ => {}
        }
        self.say_each_minute();
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
