//! The values of two runs side by side, point by point, without a judgement of their differences.

use crate::report::number::{grouped, grouped_f64};
use crate::report::result::PointResult;
use crate::report::{Report, table_value};
use method::metric::{Unit, by_key};
use method::trial::of_rate;
use scenario::axis::more_in_words;

/// One metric at one point, of both runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Title of the metric.
    pub metric: String,
    /// Unit, and for rates their direction.
    pub unit: String,
    /// The point: device, connections, cores and further axes.
    pub point: String,
    /// The value in each run; `None` where the run has no such point.
    pub values: [Option<String>; 2],
}

/// Returns a row for each metric and point of either run: those of the first run in its order, then those that only the
/// second run has. Points are equal if device name, connections, cores and further axes are.
pub fn rows(first: &Report, second: &Report) -> Vec<Row> {
    let of_first = first.results.iter().map(|result| (result, second.results.iter().find(|r| is_same(r, result))));
    let mut rows: Vec<Row> = of_first
        .map(|(result, other)| Row { values: [Some(value(result)), other.map(value)], ..row(result) })
        .collect();
    let is_new = |result: &&PointResult| !first.results.iter().any(|r| is_same(r, result));
    let of_second = second.results.iter().filter(is_new);
    rows.extend(of_second.map(|result| Row { values: [None, Some(value(result))], ..row(result) }));
    rows
}

fn is_same(a: &PointResult, b: &PointResult) -> bool {
    let key = |r: &PointResult| (r.connections, r.cores, r.directions, r.direction_ratio);
    a.metric == b.metric && a.dut_name == b.dut_name && key(a) == key(b) && a.axes == b.axes
}

fn row(result: &PointResult) -> Row {
    let metric = by_key(&result.metric);
    let unit = match metric.map(|metric| metric.unit) {
        Some(Unit::FramesPerSecond) => format!("frames/s {}", of_rate(result.direction_ratio)),
        unit => unit.map_or("", Unit::symbol).to_owned(),
    };
    let connections = match result.connections {
        0 => String::new(),
        n => format!(", {} connections", grouped(n)),
    };
    Row {
        metric: metric.map_or(result.metric.as_str(), |metric| metric.title).to_owned(),
        unit,
        point: format!("{}{connections}, {}{}", result.dut_name, result.cores_in_words(), more_in_words(&result.axes)),
        values: [None, None],
    }
}

/// The median with its bound, the interval or range, and the number of repetitions.
fn value(result: &PointResult) -> String {
    let median = table_value(result);
    let Some((summary, interval)) = result.summary.zip(result.interval).filter(|_| result.repetitions.len() > 1) else {
        return median;
    };
    if result.nothing_passed() {
        return median;
    }
    let what = if result.has_interval() { "interval" } else { "range" };
    let ends = [interval.low, interval.high].map(grouped_f64).join("–");
    format!("{median} ({what} {ends}, {} repetitions)", summary.n)
}
