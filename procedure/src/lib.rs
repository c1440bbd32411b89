//! Procedures: one file and one entry for each. A procedure says what it measures, which keys it has, what it needs of a
//! device, what RFCs require of it, how it searches, and how its results are reported.

#![forbid(unsafe_code)]

pub mod back_to_back;
pub mod capacity;
pub mod capacity_known;
pub mod churn;
pub mod cpu_idle;
pub mod delay;
pub mod disruption;
pub mod dns;
pub mod establishment;
pub mod frame_loss;
pub mod metric;
pub mod overload;
pub mod profiling;
pub mod recovery;
pub mod tcp;
pub mod tear_down;
pub mod throughput;
pub mod validation;

/// Description of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Name in scenario files.
    pub key: &'static str,
    /// Title in reports.
    pub title: &'static str,
    /// The defining document and section.
    pub reference: &'static str,
    /// Keys of the metrics that it can measure.
    pub metrics: &'static [&'static str],
    /// Whether its trials consist of phase 1 only, with or without validation.
    pub phase1: bool,
    /// Whether only devices that keep connections have it.
    pub stateful: bool,
    /// Whether its trials run at the throughput of the point, unless the scenario gives their rate.
    pub at_throughput: bool,
    /// What it does, in one sentence.
    pub summary: &'static str,
}

/// All procedures.
pub const PROCEDURES: &[Procedure] = &[
    throughput::PROCEDURE,
    establishment::PROCEDURE,
    capacity::PROCEDURE,
    frame_loss::PROCEDURE,
    churn::PROCEDURE,
    tcp::PROCEDURE,
    delay::LATENCY,
    delay::PDV,
    delay::IPDV,
    back_to_back::PROCEDURE,
    recovery::PROCEDURE,
    tear_down::PROCEDURE,
    tear_down::MEMORY,
    cpu_idle::PROCEDURE,
    profiling::PROCEDURE,
    disruption::RESET,
    disruption::FAILOVER,
    overload::PROCEDURE,
    dns::DNS64,
    dns::LOAD,
];

/// Returns the procedure that measures the metric with this key.
pub fn of(metric: &str) -> Option<&'static Procedure> {
    PROCEDURES.iter().find(|procedure| procedure.metrics.contains(&metric))
}

/// Whether trials of the metric with this key consist of phase 1 only, with or without validation.
pub fn is_of_phase1(key: &str) -> bool {
    of(key).is_some_and(|procedure| procedure.phase1)
}
