//! The tables of a report, in the form of RFC 9693, section 6: columns are numbers of connections, cores or values of a further
//! axis; rows are parameters, then statistics. All formats print the same tables.

use super::number::{self, grouped};
use super::remarks::remarks;
use super::result::{PHASE1_RATE, PointResult, known};
use super::{Report, parts, terms, value};
use crate::folder::{Cost, Spread};
use document::{Bar, Bound, Cell, Form, Group, Quantity, Role, Row, Table, row};
use method::stats::{Interval, Summary};
use method::{Direction, ResultKind};
use procedure::requirement::AVERAGED;
use scenario::Traffic;
use scenario::axis::{self, AXES, AxisValues};
use std::collections::BTreeSet;

/// Further figures of a result: the part of the scenario's ranges that a point uses.
const RANGES: [&str; 4] = ["source_addresses", "source_ports", "destination_addresses", "destination_ports"];

#[derive(Clone, Copy, Debug)]
pub(super) enum Axis {
    Connections,
    Cores,
    Swept(&'static axis::Axis),
    Device,
}

impl Axis {
    pub(super) fn heading(self) -> &'static str {
        match self {
            Axis::Connections => "connections",
            Axis::Cores => "cores of the device",
            Axis::Swept(axis) => axis.heading,
            Axis::Device => "device",
        }
    }
}

/// All tables of a report: devices side by side, then each device over further axes, connections and cores.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let distinct = |of: fn(&PointResult) -> u64| -> BTreeSet<u64> { report.results.iter().map(of).collect() };
    let duts = distinct(|c| c.dut as u64);
    let connections: BTreeSet<u64> = distinct(|c| c.connections);
    let mut tables = Vec::new();
    if duts.len() > 1 {
        for cores in distinct(|c| c.cores.into()) {
            for axes in &combinations(report) {
                // A stateless device is in the table of every number of connections, a device without an axis in that of every value.
                for &n in connections.iter().filter(|&&n| n > 0 || connections.len() == 1) {
                    let has = |c: &PointResult| c.axes.iter().all(|(name, value)| axes.get(name) == Some(value));
                    let here = |c: &&PointResult| {
                        u64::from(c.cores) == cores && (c.connections == n || c.connections == 0) && has(c)
                    };
                    let results: Vec<&PointResult> = report.results.iter().filter(here).collect();
                    let words = results.first().map_or_else(|| number::plural(cores, "core"), |c| c.cores_in_words());
                    let mut title = format!("Devices side by side · {words}");
                    if connections.len() > 1 && n > 0 {
                        title = format!("{title} · {} connections", grouped(n));
                    }
                    tables.push(table(report, Axis::Device, title + &dotted(axes), &results));
                }
            }
        }
    }
    for &dut in &duts {
        let results: Vec<&PointResult> = report.results.iter().filter(|c| c.dut as u64 == dut).collect();
        of_device(report, &results, duts.len() == 1, &mut tables);
    }
    tables
}

/// Combinations of values of the further axes, without those that are part of another.
fn combinations(report: &Report) -> Vec<AxisValues> {
    let all: BTreeSet<&AxisValues> = report.results.iter().map(|c| &c.axes).collect();
    let part = |a: &AxisValues, b: &AxisValues| a != b && a.iter().all(|(name, value)| b.get(name) == Some(value));
    all.iter().filter(|a| !all.iter().any(|b| part(a, b))).map(|&a| a.clone()).collect()
}

fn dotted(axes: &AxisValues) -> String {
    if axes.is_empty() { String::new() } else { format!(" · {}", axis::in_words(axes)) }
}

pub(super) fn varies(axis: &axis::Axis, results: &[&PointResult]) -> bool {
    results.iter().filter_map(|c| c.axes.get(axis.name())).collect::<BTreeSet<_>>().len() > 1
}

/// The tables of one device. `alone`: it has a table even if it has only one column.
fn of_device(report: &Report, results: &[&PointResult], alone: bool, tables: &mut Vec<Table>) {
    let swept: Vec<&'static axis::Axis> = AXES.iter().filter(|axis| varies(axis, results)).collect();
    for &axis in &swept {
        let others = |c: &PointResult| {
            let mut axes = c.axes.clone();
            axes.remove(axis.name());
            (c.cores, c.connections, axes)
        };
        for other in results.iter().map(|c| others(c)).collect::<BTreeSet<_>>() {
            let own: Vec<&PointResult> = results.iter().filter(|c| others(c) == other).copied().collect();
            let Some(first) = own.first() else { continue };
            let (_, connections, axes) = &other;
            let mut name = format!("{} · {}", title(report, first), first.cores_in_words());
            if *connections > 0 {
                name = format!("{name} · {} connections", grouped(*connections));
            }
            tables.push(table(report, Axis::Swept(axis), name + &dotted(axes), &own));
        }
    }
    for axes in results.iter().map(|c| &c.axes).collect::<BTreeSet<_>>() {
        let own: Vec<&PointResult> = results.iter().filter(|c| c.axes == *axes).copied().collect();
        over_both(report, &own, alone && swept.is_empty(), tables);
    }
}

/// The tables of one device over connections and over cores, at one value of each further axis.
fn over_both(report: &Report, results: &[&PointResult], alone: bool, tables: &mut Vec<Table>) {
    let Some(first) = results.first() else { return };
    let name = title(report, first) + &dotted(&first.axes);
    let cores: BTreeSet<u32> = results.iter().map(|c| c.cores).collect();
    let connections: BTreeSet<u64> = results.iter().map(|c| c.connections).collect();
    if connections.len() > 1 || (alone && cores.len() == 1) {
        for &n in &cores {
            let own: Vec<&PointResult> = results.iter().filter(|c| c.cores == n).copied().collect();
            let words = own.first().map_or_else(String::new, |c| c.cores_in_words());
            let title = format!("{name} · {words}");
            tables.push(table(report, Axis::Connections, title, &own));
        }
    }
    match (cores.len(), connections.len()) {
        (0 | 1, _) => {}
        (_, 1) => {
            let title = match first.connections {
                0 => name,
                n => format!("{name} · {} connections", grouped(n)),
            };
            tables.push(table(report, Axis::Cores, title, results));
        }
        _ => tables.push(scale_up(&name, results, &cores, &connections)),
    }
}

/// Where both axes vary, the table over cores is short: medians with S_CPU.
fn scale_up(name: &str, results: &[&PointResult], cores: &BTreeSet<u32>, connections: &BTreeSet<u64>) -> Table {
    let mut metrics: Vec<&str> = Vec::new();
    for result in results {
        if !metrics.contains(&result.metric.as_str()) {
            metrics.push(&result.metric);
        }
    }
    let line = |metric: &str, n: u64| {
        let at = |&cores: &u32| {
            let result = results.iter().find(|c| c.metric == metric && c.connections == n && c.cores == cores)?;
            let median = value::median(result);
            Some(match s_cpu(result, SCpu::of(of(results, metric))) {
                Some(s_cpu) => Cell::Words(format!("{median} ({s_cpu})")),
                None => median,
            })
        };
        row(format!("{} connections", grouped(n)), cores.iter().map(at))
    };
    let group = |metric: &&str| Group {
        title: format!("{}: median ({})", titled(metric, of(results, metric)), SCpu::of(of(results, metric)).label()),
        rows: connections.iter().map(|&n| line(metric, n)).collect(),
        bars: Vec::new(),
    };
    let table =
        Table::new(format!("{name} · scale-up over cores"), "cores of the device", cores.iter().map(u32::to_string));
    Table { groups: metrics.iter().map(group).collect(), ..table }
}

fn of<'c>(results: &'c [&'c PointResult], metric: &'c str) -> impl Iterator<Item = &'c PointResult> {
    results.iter().copied().filter(move |c| c.metric == metric)
}

/// Whether the values of S_CPU of some results are scaling results: they are none if tester and device share a core.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SCpu {
    All,
    Some,
    None,
}

impl SCpu {
    pub(super) fn of<'c>(results: impl Iterator<Item = &'c PointResult>) -> SCpu {
        let (shared, apart): (Vec<&PointResult>, Vec<&PointResult>) =
            results.filter(|c| c.s_cpu.is_some()).partition(|c| c.shares_core);
        match (shared.is_empty(), apart.is_empty()) {
            (true, _) => SCpu::All,
            (false, true) => SCpu::None,
            (false, false) => SCpu::Some,
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            SCpu::All => "S_CPU",
            SCpu::None => "S_CPU (not a scaling result)",
            SCpu::Some => "S_CPU (*: not a scaling result)",
        }
    }
}

/// The value of S_CPU, marked if it is not a scaling result but other values of its row are.
fn s_cpu(result: &PointResult, all: SCpu) -> Option<Quantity> {
    let mark = if result.shares_core && all == SCpu::Some { "*" } else { "" };
    result.s_cpu.map(|s| Quantity::new(s, Form::Decimals(3, mark)))
}

pub(super) fn titled<'a>(metric: &str, results: impl IntoIterator<Item = &'a PointResult>) -> String {
    let results: Vec<&PointResult> = results.into_iter().collect();
    let Some(known) = known(metric, results.iter().copied()) else { return metric.to_owned() };
    let ratios: Vec<bool> = results.iter().map(|result| result.direction_ratio.is_some()).collect();
    let unit = match (ratios.contains(&true), ratios.contains(&false)) {
        (true, false) if known.unit.per_direction() => "frames/s in the faster direction",
        (true, true) if known.unit.per_direction() => "frames/s per direction, of a ratio in the faster one",
        _ => known.unit.symbol(),
    };
    format!("{}, {unit}", known.title)
}

/// The median of each direction, if their rates differ.
pub(super) fn of_each_direction(results: &[Option<&PointResult>]) -> Vec<Row> {
    if results.iter().flatten().all(|c| c.direction_ratio.is_none()) {
        return Vec::new();
    }
    // Which direction a result of one direction has is in the heading of its column.
    let rate = |c: &PointResult, forward: bool, median: f64| match c.direction() {
        Direction::Mixed(ratio) => Some(ratio.rate_of(forward, median).round()),
        Direction::Both => Some(median),
        Direction::Forward | Direction::Reverse => None,
    };
    let median = |forward: bool| {
        let value = move |c: &PointResult| value::statistic(c, c.median().and_then(|m| rate(c, forward, m)));
        results.iter().map(move |c| c.map_or(Cell::Nothing, value))
    };
    vec![
        row("median, left to right", median(true)).explained(&terms::LEFT_TO_RIGHT),
        row("median, right to left", median(false)),
    ]
}

pub(super) fn title(report: &Report, result: &PointResult) -> String {
    match report.header.scenario.duts.get(result.dut) {
        Some(dut) => format!("{} · {}", result.dut_name, dut.function()),
        None => result.dut_name.clone(),
    }
}

pub(super) fn column(axis: Axis, result: &PointResult) -> String {
    match axis {
        Axis::Connections if result.connections == 0 => "stateless".to_owned(),
        Axis::Connections => grouped(result.connections),
        Axis::Cores => result.cores.to_string(),
        Axis::Swept(axis) => result.axes.get(axis.name()).map_or_else(|| "–".to_owned(), |&n| axis.show(n)),
        Axis::Device => result.dut_name.clone(),
    }
}

fn table(report: &Report, axis: Axis, title: String, results: &[&PointResult]) -> Table {
    let (columns, metrics) = names(axis, results);
    let mut notes = Vec::new();
    let by_column = |metric: &str| -> Vec<Option<&PointResult>> {
        columns.iter().map(|name| find(results, axis, name, Some(metric))).collect()
    };
    let mut groups: Vec<Group> =
        metrics.iter().map(|metric| group(report, axis, metric, &by_column(metric), &columns, &mut notes)).collect();
    if matches!(axis, Axis::Device) {
        join_baseline(&metrics, results, &mut groups);
    }
    let any: Vec<Option<&PointResult>> = columns.iter().map(|name| find(results, axis, name, None)).collect();
    let table = Table::new(title, axis.heading(), columns).rows(parameters(report, axis, &any));
    Table { groups, notes, ..table }
}

/// The columns and the metrics of results, each once. Results are in the order of the matrix, so columns are in the order of
/// the axis.
pub(super) fn names<'c>(axis: Axis, results: &[&'c PointResult]) -> (Vec<String>, Vec<&'c str>) {
    let (mut columns, mut metrics): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for result in results {
        let name = column(axis, result);
        if !columns.contains(&name) {
            columns.push(name);
        }
        if !metrics.contains(&result.metric.as_str()) {
            metrics.push(&result.metric);
        }
    }
    (columns, metrics)
}

/// The result of a metric, or of any, in a column.
pub(super) fn find<'c>(
    results: &[&'c PointResult],
    axis: Axis,
    name: &str,
    metric: Option<&str>,
) -> Option<&'c PointResult> {
    let is = |c: &&PointResult| column(axis, c) == name && metric.is_none_or(|metric| c.metric == metric);
    results.iter().copied().find(is)
}

/// Moves the bars of a baseline, such as plain forwarding, into the chart of the metric whose baseline it is.
fn join_baseline(metrics: &[&str], results: &[&PointResult], groups: &mut [Group]) {
    let whole = |metric: &str| known(metric, results.iter().copied())?.baseline_of;
    let place = |wanted: &str| metrics.iter().position(|metric| *metric == wanted);
    let pair = |(from, metric): (usize, &&str)| Some((from, place(whole(metric)?)?));
    let Some((from, to)) = metrics.iter().enumerate().find_map(pair) else { return };
    let mut bars = std::mem::take(&mut groups[from].bars);
    bars.append(&mut groups[to].bars);
    let longest = bars.iter().map(|b| b.length).fold(0.0, f64::max);
    for b in &mut bars {
        b.share = (b.length > 0.0).then(|| b.length / longest);
    }
    groups[to].bars = bars;
}

type Whole = fn(&Traffic) -> u64;

pub(super) fn parameters(report: &Report, axis: Axis, results: &[Option<&PointResult>]) -> Vec<Row> {
    let mut rows = Vec::new();
    let stateful = |c: &&PointResult| c.connections > 0;
    if !matches!(axis, Axis::Connections) && results.iter().flatten().any(stateful) {
        let connections = results.iter().map(|c| c.filter(stateful).map(|c| Quantity::count(c.connections)));
        rows.push(row("connections", connections).with(Role::Titled));
    }
    // "N of M": RFC 9693, section 4.4, enumerates all flows of the ranges.
    let subset = |c: &PointResult| {
        let all = report.header.scenario.at(c.dut, c.connections, &c.axes).traffic.flows.count();
        let fewer = c.connections > 0 && u128::from(c.connections) < all;
        fewer.then(|| Quantity::count(u64::try_from(all).unwrap_or(u64::MAX)))
    };
    if results.iter().flatten().any(|c| subset(c).is_some()) {
        rows.push(row("of flows", results.iter().map(|c| c.and_then(subset))));
    }
    if matches!(axis, Axis::Device) {
        let cores = results.iter().map(|c| c.map(|c| c.cores.to_string()));
        rows.push(row("cores of the device", cores).with(Role::Titled));
    }
    let is_column = |other: &axis::Axis| matches!(axis, Axis::Swept(axis) if axis.name() == other.name());
    for other in AXES.iter().filter(|other| !is_column(other)) {
        let value = |c: &PointResult| c.axes.get(other.name()).map(|&n| other.show(n));
        if results.iter().flatten().any(|c| value(c).is_some()) {
            rows.push(row(other.heading, results.iter().map(|c| c.and_then(value))));
        }
    }
    // A point may use only a part of the scenario's ranges; the run then records how much.
    let ranges: [(&str, bool, Whole); 4] = [
        ("source addresses", false, |t| t.flows.inside.count.into()),
        ("source ports", true, |t| t.flows.source_ports.count().into()),
        ("destination addresses", false, |t| t.flows.remote.count.into()),
        ("destination ports", true, |t| t.flows.destination_ports.count().into()),
    ];
    for ((label, is_of_ports, whole), key) in ranges.into_iter().zip(RANGES) {
        let whole = |c: &PointResult| whole(&report.header.scenario.at(c.dut, c.connections, &c.axes).traffic);
        let used = |c: &PointResult| c.extra.get(key).map_or_else(|| whole(c), |&n| n as u64);
        if is_of_ports || results.iter().flatten().any(|c| used(c) > 1) {
            rows.push(row(label, results.iter().map(|c| c.map(|c| Quantity::count(used(c))))));
        }
    }
    rows
}

fn group(
    report: &Report,
    axis: Axis,
    metric: &str,
    results: &[Option<&PointResult>],
    columns: &[String],
    notes: &mut Vec<String>,
) -> Group {
    let known = known(metric, results.iter().copied().flatten());
    let title = titled(metric, results.iter().copied().flatten());
    let statistic = |label: &str, of: fn(&PointResult) -> Option<f64>| {
        row(label, results.iter().map(|c| c.map_or(Cell::Nothing, |c| value::statistic(c, of(c)))))
    };
    let error = |c: &PointResult| (c.bound == ResultKind::Exact).then(|| Quantity::count(c.error.0));
    let mut rows = vec![
        row("repetitions", results.iter().map(|c| c.map(repetitions))),
        row("median", results.iter().map(|c| c.map(value::median))).with(Role::Main),
        statistic("minimum", |c| c.summary.map(|s| s.min)),
        statistic("maximum", |c| c.summary.map(|s| s.max)),
        statistic("1st percentile", |c| c.summary.map(|s| s.p1)),
        statistic("99th percentile", |c| c.summary.map(|s| s.p99)),
        row("error of the search", results.iter().map(|c| c.and_then(error))).explained(&terms::ERROR),
    ];
    rows.splice(2..2, averages(metric, results));
    if known.is_some_and(|m| m.unit.per_direction()) {
        let total = |c: &PointResult| match c.upper() {
            // The number of directions is that of finished searches.
            Some(_) if c.repetitions.is_empty() => Cell::Nothing,
            Some(failed) => value::below(c.total(failed.0 as f64)).into(),
            None => value::statistic(c, c.median().map(|m| c.total(m))),
        };
        let total = row("median, total", results.iter().map(|c| c.map_or(Cell::Nothing, total)));
        rows.insert(2, total.explained(&terms::TOTAL));
        rows.splice(2..2, of_each_direction(results));
    }
    rows.extend(median_interval(results));
    if matches!(axis, Axis::Connections) && results.iter().flatten().any(|c| c.s_c.is_some()) {
        let s_c = |c: &PointResult| c.s_c.map(|s| Quantity::new(s, Form::Decimals(3, "")));
        rows.push(row("S_C", results.iter().map(|c| c.and_then(s_c))).explained(&terms::S_C));
        rows.extend(interval_row("S_C", results, |c| c.s_c_interval, 1.0));
    }
    if matches!(axis, Axis::Cores) && results.iter().flatten().any(|c| c.s_cpu.is_some()) {
        let all = SCpu::of(results.iter().copied().flatten());
        let cells = results.iter().map(|c| c.and_then(|c| s_cpu(c, all)));
        rows.push(row(all.label(), cells).explained(&terms::S_CPU));
        rows.extend(interval_row("S_CPU", results, |c| c.s_cpu_interval, 1.0));
    }
    if results.iter().flatten().any(|c| c.forwarding_percent.is_some()) {
        let share = |c: &PointResult| c.forwarding_percent.map(|share| Quantity::new(share, Form::Percent));
        let cells = results.iter().map(|c| c.and_then(share));
        rows.push(row("of plain forwarding", cells).explained(&terms::OF_FORWARDING));
        rows.extend(interval_row("of plain forwarding, %", results, |c| c.forwarding_interval, 100.0));
    }
    rows.extend(strict_row(results));
    rows.extend(goal_rows(results));
    rows.extend(costs(results));
    let null = |c: &PointResult| {
        let rates: Vec<Quantity> = c.null_rates().map(|rate| Quantity::new(rate, Form::Si(3, "", ""))).collect();
        (!rates.is_empty()).then_some(Cell::Values(rates))
    };
    let nulls = row("null device", results.iter().map(|c| c.and_then(null))).explained(&terms::NULL);
    rows.extend(Some(nulls).filter(Row::has_value));
    let trials = |c: &PointResult| format!("{} ({})", c.trials, c.invalid);
    rows.push(row("trials (invalid)", results.iter().map(|c| c.map(trials))).explained(&terms::TRIALS));
    rows.extend(further(results));
    let notes: Vec<Vec<usize>> =
        results.iter().map(|c| c.map_or_else(Vec::new, |c| numbers(report, c, notes))).collect();
    if notes.iter().any(|notes| !notes.is_empty()) {
        rows.push(row("remarks", notes.into_iter().map(Cell::Notes)));
    }
    Group { title, rows, bars: bars(results, columns, |c, median| value::short(c, median, 3)) }
}

/// Average and standard deviation of a metric of which RFCs report them.
pub(super) fn averages(metric: &str, results: &[Option<&PointResult>]) -> Vec<Row> {
    if !AVERAGED.iter().any(|of| of.key == parts::measured(metric)) {
        return Vec::new();
    }
    let average = |c: &PointResult| value::statistic(c, c.summary.map(|s| s.mean));
    // Bounds scatter for other reasons than the device.
    let is_exact = |c: &PointResult| !c.at_least() && c.upper().is_none() && c.less_below.is_none();
    let deviation = |c: &PointResult| Some(Quantity::new(c.summary.filter(|_| is_exact(c))?.sd, Form::default()));
    vec![
        row("average", results.iter().map(|c| c.map_or(Cell::Nothing, average))),
        row("standard deviation", results.iter().map(|c| c.and_then(deviation))),
    ]
}

/// The interval of the median, where it is narrower than minimum to maximum.
fn median_interval(results: &[Option<&PointResult>]) -> Option<Row> {
    let narrower = |c: &PointResult| {
        let (interval, s) = c.interval.zip(c.summary)?;
        (interval.low > s.min || interval.high < s.max).then_some((interval, s.median))
    };
    let intervals = || results.iter().flatten().filter_map(|c| narrower(c));
    let least = intervals().map(|(interval, _)| interval.coverage).min_by(f64::total_cmp)?;
    let ends = |c: &PointResult| narrower(c).map(|(i, median)| number::si_ends(i.low, median, i.high, 3));
    let label = format!("median, {} interval", number::percent(least * 100.0));
    Some(row(label, results.iter().map(|c| c.and_then(ends))).explained(&terms::INTERVAL))
}

/// A row of intervals. Its label names their coverage if it is the same everywhere.
fn interval_row(
    label: &str,
    results: &[Option<&PointResult>],
    of: fn(&PointResult) -> Option<Interval>,
    factor: f64,
) -> Option<Row> {
    let coverage = coverage(results, of)?;
    let cell = |c: &PointResult| {
        let interval = of(c)?;
        let ends = number::ends(interval.low * factor, interval.high * factor, 3);
        let own = || number::percent(interval.coverage * 100.0);
        Some(if coverage.is_empty() { format!("{ends} ({})", own()) } else { ends })
    };
    let cells = results.iter().map(|c| c.and_then(cell));
    Some(row(format!("{label}, {coverage}interval"), cells).explained(&terms::INTERVAL))
}

/// The coverage of intervals, `88 % `, if it is the same everywhere; empty if not. `None` without an interval.
fn coverage(results: &[Option<&PointResult>], of: fn(&PointResult) -> Option<Interval>) -> Option<String> {
    let all: BTreeSet<String> =
        results.iter().flatten().filter_map(|c| of(c)).map(|i| number::percent(i.coverage * 100.0)).collect();
    let first = all.first()?;
    Some(if all.len() == 1 { format!("{first} ") } else { String::new() })
}

/// The medians of the strict results. `None` if they are those of the results.
pub(super) fn strict_row(results: &[Option<&PointResult>]) -> Option<Row> {
    let differs = |c: &&PointResult| c.strict.is_some_and(|strict| Some(strict.median) != c.median());
    results.iter().flatten().find(|c| differs(c))?;
    let cell = |c: &PointResult| c.strict.map(|strict| Quantity::new(strict.median, Form::default()));
    Some(row("strict RFC 2544, median", results.iter().map(|c| c.and_then(cell))))
}

fn goal_rows(results: &[Option<&PointResult>]) -> Vec<Row> {
    let mut goals: Vec<&str> = Vec::new();
    for goal in results.iter().flatten().flat_map(|c| &c.repetitions).flat_map(|r| &r.goals) {
        if !goals.contains(&goal.goal.as_str()) {
            goals.push(&goal.goal);
        }
    }
    let cell = |c: &PointResult, name: &str| {
        let found = || c.repetitions.iter().flat_map(|r| &r.goals).filter(|goal| goal.goal == name);
        let rates: Vec<u64> = found().filter_map(|goal| goal.conditional_throughput).map(|rate| rate.0).collect();
        let bound = if found().any(|goal| goal.upper.is_none()) { Bound::AtLeast } else { Bound::Exact };
        Some(Quantity::new(Summary::of(&rates)?.median, Form::default()).bounded(bound))
    };
    let row_of =
        |name: &&str| row(format!("goal {name}, median"), results.iter().map(|c| c.and_then(|c| cell(c, name))));
    goals.iter().map(row_of).collect()
}

/// What a frame costs the device, with the interval over windows or pairs.
pub(super) fn costs(results: &[Option<&PointResult>]) -> Vec<Row> {
    let one_thread = results.iter().map(|c| c.and_then(|c| cost(c, |cost| cost.one_thread_ns_per_frame, |s| s.least)));
    let rows = [
        cpu_time(results),
        // Other work on the machine only makes it longer.
        row("on one thread, least, ns", one_thread),
        row(
            "paired ratio to null device",
            results.iter().map(|c| c.and_then(|c| cost(c, |cost| cost.paired_ratio, |s| s.median))),
        )
        .explained(&terms::PAIRED),
    ];
    rows.into_iter().filter(Row::has_value).collect()
}

/// The CPU time of a frame, which repeats less well than the other costs.
fn cpu_time(results: &[Option<&PointResult>]) -> Row {
    let cells = results.iter().map(|c| c.and_then(|c| cost(c, |cost| cost.cpu_ns_per_frame, |s| s.median)));
    row("CPU time a frame, ns", cells).explained(&terms::CPU_TIME)
}

/// A cost of a frame; `first` stands before the interval.
fn cost(c: &PointResult, of: fn(&Cost) -> Option<Spread>, first: fn(&Spread) -> f64) -> Option<Quantity> {
    let spread = of(c.cost.as_ref()?)?;
    let first = first(&spread);
    Some(Quantity::new(first, Form::Digits(3, "")).between(spread.low.min(first), spread.high))
}

pub(super) fn further(results: &[Option<&PointResult>]) -> Vec<Row> {
    let names: BTreeSet<&str> = results.iter().flatten().flat_map(|c| c.extra.keys()).map(String::as_str).collect();
    let value = |c: &PointResult, name: &str| c.extra.get(name).map(|&v| further_value(v));
    let of_name = |name: &str| {
        let row = row(name, results.iter().map(|c| c.and_then(|c| value(c, name))));
        if name == PHASE1_RATE { row.explained(&terms::PHASE1_RATE) } else { row }
    };
    names.into_iter().filter(|name| !RANGES.contains(name)).map(of_name).collect()
}

fn further_value(value: f64) -> Quantity {
    if value.abs() >= 1_000.0 {
        Quantity::new(value.round(), Form::default())
    } else {
        Quantity::new(value, Form::Digits(3, ""))
    }
}

pub(super) fn repetitions(result: &PointResult) -> String {
    let done = result.repetitions.len();
    if done == result.planned { done.to_string() } else { format!("{done} of {}", result.planned) }
}

/// Numbers of the remarks on a result; each new remark becomes a note.
fn numbers(report: &Report, result: &PointResult, notes: &mut Vec<String>) -> Vec<usize> {
    let number = |remark: String| {
        let known = notes.iter().position(|note| *note == remark);
        known.unwrap_or_else(|| {
            notes.push(remark);
            notes.len() - 1
        }) + 1
    };
    remarks(report, result).into_iter().map(number).collect()
}

pub(super) fn bars(
    results: &[Option<&PointResult>],
    columns: &[String],
    value: fn(&PointResult, f64) -> Quantity,
) -> Vec<Bar> {
    let longest = results.iter().flatten().filter_map(|c| c.median()).fold(0.0, f64::max);
    let bar = |(result, label): (&PointResult, &String)| {
        let median = result.median().filter(|_| !result.nothing_passed());
        Bar {
            label: label.clone(),
            length: median.unwrap_or(0.0),
            share: median.filter(|_| longest > 0.0).map(|m| m / longest),
            value: median.map_or_else(|| value::without_rate(result), |m| value(result, m).into()),
        }
    };
    results.iter().zip(columns).filter_map(|(result, label)| Some((result.as_deref()?, label))).map(bar).collect()
}
