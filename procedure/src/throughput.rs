//! Throughput: the highest rate at which every frame sent is received right (RFC 2544 section
//! 26.1), stateless or in phase 2 (RFC 9693 section 4.7). With an acceptance below 1 it is a
//! conditional throughput and must be printed with its acceptance.

use crate::known;
use crate::prelude::*;
use method::search::{LossLog, keep, mlr, no_rate, probe};
use method::trial::EarlyEnd;

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "throughput",
    summary: "search for the highest rate per direction at which all frames are received right",
    metrics: &[THROUGHPUT, IPV4_FORWARDING_THROUGHPUT],
    check: |asked| asked.needs_whole_phase1(&THROUGHPUT),
    search: |context, trials, watch| measure(trials, context.settings, context.phase2()?, watch),
    known: KNOWN,
    ..Procedure::of(&THROUGHPUT)
};

/// Throughput of the DUT; in phase 2 if it is stateful.
pub const THROUGHPUT: Metric = Metric {
    key: "throughput",
    title: "Throughput",
    unit: Unit::FramesPerSecond,
    reference: "RFC 2544 section 26.1; RFC 9693 section 4.7",
    definition: "The highest rate per direction at which the number of right frames received equals the number sent.",
    gives: Some(Gives::Throughput),
    by_kind: true,
    trials: TrialKind::Searched,
    ..Metric::USUAL
};

/// Throughput of the same device without the function under test.
pub const IPV4_FORWARDING_THROUGHPUT: Metric = Metric {
    key: "ipv4_forwarding_throughput",
    title: "IPv4 forwarding throughput (baseline)",
    unit: Unit::FramesPerSecond,
    reference: "RFC 2544 section 26.1",
    definition: "The throughput of the same device with the same ports and frames when it only forwards IPv4.",
    gives: Some(Gives::Throughput),
    baseline_of: Some(THROUGHPUT.key),
    trials: TrialKind::Searched,
    ..Metric::USUAL
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
    let mut losses = LossLog::new(settings.goals.first().map_or(Ratio::ZERO, |goal| goal.loss));
    let mut decide = |rate: Rate, duration: Nanos, patience: Patience| {
        let spec = TrialSpec { rate, load: Load::For(duration), ..trial.clone() };
        let judgement = decider.decide(&spec, &probe(&spec), patience)?;
        losses.learn(rate, &judgement);
        Ok(judgement)
    };
    let shortest = mlr::shortest(&settings.goals).unwrap_or(settings.duration);
    // Below it some direction would send no frame.
    let least = Rate::at_least(settings.direction.least_frames(), shortest);
    let ends = (settings.lo, settings.hi);
    let result = if settings.goals.is_empty() {
        let decide = |rate, patience| decide(rate, settings.duration, patience);
        binary::search(settings.warm, ends, (least, least), (settings.precision, no_rate::ends), decide, watch)?
    } else {
        let measure = |rate, duration| decide(rate, duration, Patience::Repeat);
        mlr::search((ends.0.max(least), ends.1), &settings.goals, measure, watch)?
    };
    let duration = settings.goals.first().map_or(settings.duration, |goal| goal.final_duration);
    let duration = Nanos(duration.0.saturating_mul(no_rate::LONGER));
    let again = |rate: Rate| {
        let options = TrialOptions { early_end: None, ..trial.options.clone() };
        let spec = TrialSpec { rate, load: Load::For(duration), options, ..trial.clone() };
        Ok((decider.decide(&spec, &probe(&spec), Patience::Repeat)?, Some(duration)))
    };
    let mut result = losses.conclude(result, least.max(settings.lo), again, watch)?;
    if let Some(kept) = kept {
        keep::close(&mut decider, &trial, kept, &mut result)?;
    }
    Ok(result)
}

const KNOWN: &[KnownValue] = &[
    KnownValue {
        metric: THROUGHPUT.key,
        device: "forwards 600,000 frames/s each way",
        truth: Some(600_000),
        error: of_search(600_000),
        point: || KnownPoint::new((), known::simulated()),
    },
    KnownValue {
        metric: THROUGHPUT.key,
        device: "faster than a slow tester",
        truth: None,
        error: EXACT,
        point: || KnownPoint::new((), Truth { tester_ceiling: Rate(100_000), ..known::simulated() }),
    },
];
