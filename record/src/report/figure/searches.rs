//! Searches: the rate of each step with its verdict, and the interval that it left open.

use super::{NARROW, plotted};
use crate::report::result::PointResult;
use crate::report::{facts, number, value};
use document::Figure;
use document::scale::Axis;
use document::svg::{Plot, Point, Series, Shape};
use method::{SearchStep, StepVerdict};

pub(super) fn trace(result: &PointResult, n: usize) -> Option<Figure> {
    let shown = result.typical()?;
    if shown.trace.is_empty() {
        return None;
    }
    let unit = result.known.map_or("", |m| m.unit.symbol());
    let highest = shown.trace.iter().map(|step| step.rate.0 as f64).fold(0.0, f64::max);
    let points = |is: &dyn Fn(&SearchStep) -> bool| -> Vec<Point> {
        let chosen = shown.trace.iter().enumerate().filter(|(_, step)| is(step));
        chosen.map(|(i, step)| point(i + 1, step, unit)).collect()
    };
    let marks = [
        (StepVerdict::Pass, "pass", Shape::Circle),
        (StepVerdict::Fail, "fail", Shape::Cross),
        (StepVerdict::TesterBound, "bound", Shape::Triangle),
        (StepVerdict::HostBound, "host", Shape::Triangle),
    ];
    let marks =
        marks.map(|(of, class, shape)| Series::marks(verdict(of), class, shape, points(&|step| step.verdict == of)));
    let path = Series::line(String::new(), "path".to_owned(), points(&|_| true));
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
        series: std::iter::once(path).chain(marks).collect(),
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
    let tooltip = format!("step {number}: {rate} {unit}\n{}", verdict(step.verdict));
    let tooltip = if step.reason.is_empty() { tooltip } else { format!("{tooltip}: {}", step.reason) };
    Point { tooltip: Some(tooltip), ..Point::at(number as f64, step.rate.0 as f64) }
}

fn verdict(verdict: StepVerdict) -> &'static str {
    match verdict {
        StepVerdict::Pass => "passed",
        StepVerdict::Fail => "failed",
        StepVerdict::TesterBound => "invalid: tester",
        StepVerdict::HostBound => "invalid: host",
    }
}
