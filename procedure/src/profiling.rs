//! Where a device spends its time: the throughput trial once more, while call stacks of the device are sampled. It
//! shows which functions take the time, and which share of it is spent waiting for locks. Sampling takes CPU time, so
//! that the frames of this trial give no result.

use crate::Procedure;
use crate::metric::LOCK_WAIT;
use method::judged::{Decision, Patience};
use method::search::bottleneck::{CoreLoads, Limit, LockWait, Seen};
use method::search::{Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, data_trial, probe};
use method::trial::{Load, Profiler, TrialError, TrialOptions, TrialSpec, Trials};
use method::units::{Nanos, Rate};

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "profiling",
    title: LOCK_WAIT.title,
    reference: LOCK_WAIT.reference,
    metrics: &[LOCK_WAIT.key],
    phase1: false,
    stateful: false,
    at_throughput: true,
    summary: "functions in which the device spends its time in a trial at the throughput, and its share that waits for locks",
};

/// Parameters of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profiling {
    /// The rate per direction.
    pub rate: Rate,
    /// What limits it.
    pub limit: Limit,
    /// Its duration.
    pub duration: Nanos,
    /// Samples of each core per second.
    pub frequency: u32,
}

/// Samples call stacks once. The value is the share of time that is spent waiting for locks, in parts per million.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::NotMeasurable`] if the device cannot be profiled, or had no samples.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Option<Phase2>,
    profiling: Profiling,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let Profiling { rate, limit, duration, frequency } = profiling;
    watch(&Progress { lo: rate, hi: rate, rate, steps_left: 1 });
    let options = TrialOptions { profiler: Some(Profiler { frequency }), sampler: None, ..settings.options.clone() };
    let spec = TrialSpec { rate, load: Load::For(duration), options, ..data_trial(settings, phase2)? };
    let settings = SearchSettings { verify: None, ..settings.clone() };
    let mut decider = Decider::new(trials, &settings);
    let mut result = SearchResult::empty();
    let judgement = decider.decide(&spec, &probe(&spec), Patience::Repeat)?;
    result.note(rate, &judgement);
    // A trial that missed its rate shows the device under another load. Host noise only reduces the number of samples:
    // those of other programs are counted separately.
    if let Decision::TesterBound(reason) = judgement.decision {
        return Ok(result.nothing_measured(reason));
    }
    let profile = judgement.last().outcome.observed.profile.clone().unwrap_or_default();
    let nothing =
        || TrialError::NotMeasurable("no call stack of the device was sampled; use a longer trial".to_owned());
    let locks = LockWait::of_profile(&profile).ok_or_else(nothing)?;
    let loads = CoreLoads::of_profile(&profile).into_iter().collect();
    result.evidence.bottleneck = Seen { limit, boxes: 1, loads, locks: Some(locks) }.bottleneck();
    result.observed.profile = Some(profile);
    Ok(SearchResult { rate: Rate(locks.waits.into()), kind: ResultKind::Observed, ..result })
}
