//! Results over an axis: cores with the line of ideal scaling, connections, and further axes; the published values beside them.

use super::{NARROW, Shown, dots, is_rate, metrics, plotted, published, spoken};
use crate::report::model::Along;
use crate::report::published::Published;
use crate::report::result::PointResult;
use crate::report::{Report, number, table, value};
use document::Figure;
use document::scale::Axis;
use document::svg::{Labels, Plot, Point, Series, highest};
use scenario::axis::{self, AXES, AxisValues};
use std::collections::BTreeSet;

#[derive(Clone, Copy)]
enum Against {
    Connections,
    Cores,
    Swept(&'static axis::Axis),
}

/// What the points of one line have in common: device, cores, connections, further axes; without the x axis.
type Line = (usize, u32, u64, AxisValues);

pub(super) fn over_cores(report: &Report) -> Vec<Figure> {
    over(report, Against::Cores, is_rate)
}

pub(super) fn over_connections(report: &Report) -> Vec<Figure> {
    over(report, Against::Connections, is_rate)
}

pub(super) fn over_axes(report: &Report) -> Vec<Figure> {
    AXES.iter().flat_map(|axis| over(report, Against::Swept(axis), is_rate)).collect()
}

pub(super) fn of_others(report: &Report) -> Vec<Figure> {
    all().flat_map(|against| over(report, against, |result| !is_rate(result))).collect()
}

fn all() -> impl Iterator<Item = Against> {
    [Against::Cores, Against::Connections].into_iter().chain(AXES.iter().map(Against::Swept))
}

fn over(report: &Report, against: Against, wanted: fn(&PointResult) -> bool) -> Vec<Figure> {
    let varies = |(_, (_, results)): &(usize, (&str, Vec<&PointResult>))| wanted(results[0]) && against.varies(results);
    let of_metrics = metrics(report).into_iter().enumerate().filter(varies);
    of_metrics.map(|(n, (metric, results))| lines(report, metric, &results, against, n)).collect()
}

/// Whether results over an axis have a figure.
pub(super) fn has_line(results: &[&PointResult]) -> bool {
    all().any(|against| against.varies(results))
}

impl Against {
    fn varies(self, results: &[&PointResult]) -> bool {
        let distinct = |of: fn(&PointResult) -> u64| {
            results.iter().map(|c| of(c)).filter(|&n| n > 0).collect::<BTreeSet<u64>>().len() > 1
        };
        match self {
            Against::Connections => distinct(|c| c.connections),
            Against::Cores => distinct(|c| c.cores.into()),
            Against::Swept(axis) => axis.is_number() && table::varies(axis, results),
        }
    }

    fn value(self, c: &PointResult) -> f64 {
        match self {
            Against::Connections => c.connections as f64,
            Against::Cores => f64::from(c.cores),
            Against::Swept(axis) => c.axes.get(axis.name()).copied().unwrap_or(0) as f64,
        }
    }

    /// Where a published value stands; published tables have no further axes.
    fn published(self) -> fn(&Published) -> Option<u64> {
        match self {
            Against::Connections => |published| published.under.connections,
            Against::Cores => |published| published.under.cores,
            Against::Swept(_) => |_| None,
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
        own + &axis::more_in_words(axes)
    }

    /// Word for the id of a figure and for its title; the x axis over these values.
    fn axis(self, values: &BTreeSet<u64>) -> (&'static str, &'static str, Axis) {
        let values: Vec<f64> = values.iter().map(|&v| v as f64).collect();
        let (first, last) = (values.first().copied().unwrap_or(1.0), values.last().copied().unwrap_or(1.0));
        match self {
            Against::Connections => ("connections", "connections", Axis::log("connections", first, last)),
            Against::Cores => ("cores", "cores", Axis::at_values("cores of the device", &values)),
            Against::Swept(axis) => (axis.name(), axis.heading, Axis::log(axis.heading, first, last)),
        }
    }
}

fn lines(report: &Report, metric: &str, results: &[&PointResult], against: Against, n: usize) -> Figure {
    let shown = Shown::of(metric, results);
    let stateless: Vec<&PointResult> = results.iter().filter(|c| c.connections == 0).copied().collect();
    let on_axis = |c: &&&PointResult| against.value(c) > 0.0;
    let results: Vec<&PointResult> = results.iter().filter(on_axis).copied().collect();
    let mut series = measured(&results, against, &shown);
    let lines = series.len();
    if matches!(against, Against::Cores) && results.first().is_some_and(|result| is_rate(result)) {
        series.extend(ideals(&results, against));
    }
    series.extend(fitted(report, &results, against, &shown));
    let published = published::series(report, metric, &shown, against.published());
    let of_published = published.iter().flat_map(|series| &series.points).map(|point| point.x as u64);
    let values = results.iter().map(|c| against.value(c) as u64).chain(of_published).collect();
    let (word, axis, x) = against.axis(&values);
    if matches!(against, Against::Connections) {
        // A stateless device has one rate, drawn as a level line.
        series.extend(stateless.iter().filter_map(|c| level(c, x.range, &shown)));
    }
    let beside = !published.is_empty();
    series.extend(published);
    let highest = highest(&series);
    let title = format!("{} against the number of {axis}", shown.title);
    let plot = Plot {
        id: format!("{word}-{n}"),
        description: results.iter().map(|c| spoken(c)).collect::<Vec<_>>().join("; "),
        title: title.clone(),
        x,
        // Room for the label and the arrow of the highest mark, below the legend.
        y: Axis::linear(shown.axis(), shown.end_of_axis(highest * 1.15)),
        series,
        labels: match (lines, against) {
            (1, Against::Connections | Against::Swept(_)) => Labels::Above,
            (1, Against::Cores) => Labels::Below,
            _ => Labels::None,
        },
        size: (NARROW, 310.0),
        ..Plot::default()
    };
    let beside =
        if beside { " Plus signs: the nearest published values; their conditions differ, see below." } else { "" };
    plotted(format!("{title}.{beside}"), plot)
}

/// One series for each line of results. Of several devices, its name is with that of the device.
fn measured(results: &[&PointResult], against: Against, shown: &Shown) -> Vec<Series> {
    let several = results.iter().any(|c| c.dut != results[0].dut);
    let device = |of: &PointResult| if several { format!("{}, ", of.dut_name) } else { String::new() };
    let of_line = |(i, key): (usize, &Line)| {
        let own: Vec<&&PointResult> = results.iter().filter(|c| against.line(c) == *key).collect();
        let name = own.first().map_or_else(String::new, |of| device(of) + &against.name(key, of));
        Series::marked(i, name, own.iter().filter_map(|c| point(c, against.value(c), shown.factor)).collect())
    };
    names(results, against).iter().enumerate().map(of_line).collect()
}

fn names(results: &[&PointResult], against: Against) -> Vec<Line> {
    let mut names: Vec<Line> = Vec::new();
    for line in results.iter().map(|c| against.line(c)) {
        if !names.contains(&line) {
            names.push(line);
        }
    }
    names
}

/// The median of a result or, where no rate passed, the upper bound.
fn point(result: &PointResult, x: f64, factor: f64) -> Option<Point> {
    let median = value::quantity(result)?;
    let several = result.summary.filter(|s| s.n > 1 && !result.nothing_passed());
    let whisker = several.map(|s| (s.min * factor, s.max * factor));
    let dots = if result.nothing_passed() { Vec::new() } else { dots(result, factor) };
    Some(Point { whisker, bound: median.bound, dots, ..Point::at(x, median.value * factor) })
}

/// The median of a result across the whole figure.
fn level(result: &PointResult, range: (f64, f64), shown: &Shown) -> Option<Series> {
    let y = result.median()? * shown.factor;
    let points = [range.0, range.1].map(|x| Point::at(x, y)).to_vec();
    let name = format!("{}, {}", result.dut_name, result.cores_in_words());
    Some(Series::line(name, "s5 ideal".to_owned(), points))
}

/// The fitted curves of the lines, as far as a model was fitted.
fn fitted(report: &Report, results: &[&PointResult], against: Against, shown: &Shown) -> Vec<Series> {
    let along = match against {
        Against::Cores => Along::Cores,
        Against::Connections => Along::Connections,
        Against::Swept(_) => return Vec::new(),
    };
    let curve = |(i, key): (usize, &Line)| {
        let of = results.iter().find(|c| against.line(c) == *key)?;
        let points = report.fitted_curve(of, along)?.into_iter().map(|(x, y)| Point::at(x, y * shown.factor));
        Some(Series::line("fitted model".to_owned(), format!("s{} fitted", i % 6), points.collect()))
    };
    let mut curves: Vec<Series> = names(results, against).iter().enumerate().filter_map(curve).collect();
    // One name in the legend stands for all of them.
    curves.iter_mut().skip(1).for_each(|series| series.name.clear());
    curves
}

/// The lines of ideal scaling, n × P(1); none if device and tester share cores.
fn ideals(results: &[&PointResult], against: Against) -> Vec<Series> {
    let shared = results.iter().any(|c| c.shares_core);
    let lines = names(results, against).into_iter().enumerate().filter(|_| !shared);
    lines.filter_map(|(i, key)| ideal(results, |c| against.line(c) == key, i)).collect()
}

fn ideal(results: &[&PointResult], is_own: impl Fn(&PointResult) -> bool, i: usize) -> Option<Series> {
    let own: Vec<&&PointResult> = results.iter().filter(|c| is_own(c)).collect();
    let one = own.iter().find(|c| c.cores == 1)?.median()?;
    let at = |c: &&&PointResult| Point::at(c.cores.into(), one * f64::from(c.cores));
    let name = if i == 0 { "n × rate on one core" } else { "" };
    Some(Series::line(name.to_owned(), format!("s{} ideal", i % 6), own.iter().map(at).collect()))
}
