//! The live lines: where a run is, in at most four lines that are never longer than the terminal is
//! wide, and in one line on a terminal with few lines.

use super::{device, loss, seconds, short};
use crate::event::Event;
use anstyle::Style;
use method::Rate;
use record::plan::Measurement;
use std::collections::HashSet;

const DIM: Style = Style::new().dimmed();

/// A character in the last column would move the cursor of some terminals to the next line.
const FREE: usize = 1;
/// Columns for the `^C` that a terminal shows behind the last of several lines. On one line, room
/// is worth more.
const CTRL_C: usize = 2;

/// Lines of a terminal below which there is one live line only.
const FEW: usize = 10;

/// What the live lines show, by the events so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    /// The event that started the measurement in progress.
    measurement: Option<Event>,
    device: String,
    connections: u64,
    /// Decisions of the search so far, this one included.
    step: u32,
    /// The event of the last decision; `last` is that of the last trial.
    trying: Option<Event>,
    last: Option<Event>,
    /// Highest rate that passed and lowest that failed, by the trials of the measurement.
    bounds: (Option<u64>, Option<u64>),
    /// Predicted seconds to the end of the run.
    left_s: Option<u64>,
    /// Measurements of the run, and of these: done before this part of the run.
    planned: (usize, usize),
    /// Keys of those that were done since then.
    done: HashSet<String>,
}

impl Live {
    /// Learns an event; returns whether the lines change.
    pub(crate) fn learn(&mut self, event: &Event) -> bool {
        match event {
            Event::RunStarted { measurements, done, .. } => {
                *self = Live { planned: (*measurements, *done), ..Live::default() };
            }
            Event::DutPreparing { dut, connections, cores, .. } => {
                self.end_measurement();
                self.device = device(dut, *connections, *cores);
                self.connections = *connections;
            }
            Event::MeasurementStarted { .. } => {
                self.end_measurement();
                self.measurement = Some(event.clone());
            }
            Event::Trying { eta_s, .. } => {
                self.step += 1;
                (self.trying, self.left_s) = (Some(event.clone()), Some(*eta_s));
            }
            Event::Trial { rate: Rate(rate), verdict, .. } => {
                match (verdict.as_str(), &mut self.bounds) {
                    ("pass", (passed, _)) => *passed = (*passed).max(Some(*rate)),
                    ("fail", (_, failed)) => *failed = Some(failed.unwrap_or(*rate).min(*rate)),
                    _ => {}
                }
                self.last = Some(event.clone());
            }
            Event::MeasurementDone(outcome) => {
                self.done.insert(outcome.measurement.key());
            }
            Event::Finished { .. } => *self = Live::default(),
            _ => return false,
        }
        true
    }

    fn end_measurement(&mut self) {
        (self.measurement, self.step, self.trying, self.last) = (None, 0, None, None);
        (self.bounds, self.left_s) = ((None, None), None);
    }

    pub(crate) fn is_done(&self, key: &str) -> bool {
        self.done.contains(key)
    }

    pub(crate) fn expect(&mut self, left_s: u64) {
        self.left_s = Some(left_s);
    }

    /// Lines for a terminal of so many columns and lines.
    pub(crate) fn lines(&self, columns: usize, lines: usize) -> Vec<String> {
        let all = if lines < FEW {
            vec![self.line(columns)]
        } else {
            let parts = [self.what(), self.search(), self.last_trial(), self.whole_run()];
            parts.into_iter().map(|parts| fitted(parts, columns.saturating_sub(FREE + CTRL_C))).collect()
        };
        all.into_iter().filter(|line| !line.is_empty()).collect()
    }

    fn what(&self) -> Vec<LinePart> {
        let Some(Event::MeasurementStarted { number, of, measurement }) = &self.measurement else { return Vec::new() };
        let Measurement { metric, repetition, .. } = measurement;
        vec![
            LinePart::new(2, format!("[{number}/{of}]")).dim(),
            LinePart::new(0, metric.clone()),
            LinePart::new(6, format!("repetition {repetition}")).or(format!("#{repetition}")),
            LinePart::new(8, self.device.clone()),
        ]
    }

    /// Step and bracket.
    fn search(&self) -> Vec<LinePart> {
        let Some(Event::Trying { rate, lo, hi, .. }) = &self.trying else { return self.trials() };
        let (lo, hi) = (short(lo.0), short(hi.0));
        let bracket = LinePart::new(3, format!("between {lo} and {hi}")).or(format!("{lo}–{hi}"));
        vec![LinePart::new(0, "  rate".to_owned()).or(" ".to_owned()), of_rate(*rate), bracket, self.steps()]
    }

    /// Rate and bracket by the trials: recorded events lack the decisions of the search.
    fn trials(&self) -> Vec<LinePart> {
        let Some(Event::Trial { rate, .. }) = &self.last else { return Vec::new() };
        let bound = |rate: Option<u64>, verdict| match rate {
            Some(rate) => format!("{} {verdict}", short(rate)),
            None => format!("none {verdict}"),
        };
        let (passed, failed) = self.bounds;
        let bracket = format!("{}, {}", bound(passed, "passed"), bound(failed, "failed"));
        vec![LinePart::new(0, "  rate".to_owned()).or(" ".to_owned()), of_rate(*rate), LinePart::new(3, bracket)]
    }

    fn steps(&self) -> LinePart {
        let left = if let Some(Event::Trying { steps_left, .. }) = self.trying { steps_left } else { 0 };
        let (step, of) = (self.step, (self.step + left).saturating_sub(1));
        LinePart::new(5, format!("step {step} of {of}")).or(format!("{step}/{of}"))
    }

    /// Loss, table and CPU.
    fn last_trial(&self) -> Vec<LinePart> {
        let Some(Event::Trial { verdict, reason, sent, received, entries, cpu_percent, .. }) = &self.last else {
            return Vec::new();
        };
        let (long, short_form) = outcome(verdict, reason, *sent, *received);
        let mut parts = vec![LinePart::new(0, format!("  last: {long}")).or(format!("  {short_form}"))];
        if let Some(entries) = entries.filter(|_| self.connections > 0) {
            let share = format!("{} of {}", short(entries), short(self.connections));
            parts.push(LinePart::new(5, format!("table {share}")).or(format!("table {}", short(entries))));
        }
        if let Some(percent) = cpu_percent {
            parts.push(LinePart::new(4, format!("CPU of the device {percent:.0} %")).or(format!("CPU {percent:.0} %")));
        }
        parts
    }

    /// What is done and left.
    fn whole_run(&self) -> Vec<LinePart> {
        let (all, before) = self.planned;
        let done = (before + self.done.len()).min(all);
        let mut parts = Vec::new();
        if all > 0 && self.measurement.is_some() {
            parts.push(LinePart::new(3, format!("  {done} of {all} done")).or(format!("  {done}/{all} done")));
        }
        if let Some(left) = self.left_s.map(seconds) {
            parts.push(LinePart::new(1, format!("about {left} left")).or(format!("{left} left")));
        }
        parts
    }

    /// The one line for a terminal with few lines.
    pub(super) fn line(&self, columns: usize) -> String {
        let mut parts = Vec::new();
        if let Some(Event::MeasurementStarted { number, of, measurement }) = &self.measurement {
            parts.push(LinePart::new(2, format!("[{number}/{of}]")).dim());
            parts.push(LinePart::new(7, measurement.metric.clone()));
        }
        if let Some(Event::Trying { rate, lo, hi, .. }) = &self.trying {
            parts.push(self.steps());
            parts.push(of_rate(*rate));
            parts.push(LinePart::new(8, format!("between {} and {}", short(lo.0), short(hi.0))).dim());
            if let Some(Event::Trial { verdict, reason, sent, received, .. }) = &self.last {
                let (long, short_form) = outcome(verdict, reason, *sent, *received);
                parts.push(LinePart::new(1, format!("last: {long}")).or(short_form));
            }
            let left = seconds(self.left_s.unwrap_or(0));
            parts.push(LinePart::new(4, format!("{left} left")).or(left));
        }
        fitted(parts, columns.saturating_sub(FREE))
    }
}

/// What came of a trial, long and short: the loss, or why it did not pass where nothing was lost.
fn outcome(verdict: &str, reason: &str, sent: u64, received: u64) -> (String, String) {
    let why = reason.split([',', '(']).next().unwrap_or_default().trim();
    if received < sent || verdict == "pass" || why.is_empty() {
        let loss = loss(sent, received);
        (format!("{verdict}, {loss}"), loss)
    } else {
        (format!("{verdict}, {why}"), verdict.to_owned())
    }
}

fn of_rate(rate: Rate) -> LinePart {
    LinePart::new(0, format!("{}/s", short(rate.0)))
}

/// A narrow terminal does not need parts of this rank.
const OPTIONAL: u8 = 7;

struct LinePart {
    text: String,
    short: Option<String>,
    /// The highest rank is shortened or dropped first; one of at least [`OPTIONAL`] is dropped
    /// before another is shortened.
    rank: u8,
    style: Style,
}

impl LinePart {
    fn new(rank: u8, text: String) -> LinePart {
        LinePart { text, short: None, rank, style: Style::new() }
    }
    fn or(self, short: String) -> LinePart {
        LinePart { short: Some(short), ..self }
    }
    fn dim(self) -> LinePart {
        LinePart { style: DIM, ..self }
    }
}

/// Shortens or drops the least important part until the rest fits.
fn fitted(mut parts: Vec<LinePart>, columns: usize) -> String {
    let gap = if columns < 60 { " " } else { "  " };
    let length = |parts: &[LinePart]| {
        let each: usize = parts.iter().map(|part| part.text.chars().count()).sum();
        each + gap.len() * parts.len().saturating_sub(1)
    };
    while length(&parts) > columns && parts.len() > 1 {
        let can_shorten =
            parts.iter().all(|part| part.rank < OPTIONAL) && parts.iter().any(|part| part.short.is_some());
        let candidates = parts.iter().enumerate().filter(|(_, part)| !can_shorten || part.short.is_some());
        let Some((at, _)) = candidates.max_by_key(|(_, part)| part.rank) else { break };
        match parts[at].short.take().filter(|_| can_shorten) {
            Some(short) => parts[at].text = short,
            None => drop(parts.remove(at)),
        }
    }
    let each = parts.iter().map(|LinePart { text, style, .. }| {
        let text: String = text.chars().take(columns).collect();
        if *style == Style::new() { text } else { format!("{style}{text}{style:#}") }
    });
    each.collect::<Vec<_>>().join(gap)
}

/// A line of at most so many columns.
pub(super) fn of_self_test(number: usize, of: usize, name: &str, verdict: &str, columns: usize) -> String {
    let parts = vec![
        LinePart::new(2, format!("self-test [{number}/{of}]")).or(format!("[{number}/{of}]")).dim(),
        LinePart::new(0, name.to_owned()),
        LinePart::new(1, verdict.to_owned()),
    ];
    fitted(parts, columns.saturating_sub(FREE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::plain;

    fn started(number: usize, of: usize, metric: &str) -> Event {
        let point = serde_json::json!({ "dut": 0, "dut_name": "x", "connections": 0, "cores": 1 });
        let measurement = serde_json::json!({ "point": point, "metric": metric, "repetition": 1, "predicted": 0 });
        Event::MeasurementStarted { number, of, measurement: serde_json::from_value(measurement).unwrap() }
    }

    /// A run with numbers as long as they get.
    fn live(large: bool) -> Live {
        let mut live = Live::default();
        let of = if large { 360 } else { 18 };
        live.learn(&Event::RunStarted { folder: String::new(), measurements: of, done: 4, predicted_s: 1 });
        let axes = scenario::axis::AxisValues::new();
        live.learn(&Event::DutPreparing { dut: "nftables".to_owned(), connections: 1_000_000, cores: 2, axes });
        live.learn(&Event::NullMeasured { before: true, frames: Rate(9_100_000), set_up: None });
        let metric = if large { "max_conn_est_rate_validated" } else { "throughput" };
        live.learn(&started(if large { 180 } else { 5 }, of, metric));
        let (lost, sent) = if large { (1, 1_000_000_000) } else { (1_200, 1_000_000) };
        let trial = Event::Trial {
            seq: 1,
            measurement: String::new(),
            rate: Rate(1),
            verdict: if large { "invalid" } else { "fail" }.to_owned(),
            reason: String::new(),
            sent,
            received: sent - lost,
            entries: Some(1_000_000),
            cpu_percent: Some(97.6),
        };
        live.learn(&trial);
        let (rate, eta_s) = if large { (99_900_000, 52_000) } else { (3_120_000, 350) };
        let trying = Event::Trying { rate: Rate(rate), lo: Rate(2_500_000), hi: Rate(4_100_000), steps_left: 8, eta_s };
        for _ in 0..4 {
            live.learn(&trying);
        }
        live
    }

    #[test]
    fn the_line_fits_every_terminal() {
        for large in [false, true] {
            for columns in 1..=300 {
                let line = plain(&live(large).line(columns));
                assert!(line.chars().count() < columns || columns == 1 && line.is_empty(), "{columns}: {line}");
                assert!(!line.contains('\n'), "{line}");
                if columns >= 40 {
                    let (measurement, rate) = if large { ("[180/360]", "99.9 M/s") } else { ("[5/18]", "3.12 M/s") };
                    let (loss, left) = if large { ("<0.01 % lost", "14.4 h") } else { ("0.12 % lost", "6 min") };
                    for fact in [measurement, rate, loss, left] {
                        assert!(line.contains(fact), "{columns}: {fact}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_trial_that_lost_nothing_and_did_not_pass_says_why() {
        let late = "Left to Right: the last frame left 103 ms late, 100 µs allowed (closed loop, tester included)";
        for (verdict, reason, received, long, short_form) in [
            ("pass", "", 100, "pass, no loss", "no loss"),
            ("fail", "lost 10", 90, "fail, 10 % lost", "10 % lost"),
            ("fail", late, 100, "fail, Left to Right: the last frame left 103 ms late", "fail"),
            ("invalid", "", 100, "invalid, no loss", "no loss"),
        ] {
            assert_eq!(outcome(verdict, reason, 100, received), (long.to_owned(), short_form.to_owned()));
        }
    }

    #[test]
    fn a_wide_terminal_shows_more() {
        let lines = [40, 60, 80, 120].map(|columns| plain(&live(false).line(columns)));
        assert_eq!(
            lines,
            [
                "[5/18] 4/11 3.12 M/s 0.12 % lost 6 min",
                "[5/18] 4/11 3.12 M/s last: fail, 0.12 % lost 6 min left",
                "[5/18]  throughput  step 4 of 11  3.12 M/s  last: fail, 0.12 % lost  6 min left",
                "[5/18]  throughput  step 4 of 11  3.12 M/s  between 2.5 M and 4.1 M  last: fail, 0.12 % lost  6 min left",
            ]
        );
    }

    #[test]
    fn the_lines_fit_every_terminal() {
        for large in [false, true] {
            for columns in 1..=300 {
                let lines = live(large).lines(columns, 24);
                assert!(lines.len() <= 4, "{lines:?}");
                for line in lines.iter().map(|line| plain(line)) {
                    assert!(line.chars().count() < columns && !line.contains('\n'), "{columns}: {line}");
                }
            }
        }
    }

    #[test]
    fn lines_have_all_facts_at_80_columns_and_the_main_ones_at_40() {
        let lines = |columns| live(false).lines(columns, 24).iter().map(|line| plain(line)).collect::<Vec<_>>();
        assert_eq!(
            lines(80),
            [
                "[5/18]  throughput  repetition 1  nftables, 1 M connections, 2 cores",
                "  rate  3.12 M/s  between 2.5 M and 4.1 M  step 4 of 11",
                "  last: fail, 0.12 % lost  table 1 M of 1 M  CPU of the device 98 %",
                "  4 of 18 done  about 6 min left",
            ]
        );
        assert_eq!(
            lines(40),
            [
                "[5/18] throughput repetition 1",
                "  rate 3.12 M/s 2.5 M–4.1 M 4/11",
                "  0.12 % lost table 1 M CPU 98 %",
                "  4 of 18 done about 6 min left",
            ]
        );
    }

    #[test]
    fn few_lines_have_one_live_line_and_an_ended_run_has_none() {
        let mut live = live(false);
        assert_eq!(live.lines(80, 5), [live.line(80)]);
        live.learn(&Event::Finished { folder: String::new(), seconds: 1, not_needed: 0 });
        assert_eq!(live.lines(80, 24), [""; 0]);
    }

    #[test]
    fn the_line_begins_before_the_first_trial() {
        let mut live = Live::default();
        assert!(!live.learn(&Event::Doubt { text: "x".to_owned() }));
        assert_eq!(live.line(80), "");
        live.learn(&started(1, 2, "throughput"));
        assert_eq!(plain(&live.line(80)), "[1/2]  throughput");
    }

    #[test]
    fn the_self_test_fits_too() {
        for columns in 1..200 {
            let line = plain(&of_self_test(3, 12, "connection set-up rate", "inconclusive", columns));
            assert!(line.chars().count() < columns, "{columns}: {line}");
        }
    }
}
