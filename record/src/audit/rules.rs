//! Checks for records with the rules of this natmeter: judging a trial again gives the recorded verdict, and repeating a
//! search over its recorded trials gives the recorded result.

use super::Finding;
use super::structure::{ByKey, by_key, does_not_follow, filed_under};
use crate::folder::{Calibration, Outcome};
use crate::plan::Measurement;
use crate::read::Record;
use crate::search::{Search, criteria, known_before, last_trials};
use crate::store::{RESULTS, TRIALS};
use method::{Replay, SearchResult, TrialError, TrialOutcome, TrialSpec, Trials, judge};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn findings(record: &Record) -> Vec<Finding> {
    verdicts(record).chain(results(record)).collect()
}

fn verdicts(record: &Record) -> impl Iterator<Item = Finding> {
    let criteria = criteria(&record.header.scenario);
    (1..).zip(&record.trials).filter_map(move |(line, trial)| {
        let now = judge(&trial.spec, &trial.outcome, &criteria);
        (now != trial.verdict).then(|| {
            let (seq, key, recorded) = (trial.seq, &trial.measurement, &trial.verdict);
            let what = format!("trial {seq} of `{key}` is recorded as {recorded}, but its counters give {now}");
            Finding::new(TRIALS, line, what)
        })
    })
}

fn results(record: &Record) -> impl Iterator<Item = Finding> {
    let again = Rerun::new(record);
    (1..).zip(&record.outcomes).filter_map(move |(line, outcome)| {
        let what = match again.search(&outcome.measurement, &again.filed_under(outcome)) {
            Ok(found) => differs(&found, outcome)?,
            Err(error) => error.to_string(),
        };
        Some(does_not_follow(line, outcome, &what))
    })
}

/// Returns the measurements whose recorded trials give a result that is not recorded, with the key
/// of these trials and the result; without the last one, which a kill may have cost.
pub(super) fn lost(record: &Record) -> impl Iterator<Item = (&Measurement, String, SearchResult)> {
    let again = Rerun::new(record);
    let last = record.trials.last().map(|t| t.measurement.as_str());
    let found: BTreeSet<String> = record.outcomes.iter().map(|o| again.filed_under(o)).collect();
    record.header.plan.measurements.iter().filter_map(move |m| {
        let key = m.attempt_key(m.last_attempt(|key| again.by_key.contains_key(key)));
        if Some(key.as_str()) == last || found.contains(&key) {
            return None;
        }
        let lost = again.search(m, &key).ok()?.result;
        Some((m, key, lost))
    })
}

pub(super) fn lost_results(record: &Record) -> impl Iterator<Item = Finding> {
    lost(record).map(|(_, key, lost)| {
        let what = format!("`{key}` has no result, but its trials give {}/s", lost.rate);
        let remedy = "run `natmeter resume` to derive it again, or restore the file from a copy".to_owned();
        Finding { remedy, ..Finding::new(RESULTS, None, what) }
    })
}

struct Rerun<'a> {
    record: &'a Record,
    by_key: ByKey<'a>,
    last: BTreeMap<&'a str, u64>,
    calibration: Calibration,
}

struct RerunResult {
    result: SearchResult,
    directions: u32,
    /// Recorded trials that it did not ask for.
    pending: usize,
}

impl<'a> Rerun<'a> {
    fn new(record: &'a Record) -> Rerun<'a> {
        let calibration = record.calibration.clone().unwrap_or_default();
        Rerun { record, by_key: by_key(&record.trials), last: last_trials(&record.trials), calibration }
    }

    fn filed_under(&self, outcome: &Outcome) -> String {
        outcome.filed_under(|key| self.by_key.contains_key(key))
    }

    /// Repeats the search of a measurement over the trials that are filed under `key`.
    fn search(&self, measurement: &Measurement, key: &str) -> Result<RerunResult, TrialError> {
        let trials = filed_under(key, &self.by_key);
        let (scenario, first) = (&self.record.header.scenario, trials.first().map(|t| t.seq));
        let known = known_before(measurement, scenario, first, &self.record.outcomes, &self.last);
        let search = Search::new(measurement, scenario, &self.calibration, &known)?;
        let mut replay = Replay::new(trials.iter().copied().cloned(), NoTrials)?;
        let result = search.run(&mut replay, &mut |_| ())?;
        Ok(RerunResult { result, directions: search.direction().count() as u32, pending: replay.pending() })
    }
}

/// How a result differs from that of the repeated search. Reasons of steps are not compared, because their text may change.
fn differs(RerunResult { result, directions, pending }: &RerunResult, outcome: &Outcome) -> Option<String> {
    let without_reasons = |result: &SearchResult| {
        let mut result = result.clone();
        result.trace.iter_mut().for_each(|step| step.reason.clear());
        result
    };
    let (found, recorded) = (without_reasons(result), without_reasons(&outcome.result));
    if *pending > 0 {
        return Some(format!("{pending} of its trials come after the end of the search"));
    }
    if found.rate != recorded.rate || found.kind != recorded.kind {
        return Some(format!(
            "they give {}/s ({}), but {}/s ({}) is recorded",
            found.rate,
            found.kind.name(),
            recorded.rate,
            recorded.kind.name()
        ));
    }
    if *directions != outcome.directions {
        return Some(format!("they have {directions} directions, but {} are recorded", outcome.directions));
    }
    (found != recorded).then(|| "they give the same rate with another error or other steps".to_owned())
}

struct NoTrials;

impl Trials for NoTrials {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        Err(TrialError::Mismatch(format!("the search asks for a trial at {}/s, but none is recorded", spec.rate)))
    }
}
