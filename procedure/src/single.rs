//! Trials whose observations are the result of a procedure, whether frames are lost or not.

use crate::{Context, Watch};
use method::judged::{Decision, Patience};
use method::search::{Decider, Progress, SearchResult, SearchSettings, probe};
use method::trial::{Observed, TrialError, TrialSpec, Trials};

/// Runs trials. Returns the result, and the observations of each trial; none if tester or host invalidated a trial.
///
/// # Errors
/// The errors of [`Trials::run`].
pub(crate) fn observe(
    context: &Context<'_>,
    specs: &[TrialSpec],
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<(SearchResult, Vec<Observed>), TrialError> {
    let settings = SearchSettings { verify: None, ..context.settings.clone() };
    let mut decider = Decider::new(trials, &settings);
    let (mut result, mut observed) = (SearchResult::empty(), Vec::new());
    for (at, spec) in specs.iter().enumerate() {
        let rate = spec.rate;
        watch(&Progress { lo: rate, hi: rate, rate, steps_left: (specs.len() - at) as u32 });
        let judgement = decider.decide(spec, &probe(spec), Patience::Repeat)?;
        result.note(rate, &judgement);
        if let Decision::TesterBound(reason) | Decision::HostBound(reason) = judgement.decision {
            return Ok((result.nothing_measured(reason), Vec::new()));
        }
        observed.push(judgement.last().outcome.observed.clone());
    }
    Ok((result, observed))
}
