//! Frame loss rate (RFC 2544 section 26.3): the share of lost frames at a series of falling loads. No trial fails,
//! because the loss is the result. Invalid trials are repeated.

use crate::Procedure;
use method::judged::{Decision, Patience};
use method::search::{
    Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, StepVerdict, data_trial, probe,
};
use method::trial::{TrialError, TrialSpec, Trials};
use method::units::{Count, Rate};

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "frame-loss",
    title: "Frame loss rate",
    reference: "RFC 2544 section 26.3",
    metrics: &["frame_loss_rate"],
    phase1: false,
    stateful: false,
    at_throughput: false,
    summary: "one trial at each of a series of falling loads, until two successive trials lose no frame",
};

/// Successive trials without loss after which the series ends.
const WITHOUT_LOSS: u32 = 2;

/// Measures the loss at each load, per direction; the highest load comes first.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Refused`] without loads.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Option<Phase2>,
    loads: &[Rate],
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let (Some(&highest), Some(&lowest)) = (loads.first(), loads.last()) else {
        return Err(TrialError::Refused("the frame loss rate needs at least one load".to_owned()));
    };
    let trial = data_trial(settings, phase2)?;
    let mut decider = Decider::new(trials, settings);
    let mut result = SearchResult::empty();
    let (mut without_loss, mut undecided) = (0, None);
    for (at, &rate) in loads.iter().enumerate() {
        watch(&Progress { lo: lowest, hi: highest, rate, steps_left: (loads.len() - at) as u32 });
        let spec = TrialSpec { rate, ..trial.clone() };
        let judgement = decider.decide(&spec, &probe(&spec), Patience::Repeat)?;
        result.note(rate, &judgement);
        if let Decision::TesterBound(reason) | Decision::HostBound(reason) = judgement.decision {
            (undecided, without_loss) = (Some(reason), 0);
            continue;
        }
        let step = result.trace.last().expect("a step was noted");
        without_loss = if step.lost == 0 { without_loss + 1 } else { 0 };
        if without_loss == WITHOUT_LOSS {
            break;
        }
    }
    let decided = |verdict| matches!(verdict, StepVerdict::Pass | StepVerdict::Fail);
    // The value is that of the highest load.
    let loss = result.trace.first().filter(|step| decided(step.verdict)).map(|step| loss_ppm(step.lost, step.sent));
    let kind = if loss.is_some() { ResultKind::Observed } else { ResultKind::NothingMeasured };
    Ok(SearchResult { rate: Rate(loss.unwrap_or(0)), kind, tester_limit: undecided, ..result })
}

/// Returns a loss in parts per million of the frames sent, rounded to the nearest.
pub fn loss_ppm(lost: Count, sent: Count) -> u64 {
    let (lost, sent) = (u128::from(lost), u128::from(sent.max(1)));
    ((lost * 1_000_000 + sent / 2) / sent) as u64
}

/// Returns the loads in steps of a share of the highest: for 10 %, ten loads from the highest to a tenth of it.
pub fn falling(highest: Rate, step_ppm: u32) -> Vec<Rate> {
    let steps = 1_000_000 / u64::from(step_ppm.max(1));
    let share = |k: u64| 1_000_000 - k * u64::from(step_ppm);
    (0..steps).map(|k| highest.scaled(share(k), 1_000_000)).filter(|load| load.0 > 0).collect()
}
