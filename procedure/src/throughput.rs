//! Throughput: the highest rate at which every frame sent is received right (RFC 2544 section 26.1), for stateless
//! devices and in phase 2 of a stateful test (RFC 9693 section 4.7). With an acceptance below 1 the result is a
//! conditional throughput and must be printed with its acceptance.

use crate::Procedure;
use method::judged::Patience;
use method::search::{Decider, Phase2, Progress, SearchResult, SearchSettings, binary, data_trial, keep, mlr, probe};
use method::trial::{EarlyEnd, Load, TrialError, TrialSpec, Trials};
use method::units::{Nanos, Rate};

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "throughput",
    title: "Throughput",
    reference: "RFC 2544 section 26.1; RFC 9693 section 4.7",
    metrics: &["throughput", "ipv4_forwarding_throughput"],
    phase1: false,
    stateful: false,
    at_throughput: false,
    summary: "search for the highest rate per direction at which all frames are received right",
};

/// Measures the throughput of a stateless device, of plain forwarding as a baseline, or in phase 2.
///
/// # Errors
/// As [`Trials::run`]; [`TrialError::DutDead`] if the tester receives nothing at a low rate either;
/// [`TrialError::Refused`] for settings without a result; [`TrialError::Phase1`] when phase 1 stays incomplete.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Option<Phase2>,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    settings.check()?;
    let mut trial = data_trial(settings, phase2)?;
    let acceptance = settings.criteria.acceptance;
    trial.options.early_end = settings.early_end.then_some(EarlyEnd { acceptance });
    let mut decider = Decider::new(trials, settings);
    let keeps = settings.keep_table && phase2.is_some();
    let kept = if keeps { Some(keep::open(&mut decider, &trial)?) } else { None };
    let mut decide = |rate: Rate, duration: Nanos, patience: Patience| {
        let spec = TrialSpec { rate, load: Load::For(duration), ..trial.clone() };
        decider.decide(&spec, &probe(&spec), patience)
    };
    let shortest = mlr::shortest(&settings.goals).unwrap_or(settings.duration);
    // At a lower rate the trial would send no frame in some direction.
    let least =
        (u128::from(settings.direction.least_frames()) * u128::from(Nanos::SECOND.0)).div_ceil(u128::from(shortest.0));
    let least = Rate(u64::try_from(least).unwrap_or(u64::MAX));
    let ends = (settings.lo, settings.hi);
    if !settings.goals.is_empty() {
        let measure = |rate, duration| decide(rate, duration, Patience::Repeat);
        return mlr::search((ends.0.max(least), ends.1), &settings.goals, measure, watch);
    }
    let decide = |rate, patience| decide(rate, settings.duration, patience);
    let by = (settings.precision, &settings.criteria);
    let mut result = binary::search_from(settings.warm, ends, (least, least), by, decide, watch)?;
    if let Some(kept) = kept {
        keep::close(&mut decider, &trial, kept, &mut result)?;
    }
    Ok(result)
}
