//! The capacity of a table whose policy is known (RFC 9693 section 4.9): one trial with more
//! connections than the table holds, at a low rate, shows its size. It is repeated at half the
//! rate, so that a rate that is too high is not taken for a full table.

use crate::establishment::trial;
use crate::{Context, Watch};
use key::kind::{Shape, ValueKind, words_of};
use key::quantity::count;
use key::{Value, Wrong};
use method::judged::{Decision, Patience, probe_connections};
use method::search::{CapacityRates, Decider, Progress, ResultKind, SearchResult};
use method::trial::{Claim, TrialError, TrialOutcome, TrialSpec, Trials};
use method::units::{Count, Rate};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a full table does with a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullTablePolicy {
    /// Refuses it: phase 1 sets up as many connections as the table holds.
    RefuseNew,
    /// Drops its oldest connection: as many connections as the table holds answer the validation.
    DropOldest,
    /// Drops this many connections at once: the connections that answer are fewer than the capacity, by less than this number.
    Collect(Count),
}

/// `refuse-new`, `drop-oldest`, or `collect-` and a number.
pub(crate) struct PolicyKind;

impl ValueKind for PolicyKind {
    type Out = FullTablePolicy;

    fn parse(&self, value: &Value) -> Result<FullTablePolicy, Wrong> {
        let text = words_of(value)?.trim();
        let wrong = || {
            let instead =
                "write \"refuse-new\", \"drop-oldest\", or \"collect-8\" for a table that drops 8 connections at once";
            Wrong::new(format!("unknown policy `{text}`"), instead)
        };
        match text {
            "refuse-new" => Ok(FullTablePolicy::RefuseNew),
            "drop-oldest" => Ok(FullTablePolicy::DropOldest),
            other => {
                let at_once = other.strip_prefix("collect-").ok_or_else(wrong)?;
                count(at_once).ok().filter(|&n| n > 0).map(FullTablePolicy::Collect).ok_or_else(wrong)
            }
        }
    }

    fn shape(&self) -> Shape {
        let words = "`\"refuse-new\"`, `\"drop-oldest\"`, or `\"collect-8\"`".to_owned();
        Shape::one(
            words,
            json!({ "type": "string", "pattern": "^(refuse-new|drop-oldest|collect-[0-9][0-9_]*[kKMG]?)$" }),
        )
    }
}

/// Halvings of the rate at most: if the counts at successive rates still differ then, there is no result.
const HALVINGS: u32 = 4;

/// Measures the connections that the table holds, until the counts at two successive rates differ by
/// at most `error`, or by the excess that the policy allows. The capacity exceeds the result by at
/// most the result's `error`. If all connections are held, the result is a lower bound.
pub(crate) fn search(
    context: &Context<'_>,
    (policy, error): (FullTablePolicy, Count),
    validate_at_most: Option<Rate>,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<SearchResult, TrialError> {
    let (settings, connections, first) = (context.settings, context.connections, context.phase1_rate()?);
    settings.check()?;
    let mut decider = Decider::new(trials, settings);
    let mut result = SearchResult::empty();
    let (mut rate, mut before) = (first, None::<Count>);
    for left in (0..=HALVINGS).rev() {
        watch(&Progress { lo: Rate(0), hi: first, rate, steps_left: left + 1 });
        let spec = TrialSpec { claim: Claim::State, ..trial(rate, connections, settings.alpha, validate_at_most) };
        let (few, slow) = probe_connections(connections, rate);
        let probe = trial(slow, few, settings.alpha, validate_at_most);
        let judgement = decider.decide(&spec, &probe, Patience::Repeat)?;
        result.note(rate, &judgement);
        if let Some(step) = result.trace.last_mut() {
            step.connections = Some(connections);
        }
        if let Decision::TesterBound(reason) | Decision::HostBound(reason) = judgement.decision {
            return Ok(result.nothing_measured(reason));
        }
        let held = connections_held(policy, &judgement.last().outcome);
        let is_all = judgement.decision.passed();
        let agreed = before.zip(held).filter(|(before, held)| before.abs_diff(*held) <= error.max(max_excess(policy)));
        if is_all || agreed.is_some() {
            let held = agreed.map_or(connections, |(before, held)| before.max(held));
            return Ok(SearchResult {
                rate: Rate(if is_all { connections } else { held }),
                kind: if is_all { ResultKind::AtUpperLimit } else { ResultKind::Observed },
                error: Rate(if is_all { 0 } else { max_excess(policy) }),
                capacity: Some(CapacityRates {
                    from: connections,
                    first: rate,
                    safe: rate,
                    broken: None,
                    doublings: 0,
                }),
                ..result
            });
        }
        (rate, before) = (Rate(rate.0 / 2).max(Rate(1)), held);
    }
    // The count depends on the rate.
    result.kind = ResultKind::NothingMeasured;
    Ok(result)
}

/// Largest excess of the capacity over the connections that answered.
fn max_excess(policy: FullTablePolicy) -> Count {
    if let FullTablePolicy::Collect(at_once) = policy { at_once - 1 } else { 0 }
}

/// Connections in the table; `None` if the trial does not show them.
fn connections_held(policy: FullTablePolicy, outcome: &TrialOutcome) -> Option<Count> {
    let validated = outcome.validation.as_ref().map(|leg| leg.received);
    match policy {
        FullTablePolicy::RefuseNew => validated.or(Some(outcome.forward.received)),
        // Without a complete phase 1 nothing was validated, and this policy loses no frame of phase 1.
        FullTablePolicy::DropOldest | FullTablePolicy::Collect(_) => validated,
    }
}
