//! Corrects the predicted times of a plan with earlier runs.

use method::Nanos;
use record::plan::{Measurement, Plan, without_attempt};
use record::read::Record;
use record::report::number::plural;
use record::runs::stamp;
use record::store::HEADER;
use record::visit::standing;
use scenario::{Options, Scenario};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Most earlier runs, the latest ones.
const RUNS: usize = 20;

/// Multiples of predictions, by device and metric.
#[derive(Debug, Default)]
pub struct EarlierRuns {
    runs: usize,
    multiples: BTreeMap<(String, String), f64>,
}

impl EarlierRuns {
    /// Reads the latest runs below a folder with the bed and the link of a scenario. Skips unreadable runs.
    pub fn below(folder: &Path, scenario: &Scenario, options: &Options) -> EarlierRuns {
        let mut folders: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        // The names end in the time of the start, which they share with their header.
        let started = |path: &PathBuf| stamp(path, &[HEADER]).first().copied().flatten().map(|(_, written)| written);
        folders.sort_by_cached_key(started);
        let records = folders.iter().rev().filter_map(|path| Record::read(path, tech::ALL).ok());
        let bed = |options: &Options| options.bed.as_ref().map(|bed| bed.text.clone());
        let is_alike = |record: &Record| {
            bed(&record.header.options) == bed(options) && record.header.scenario.link == scenario.link
        };
        let records: Vec<Record> = records.filter(is_alike).take(RUNS).collect();
        let mut all: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        for record in &records {
            for (m, multiple) in multiples(record) {
                all.entry((m.point.dut_name.clone(), m.metric.clone())).or_default().push(multiple);
            }
        }
        let median = |(key, mut multiples): ((String, String), Vec<f64>)| {
            multiples.sort_by(f64::total_cmp);
            Some((key, method::stats::median_of(&multiples)?))
        };
        let multiples: BTreeMap<_, _> = all.into_iter().filter_map(median).collect();
        EarlierRuns { runs: if multiples.is_empty() { 0 } else { records.len() }, multiples }
    }

    /// Corrects a plan, and returns a sentence about it.
    pub fn correct(&self, plan: &mut Plan) -> Option<String> {
        let mut used = Vec::new();
        for m in &mut plan.measurements {
            let Some(multiple) = self.multiples.get(&(m.point.dut_name.clone(), m.metric.clone())) else { continue };
            m.predicted = Nanos((m.predicted.0 as f64 * multiple) as u64);
            used.push(format!("{} of {} {multiple:.2} times", m.metric, m.point.dut_name));
        }
        let (runs, used) = (plural(self.runs as u64, "earlier run"), document::distinct(used));
        let sentence = format!(
            "Corrected by {runs} on this bed, whose trials took, compared with their prediction: {}.",
            used.join(", ")
        );
        (!used.is_empty()).then_some(sentence)
    }
}

/// Time of the trials as a multiple of this natmeter's prediction, of measurements with a result.
fn multiples(record: &Record) -> Vec<(&Measurement, f64)> {
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    for trial in &record.trials {
        let sum = taken.entry(without_attempt(&trial.measurement)).or_default();
        *sum = sum.saturating_add(trial.outcome.wall.0);
    }
    let plan = super::plan(&record.header.scenario);
    let predicted: BTreeMap<String, u64> = plan.measurements.iter().map(|m| (m.key(), m.predicted.0)).collect();
    let multiple = |m: &Measurement| {
        let (taken, predicted) = (*taken.get(m.key().as_str())?, *predicted.get(&m.key())?);
        (predicted > 0 && taken > 0).then(|| taken as f64 / predicted as f64)
    };
    standing(&record.outcomes).filter_map(|o| Some((&o.measurement, multiple(&o.measurement)?))).collect()
}
