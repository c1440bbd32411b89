//! Parameters of latency, delay variations, back-to-back frames and system recovery (RFC 8219, sections 7.2 and 7.3; RFC 9004; RFC
//! 2544, section 26.5).

use super::Procedures;
use crate::Scenario;
use key::kind::{duration, maybe, number, rate};
use key::quantity::{WrittenRate, show_duration};
use key::{computed, or};
use method::{Count, Nanos};
use procedure::metric::{IPDV, LATENCY, PDV, SYSTEM_RECOVERY_TIME};
use std::ops::RangeInclusive;

/// Allowed durations of a trial: those of `duration` in `[measure]`.
const LENGTHS: RangeInclusive<Nanos> = Nanos::from_millis(1)..=Nanos::from_secs(86_400);

key::table! {
    /// The trial that measures latency (RFC 8219, section 7.2).
    pub struct Latency {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("120 s").conforms();
        /// Time from the start to the first tagged frame.
        from: Nanos = "from", duration(Nanos(0)..=Nanos::from_secs(86_400)), or("60 s").conforms();
        /// Tagged frames in each direction, evenly from the first to the end of the trial.
        tags: Count = "tags", number(1..=1_000_000_000), or("50000").conforms();
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

key::table! {
    /// The trial that measures the packet delay variation (RFC 8219, section 7.3.1). Every frame has a time stamp.
    pub struct Pdv {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s").conforms();
        /// Later frames count as lost: the share of lost and late frames is reported, too.
        timeout: Option<Nanos> = "timeout", maybe(duration(Nanos(1)..=Nanos::from_secs(3600))), computed("no frame is late");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

key::table! {
    /// The trial that measures the inter packet delay variation (RFC 8219, section 7.3.2). Every frame has a time stamp.
    pub struct Ipdv {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s").conforms();
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

key::table! {
    /// The search for the longest burst (RFC 9004). Bursts have the rate of the upper end of all searches (`max-rate`).
    pub struct BackToBack {
        /// The longest burst, as time at its rate; a burst of this length that passes is a lower bound only.
        longest: Nanos = "longest", duration(Nanos::from_millis(1)..=Nanos::from_secs(30)), or("30 s");
        /// The rate at which the device forwards without loss, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

key::table! {
    /// The trial that measures the system recovery (RFC 2544, section 26.5): an overload of 110 % of the throughput, then half of
    /// it.
    pub struct SystemRecovery {
        /// Length of the overload.
        overload: Nanos = "overload", duration(LENGTHS), or("60 s").conforms();
        /// Length of the half rate.
        after: Nanos = "after", duration(LENGTHS), or("60 s");
        /// The throughput, if it is not measured.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Departures of the trials of the scenario's metrics from their standards, one sentence each.
pub(super) fn departures(scenario: &Scenario) -> Vec<String> {
    let Procedures { latency, pdv, ipdv, system_recovery, .. } = &scenario.procedures;
    let asked = |metric: &str| scenario.measure.metrics.iter().any(|key| key == metric);
    let times = [
        (LATENCY, "latency trials last", latency.duration, 120),
        (LATENCY, "the first tagged frame leaves after", latency.from, 60),
        (PDV, "PDV trials last", pdv.duration, 60),
        (IPDV, "IPDV trials last", ipdv.duration, 60),
        (SYSTEM_RECOVERY_TIME, "the overload lasts", system_recovery.overload, 60),
    ];
    let short = times.into_iter().filter(|(metric, _, is, least)| asked(metric.key) && *is < Nanos::from_secs(*least));
    let mut departures: Vec<String> = short
        .map(|(metric, what, is, least)| {
            format!("{what} {}, below {least} s ({})", show_duration(is), metric.reference)
        })
        .collect();
    if asked(LATENCY.key) && latency.tags < LEAST_TAGS {
        departures.push(format!("{} tagged frames, below {LEAST_TAGS} ({})", latency.tags, LATENCY.reference));
    }
    departures
}

/// Minimum number of tagged frames in a conforming trial (RFC 8219, section 7.2).
const LEAST_TAGS: Count = 500;
