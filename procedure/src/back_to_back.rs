//! Back-to-back frames (RFC 9004): the longest burst at the highest rate that is forwarded without
//! loss. It shows the buffer in front of the bottleneck, so the throughput must be below that rate.

use crate::known;
use crate::prelude::*;
use key::kind::rate;
use method::search::{Precision, probe};
use std::collections::BTreeMap;

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "back-to-back",
    summary: "binary search for the longest burst at the highest rate that is forwarded without loss",
    metrics: &[
        BACK_TO_BACK_FRAMES,
        BACK_TO_BACK_FRAMES.part(
            "buffer_time_implied",
            "Implied buffer time",
            Unit::Nanoseconds,
            "The time of the longest burst at its rate.",
        ),
        BACK_TO_BACK_FRAMES.part(
            "buffer_time_corrected",
            "Corrected buffer time",
            Unit::Nanoseconds,
            "The implied buffer time without the frames that left while the burst arrived.",
        ),
    ],
    tables: &[KeyTable::of::<BackToBack>("back-to-back")],
    rate: Some(|keys| keys.get::<BackToBack>().rate),
    longest: |keys, _, _| keys.get::<BackToBack>().longest,
    search,
    known: KNOWN,
    ..Procedure::of(&BACK_TO_BACK_FRAMES)
};

/// The longest burst without loss.
pub const BACK_TO_BACK_FRAMES: Metric = Metric {
    key: "back_to_back_frames",
    title: "Back-to-back frames",
    unit: Unit::Frames,
    reference: "RFC 9004",
    // Section 5.4: the number of repetitions is reported, and no longer fixed.
    origin: Origin::Measured { repetitions: 1 },
    definition: "The longest burst per direction at the highest rate that is forwarded without loss.",
    trials: TrialKind::AtSizes,
    averaged: true,
    ..Metric::USUAL
};

key::table! {
    /// The search for the longest burst (RFC 9004). Bursts have the rate of the upper end of all searches (`max-rate`).
    pub struct BackToBack {
        /// The longest burst, as time at its rate; a burst of this length that passes is a lower bound only.
        longest: Nanos = "longest", duration(Nanos::from_millis(1)..=Nanos::from_secs(30)), or("30 s");
        /// The rate at which the device forwards without loss, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Searches for the longest burst per direction; rate and error of the result are frames. A burst
/// of the longest length that passes is a lower bound.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let settings = context.settings;
    settings.check()?;
    let (throughput, longest) = (context.throughput()?, context.keys.get::<BackToBack>().longest);
    let line = settings.hi;
    if throughput >= line {
        return Err(TrialError::NotMeasurable(format!(
            "the throughput is the rate of the bursts, {line} frames/s, so no burst fills a buffer (RFC 9004, section 4); raise \
             `max-rate`, or remove `back_to_back_frames`"
        )));
    }
    let most = line.frames_in(longest);
    let least = settings.direction.least_frames().max(1);
    if most <= least {
        return Err(TrialError::Refused("the longest burst has no frame; write a longer one".to_owned()));
    }
    let trial = data_trial(settings, context.phase2()?)?;
    let mut decider = Decider::new(trials, settings);
    let decide = |frames: Rate, patience: Patience| {
        // The queue is empty again.
        let drain = Nanos(throughput.max(Rate(1)).time_for(frames.0).0.saturating_sub(line.time_for(frames.0).0));
        let options = TrialOptions { drain: Some(drain), ..trial.options.clone() };
        let spec = TrialSpec { rate: line, load: Load::Frames(frames.0), options, ..trial.clone() };
        decider.decide(&spec, &probe(&spec), patience)
    };
    let precision = match settings.precision {
        // An error in frames per second says nothing about frames.
        Precision::Absolute(_) => SearchSettings::default().precision,
        relative @ Precision::Relative(_) => relative,
    };
    let ends = (Rate(0), Rate(most));
    let result = binary::search(None, ends, (Rate(least), Rate(least)), (precision, binary::never), decide, watch)?;
    let parts = if has_value(&result) { parts(result.rate.0, throughput, line) } else { BTreeMap::new() };
    Ok(SearchResult { parts, ..result })
}

fn has_value(result: &SearchResult) -> bool {
    result.kind.has_rate() && result.kind != ResultKind::NothingPassed
}

/// Time of the burst, and of the burst without the frames forwarded meanwhile (RFC 9004, section 6.4).
fn parts(frames: Count, throughput: Rate, line: Rate) -> BTreeMap<String, i64> {
    let implied = line.time_for(frames).0;
    let corrected = u128::from(implied) * u128::from(line.0 - throughput.0) / u128::from(line.0);
    let time = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
    BTreeMap::from([
        ("buffer_time_implied".to_owned(), time(implied)),
        ("buffer_time_corrected".to_owned(), time(u64::try_from(corrected).unwrap_or(u64::MAX))),
    ])
}

const KNOWN: &[KnownValue] = &[KnownValue {
    metric: BACK_TO_BACK_FRAMES.key,
    device: "holds 4,000 frames in its buffer",
    truth: Some(10_000),
    error: of_search(10_000),
    point: || {
        let keys = BackToBack { longest: Nanos::from_secs(30), rate: None };
        KnownPoint::new(keys, Truth { queue: 4_000, ..known::simulated() })
    },
}];
