//! Published values as points of a figure: those with which a report compares its results, at their own conditions.

use super::Shown;
use crate::report::Report;
use crate::report::published::{Beside, Published, with_unit};
use document::svg::{Point, Series, Shape};

/// The published values beside results of a metric: one series for each software and table, whose marks name the document.
/// `place` is where a value stands on the x axis; a value without it is left out.
pub(super) fn series(
    report: &Report,
    metric: &str,
    shown: &Shown,
    place: fn(&Published) -> Option<u64>,
) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let mut drawn: Vec<&Published> = Vec::new();
    for Beside { published, .. } in report.beside.iter().filter(|b| b.metric == metric) {
        let Some(x) = place(published).filter(|&x| x > 0 && !drawn.contains(&published)) else { continue };
        drawn.push(published);
        let source = format!("{}, {}", published.source().cite, published.under.label);
        let name = format!("published: {}, {}", published.software(), published.under.label);
        let value = with_unit(&published.metric, published.value);
        let says = format!("published: {value}\n{}\n{source}", published.conditions());
        let point = Point { says: Some(says), ..Point::at(x as f64, published.value * shown.factor) };
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                name,
                class: "published".to_owned(),
                shape: Some(Shape::Plus),
                joined: false,
                points: vec![point],
            }),
        }
    }
    all
}
