//! Loss curves: the loss of every trial of a result over its offered rate.

use super::{NARROW, plotted};
use crate::report::result::{LossPoint, PointResult, Worth};
use crate::report::{facts, number};
use document::Figure;
use document::scale::Axis;
use document::svg::{Plot, Point, Series, Shape};
use method::trial::of_rate;
use procedure::metric::Unit;

pub(super) fn loss(result: &PointResult, n: usize) -> Option<Figure> {
    let percent = |p: &LossPoint| p.lost as f64 / p.sent as f64 * 100.0;
    let smallest = result.loss.iter().map(percent).filter(|&l| l > 0.0).fold(100.0, f64::min);
    let highest = result.loss.iter().map(|p| p.offered).fold(0.0, f64::max);
    if result.loss.is_empty() {
        return None;
    }
    let series = |name: &str, class: &str, shape: Shape, worth: Worth| {
        let own = result.loss.iter().filter(|p| p.verdict == worth);
        Series::marks(name, class, shape, own.map(|p| Point::at(p.offered, percent(p))).collect())
    };
    let unit = match result.known.map(|m| m.unit) {
        Some(Unit::ConnectionsPerSecond | Unit::Connections) => "connections/s".to_owned(),
        Some(Unit::QueriesPerSecond) => "queries/s".to_owned(),
        _ => format!("frames/s {}", of_rate(result.direction_ratio)),
    };
    let plot = Plot {
        id: format!("loss-{n}"),
        title: format!("Loss curve of the {}", facts::place(result)),
        description: format!("{} trials, smallest loss above zero {smallest:.6} per cent", result.loss.len()),
        x: Axis::linear(("offered rate", unit), highest),
        y: Axis::loss(("frames lost", "%"), smallest),
        series: vec![
            series("passed", "pass", Shape::Circle, Worth::Pass),
            series("failed", "fail", Shape::Cross, Worth::Fail),
            series("invalid", "bound", Shape::Triangle, Worth::Invalid),
        ],
        size: (NARROW, 260.0),
        ..Plot::default()
    };
    let trials = number::plural(result.loss.len() as u64, "trial");
    let mut caption = format!("{}: loss of {trials}.", number::capitalised(&facts::place(result)));
    if result.closed_loop > 0 {
        caption.push_str(" Trials that failed without loss: in a closed loop, the sender was late.");
    }
    Some(plotted(caption, plot))
}
