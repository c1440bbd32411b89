//! What the trials of a measurement took, and why they took longer than predicted.

use method::{Nanos, PhaseKind, Rate, Spoiler, TrialRecord, Verdict};
use scenario::quantity::{show_grouped, show_time};

/// More than this many times the predicted time needs a reason, …
const LONG: u64 = 3;
/// … if it is at least this.
const FLOOR: Nanos = Nanos::from_secs(10);

/// Time of the trials of a measurement, waits included.
pub(super) struct Spent {
    pub all: Nanos,
    pub invalid: Nanos,
    /// In the phases 1 of valid trials.
    phase1: Nanos,
}

impl Spent {
    pub(super) fn in_trials(trials: &[&TrialRecord]) -> Spent {
        let (invalid, valid): (Vec<&TrialRecord>, Vec<_>) =
            trials.iter().partition(|trial| matches!(trial.verdict, Verdict::Invalid(_)));
        let sum = |of: &[&TrialRecord], time: fn(&TrialRecord) -> Nanos| {
            Nanos(of.iter().fold(0, |sum: u64, trial| sum.saturating_add(time(trial).0)))
        };
        Spent {
            all: sum(trials, |trial| trial.outcome.wall),
            invalid: sum(&invalid, |trial| trial.outcome.wall),
            phase1: sum(&valid, phase1),
        }
    }

    pub(super) fn is_long(&self, predicted: Nanos) -> bool {
        predicted.0 > 0 && self.all > Nanos(predicted.0.saturating_mul(LONG)).max(FLOOR)
    }

    /// What took at least half of the time, or else the number of trials.
    pub(super) fn why(&self, trials: &[&TrialRecord]) -> String {
        let (half, all) = (self.all.0 / 2, trials.len());
        if self.invalid.0 >= half {
            let reasons = trials.iter().filter_map(|trial| match trial.verdict {
                Verdict::Invalid(reason) => Some(reason),
                _ => None,
            });
            let by = |spoiler| move |reason: &method::Invalid| reason.spoiler() == spoiler;
            let most = [Spoiler::Host, Spoiler::Tester, Spoiler::Phase1]
                .map(|spoiler| reasons.clone().filter(by(spoiler)).collect::<Vec<_>>())
                .into_iter()
                .max_by_key(Vec::len)
                .unwrap_or_default();
            let example = most.last().map_or_else(String::new, ToString::to_string);
            return format!(
                "{} of {all} trials were invalid, {} of them for this reason: {example}",
                reasons.count(),
                most.len()
            );
        }
        if self.phase1.0 >= half {
            let slowest = trials.iter().filter_map(|trial| opened(trial)).min().unwrap_or_default();
            let slowest = show_grouped(slowest.0);
            return format!("phase 1 took {} of it, at {slowest} connections/s and more", show_time(self.phase1));
        }
        format!("the search needed {all} trials")
    }
}

/// Connections per second of the phase 1 of a trial.
fn opened(trial: &TrialRecord) -> Option<Rate> {
    let planned = trial.spec.opened_at()?;
    Some(trial.outcome.store.as_ref().and_then(|store| store.phase1_rate).unwrap_or(planned))
}

fn phase1(trial: &TrialRecord) -> Nanos {
    let before = trial.outcome.store.as_ref().filter(|_| trial.spec.kind == PhaseKind::Established);
    let attempts = before.map_or(1, |store| store.phase1_attempts.max(1));
    let once = opened(trial).map_or(Nanos(0), |rate| rate.time_for(trial.spec.connections));
    Nanos(once.0.saturating_mul(attempts.into())).min(trial.outcome.wall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::{Invalid, Load, StoreFacts, TrialOutcome, TrialSpec};

    #[test]
    fn what_took_most_of_the_time_is_the_reason() {
        let host = Verdict::Invalid(Invalid::HostStall { of_dut: false, stall: Nanos(50), queue_lasts: None });
        let tester = Verdict::Invalid(Invalid::TesterDrops { frames: 7 });
        let rows: [(&[&Verdict], Option<u64>, &str); 4] = [
            (
                &[&host, &host, &tester, &Verdict::Pass],
                None,
                "3 of 4 trials were invalid, 2 of them for this reason: a tester",
            ),
            (
                &[&tester, &Verdict::Pass],
                None,
                "1 of 2 trials were invalid, 1 of them for this reason: the tester's own",
            ),
            (&[&Verdict::Pass], Some(1_000), "phase 1 took 10.0 s of it, at 1,000 connections/s"),
            (&[&Verdict::Pass, &Verdict::Pass], Some(100_000), "the search needed 2 trials"),
        ];
        for (verdicts, opened, said) in rows {
            let record = |verdict: &&Verdict| TrialRecord {
                seq: 0,
                measurement: String::new(),
                spec: TrialSpec {
                    phase1_rate: opened.map(Rate),
                    ..TrialSpec::both_phases(Rate(1_000), Load::Frames(1), 10_000 * u64::from(opened.is_some()))
                },
                outcome: TrialOutcome {
                    wall: Nanos::from_secs(11),
                    store: opened.map(|rate| StoreFacts { phase1_rate: Some(Rate(rate)), ..StoreFacts::default() }),
                    ..TrialOutcome::default()
                },
                verdict: (*verdict).clone(),
            };
            let records: Vec<TrialRecord> = verdicts.iter().map(record).collect();
            let trials: Vec<&TrialRecord> = records.iter().collect();
            let spent = Spent::in_trials(&trials);
            assert!(spent.why(&trials).starts_with(said), "{said}: {}", spent.why(&trials));
            assert!(spent.is_long(Nanos::from_secs(1)) && !spent.is_long(Nanos::from_secs(30)));
        }
    }
}
