//! Keep-table mode, a departure from RFC 9693: the trials of a search share one phase 1. Proof:
//! reverse frames on a sample of connections, and the DUT's count, before and after the trials.

use super::{Decider, KeptTable, ResultKind, SearchResult};
use crate::judged::Patience;
use crate::trial::{Claim, Direction, Load, TrialError, TrialOptions, TrialOutcome, TrialSpec};
use crate::units::{Count, Rate};
use crate::validity::Invalid;
use crate::witness;

const SAMPLE: Count = 10_000;
/// Highest rate of the sample, at most that of phase 1.
const SAMPLE_RATE: Rate = Rate(10_000);

/// Opens the connections for all later trials, and proves that they exist.
///
/// # Errors
/// [`TrialError::Phase1`] if a connection of the sample does not answer; those of the trials.
pub fn open(decider: &mut Decider<'_>, trial: &TrialSpec) -> Result<KeptTable, TrialError> {
    let (lost, entries, outcome) = lost_in_sample(decider, trial)?;
    if lost > 0 {
        let advice = "lower phase1-rate, or remove keep-table";
        return Err(TrialError::Phase1(witness::unanswered(&sample(trial), &outcome, advice)));
    }
    decider.keep(true);
    Ok(KeptTable {
        sampled: sample(trial).frames(),
        lost_before: lost,
        lost_after: 0,
        entries_before: entries,
        entries_after: None,
        phases1: 1,
    })
}

/// Proves that the connections still exist; else the result is a lower bound.
pub fn close(
    decider: &mut Decider<'_>,
    trial: &TrialSpec,
    before: KeptTable,
    result: &mut SearchResult,
) -> Result<(), TrialError> {
    let (lost_after, entries_after, _) = lost_in_sample(decider, trial)?;
    let kept = KeptTable { lost_after, entries_after, phases1: decider.phases1, ..before };
    result.evidence.kept_table = Some(kept);
    if !kept.is_proven() {
        let (before, after) = (kept.entries_before, kept.entries_after);
        result.tester_limit = Some(Invalid::TableNotKept { sampled: kept.sampled, lost: lost_after, before, after });
        result.kind = match result.kind {
            ResultKind::Exact | ResultKind::Between | ResultKind::HostLimit => ResultKind::TesterLimit,
            ResultKind::NothingPassed | ResultKind::Below => ResultKind::NothingMeasured,
            other => other,
        };
    }
    Ok(())
}

/// Returns a trial with reverse frames on a sample of the connections, to prove that they exist.
pub fn sample(trial: &TrialSpec) -> TrialSpec {
    TrialSpec {
        rate: trial.phase1_rate.map_or(SAMPLE_RATE, |rate| rate.min(SAMPLE_RATE)),
        load: Load::Frames(trial.connections.min(SAMPLE)),
        direction: Direction::Reverse,
        claim: Claim::State,
        options: TrialOptions::default(),
        ..trial.clone()
    }
}

/// Runs a sample trial. Returns its lost frames, and the entries in the DUT's table if they are known.
fn lost_in_sample(
    decider: &mut Decider<'_>,
    trial: &TrialSpec,
) -> Result<(Count, Option<Count>, TrialOutcome), TrialError> {
    let spec = sample(trial);
    let outcome = decider.decide(&spec, &spec, Patience::Repeat)?.last().outcome.clone();
    // A frame that was not sent has no answer either.
    let lost = spec.frames().saturating_sub(outcome.reverse.received);
    let entries = outcome.store.as_ref().and_then(|store| store.dut_entries_after.or(store.dut_entries));
    Ok((lost, entries, outcome))
}
