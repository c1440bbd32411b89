//! Procedures: one file and one entry for each, which says what it measures, its keys, what it
//! needs of a device, how it searches, and of which known devices it must find the truth. Callers
//! pass a list, and ask its entries.

#![forbid(unsafe_code)]

mod asked;
pub mod back_to_back;
mod capabilities;
pub mod capacity;
pub mod capacity_with_policy;
pub mod churn;
mod context;
pub mod cpu_idle;
pub mod delay;
pub mod disruption;
pub mod dns;
pub mod establishment;
pub mod frame_loss;
mod keys;
mod known;
pub mod metric;
pub mod overload;
mod prelude;
pub mod profiling;
pub mod recovery;
pub mod requirement;
pub mod results;
mod single;
pub mod tcp;
pub mod tear_down;
pub mod throughput;
pub mod validation;

pub use asked::{MeasureRequest, ScenarioOrigin};
pub use capabilities::Capabilities;
pub use context::{Cap, Context};
pub use keys::{KeyTable, Keys, metrics, of, tables};
pub use known::KnownValue;
pub use metric::Metric;
pub use results::Results;

use document::{Finding, Section};
use key::quantity::WrittenRate;
use method::search::{Progress, SearchResult};
use method::{Count, Nanos, TrialError, Trials};
use std::fmt;

/// What the trials of a procedure send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Test frames on connections drawn by popularity.
    Frames,
    /// Test frames on held connections, in turn, and on new ones, which come and go.
    FramesInTurn,
    /// Sends first frames of connections: phase 1, with or without validation.
    NewConnections,
    /// Frames in reverse on a sample of the connections.
    Samples,
    /// TCP segments.
    Segments,
    /// DNS queries.
    Queries,
}

impl Sends {
    /// Whether trials are test frames of the scenario, with its warm-up.
    pub fn is_data(self) -> bool {
        matches!(self, Sends::Frames | Sends::FramesInTurn)
    }
}

/// Receives the progress of a search before each decision.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress);

/// Everything that natmeter knows about a procedure.
pub struct Procedure {
    /// Key of the procedure.
    pub key: &'static str,
    /// Title in reports.
    pub title: &'static str,
    /// The defining document and section.
    pub reference: &'static str,
    /// What the procedure does, in one sentence.
    pub summary: &'static str,
    /// Metrics, each followed by its parts.
    pub metrics: &'static [Metric],
    /// What trials send.
    pub sends: Sends,
    /// Whether only devices that keep connections have the procedure.
    pub stateful: bool,
    /// Whether `profile = true` adds its metric, with one repetition.
    pub profiles: bool,
    /// Tables of keys that the procedure reads.
    pub tables: &'static [KeyTable],
    /// Rate that its keys give in place of the throughput of the point; `None` where trials do not run at the throughput.
    pub rate: Option<fn(&Keys) -> Option<WrittenRate>>,
    /// Length of its longest trial, where others have this length and there are so many connections.
    pub longest: fn(&Keys, Nanos, Count) -> Nanos,
    /// How often the CPU times of the device are sampled, also in trials of other procedures.
    pub interval: fn(&Keys) -> Option<Nanos>,
    /// Refuses what its keys and the scenario ask for together.
    pub check: fn(&mut MeasureRequest<'_>),
    /// Measures once.
    pub search: fn(&Context<'_>, &mut dyn Trials, Watch<'_>) -> Result<SearchResult, TrialError>,
    /// What a report says of its keys among the conditions of a run: names and values.
    pub conditions: fn(&Keys) -> Vec<(&'static str, String)>,
    /// Tables and curves of a run beside the medians; none without results.
    pub sections: &'static [fn(&Results<'_>) -> Option<Section>],
    /// What a summary says of single points.
    pub findings: fn(&Results<'_>) -> Vec<Finding>,
    /// Why results of single points may mislead.
    pub doubts: fn(&Results<'_>) -> Vec<String>,
    /// Values of both directions for the summary: a name, and the keys for left to right and right to left.
    pub both_ways: &'static [(&'static str, [&'static str; 2])],
    /// Devices of known truth.
    pub known: &'static [KnownValue],
}

impl Procedure {
    /// What most procedures have.
    pub const USUAL: Procedure = Procedure {
        key: "",
        title: "",
        reference: "",
        summary: "",
        metrics: &[],
        sends: Sends::Frames,
        stateful: false,
        profiles: false,
        tables: &[],
        rate: None,
        longest: |_, duration, _| duration,
        interval: |_| None,
        check: |_| (),
        search: |context, _, _| Err(TrialError::Refused(format!("`{}` has no search", context.metric.key))),
        conditions: |_| Vec::new(),
        sections: &[],
        findings: |_| Vec::new(),
        doubts: |_| Vec::new(),
        both_ways: &[],
        known: &[],
    };

    /// Title and reference of its metric, which is the only one unless it names others.
    pub const fn of(metric: &'static Metric) -> Procedure {
        let (title, reference, metrics) = (metric.title, metric.reference, std::slice::from_ref(metric));
        Procedure { title, reference, metrics, ..Procedure::USUAL }
    }

    /// The rate of its trials, where its keys give it.
    pub fn given_rate(&self, keys: &Keys) -> Option<WrittenRate> {
        self.rate.and_then(|rate| rate(keys))
    }

    /// The metrics that a scenario can request, without parts.
    pub fn measured(&self) -> impl Iterator<Item = &'static Metric> + use<> {
        self.metrics.iter().filter(|metric| metric.is_measured())
    }
}

impl fmt::Debug for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)
    }
}

/// Procedures that a scenario may ask for.
pub type List = &'static [&'static Procedure];

/// All procedures, in the order of pages.
pub const ALL: List = &[
    &throughput::PROCEDURE,
    &establishment::PROCEDURE,
    &capacity::PROCEDURE,
    &frame_loss::PROCEDURE,
    &churn::PROCEDURE,
    &tcp::PROCEDURE,
    &delay::LATENCY_PROCEDURE,
    &delay::PDV_PROCEDURE,
    &delay::IPDV_PROCEDURE,
    &back_to_back::PROCEDURE,
    &overload::PROCEDURE,
    &recovery::PROCEDURE,
    &tear_down::PROCEDURE,
    &tear_down::MEMORY_PROCEDURE,
    &cpu_idle::PROCEDURE,
    &profiling::PROCEDURE,
    &disruption::RESET_PROCEDURE,
    &disruption::FAILOVER_PROCEDURE,
    &dns::DNS64_PROCEDURE,
    &dns::LOAD_PROCEDURE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use metric::Origin;

    #[test]
    fn keys_are_unique() {
        let all: Vec<&str> = metrics(ALL).map(|metric| metric.key).collect();
        for (at, key) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(key), "{key}");
        }
    }

    #[test]
    fn a_part_belongs_to_a_measured_metric_of_its_procedure() {
        for procedure in ALL {
            for metric in procedure.metrics {
                assert!(procedure.measured().any(|known| known.key == metric.whole()), "{}", metric.key);
                assert_ne!(metric.origin, Origin::Derived, "{}", metric.key);
            }
        }
    }

    #[test]
    fn every_procedure_has_a_device_of_known_truth() {
        for procedure in ALL {
            assert!(!procedure.known.is_empty(), "{}", procedure.key);
            for known in procedure.known {
                assert!(procedure.metrics.iter().any(|metric| metric.key == known.metric), "{}", known.metric);
            }
        }
    }
}
