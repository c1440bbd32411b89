//! Metrics of overload scalability.

use super::{Metric, Origin, TEN, Unit};

/// How much less a device forwards with many flows.
pub const OVERLOAD_SCALABILITY: Metric = Metric {
    key: "overload_scalability",
    title: "Overload scalability",
    unit: Unit::Parts,
    reference: "RFC 8219 section 10.2",
    origin: TEN,
    higher_is_better: false,
    definition: "The throughput with one flow, or with a few, the throughput with all flows, and how much less that is.",
};

const fn part(key: &'static str, title: &'static str, unit: Unit, better: bool, definition: &'static str) -> Metric {
    let origin = Origin::Part { of: OVERLOAD_SCALABILITY.key };
    Metric { key, title, unit, reference: OVERLOAD_SCALABILITY.reference, origin, higher_is_better: better, definition }
}

/// Throughput with a few flows.
pub const OVERLOAD_FEW: Metric = part(
    "overload_throughput_few",
    "Throughput with a few flows",
    Unit::FramesPerSecond,
    true,
    "The throughput with one flow, or with as many as the scenario says.",
);
/// Throughput with all flows.
pub const OVERLOAD_ALL: Metric = part(
    "overload_throughput_all",
    "Throughput with all flows",
    Unit::FramesPerSecond,
    true,
    "The throughput with all flows of the point, which begin together or one after the other.",
);
/// The degradation.
pub const OVERLOAD_DEGRADATION: Metric = part(
    "overload_degradation",
    "Degradation with all flows",
    Unit::PartsPerMillion,
    false,
    "The difference of both throughputs, as a share of that with a few flows; below 0 if the DUT forwards more with all.",
);
