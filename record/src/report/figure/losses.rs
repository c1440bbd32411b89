//! Loss curves: the loss of every trial of a result over its offered rate.

use super::{Figure, NARROW, has_several_rates};
use crate::report::result::{LossPoint, PointResult, Worth};
use crate::report::scale::Axis;
use crate::report::svg::{Labels, Plot, Point, Series, Shape};
use crate::report::{Report, facts, number};
use method::trial::of_rate;
use procedure::metric::{self, Unit};

/// One figure for each result with trials.
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    report.results.iter().enumerate().filter(|(_, r)| has_several_rates(r)).filter_map(|(n, r)| loss(r, n)).collect()
}

fn loss(result: &PointResult, n: usize) -> Option<Figure> {
    let percent = |p: &LossPoint| p.lost as f64 / p.sent as f64 * 100.0;
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
        id: format!("loss-{n}"),
        title: format!("Loss curve of the {}", facts::place(result)),
        description: format!("{} trials, smallest loss above zero {smallest:.6} per cent", result.loss.len()),
        x: Axis::linear(&unit, highest),
        y: Axis::loss("frames lost, %", smallest),
        band: Vec::new(),
        band_name: "",
        series: vec![
            series("passed", "pass", Shape::Circle, Worth::Pass),
            series("failed", "fail", Shape::Cross, Worth::Fail),
            series("invalid", "bound", Shape::Triangle, Worth::Invalid),
        ],
        labels: Labels::None,
        size: (NARROW, 260.0),
    };
    let trials = number::plural(result.loss.len() as u64, "trial");
    let mut caption = format!("{}: loss of {trials}.", number::capitalised(&facts::place(result)));
    if result.closed_loop > 0 {
        caption.push_str(" Trials that failed without loss: in a closed loop, the sender was late.");
    }
    Some(Figure { caption, svg: plot.render(), wide: false })
}
