//! Where a device spends its time: the throughput trial once more, while call stacks of the device are sampled. It
//! shows which functions take the time, and which share of it is spent waiting for locks. Sampling takes CPU time, so
//! that the frames of this trial give no result.

use crate::keys::LENGTHS;
use crate::known::{self, CAPACITY, EXACT, HELD};
use crate::metric::{Metric, Origin, Unit};
use crate::{Context, Known, Procedure, Table, Watch};
use key::kind::{duration, maybe, number, rate};
use key::quantity::WrittenRate;
use key::{computed, or};
use method::judged::{Decision, Patience};
use method::ratio::Ratio;
use method::search::bottleneck::{CoreLoads, Limit, LockWait, Seen};
use method::search::{Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, data_trial, probe};
use method::simulated::ControlTruth;
use method::trial::{Load, Profiler, TrialError, TrialOptions, TrialSpec, Trials};
use method::units::{Nanos, Rate};

/// Entry in the list of procedures.
pub static PROCEDURE: Procedure = Procedure {
    key: "profiling",
    title: LOCK_WAIT.title,
    reference: LOCK_WAIT.reference,
    summary: "functions in which the device spends its time in a trial at the throughput, and its share that waits for locks",
    metrics: &[LOCK_WAIT],
    at_throughput: true,
    profiles: true,
    tables: &[Table::of::<Stacks>("profiling")],
    rate: |keys| keys.get::<Stacks>().rate,
    longest: |keys, _, _| keys.get::<Stacks>().duration,
    search,
    known: KNOWN,
    ..Procedure::USUAL
};

/// The time that waits for locks.
pub const LOCK_WAIT: Metric = Metric {
    key: "lock_wait",
    title: "Time that waits for locks",
    unit: Unit::PartsPerMillion,
    reference: "METHODOLOGY.md, profile",
    origin: Origin::Measured { repetitions: 1 },
    higher_is_better: false,
    definition: "The share of the device's working time that waits for locks, of samples in a trial at the throughput.",
    ..Metric::USUAL
};

key::table! {
    /// The trial beside which the call stacks of the device are sampled (`profile`).
    pub struct Stacks {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("10 s");
        /// Samples of each core per second.
        frequency: u32 = "frequency", number(1..=10_000), or("999");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let Stacks { duration, frequency, .. } = *context.keys.get();
    let profiling = Profiling { rate: context.throughput()?, limit: context.limit, duration, frequency };
    measure(trials, context.settings, context.phase2()?, profiling, watch)
}

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

const KNOWN: &[Known] = &[Known {
    metric: LOCK_WAIT.key,
    device: "waits for locks in 12.5 % of its time",
    truth: Some(125_000),
    unit: "ppm",
    error: EXACT,
    measure: || {
        let (duration, frequency) = (Nanos::from_secs(10), 1_000);
        let profiling = Profiling { rate: CAPACITY, limit: Limit::Unknown, duration, frequency };
        let waiting = Ratio::from_ppm(125_000);
        let mut device = known::controlled(ControlTruth { waiting, ..ControlTruth::default() });
        measure(&mut device, &known::settings(), Some(HELD), profiling, &mut |_| ())
    },
}];
