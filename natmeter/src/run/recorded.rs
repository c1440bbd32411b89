//! Records trials: judges each outcome, writes it to the run folder and reports it to the listener before the search sees it.

use crate::event::{Event, Listener};
use method::validity::{Criteria, Verdict, judge};
use method::{TrialError, TrialOutcome, TrialRecord, TrialSpec, Trials};
use record::store::RunFolder;

/// Middleware around the trials of one measurement.
pub struct Recorded<'a, T> {
    /// Runs the trials.
    pub inner: T,
    /// Key of the measurement.
    pub measurement: String,
    /// Acceptance criteria of the recorded verdict.
    pub criteria: Criteria,
    /// Number of the next trial.
    pub next_seq: u64,
    /// The run folder.
    pub folder: &'a mut RunFolder,
    /// Receives the events.
    pub listener: &'a mut dyn Listener,
    /// All records made here.
    pub made: &'a mut Vec<TrialRecord>,
}

impl<T: Trials> Trials for Recorded<'_, T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let outcome = self.inner.run(spec)?;
        let verdict = judge(spec, &outcome, &self.criteria);
        let record = TrialRecord {
            seq: self.next_seq,
            measurement: self.measurement.clone(),
            spec: spec.clone(),
            outcome: outcome.clone(),
            verdict,
        };
        self.folder.append_trial(&record).map_err(|e| TrialError::Store(e.to_string()))?;
        self.next_seq += 1;
        let event = event_of(&record);
        self.folder.append_event(&event).map_err(|e| TrialError::Store(e.to_string()))?;
        self.listener.on(&event);
        self.made.push(record);
        Ok(outcome)
    }
}

fn event_of(record: &TrialRecord) -> Event {
    let (verdict, reason) = match &record.verdict {
        Verdict::Pass => ("pass", String::new()),
        Verdict::Fail(failure) => ("fail", failure.to_string()),
        Verdict::Invalid(invalid) => ("invalid", invalid.to_string()),
    };
    let legs = [Some(&record.outcome.forward), Some(&record.outcome.reverse), record.outcome.validation.as_ref()];
    let sum = |f: fn(&method::Leg) -> u64| legs.iter().flatten().map(|l| f(l)).sum();
    Event::Trial {
        seq: record.seq,
        measurement: record.measurement.clone(),
        rate: record.spec.searched_rate(),
        verdict: verdict.to_owned(),
        reason,
        sent: sum(|l| l.sent),
        received: sum(|l| l.received),
    }
}
