//! The tables of a report, in the form of RFC 9693, section 6: columns are numbers of connections, cores or values of a further
//! axis; rows are parameters, then statistics. All formats print the same tables.

use super::number::{self, grouped};
use super::remarks::remarks;
use super::result::{PHASE1_RATE, PointResult, known};
use super::series::Axis;
use super::{Report, parts, terms, value};
use crate::folder::{Cost, Spread};
use document::{Bound, Cell, Form, Group, MedianBar, Quantity, Row, RowRole, Table, distinct, row};
use method::search::StrictMedian;
use method::stats::{Interval, Summary};
use method::{Direction, ResultKind};
use procedure::metric::by_key;
use scenario::Traffic;
use scenario::axis::{self, AXES, AxisValues, in_words};
use std::collections::BTreeSet;

/// Further figures of a result: the part of the scenario's ranges that a point uses.
const RANGES: [&str; 4] = ["source_addresses", "source_ports", "destination_addresses", "destination_ports"];

/// The results of one metric, or of any, in the columns of a table.
pub(super) struct Columns<'a>(Vec<Option<&'a PointResult>>);

impl<'a> Columns<'a> {
    pub(super) fn of(axis: Axis, names: &[String], results: &[&'a PointResult], metric: Option<&str>) -> Columns<'a> {
        let is = |c: &PointResult, name: &String| axis.column(c) == *name && metric.is_none_or(|key| c.metric == key);
        Columns(names.iter().map(|name| results.iter().copied().find(|c| is(c, name))).collect())
    }

    pub(super) fn each(&self) -> Vec<&'a PointResult> {
        self.0.iter().copied().flatten().collect()
    }

    pub(super) fn row<C: Into<Cell>>(&self, label: impl Into<String>, cell: impl Fn(&'a PointResult) -> C) -> Row {
        row(label, self.0.iter().map(|c| c.map(&cell)))
    }

    /// Returns a row if any of its cells has a value.
    pub(super) fn known_row<C: Into<Cell>>(&self, label: &str, cell: impl Fn(&'a PointResult) -> C) -> Option<Row> {
        Some(self.row(label, cell)).filter(Row::has_value)
    }

    pub(super) fn statistic(&self, label: &str, of: impl Fn(&PointResult) -> Option<f64>) -> Row {
        self.row(label, |c| value::statistic(c, of(c)))
    }
}

/// All tables of a report: devices side by side, then each device over further axes, connections and cores.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let devices = document::grouped_by(&report.results, |c| c.dut);
    let mut tables = if devices.len() > 1 { side_by_side(report) } else { Vec::new() };
    for (_, results) in &devices {
        of_device(report, results, devices.len() == 1, &mut tables);
    }
    tables
}

fn side_by_side(report: &Report) -> Vec<Table> {
    let cores: BTreeSet<u32> = report.results.iter().map(|c| c.cores).collect();
    let connections: BTreeSet<u64> = report.results.iter().map(|c| c.connections).collect();
    // A stateless device is in the table of every number of connections, a device without an axis in that of every value.
    let counts = connections.iter().filter(|&&n| n > 0 || connections.len() == 1);
    let combinations = combinations(report);
    let places = cores.iter().flat_map(|cores| combinations.iter().map(move |axes| (cores, axes)));
    let places = places.flat_map(|(cores, axes)| counts.clone().map(move |n| (*cores, *axes, *n)));
    let table = |(cores, axes, n): (u32, &AxisValues, u64)| {
        let is_here = |c: &&PointResult| c.cores == cores && [n, 0].contains(&c.connections) && is_part(&c.axes, axes);
        table(report, Axis::Device, &report.results.iter().filter(is_here).collect::<Vec<_>>())
    };
    places.map(table).collect()
}

fn is_part(of: &AxisValues, whole: &AxisValues) -> bool {
    of.iter().all(|(name, value)| whole.get(name) == Some(value))
}

/// Combinations of values of the further axes, without those that are part of another.
fn combinations(report: &Report) -> Vec<&AxisValues> {
    let all: BTreeSet<&AxisValues> = report.results.iter().map(|c| &c.axes).collect();
    all.iter().copied().filter(|a| !all.iter().any(|b| a != b && is_part(a, b))).collect()
}

/// The tables of one device. `alone`: it has a table even if it has only one column.
fn of_device(report: &Report, results: &[&PointResult], alone: bool, tables: &mut Vec<Table>) {
    let swept: Vec<Axis> = AXES.iter().map(Axis::Swept).filter(|axis| axis.positions(results) > 1).collect();
    for axis in &swept {
        tables.extend(axis.series(results).iter().map(|series| table(report, *axis, series)));
    }
    let alone = alone && swept.is_empty();
    for (_, own) in document::grouped_by(results.iter().copied(), |c| &c.axes) {
        let [connections, cores] =
            [distinct(own.iter().map(|c| c.connections)), distinct(own.iter().map(|c| u64::from(c.cores)))];
        if connections.len() > 1 || alone && cores.len() == 1 {
            tables.extend(Axis::Connections.series(&own).iter().map(|series| table(report, Axis::Connections, series)));
        }
        match (cores.len(), connections.len()) {
            (0 | 1, _) => {}
            (_, 1) => tables.push(table(report, Axis::Cores, &own)),
            _ => tables.push(scale_up(report, &own)),
        }
    }
}

/// Where both axes vary, the table over cores is short: medians with S_CPU.
fn scale_up(report: &Report, results: &[&PointResult]) -> Table {
    let cores: BTreeSet<u32> = results.iter().map(|c| c.cores).collect();
    let connections: BTreeSet<u64> = results.iter().map(|c| c.connections).collect();
    let group = |(metric, of): (&str, Vec<&PointResult>)| {
        let label = s_cpu_label(&of);
        let cell = |n: u64, cores: u32| {
            let result = of.iter().find(|c| c.connections == n && c.cores == cores)?;
            let median = value::median(result);
            Some(s_cpu(result, label).map_or(median.clone(), |s_cpu| format!("{median} ({s_cpu})").into()))
        };
        let line = |&n: &u64| row(format!("{} connections", grouped(n)), cores.iter().map(|&cores| cell(n, cores)));
        let title = format!("{}: median ({})", titled(metric, &of), label);
        Group { title, rows: connections.iter().map(line).collect(), bars: Vec::new() }
    };
    let groups = document::grouped_by(results.iter().copied(), |c| c.metric.as_str()).into_iter().map(group).collect();
    let name = results.first().map_or_else(String::new, |first| title(report, first) + &dotted(&first.axes));
    let table =
        Table::new(format!("{name} · scale-up over cores"), "cores of the device", cores.iter().map(u32::to_string));
    Table { groups, ..table }
}

fn dotted(axes: &AxisValues) -> String {
    if axes.is_empty() { String::new() } else { format!(" · {}", in_words(axes)) }
}

/// The device, or the devices, and the point in words, without the axis of the columns.
pub(super) fn heading(report: &Report, axis: Axis, results: &[&PointResult]) -> String {
    let Some(first) = results.first() else { return String::new() };
    let device = if matches!(axis, Axis::Device) { "Devices side by side".to_owned() } else { title(report, first) };
    let cores = (!matches!(axis, Axis::Cores)).then(|| first.cores_in_words());
    let connections =
        results.iter().map(|c| c.connections).max().filter(|&n| n > 0 && !matches!(axis, Axis::Connections));
    let connections = connections.map(|n| format!("{} connections", grouped(n)));
    let point = [Some(device), cores, connections].into_iter().flatten().collect::<Vec<_>>().join(" · ");
    point + &dotted(&axis.others(first))
}

const S_CPU: &str = "S_CPU";
const S_CPU_OF_SOME: &str = "S_CPU (*: not a scaling result)";

/// Returns the label of S_CPU. Its values are no scaling results if tester and device share a core.
pub(super) fn s_cpu_label(results: &[&PointResult]) -> &'static str {
    let has = |shared: bool| results.iter().any(|c| c.s_cpu.is_some() && c.shares_core == shared);
    match (has(true), has(false)) {
        (false, _) => S_CPU,
        (true, false) => "S_CPU (not a scaling result)",
        (true, true) => S_CPU_OF_SOME,
    }
}

/// Returns the value of S_CPU, marked if it is no scaling result but other values under its label are.
fn s_cpu(result: &PointResult, label: &str) -> Option<Quantity> {
    let mark = if result.shares_core && label == S_CPU_OF_SOME { "*" } else { "" };
    result.s_cpu.map(|s| Quantity::new(s, Form::Decimals(3, mark)))
}

pub(super) fn titled(metric: &str, results: &[&PointResult]) -> String {
    let Some(known) = known(metric, results.iter().copied()) else { return metric.to_owned() };
    let has = |ratio: bool| results.iter().any(|c| c.direction_ratio.is_some() == ratio);
    let unit = match (has(true), has(false)) {
        (true, false) if known.unit.per_direction() => "frames/s in the faster direction",
        (true, true) if known.unit.per_direction() => "frames/s per direction, of a ratio in the faster one",
        _ => known.unit.symbol(),
    };
    format!("{}, {unit}", known.title)
}

/// The median of each direction, if their rates differ.
pub(super) fn of_each_direction(results: &Columns) -> Vec<Row> {
    if results.each().into_iter().all(|c| c.direction_ratio.is_none()) {
        return Vec::new();
    }
    // Which direction a result of one direction has is in the heading of its column.
    let rate = |c: &PointResult, forward: bool, median: f64| match c.direction() {
        Direction::Mixed(ratio) => Some(ratio.rate_of(forward, median).round()),
        Direction::Both => Some(median),
        Direction::Forward | Direction::Reverse => None,
    };
    let median = |label, forward| results.statistic(label, |c| c.median().and_then(|median| rate(c, forward, median)));
    let to_right = median("median, left to right", true).explained(&terms::LEFT_TO_RIGHT);
    vec![to_right, median("median, right to left", false)]
}

fn title(report: &Report, result: &PointResult) -> String {
    match report.header.scenario.duts.get(result.dut) {
        Some(dut) => format!("{} · {}", result.dut_name, dut.function()),
        None => result.dut_name.clone(),
    }
}

fn table(report: &Report, axis: Axis, results: &[&PointResult]) -> Table {
    let columns = distinct(results.iter().map(|c| axis.column(c)));
    let metrics = distinct(results.iter().map(|c| c.metric.as_str()));
    let mut notes = Vec::new();
    let mut group = |metric: &&str| {
        let of_metric = Columns::of(axis, &columns, results, Some(metric));
        group(report, axis, metric, &of_metric, &columns, &mut notes)
    };
    let mut groups: Vec<Group> = metrics.iter().map(&mut group).collect();
    if matches!(axis, Axis::Device) {
        join_baseline(&metrics, results, &mut groups);
    }
    let parameters = parameters(report, axis, &Columns::of(axis, &columns, results, None));
    let table = Table::new(heading(report, axis, results), axis.heading(), columns).with_parameters(parameters);
    Table { groups, notes, ..table }
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

pub(super) fn parameters(report: &Report, axis: Axis, results: &Columns) -> Vec<Row> {
    let mut rows = Vec::new();
    if !matches!(axis, Axis::Connections) {
        let connections = |c: &PointResult| (c.connections > 0).then(|| Quantity::count(c.connections));
        rows.extend(results.known_row("connections", connections).map(|row| row.with_role(RowRole::Titled)));
    }
    // "N of M": RFC 9693, section 4.4, enumerates all flows of the ranges.
    let subset = |c: &PointResult| {
        let all = report.header.scenario.at(c.dut, c.connections, &c.axes).traffic.flows.count();
        let fewer = c.connections > 0 && u128::from(c.connections) < all;
        fewer.then(|| Quantity::count(u64::try_from(all).unwrap_or(u64::MAX)))
    };
    rows.extend(results.known_row("of flows", subset));
    if matches!(axis, Axis::Device) {
        rows.push(results.row("cores of the device", |c| c.cores.to_string()).with_role(RowRole::Titled));
    }
    let is_column = |other: &axis::Axis| matches!(axis, Axis::Swept(axis) if axis.name() == other.name());
    for other in AXES.iter().filter(|other| !is_column(other)) {
        rows.extend(results.known_row(other.heading, |c| c.axes.get(other.name()).map(|&n| other.show(n))));
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
        if is_of_ports || results.each().into_iter().any(|c| used(c) > 1) {
            rows.push(results.row(label, |c| Quantity::count(used(c))));
        }
    }
    rows
}

fn group(
    report: &Report,
    axis: Axis,
    metric: &str,
    results: &Columns,
    columns: &[String],
    notes: &mut Vec<String>,
) -> Group {
    let mut rows =
        vec![results.row("repetitions", repetitions), results.row("median", value::median).with_role(RowRole::Main)];
    if known(metric, results.each()).is_some_and(|m| m.unit.per_direction()) {
        let total = |c: &PointResult| match c.upper() {
            // The number of directions is that of finished searches.
            Some(_) if c.repetitions.is_empty() => Cell::Nothing,
            Some(failed) => value::below(c.total(failed.0 as f64)).into(),
            None => value::statistic(c, c.median().map(|m| c.total(m))),
        };
        rows.extend(of_each_direction(results));
        rows.push(results.row("median, total", total).explained(&terms::TOTAL));
    }
    let error = |c: &PointResult| (c.bound == ResultKind::Exact).then(|| Quantity::count(c.error.0));
    rows.extend(averages(metric, results));
    rows.extend([
        results.statistic("minimum", |c| c.summary.map(|s| s.min)),
        results.statistic("maximum", |c| c.summary.map(|s| s.max)),
        results.statistic("1st percentile", |c| c.summary.map(|s| s.p1)),
        results.statistic("99th percentile", |c| c.summary.map(|s| s.p99)),
        results.row("error of the search", error).explained(&terms::ERROR),
    ]);
    rows.extend(median_interval(results));
    rows.extend(ratios(axis, results));
    rows.extend(strict_row(results));
    rows.extend(goal_rows(results));
    rows.extend(costs(results));
    let null = |c: &PointResult| {
        let rates: Vec<Quantity> = c.null_rates().map(|rate| Quantity::new(rate, Form::Si(3, "", ""))).collect();
        (!rates.is_empty()).then_some(Cell::Values(rates))
    };
    rows.extend(results.known_row("null device", null).map(|row| row.explained(&terms::NULL)));
    let trials = results.row("trials (invalid)", |c| format!("{} ({})", c.trials, c.invalid));
    rows.push(trials.explained(&terms::TRIALS));
    rows.extend(further(results));
    let numbers: Vec<Vec<usize>> = results.0.iter().map(|c| numbers(report, *c, notes)).collect();
    if numbers.iter().any(|numbers| !numbers.is_empty()) {
        rows.push(row("remarks", numbers.into_iter().map(Cell::Notes)));
    }
    let bars = bars(results, columns, |c, median| value::short(c, median, 3));
    Group { title: titled(metric, &results.each()), rows, bars }
}

/// Returns rows with the ratios to other points, each with its interval.
fn ratios(axis: Axis, results: &Columns) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |row: Row, term, name: &str, of: fn(&PointResult) -> Option<Interval>, factor| {
        if row.has_value() {
            rows.push(row.explained(term));
            rows.extend(interval_row(name, results, of, factor));
        }
    };
    if matches!(axis, Axis::Connections) {
        let row = results.row("S_C", |c| c.s_c.map(|s| Quantity::new(s, Form::Decimals(3, ""))));
        add(row, &terms::S_C, "S_C", |c| c.s_c_interval, 1.0);
    }
    if matches!(axis, Axis::Cores) {
        let label = s_cpu_label(&results.each());
        add(results.row(label, |c| s_cpu(c, label)), &terms::S_CPU, S_CPU, |c| c.s_cpu_interval, 1.0);
    }
    let share = |c: &PointResult| c.forwarding_percent.map(|share| Quantity::new(share, Form::Percent));
    let row = results.row("of plain forwarding", share);
    add(row, &terms::OF_FORWARDING, "of plain forwarding, %", |c| c.forwarding_interval, 100.0);
    rows
}

/// Average and standard deviation of a metric of which RFCs report them.
pub(super) fn averages(metric: &str, results: &Columns) -> Vec<Row> {
    if !by_key(parts::measured(metric)).is_some_and(|of| of.averaged) {
        return Vec::new();
    }
    // Bounds scatter for other reasons than the device.
    let is_exact = |c: &PointResult| !c.at_least() && c.upper().is_none() && c.less_below.is_none();
    let deviation = |c: &PointResult| Some(Quantity::new(c.summary.filter(|_| is_exact(c))?.sd, Form::default()));
    vec![results.statistic("average", |c| c.summary.map(|s| s.mean)), results.row("standard deviation", deviation)]
}

/// The interval of the median, where it is narrower than minimum to maximum.
fn median_interval(results: &Columns) -> Option<Row> {
    let narrower = |c: &PointResult| {
        let (interval, s) = c.interval.zip(c.summary)?;
        (interval.low > s.min || interval.high < s.max).then_some((interval, s.median))
    };
    let least = results.each().into_iter().filter_map(narrower).map(|(i, _)| i.coverage).min_by(f64::total_cmp)?;
    let ends = |c: &PointResult| narrower(c).map(|(i, median)| number::si_ends(i.low, median, i.high, 3));
    let label = format!("median, {} interval", number::percent(least * 100.0));
    Some(results.row(label, ends).explained(&terms::INTERVAL))
}

/// A row of intervals. Its label names their coverage if it is the same everywhere.
fn interval_row(label: &str, results: &Columns, of: fn(&PointResult) -> Option<Interval>, factor: f64) -> Option<Row> {
    let coverage = |interval: Interval| number::percent(interval.coverage * 100.0);
    let all = distinct(results.each().into_iter().filter_map(of).map(coverage));
    let common = if let [one] = &all[..] { format!("{one} ") } else { String::new() };
    let cell = |c: &PointResult| {
        let interval = of(c)?;
        let ends = number::ends(interval.low * factor, interval.high * factor, 3);
        Some(if common.is_empty() { format!("{ends} ({})", coverage(interval)) } else { ends })
    };
    let row = results.known_row(&format!("{label}, {common}interval"), cell)?;
    Some(row.explained(&terms::INTERVAL))
}

/// The medians of the strict results. `None` if they are those of the results.
pub(super) fn strict_row(results: &Columns) -> Option<Row> {
    let bound = |strict: StrictMedian| if strict.is_less { Bound::LessThan } else { Bound::Exact };
    let differs = |c: &PointResult| {
        c.strict.is_some_and(|s| Some(s.median) != c.median() || s.is_less && c.bound_of(s.median) != Bound::LessThan)
    };
    let cell = |c: &PointResult| c.strict.map(|s| Quantity::new(s.median, Form::default()).bounded(bound(s)));
    results.each().into_iter().any(differs).then(|| results.row("strict RFC 2544, median", cell))
}

fn goal_rows(results: &Columns) -> Vec<Row> {
    let cell = |c: &PointResult, name: &str| {
        let found = || c.repetitions.iter().flat_map(|r| &r.goals).filter(|goal| goal.goal == name);
        let rates: Vec<u64> = found().filter_map(|goal| goal.conditional_throughput).map(|rate| rate.0).collect();
        let bound = if found().any(|goal| goal.upper.is_none()) { Bound::AtLeast } else { Bound::Exact };
        Some(Quantity::new(Summary::of(&rates)?.median, Form::default()).bounded(bound))
    };
    let names =
        distinct(results.each().into_iter().flat_map(|c| &c.repetitions).flat_map(|r| &r.goals).map(|goal| &goal.goal));
    names.into_iter().map(|name| results.row(format!("goal {name}, median"), |c| cell(c, name))).collect()
}

/// What a frame costs the device, with the interval over windows or pairs.
pub(super) fn costs(results: &Columns) -> Vec<Row> {
    type OfCost = fn(&Cost) -> Option<Spread>;
    let line = |label: &str, of: OfCost, first: fn(&Spread) -> f64| {
        let cell = |c: &PointResult| {
            let spread = of(c.cost.as_ref()?)?;
            let first = first(&spread);
            Some(Quantity::new(first, Form::Digits(3, "")).with_interval(spread.low.min(first), spread.high))
        };
        results.known_row(label, cell)
    };
    let cpu_time = line("CPU time a frame, ns", |cost| cost.cpu_ns_per_frame, |s| s.median);
    // Other work on the machine only makes it longer.
    let one_thread = line("on one thread, least, ns", |cost| cost.one_thread_ns_per_frame, |s| s.least);
    let paired = line("paired ratio to null device", |cost| cost.paired_ratio, |s| s.median);
    let explained = [
        cpu_time.map(|row| row.explained(&terms::CPU_TIME)),
        one_thread,
        paired.map(|row| row.explained(&terms::PAIRED)),
    ];
    explained.into_iter().flatten().collect()
}

pub(super) fn further(results: &Columns) -> Vec<Row> {
    let names: BTreeSet<&String> = results.each().into_iter().flat_map(|c| c.extra.keys()).collect();
    let of_name = |name: &String| {
        let row = results.row(name, |c| c.extra.get(name).map(|&v| further_value(v)));
        if name == PHASE1_RATE { row.explained(&terms::PHASE1_RATE) } else { row }
    };
    names.into_iter().filter(|name| !RANGES.contains(&name.as_str())).map(of_name).collect()
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
fn numbers(report: &Report, result: Option<&PointResult>, notes: &mut Vec<String>) -> Vec<usize> {
    let number = |remark: String| {
        let known = notes.iter().position(|note| *note == remark);
        known.unwrap_or_else(|| {
            notes.push(remark);
            notes.len() - 1
        }) + 1
    };
    result.map_or_else(Vec::new, |result| remarks(report, result)).into_iter().map(number).collect()
}

pub(super) fn bars(results: &Columns, columns: &[String], value: fn(&PointResult, f64) -> Quantity) -> Vec<MedianBar> {
    let longest = results.each().into_iter().filter_map(PointResult::median).fold(0.0, f64::max);
    let bar = |(result, label): (&PointResult, &String)| {
        let median = result.median().filter(|_| !result.nothing_passed());
        MedianBar {
            label: label.clone(),
            length: median.unwrap_or(0.0),
            share: median.filter(|_| longest > 0.0).map(|m| m / longest),
            value: median.map_or_else(|| value::without_rate(result), |m| value(result, m).into()),
        }
    };
    results.0.iter().zip(columns).filter_map(|(result, label)| Some(((*result)?, label))).map(bar).collect()
}
