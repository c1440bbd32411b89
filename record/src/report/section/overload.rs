//! Overload scalability: the throughput with a few flows beside that with all, and the degradation in percent.

use super::{line, of, places};
use crate::report::result::PointResult;
use crate::report::{Report, number, value};
use document::{Cell, Form, Quantity, Section, Table};
use procedure::overload::{OVERLOAD_ALL, OVERLOAD_DEGRADATION, OVERLOAD_FEW, OverloadScalability};

/// The section of all points with a degradation.
pub(super) fn section(report: &Report) -> Option<Section> {
    let all = of(report, &[OVERLOAD_DEGRADATION.key]);
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
        ..Section::default()
    })
}

/// How all flows begin.
fn beginning(report: &Report) -> String {
    match report.header.scenario.procedures.get::<OverloadScalability>().interval {
        None => "which begin together (RFC 8219, section 10.2.1)".to_owned(),
        Some(interval) => {
            let interval = number::duration(interval.0);
            format!("which begin one after the other, one every {interval} (RFC 8219, section 10.2.2)")
        }
    }
}

fn table(report: &Report, all: &[&PointResult]) -> Table {
    let rate = |metric: &'static str| {
        line("throughput with these, frames/s per direction", all, |result| {
            let same = |other: &&PointResult| other.metric == metric && other.is_beside(result);
            report.results.iter().find(same).map_or(Cell::Nothing, value::median)
        })
    };
    let percent = |ppm: f64| Quantity::new(ppm / 10_000.0, Form::Decimals(2, " %"));
    Table::new("Flows", "device", places(all)).rows([
        line("a few flows", all, |result| few(result).map(Quantity::count)),
        rate(OVERLOAD_FEW.key),
        line("all flows", all, |result| Quantity::count(result.connections)),
        rate(OVERLOAD_ALL.key),
        line("degradation", all, |result| result.median().map(percent)),
    ])
}

/// The flows of the first search.
fn few(result: &PointResult) -> Option<u64> {
    result.repetitions.iter().flat_map(|repetition| &repetition.trace).filter_map(|step| step.connections).min()
}
