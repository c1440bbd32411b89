//! The memory of a connection by regression over the numbers of connections: what a further connection takes, without what the
//! device takes for any number of them.

use crate::report::result::PointResult;
use crate::report::{Report, number};
use document::{Form, Quantity, Section, Table, row};
use method::stats::Line;
use procedure::tear_down::MEMORY_CONNTRACK_ENTRIES;
use scenario::axis::in_words;

/// Points of one device that differ in their connections only, and the line through their medians.
struct Fit<'a> {
    of: &'a PointResult,
    numbers: Vec<u64>,
    line: Line,
}

/// The section of all devices with two numbers of connections or more.
pub(super) fn section(report: &Report) -> Option<Section> {
    let fits = fits(report);
    if fits.is_empty() {
        return None;
    }
    Some(Section {
        title: "Memory of a connection by regression".to_owned(),
        about: "The least squares line through the medians of the memory of all connections, over their numbers. Its slope is \
                the memory of a further connection; R² is 1 if all points are on the line."
            .to_owned(),
        tables: vec![table(&fits)],
        ..Section::default()
    })
}

fn fits(report: &Report) -> Vec<Fit<'_>> {
    let all: Vec<&PointResult> =
        report.results.iter().filter(|r| r.metric == MEMORY_CONNTRACK_ENTRIES && r.median().is_some()).collect();
    let is_alike = |a: &PointResult, b: &PointResult| (a.dut, a.cores, &a.axes) == (b.dut, b.cores, &b.axes);
    let mut firsts: Vec<&PointResult> = Vec::new();
    for &result in &all {
        if !firsts.iter().any(|first| is_alike(first, result)) {
            firsts.push(result);
        }
    }
    let fit = |of| {
        let alike: Vec<&PointResult> = all.iter().copied().filter(|result| is_alike(of, result)).collect();
        let points: Vec<(f64, f64)> =
            alike.iter().filter_map(|result| Some((result.connections as f64, result.median()?))).collect();
        let numbers = alike.iter().map(|result| result.connections).collect();
        Some(Fit { of, numbers, line: Line::through(&points)? })
    };
    firsts.into_iter().filter_map(fit).collect()
}

fn table(fits: &[Fit<'_>]) -> Table {
    let column = |fit: &Fit<'_>| {
        let swept = if fit.of.axes.is_empty() { String::new() } else { format!(", {}", in_words(&fit.of.axes)) };
        format!("{}, {}{swept}", fit.of.dut_name, fit.of.cores_in_words())
    };
    let numbers = |fit: &Fit<'_>| fit.numbers.iter().map(|n| number::grouped(*n)).collect::<Vec<_>>().join("; ");
    let line = |label: &str, form: Form, of: fn(&Line) -> f64| {
        row(label, fits.iter().map(|fit| Quantity::new(of(&fit.line), form)))
    };
    Table::new("Memory of a further connection", "device", fits.iter().map(column)).rows([
        row("connections", fits.iter().map(numbers)),
        line("slope, bytes per connection", Form::Digits(4, ""), |line| line.slope),
        line("intercept, bytes", Form::Digits(4, ""), |line| line.intercept),
        line("R²", Form::Decimals(4, ""), |line| line.r_squared),
    ])
}
