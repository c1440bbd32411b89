//! Progress of a run on the terminal: one line for each finished step, and below them a few live lines on the current step.
//! Without a terminal there are no live lines.

mod live;
mod words;

use crate::event::{Event, Listener};
use crate::term;
use anstyle::{AnsiColor, Style};
use live::Live;
use method::Rate;
use method::trial::of_rate;
use record::folder::Over;
use record::report::number::percent;
use scenario::Point;
use scenario::axis::more_in_words;
pub(crate) use words::{device, loss, of_result, plain, seconds, short};

/// Listener that prints text for people on stderr; results go to stdout after the run.
pub struct Console {
    live: bool,
    quiet: bool,
    /// What the live lines show.
    current: Live,
    /// Columns of each live line on the terminal.
    shown: Vec<usize>,
}

const GOOD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const BAD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
const DIM: Style = Style::new().dimmed();

impl Console {
    /// Returns a console; a quiet one prints only doubts and repairs.
    pub fn new(quiet: bool) -> Console {
        Console { live: term::replaces_lines(), quiet, current: Live::default(), shown: Vec::new() }
    }

    /// Prints a line above the live lines.
    fn line(&mut self, text: &str) {
        self.wipe();
        term::err_lines(text);
        self.show();
    }

    /// Replaces the live lines by those of now.
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

    /// Erases the live lines. The terminal may be narrower now: then it has wrapped those that are longer.
    fn wipe(&mut self) {
        let shown = std::mem::take(&mut self.shown);
        if let Some(above) = rows(&shown, term::columns()).checked_sub(1) {
            term::erase_lines(above);
        }
    }
}

/// Rows that lines of these lengths take on a terminal of so many columns.
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
        match event {
            Event::RunStarted { folder, measurements, done, predicted_s } => {
                let left = measurements - done;
                self.line(&format!(
                    "{folder}: {left} of {measurements} measurements to do, about {}",
                    seconds(*predicted_s)
                ));
            }
            Event::SelfTesting { number, of, check } => {
                let line = live::of_self_test(*number, *of, &check.name, check.verdict(), term::columns());
                self.replace(&[line]);
            }
            Event::SelfTested(s) => {
                let bad: Vec<&str> = s.checks.iter().filter(|c| !c.passed).map(|c| c.name.as_str()).collect();
                if bad.is_empty() {
                    self.line(&format!("self-test: {GOOD}passed, {} checks{GOOD:#}", s.checks.len()));
                } else if s.passed {
                    self.line(&format!("self-test: {BAD}inconclusive, the host is busy{BAD:#}: {}", bad.join(", ")));
                } else {
                    self.line(&format!("self-test: {BAD}FAILED{BAD:#}: {}", bad.join(", ")));
                }
            }
            Event::Calibrated(c) if c.over == Over::Dns => self.line(&format!(
                "tester ceiling over {}: {} queries/s; {:.1} µs to send, {:.1} µs to judge an answer",
                c.over.words(),
                short(c.frames.0),
                c.send_ps as f64 / 1e6,
                c.receive_ps as f64 / 1e6,
            )),
            Event::Calibrated(c) => {
                let set_up = c.set_up.map_or_else(String::new, |Rate(r)| format!(", {} connections/s", short(r)));
                self.line(&format!(
                    "tester ceiling over {}: {} frames/s {}{set_up}; {:.1} ns to send, {:.1} ns to judge a frame",
                    c.over.words(),
                    short(c.frames.0),
                    of_rate(c.direction_ratio),
                    c.send_ps as f64 / 1e3,
                    c.receive_ps as f64 / 1e3,
                ));
            }
            Event::DutPreparing { dut, connections, cores, axes } => {
                let connections = Some(*connections).filter(|&n| n > 0).map(|n| format!("{} connections", short(n)));
                let connections = connections.map_or_else(String::new, |words| format!(", {words}"));
                self.line(&format!("{dut}{connections}{}, {cores} core(s)", more_in_words(axes)));
            }
            Event::Doubt { text } => self.line(&format!("{BAD}note{BAD:#}: {text}")),
            Event::LeftOut { measurement } => {
                self.line(&format!("  {DIM}{measurement}: skipped, time limit reached{DIM:#}"));
            }
            Event::PointRepeated { point, change } => self.line(&repeated(point, *change)),
            Event::Repaired { text } => self.line(&format!("{BAD}repaired{BAD:#}: {text}")),
            Event::MeasurementStarted { .. }
            | Event::Trying { .. }
            | Event::Trial { .. }
            | Event::NullMeasured { .. } => {
                if is_live {
                    self.show();
                }
            }
            Event::MeasurementDone(outcome) => self.line(&of_result(outcome)),
            Event::Finished { folder, seconds: s, .. } => self.line(&format!("{folder}: done in {}", seconds(*s))),
        }
    }
}

/// Listener that prints each event as one JSON line on stdout.
pub struct JsonLines;

impl Listener for JsonLines {
    fn on(&mut self, event: &Event) {
        term::json(event);
    }
}

/// "the null device changed by 33 %; repeating 250 k connections"
fn repeated(point: &Point, change: f64) -> String {
    let what = match point.connections {
        0 => point.dut_name.clone(),
        n => format!("{} connections", short(n)),
    };
    format!("the null device changed by {}; repeating {what}", percent(change * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_became_narrower_has_wrapped_lines() {
        assert_eq!([80, 40, 39, 20].map(|columns| rows(&[79, 40, 1], columns)), [3, 4, 6, 7]);
        assert_eq!(rows(&[], 80), 0);
    }

    #[test]
    fn a_repetition_names_the_change_and_the_point() {
        let point = |connections| {
            let point = serde_json::json!({ "dut": 0, "dut_name": "x", "connections": connections, "cores": 1 });
            serde_json::from_value(point).unwrap()
        };
        assert_eq!(repeated(&point(250_000), 0.333), "the null device changed by 33 %; repeating 250 k connections");
        assert_eq!(repeated(&point(0), 1.5), "the null device changed by 150 %; repeating x");
    }
}
