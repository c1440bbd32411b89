//! Devices side by side: a bar for each device, where nothing but the device varies.

use super::{MetricScale, WIDE, dots, is_rate, lines, metrics, spoken};
use crate::report::result::PointResult;
use crate::report::{Report, value};
use document::scale::Axis;
use document::svg::{Bar, Bars};
use document::{Drawing, Figure};

/// One figure for each rate without an axis. Other metrics have a section of their own.
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    let alone =
        |(_, (_, results)): &(usize, (&str, Vec<&PointResult>))| is_rate(results[0]) && !lines::has_line(results);
    let of_metrics = metrics(report).into_iter().enumerate().filter(alone);
    of_metrics.map(|(n, (metric, results))| figure(metric, &results, n)).collect()
}

/// Its colour: plain forwarding is grey; hollow if it is a bound.
fn class(result: &PointResult, metric: &str) -> String {
    let color = if result.metric == metric { "s0" } else { "s5" };
    if value::quantity(result).is_some_and(|median| median.bound.is_one_sided()) {
        format!("{color} at-least")
    } else {
        color.to_owned()
    }
}

fn figure(metric: &str, results: &[&PointResult], n: usize) -> Figure {
    let shown = MetricScale::of(metric, results);
    let highest = results.iter().filter_map(|c| c.summary).map(|s| s.max).fold(0.0, f64::max);
    let bar = |result: &&PointResult| {
        let value = result.median().filter(|_| !result.nothing_passed());
        Bar {
            label: result.dut_name.clone(),
            value,
            whisker: value.and(result.summary).filter(|s| s.n > 1).map(|s| (s.min, s.max)),
            dots: if value.is_some() { dots(result, shown.factor) } else { Vec::new() },
            text: value
                .map_or_else(|| value::without_rate(result).to_string(), |v| value::short(result, v, 3).to_string()),
            class: class(result, metric),
        }
    };
    let bars = Bars {
        id: format!("devices-{n}"),
        description: results.iter().map(|c| spoken(c)).collect::<Vec<_>>().join("; "),
        axis: Axis::linear(shown.unit, highest),
        bars: results.iter().map(bar).collect(),
        title: shown.title.clone(),
        width: WIDE,
    };
    Figure { caption: format!("{}.", shown.title), drawing: Drawing::Bars(bars), wide: true }
}
