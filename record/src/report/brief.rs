//! The tables of the short text report. Each result is in one table; rows that repeat each other, and rows with one value in
//! all columns, are joined.

use super::number;
use super::result::PointResult;
use super::series::Axis;
use super::table::{
    Columns, averages, bars, costs, further, heading, of_each_direction, parameters, repetitions, s_cpu_label,
    strict_row, titled,
};
use super::{Report, terms, value};
use document::{Cell, Form, Group, Quantity, Row, RowRole, Table, distinct};
use method::stats::Interval;
use scenario::axis::AXES;
use std::collections::BTreeSet;

/// The short tables: columns are the axis with the most values, and each combination of the others is a table.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let all: Vec<&PointResult> = report.results.iter().collect();
    let axis = widest(&all);
    axis.series(&all).iter().map(|series| of_results(report, axis, series)).collect()
}

/// Returns the axis with the most positions; the first one if several have equally many.
fn widest(all: &[&PointResult]) -> Axis {
    let axes = AXES.iter().map(Axis::Swept).chain([Axis::Connections, Axis::Cores, Axis::Device]);
    let positions: Vec<(usize, Axis)> = axes.map(|axis| (axis.positions(all), axis)).collect();
    let most = positions.iter().map(|(n, _)| *n).max().unwrap_or(1);
    positions.into_iter().find(|(n, _)| *n == most && most > 1).map_or(Axis::Connections, |(_, axis)| axis)
}

fn of_results(report: &Report, axis: Axis, results: &[&PointResult]) -> Table {
    let columns = distinct(results.iter().map(|c| axis.column(c)));
    let metrics = distinct(results.iter().map(|c| c.metric.as_str()));
    let own = |metric| Columns::of(axis, &columns, results, metric);
    let groups = metrics.iter().map(|metric| group(report, metric, &own(Some(metric)), &columns)).collect();
    let parameters = parameters(report, axis, &own(None));
    let table = Table::new(heading(report, axis, results), axis.heading(), columns).with_parameters(parameters);
    let mut table = Table { groups, ..table };
    let ratios = results.iter().flat_map(|c| [c.s_c_interval, c.s_cpu_interval, c.forwarding_interval]).flatten();
    let coverage: BTreeSet<String> = ratios.map(|interval| number::percent(interval.coverage * 100.0)).collect();
    join(&mut table, &metrics);
    if !coverage.is_empty() {
        let coverage: Vec<String> = coverage.into_iter().collect();
        table.uniform_rows.push(format!("intervals of ratios cover {}", coverage.join(" and ")));
    }
    table
}

fn group(report: &Report, metric: &str, results: &Columns, columns: &[String]) -> Group {
    let mut rows = vec![results.row("median", value::median).with_role(RowRole::Main)];
    rows.extend(of_each_direction(results));
    let summaries = || results.each().into_iter().filter_map(|c| c.summary);
    #[expect(clippy::float_cmp, reason = "a percentile is one of the values")]
    let repeats = summaries().all(|s| s.p1 == s.min && s.p99 == s.max);
    if summaries().any(|s| s.n > 1) {
        rows.extend(averages(metric, results));
        let joined = repeats && !report.header.scenario.full;
        let statistics = [
            results.statistic(if joined { "min (= p1)" } else { "minimum" }, |c| c.summary.map(|s| s.min)),
            results.statistic(if joined { "max (= p99)" } else { "maximum" }, |c| c.summary.map(|s| s.max)),
            results.statistic("1st percentile", |c| c.summary.map(|s| s.p1)),
            results.statistic("99th percentile", |c| c.summary.map(|s| s.p99)),
        ];
        let shown = statistics.into_iter().take(if joined { 2 } else { 4 });
        rows.extend(shown.map(|row| row.with_role(RowRole::Statistic)));
    }
    rows.extend(ratio_row("S_C", results, |c| c.s_c, |c| c.s_c_interval));
    rows.extend(ratio_row(s_cpu_label(&results.each()), results, |c| c.s_cpu, |c| c.s_cpu_interval));
    let share = |c: &PointResult| c.forwarding_percent.map(|percent| percent / 100.0);
    rows.extend(ratio_row("of plain forwarding", results, share, |c| c.forwarding_interval));
    rows.extend(strict_row(results));
    // On one thread nothing crosses cores, so that figure says more.
    let one_thread = |c: &PointResult| c.cost.as_ref().is_some_and(|cost| cost.one_thread_ns_per_frame.is_some());
    let has_one_thread = results.each().into_iter().any(one_thread);
    let is_shown =
        |row: &Row| row.term != Some(&terms::PHASE1_RATE) && !(has_one_thread && row.term == Some(&terms::CPU_TIME));
    rows.extend(costs(results).into_iter().chain(further(results)).filter(is_shown));
    rows.push(results.row("repetitions", repetitions).with_role(RowRole::Repetitions));
    let mut bars = bars(results, columns, value::of_bar);
    if bars.iter().filter(|bar| bar.share.is_some()).count() < 2 {
        bars.clear();
    }
    Group { title: titled(metric, &results.each()), rows, bars }
}

/// A ratio to another point and its interval, in one row. `None` if all are 1 by definition.
fn ratio_row(
    label: &str,
    results: &Columns,
    ratio: fn(&PointResult) -> Option<f64>,
    interval: fn(&PointResult) -> Option<Interval>,
) -> Option<Row> {
    results.each().into_iter().find_map(interval)?;
    let cell = |c: &PointResult| {
        let ratio = Quantity::new(ratio(c)?, Form::Digits(3, ""));
        Some(interval(c).map_or(ratio, |interval| ratio.with_interval(interval.low, interval.high)))
    };
    Some(results.row(label, cell))
}

/// The one value of a row, if it is the same in all columns that have a value.
fn same_everywhere(row: &Row) -> Option<&Cell> {
    let mut values = row.cells.iter().filter(|cell| !cell.is_missing());
    let first = values.next()?;
    values.all(|cell| cell.to_string() == first.to_string()).then_some(first)
}

/// Moves rows with one value to the line about all points, and removes rows without a value.
fn join(table: &mut Table, metrics: &[&str]) {
    let several = table.columns.len() > 1;
    let mut same: Vec<(Option<&str>, String)> = Vec::new();
    for row in std::mem::take(&mut table.parameters) {
        match same_everywhere(&row) {
            // The title has them.
            Some(_) if row.role == RowRole::Titled => {}
            Some(value) => same.push((None, format!("{} {value}", row.label))),
            None => table.parameters.push(row),
        }
    }
    for (group, metric) in table.groups.iter_mut().zip(metrics) {
        for row in std::mem::take(&mut group.rows) {
            let is_statistic = matches!(row.role, RowRole::Main | RowRole::Statistic);
            let everywhere = same_everywhere(&row).filter(|_| several && !is_statistic);
            // A figure that only one column can have is none of all points.
            let is_everywhere = row.role == RowRole::Repetitions || !row.cells.contains(&Cell::Nothing);
            match everywhere.filter(|_| is_everywhere) {
                Some(value) => same.push((Some(metric), format!("{} {value}", row.label))),
                None if !row.has_value() && !row.is_main() => {}
                None => group.rows.push(row),
            }
        }
    }
    for (i, (metric, text)) in same.iter().enumerate() {
        let alike = |(_, other): &&(Option<&str>, String)| other == text;
        match metric {
            Some(metric) if same.iter().filter(alike).count() < metrics.len() => {
                table.uniform_rows.push(format!("{text} ({metric})"));
            }
            _ if same[..i].iter().any(|(_, other)| other == text) => {}
            _ => table.uniform_rows.push(text.clone()),
        }
    }
}
