//! The state of a run, derived from its events line by line.

use crate::console;
use record::folder::Outcome;
use record::plan::Plan;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The names of the fields, in the order of pages: name in messages, heading.
pub(crate) const FIELDS: [(&str, &str); 10] = [
    ("done", "Measurements done"),
    ("left", "Predicted time left"),
    ("device", "Device"),
    ("measurement", "Measurement"),
    ("rate", "Rate of the last trial"),
    ("bracket", "Bracket of the search"),
    ("verdict", "Verdict and loss"),
    ("table", "Connection tracking table"),
    ("cpu", "CPU of the device"),
    ("null", "Null device"),
];

/// The state of a run in the live view.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// Keys of the measurements that are left, with their predicted nanoseconds.
    left: HashMap<String, u64>,
    /// Sum of these predictions.
    left_ns: u64,
    planned: usize,
    done: usize,
    /// Measurements that were not needed, known at the end of the run.
    not_needed: usize,
    fields: Fields,
    /// Bounds of the search in progress: highest rate that passed, lowest that failed.
    passed: u64,
    failed: Option<u64>,
    has_ended: bool,
    is_changed: bool,
}

/// The text of each field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Fields {
    done: String,
    left: String,
    device: String,
    measurement: String,
    rate: String,
    bracket: String,
    verdict: String,
    table: String,
    cpu: String,
    null: String,
}

impl Fields {
    /// Returns the texts in the order of [`FIELDS`].
    pub(crate) fn texts(&self) -> [&str; FIELDS.len()] {
        let Fields { done, left, device, measurement, rate, bracket, verdict, table, cpu, null } = self;
        [done, left, device, measurement, rate, bracket, verdict, table, cpu, null].map(String::as_str)
    }
}

/// The fields of all events that the view uses.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    event: String,
    text: String,
    dut: String,
    connections: u64,
    cores: u32,
    number: usize,
    of: usize,
    measurements: usize,
    done: usize,
    measurement: serde_json::Value,
    rate: u64,
    verdict: String,
    reason: String,
    sent: u64,
    received: u64,
    entries: Option<u64>,
    cpu_percent: Option<f64>,
    frames: u64,
    seconds: u64,
    not_needed: usize,
}

impl Progress {
    /// The state of a run with this plan, before its first event.
    pub(crate) fn of(plan: &Plan) -> Progress {
        let left: HashMap<String, u64> = plan.measurements.iter().map(|m| (m.key(), m.predicted.0)).collect();
        let left_ns = left.values().fold(0, |sum: u64, time| sum.saturating_add(*time));
        let mut progress = Progress { planned: left.len(), left, left_ns, ..Progress::default() };
        progress.count();
        progress
    }

    /// Returns the fields.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Whether the last event was the end of the run.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether a field has changed since the last call.
    pub(crate) fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Updates the state by a line of events. Returns the line for the log; none for events that only change fields, and for
    /// unknown events.
    pub(crate) fn learn(&mut self, line: &[u8]) -> Option<String> {
        let told: Told = serde_json::from_slice(line).ok()?;
        self.is_changed = true;
        self.has_ended = told.event == "finished";
        match told.event.as_str() {
            "run-started" => Some(format!(
                "{} of {} measurements to do",
                told.measurements.saturating_sub(told.done),
                told.measurements
            )),
            "self-tested" => Some("the self-test has ended".to_owned()),
            "dut-preparing" => {
                self.fields.device = console::device(&told.dut, told.connections, told.cores);
                Some(self.fields.device.clone())
            }
            "measurement-started" => {
                let metric = told.measurement["metric"].as_str().unwrap_or_default();
                let repetition = told.measurement["repetition"].as_u64().unwrap_or_default();
                self.fields.measurement = format!("{} of {}: {metric}, repetition {repetition}", told.number, told.of);
                (self.passed, self.failed) = (0, None);
                let Fields { rate, bracket, verdict, cpu, .. } = &mut self.fields;
                [rate, bracket, verdict, cpu].into_iter().for_each(String::clear);
                None
            }
            "trial" => {
                self.trial(&told);
                None
            }
            "null-measured" => {
                self.fields.null = format!("{} frames/s per direction", console::short(told.frames));
                None
            }
            "measurement-done" => {
                let outcome: Outcome = serde_json::from_slice(line).ok()?;
                if let Some(time) = self.left.remove(&outcome.measurement.key()) {
                    self.left_ns = self.left_ns.saturating_sub(time);
                    self.done += 1;
                }
                self.count();
                Some(console::plain(&console::of_result(&outcome)))
            }
            "doubt" => Some(format!("note: {}", told.text)),
            "repaired" => Some(format!("repaired: {}", told.text)),
            "left-out" => Some(format!("{}: skipped, time limit reached", told.measurement.as_str()?)),
            "finished" => {
                self.not_needed = told.not_needed;
                self.count();
                Some(format!("done in {}", console::seconds(told.seconds)))
            }
            _ => None,
        }
    }

    fn trial(&mut self, told: &Told) {
        match told.verdict.as_str() {
            "pass" => self.passed = self.passed.max(told.rate),
            "fail" => self.failed = Some(self.failed.map_or(told.rate, |failed| failed.min(told.rate))),
            _ => {}
        }
        let above =
            self.failed.map_or_else(|| "no rate failed yet".to_owned(), |rate| console::short(rate) + "/s failed");
        let below = match self.passed {
            0 => "no rate passed yet".to_owned(),
            rate => console::short(rate) + "/s passed",
        };
        self.fields.bracket = format!("{below}, {above}");
        self.fields.rate = format!("{}/s", console::short(told.rate));
        let loss = console::loss(told.sent, told.sent.saturating_sub(told.received));
        let reason = if told.reason.is_empty() { String::new() } else { format!(": {}", told.reason) };
        self.fields.verdict = format!("{}, {loss}{reason}", told.verdict);
        if let Some(entries) = told.entries {
            self.fields.table = format!("{} entries", console::short(entries));
        }
        let busy = |percent| format!("{percent:.0} % busy, mean of its cores in phase 2");
        self.fields.cpu = told.cpu_percent.map(busy).unwrap_or_default();
    }

    /// Counts what is done and what is left.
    fn count(&mut self) {
        self.is_changed = true;
        let needed = self.planned.saturating_sub(self.not_needed);
        let left_ns = if self.done >= needed { 0 } else { self.left_ns };
        self.fields.done = format!("{} of {needed}", self.done);
        self.fields.left = console::seconds(left_ns / 1_000_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_follow_the_events() {
        let mut progress = Progress::default();
        for line in [
            "{\"event\":\"dut-preparing\",\"dut\":\"nat\",\"connections\":1000,\"cores\":2}",
            "{\"event\":\"null-measured\",\"frames\":9000000}",
            "{\"event\":\"measurement-started\",\"number\":3,\"of\":8,\"measurement\":{\"metric\":\"throughput\",\"repetition\":1}}",
            "{\"event\":\"trial\",\"rate\":2000000,\"verdict\":\"pass\",\"sent\":10,\"received\":10,\"entries\":1000}",
            "{\"event\":\"trial\",\"rate\":4000000,\"verdict\":\"fail\",\"reason\":\"loss\",\"sent\":1000,\"received\":900}",
            "{\"event\":\"trial\",\"rate\":3000000,\"verdict\":\"invalid\",\"sent\":1000,\"received\":1000,\"cpu_percent\":97.6}",
        ] {
            assert_eq!(progress.learn(line.as_bytes()).is_some(), line.contains("dut-preparing"), "{line}");
            assert!(progress.take_change() && !progress.take_change());
        }
        let texts = progress.fields().texts();
        assert_eq!(
            texts[2..],
            [
                "nat, 1 k connections, 2 cores",
                "3 of 8: throughput, repetition 1",
                "3 M/s",
                "2 M/s passed, 4 M/s failed",
                "invalid, no loss",
                "1 k entries",
                "98 % busy, mean of its cores in phase 2",
                "9 M frames/s per direction",
            ]
        );
        assert_eq!(progress.learn(b"not JSON"), None);
        assert_eq!(progress.learn(b"{\"event\":\"of a later version\"}"), None);
        assert_eq!(progress.learn(b"{\"event\":\"finished\",\"seconds\":7}").as_deref(), Some("done in 7 s"));
        assert!(progress.has_ended());
    }

    /// A state of so many planned measurements of a second each, and the lines of their results.
    fn planned(measurements: u32) -> (Progress, Vec<String>) {
        let mut lines = Vec::new();
        let mut keys = HashMap::new();
        for repetition in 1..=measurements {
            let line = serde_json::json!({
                "event": "measurement-done", "directions": 2, "shares_core": false, "rate": 1, "kind": "exact",
                "error": 10, "one_sided": false, "closed_loop": false, "trace": [], "trials": 1, "invalid_repeats": 0,
                "phase1_lost": 0, "phase1_rate": null, "table_changes": 0, "lost_at_rate": 0,
                "measurement": {
                    "point": { "dut": 0, "dut_name": "x", "connections": 0, "cores": 1 },
                    "metric": "throughput", "frame_size": 84, "direction": "both", "repetition": repetition, "predicted": 0,
                },
            });
            let outcome: Outcome = serde_json::from_value(line.clone()).unwrap();
            keys.insert(outcome.measurement.key(), 1_000_000_000);
            lines.push(line.to_string());
        }
        let left_ns = keys.values().sum();
        (Progress { planned: keys.len(), left: keys, left_ns, ..Progress::default() }, lines)
    }

    #[test]
    fn what_is_done_and_left_is_counted() {
        let (mut progress, lines) = planned(4);
        for (line, done, left) in [(0, "1 of 4", 3), (1, "2 of 4", 2), (1, "2 of 4", 2), (2, "3 of 4", 1)] {
            progress.learn(lines[line].as_bytes());
            assert_eq!(progress.fields().texts()[..2], [done, &console::seconds(left)], "{line}");
        }
        progress.learn(b"{\"event\":\"finished\",\"seconds\":7,\"not_needed\":1}");
        assert_eq!(progress.fields().texts()[..2], ["3 of 3", &console::seconds(0)]);
    }

    #[test]
    fn long_runs_are_followed_in_linear_time() {
        let (mut progress, lines) = planned(20_000);
        let began = std::time::Instant::now();
        for line in &lines {
            progress.learn(line.as_bytes());
        }
        assert_eq!(progress.fields().texts()[0], "20000 of 20000");
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    #[test]
    fn headings_and_texts_have_one_order() {
        let fields = serde_json::to_value(Fields { null: "x".into(), ..Fields::default() }).unwrap();
        assert!(
            FIELDS.iter().all(|(name, _)| fields.get(name).is_some())
                && fields.as_object().unwrap().len() == FIELDS.len()
        );
        assert_eq!(Fields { null: "x".into(), ..Fields::default() }.texts()[FIELDS.len() - 1], "x");
    }
}
