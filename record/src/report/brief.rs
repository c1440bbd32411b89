//! The tables of the short text report. Each result is in one table; rows that repeat each other, and rows with one value in
//! all columns, are joined.

use super::number::{self, grouped};
use super::result::PointResult;
use super::table::{
    Axis, SCpu, averages, costs, find, further, names, of_each_direction, parameters, repetitions, strict_row, title,
    titled, varies,
};
use super::{Report, table, terms, value};
use document::{Cell, Form, Group, Quantity, Role, Row, Table, row};
use method::stats::Interval;
use scenario::axis::{AXES, AxisValues, in_words};
use std::collections::BTreeSet;

/// The short tables: columns are the axis with the most values, and each combination of the others is a table.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let all: Vec<&PointResult> = report.results.iter().collect();
    let axis = widest(&all);
    let fewest = all.iter().map(|c| c.connections).filter(|&n| n > 0).min().unwrap_or(0);
    let others = |c: &PointResult| {
        let mut axes = c.axes.clone();
        let (mut dut, mut cores, mut connections) = (c.dut, c.cores, c.connections);
        match axis {
            Axis::Connections => connections = 0,
            Axis::Cores => cores = 0,
            Axis::Swept(axis) => {
                axes.remove(axis.name());
            }
            Axis::Device => {
                dut = 0;
                // A stateless device stands beside the others once.
                connections = if connections == 0 { fewest } else { connections };
            }
        }
        (dut, cores, axes, connections)
    };
    let mut seen: BTreeSet<(usize, u32, AxisValues, u64)> = BTreeSet::new();
    let mut tables = Vec::new();
    for result in &all {
        if seen.insert(others(result)) {
            let own: Vec<&PointResult> = all.iter().copied().filter(|c| others(c) == others(result)).collect();
            tables.push(of_results(report, axis, &own));
        }
    }
    tables
}

fn widest(all: &[&PointResult]) -> Axis {
    let distinct = |of: fn(&PointResult) -> u64| all.iter().map(|c| of(c)).collect::<BTreeSet<_>>().len();
    let swept = AXES.iter().filter(|axis| varies(axis, all));
    let values = |name: &str| all.iter().filter_map(|c| c.axes.get(name)).collect::<BTreeSet<_>>().len();
    let mut axes: Vec<(Axis, usize)> = swept.map(|axis| (Axis::Swept(axis), values(axis.name()))).collect();
    axes.extend([
        (Axis::Connections, all.iter().map(|c| c.connections).filter(|&n| n > 0).collect::<BTreeSet<_>>().len()),
        (Axis::Cores, distinct(|c| c.cores.into())),
        (Axis::Device, distinct(|c| c.dut as u64)),
    ]);
    let most = axes.iter().map(|(_, n)| *n).max().unwrap_or(1);
    // Of equals, the first one.
    axes.into_iter().find(|(_, n)| *n == most && most > 1).map_or(Axis::Connections, |(axis, _)| axis)
}

fn of_results(report: &Report, axis: Axis, results: &[&PointResult]) -> Table {
    let (columns, metrics) = names(axis, results);
    let own = |metric: Option<&str>| -> Vec<Option<&PointResult>> {
        columns.iter().map(|name| find(results, axis, name, metric)).collect()
    };
    let groups = metrics.iter().map(|metric| group(report, metric, &own(Some(metric)), &columns)).collect();
    let parameters = parameters(report, axis, &own(None));
    let table = Table::new(heading(report, axis, results), axis.heading(), columns).rows(parameters);
    let mut table = Table { groups, ..table };
    let coverage: BTreeSet<String> = results.iter().flat_map(|c| ratios(c)).map(coverage).collect();
    join(&mut table, &metrics);
    if !coverage.is_empty() {
        let coverage: Vec<String> = coverage.into_iter().collect();
        table.same.push(format!("intervals of ratios cover {}", coverage.join(" and ")));
    }
    table
}

fn ratios(c: &PointResult) -> impl Iterator<Item = Interval> {
    [c.s_c_interval, c.s_cpu_interval, c.forwarding_interval].into_iter().flatten()
}

fn coverage(interval: Interval) -> String {
    number::percent(interval.coverage * 100.0)
}

/// The device, or the devices, and the point in words, without the axis of the columns.
fn heading(report: &Report, axis: Axis, results: &[&PointResult]) -> String {
    let Some(first) = results.first() else { return String::new() };
    let mut parts = vec![match axis {
        Axis::Device => "Devices side by side".to_owned(),
        _ => title(report, first),
    }];
    if !matches!(axis, Axis::Cores) {
        parts.push(first.cores_in_words());
    }
    let connections = results.iter().map(|c| c.connections).max().unwrap_or(0);
    if !matches!(axis, Axis::Connections) && connections > 0 {
        parts.push(format!("{} connections", grouped(connections)));
    }
    let mut axes = first.axes.clone();
    if let Axis::Swept(axis) = axis {
        axes.remove(axis.name());
    }
    if !axes.is_empty() {
        parts.push(in_words(&axes));
    }
    parts.join(" · ")
}

fn group(report: &Report, metric: &str, results: &[Option<&PointResult>], columns: &[String]) -> Group {
    let known = || results.iter().flatten();
    let statistic = |label: &str, of: fn(&PointResult) -> Option<f64>| {
        row(label, results.iter().map(|c| c.map_or(Cell::Nothing, |c| value::statistic(c, of(c)))))
            .with(Role::Statistic)
    };
    let mut rows = vec![row("median", results.iter().map(|c| c.map(value::median))).with(Role::Main)];
    rows.extend(of_each_direction(results));
    let summaries = || known().filter_map(|c| c.summary);
    #[expect(clippy::float_cmp, reason = "a percentile is one of the values")]
    let repeats = summaries().all(|s| s.p1 == s.min && s.p99 == s.max);
    if summaries().any(|s| s.n > 1) {
        rows.extend(averages(metric, results));
        let joined = repeats && !report.header.scenario.full;
        rows.push(statistic(if joined { "min (= p1)" } else { "minimum" }, |c| c.summary.map(|s| s.min)));
        rows.push(statistic(if joined { "max (= p99)" } else { "maximum" }, |c| c.summary.map(|s| s.max)));
        if !joined {
            rows.push(statistic("1st percentile", |c| c.summary.map(|s| s.p1)));
            rows.push(statistic("99th percentile", |c| c.summary.map(|s| s.p99)));
        }
    }
    rows.extend(ratio_row("S_C", results, |c| c.s_c, |c| c.s_c_interval));
    let s_cpu = SCpu::of(results.iter().copied().flatten()).label();
    rows.extend(ratio_row(s_cpu, results, |c| c.s_cpu, |c| c.s_cpu_interval));
    let share = |c: &PointResult| c.forwarding_percent.map(|percent| percent / 100.0);
    rows.extend(ratio_row("of plain forwarding", results, share, |c| c.forwarding_interval));
    rows.extend(strict_row(results));
    // On one thread nothing crosses cores, so that figure says more.
    let has_one_thread = known().any(|c| c.cost.as_ref().is_some_and(|cost| cost.one_thread_ns_per_frame.is_some()));
    let is_shown =
        |row: &Row| row.term != Some(&terms::PHASE1_RATE) && !(has_one_thread && row.term == Some(&terms::CPU_TIME));
    rows.extend(costs(results).into_iter().chain(further(results)).filter(is_shown));
    rows.push(row("repetitions", results.iter().map(|c| c.map(repetitions))).with(Role::Repetitions));
    let mut bars = table::bars(results, columns, value::of_bar);
    if bars.iter().filter(|bar| bar.share.is_some()).count() < 2 {
        bars.clear();
    }
    Group { title: titled(metric, known().copied()), rows, bars }
}

/// A ratio to another point and its interval, in one row. `None` if all are 1 by definition.
fn ratio_row(
    label: &str,
    results: &[Option<&PointResult>],
    ratio: fn(&PointResult) -> Option<f64>,
    interval: fn(&PointResult) -> Option<Interval>,
) -> Option<Row> {
    results.iter().flatten().find_map(|c| interval(c))?;
    let cell = |c: &PointResult| {
        let ratio = Quantity::new(ratio(c)?, Form::Digits(3, ""));
        Some(interval(c).map_or(ratio, |interval| ratio.between(interval.low, interval.high)))
    };
    Some(row(label, results.iter().map(|c| c.and_then(cell))))
}

/// The one value of a row, if it is the same in all columns that have a value.
fn same_everywhere(row: &Row) -> Option<&Cell> {
    let mut values = row.cells.iter().filter(|cell| !cell.is_nothing());
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
            Some(_) if row.role == Role::Titled => {}
            Some(value) => same.push((None, format!("{} {value}", row.label))),
            None => table.parameters.push(row),
        }
    }
    for (group, metric) in table.groups.iter_mut().zip(metrics) {
        for row in std::mem::take(&mut group.rows) {
            let is_statistic = matches!(row.role, Role::Main | Role::Statistic);
            let everywhere = same_everywhere(&row).filter(|_| several && !is_statistic);
            // A figure that only one column can have is none of all points.
            let is_everywhere = row.role == Role::Repetitions || !row.cells.contains(&Cell::Nothing);
            match everywhere.filter(|_| is_everywhere) {
                Some(value) => same.push((Some(metric), format!("{} {value}", row.label))),
                None if !row.has_value() && !row.is_strong() => {}
                None => group.rows.push(row),
            }
        }
    }
    for (i, (metric, text)) in same.iter().enumerate() {
        let alike = |(_, other): &&(Option<&str>, String)| other == text;
        match metric {
            Some(metric) if same.iter().filter(alike).count() < metrics.len() => {
                table.same.push(format!("{text} ({metric})"));
            }
            _ if same[..i].iter().any(|(_, other)| other == text) => {}
            _ => table.same.push(text.clone()),
        }
    }
}
