//! The trend of a scenario over many runs: a series for each metric and point, in the order of the runs' starts, and the runs
//! at which its level changed, with the conditions that changed there.

mod page;

use crate::compare::conditions::{self, Unlike};
use crate::compare::difference::{Difference, is_bounded};
use crate::compare::matching::{RunResult, groups};
use crate::compare::text::{builds, difference_in_words};
use crate::compare::{Run, RunInfo, run_info};
use crate::report::facts::place;
use crate::report::number::{plural, significant};
use crate::report::value::in_short;
use method::stats::change::{self, LEAST_VALUES};
use method::stats::shift::ValueRange;
pub use page::page;
use scenario::axis::AxisValues;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Seed of the permutations that test change points.
pub const SEED: u64 = 1;

/// The trend of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// Name of the scenario.
    pub scenario: String,
    /// Runs below which a series has no change points.
    pub least_runs: usize,
    /// Probability at which a change point counts as found.
    pub significance: f64,
    /// Seed of the permutations.
    pub seed: u64,
    /// The runs in the order of their starts.
    pub runs: Vec<RunInfo>,
    /// The series.
    pub series: Vec<Series>,
}

/// One metric at one point of the matrix over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// Key of the metric.
    pub metric: String,
    /// Name of the device.
    pub device: String,
    /// Connections; 0 when stateless.
    pub connections: u64,
    /// Cores of the device.
    pub cores: u32,
    /// Values of further axes.
    #[serde(skip_serializing_if = "AxisValues::is_empty")]
    pub axes: AxisValues,
    /// The point in words.
    pub place: String,
    /// Medians, by run.
    pub values: Vec<SeriesValue>,
    /// Number of runs that have the point, but as a bound or without a value; they are not in the series.
    pub left_out: usize,
    /// Where the level changed.
    pub changes: Vec<Change>,
}

/// A value of a series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesValue {
    /// Number of the run, from 1.
    pub run: usize,
    /// Median of its repetitions.
    pub median: f64,
    /// Lower end of its interval or, of fewer than five repetitions, of their range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The median in words, with its interval or range.
    pub words: String,
}

/// A change of the level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The last run before it.
    pub before: usize,
    /// The first run after it.
    pub after: usize,
    /// Probability of such a step without a change.
    pub p: f64,
    /// The level afterwards in relation to the level before, between the change points around.
    pub difference: Difference,
    /// What differs between the two runs: versions, scenario, facts of tester and device.
    pub unlike: Vec<Unlike>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrendError {
    #[error("no run that can be read: name the folder in which `natmeter run` creates its folders")]
    NoRun,
    #[error("no run of the scenario `{name}`: there are runs of {}", .there.join(", "))]
    NoScenario { name: String, there: Vec<String> },
    #[error("runs of {}: choose one of them with --scenario NAME", .there.join(", "))]
    Several { there: Vec<String> },
    #[error("the runs of `{name}` have {texts} different scenarios: `--scenario {name}` takes all of them")]
    Texts { name: String, texts: usize },
}

/// Returns the runs of one scenario in the order of their starts: those of this name, or else of the only scenario that
/// there is, all with the same text and options.
pub fn of_one_scenario(mut runs: Vec<Run>, name: Option<&str>) -> Result<Vec<Run>, TrendError> {
    let name_of = |run: &Run| run.report.header.scenario.name.clone();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for run in &runs {
        *names.entry(name_of(run)).or_default() += 1;
    }
    let there = || names.iter().map(|(name, n)| format!("{name} ({n})")).collect::<Vec<_>>();
    match (name, names.len()) {
        (_, 0) => return Err(TrendError::NoRun),
        (Some(name), _) if !names.contains_key(name) => {
            return Err(TrendError::NoScenario { name: name.to_owned(), there: there() });
        }
        (Some(name), _) => runs.retain(|run| name_of(run) == name),
        (None, 1) => {
            let mut ids: Vec<String> = runs.iter().map(Run::scenario_id).collect();
            ids.sort();
            ids.dedup();
            if ids.len() > 1 {
                return Err(TrendError::Texts { name: name_of(&runs[0]), texts: ids.len() });
            }
        }
        (None, _) => return Err(TrendError::Several { there: there() }),
    }
    runs.sort_by(|a, b| (&a.report.header.started, &a.folder).cmp(&(&b.report.header.started, &b.folder)));
    Ok(runs)
}

pub fn trend(runs: &[Run]) -> Trend {
    Trend {
        scenario: runs.first().map(|run| run.report.header.scenario.name.clone()).unwrap_or_default(),
        least_runs: LEAST_VALUES,
        significance: change::SIGNIFICANCE,
        seed: SEED,
        runs: runs.iter().map(run_info).collect(),
        series: groups(runs).iter().map(|group| series(runs, group)).collect(),
    }
}

fn series(runs: &[Run], group: &[RunResult]) -> Series {
    let result = group[0].result;
    let value = |at: &RunResult| {
        let median = at.result.median().filter(|_| !is_bounded(at.result))?;
        let [low, high] = [at.result.interval.map(|i| i.low), at.result.interval.map(|i| i.high)];
        Some(SeriesValue { run: at.number, median, low, high, words: in_short(at.result) })
    };
    let values: Vec<SeriesValue> = group.iter().filter_map(value).collect();
    Series {
        metric: result.metric.clone(),
        device: result.dut_name.clone(),
        connections: result.connections,
        cores: result.cores,
        axes: result.axes.clone(),
        place: place(result),
        left_out: group.len() - values.len(),
        changes: changes(runs, &values),
        values,
    }
}

fn changes(runs: &[Run], values: &[SeriesValue]) -> Vec<Change> {
    let medians: Vec<f64> = values.iter().map(|value| value.median).collect();
    let points = change::points(&medians, SEED);
    let starts: Vec<usize> =
        [0].into_iter().chain(points.iter().map(|point| point.at)).chain([medians.len()]).collect();
    let parts: Vec<&[f64]> = starts.windows(2).map(|ends| &medians[ends[0]..ends[1]]).collect();
    let change = |(point, parts): (&change::Change, &[&[f64]])| {
        let (before, after) = (values[point.at - 1].run, values[point.at].run);
        let unlike = conditions::unlike(&runs[before - 1], &runs[after - 1], after);
        Change { before, after, p: point.p, difference: between(parts[0], parts[1]), unlike }
    };
    points.iter().zip(parts.windows(2)).map(change).collect()
}

fn between(before: &[f64], after: &[f64]) -> Difference {
    let known = |values: &[f64]| values.iter().copied().map(ValueRange::exactly).collect::<Vec<_>>();
    Difference::of(&known(before), &known(after), None)
}

/// Returns the trend as text. Lines may be longer than a screen; the caller folds them.
pub fn text(trend: &Trend) -> String {
    let Trend { scenario, runs, least_runs, .. } = trend;
    let n = plural(runs.len() as u64, "run");
    let mut text = format!("{scenario}: {n}\n");
    for (run, number) in runs.iter().zip(1..) {
        let damaged = if run.findings > 0 { "; its record is damaged" } else { "" };
        let _ = writeln!(text, "{number:>4}  {}  natmeter {}  {}{damaged}", run.started, run.natmeter, run.folder);
    }
    for series in &trend.series {
        text.push_str(&block(series, *least_runs));
    }
    let _ = writeln!(text, "\n{}", about(trend));
    text + "\n" + &builds(runs, |number| format!("run {number}"))
}

fn about(Trend { least_runs, significance, seed, .. }: &Trend) -> String {
    format!(
        "Change points: CUSUM of the medians, tested against {} permutations with seed {seed}; a series without a change \
         has one with a probability of {} %. A series of fewer than {least_runs} runs has none.",
        change::PERMUTATIONS,
        significant(significance * 100.0, 2)
    )
}

fn block(series: &Series, least_runs: usize) -> String {
    let mut text = format!("\n{}\n", series.place);
    let starts: Vec<usize> = series.changes.iter().map(|change| change.after).collect();
    for value in &series.values {
        let mark = if starts.contains(&value.run) { '>' } else { ' ' };
        let _ = writeln!(text, "{mark}{:>3}  {}", value.run, value.words);
    }
    if series.left_out > 0 {
        let _ = writeln!(text, "      {} left out: a bound, or no value", plural(series.left_out as u64, "run"));
    }
    for change in &series.changes {
        let Change { before, after, p, difference, unlike } = change;
        let words = difference_in_words(difference, &series.metric);
        let _ = writeln!(text, "  changed between runs {before} and {after}: {words} (p = {p:.3})");
        for unlike in unlike {
            let _ = writeln!(text, "    {}", unlike.beside("before"));
        }
        if unlike.is_empty() {
            text.push_str("    no recorded version, key or fact changed there\n");
        }
    }
    if series.changes.is_empty() {
        let is_short = series.values.len() < least_runs;
        text.push_str(if is_short { "  too few runs for change points\n" } else { "  no change point\n" });
    }
    text
}
