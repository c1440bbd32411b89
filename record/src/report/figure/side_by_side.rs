//! Devices side by side: a bar for each device, where nothing but the device varies.

use super::{Figure, Shown, WIDE, dots, is_rate, lines, metrics, spoken};
use crate::report::result::PointResult;
use crate::report::scale::Axis;
use crate::report::svg::{self, Bar};
use crate::report::{Report, remarks};
use procedure::metric;

/// One figure for each rate without an axis. Other metrics have a section of their own.
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    let alone =
        |(_, (metric, results)): &(usize, (&str, Vec<&PointResult>))| is_rate(metric) && !lines::has_line(results);
    let of_metrics = metrics(report).into_iter().enumerate().filter(alone);
    of_metrics.map(|(n, (metric, results))| figure(metric, &results, n)).collect()
}

/// Its colour: plain forwarding is grey; hollow if it is a lower bound.
fn class(result: &PointResult, metric: &str) -> String {
    let color = if result.metric == metric { "s0" } else { "s5" };
    if result.at_least() { format!("{color} at-least") } else { color.to_owned() }
}

fn figure(metric: &str, results: &[&PointResult], n: usize) -> Figure {
    let shown = Shown::of(metric, results);
    let known = metric::by_key(metric);
    let highest = results.iter().filter_map(|c| c.summary).map(|s| s.max).fold(0.0, f64::max);
    let bar = |result: &&PointResult| {
        let value = result.median().filter(|_| !result.nothing_passed());
        Bar {
            label: result.dut_name.clone(),
            value,
            whisker: value.and(result.summary).filter(|s| s.n > 1).map(|s| (s.min, s.max)),
            dots: if value.is_some() { dots(result, shown.factor) } else { Vec::new() },
            text: value.map_or_else(|| "none passed".to_owned(), |v| remarks::short(known, result, v)),
            class: class(result, metric),
        }
    };
    let bars: Vec<Bar> = results.iter().map(bar).collect();
    let description = results.iter().map(|c| spoken(c)).collect::<Vec<_>>().join("; ");
    let axis = Axis::linear(shown.unit, highest);
    let svg = svg::bars(&format!("devices-{n}"), &shown.title, &description, &axis, &bars, WIDE);
    Figure { caption: format!("{}.", shown.title), svg, wide: true }
}
