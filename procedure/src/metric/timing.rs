//! Metrics of delays, bursts and recovery: those that are measured, and their parts.

use super::{Metric, Origin, Unit};

/// A part of another metric, for one direction or for all.
pub(super) const fn part(
    key: &'static str,
    title: &'static str,
    of: &'static Metric,
    unit: Unit,
    definition: &'static str,
) -> Metric {
    let origin = Origin::Part { of: of.key };
    Metric { key, title, unit, reference: of.reference, origin, higher_is_better: false, definition }
}

/// Latency at the throughput.
pub const LATENCY: Metric = Metric {
    key: "latency",
    title: "Latency",
    unit: Unit::Parts,
    reference: "RFC 8219 section 7.2",
    origin: Origin::Measured { repetitions: 20 },
    higher_is_better: false,
    definition: "The time from sending a tagged frame to receiving it, at the throughput, in each direction.",
};

const TYPICAL: &str = "The median of the delays of tagged frames; a lost tag counts with the rest of the trial.";
const WORST: &str =
    "The 99.9th percentile of the delays of tagged frames; a lost tag counts with the rest of the trial.";
const LOST_TAGS: &str = "Tagged frames that were not received right.";

/// Packet delay variation at the throughput.
pub const PDV: Metric = Metric {
    key: "pdv",
    title: "Packet delay variation",
    unit: Unit::Parts,
    reference: "RFC 8219 section 7.3.1",
    origin: Origin::Measured { repetitions: 20 },
    higher_is_better: false,
    definition: "The 99.9th percentile minus the minimum of the delays of all frames, at the throughput, in each direction.",
};

const OF_PDV: &str = "The 99.9th percentile minus the minimum of the delays of all frames.";
const LATE: &str = "The share of the frames that were lost or later than the time-out.";

/// Inter packet delay variation at the throughput.
pub const IPDV: Metric = Metric {
    key: "ipdv",
    title: "Inter packet delay variation",
    unit: Unit::Parts,
    reference: "RFC 8219 section 7.3.2",
    origin: Origin::Measured { repetitions: 20 },
    higher_is_better: false,
    definition: "Minimum, median and maximum of the differences between the delays of successive frames, at the throughput.",
};

const DIFFERENCE_MIN: &str = "The smallest difference between the delays of a frame and of the one before it.";
const DIFFERENCE_MEDIAN: &str = "The median of the differences between the delays of a frame and of the one before it.";
const DIFFERENCE_MAX: &str = "The largest difference between the delays of a frame and of the one before it.";

/// The longest burst without loss.
pub const BACK_TO_BACK_FRAMES: Metric = Metric {
    key: "back_to_back_frames",
    title: "Back-to-back frames",
    unit: Unit::Frames,
    reference: "RFC 9004",
    // Section 5.4: the number of repetitions is reported, and no longer fixed.
    origin: Origin::Measured { repetitions: 1 },
    higher_is_better: true,
    definition: "The longest burst per direction at the highest rate that is forwarded without loss.",
};

/// The time to recover from an overload.
pub const SYSTEM_RECOVERY_TIME: Metric = Metric {
    key: "system_recovery_time",
    title: "System recovery time",
    unit: Unit::Nanoseconds,
    reference: "RFC 2544 section 26.5",
    origin: Origin::Measured { repetitions: 10 },
    higher_is_better: false,
    definition: "The time from halving an overload of 110 % of the throughput to the due time of the last lost frame.",
};

const OF_RECOVERY: &str = "The time from the end of the overload to the due time of the last lost frame.";

/// The parts of all of them.
pub(super) const PARTS: [Metric; 20] = {
    use Unit::{Frames, Nanoseconds, PartsPerMillion};
    [
        part("latency_typical_forward", "Typical latency, left to right", &LATENCY, Nanoseconds, TYPICAL),
        part("latency_typical_reverse", "Typical latency, right to left", &LATENCY, Nanoseconds, TYPICAL),
        part("latency_worst_case_forward", "Worst-case latency, left to right", &LATENCY, Nanoseconds, WORST),
        part("latency_worst_case_reverse", "Worst-case latency, right to left", &LATENCY, Nanoseconds, WORST),
        part("latency_lost_tags_forward", "Lost tags, left to right", &LATENCY, Frames, LOST_TAGS),
        part("latency_lost_tags_reverse", "Lost tags, right to left", &LATENCY, Frames, LOST_TAGS),
        part("pdv_forward", "Packet delay variation, left to right", &PDV, Nanoseconds, OF_PDV),
        part("pdv_reverse", "Packet delay variation, right to left", &PDV, Nanoseconds, OF_PDV),
        part("pdv_late_forward", "Lost or late frames, left to right", &PDV, PartsPerMillion, LATE),
        part("pdv_late_reverse", "Lost or late frames, right to left", &PDV, PartsPerMillion, LATE),
        part("ipdv_min_forward", "Smallest IPDV, left to right", &IPDV, Nanoseconds, DIFFERENCE_MIN),
        part("ipdv_min_reverse", "Smallest IPDV, right to left", &IPDV, Nanoseconds, DIFFERENCE_MIN),
        part("ipdv_median_forward", "Median IPDV, left to right", &IPDV, Nanoseconds, DIFFERENCE_MEDIAN),
        part("ipdv_median_reverse", "Median IPDV, right to left", &IPDV, Nanoseconds, DIFFERENCE_MEDIAN),
        part("ipdv_max_forward", "Largest IPDV, left to right", &IPDV, Nanoseconds, DIFFERENCE_MAX),
        part("ipdv_max_reverse", "Largest IPDV, right to left", &IPDV, Nanoseconds, DIFFERENCE_MAX),
        part(
            "buffer_time_implied",
            "Implied buffer time",
            &BACK_TO_BACK_FRAMES,
            Nanoseconds,
            "The time of the longest burst at its rate.",
        ),
        part(
            "buffer_time_corrected",
            "Corrected buffer time",
            &BACK_TO_BACK_FRAMES,
            Nanoseconds,
            "The implied buffer time without the frames that left while the burst arrived.",
        ),
        part(
            "system_recovery_time_forward",
            "Recovery, left to right",
            &SYSTEM_RECOVERY_TIME,
            Nanoseconds,
            OF_RECOVERY,
        ),
        part(
            "system_recovery_time_reverse",
            "Recovery, right to left",
            &SYSTEM_RECOVERY_TIME,
            Nanoseconds,
            OF_RECOVERY,
        ),
    ]
};
