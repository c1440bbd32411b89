//! Frame loss of each kind, where native frames are mixed with those that the device translates or tunnels.

use super::places;
use crate::report::Report;
use crate::report::result::PointResult;
use document::{Form, Quantity, Section, Table, row};
use method::{SearchStep, StepVerdict};
use procedure::throughput::THROUGHPUT;

/// The section of all throughputs of both kinds.
pub(super) fn section(report: &Report) -> Option<Section> {
    let mixed = |result: &&PointResult| result.metric == THROUGHPUT.key && traces(result).flatten().any(is_mixed);
    let all: Vec<&PointResult> = report.results.iter().filter(mixed).collect();
    if all.is_empty() {
        return None;
    }
    Some(Section {
        title: "Frame loss of each kind".to_owned(),
        about: "The throughput is that of foreground and native frames together. Here is what of each kind was lost at the lowest \
                rate that failed: medians of the repetitions (RFC 8219, section 5.3)."
            .to_owned(),
        tables: vec![table(&all)],
        ..Section::default()
    })
}

fn table(all: &[&PointResult]) -> Table {
    let failed: Vec<Vec<&SearchStep>> = all.iter().map(|result| lowest_failed(result)).collect();
    let median = |of: &dyn Fn(&SearchStep) -> Option<f64>| {
        let each = failed.iter().map(|steps| {
            let values: Vec<f64> = steps.iter().filter_map(|step| of(step)).collect();
            method::stats::median_of(&values)
        });
        each.collect::<Vec<_>>()
    };
    let percent = |kind: usize| {
        let shares = median(&|step| step.loss_by_kind().map(|shares| shares[kind]));
        shares.into_iter().map(|share| share.map(|share| Quantity::new(share * 100.0, Form::Digits(3, " %"))))
    };
    let rates = median(&|step| Some(step.rate.0 as f64)).into_iter();
    let count = |rate: f64| Quantity::count(rate as u64);
    Table::new("Lowest rate that failed", "device", places(all)).rows([
        row("rate, frames/s per direction", rates.map(|rate| rate.map(count))),
        row("loss of foreground frames", percent(0)),
        row("loss of native frames", percent(1)),
    ])
}

fn traces(result: &PointResult) -> impl Iterator<Item = &[SearchStep]> {
    result.repetitions.iter().map(|repetition| &repetition.trace[..])
}

fn is_mixed(step: &SearchStep) -> bool {
    step.loss_by_kind().is_some()
}

/// The step at the lowest rate that failed, of each repetition that has one.
fn lowest_failed(result: &PointResult) -> Vec<&SearchStep> {
    let failed = |step: &&SearchStep| step.verdict == StepVerdict::Fail && is_mixed(step);
    traces(result).filter_map(|trace| trace.iter().filter(failed).min_by_key(|step| step.rate)).collect()
}
