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
use super::figure::Figure;
use super::table::Table;

pub(in crate::report) use compare::section as compared;
pub(in crate::report) use model::{section as models, sentences as of_models};
pub(super) use profile::sentences as of_profiles;

/// One part.
pub(in crate::report) struct Section {
    /// Its heading.
    pub title: String,
    /// How to read it, in one or two sentences.
    pub about: String,
    /// Tables, if the medians do not say all.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<Figure>,
}

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
