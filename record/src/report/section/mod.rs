//! The part of a report that belongs to one procedure: what its tables and curves show beside the medians of all metrics. A new
//! one is one file beside this one and one entry in [`ALL`].

mod compare;
mod device;
mod dns;
mod foreground;
mod frame_loss;
mod memory;
mod model;
mod overload;
mod profile;
mod tcp;
mod timing;

use super::Report;
use super::facts;
use super::result::PointResult;
use document::{Cell, Row, Section, row};

pub(in crate::report) use compare::section as compared;
pub(in crate::report) use model::{section as models, sentences as of_models};
pub(super) use profile::findings as of_profiles;

/// All parts, in the order of the report; each is `None` for a run without its procedure.
pub(super) const ALL: &[fn(&Report) -> Option<Section>] = &[
    frame_loss::section,
    foreground::section,
    tcp::section,
    timing::section,
    overload::section,
    device::tear_down,
    memory::section,
    device::cpu_idle,
    profile::section,
    device::disruptions,
    dns::section,
    model::section,
    compare::section,
];

/// The results of these metrics that have repetitions.
fn of<'a>(report: &'a Report, metrics: &[&str]) -> Vec<&'a PointResult> {
    let wanted = |r: &&PointResult| metrics.contains(&r.metric.as_str()) && !r.repetitions.is_empty();
    report.results.iter().filter(wanted).collect()
}

/// The names of columns, one for each result.
fn places(results: &[&PointResult]) -> Vec<String> {
    results.iter().map(|result| facts::place(result)).collect()
}

/// A row with a cell for each result.
fn line<C: Into<Cell>>(label: &str, results: &[&PointResult], of: impl Fn(&PointResult) -> C) -> Row {
    row(label, results.iter().map(|result| of(result)))
}
