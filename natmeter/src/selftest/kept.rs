//! The trials of a self-test, so that a check that does not pass can be analysed.

use method::validity::{Criteria, judge};
use method::{HostNoise, Leg, Nanos, TrialError, TrialOutcome, TrialRecord, TrialSpec, Trials, Verdict};
use record::report::number::grouped;
use std::cell::RefCell;

/// The trials of one check, each judged as in a search.
pub(super) struct TrialKeeper<'a> {
    pub(super) check: &'a str,
    trials: &'a RefCell<Vec<TrialRecord>>,
}

impl<'a> TrialKeeper<'a> {
    pub(super) fn new(check: &'a str, trials: &'a RefCell<Vec<TrialRecord>>) -> TrialKeeper<'a> {
        TrialKeeper { check, trials }
    }

    pub(super) fn keep(&self, spec: &TrialSpec, outcome: &TrialOutcome) {
        let mut trials = self.trials.borrow_mut();
        let record = TrialRecord {
            seq: trials.len() as u64,
            measurement: self.check.to_owned(),
            spec: spec.clone(),
            outcome: outcome.clone(),
            verdict: judge(spec, outcome, &Criteria::default()),
        };
        trials.push(record);
    }

    pub(super) fn count(&self) -> usize {
        self.trials.borrow().len()
    }

    pub(super) fn last(&self) -> Option<TrialRecord> {
        self.trials.borrow().iter().rfind(|trial| trial.measurement == self.check).cloned()
    }

    /// Matching trials after the first `after`; of several at one rate, the last.
    pub(super) fn those(&self, after: usize, holds: impl Fn(&TrialRecord) -> bool) -> Vec<TrialRecord> {
        let mut found: Vec<TrialRecord> = Vec::new();
        for trial in self.trials.borrow().iter().skip(after).filter(|trial| holds(trial)) {
            found.retain(|other| other.spec != trial.spec);
            found.push(trial.clone());
        }
        found
    }
}

pub(super) struct KeptTrials<'a, T> {
    pub(super) inner: T,
    pub(super) kept: &'a TrialKeeper<'a>,
}

impl<T: Trials> Trials for KeptTrials<'_, T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let outcome = self.inner.run(spec)?;
        self.kept.keep(spec, &outcome);
        Ok(outcome)
    }
}

/// A trial with all facts that the trial's validity depends on, one a line.
pub(crate) fn in_words(trial: &TrialRecord) -> Vec<String> {
    let TrialOutcome { forward, reverse, host, .. } = &trial.outcome;
    let legs = [("Left to Right", forward), ("Right to Left", reverse)].into_iter().filter(|(_, leg)| leg.planned > 0);
    let mut lines = vec![format!("trial {} at {}/s: {}", trial.seq, grouped(trial.spec.rate.0), verdict(trial))];
    lines.extend(legs.map(|(name, leg)| leg_in_words(name, leg)));
    lines.push(host_in_words(host));
    lines
}

fn verdict(trial: &TrialRecord) -> String {
    match &trial.verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Fail(failure) => format!("fail, {failure}"),
        Verdict::Invalid(reason) => format!("invalid, {reason}"),
    }
}

fn leg_in_words(name: &str, leg: &Leg) -> String {
    let timing = &leg.timing;
    format!(
        "{name}: {} planned, {} sent ({} refused), {} received correctly, {} faulty; last frame {} late, latest {}; \
         largest burst {}, {} frames in catch-up bursts",
        grouped(leg.planned),
        grouped(leg.sent),
        grouped(leg.refused),
        grouped(leg.received),
        grouped(leg.faults.total()),
        micros(timing.finished_late),
        micros(timing.worst_late),
        timing.worst_burst,
        grouped(timing.crowded),
    )
}

fn host_in_words(host: &HostNoise) -> String {
    let known = |time: Option<Nanos>| time.map_or_else(|| "unknown".to_owned(), micros);
    format!(
        "longest stall: tester {}, device {}; run delay: tester {}, device {}; the queues absorb {}; \
         the tester's own drops {}{}",
        micros(host.tester_stall),
        micros(host.dut_stall),
        known(host.tester_run_delay),
        known(host.dut_run_delay),
        known(host.queue_lasts),
        grouped(host.tester_drops),
        if host.link_lost { "; a link was lost" } else { "" },
    )
}

fn micros(time: Nanos) -> String {
    format!("{} µs", grouped(time.0 / 1_000))
}
