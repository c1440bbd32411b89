//! Exit codes with names (docs/exit-codes.md), so that scripts can distinguish a wrong scenario
//! from a device that does not answer.

use method::ResultKind;
use record::folder::Outcome;
use std::process::ExitCode;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// Any other failure.
    Failed = 1,
    /// Wrong command line or scenario; nothing was changed.
    Usage = 2,
    /// A value is bound by tester or host.
    TesterLimit = 3,
    /// The device under test does not answer.
    DutUnreachable = 4,
    /// `natmeter resume` continues the run.
    Interrupted = 5,
    /// A value has no result: the time limit, a device that could not be prepared, or a lost connection to its host.
    Incomplete = 6,
    /// An interface was deleted or switched off.
    InterfaceLost = 7,
    /// `compare --bisect`: `git bisect run` skips the revision.
    Undecided = 125,
}

impl Exit {
    /// All exits by code.
    pub const ALL: [Exit; 9] = [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::TesterLimit,
        Exit::DutUnreachable,
        Exit::Interrupted,
        Exit::Incomplete,
        Exit::InterfaceLost,
        Exit::Undecided,
    ];

    /// The name, for scripts and reports.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed",
            Exit::Usage => "usage",
            Exit::TesterLimit => "tester-limit",
            Exit::DutUnreachable => "dut-unreachable",
            Exit::Interrupted => "interrupted",
            Exit::Incomplete => "incomplete",
            Exit::InterfaceLost => "interface-lost",
            Exit::Undecided => "undecided",
        }
    }

    /// The meaning, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Exit::Done => "success; of a run: every value has a figure with its interval",
            Exit::Failed => "any other failure; of a run: do not use its results",
            Exit::Usage => "wrong command line or scenario; nothing was changed",
            Exit::TesterLimit => "a value is only a bound, set by tester or host, not by the device",
            Exit::DutUnreachable => "the device under test does not answer",
            Exit::Interrupted => "interrupted; `natmeter resume` continues a run that had begun",
            Exit::Incomplete => "a value has no result; `natmeter resume` continues the run",
            Exit::InterfaceLost => "an interface of the gateway was deleted or switched off",
            Exit::Undecided => "of `compare --bisect`: the values decide nothing; `git bisect run` skips the revision",
        }
    }
}

impl Exit {
    /// The exit code of the results of a run. `is_upper_end_the_testers` says whether the upper end
    /// of a search is that of the tester, and not the scenario's `max-rate`.
    ///
    /// Each value counts with its median. If more than half of its repetitions have a figure, the
    /// median lies between figures of the device, wherever the others lie. So noise in single
    /// repetitions does not change the exit code.
    pub fn of_results(outcomes: &[Outcome], is_upper_end_the_testers: impl Fn(&Outcome) -> bool) -> Exit {
        let is_figure = |outcome: &&Outcome| match outcome.result.kind {
            ResultKind::Exact
            | ResultKind::Observed
            | ResultKind::Strict
            | ResultKind::Between
            | ResultKind::NothingPassed => true,
            ResultKind::AtUpperLimit => !is_upper_end_the_testers(outcome),
            ResultKind::TesterLimit | ResultKind::HostLimit | ResultKind::Below | ResultKind::NothingMeasured => false,
        };
        let is_bound = |one: &Outcome| {
            let same = |other: &&Outcome| one.measurement.is_of_the_value_of(&other.measurement);
            let all = outcomes.iter().filter(same).count();
            outcomes.iter().filter(same).filter(is_figure).count() * 2 <= all
        };
        if outcomes.iter().any(is_bound) { Exit::TesterLimit } else { Exit::Done }
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
        for exit in Exit::ALL {
            let row = format!("| {} | `{}` | {} |", exit as u8, exit.name(), exit.about());
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn codes_stand_in_order() {
        assert!(Exit::ALL.into_iter().map(|exit| exit as u8).eq((0..=7).chain([125])));
    }
}
