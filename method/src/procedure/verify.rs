//! Loss verification (ETSI GS NFV-TST 009): repeats the trial at a failed rate before the rate counts as failed. It
//! concerns one rate; the search chooses rates.

use super::Verify;
use crate::judged::{Decision, Judged, Judgement};
use crate::trial::{TrialError, TrialOutcome, TrialSpec, Trials};
use crate::units::Count;

/// Decides about a rate, with loss verification if configured.
pub(super) fn decide<T: Trials>(
    judged: &mut Judged<T>,
    spec: &TrialSpec,
    verify: Option<Verify>,
) -> Result<Judgement, TrialError> {
    let mut judgement = judged.decide(spec)?;
    let Some(Verify { tries }) = verify else { return Ok(judgement) };
    for _ in 1..tries {
        if !matches!(judgement.decision, Decision::Fail(_)) {
            break;
        }
        let again = judged.decide(spec)?;
        judgement.decision = again.decision;
        judgement.attempts.extend(again.attempts);
    }
    Ok(judgement)
}

/// Returns the number of frames lost in all streams of a trial.
pub(super) fn lost(outcome: &TrialOutcome) -> Count {
    let validation = outcome.validation.as_ref().map_or(0, crate::trial::Leg::lost);
    outcome.forward.lost().saturating_add(outcome.reverse.lost()).saturating_add(validation)
}
