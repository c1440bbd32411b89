//! One measurement: runs its search on a rig. Each trial is judged, written to the run folder and reported before the search
//! sees it.

use super::{Run, RunError};
use crate::event::{Event, Listener};
use crate::rig::Rig;
use crate::until::is_over;
use method::search::Progress;
use method::trial::CpuIdle;
use method::validity::{Criteria, Verdict, judge};
use method::{Nanos, Replay, TrialError, TrialOutcome, TrialRecord, TrialSpec, Trials};
use record::folder::Outcome;
use record::plan::Measurement;
use record::search::{Search, known_before, last_trials};
use record::store::{RunFolder, StoreError};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

impl Run<'_> {
    /// Measures once. It first replays the trials of an interrupted attempt; new trials get the same key. Also returns
    /// whether there was no new trial.
    pub(super) fn attempt(
        &mut self,
        m: &Measurement,
        attempt: u32,
        rig: &mut Rig,
    ) -> Result<(Result<Outcome, TrialError>, bool), RunError> {
        let key = m.attempt_key(attempt);
        let recorded: Vec<TrialRecord> = self.records.iter().filter(|r| r.measurement == key).cloned().collect();
        let (replays, before) = (!recorded.is_empty(), self.records.len());
        let found = self.search(m, key, recorded, rig);
        self.note_commands()?;
        Ok((found, replays && self.records.len() == before))
    }

    fn search(
        &mut self,
        m: &Measurement,
        key: String,
        recorded: Vec<TrialRecord>,
        rig: &mut Rig,
    ) -> Result<Outcome, TrialError> {
        let (first, last) = (recorded.first().map(|r| r.seq), last_trials(&self.records));
        let known = known_before(m, &self.scenario, first, &self.outcomes, &last);
        let mut search = Search::new(m, &self.scenario, &self.calibration, &known)?;
        let next_seq = self.records.iter().map(|r| r.seq.saturating_add(1)).max().unwrap_or(0);
        // Every attempt has the same noise, so that the device does not depend on the number of attempts.
        rig.begin(&m.key(), recorded.len() as u64);
        stored(rig.captures.belong_to(self.folder.dir(), &key, next_seq))?;
        search.buffered = rig.buffered;
        let (shares_core, figures) = (rig.shares_core, rig.figures.clone());
        let after: u64 = self.left().filter(|other| *other != m).map(|other| other.predicted.0).sum();
        let limit = self.scenario.time_limit.map(|limit| (self.began, Duration::from(limit)));
        let began = Instant::now();
        // The search and the recorder use the listener in turn.
        let listener: &mut dyn Listener = &mut *self.listener;
        let listener = RefCell::new(listener);
        let mut watch = |p: &Progress| {
            let this = (m.predicted.0 / Nanos::SECOND.0).saturating_sub(began.elapsed().as_secs());
            let eta_s = before_limit(this + after / Nanos::SECOND.0, this, limit);
            let event = Event::Trying { rate: p.rate, lo: p.lo, hi: p.hi, steps_left: p.steps_left, eta_s };
            listener.borrow_mut().on(&event);
        };
        let recorder = Recorder {
            rig,
            end: self.end,
            interrupted: &self.process.interrupted,
            measurement: key,
            criteria: search.settings.criteria,
            next_seq,
            folder: &mut self.folder,
            listener: &listener,
            records: &mut self.records,
        };
        let result = search.run(&mut Replay::new(recorded, recorder)?, &mut watch)?;
        Ok(Outcome { shares_core, figures, ..Outcome::new(m.clone(), search.direction(), result) })
    }
}

fn stored(written: Result<(), StoreError>) -> Result<(), TrialError> {
    written.map_err(|error| TrialError::Store(error.to_string()))
}

/// Seconds left, not beyond the time limit. Twice the limit ends the measurement in progress.
fn before_limit(left: u64, of_this: u64, limit: Option<(Instant, Duration)>) -> u64 {
    let Some((began, limit)) = limit else { return left };
    let until = |limit: Duration| limit.saturating_sub(began.elapsed()).as_secs();
    left.min(until(limit).max(of_this)).min(until(limit.saturating_mul(2)))
}

/// Runs and records the trials of one measurement.
struct Recorder<'a, 'l> {
    rig: &'a mut Rig,
    /// No trial begins after this, nor after Ctrl-C, which simulated devices do not see.
    end: Option<Instant>,
    interrupted: &'a AtomicBool,
    /// Key of the trials.
    measurement: String,
    criteria: Criteria,
    next_seq: u64,
    folder: &'a mut RunFolder,
    listener: &'a RefCell<&'l mut dyn Listener>,
    records: &'a mut Vec<TrialRecord>,
}

impl Trials for Recorder<'_, '_> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        if is_over(self.end) || self.interrupted.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let outcome = self.rig.run(spec)?;
        let (verdict, measurement) = (judge(spec, &outcome, &self.criteria), self.measurement.clone());
        let record =
            TrialRecord { seq: self.next_seq, measurement, spec: spec.clone(), outcome: outcome.clone(), verdict };
        stored(self.folder.append_trial(&record))?;
        self.next_seq += 1;
        let event = event_of(&record);
        stored(self.folder.append_event(&event))?;
        self.listener.borrow_mut().on(&event);
        self.records.push(record);
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
