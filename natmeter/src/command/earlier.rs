//! `natmeter run --continue`: finds the run to continue, and the results that a run lacks.

use record::enough::StoppingRule;
use record::folder::{Header, Outcome};
use record::plan::Measurement;
use record::read::Record;
use record::store::{Dir, SCENARIO};
use scenario::limits::without;
use scenario::{LoadedScenario, Point};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the latest run with the same text and options, and whether it is complete. Skips unreadable run folders.
pub(super) fn latest(runs: &Path, loaded: &LoadedScenario) -> Option<(PathBuf, bool)> {
    let folders = fs::read_dir(runs).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_same = |run: &PathBuf| {
        let text = Dir::open(run).and_then(|run| run.text(SCENARIO)).ok().flatten();
        text.is_some_and(|text| without(&text) == without(&loaded.text))
    };
    let records = folders.filter(is_same).filter_map(|run| Some((Record::read(&run, tech::ALL).ok()?, run)));
    let same = records.filter(|(record, _)| record.header.options.without_limits() == loaded.options.without_limits());
    let (record, run) = same.max_by(|(a, _), (b, _)| a.header.started.cmp(&b.header.started))?;
    let (values, repetitions) = missing(&record.header, &record.outcomes);
    Some((run, values.is_empty() && repetitions.is_empty()))
}

/// Keys of the values without a result, and of the missing repetitions of all other values. With a
/// time limit no repetition is missing, because the scenario allows natmeter to skip repetitions.
pub(super) fn missing(header: &Header, outcomes: &[Outcome]) -> (Vec<String>, Vec<String>) {
    let enough = StoppingRule::of(&header.scenario, outcomes);
    let made: HashSet<&Measurement> = outcomes.iter().map(|o| &o.measurement).collect();
    let known: HashSet<(&Point, &str)> = made.iter().map(|m| (&m.point, m.metric.as_str())).collect();
    let has_result = |m: &Measurement| known.contains(&(&m.point, m.metric.as_str()));
    let measurements = &header.plan.measurements;
    let values = measurements.iter().filter(|m| m.repetition <= 1 && !has_result(m)).map(Measurement::value_key);
    let is_needed = |m: &Measurement| !made.contains(m) && !enough.is_enough(m);
    let is_due = |m: &&Measurement| header.scenario.time_limit.is_none() && has_result(m) && is_needed(m);
    (values.collect(), measurements.iter().filter(is_due).map(Measurement::key).collect())
}
