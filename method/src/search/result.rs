//! The result of a search.

use super::Strict;
use super::cause::NoRate;
use super::evidence::Evidence;
use super::verify::{lost_of_sent, wrong_of};
use crate::judged::{Decision, Judgement};
use crate::trial::{NativeFrames, Observed, Tcp, TrialOutcome};
use crate::units::{Count, Nanos, Rate};
use crate::validity::{Invalid, Spoiler, Verdict, table_changed};
use crate::witness;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::worded! {
    /// What bounds the result from above.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum ResultKind: name {
        /// The DUT failed at a rate within the error above the result, and the error is about as small as requested.
        Exact = "exact",
        /// The upper end of the search passed: the result is a lower bound, printed with "≥".
        AtUpperLimit = "at-upper-limit",
        /// The tester limited every higher rate, and nothing failed: a lower bound, printed with "≥", never as the DUT's
        /// value.
        TesterLimit = "tester-limit",
        /// Host noise invalidated every trial at higher rates, and nothing failed: a lower bound, printed with "≥".
        HostLimit = "host-limit",
        /// No valid trial passed, because host noise left the rates undecided: the rate is the strict result, printed as
        /// "host too busy for validity".
        Strict = "strict",
        /// Tester or host noise left all rates between the bounds undecided, before the bounds were as close as requested.
        /// The DUT's rate is between `rate` and `rate` + `error`; printed with "≥".
        Between = "between",
        /// The value was observed in valid trials. It was not searched, so it has no bounds.
        Observed = "observed",
        /// Frames were received, but no rate passed, not even the lowest: there is no rate to print.
        NothingPassed = "nothing-passed",
        /// No rate causes the loss that the search saw: there is no rate to print. The evidence has the cause.
        NoRate = "no-rate",
        /// No rate passed, `error` is the lowest that failed, and every trial below it was invalid: an upper bound, and no
        /// rate to print.
        Below = "below",
        /// No trial was valid: nothing is known about the DUT, and there is no rate to print.
        #[default]
        NothingMeasured = "nothing-measured",
    }
}

impl ResultKind {
    /// Returns the kind of a search's result. `passed` and `failed` say whether any rate did; `undecided`, why the
    /// rates in between are undecided.
    pub fn of_ends(passed: bool, failed: bool, undecided: Option<&Invalid>) -> ResultKind {
        let spoiler = undecided.map(Invalid::spoiler);
        match (passed, failed, spoiler) {
            (true, true, None) => ResultKind::Exact,
            (true, true, Some(_)) => ResultKind::Between,
            (true, false, None) => ResultKind::AtUpperLimit,
            (true, false, Some(Spoiler::Host)) => ResultKind::HostLimit,
            (true, false, Some(_)) => ResultKind::TesterLimit,
            (false, true, None) => ResultKind::NothingPassed,
            (false, true, Some(_)) => ResultKind::Below,
            (false, false, _) => ResultKind::NothingMeasured,
        }
    }

    /// Whether it tells of the device; `None` where that depends on whose the upper end of the search is.
    pub fn is_figure(self) -> Option<bool> {
        match self {
            ResultKind::Exact
            | ResultKind::Observed
            | ResultKind::Strict
            | ResultKind::Between
            | ResultKind::NothingPassed => Some(true),
            ResultKind::AtUpperLimit => None,
            ResultKind::TesterLimit
            | ResultKind::HostLimit
            | ResultKind::Below
            | ResultKind::NoRate
            | ResultKind::NothingMeasured => Some(false),
        }
    }

    /// The least informative first.
    pub const WEAKEST_FIRST: [ResultKind; 11] = [
        ResultKind::NothingMeasured,
        ResultKind::NoRate,
        ResultKind::Below,
        ResultKind::NothingPassed,
        ResultKind::TesterLimit,
        ResultKind::HostLimit,
        ResultKind::AtUpperLimit,
        ResultKind::Strict,
        ResultKind::Between,
        ResultKind::Observed,
        ResultKind::Exact,
    ];

    /// Returns whether the result has a rate (0 if none passed).
    pub fn has_rate(self) -> bool {
        !matches!(self, ResultKind::NothingMeasured | ResultKind::Below | ResultKind::NoRate)
    }

    /// Whether the rate is a lower bound of what the DUT can do.
    pub fn at_least(self) -> bool {
        use ResultKind::{AtUpperLimit, Between, HostLimit, TesterLimit};
        matches!(self, AtUpperLimit | TesterLimit | HostLimit | Between)
    }
}

/// The verdict on one step of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepVerdict {
    /// The rate passed.
    #[default]
    Pass,
    /// The rate failed.
    Fail,
    /// Undecided: tester-limited.
    TesterBound,
    /// Undecided: host noise invalidated every trial.
    HostBound,
}

/// One step of a search: a point of its trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchStep {
    /// The rate, per direction.
    pub rate: Rate,
    /// The verdict on it.
    pub verdict: StepVerdict,
    /// The reason as text; empty for a pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether the rate is that of DUT and tester together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed_loop: bool,
    /// Number of its trials.
    pub trials: Count,
    /// Of these: invalid.
    pub invalid: Count,
    /// Frames lost in the deciding trial, in all streams; printed with every loss tolerance.
    pub lost: Count,
    /// Frames sent in that trial, in all streams; 0 in records of rules before 3.
    #[serde(default)]
    pub sent: Count,
    /// Of the lost ones: those that arrived with a fault of the device.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub wrong: Count,
    /// Frames of earlier trials that arrived in its first trial.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub late: Count,
    /// The native frames in that trial, in all streams; none without a background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeFrames>,
    /// Intended length of its trials, if the search has trials of several lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Nanos>,
    /// Connections of its trials, if the search varies them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Count>,
    /// It came after the search, to see whether the rate causes the loss.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after: bool,
}

impl SearchStep {
    /// Returns the shares of lost foreground and native frames, if there were both.
    pub fn loss_by_kind(&self) -> Option<[f64; 2]> {
        let native = self.native?;
        let lost = native.sent.saturating_sub(native.received);
        let foreground = (self.lost.saturating_sub(lost), self.sent.saturating_sub(native.sent));
        let kinds = [foreground, (lost, native.sent)];
        kinds.iter().all(|(_, sent)| *sent > 0).then(|| kinds.map(|(lost, sent)| lost as f64 / sent as f64))
    }
}

fn native_of(outcome: &TrialOutcome) -> Option<NativeFrames> {
    let legs = [outcome.forward.native, outcome.reverse.native].into_iter().flatten();
    legs.reduce(|a, b| NativeFrames { sent: a.sent + b.sent, received: a.received + b.received })
}

/// The result of one search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The highest rate that passed, per direction; of a capacity, connections; 0 when none did; with [`ResultKind::Strict`] the strict rate; of
    /// MLRsearch the relevant lower bound of the first goal. Never the last rate tried. Of a metric that is no rate: its value
    /// in the unit of the metric.
    pub rate: Rate,
    /// What bounds it from above.
    pub kind: ResultKind,
    /// Distance from `rate` to the lowest rate that did not pass; 0 at the upper limit.
    pub error: Rate,
    /// Whether the last eight decisions were equal, so that one early verdict may have determined the result.
    pub one_sided: bool,
    /// Whether the final upper bound failed in a closed loop: tester and device share a thread.
    pub closed_loop: bool,
    /// Whether, at the final upper bound, all connections were set up and only validation failed. The DUT may not
    /// forward alpha times that rate in reverse, so that the result need not be its establishment rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub validation_failed: bool,
    /// Every decision, in order.
    pub trace: Vec<SearchStep>,
    /// Trials run.
    pub trials: Count,
    /// Of these: invalid, and repeated.
    pub invalid_repeats: Count,
    /// Of these: invalid because of host noise.
    #[serde(default)]
    pub spoiled_by_host: Count,
    /// Total number of connections lost in phases 1 before phase 2.
    pub phase1_lost: Count,
    /// The lowest rate of a phase 1, connections per second; `None` without phase 1.
    pub phase1_rate: Option<Rate>,
    /// Phase 2 trials during which the size of the DUT's table changed.
    pub table_changes: Count,
    /// Frames lost in the step at `rate`; above 0 only with an acceptance below 1.
    pub lost_at_rate: Count,
    /// The reason why the final upper bound is invalid, with [`ResultKind::TesterLimit`], [`ResultKind::HostLimit`],
    /// [`ResultKind::Below`] and [`ResultKind::NothingMeasured`]; or why the search ended before its bounds were as
    /// close as requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester_limit: Option<Invalid>,
    /// The strict result; `None` in records of rules before 3, and of MLRsearch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<Strict>,
    /// What MLRsearch found for each goal; empty after a binary search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalResult>,
    /// The rates behind the capacity of a connection tracking table, whose connections are in `rate` and `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRates>,
    /// Values of the parts of the metric, by key, each in its unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, i64>,
    /// What the options of the deciding trial observed, for figures.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub observed: Observed,
    /// What the search did beside its steps, such as a warm start.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub evidence: Evidence,
}

/// What a search found for one goal. Rates are per direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoalResult {
    /// The goal's name.
    pub goal: String,
    /// The relevant lower bound; `None` if no load is one.
    pub lower: Option<Rate>,
    /// The relevant upper bound; `None` if no load is one: an irregular result.
    pub upper: Option<Rate>,
    /// The conditional throughput at the relevant lower bound.
    pub conditional_throughput: Option<Rate>,
}

/// The rates behind a capacity, connections per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRates {
    /// C0: connections at the beginning of the search.
    pub from: Count,
    /// R0: the validated establishment rate with C0.
    pub first: Rate,
    /// RS: the validated establishment rate with the capacity.
    pub safe: Rate,
    /// RT: the rate with the smallest number of connections at which it broke down; `None` if it never did.
    pub broken: Option<Rate>,
    /// Steps of the exponential search.
    pub doublings: u32,
}

impl SearchResult {
    /// The result without a valid trial.
    pub fn nothing_measured(self, reason: Invalid) -> SearchResult {
        SearchResult { kind: ResultKind::NothingMeasured, tester_limit: Some(reason), ..self }
    }

    /// The result of a search whose loss no rate causes.
    pub(super) fn without_rate(self, why: NoRate) -> SearchResult {
        SearchResult {
            kind: ResultKind::NoRate,
            rate: Rate(0),
            error: Rate(0),
            one_sided: false,
            closed_loop: false,
            validation_failed: false,
            lost_at_rate: 0,
            tester_limit: None,
            strict: None,
            evidence: Evidence { no_rate: Some(why), ..self.evidence },
            ..self
        }
    }

    /// Lets the steps after a search bound the strict result, too.
    pub(super) fn lower_strict(&mut self) {
        let failed = self.trace.iter().filter(|step| step.verdict == StepVerdict::Fail).map(|step| step.rate).min();
        let (Some(strict), Some(failed)) = (&mut self.strict, failed) else { return };
        if strict.below.is_none_or(|below| failed < below) {
            let passed = self.trace.iter().filter(|step| step.verdict == StepVerdict::Pass && step.rate < failed);
            strict.rate = passed.map(|step| step.rate).max().unwrap_or_default();
            strict.below = Some(failed);
        }
    }

    pub fn empty() -> SearchResult {
        SearchResult { kind: ResultKind::NothingPassed, ..SearchResult::default() }
    }

    pub fn note(&mut self, rate: Rate, judgement: &Judgement) {
        let (verdict, reason, closed_loop) = match &judgement.decision {
            Decision::Pass => (StepVerdict::Pass, String::new(), false),
            Decision::Fail(failure) => (StepVerdict::Fail, failure.to_string(), failure.closed_loop),
            Decision::TesterBound(reason) => (StepVerdict::TesterBound, reason.to_string(), false),
            Decision::HostBound(reason) => (StepVerdict::HostBound, reason.to_string(), false),
        };
        let trials = judgement.attempts.len() as Count;
        let invalid = judgement.invalid();
        let (lost, sent) = lost_of_sent(&judgement.last().outcome);
        let wrong = wrong_of(&judgement.last().outcome);
        self.trace.push(SearchStep {
            rate,
            verdict,
            reason,
            closed_loop,
            trials,
            invalid,
            lost,
            sent,
            wrong,
            late: judgement.attempts.first().map_or(0, |first| witness::late(&first.outcome)),
            native: native_of(&judgement.last().outcome),
            ..SearchStep::default()
        });
        self.trials += trials;
        self.invalid_repeats += invalid;
        for attempt in &judgement.attempts {
            let by_host = matches!(&attempt.verdict, Verdict::Invalid(reason) if reason.spoiler() == Spoiler::Host);
            self.spoiled_by_host += Count::from(by_host);
            self.evidence.add_warm_up(&attempt.outcome.observed.warm_up);
            self.evidence.ended_early += Count::from(attempt.outcome.observed.ended_early.is_some());
            // Connections come and go in such a trial.
            let options = &attempt.spec.options;
            let stays =
                options.churn.is_none() && options.action.is_none() && !options.tcp.is_some_and(Tcp::changes_table);
            self.table_changes += Count::from(stays && table_changed(&attempt.outcome));
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
