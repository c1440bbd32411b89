//! Parameters of procedures that look at the device or act on it: connection tear-down, CPU idle time, reset and failover (RFC
//! 9693, section 4.8; RFC 6201).

use crate::Scenario;
use key::kind::{duration, maybe, number, rate};
use key::quantity::{WrittenRate, show_duration};
use key::{computed, or};
use method::Nanos;
use procedure::metric::RESET;
use procedure::tear_down::Emptying;
use std::ops::RangeInclusive;

/// Durations of trials: as of `duration` in `[measure]`.
const LENGTHS: RangeInclusive<Nanos> = Nanos::from_millis(1)..=Nanos::from_secs(86_400);
/// The device forwards for at least this long before a reset (RFC 6201, section 4).
const LEAST_BEFORE: u64 = 15;

key::table! {
    /// How often the table is filled and emptied (RFC 9693, section 4.8).
    pub struct TearDown {
        /// Times that the table is filled and emptied in one repetition.
        fills: u32 = "fills", number(1..=1_000), or("1");
        /// Times that the empty table is emptied after each; their spread is the resolution of the result.
        empty: u32 = "empty", number(2..=1_000), or("5");
    }
}

impl TearDown {
    /// Returns them as the procedure needs them.
    pub fn emptying(&self) -> Emptying {
        Emptying { fills: self.fills, empty: self.empty }
    }
}

key::table! {
    /// The trial beside which the CPU times of the device are sampled.
    pub struct CpuIdle {
        /// Length of the trial; with several boxes, one for each.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s");
        /// Time between two samples.
        interval: Nanos = "interval", duration(Nanos::from_millis(10)..=Nanos::from_secs(3600)), or("1 s");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

key::table! {
    /// The trial beside which the call stacks of the device are sampled (`profile`).
    pub struct Profiling {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("10 s");
        /// Samples of each core per second.
        frequency: u32 = "frequency", number(1..=10_000), or("999");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

key::table! {
    /// The trial in which the hook `reset` of the device runs (RFC 6201).
    pub struct Reset {
        /// Length of the trial; the device must be back before its end.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s").conforms();
        /// Time from the first frame to the reset.
        at: Nanos = "at", duration(LENGTHS), or("15 s").conforms();
        /// Time for which the hook switches the power off; it is no part of the result (RFC 6201, section 4.3).
        off: Nanos = "off", duration(Nanos(0)..=Nanos::from_secs(3600)), or("0 s");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

key::table! {
    /// The trial in which the hook `failover` of the device runs.
    pub struct Failover {
        /// Length of the trial; the device must be back before its end.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s");
        /// Time from the first frame to the failover.
        at: Nanos = "at", duration(LENGTHS), or("15 s");
        /// New connections per second beside the others, as in `[measure.churn]`, which says how many are held.
        churn: Option<WrittenRate> = "churn", maybe(rate()), computed("no new connections");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Departures of the trials of the scenario's metrics from RFC 6201, one sentence each.
pub(super) fn departures(scenario: &Scenario) -> Vec<String> {
    let reset = &scenario.procedures.reset;
    let is_short = scenario.measures(RESET.key) && reset.at < Nanos::from_secs(LEAST_BEFORE);
    let words = || {
        let at = show_duration(reset.at);
        format!("the device forwards for {at} before a reset, below {LEAST_BEFORE} s (RFC 6201, section 4)")
    };
    is_short.then(words).into_iter().collect()
}
