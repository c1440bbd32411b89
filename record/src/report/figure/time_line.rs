//! The time line of a run: when each repetition ended and the null device was measured, with their rates.

use super::{MetricScale, WIDE, bound, is_rate, plotted};
use crate::report::result::{PointResult, Repetition};
use crate::report::{Report, number};
use document::scale::Axis;
use document::svg::{Plot, Point, Series, Shape, highest, in_words};
use document::{Figure, distinct, grouped_by};
use scenario::axis;

/// Each metric over the time of the run, with the rate of the null device. A metric with one value, or without times, has no
/// figure.
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    let rates = report.results.iter().filter(|result| is_rate(result));
    let metrics = distinct(rates.map(|result| result.metric.as_str()));
    let last = |m: &&str| times(report, m).reduce(f64::max);
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
    let results: Vec<&PointResult> = report.results.iter().filter(|c| c.metric == metric).collect();
    let shown = MetricScale::of(metric, &results);
    let (scale, unit_of_time) = if last > 600.0 { (60.0, "minutes") } else { (1.0, "seconds") };
    let point = |r: &Repetition| {
        let at = Point::at(r.after_s? / scale, r.value as f64);
        r.bound.has_rate().then_some(Point { bound: bound(r), ..at })
    };
    let of = |c: &PointResult| c.repetitions.iter().filter_map(point).collect::<Vec<Point>>();
    // Many points need one name each, which the table has; the figure then names the devices only.
    let by_device = results.len() > 6;
    let name = |c: &&&PointResult| if by_device { c.dut_name.clone() } else { point_name(c, &results) };
    let named = grouped_by(&results, name).into_iter().enumerate();
    let mut series: Vec<Series> = named
        .map(|(i, (name, own))| Series::marked(i, name, own.into_iter().flat_map(|c| of(c)).collect()))
        .map(|series| Series { joined: false, ..series })
        .collect();
    let mut nulls: Vec<Point> = results
        .iter()
        .flat_map(|c| &c.null)
        .filter_map(|null| Some(Point::at(null.after_s / scale, null.of(metric)?.0 as f64)))
        .collect();
    nulls.sort_by(|a, b| a.x.total_cmp(&b.x));
    let measured = !nulls.is_empty();
    series.push(Series { joined: true, ..Series::marks("null device", "path", Shape::Cross, nulls) });
    let title = format!("{} over the time of the run", shown.title);
    let spoken = |p: &Point| format!("{} at {:.0} {unit_of_time}", number::si(p.y, 3), p.x);
    let mut caption = format!("{title}.");
    if measured {
        caption.push_str(
            " Crosses: the null device before and after each point. The device under test has no part in its rate: if that \
             changes at one point, the host has changed.",
        );
    }
    let plot = Plot {
        id: format!("time{n}"),
        description: in_words(&series, spoken),
        title,
        x: Axis::until(("time since the start of the run", unit_of_time), last / scale),
        y: Axis::linear(shown.axis(), highest(&series) * 1.05),
        series,
        size: (WIDE, 260.0),
        ..Plot::default()
    };
    plotted(caption, plot)
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
