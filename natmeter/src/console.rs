//! Progress of a run on the terminal: one line for each finished step, and one live line for the current step.

mod live;

use crate::event::{Event, Listener};
use crate::term;
use anstyle::{AnsiColor, Style};
use live::Live;
use method::metric::{Unit, by_key};
use method::trial::of_rate;
use method::{Rate, ResultKind};
use record::folder::{Outcome, Over};
use record::report::number::{percent, si};
use scenario::Point;
use scenario::axis::more_in_words;
use std::io::IsTerminal;

/// Listener that prints text for people on stderr; results go to stdout after the run.
pub struct Console {
    live: bool,
    quiet: bool,
    /// What the live line shows.
    current: Live,
    is_shown: bool,
}

const GOOD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const BAD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
const DIM: Style = Style::new().dimmed();

impl Console {
    /// Returns a console; a quiet one prints only doubts and repairs.
    pub fn new(quiet: bool) -> Console {
        Console { live: std::io::stderr().is_terminal(), quiet, current: Live::default(), is_shown: false }
    }

    fn line(&mut self, text: &str) {
        self.wipe();
        term::err_lines(text);
    }

    /// Replaces the live line.
    fn show(&mut self, text: &str) {
        if self.live && !self.quiet {
            self.wipe();
            term::err(text);
            self.is_shown = !text.is_empty();
        }
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            term::erase_line();
        }
    }

    fn done(&mut self, o: &Outcome) {
        let result = &o.result;
        let bound = match result.kind {
            ResultKind::Exact if result.tester_limit.is_some() => {
                format!("  {BAD}+ {} at most, every trial in between was invalid{BAD:#}", short(result.error.0))
            }
            ResultKind::Exact | ResultKind::Observed => String::new(),
            ResultKind::TesterLimit => format!("  {BAD}tester limit{BAD:#}"),
            ResultKind::AtUpperLimit => format!("  {BAD}upper end of the search{BAD:#}"),
            ResultKind::Between => {
                let above = short(result.rate.0 + result.error.0);
                format!("  {BAD}below {above}, every trial in between was invalid{BAD:#}")
            }
            ResultKind::Strict => format!("  {BAD}host too busy for validity{BAD:#}"),
            ResultKind::HostLimit => format!("  {BAD}host limit{BAD:#}"),
            ResultKind::NothingPassed => format!("  {BAD}no rate passed{BAD:#}"),
            ResultKind::Below => format!("  {BAD}every trial below was invalid{BAD:#}"),
            ResultKind::NothingMeasured => format!("  {BAD}not measured: every trial was invalid{BAD:#}"),
        };
        let (sign, figure) = match result.kind {
            ResultKind::Below => ("< ", short(result.error.0)),
            ResultKind::NothingMeasured => ("", "–".to_owned()),
            _ if result.at_least() => ("≥ ", short(result.rate.0)),
            _ => ("", short(result.rate.0)),
        };
        let unit = match by_key(&o.measurement.metric).map(|metric| metric.unit) {
            None | Some(Unit::FramesPerSecond) => format!("frames/s {}", of_rate(o.direction_ratio)),
            Some(unit) => unit.symbol().to_owned(),
        };
        let m = &o.measurement;
        self.line(&format!(
            "  {GOOD}{}{GOOD:#} {:<18} {sign:2}{figure:>7} {unit}{bound}  {DIM}{} trials, {} repeated{DIM:#}",
            m.repetition, m.metric, result.trials, result.invalid_repeats
        ));
    }
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
        match event {
            Event::RunStarted { folder, measurements, done, predicted_s } => {
                let left = measurements - done;
                self.line(&format!(
                    "{folder}: {left} of {measurements} measurements to do, about {}",
                    seconds(*predicted_s)
                ));
            }
            Event::SelfTesting { number, of, check } => {
                self.show(&live::of_self_test(*number, *of, &check.name, check.verdict(), term::columns()));
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
            Event::MeasurementStarted { .. } | Event::Trying { .. } | Event::Trial { .. } => {
                if self.live && self.current.learn(event) {
                    self.show(&self.current.line(term::columns()));
                }
            }
            Event::MeasurementDone(outcome) => self.done(outcome),
            Event::Finished { folder, seconds: s } => self.line(&format!("{folder}: done in {}", seconds(*s))),
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

fn seconds(s: u64) -> String {
    match s {
        0..120 => format!("{s} s"),
        120..7200 => format!("{} min", s.div_ceil(60)),
        _ => format!("{:.1} h", s as f64 / 3600.0),
    }
}

/// A number in three digits with its unit prefix.
fn short(n: u64) -> String {
    si(n as f64, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

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
