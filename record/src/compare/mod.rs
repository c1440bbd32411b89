//! Compares runs: per metric and point of the matrix the difference to the first run, the reference, with an interval.
//!
//! Devices whose names differ are matched by technology if there is one in each run. The difference is the ratio of the
//! repetitions ([`method::stats::shift`]); its interval includes the errors of the searches and the drift of the null device.

pub(crate) mod conditions;
pub(crate) mod difference;
pub(crate) mod matching;
pub(crate) mod text;
pub mod threshold;

use crate::folder::Build;
use crate::report::result::PointResult;
use crate::report::{Report, ReportError};
use crate::store::{self, Dir, StoreError};
pub use conditions::Unlike;
pub use difference::{Difference, Finding, between};
use matching::RunResult;
use method::ResultKind;
use scenario::Lists;
use scenario::axis::AxisValues;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
pub use text::text;

#[derive(Clone, Debug)]
pub struct Run {
    pub folder: PathBuf,
    pub report: Report,
}

impl Run {
    pub fn read(folder: &Path, lists: impl Into<Lists>) -> Result<Run, ReportError> {
        Ok(Run { folder: folder.to_path_buf(), report: Report::from_folder(folder, lists)? })
    }

    /// Returns what identifies the scenario of the run: a hash of its text, options and bed.
    pub fn scenario_id(&self) -> String {
        scenario_id(&self.report.scenario_text, &self.report.header.options)
    }
}

/// Returns 16 hexadecimal digits that are the same for runs with the same text of the scenario without its limits, options and bed (FNV-1a; no
/// protection against forgery).
pub fn scenario_id(text: &str, options: &scenario::Options) -> String {
    let options = serde_json::to_string(&options.without_limits()).unwrap_or_default();
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash =
        scenario::limits::without(text).bytes().chain([0]).chain(options.bytes()).fold(0xcbf2_9ce4_8422_2325, fold);
    format!("{hash:016x}")
}

/// A comparison of runs. Runs are numbered from 1; the first is the reference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The runs, the reference first.
    pub runs: Vec<RunInfo>,
    /// Conditions of the runs that differ from those of the reference.
    pub unlike: Vec<Unlike>,
    /// Metrics at points of the matrix, in the order of the reference; then those that it does not have.
    pub points: Vec<ComparedPoint>,
}

/// A run of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunInfo {
    /// Its folder, as named.
    pub folder: String,
    /// Name of its scenario.
    pub scenario: String,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// Version of natmeter.
    pub natmeter: String,
    /// Build of natmeter; `None` if not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The build of natmeter in parts.
    #[serde(skip)]
    pub(crate) parts_of_build: Build,
    /// Errors in its record: do not use its values.
    pub findings: usize,
    /// Doubts about its results.
    pub doubts: usize,
}

/// One metric at one point of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedPoint {
    /// Key of the metric.
    pub metric: String,
    /// Name of the device in the first run that has it.
    pub device: String,
    /// Technology of the device, in words.
    pub technology: String,
    /// Connections; 0 when stateless.
    pub connections: u64,
    /// Cores of the device.
    pub cores: u32,
    /// Values of further axes.
    #[serde(skip_serializing_if = "AxisValues::is_empty")]
    pub axes: AxisValues,
    /// The point in words.
    pub place: String,
    /// The value of each run that has the point, by the number of the run.
    pub values: Vec<ComparedValue>,
}

/// The value of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedValue {
    /// Number of the run, from 1.
    pub run: usize,
    /// Name of the device in this run.
    pub device: String,
    /// Repetitions with a value.
    pub repetitions: usize,
    /// Median of the repetitions; `None` without one.
    pub median: Option<f64>,
    /// Lower end of the interval of the median, with fewer than five repetitions of their range.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The bound of the weakest repetition.
    pub bound: ResultKind,
    /// The value in words, with its interval or range.
    pub words: String,
    /// The difference to the reference; `None` of the reference, and where the reference has no such point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

pub(crate) fn run_info(run: &Run) -> RunInfo {
    let Report { header, facts, audit, doubts, .. } = &run.report;
    RunInfo {
        folder: run.folder.display().to_string(),
        scenario: header.scenario.name.clone(),
        started: header.started.clone(),
        natmeter: header.version.clone(),
        build: facts.build().map(str::to_owned),
        parts_of_build: facts.natmeter(),
        findings: audit.findings.len(),
        doubts: doubts.len(),
    }
}

pub fn compare(runs: &[Run]) -> Comparison {
    let points = matching::groups(runs).iter().map(|group| point(group)).collect();
    let unlike = match runs {
        [reference, others @ ..] => {
            others.iter().zip(2..).flat_map(|(run, number)| conditions::unlike(reference, run, number)).collect()
        }
        [] => Vec::new(),
    };
    Comparison { runs: runs.iter().map(run_info).collect(), unlike, points }
}

fn point(group: &[RunResult]) -> ComparedPoint {
    let RunResult { run, result, .. } = group[0];
    let reference = group.iter().find(|place| place.number == 1);
    let value = |place: &RunResult| {
        let to = reference.filter(|_| place.number > 1);
        let difference = to.map(|reference| between(reference.result, place.result, reference.is_simulated()));
        value(place.number, place.result, difference)
    };
    ComparedPoint {
        metric: result.metric.clone(),
        device: result.dut_name.clone(),
        technology: matching::technology_of(run, result).to_owned(),
        connections: result.connections,
        cores: result.cores,
        axes: result.axes.clone(),
        place: crate::report::facts::place(result),
        values: group.iter().map(value).collect(),
    }
}

fn value(run: usize, result: &PointResult, difference: Option<Difference>) -> ComparedValue {
    ComparedValue {
        run,
        device: result.dut_name.clone(),
        repetitions: result.summary.map_or(0, |summary| summary.n),
        median: result.median(),
        low: result.interval.map(|interval| interval.low),
        high: result.interval.map(|interval| interval.high),
        bound: result.bound,
        words: crate::report::value::in_short(result),
        difference,
    }
}

pub fn run_folders(parent: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let names = Dir::open(parent)?.names()?;
    let mut folders: Vec<PathBuf> =
        names.into_iter().map(|(name, _)| parent.join(name)).filter(|path| is_run(path)).collect();
    folders.sort();
    Ok(folders)
}

/// Whether a path is a run folder: it has a header or trials, and is not a draft.
fn is_run(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let has_any = |folder: Dir| [store::HEADER, store::TRIALS, store::SCENARIO].iter().any(|file| folder.has(file));
    !is_hidden && Dir::open(path).is_ok_and(has_any)
}
