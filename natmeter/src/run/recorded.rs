//! Records trials: judges each outcome, writes it to the run folder and reports it to the listener
//! before the search sees it.

use crate::event::{Event, Listener};
use method::trial::CpuIdle;
use method::validity::{Criteria, Verdict, judge};
use method::{TrialError, TrialOutcome, TrialRecord, TrialSpec, Trials};
use record::store::RunFolder;

/// Middleware around the trials of one measurement.
pub struct Recorded<'a, T> {
    /// Runs the trials.
    pub inner: T,
    /// Key of the measurement.
    pub measurement: String,
    /// Criteria of the recorded verdict.
    pub criteria: Criteria,
    /// Number of the next trial.
    pub next_seq: u64,
    /// The run folder.
    pub folder: &'a mut RunFolder,
    /// Receives the events.
    pub listener: &'a mut dyn Listener,
    /// Records made here.
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
        entries: record
            .outcome
            .store
            .as_ref()
            .map(|store| store.dut_entries_after.or(store.dut_entries).unwrap_or(store.learned)),
        cpu_percent: cpu_percent(&record.outcome.observed.cpu),
    }
}

/// Mean share of the time in which the sampled cores were not idle.
fn cpu_percent(sampled: &[CpuIdle]) -> Option<f64> {
    let idle: Vec<u32> = sampled.iter().flat_map(|of| of.in_phase2().flat_map(|(_, shares)| shares)).collect();
    let mean = idle.iter().map(|share| f64::from(*share)).sum::<f64>() / idle.len() as f64;
    (!idle.is_empty()).then_some(100.0 - mean / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::Nanos;

    #[test]
    fn cpu_time_is_the_mean_of_cores_and_samples_in_phase_2() {
        let second = Nanos::SECOND.0;
        let idle = CpuIdle {
            ends: [1, 2, 3].map(|n| Nanos(n * second)).to_vec(),
            phase2: [Nanos(second), Nanos(3 * second)],
            cores: [("core 0", vec![0, 100_000, 300_000]), ("core 1", vec![0, 0, 0])]
                .map(|(name, shares)| (name.to_owned(), shares))
                .into(),
            ..CpuIdle::default()
        };
        assert_eq!(cpu_percent(&[idle]), Some(90.0));
        assert_eq!(cpu_percent(&[]), None);
    }
}
