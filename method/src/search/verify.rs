//! Loss verification (ETSI GS NFV-TST 009): repeats the trial at a failed rate.

use super::Verify;
use crate::judged::{Decision, Judgement, Patience, TrialJudge};
use crate::trial::{Fault, TrialError, TrialOutcome, TrialSpec, Trials};
use crate::units::Count;

pub(super) fn decide(
    judged: &mut TrialJudge<&mut dyn Trials>,
    spec: &TrialSpec,
    patience: Patience,
    verify: Option<Verify>,
) -> Result<Judgement, TrialError> {
    let mut judgement = judged.decide(spec, patience)?;
    let Some(Verify { tries, at_most }) = verify else { return Ok(judgement) };
    for _ in 1..tries {
        let is_certain = at_most.is_some_and(|most| lost_of_sent(&judgement.last().outcome).0 > most);
        if is_certain || !matches!(judgement.decision, Decision::Fail(_)) {
            break;
        }
        let again = judged.decide(spec, patience)?;
        judgement.decision = again.decision;
        judgement.attempts.extend(again.attempts);
    }
    Ok(judgement)
}

pub(super) fn lost_of_sent(outcome: &TrialOutcome) -> (Count, Count) {
    let legs = [&outcome.forward, &outcome.reverse].into_iter().chain(&outcome.validation);
    legs.fold((0, 0), |(lost, sent), leg| (lost.saturating_add(leg.lost()), sent.saturating_add(leg.sent)))
}

/// Frames of a trial that arrived with a fault of the device, in all streams.
pub(super) fn wrong_of(outcome: &TrialOutcome) -> Count {
    let legs = [&outcome.forward, &outcome.reverse].into_iter().chain(&outcome.validation);
    let faults = legs.flat_map(|leg| leg.faults.of_device()).filter(|(fault, _)| *fault != Fault::Duplicate);
    faults.map(|(_, frames)| frames).sum()
}
