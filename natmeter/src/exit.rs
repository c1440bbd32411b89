//! Exit codes with names (docs/exit-codes.md), so that scripts can distinguish a wrong scenario
//! from a device that does not answer.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use method::ResultKind;
use record::folder::Outcome;
use std::process::ExitCode;

/// An exit code. Scripts see its name, and people the line above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exit {
    /// success; of a run: every value is a figure of the device; `How sure?` says how sure
    Done = 0,
    /// any other failure; of a run: do not use its results
    Failed = 1,
    /// wrong command line or scenario; nothing was changed
    Usage = 2,
    /// a value is only a bound, set by tester or host, not by the device
    TesterLimit = 3,
    /// the device under test does not answer
    DutUnreachable = 4,
    /// interrupted; `natmeter resume` continues a run that had begun
    Interrupted = 5,
    /// a value has no result, or no rate causes its loss; `natmeter resume` continues a run that is not finished
    Incomplete = 6,
    /// an interface of the gateway was deleted or switched off
    InterfaceLost = 7,
    /// of a run: a value misses its limit
    LimitMissed = 8,
    /// of a run: a limit is undecided, because its value is a bound, or its interval contains the limit
    LimitUndecided = 9,
    /// of `compare --bisect`: the values decide nothing; `git bisect run` skips the revision
    Undecided = 125,
}

impl Exit {
    pub(crate) fn all() -> impl Iterator<Item = Exit> {
        Exit::value_variants().iter().copied()
    }

    pub(crate) fn name(self) -> String {
        self.value().get_name().to_owned()
    }

    pub(crate) fn about(self) -> String {
        self.value().get_help().map(ToString::to_string).unwrap_or_default()
    }

    fn value(self) -> PossibleValue {
        self.to_possible_value().expect("no exit code is hidden")
    }

    /// The exit code of the results of a run. `is_upper_end_the_testers` says whether the upper end
    /// of a search is that of the tester, and not the scenario's `max-rate`.
    ///
    /// Each value counts with its median. If more than half of its repetitions have a figure, the
    /// median lies between figures of the device, wherever the others lie. So noise in single
    /// repetitions does not change the exit code.
    pub(crate) fn of_results(outcomes: &[Outcome], is_upper_end_the_testers: impl Fn(&Outcome) -> bool) -> Exit {
        let is_figure =
            |outcome: &&Outcome| outcome.result.kind.is_figure().unwrap_or_else(|| !is_upper_end_the_testers(outcome));
        let at_most_half = |one: &Outcome, is: &dyn Fn(&&Outcome) -> bool| {
            let same = |other: &&Outcome| one.measurement.is_of_the_value_of(&other.measurement);
            let all = outcomes.iter().filter(same).count();
            outcomes.iter().filter(same).filter(is).count() * 2 <= all
        };
        let has_rate = |outcome: &&Outcome| outcome.result.kind != ResultKind::NoRate;
        if outcomes.iter().any(|one| at_most_half(one, &has_rate)) {
            Exit::Incomplete
        } else if outcomes.iter().any(|one| at_most_half(one, &is_figure)) {
            Exit::TesterLimit
        } else {
            Exit::Done
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One value with repetitions that end like this.
    fn outcomes(kinds: &[ResultKind]) -> Vec<Outcome> {
        let outcome = |(at, kind): (usize, &ResultKind)| {
            let point = serde_json::json!({ "dut": 0, "dut_name": "x", "connections": 0, "cores": 1 });
            let outcome = serde_json::json!({
                "measurement": { "point": point, "metric": "throughput", "repetition": at + 1, "predicted": 0 },
                "directions": 2, "shares_core": false, "rate": 1_000, "kind": kind, "error": 10, "one_sided": false,
                "closed_loop": false, "trace": [], "trials": 1, "invalid_repeats": 0, "phase1_lost": 0, "phase1_rate": null,
                "table_changes": 0, "lost_at_rate": 0,
            });
            serde_json::from_value(outcome).unwrap()
        };
        kinds.iter().enumerate().map(outcome).collect()
    }

    #[test]
    fn noise_in_single_repetitions_does_not_change_the_exit_code() {
        use ResultKind::{AtUpperLimit, Below, Between, Exact, HostLimit, NothingMeasured, NothingPassed, TesterLimit};
        let code = |kinds: &[ResultKind], is_the_testers| Exit::of_results(&outcomes(kinds), |_| is_the_testers);
        for kinds in [
            &[Exact][..],
            &[Exact, Exact, HostLimit],
            &[Exact, Between, NothingMeasured],
            &[Between, Below, Exact, Exact, TesterLimit],
            // The device loses frames at every rate: that is a finding.
            &[NothingPassed, NothingPassed],
            &[],
        ] {
            assert_eq!(code(kinds, true), Exit::Done, "{kinds:?}");
        }
        for kinds in [
            &[TesterLimit][..],
            &[NothingMeasured],
            &[HostLimit, Exact],
            &[Exact, Exact, AtUpperLimit, TesterLimit],
            &[Below, NothingMeasured, Exact],
        ] {
            assert_eq!(code(kinds, true), Exit::TesterLimit, "{kinds:?}");
        }
        assert_eq!(code(&[AtUpperLimit], false), Exit::Done, "the device reaches the scenario's `max-rate`");
        assert_eq!(code(&[AtUpperLimit], true), Exit::TesterLimit);
    }

    #[test]
    fn each_value_counts_for_itself() {
        let mut all = outcomes(&[ResultKind::Exact; 5]);
        let mut other = outcomes(&[ResultKind::HostLimit]);
        other[0].measurement.metric = "max_conn_est_rate".into();
        all.extend(other);
        assert_eq!(Exit::of_results(&all, |_| true), Exit::TesterLimit);
    }

    /// The page of exit codes has all of them, in the words of `--help`.
    #[test]
    fn the_page_of_exit_codes_is_complete() {
        let page = include_str!("../../docs/exit-codes.md");
        for exit in Exit::all() {
            let row = format!("| {} | `{}` | {} |", exit as u8, exit.name(), exit.about());
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn codes_stand_in_order() {
        assert!(Exit::all().map(|exit| exit as u8).eq((0..=9).chain([125])));
    }
}
