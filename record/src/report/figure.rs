//! The figures of a report: rate against connections, cores or a further axis; devices side by side; rates over the time of the
//! run; and, for each result, its search and its loss curve. `svg` draws them.

use super::result::{PointResult, Worth};
use super::scale::Axis;
use super::svg::{self, Dot, Labels, Plot, Point, SHAPES, Series, Shape};
use super::{Report, facts, number, remarks, table};
use method::StepVerdict;
use method::metric::{self, Unit};
use method::trial::of_rate;
use scenario::axis::{self, AXES, AxisValues};
use std::collections::BTreeSet;

/// A figure with its caption.
pub(super) struct Figure {
    /// What it shows and how to read it.
    pub caption: String,
    /// The drawing.
    pub svg: String,
    /// Whether it needs the whole width of the page.
    pub wide: bool,
}

/// Width of a figure across the page; `NARROW` is for two figures side by side.
const WIDE: f64 = 1000.0;
const NARROW: f64 = 490.0;

/// The figures that compare results: one for each metric and axis.
pub(super) fn overview(report: &Report) -> Vec<Figure> {
    let mut metrics: Vec<&str> = Vec::new();
    for result in report.results.iter().filter(|c| c.summary.is_some()) {
        if !metrics.contains(&result.metric.as_str()) {
            metrics.push(&result.metric);
        }
    }
    let forwarding = metric::IPV4_FORWARDING_THROUGHPUT.key;
    // The chart of throughput includes plain forwarding, its baseline.
    let merged = metrics.contains(&metric::THROUGHPUT.key);
    let mut figures = Vec::new();
    for metric in metrics.into_iter().filter(|&m| m != forwarding || !merged) {
        let with =
            |c: &&PointResult| c.metric == metric || (metric == metric::THROUGHPUT.key && c.metric == forwarding);
        let results: Vec<&PointResult> = report.results.iter().filter(with).filter(|c| c.summary.is_some()).collect();
        let n = figures.len();
        let connections: BTreeSet<u64> = results.iter().map(|c| c.connections).filter(|&n| n > 0).collect();
        let cores: BTreeSet<u32> = results.iter().map(|c| c.cores).collect();
        if connections.len() > 1 {
            figures.push(lines(metric, &results, Against::Connections, &n.to_string()));
        }
        if cores.len() > 1 {
            figures.push(lines(metric, &results, Against::Cores, &(n + 1).to_string()));
        }
        for axis in AXES.iter().filter(|axis| table::varies(axis, &results)) {
            figures.push(lines(metric, &results, Against::Swept(axis), &format!("{n}-{}", axis.name())));
        }
        // Other metrics have a section of their own.
        if figures.len() == n && is_rate(metric) {
            figures.push(side_by_side(metric, &results, n));
        }
    }
    figures
}

/// Whether its values are rates or connections, which searches find.
fn is_rate(metric: &str) -> bool {
    let unit = metric::by_key(metric).map(|known| known.unit);
    matches!(
        unit,
        None | Some(Unit::FramesPerSecond | Unit::ConnectionsPerSecond | Unit::QueriesPerSecond | Unit::Connections)
    )
}

fn title_and_unit(metric: &str) -> (String, &'static str) {
    match metric::by_key(metric) {
        Some(m) => (m.title.to_owned(), m.unit.symbol()),
        None => (metric.to_owned(), ""),
    }
}

/// The value in words, for screen readers.
fn spoken(result: &PointResult) -> String {
    let value = remarks::value(result, result.median());
    format!("{}: {value}", facts::place(result))
}

/// The x axis of a figure.
#[derive(Clone, Copy)]
enum Against {
    Connections,
    Cores,
    Swept(&'static axis::Axis),
}

/// What the points of one line have in common: device, cores, connections, further axes; without the x axis.
type Line = (usize, u32, u64, AxisValues);

impl Against {
    fn value(self, c: &PointResult) -> f64 {
        match self {
            Against::Connections => c.connections as f64,
            Against::Cores => f64::from(c.cores),
            Against::Swept(axis) => c.axes.get(axis.name()).copied().unwrap_or(0) as f64,
        }
    }
    fn line(self, c: &PointResult) -> Line {
        let mut axes = c.axes.clone();
        match self {
            Against::Connections => (c.dut, c.cores, 0, axes),
            Against::Cores => (c.dut, 0, c.connections, axes),
            Against::Swept(axis) => {
                axes.remove(axis.name());
                (c.dut, c.cores, c.connections, axes)
            }
        }
    }
    fn name(self, line: &Line, of: &PointResult) -> String {
        let (.., connections, axes) = line;
        let connections = match connections {
            0 => "stateless".to_owned(),
            &n => format!("{} connections", number::si(n as f64, 3)),
        };
        let cores = of.cores_in_words();
        let own = match self {
            Against::Connections => cores,
            Against::Cores => connections,
            Against::Swept(_) if line.2 == 0 => cores,
            Against::Swept(_) => format!("{cores}, {connections}"),
        };
        format!("{}, {own}{}", of.dut_name, axis::more_in_words(axes))
    }
}

fn lines(metric: &str, results: &[&PointResult], against: Against, id: &str) -> Figure {
    let (title, unit) = title_and_unit(metric);
    let mut names: Vec<Line> = Vec::new();
    let group = |c: &PointResult| against.line(c);
    let on_axis = |c: &PointResult| against.value(c);
    let shown = |c: &&&PointResult| !c.nothing_passed() && on_axis(c) > 0.0;
    let stateless: Vec<&PointResult> = results.iter().filter(|c| c.connections == 0).copied().collect();
    let results: Vec<&PointResult> = results.iter().filter(shown).copied().collect();
    for result in &results {
        if !names.contains(&group(result)) {
            names.push(group(result));
        }
    }
    let name = |line: &Line| {
        let of = results.iter().find(|c| group(c) == *line);
        of.map_or_else(String::new, |of| against.name(line, of))
    };
    let mut series: Vec<Series> = names
        .iter()
        .enumerate()
        .map(|(i, key)| Series {
            name: name(key),
            class: format!("s{}", i % 6),
            shape: Some(SHAPES[i % SHAPES.len()]),
            joined: true,
            points: results.iter().filter(|c| group(c) == *key).filter_map(|c| point(c, on_axis(c))).collect(),
        })
        .collect();
    let shared = results.iter().any(|c| c.shares_core);
    if matches!(against, Against::Cores) && !shared {
        series.extend(names.iter().enumerate().filter_map(|(i, key)| ideal(&results, group, key, i)));
    }
    let values: BTreeSet<u64> = results.iter().map(|c| on_axis(c) as u64).collect();
    let values: Vec<f64> = values.into_iter().map(|v| v as f64).collect();
    let (first, last) = (values.first().copied().unwrap_or(1.0), values.last().copied().unwrap_or(1.0));
    let (axis, x) = match against {
        Against::Connections => ("connections", Axis::log("connections", first, last)),
        Against::Cores => ("cores", Axis::at_values("cores of the device", &values)),
        Against::Swept(axis) => (axis.heading, Axis::log(axis.heading, first, last)),
    };
    if matches!(against, Against::Connections) {
        // A stateless device has one rate, drawn as a level line.
        series.extend(stateless.iter().filter_map(|c| level(c, x.range)));
    }
    let highest = series.iter().flat_map(|s| &s.points).map(|p| p.whisker.map_or(p.y, |w| w.1)).fold(0.0, f64::max);
    let title = format!("{title} against the number of {axis}");
    let plot = Plot {
        id: format!("rate{id}"),
        description: results.iter().map(|c| spoken(c)).collect::<Vec<_>>().join("; "),
        title: title.clone(),
        x,
        // Room for the label and the arrow of the highest mark, below the legend.
        y: Axis::linear(unit, highest * 1.15),
        band: Vec::new(),
        band_name: "",
        series,
        labels: match (names.len(), against) {
            (1, Against::Connections | Against::Swept(_)) => Labels::Above,
            (1, Against::Cores) => Labels::Below,
            _ => Labels::None,
        },
        size: (NARROW, 330.0),
    };
    let mut caption = format!("{title}. Marks: median; bars: minimum to maximum; dots: the repetitions.");
    if results.iter().any(|c| c.at_least()) {
        caption.push_str(" Hollow mark with an arrow: lower bound.");
    }
    Figure { caption, svg: plot.render(), wide: false }
}

fn point(result: &PointResult, x: f64) -> Option<Point> {
    let s = result.summary?;
    let whisker = (s.n > 1).then_some((s.min, s.max));
    Some(Point { x, y: s.median, whisker, at_least: result.at_least(), dots: dots(result) })
}

/// The repetitions that have a rate; none of a single one, which is the median.
fn dots(result: &PointResult) -> Vec<Dot> {
    let with_rate: Vec<_> = result.repetitions.iter().filter(|r| r.bound.has_rate()).collect();
    let dot = |r: &&super::result::Repetition| Dot { value: r.value as f64, at_least: r.bound.at_least() };
    if with_rate.len() > 1 { with_rate.iter().map(dot).collect() } else { Vec::new() }
}

/// The median of a result across the whole figure.
fn level(result: &PointResult, range: (f64, f64)) -> Option<Series> {
    let y = result.median()?;
    let points = [range.0, range.1].map(|x| Point::at(x, y)).to_vec();
    let name = format!("{}, {}", result.dut_name, result.cores_in_words());
    Some(Series { name, class: "s5 ideal".to_owned(), shape: None, joined: true, points })
}

/// The line of ideal scaling, n × P(1).
fn ideal(results: &[&PointResult], group: impl Fn(&PointResult) -> Line, key: &Line, i: usize) -> Option<Series> {
    let own: Vec<&&PointResult> = results.iter().filter(|c| group(c) == *key).collect();
    let one = own.iter().find(|c| c.cores == 1)?.median()?;
    let at = |c: &&&PointResult| Point::at(c.cores.into(), one * f64::from(c.cores));
    let name = if i == 0 { "n × rate on one core" } else { "" };
    let points = own.iter().map(at).collect();
    Some(Series { name: name.to_owned(), class: format!("s{} ideal", i % 6), shape: None, joined: true, points })
}

fn side_by_side(metric: &str, results: &[&PointResult], n: usize) -> Figure {
    let (title, unit) = title_and_unit(metric);
    let known = metric::by_key(metric);
    let highest = results.iter().filter_map(|c| c.summary).map(|s| s.max).fold(0.0, f64::max);
    let bar = |result: &&PointResult| {
        let value = result.median().filter(|_| !result.nothing_passed());
        svg::Bar {
            label: result.dut_name.clone(),
            value,
            whisker: value.and(result.summary).filter(|s| s.n > 1).map(|s| (s.min, s.max)),
            dots: if value.is_some() { dots(result) } else { Vec::new() },
            text: value.map_or_else(|| "none passed".to_owned(), |v| remarks::short(known, result, v)),
            class: if result.metric == metric { "s0".to_owned() } else { "s5".to_owned() },
        }
    };
    let bars: Vec<svg::Bar> = results.iter().map(bar).collect();
    let description = results.iter().map(|c| spoken(c)).collect::<Vec<_>>().join("; ");
    let drawing = svg::bars(&format!("rate{n}"), &title, &description, &Axis::linear(unit, highest), &bars, WIDE);
    Figure {
        caption: format!("{title}. Bars: median; whiskers: minimum to maximum; dots: the repetitions."),
        svg: drawing,
        wide: true,
    }
}

/// Each metric over the time of the run, with the rate of the null device. A metric with one value, or without times, has no
/// figure.
pub(super) fn over_time(report: &Report) -> Vec<Figure> {
    let mut metrics: Vec<&str> = Vec::new();
    for result in report.results.iter().filter(|result| is_rate(&result.metric)) {
        if !metrics.contains(&result.metric.as_str()) {
            metrics.push(&result.metric);
        }
    }
    let last = |m: &&str| times(report, m).fold(None, |last: Option<f64>, t| Some(last.map_or(t, |last| last.max(t))));
    let figure = |(n, metric): (usize, &str)| Some(time_line(report, metric, last(&metric)?, n));
    metrics.into_iter().filter(|metric| times(report, metric).count() > 1).enumerate().filter_map(figure).collect()
}

/// When the searches for a metric ended, and when the null device was measured for it.
fn times<'a>(report: &'a Report, metric: &'a str) -> impl Iterator<Item = f64> + 'a {
    let results = || report.results.iter().filter(move |c| c.metric == metric);
    let ended = results().flat_map(|c| &c.repetitions).filter_map(|r| r.after_s);
    let nulls = results().flat_map(|c| &c.null).filter(move |null| null.of(metric).is_some()).map(|null| null.after_s);
    ended.chain(nulls)
}

fn time_line(report: &Report, metric: &str, last: f64, n: usize) -> Figure {
    let (title, unit) = title_and_unit(metric);
    let results: Vec<&PointResult> = report.results.iter().filter(|c| c.metric == metric).collect();
    let (scale, unit_of_time) = if last > 600.0 { (60.0, "minutes") } else { (1.0, "seconds") };
    let point = |r: &super::result::Repetition| {
        let at = Point::at(r.after_s? / scale, r.value as f64);
        r.bound.has_rate().then_some(Point { at_least: r.bound.at_least(), ..at })
    };
    let of = |c: &PointResult| c.repetitions.iter().filter_map(point).collect::<Vec<Point>>();
    // Many points need one name each, which the table has; the figure then names the devices only.
    let by_device = results.len() > 6;
    let mut series: Vec<Series> = Vec::new();
    for result in &results {
        let name = if by_device { result.dut_name.clone() } else { point_name(result, &results) };
        match series.iter_mut().find(|s| s.name == name) {
            Some(same) => same.points.extend(of(result)),
            None => series.push(Series {
                name,
                class: format!("s{}", series.len() % 6),
                shape: Some(SHAPES[series.len() % SHAPES.len()]),
                joined: false,
                points: of(result),
            }),
        }
    }
    let mut nulls: Vec<Point> = results
        .iter()
        .flat_map(|c| &c.null)
        .filter_map(|null| Some(Point::at(null.after_s / scale, null.of(metric)?.0 as f64)))
        .collect();
    nulls.sort_by(|a, b| a.x.total_cmp(&b.x));
    let measured = !nulls.is_empty();
    series.push(Series {
        name: if measured { "null device".to_owned() } else { String::new() },
        class: "path".to_owned(),
        shape: Some(Shape::Cross),
        joined: true,
        points: nulls,
    });
    let highest = series.iter().flat_map(|s| &s.points).map(|p| p.y).fold(0.0, f64::max);
    let title = format!("{title} over the time of the run");
    let spoken = |p: &Point| format!("{} at {:.0} {unit_of_time}", number::si(p.y, 3), p.x);
    let description = series.iter().filter(|s| !s.points.is_empty()).map(|s| {
        let points: Vec<String> = s.points.iter().map(spoken).collect();
        format!("{}: {}", s.name, points.join(", "))
    });
    let mut caption = format!("{title}. Marks: the repetitions, each at the end of its search; hollow: lower bound.");
    if measured {
        caption.push_str(
            " Crosses: the null device before and after each point. The device under test has no part in its rate: if that \
             changes at one point, the host has changed.",
        );
    }
    let plot = Plot {
        id: format!("time{n}"),
        description: description.collect::<Vec<_>>().join("; "),
        title,
        x: Axis::linear(&format!("{unit_of_time} since the start of the run"), last / scale),
        y: Axis::linear(unit, highest * 1.05),
        band: Vec::new(),
        band_name: "",
        series,
        labels: Labels::None,
        size: (WIDE, 260.0),
    };
    Figure { caption, svg: plot.render(), wide: true }
}

/// Names what differs between a result and the others of its metric.
fn point_name(result: &PointResult, all: &[&PointResult]) -> String {
    let mut name = result.dut_name.clone();
    if all.iter().any(|c| c.cores != result.cores) {
        name.extend([", ", &result.cores_in_words()]);
    }
    if all.iter().any(|c| c.connections != result.connections) && result.connections > 0 {
        name.extend([", ", &number::si(result.connections as f64, 3), " connections"]);
    }
    name + &axis::more_in_words(&result.axes)
}

/// Search and loss curve of a result, as far as it has trials.
pub(super) fn details(result: &PointResult, n: usize) -> Vec<Figure> {
    [trace(result, n), loss(result, n)].into_iter().flatten().collect()
}

fn trace(result: &PointResult, n: usize) -> Option<Figure> {
    let shown = result.typical()?;
    if shown.trace.is_empty() {
        return None;
    }
    let steps = || shown.trace.iter().enumerate().map(|(i, s)| ((i + 1) as f64, s.rate.0 as f64, s.verdict));
    let highest = steps().map(|(_, rate, _)| rate).fold(0.0, f64::max);
    let of = |wanted: Option<StepVerdict>| -> Vec<Point> {
        let chosen = steps().filter(|s| wanted.is_none_or(|w| s.2 == w));
        chosen.map(|(x, y, _)| Point::at(x, y)).collect()
    };
    let series = |name: &str, class: &str, shape, points: Vec<Point>| Series {
        name: if points.is_empty() { String::new() } else { name.to_owned() },
        class: class.to_owned(),
        shape,
        joined: shape.is_none(),
        points,
    };
    let unit = metric::by_key(&result.metric).map_or("", |m| m.unit.symbol());
    let title = format!("Search for the {}", facts::place(result));
    let rate = remarks::value(result, Some(shown.value as f64));
    let plot = Plot {
        id: format!("trace{n}"),
        title: title.clone(),
        description: format!("{} steps, result {rate}", shown.trace.len()),
        x: Axis::steps("step of the search", shown.trace.len()),
        y: Axis::linear(unit, highest * 1.02),
        band: interval(&shown.trace, highest),
        band_name: "open interval",
        series: vec![
            series("", "path", None, of(None)),
            series("passed", "pass", Some(Shape::Circle), of(Some(StepVerdict::Pass))),
            series("failed", "fail", Some(Shape::Cross), of(Some(StepVerdict::Fail))),
            series("invalid: tester", "bound", Some(Shape::Triangle), of(Some(StepVerdict::TesterBound))),
            series("invalid: host", "host", Some(Shape::Triangle), of(Some(StepVerdict::HostBound))),
        ],
        labels: Labels::None,
        size: (NARROW, 280.0),
    };
    let one_sided = if shown.one_sided { "; one-sided" } else { "" };
    let caption = format!(
        "Search, repetition {} of {} (nearest to the median): result {rate}{one_sided}.",
        shown.repetition,
        result.repetitions.len()
    );
    Some(Figure { caption, svg: plot.render(), wide: false })
}

/// The open interval before each step: from the highest rate that passed to the lowest that did not.
fn interval(trace: &[method::SearchStep], highest: f64) -> Vec<(f64, f64, f64)> {
    let (mut low, mut high) = (0.0f64, highest * 1.02);
    let mut band = Vec::new();
    for (i, step) in trace.iter().enumerate() {
        band.push((i as f64 + 0.5, low, high));
        match step.verdict {
            StepVerdict::Pass => low = low.max(step.rate.0 as f64),
            StepVerdict::Fail | StepVerdict::TesterBound | StepVerdict::HostBound => {
                high = high.min(step.rate.0 as f64);
            }
        }
    }
    band
}

fn loss(result: &PointResult, n: usize) -> Option<Figure> {
    let percent = |p: &super::result::LossPoint| p.lost as f64 / p.sent as f64 * 100.0;
    let smallest = result.loss.iter().map(percent).filter(|&l| l > 0.0).fold(100.0, f64::min);
    let highest = result.loss.iter().map(|p| p.offered).fold(0.0, f64::max);
    if result.loss.is_empty() {
        return None;
    }
    let series = |name: &str, class: &str, shape: Shape, worth: Worth| {
        let own = result.loss.iter().filter(|p| p.verdict == worth);
        let points: Vec<Point> = own.map(|p| Point::at(p.offered, percent(p))).collect();
        let name = if points.is_empty() { String::new() } else { name.to_owned() };
        Series { name, class: class.to_owned(), shape: Some(shape), joined: false, points }
    };
    let unit = match metric::by_key(&result.metric).map(|m| m.unit) {
        Some(Unit::ConnectionsPerSecond | Unit::Connections) => "offered rate, connections/s".to_owned(),
        Some(Unit::QueriesPerSecond) => "offered rate, queries/s".to_owned(),
        _ => format!("offered rate, frames/s {}", of_rate(result.direction_ratio)),
    };
    let plot = Plot {
        id: format!("loss{n}"),
        title: format!("Loss curve of the {}", facts::place(result)),
        description: format!("{} trials, smallest loss above zero {smallest:.6} per cent", result.loss.len()),
        x: Axis::linear(&unit, highest),
        y: Axis::loss("frames lost", smallest),
        band: Vec::new(),
        band_name: "",
        series: vec![
            series("passed", "pass", Shape::Circle, Worth::Pass),
            series("failed", "fail", Shape::Cross, Worth::Fail),
            series("invalid", "bound", Shape::Triangle, Worth::Invalid),
        ],
        labels: Labels::None,
        size: (NARROW, 280.0),
    };
    let mut caption = format!("Loss of {} in all repetitions.", number::plural(result.loss.len() as u64, "trial"));
    if result.loss.iter().any(|p| p.verdict == Worth::Invalid) {
        caption.push_str(" Invalid trials say nothing about the device: tester or host disturbed them.");
    }
    if result.closed_loop > 0 {
        caption.push_str(" Trials that failed without loss: in a closed loop, the sender was late.");
    }
    Some(Figure { caption, svg: plot.render(), wide: false })
}
