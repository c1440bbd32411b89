//! System recovery (RFC 2544 section 26.5): how long the DUT loses frames after an overload has
//! ended, when the rate is halved.

use crate::known;
use crate::metric::STILL_LOST;
use crate::prelude::*;
use key::kind::rate;
use method::trial::RateStep;
use std::collections::BTreeMap;

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "system-recovery",
    title: "System recovery",
    summary: "time from the end of an overload to the last frame that is lost",
    metrics: &[
        SYSTEM_RECOVERY_TIME,
        SYSTEM_RECOVERY_TIME.part(
            "system_recovery_time_forward",
            "Recovery, left to right",
            Unit::Nanoseconds,
            OF_DIRECTION,
        ),
        SYSTEM_RECOVERY_TIME.part(
            "system_recovery_time_reverse",
            "Recovery, right to left",
            Unit::Nanoseconds,
            OF_DIRECTION,
        ),
    ],
    tables: &[KeyTable::of::<SystemRecovery>("system-recovery")],
    rate: Some(|keys| keys.get::<SystemRecovery>().rate),
    longest: |keys, _, _| {
        let keys = keys.get::<SystemRecovery>();
        Nanos(keys.overload.0 + keys.after.0)
    },
    search,
    known: KNOWN,
    ..Procedure::of(&SYSTEM_RECOVERY_TIME)
};

/// The time to recover from an overload.
pub const SYSTEM_RECOVERY_TIME: Metric = Metric {
    key: "system_recovery_time",
    title: "System recovery time",
    unit: Unit::Nanoseconds,
    reference: "RFC 2544 section 26.5",
    higher_is_better: false,
    definition: "The time from halving an overload of 110 % of the throughput to the due time of the last lost frame.",
    bounded_by: Some(STILL_LOST),
    trials: TrialKind::AtSizes,
    averaged: true,
    ..Metric::USUAL
};

const OF_DIRECTION: &str = "The time from the end of the overload to the due time of the last lost frame.";

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

/// Overload against the throughput: 110 %.
const OVERLOAD: (u64, u64) = (110, 100);
/// A frame lost in this last part of the time after the overload shows no recovery.
const LAST_PART: u64 = 10;

/// Measures the recovery time once, in nanoseconds: that of the slower direction, with the
/// directions as parts. It is a lower bound if frames are lost near the end.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let SystemRecovery { overload: at, after, .. } = *context.keys.get();
    let throughput = context.throughput()?;
    let rate = throughput.scaled(OVERLOAD.0, OVERLOAD.1).min(context.settings.hi);
    if rate <= throughput {
        return Err(TrialError::NotMeasurable(format!(
            "system recovery needs an overload, but the highest rate is {rate} frames/s, not above the throughput: raise max-rate"
        )));
    }
    let last = Nanos(at.0 + after.0);
    let mut spec = context.data(rate, last)?;
    spec.options.step = Some(RateStep { at, to: Ratio::from_ppm(500_000) });
    let (result, mut observed) = single::observe(context, &[spec], trials, watch)?;
    let Some(observed) = observed.pop() else { return Ok(result) };
    let (mut slowest, mut lost_to_the_end, mut parts) = (0, false, BTreeMap::new());
    for (direction, losses) in observed.losses.iter() {
        let recovery = if losses.frames == 0 { 0 } else { losses.last.0.saturating_sub(at.0) };
        slowest = slowest.max(recovery);
        lost_to_the_end |= losses.frames > 0 && losses.last.0 >= last.0 - after.0 / LAST_PART;
        parts.insert(format!("system_recovery_time_{direction}"), recovery.cast_signed());
    }
    let kind = match (parts.is_empty(), lost_to_the_end) {
        (true, _) => ResultKind::NothingMeasured,
        (false, true) => ResultKind::AtUpperLimit,
        (false, false) => ResultKind::Observed,
    };
    Ok(SearchResult { rate: Rate(slowest), kind, parts, observed, ..result })
}

const KNOWN: &[KnownValue] = &[KnownValue {
    metric: SYSTEM_RECOVERY_TIME.key,
    device: "loses frames for 20 ms after an overload",
    truth: Some(20_000_000),
    // The distance of two frames at 55 % of the throughput.
    error: (3_031, 3_031),
    point: || {
        let keys = SystemRecovery { overload: Nanos::from_secs(2), after: Nanos::SECOND, rate: None };
        KnownPoint::new(keys, Truth { recovery: Nanos::from_millis(20), ..known::simulated() })
    },
}];
