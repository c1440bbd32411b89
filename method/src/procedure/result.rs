//! The result of a search and of its repetitions. Its own file because it is what the run folder and every
//! report hold: a rate never stands alone, but with what bounded it, the error, and everything repeated.

use super::verify::lost;
use crate::judged::{Decision, Judgement};
use crate::units::{Count, Rate};
use crate::validity::{Invalid, Spoiler, Verdict, table_changed};
use serde::{Deserialize, Serialize};

/// What bounds the result from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultKind {
    /// The DUT failed at most the error above the rate, and the error is about what was asked for.
    Exact,
    /// The upper end of the search passed: the DUT may do more, print "≥".
    AtUpperLimit,
    /// The tester could not try more, and nothing failed: print "≥", never as the DUT's number.
    TesterLimit,
    /// The host spoiled every trial above, and nothing failed: print "≥".
    HostLimit,
    /// Tester or host left every rate in between undecided, long before the bounds were as close as asked for: what the DUT
    /// can do lies between `rate` and `rate` + `error`. Print "≥".
    Between,
    /// Frames came back, but no rate passed, not even the lowest: there is no rate to print.
    NothingPassed,
    /// No rate passed, `error` is the lowest that failed, and every trial below it was spoiled: the DUT does less than that,
    /// and there is no rate to print.
    Below,
    /// Not a single trial was worth anything: nothing is known about the DUT, there is no rate to print.
    NothingMeasured,
}

impl ResultKind {
    /// All of them, the one that says least first.
    pub const WEAKEST_FIRST: [ResultKind; 8] = [
        ResultKind::NothingMeasured,
        ResultKind::Below,
        ResultKind::NothingPassed,
        ResultKind::TesterLimit,
        ResultKind::HostLimit,
        ResultKind::AtUpperLimit,
        ResultKind::Between,
        ResultKind::Exact,
    ];

    /// Its name in records and reports.
    pub fn name(self) -> &'static str {
        match self {
            ResultKind::Exact => "exact",
            ResultKind::TesterLimit => "tester-limit",
            ResultKind::AtUpperLimit => "at-upper-limit",
            ResultKind::HostLimit => "host-limit",
            ResultKind::Between => "between",
            ResultKind::Below => "below",
            ResultKind::NothingPassed => "nothing-passed",
            ResultKind::NothingMeasured => "nothing-measured",
        }
    }

    /// Whether there is a rate: one that passed, or that none did. Without one a result has no part in statistics.
    pub fn has_rate(self) -> bool {
        !matches!(self, ResultKind::NothingMeasured | ResultKind::Below)
    }

    /// Whether the rate is a lower bound of what the DUT can do.
    pub fn at_least(self) -> bool {
        use ResultKind::{AtUpperLimit, Between, HostLimit, TesterLimit};
        matches!(self, AtUpperLimit | TesterLimit | HostLimit | Between)
    }
}

/// What a step of the search gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepVerdict {
    /// The DUT carried the rate.
    Pass,
    /// It did not.
    Fail,
    /// The tester could not tell.
    TesterBound,
    /// The host spoiled every trial.
    HostBound,
}

/// One step of a search: a point of its trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchStep {
    /// The rate, per direction.
    pub rate: Rate,
    /// What is known about it.
    pub verdict: StepVerdict,
    /// Why not, in words; empty for a pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The figure is that of DUT and tester together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed_loop: bool,
    /// Trials run for it.
    pub trials: Count,
    /// Of these: worth nothing.
    pub invalid: Count,
    /// Frames lost in the deciding trial, all streams together; printed under every tolerance.
    pub lost: Count,
}

/// The result of one search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The highest rate that passed, per direction; 0 when none did. Never the last rate tried.
    pub rate: Rate,
    /// What bounds it from above.
    pub kind: ResultKind,
    /// Distance from `rate` to the lowest rate known not to pass; 0 at the upper limit.
    pub error: Rate,
    /// The last eight decisions were all alike: one early verdict may have pinned the result.
    pub one_sided: bool,
    /// The final upper bound failed in a closed loop: print "closed loop, tester included".
    pub closed_loop: bool,
    /// At the final upper bound all connections were set up and their validation failed: alpha times that rate may be more
    /// than the DUT sends back, so that the rate need not be the one at which it sets up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub validation_failed: bool,
    /// Every decision, in order.
    pub trace: Vec<SearchStep>,
    /// Trials run.
    pub trials: Count,
    /// Of these: worth nothing, and repeated.
    pub invalid_repeats: Count,
    /// Of these: spoiled by the host.
    #[serde(default)]
    pub spoiled_by_host: Count,
    /// Connections that the phases 1 before phase 2 trials lost in all.
    pub phase1_lost: Count,
    /// The slowest phase 1 that was used, connections per second; `None` without one.
    pub phase1_rate: Option<Rate>,
    /// Phase 2 trials after which the DUT's table had another size than before.
    pub table_changes: Count,
    /// The step at `rate` passed with this many frames lost; above 0 only with an acceptance below 1.
    pub lost_at_rate: Count,
    /// What made the final upper bound invalid: with [`ResultKind::TesterLimit`], [`ResultKind::HostLimit`],
    /// [`ResultKind::Below`] and [`ResultKind::NothingMeasured`]; and what ended the search before its bounds were as close as asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester_limit: Option<Invalid>,
}

impl SearchResult {
    /// A result of which nothing is known yet.
    pub(super) fn empty() -> SearchResult {
        SearchResult {
            rate: Rate(0),
            kind: ResultKind::NothingPassed,
            error: Rate(0),
            one_sided: false,
            closed_loop: false,
            validation_failed: false,
            trace: Vec::new(),
            trials: 0,
            invalid_repeats: 0,
            spoiled_by_host: 0,
            phase1_lost: 0,
            phase1_rate: None,
            table_changes: 0,
            lost_at_rate: 0,
            tester_limit: None,
        }
    }

    /// Note a step and count what it took.
    pub(super) fn note(&mut self, rate: Rate, judgement: &Judgement) {
        let (verdict, reason, closed_loop) = match &judgement.decision {
            Decision::Pass => (StepVerdict::Pass, String::new(), false),
            Decision::Fail(failure) => (StepVerdict::Fail, failure.to_string(), failure.closed_loop),
            Decision::TesterBound(reason) => (StepVerdict::TesterBound, reason.to_string(), false),
            Decision::HostBound(reason) => (StepVerdict::HostBound, reason.to_string(), false),
        };
        let trials = judgement.attempts.len() as Count;
        let invalid = judgement.invalid();
        let lost = lost(&judgement.last().outcome);
        self.trace.push(SearchStep { rate, verdict, reason, closed_loop, trials, invalid, lost });
        self.trials += trials;
        self.invalid_repeats += invalid;
        for attempt in &judgement.attempts {
            let by_host = matches!(&attempt.verdict, Verdict::Invalid(reason) if reason.spoiler() == Spoiler::Host);
            self.spoiled_by_host += Count::from(by_host);
            self.table_changes += Count::from(table_changed(&attempt.outcome));
            let Some(used) = attempt.spec.phase1_rate else { continue };
            let store = attempt.outcome.store.as_ref();
            self.phase1_lost = self.phase1_lost.saturating_add(store.map_or(0, |store| store.phase1_lost));
            let used = store.and_then(|store| store.phase1_rate).unwrap_or(used);
            self.phase1_rate = Some(self.phase1_rate.map_or(used, |slowest| slowest.min(used)));
        }
    }

    /// Whether the rate is a lower bound of what the DUT can do.
    pub fn at_least(&self) -> bool {
        self.kind.at_least()
    }
}
