//! Remarks on searches that saved time or sent traffic that does not count, with what shows that the result does not depend on
//! it.

use super::number::{self, grouped, plural};
use super::result::{PHASE1_RATE, PointResult};
use method::search::{KeptTable, ValidationCap};
use method::trial::WarmUpFrames;
use method::{Invalid, Rate, ResultKind};
use procedure::metric::Gives;

/// Repetitions whose kept table changed, so that their rates are lower bounds.
pub(super) fn not_kept(result: &PointResult) -> usize {
    let changed = |reason: &Invalid| matches!(reason, Invalid::TableNotKept { .. });
    result.repetitions.iter().filter(|r| r.undecided.as_ref().is_some_and(changed)).count()
}

/// The remarks on a result; none on a search with its defaults.
pub(super) fn remarks(result: &PointResult) -> Vec<String> {
    let evidence = || result.repetitions.iter().map(|repetition| &repetition.evidence);
    let mut remarks = Vec::new();
    let all = result.repetitions.len();
    let warm = evidence().filter(|evidence| evidence.warm.is_some()).count();
    if warm > 0 {
        remarks.push(format!(
            "warm start in {warm} of {}: the search began at the bounds of an earlier one, and proved both of its own bounds",
            plural(all as u64, "repetition")
        ));
    }
    let ended: u64 = evidence().map(|evidence| evidence.ended_early).sum();
    if ended > 0 {
        remarks.push(format!(
            "{ended} of {} ended early, because their loss exceeded what the acceptance and noise allow; none counts as a trial of \
             full length",
            plural(result.trials, "trial")
        ));
    }
    remarks.extend(evidence().filter_map(|evidence| evidence.warm_up).reduce(WarmUpFrames::plus).map(warmed));
    let caps: Vec<ValidationCap> = evidence().filter_map(|evidence| evidence.validation_cap).collect();
    remarks.extend(cap(&caps));
    let kept: Vec<KeptTable> = evidence().filter_map(|evidence| evidence.kept_table).collect();
    remarks.extend(table(result, &kept));
    if result.gives(Gives::TableSize) && result.bound == ResultKind::Observed {
        let more = result.error.0;
        let more = if more > 0 { format!("; the capacity is up to {} larger", grouped(more)) } else { String::new() };
        remarks.push(format!(
            "counted in trials with more connections than the table holds, because the scenario gives its policy{more}"
        ));
    }
    remarks
}

fn warmed(all: WarmUpFrames) -> String {
    format!(
        "warm-up before each trial, not counted: {} in all, of which {} arrived right before its drain ended",
        plural(all.sent, "frame"),
        grouped(all.received)
    )
}

fn cap(caps: &[ValidationCap]) -> Option<String> {
    let first = caps.first()?;
    let limited = caps.iter().filter(|cap| cap.limited).count();
    let effect = match limited {
        0 => "the limit was above alpha times the rate in every repetition".to_owned(),
        n => format!("the limit was below alpha times the rate in {n} of {}", plural(caps.len() as u64, "repetition")),
    };
    Some(format!(
        "validated at no more than {} per second, 0.9 of the measured reverse one-way throughput of {}; {effect}",
        grouped(first.cap.0),
        grouped(first.reverse.0)
    ))
}

fn table(result: &PointResult, kept: &[KeptTable]) -> Option<String> {
    let first = kept.first()?;
    let phases1: u64 = kept.iter().map(|kept| kept.phases1).sum();
    let sample = grouped(first.sampled);
    let proof = match (kept.iter().filter(|kept| !kept.is_proven()).count(), first.entries_before) {
        (0, Some(_)) => format!(
            "a sample of {sample} connections answered in reverse before and after, and the device counted as many entries"
        ),
        (0, None) => {
            format!("a sample of {sample} connections answered in reverse before and after; the device cannot count")
        }
        (n, _) => format!(
            "in {n} of {} the table changed meanwhile, so that the rate is a lower bound",
            plural(kept.len() as u64, "repetition")
        ),
    };
    let rate = result.extra.get(PHASE1_RATE).map(|rate| Rate(*rate as u64)).filter(|rate| rate.0 > 0);
    let saved =
        rate.map(|rate| rate.time_for(result.connections).0.saturating_mul(result.trials.saturating_sub(phases1)));
    let saved = saved.map_or(String::new(), |time| format!(", which took {} less", number::duration(time)));
    Some(format!(
        "{} for {} in phase 2{saved} (RFC 9693, section 4.4, has an empty table for each): {proof}",
        if phases1 == 1 { "1 phase 1".to_owned() } else { format!("{phases1} phases 1") },
        plural(result.trials, "trial")
    ))
}
