//! The parts of a report beside its results: what each procedure shows of them, fitted models, and comparisons with other results.

mod compare;
mod model;
pub(super) mod shape;

use super::facts;
use super::result::PointResult;
use super::{Report, bottleneck, judged, value};
use document::{Finding, Section};
use procedure::Results;
use procedure::results::{MetricResult, Repetition};
use scenario::axis::more_in_words;

pub(in crate::report) use compare::shapes;
pub(in crate::report) use model::sentences as of_models;

/// All parts, in the order of the report: none for what the run has not.
pub(super) fn all(report: &Report) -> Vec<Section> {
    let results = results(report);
    let procedures = results.keys.list().iter().flat_map(|procedure| procedure.sections);
    let of_procedures = procedures.filter_map(|section| section(&results));
    judged::section(report)
        .into_iter()
        .chain(of_procedures)
        .chain(model::section(report))
        .chain(compare::section(report))
        .collect()
}

pub(super) fn findings(report: &Report) -> Vec<Finding> {
    let results = results(report);
    results.keys.list().iter().flat_map(|procedure| (procedure.findings)(&results)).collect()
}

/// What the procedures doubt.
pub(super) fn doubts(report: &Report) -> Vec<String> {
    let results = results(report);
    results.keys.list().iter().flat_map(|procedure| (procedure.doubts)(&results)).collect()
}

fn results(report: &Report) -> Results<'_> {
    let points = document::distinct(report.results.iter().map(PointResult::point));
    let number = |result: &PointResult| points.iter().position(|point| *point == result.point());
    // A series has the number of the first point among those that differ in connections only.
    let along = |result: &PointResult| points.iter().position(|point| (point.0, point.2, point.3) == result.series());
    let numbered = |result| Some(found(result, number(result)?, along(result)?));
    Results {
        all: report.results.iter().filter_map(numbered).collect(),
        keys: &report.header.scenario.procedures,
        floor: report.calibration.as_ref().map(facts::floor_in_words),
        bottlenecks: bottleneck::findings(report),
    }
}

fn found(result: &PointResult, point: usize, series: usize) -> MetricResult<'_> {
    MetricResult {
        metric: &result.metric,
        name: facts::place(result),
        place: facts::device_at(result),
        series,
        series_name: format!("{}, {}{}", result.dut_name, result.cores_in_words(), more_in_words(&result.axes)),
        point,
        connections: result.connections,
        median: result.median(),
        cell: value::median(result),
        repetitions: result
            .repetitions
            .iter()
            .map(|of| Repetition { observed: &of.observed, evidence: &of.evidence, trace: &of.trace })
            .collect(),
    }
}
