//! Checks for every record, whatever its rules: numbers, names and counts must agree.

use super::Finding;
use crate::folder::{Header, Outcome};
use crate::plan::{Measurement, Plan, without_attempt};
use crate::read::Record;
use crate::store::{HEADER, NULLS, RESULTS, TRIALS};
use method::{Load, Rate, ResultKind, SearchStep, StepVerdict, TrialRecord, Verdict};
use procedure::metric::{Gives, Unit, gives};
use scenario::Point;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let mut findings: Vec<Finding> = version(&record.header).into_iter().chain(plan(&record.header)).collect();
    // No result follows from the other files.
    let missing = record.missing.iter().filter(|file| [TRIALS, RESULTS].contains(file));
    findings.extend(missing.map(|file| Finding::new(file, None, "the file is missing".to_owned())));
    findings.extend(numbers(&record.trials));
    findings.extend(unplanned(record));
    findings.extend(results(record));
    findings.extend(nulls(record));
    findings.extend(visits(record));
    findings
}

/// The version that wrote a folder of a known format is not newer than this one.
fn version(header: &Header) -> Option<Finding> {
    let number = |version: &str| version.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>();
    let (own, found) = (env!("CARGO_PKG_VERSION"), &header.version);
    let what = match number(found) {
        Some(number_found) if Some(&number_found) <= number(own).as_ref() => return None,
        Some(_) => format!("the run was written by natmeter {found}, which is newer than this one ({own})"),
        None => format!("`{found}` is not a version of natmeter"),
    };
    let remedy = format!("use natmeter {found} if it wrote this run, else restore the file from a copy");
    Some(Finding { remedy, ..Finding::new(HEADER, None, what) })
}

/// The plan is that of the scenario. With another order of trials the plan is unknown and not checked.
fn plan(header: &Header) -> Option<Finding> {
    let keys = |plan: &Plan| plan.measurements.iter().map(Measurement::key).collect::<Vec<_>>();
    let (planned, recorded) = (keys(&Plan::in_order(&header.scenario, header.sequence()?)), keys(&header.plan));
    if planned == recorded {
        return None;
    }
    let other = planned.iter().find(|key| !recorded.contains(key)).map(|key| format!("`{key}` is missing"));
    let other = other.or_else(|| {
        recorded.iter().find(|key| !planned.contains(key)).map(|key| format!("`{key}` is not in the scenario"))
    });
    let other = other.unwrap_or_else(|| "they are in another order, or one occurs twice".to_owned());
    let what =
        format!("the plan has {} measurements, but the scenario asks for {}: {other}", recorded.len(), planned.len());
    Some(Finding::new(HEADER, None, what))
}

/// Trials are numbered from 0 without gaps, in the order of their lines.
fn numbers(trials: &[TrialRecord]) -> Vec<Finding> {
    let all: BTreeSet<u64> = trials.iter().map(|t| t.seq).collect();
    let mut seen = BTreeMap::new();
    let mut next = 0;
    let mut findings = Vec::new();
    for (line, trial) in (1..).zip(trials) {
        let seq = trial.seq;
        if let Some(first) = seen.insert(seq, line) {
            findings.push(Finding::new(TRIALS, line, format!("trial {seq} is recorded twice, first in line {first}")));
        } else if seq < next {
            findings.push(Finding::new(TRIALS, line, format!("trial {seq} comes after trial {}", next - 1)));
        } else {
            let missing = (seq - next) - all.range(next..seq).count() as u64;
            let which = if missing == 1 { "1 trial is".to_owned() } else { format!("{missing} trials are") };
            let what = format!("{which} missing before trial {seq}");
            findings.extend((missing > 0).then(|| Finding::new(TRIALS, line, what)));
        }
        next = next.max(seq.saturating_add(1));
    }
    findings
}

/// Every trial and every result belongs to a measurement of the plan, and an attempt at a measurement has one result.
fn unplanned(record: &Record) -> Vec<Finding> {
    let planned: BTreeMap<String, &Measurement> =
        record.header.plan.measurements.iter().map(|m| (m.key(), m)).collect();
    let mut findings = Vec::new();
    for (line, trial) in (1..).zip(&record.trials) {
        if !planned.contains_key(without_attempt(&trial.measurement)) {
            let what = format!("trial {} belongs to `{}`, which is not in the plan", trial.seq, trial.measurement);
            findings.push(Finding::new(TRIALS, line, what));
        }
    }
    let mut seen = BTreeMap::new();
    for (line, outcome) in (1..).zip(&record.outcomes) {
        let key = outcome.measurement.key();
        if planned.get(&key).is_none_or(|m| **m != outcome.measurement) {
            let what = format!("the result of `{key}` is for a measurement that is not in the plan");
            findings.push(Finding::new(RESULTS, line, what));
        }
        let last = seen.insert(key.clone(), (line, outcome.attempt));
        if let Some((first, _)) = last.filter(|(_, attempt)| outcome.attempt.is_none() || outcome.attempt <= *attempt) {
            let what =
                format!("`{key}` has two results, the first in line {first}, and no later attempt gave the second");
            findings.push(Finding::new(RESULTS, line, what));
        }
    }
    findings
}

/// Every result has the trials that it names.
fn results(record: &Record) -> impl Iterator<Item = Finding> {
    let by_key = by_key(&record.trials);
    (1..).zip(&record.outcomes).filter_map(move |(line, outcome)| {
        let trials = filed_under(&outcome.filed_under(|key| by_key.contains_key(key)), &by_key);
        Some(does_not_follow(line, outcome, &disagrees(outcome, trials)?))
    })
}

/// Returns the finding that a result does not follow from its trials.
pub(super) fn does_not_follow(line: usize, outcome: &Outcome, what: &str) -> Finding {
    let key = outcome.measurement.key();
    Finding::new(RESULTS, line, format!("the result of `{key}` does not follow from its trials: {what}"))
}

/// Every measurement of the null device belongs to a point of the plan, and forwarded frames.
fn nulls(record: &Record) -> impl Iterator<Item = Finding> {
    (1..).zip(&record.nulls).flat_map(|(line, null)| {
        let Point { dut_name: name, connections: n, cores, .. } = &null.point;
        let is_planned = record.header.plan.measurements.iter().any(|m| m.point == null.point);
        let wrong = [
            (!is_planned, format!("was measured at `{name}/n={n}/cores={cores}`, which is not in the plan")),
            (null.frames == Rate(0), "has a rate of 0 frames/s".to_owned()),
            (
                null.set_up.is_some() != (*n > 0),
                "has a rate of phase 1 if and only if its point has connections".to_owned(),
            ),
        ];
        let found = wrong.into_iter().filter(|(is_wrong, _)| *is_wrong);
        found.map(move |(_, what)| Finding::new(NULLS, line, format!("the null device {what}")))
    })
}

/// Every result of a visit is of the point at which the null device was measured.
fn visits(record: &Record) -> impl Iterator<Item = Finding> {
    let points: BTreeMap<u32, &Point> = record.nulls.iter().filter_map(|n| Some((n.visit?, &n.point))).collect();
    (1..).zip(&record.outcomes).filter_map(move |(line, outcome)| {
        let (visit, key) = (outcome.visit?, outcome.measurement.key());
        let what = format!("`{key}` belongs to visit {visit}, but its null device was measured at another point");
        points.get(&visit).filter(|point| **point != &outcome.measurement.point)?;
        Some(Finding::new(RESULTS, line, what))
    })
}

/// Trials by the key under which they are filed, which names measurement and attempt.
pub(super) type ByKey<'a> = BTreeMap<&'a str, Vec<&'a TrialRecord>>;

pub(super) fn by_key(trials: &[TrialRecord]) -> ByKey<'_> {
    let mut by_key = ByKey::new();
    for trial in trials {
        by_key.entry(&trial.measurement).or_default().push(trial);
    }
    by_key
}

pub(super) fn filed_under<'t, 'a>(key: &str, by_key: &'t ByKey<'a>) -> &'t [&'a TrialRecord] {
    by_key.get(key).map_or(&[], Vec::as_slice)
}

/// How a result contradicts its trials, whatever the rules are.
fn disagrees(outcome: &Outcome, trials: &[&TrialRecord]) -> Option<String> {
    let result = &outcome.result;
    if result.trace.is_empty() {
        return Some("its search has no step".to_owned());
    }
    let metric = &outcome.measurement.metric;
    let is_of_bursts = procedure::metric::by_key(metric).is_some_and(|metric| metric.unit == Unit::Frames);
    let tried = |step: &SearchStep| {
        let is_of_step = |t: &TrialRecord| match t.spec.load {
            // Bursts have one rate; their length is searched.
            Load::Frames(frames) if is_of_bursts => frames == step.rate.0,
            _ => t.spec.searched_rate() == step.rate,
        };
        trials.iter().any(|t| is_of_step(t) && agrees(&t.verdict, step.verdict))
    };
    if let Some(step) = result.trace.iter().find(|step| !tried(step)) {
        let at = if is_of_bursts { format!("of {} frames", step.rate) } else { format!("at {}/s", step.rate) };
        return Some(format!("no trial {at} has the verdict that its step of the search has"));
    }
    let is_at = |step: &SearchStep, rate: Rate| match result.capacity {
        Some(_) => step.connections == Some(rate.0),
        None => step.rate == rate,
    };
    let is_tried = |rate: Rate| rate.0 == 0 || result.trace.iter().any(|step| is_at(step, rate));
    // Other values follow from their trials by their procedure, which the audit repeats.
    let is_rate = gives(metric, Gives::Throughput) || gives(metric, Gives::SetUpRate);
    let is_of_search =
        is_rate && result.goals.is_empty() && result.capacity.is_none() && result.kind != ResultKind::NoRate;
    let is_counted = result.kind == ResultKind::Observed;
    let is_of_steps = !is_counted && (!result.goals.is_empty() || result.capacity.is_some());
    if is_of_steps && !is_tried(result.rate) {
        return Some(format!("no step of its search tried its value of {}", result.rate));
    }
    let passed = result.trace.iter().filter(|s| s.verdict == StepVerdict::Pass && !s.after).map(|s| s.rate).max();
    // A strict rate may have passed in a discarded trial only.
    let strict = result.strict.filter(|_| result.kind == ResultKind::Strict);
    // A goal of MLRsearch may allow losses, and passes that other trials outweigh.
    if is_of_search && strict.map_or(passed.unwrap_or_default(), |strict| strict.rate) != result.rate {
        return Some(format!(
            "its rate is {}/s, but the highest rate that passed is {}/s",
            result.rate,
            passed.unwrap_or_default()
        ));
    }
    let in_steps = result.trace.iter().fold(0u64, |sum, step| sum.saturating_add(step.trials));
    if in_steps != result.trials || in_steps > trials.len() as u64 {
        return Some(format!(
            "it counts {} trials and its steps {in_steps}, but {} are recorded",
            result.trials,
            trials.len()
        ));
    }
    None
}

fn agrees(trial: &Verdict, step: StepVerdict) -> bool {
    match step {
        StepVerdict::Pass => *trial == Verdict::Pass,
        StepVerdict::Fail => matches!(trial, Verdict::Fail(_)),
        StepVerdict::TesterBound | StepVerdict::HostBound => matches!(trial, Verdict::Invalid(_)),
    }
}
