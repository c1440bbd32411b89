//! The record of a trial (one line of `trials.jsonl`), and the replay of records with which a run is resumed.

use crate::trial::{TrialError, TrialOutcome, TrialSpec, Trials};
use crate::validity::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One trial of a run: one line of `trials.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Position in the run, counted from 0 without gaps.
    pub seq: u64,
    /// The measurement that the trial belongs to, such as `throughput/connections=1000000/2`.
    pub measurement: String,
    /// The specification.
    pub spec: TrialSpec,
    /// The outcome.
    pub outcome: TrialOutcome,
    /// The verdict at the time of recording.
    pub verdict: Verdict,
}

/// Returns recorded outcomes in the recorded order, then runs `inner`.
#[derive(Debug)]
pub struct Replay<T> {
    records: VecDeque<TrialRecord>,
    inner: T,
}

impl<T> Replay<T> {
    /// Replays `records`, then continues with `inner`.
    ///
    /// # Errors
    /// [`TrialError::Mismatch`] when a record is missing in between or out of order.
    pub fn new(records: impl IntoIterator<Item = TrialRecord>, inner: T) -> Result<Self, TrialError> {
        let records: VecDeque<TrialRecord> = records.into_iter().collect();
        for (a, b) in records.iter().zip(records.iter().skip(1)) {
            if Some(b.seq) != a.seq.checked_add(1) {
                return Err(TrialError::Mismatch(format!("trial {} is followed by trial {}", a.seq, b.seq)));
            }
        }
        Ok(Replay { records, inner })
    }

    pub fn pending(&self) -> usize {
        self.records.len()
    }
}

impl<T: Trials> Trials for Replay<T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let Some(record) = self.records.pop_front() else { return self.inner.run(spec) };
        if record.spec == *spec {
            return Ok(record.outcome);
        }
        let text = format!(
            "trial {} of `{}` was recorded as {:?}, but these settings need {spec:?}; start a new run for changed settings",
            record.seq, record.measurement, record.spec
        );
        self.records.push_front(record);
        Err(TrialError::Mismatch(text))
    }
}
