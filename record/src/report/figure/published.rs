//! Published values as points of a figure: those with which a report compares its results, at their own conditions.

use super::MetricScale;
use crate::report::Report;
use crate::report::published::{PublishedValue, with_unit};
use document::svg::{Point, Series, Shape};
use document::{distinct, grouped_by};

/// The published values beside results of a metric: one series for each software and table, whose marks name the document.
/// `place` is where a value stands on the x axis; a value without it is left out.
pub(super) fn series(
    report: &Report,
    metric: &str,
    shown: &MetricScale,
    place: impl Fn(&PublishedValue) -> Option<u64>,
) -> Vec<Series> {
    let published = report.beside.iter().filter(|b| b.metric == metric).map(|b| &b.published);
    let placed = distinct(published).into_iter().filter_map(|p| Some((p, place(p).filter(|&x| x > 0)?)));
    let name = |p: &PublishedValue| format!("published: {}, {}", p.software(), p.under.label);
    let point = |(p, x): (&PublishedValue, u64)| {
        let (value, source) = (with_unit(&p.metric, p.value), p.source());
        let tooltip = format!("published: {value}\n{}\n{}, {}", p.conditions(), source.cite, p.under.label);
        Point { tooltip: Some(tooltip), ..Point::at(x as f64, p.value * shown.factor) }
    };
    let series = grouped_by(placed, |(p, _)| name(p)).into_iter();
    series
        .map(|(name, of)| Series::marks(&name, "published", Shape::Plus, of.into_iter().map(point).collect()))
        .collect()
}
