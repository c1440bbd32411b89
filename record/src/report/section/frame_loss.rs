//! Frame loss rate: the curve of RFC 2544, section 26.3.

use super::of;
use crate::report::result::PointResult;
use crate::report::{Report, facts, number};
use document::scale::Axis;
use document::svg::{Plot, Point, Series, highest, in_words};
use document::{Drawing, Figure, Section};
use method::{SearchStep, StepVerdict};
use procedure::frame_loss::FRAME_LOSS_RATE;
use std::collections::BTreeMap;

/// The section of all points with a frame loss rate.
pub(super) fn section(report: &Report) -> Option<Section> {
    let results = of(report, &[FRAME_LOSS_RATE.key]);
    if results.is_empty() {
        return None;
    }
    Some(Section {
        title: "Frame loss rate".to_owned(),
        about: "Loss in percent of the frames sent, at each offered load in percent of the highest (RFC 2544, section 26.3). \
                Marks are medians of the repetitions; bars reach from the smallest to the largest."
            .to_owned(),
        figures: vec![curve(&results)],
        ..Section::default()
    })
}

fn curve(results: &[&PointResult]) -> Figure {
    let curves = results.iter().flat_map(|result| {
        let place = facts::device_at(result);
        let of_kind = |(name, kind)| (format!("{place}{name}"), points(result, kind));
        KINDS.map(of_kind).into_iter().filter(|(_, points)| !points.is_empty())
    });
    let series: Vec<Series> = curves.enumerate().map(|(at, (name, points))| Series::marked(at, name, points)).collect();
    let most = highest(&series);
    let plot = Plot {
        id: "frame-loss".to_owned(),
        title: "Frame loss rate".to_owned(),
        description: in_words(&series, |p| format!("{:.2} % at {:.0} %", p.y, p.x)),
        x: Axis::linear(("offered load", "% of the highest"), 100.0),
        y: Axis::linear(("loss", "%"), if most > 95.0 { 100.0 } else { (most * 1.05).max(0.01) }),
        series,
        size: (1000.0, 300.0),
        ..Plot::default()
    };
    let highest =
        results.iter().flat_map(|r| r.repetitions.iter().flat_map(|r| &r.trace)).map(|step| step.rate.0).max();
    let highest = number::si_unit(highest.unwrap_or(0) as f64, 3, "fps");
    let caption = format!("Frame loss rate. 100 % are {highest} per direction.");
    Figure { caption, drawing: Drawing::Plot(plot), wide: true }
}

/// The loss of all frames in a trial, and of each kind where there are two.
type Kind = fn(&SearchStep) -> Option<f64>;
const KINDS: [(&str, Kind); 3] = [
    ("", |step| (step.sent > 0).then(|| step.lost as f64 / step.sent as f64)),
    (", foreground", |step| step.loss_by_kind().map(|shares| shares[0])),
    (", native", |step| step.loss_by_kind().map(|shares| shares[1])),
];

/// The loss of a kind at each load over all repetitions.
fn points(result: &PointResult, kind: Kind) -> Vec<Point> {
    let decided = |step: &&SearchStep| matches!(step.verdict, StepVerdict::Pass | StepVerdict::Fail);
    let mut losses: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for step in result.repetitions.iter().flat_map(|r| &r.trace).filter(decided) {
        if let Some(share) = kind(step) {
            losses.entry(step.rate.0).or_default().push(share * 100.0);
        }
    }
    let highest = losses.keys().next_back().copied().unwrap_or(1).max(1) as f64;
    let point = |(rate, mut losses): (u64, Vec<f64>)| {
        losses.sort_by(f64::total_cmp);
        let median = method::stats::median_of(&losses).unwrap_or(0.0);
        let whisker = (losses.len() > 1).then(|| (losses[0], losses[losses.len() - 1]));
        Point { whisker, ..Point::at(rate as f64 * 100.0 / highest, median) }
    };
    losses.into_iter().map(point).collect()
}
