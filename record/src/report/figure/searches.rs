//! Searches: the rate of each step with its verdict, and the interval that it left open.

use super::{NARROW, has_several_rates, plotted};
use crate::report::result::PointResult;
use crate::report::{Report, facts, number, value};
use document::Figure;
use document::scale::Axis;
use document::svg::{Plot, Point, Series, Shape};
use method::{SearchStep, StepVerdict};

pub(super) fn figures(report: &Report) -> Vec<Figure> {
    report.results.iter().enumerate().filter(|(_, r)| has_several_rates(r)).filter_map(|(n, r)| trace(r, n)).collect()
}

fn trace(result: &PointResult, n: usize) -> Option<Figure> {
    let shown = result.typical()?;
    if shown.trace.is_empty() {
        return None;
    }
    let unit = result.known.map_or("", |m| m.unit.symbol());
    let steps = || shown.trace.iter().enumerate();
    let highest = shown.trace.iter().map(|step| step.rate.0 as f64).fold(0.0, f64::max);
    let of = |wanted: Option<StepVerdict>| -> Vec<Point> {
        let chosen = steps().filter(|(_, step)| wanted.is_none_or(|verdict| step.verdict == verdict));
        chosen.map(|(i, step)| point(i + 1, step, unit)).collect()
    };
    let series = |name: &str, class: &str, shape, points: Vec<Point>| Series {
        name: if points.is_empty() { String::new() } else { name.to_owned() },
        class: class.to_owned(),
        shape,
        joined: shape.is_none(),
        points,
    };
    let title = format!("Search for the {}", facts::place(result));
    let rate = value::cell(result, Some(shown.value as f64));
    let plot = Plot {
        id: format!("search-{n}"),
        title: title.clone(),
        description: format!("{} steps, result {rate}", shown.trace.len()),
        x: Axis::steps("step of the search", shown.trace.len()),
        y: Axis::linear(("rate", unit), highest * 1.02),
        band: interval(&shown.trace, highest),
        band_name: "open interval",
        series: vec![
            series("", "path", None, of(None)),
            series(verdict(StepVerdict::Pass), "pass", Some(Shape::Circle), of(Some(StepVerdict::Pass))),
            series(verdict(StepVerdict::Fail), "fail", Some(Shape::Cross), of(Some(StepVerdict::Fail))),
            series(
                verdict(StepVerdict::TesterBound),
                "bound",
                Some(Shape::Triangle),
                of(Some(StepVerdict::TesterBound)),
            ),
            series(verdict(StepVerdict::HostBound), "host", Some(Shape::Triangle), of(Some(StepVerdict::HostBound))),
        ],
        size: (NARROW, 260.0),
        ..Plot::default()
    };
    let one_sided = if shown.one_sided { "; one-sided" } else { "" };
    let caption = format!(
        "{}, repetition {} of {}: result {rate}{one_sided}.",
        number::capitalised(&facts::place(result)),
        shown.repetition,
        result.repetitions.len()
    );
    Some(plotted(caption, plot))
}

/// The open interval before each step: from the highest rate that passed to the lowest that did not.
fn interval(trace: &[SearchStep], highest: f64) -> Vec<(f64, f64, f64)> {
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

/// A step, which says its rate and why it has its verdict.
fn point(number: usize, step: &SearchStep, unit: &str) -> Point {
    let rate = number::grouped(step.rate.0);
    let says = format!("step {number}: {rate} {unit}\n{}", verdict(step.verdict));
    let says = if step.reason.is_empty() { says } else { format!("{says}: {}", step.reason) };
    Point { says: Some(says), ..Point::at(number as f64, step.rate.0 as f64) }
}

fn verdict(verdict: StepVerdict) -> &'static str {
    match verdict {
        StepVerdict::Pass => "passed",
        StepVerdict::Fail => "failed",
        StepVerdict::TesterBound => "invalid: tester",
        StepVerdict::HostBound => "invalid: host",
    }
}
