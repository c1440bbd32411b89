//! Results over an axis: cores with the line of ideal scaling, connections, and further axes; the published values beside them.

use super::{MetricScale, NARROW, dots, is_rate, metrics, plotted, published, spoken};
use crate::report::model::Along;
use crate::report::published::PublishedValue;
use crate::report::result::PointResult;
use crate::report::series::Axis;
use crate::report::{Report, number, value};
use document::svg::{Labels, Plot, Point, Series, highest};
use document::{Figure, scale};
use scenario::axis::{AXES, more_in_words};
use std::collections::BTreeSet;

pub(super) fn over_cores(report: &Report) -> Vec<Figure> {
    over(report, Axis::Cores, is_rate)
}

pub(super) fn over_connections(report: &Report) -> Vec<Figure> {
    over(report, Axis::Connections, is_rate)
}

pub(super) fn over_axes(report: &Report) -> Vec<Figure> {
    AXES.iter().flat_map(|axis| over(report, Axis::Swept(axis), is_rate)).collect()
}

pub(super) fn of_others(report: &Report) -> Vec<Figure> {
    all().flat_map(|axis| over(report, axis, |result| !is_rate(result))).collect()
}

fn all() -> impl Iterator<Item = Axis> {
    [Axis::Cores, Axis::Connections].into_iter().chain(AXES.iter().map(Axis::Swept))
}

fn over(report: &Report, axis: Axis, wanted: fn(&PointResult) -> bool) -> Vec<Figure> {
    let is_drawn = |(_, (_, results)): &(usize, (&str, Vec<&PointResult>))| wanted(results[0]) && varies(axis, results);
    let of_metrics = metrics(report).into_iter().enumerate().filter(is_drawn);
    of_metrics.flat_map(|(n, (metric, results))| lines(report, metric, &results, axis, n)).collect()
}

/// Whether results over an axis have a figure.
pub(super) fn has_line(results: &[&PointResult]) -> bool {
    all().any(|axis| varies(axis, results))
}

fn varies(axis: Axis, results: &[&PointResult]) -> bool {
    let has_numbers = if let Axis::Swept(axis) = axis { axis.is_number() } else { true };
    has_numbers && axis.positions(results) > 1
}

fn position(axis: Axis, result: &PointResult) -> u64 {
    axis.position(result).unwrap_or(0)
}

/// Where a published value stands; published tables have no further axes.
fn place_of(published: &PublishedValue, axis: Axis) -> Option<u64> {
    match axis {
        Axis::Connections => published.under.connections,
        Axis::Cores => published.under.cores,
        Axis::Swept(_) | Axis::Device => None,
    }
}

/// Returns the name of a line: the cores, connections and axes that its points have in common.
fn name(axis: Axis, of: &PointResult) -> String {
    let cores = (!matches!(axis, Axis::Cores)).then(|| of.cores_in_words());
    let connections = match (axis, of.connections) {
        (Axis::Connections, _) | (Axis::Swept(_), 0) => None,
        (_, 0) => Some("stateless".to_owned()),
        (_, n) => Some(format!("{} connections", number::si(n as f64, 3))),
    };
    let own: Vec<String> = [cores, connections].into_iter().flatten().collect();
    own.join(", ") + &more_in_words(&axis.others(of))
}

/// Word for the id of a figure and for its title; the x axis over these values.
fn scale_of(axis: Axis, values: &BTreeSet<u64>) -> (&'static str, &'static str, scale::Axis) {
    let values: Vec<f64> = values.iter().map(|&v| v as f64).collect();
    let (first, last) = (values.first().copied().unwrap_or(1.0), values.last().copied().unwrap_or(1.0));
    let log = scale::Axis::log(axis.heading(), first, last);
    match axis {
        Axis::Cores => ("cores", "cores", scale::Axis::at_values(axis.heading(), &values)),
        Axis::Swept(swept) => (swept.name(), swept.heading, log),
        Axis::Connections | Axis::Device => (axis.heading(), axis.heading(), log),
    }
}

/// The figure of a metric and, beside it, that of the nearest published values, which have other conditions and axes.
fn lines(report: &Report, metric: &str, results: &[&PointResult], axis: Axis, n: usize) -> Vec<Figure> {
    let shown = MetricScale::of(metric, results);
    let (placed, stateless): (Vec<&PointResult>, Vec<&PointResult>) =
        results.iter().partition(|c| position(axis, c) > 0);
    let lines = axis.series(&placed);
    let mut series = measured(&lines, axis, &shown);
    if matches!(axis, Axis::Cores) && placed.first().is_some_and(|result| is_rate(result)) {
        series.extend(ideals(&lines));
    }
    series.extend(fitted(report, &lines, axis, &shown));
    let published = published::series(report, metric, &shown, |published| place_of(published, axis));
    let values = placed.iter().map(|c| position(axis, c)).collect();
    let (word, of_axis, x) = scale_of(axis, &values);
    if matches!(axis, Axis::Connections) {
        // A stateless device has one rate, drawn as a level line.
        series.extend(stateless.iter().filter_map(|c| level(c, x.range, &shown)));
    }
    let highest = highest(&series);
    let title = format!("{} against the number of {of_axis}", shown.title);
    let plot = Plot {
        id: format!("{word}-{n}"),
        description: placed.iter().map(|c| spoken(c)).collect::<Vec<_>>().join("; "),
        title: title.clone(),
        x,
        // Room for the label and the arrow of the highest mark, below the legend.
        y: scale::Axis::linear(shown.axis(), shown.end_of_axis(highest * 1.15)),
        series,
        labels: match (lines.len(), axis) {
            (1, Axis::Cores) => Labels::Below,
            (1, _) => Labels::Above,
            _ => Labels::None,
        },
        size: (NARROW, 310.0),
        ..Plot::default()
    };
    [plotted(format!("{title}."), plot)].into_iter().chain(panel(published, axis, &shown, n)).collect()
}

/// The published values alone; nothing without them.
fn panel(published: Vec<Series>, axis: Axis, shown: &MetricScale, n: usize) -> Option<Figure> {
    let points = || published.iter().flat_map(|series| &series.points);
    let (word, of_axis, x) = scale_of(axis, &points().map(|point| point.x as u64).collect());
    let title = format!("{} against the number of {of_axis}, published", shown.title);
    let said = points().filter_map(|point| point.tooltip.as_deref()).collect::<Vec<_>>().join("; ");
    let plot = Plot {
        id: format!("{word}-{n}-published"),
        description: said.replace('\n', ", "),
        title: title.clone(),
        x,
        y: scale::Axis::linear(shown.axis(), shown.end_of_axis(highest(&published) * 1.15)),
        size: (NARROW, 310.0),
        labels: if points().count() == 1 { Labels::Above } else { Labels::None },
        series: published,
        ..Plot::default()
    };
    let caption = format!("{title}: the nearest values. Their conditions differ, see below.");
    (!plot.series.is_empty()).then(|| plotted(caption, plot))
}

/// One series for each line of results. Of several devices, its name is with that of the device.
fn measured(lines: &[Vec<&PointResult>], axis: Axis, shown: &MetricScale) -> Vec<Series> {
    let several = lines.iter().any(|line| line[0].dut != lines[0][0].dut);
    let of_line = |(i, line): (usize, &Vec<&PointResult>)| {
        let device = if several { format!("{}, ", line[0].dut_name) } else { String::new() };
        let points = line.iter().filter_map(|c| point(c, position(axis, c) as f64, shown.factor));
        Series::marked(i, device + &name(axis, line[0]), points.collect())
    };
    lines.iter().enumerate().map(of_line).collect()
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
fn level(result: &PointResult, range: (f64, f64), shown: &MetricScale) -> Option<Series> {
    let y = result.median()? * shown.factor;
    let points = [range.0, range.1].map(|x| Point::at(x, y)).to_vec();
    let name = format!("{}, {}", result.dut_name, result.cores_in_words());
    Some(Series::line(name, "s5 ideal".to_owned(), points))
}

/// The fitted curves of the lines, as far as a model was fitted.
fn fitted(report: &Report, lines: &[Vec<&PointResult>], axis: Axis, shown: &MetricScale) -> Vec<Series> {
    let along = match axis {
        Axis::Cores => Along::Cores,
        Axis::Connections => Along::Connections,
        Axis::Swept(_) | Axis::Device => return Vec::new(),
    };
    let curve = |(i, line): (usize, &Vec<&PointResult>)| {
        let points = report.fitted_curve(line[0], along)?.into_iter();
        let points = points.map(|(x, y)| Point::at(x, y * shown.factor)).collect();
        Some(Series::line("fitted model".to_owned(), format!("s{} fitted", i % 6), points))
    };
    let mut curves: Vec<Series> = lines.iter().enumerate().filter_map(curve).collect();
    // One name in the legend stands for all of them.
    curves.iter_mut().skip(1).for_each(|series| series.name.clear());
    curves
}

/// The lines of ideal scaling, n × P(1); none if device and tester share cores.
fn ideals(lines: &[Vec<&PointResult>]) -> Vec<Series> {
    let shared = lines.iter().flatten().any(|c| c.shares_core);
    let ideal = |(i, line): (usize, &Vec<&PointResult>)| {
        let one = line.iter().find(|c| c.cores == 1)?.median()?;
        let points = line.iter().map(|c| Point::at(c.cores.into(), one * f64::from(c.cores)));
        let name = if i == 0 { "n × rate on one core" } else { "" };
        Some(Series::line(name.to_owned(), format!("s{} ideal", i % 6), points.collect()))
    };
    lines.iter().enumerate().filter(|_| !shared).filter_map(ideal).collect()
}
