//! Frame loss rate (RFC 2544 section 26.3): the share of lost frames at a series of falling loads. No trial fails,
//! because the loss is the result. Invalid trials are repeated.

use crate::known::{self, EXACT};
use crate::metric::{Metric, Unit};
use crate::{Context, Known, Procedure, Table, Watch};
use key::kind::{list, maybe, rate, share};
use key::quantity::WrittenRate;
use key::{computed, or};
use method::judged::{Decision, Patience};
use method::search::{
    Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, StepVerdict, data_trial, probe,
};
use method::trial::{TrialError, TrialSpec, Trials};
use method::units::{Count, Rate};

/// Entry in the list of procedures.
pub static PROCEDURE: Procedure = Procedure {
    key: "frame-loss",
    title: "Frame loss rate",
    reference: FRAME_LOSS_RATE.reference,
    summary: "one trial at each of a series of falling loads, until two successive trials lose no frame",
    metrics: &[FRAME_LOSS_RATE],
    tables: &[Table::of::<FrameLoss>("frame-loss")],
    search,
    known: KNOWN,
    ..Procedure::USUAL
};

/// The loss at each offered load.
pub const FRAME_LOSS_RATE: Metric = Metric {
    key: "frame_loss_rate",
    title: "Frame loss rate at the highest load",
    unit: Unit::PartsPerMillion,
    reference: "RFC 2544 section 26.3",
    higher_is_better: false,
    definition: "The share of the frames sent that are not received right, at each of a series of falling loads; the \
                 value is that at the highest load.",
    by_kind: true,
    ..Metric::USUAL
};

key::table! {
    /// The loads at which the frame loss rate is measured.
    pub struct FrameLoss {
        /// Distance of two loads, as a share of the highest; RFC 2544 allows at most 10 %.
        step_ppm: u32 = "step", share(), or("10 %").conforms();
        /// The loads themselves, for devices far below the line rate.
        loads: Option<Vec<WrittenRate>> = "loads", maybe(list(rate())), computed("from `max-rate` down in steps");
    }
}

impl FrameLoss {
    /// Returns the loads per direction, the highest first, for frames of this size. `highest` is the upper end of all
    /// searches; no load is above it.
    pub fn loads(&self, highest: Rate, frame: usize) -> Vec<Rate> {
        let Some(written) = &self.loads else { return falling(highest, self.step_ppm) };
        let mut loads: Vec<Rate> =
            written.iter().map(|load| Rate(load.frames_per_second(frame)).min(highest)).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.reverse();
        loads
    }
}

fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let loads = context.keys.get::<FrameLoss>().loads(context.settings.hi, context.frame[1]);
    measure(trials, context.settings, context.phase2()?, &loads, watch)
}

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

const KNOWN: &[Known] = &[Known {
    metric: FRAME_LOSS_RATE.key,
    device: "forwards 600,000 of 800,000 frames/s",
    truth: Some(250_000),
    unit: "ppm",
    error: EXACT,
    measure: || {
        measure(&mut known::device(known::simulated()), &known::settings(), None, &[Rate(800_000)], &mut |_| ())
    },
}];
