//! The figures of a report. A kind is one file in `figure/` and one entry in [`COMPARISONS`] or [`DETAILS`]; figures that belong
//! to one procedure come from `section`. `svg` draws them.

mod lines;
mod losses;
mod published;
mod searches;
mod side_by_side;
mod time_line;

use super::result::{PointResult, Repetition, known};
use super::{Report, facts, value};
use document::svg::{Dot, Plot};
use document::{Bound, Drawing, Figure};
use procedure::Metric;
use procedure::metric::Unit;

pub(super) struct FigureKind {
    /// Heading above the figures of this kind.
    pub heading: &'static str,
    /// How to read all of them.
    pub about: &'static str,
    /// Draws them; none if the run has nothing to show.
    pub draw: fn(&Report) -> Vec<Figure>,
}

const MARKS: &str =
    "Marks: medians; bars: minimum to maximum; dots: the repetitions; hollow mark with an arrow: bound.";

/// The kinds that compare results, at the top of the page.
pub(super) const COMPARISONS: &[FigureKind] = &[
    FigureKind {
        heading: "Scale-up over cores",
        about: "Marks: medians; bars: minimum to maximum; dots: the repetitions; hollow mark with an arrow: bound. \
                Dashed: the rate on one core times the number of cores.",
        draw: lines::over_cores,
    },
    FigureKind { heading: "Rate against connections", about: MARKS, draw: lines::over_connections },
    FigureKind { heading: "Further axes", about: MARKS, draw: lines::over_axes },
    FigureKind {
        heading: "Rates of the devices",
        about: "Bars: medians; whiskers: minimum to maximum; dots: the repetitions; hollow bar: bound.",
        draw: side_by_side::figures,
    },
];

/// The kinds that show how the results came about.
pub(super) const DETAILS: &[FigureKind] = &[
    FigureKind {
        heading: "Rates over the time of the run",
        about: "Marks: the repetitions, each at the end of its search; hollow: bound.",
        draw: time_line::figures,
    },
    FigureKind {
        heading: "Other metrics over cores, connections and further axes",
        about: "Marks: medians; bars: minimum to maximum; dots: the repetitions.",
        draw: lines::of_others,
    },
    FigureKind {
        heading: "Loss curves",
        about: "Every trial of all repetitions. Invalid trials say nothing about the device: tester or host disturbed them.",
        draw: |report| of_searches(report, losses::loss),
    },
    FigureKind {
        heading: "Searches",
        about: "The repetition whose result is nearest to the median.",
        draw: |report| of_searches(report, searches::trace),
    },
];

/// Width of a figure across the page; `NARROW` is for two figures side by side.
pub(super) const WIDE: f64 = 1000.0;
/// A small screen shows it with readable letters, and half a page enlarges it.
pub(super) const NARROW: f64 = 440.0;

/// The metrics with results, in their order, each with its results.
fn metrics(report: &Report) -> Vec<(&str, Vec<&PointResult>)> {
    let results = report.results.iter().filter(|c| c.summary.is_some());
    let mut metrics = document::grouped_by(results, |c| c.metric.as_str());
    // The figure of a metric includes its baseline, such as plain forwarding.
    let whole_of = |results: &[&PointResult]| results[0].known?.baseline_of;
    let baselines: Vec<(&str, &str)> =
        metrics.iter().filter_map(|(key, results)| Some((*key, whole_of(results)?))).collect();
    for (baseline, whole) in baselines {
        let Some(of) = metrics.iter().position(|(key, _)| *key == whole) else { continue };
        let is_either = |c: &&PointResult| [baseline, whole].contains(&c.metric.as_str()) && c.summary.is_some();
        metrics[of].1 = report.results.iter().filter(is_either).collect();
        metrics.retain(|(key, _)| *key != baseline);
    }
    metrics
}

/// Whether its values are rates or connections, which searches find.
fn is_rate(result: &PointResult) -> bool {
    let unit = result.known.map(|known| known.unit);
    matches!(
        unit,
        None | Some(Unit::FramesPerSecond | Unit::ConnectionsPerSecond | Unit::QueriesPerSecond | Unit::Connections)
    )
}

/// Returns a figure for each result whose trials had several rates.
fn of_searches(report: &Report, draw: fn(&PointResult, usize) -> Option<Figure>) -> Vec<Figure> {
    let results = report.results.iter().enumerate().filter(|(_, result)| has_several_rates(result));
    results.filter_map(|(n, result)| draw(result, n)).collect()
}

/// Whether the trials of a result had several rates, so that a curve over them says something.
fn has_several_rates(result: &PointResult) -> bool {
    let mut rates = result.repetitions.iter().flat_map(|r| &r.trace).map(|step| step.rate);
    let first = rates.next();
    is_rate(result) || rates.any(|rate| Some(rate) != first)
}

/// The unit in which values up to this have few digits, and the factor to it.
pub(crate) fn in_unit(metric: &Metric, largest: f64) -> (&'static str, f64) {
    match metric.unit {
        Unit::Nanoseconds if largest >= 1e9 => ("s", 1e-9),
        Unit::Nanoseconds if largest >= 1e6 => ("ms", 1e-6),
        Unit::Nanoseconds => ("µs", 1e-3),
        Unit::PartsPerMillion => ("%", 1e-4),
        unit => (unit.symbol(), 1.0),
    }
}

struct MetricScale {
    title: String,
    unit: &'static str,
    /// Value in this unit divided by the value in the unit of the metric.
    factor: f64,
}

impl MetricScale {
    /// Chosen so that the largest of these results has few digits.
    fn of(metric: &str, results: &[&PointResult]) -> MetricScale {
        let Some(known) = known(metric, results.iter().copied()) else {
            return MetricScale { title: metric.to_owned(), unit: "", factor: 1.0 };
        };
        let largest = results.iter().filter_map(|c| c.summary).map(|s| s.max).fold(0.0, f64::max);
        let (unit, factor) = in_unit(known, largest);
        MetricScale { title: known.title.to_owned(), unit, factor }
    }

    /// The end of its axis: percentages of a whole end at 100.
    fn end_of_axis(&self, wanted: f64) -> f64 {
        if self.unit == "%" && (100.0..=120.0).contains(&wanted) { 100.0 } else { wanted }
    }

    fn axis(&self) -> (&str, &str) {
        (&self.title, self.unit)
    }
}

/// The value in words, for screen readers.
fn spoken(result: &PointResult) -> String {
    format!("{}: {}", facts::place(result), value::median(result))
}

/// The repetitions that have a rate; none of a single one, which is the median.
fn dots(result: &PointResult, factor: f64) -> Vec<Dot> {
    let with_rate: Vec<_> = result.repetitions.iter().filter(|r| r.bound.has_rate()).collect();
    let dot = |r: &&Repetition| Dot { value: r.value as f64 * factor, bound: bound(r) };
    if with_rate.len() > 1 { with_rate.iter().map(dot).collect() } else { Vec::new() }
}

fn bound(repetition: &Repetition) -> Bound {
    if repetition.bound.at_least() { Bound::AtLeast } else { Bound::Exact }
}

fn plotted(caption: String, plot: Plot) -> Figure {
    let wide = plot.size.0 == WIDE;
    Figure { caption, drawing: Drawing::Plot(plot), wide }
}
