//! Overload scalability: the throughput with a few flows beside that with all, and the degradation in percent.

use super::Section;
use crate::report::result::PointResult;
use crate::report::table::{Table, row};
use crate::report::{Report, facts, number};

use procedure::metric::{OVERLOAD_ALL, OVERLOAD_DEGRADATION, OVERLOAD_FEW};

/// The section of all points with a degradation.
pub(super) fn section(report: &Report) -> Option<Section> {
    let found = |result: &&PointResult| result.metric == OVERLOAD_DEGRADATION.key && !result.repetitions.is_empty();
    let all: Vec<&PointResult> = report.results.iter().filter(found).collect();
    if all.is_empty() {
        return None;
    }
    Some(Section {
        title: "Overload scalability".to_owned(),
        about: format!(
            "Medians of the throughput with a few flows (X1) and with all flows (Xn), {}, and the degradation in percent: \
             100 × (X1 − Xn) / X1.",
            beginning(report)
        ),
        tables: vec![table(report, &all)],
        figures: Vec::new(),
    })
}

/// How all flows begin.
fn beginning(report: &Report) -> String {
    match report.header.scenario.procedures.overload_scalability.interval {
        None => "which begin together (RFC 8219, section 10.2.1)".to_owned(),
        Some(interval) => {
            let interval = number::duration(interval.0);
            format!("which begin one after the other, one every {interval} (RFC 8219, section 10.2.2)")
        }
    }
}

fn table(report: &Report, all: &[&PointResult]) -> Table {
    let median = |result: &PointResult, metric: &str| {
        let same = |other: &&PointResult| other.metric == metric && other.is_beside(result);
        report.results.iter().find(same).and_then(PointResult::median)
    };
    let rate = |metric: &'static str| {
        let cell = move |result: &&PointResult| median(result, metric).map(|rate| number::grouped(rate as u64));
        all.iter().map(cell).collect::<Vec<_>>()
    };
    let percent = |result: &&PointResult| result.median().map(|ppm| format!("{:.2} %", ppm / 10_000.0));
    Table {
        title: "Flows".to_owned(),
        axis: "device",
        columns: all.iter().map(|result| facts::place(result)).collect(),
        parameters: vec![
            row("a few flows", all.iter().map(|result| few(result).map(number::grouped))),
            row("throughput with these, frames/s per direction", rate(OVERLOAD_FEW.key).into_iter()),
            row("all flows", all.iter().map(|result| Some(number::grouped(result.connections)))),
            row("throughput with these, frames/s per direction", rate(OVERLOAD_ALL.key).into_iter()),
            row("degradation", all.iter().map(percent)),
        ],
        groups: Vec::new(),
        notes: Vec::new(),
        same: Vec::new(),
    }
}

/// The flows of the first search.
fn few(result: &PointResult) -> Option<u64> {
    result.repetitions.iter().flat_map(|repetition| &repetition.trace).filter_map(|step| step.connections).min()
}
