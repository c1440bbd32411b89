//! One trial whose observations are the result of a procedure, whether frames are lost or not.

use crate::Watch;
use method::judged::{Decision, Patience};
use method::search::{Decider, Progress, SearchResult, SearchSettings, probe};
use method::trial::{Observed, TrialError, TrialSpec, Trials};

/// Returns the result so far, and what the trial observed: `None` if tester or host made it invalid.
///
/// # Errors
/// As [`Trials::run`].
pub(crate) fn observe(
    settings: &SearchSettings,
    spec: &TrialSpec,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<(SearchResult, Option<Observed>), TrialError> {
    let rate = spec.rate;
    watch(&Progress { lo: rate, hi: rate, rate, steps_left: 1 });
    let settings = SearchSettings { verify: None, ..settings.clone() };
    let judgement = Decider::new(trials, &settings).decide(spec, &probe(spec), Patience::Repeat)?;
    let mut result = SearchResult::empty();
    result.note(rate, &judgement);
    Ok(match judgement.decision {
        Decision::TesterBound(reason) | Decision::HostBound(reason) => (result.nothing_measured(reason), None),
        _ => (result, Some(judgement.last().outcome.observed.clone())),
    })
}
