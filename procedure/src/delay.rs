//! Latency (RFC 8219 section 7.2), packet delay variation (section 7.3.1) and inter packet delay variation (section
//! 7.3.2): one trial at a rate that the DUT forwards, whose frames have time stamps. They differ in which frames have
//! stamps, and in the values that are computed from the delays. Loss does not invalidate a trial: a lost frame counts
//! with a delay, too (METHODOLOGY.md).

use crate::Procedure;
use crate::frame_loss::loss_ppm;
use method::judged::{Decision, Patience};
use method::search::{Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, data_trial, probe};
use method::trial::{Delays, Load, Observed, Stamps, TrialError, TrialOptions, TrialSpec, Trials};
use method::units::{Nanos, Rate};
use std::collections::BTreeMap;

/// Entry of latency in the list of procedures.
pub const LATENCY: Procedure = Procedure {
    key: "latency",
    title: "Latency",
    reference: "RFC 8219 section 7.2",
    metrics: &["latency"],
    phase1: false,
    stateful: false,
    at_throughput: true,
    summary: "median and 99.9th percentile of the delays of tagged frames at the throughput",
};

/// Entry of the packet delay variation.
pub const PDV: Procedure = Procedure {
    key: "pdv",
    title: "Packet delay variation",
    reference: "RFC 8219 section 7.3.1",
    metrics: &["pdv"],
    phase1: false,
    stateful: false,
    at_throughput: true,
    summary: "99.9th percentile minus minimum of the delays of all frames at the throughput",
};

/// Entry of the inter packet delay variation.
pub const IPDV: Procedure = Procedure {
    key: "ipdv",
    title: "Inter packet delay variation",
    reference: "RFC 8219 section 7.3.2",
    metrics: &["ipdv"],
    phase1: false,
    stateful: false,
    at_throughput: true,
    summary: "minimum, median and maximum difference of the delays of successive frames at the throughput",
};

/// Which values are taken from the delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Typical and worst-case latency.
    Latency,
    /// Packet delay variation.
    Pdv,
    /// Inter packet delay variation.
    Ipdv,
}

/// A trial with time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The values.
    pub values: Values,
    /// The rate per direction.
    pub rate: Rate,
    /// Duration of the trial.
    pub duration: Nanos,
    /// Which frames have stamps.
    pub stamps: Stamps,
}

/// Measures delays once. The values are parts of the result.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Refused`] if the trial has fewer frames than it needs.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Option<Phase2>,
    timed: &Timed,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let Timed { rate, duration, stamps, .. } = *timed;
    let options = TrialOptions { stamps: Some(stamps), ..settings.options.clone() };
    let spec = TrialSpec { rate, load: Load::For(duration), options, ..data_trial(settings, phase2)? };
    check(&spec, stamps, duration)?;
    watch(&Progress { lo: rate, hi: rate, rate, steps_left: 1 });
    // The delay is the result, whether frames are lost or not.
    let settings = SearchSettings { verify: None, ..settings.clone() };
    let judgement = Decider::new(trials, &settings).decide(&spec, &probe(&spec), Patience::Repeat)?;
    let mut result = SearchResult::empty();
    result.note(rate, &judgement);
    if let Decision::TesterBound(reason) | Decision::HostBound(reason) = judgement.decision {
        return Ok(SearchResult { kind: ResultKind::NothingMeasured, tester_limit: Some(reason), ..result });
    }
    let observed = judgement.last().outcome.observed.clone();
    let parts = parts(timed.values, stamps, &observed);
    let kind = if parts.is_empty() { ResultKind::NothingMeasured } else { ResultKind::Observed };
    Ok(SearchResult { rate, kind, parts, observed, ..result })
}

fn check(spec: &TrialSpec, stamps: Stamps, duration: Nanos) -> Result<(), TrialError> {
    let refuse = |text: String| Err(TrialError::Refused(text));
    let slower = spec.direction.forward().then(|| spec.frames_of(true));
    let slower = slower.into_iter().chain(spec.direction.reverse().then(|| spec.frames_of(false))).min().unwrap_or(0);
    if slower < 2 {
        return refuse(
            "a trial with time stamps needs at least two frames in each direction; use a higher rate".to_owned(),
        );
    }
    if let Stamps::Some { frames, from } = stamps {
        if from >= duration {
            return refuse("the first tagged frame is due after the end of the trial; use a longer trial".to_owned());
        }
        let left = slower.saturating_sub(spec.rate.frames_in(from));
        if left < frames {
            return refuse(format!(
                "after `from`, {left} frames remain in the trial, fewer than {frames} tags; use fewer `tags`"
            ));
        }
    }
    Ok(())
}

/// The values of all directions, by the keys of their metrics.
fn parts(values: Values, stamps: Stamps, observed: &Observed) -> BTreeMap<String, i64> {
    let signed = |time: Nanos| i64::try_from(time.0).unwrap_or(i64::MAX);
    let mut parts = BTreeMap::new();
    for (direction, delays) in observed.delays.iter() {
        let mut put = |name: &str, value: i64| parts.insert(format!("{name}_{direction}"), value);
        if delays.frames == 0 || delays.lost == delays.frames {
            // No frame has a delay, but the loss is one of the values.
            match (values, stamps) {
                _ if delays.frames == 0 => None,
                (Values::Latency, _) => put("latency_lost_tags", i64::try_from(delays.lost).unwrap_or(i64::MAX)),
                (Values::Pdv, Stamps::All { timeout: Some(_) }) => put("pdv_late", late_ppm(delays)),
                _ => None,
            };
            continue;
        }
        match values {
            Values::Latency => {
                put("latency_typical", signed(delays.median));
                put("latency_worst_case", signed(delays.p99_9));
                put("latency_lost_tags", i64::try_from(delays.lost).unwrap_or(i64::MAX));
            }
            Values::Pdv => {
                put("pdv", signed(delays.p99_9) - signed(delays.min));
                if let Stamps::All { timeout: Some(_) } = stamps {
                    put("pdv_late", late_ppm(delays));
                }
            }
            Values::Ipdv => {
                let Some(differences) = delays.differences else { continue };
                put("ipdv_min", differences.min);
                put("ipdv_median", differences.median);
                put("ipdv_max", differences.max);
            }
        }
    }
    parts
}

/// Frames that were lost or late, in parts per million of those sent.
fn late_ppm(delays: &Delays) -> i64 {
    loss_ppm(delays.lost + delays.late, delays.frames).cast_signed()
}
