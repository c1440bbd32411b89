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
use method::trial::{TrialError, TrialOutcome, Trials};
use method::units::{Count, Rate};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a full table does with a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Refuses it: as many as it holds are set up.
    RefuseNew,
    /// Drops the oldest connection: as many as it holds answer the validation.
    DropOldest,
    /// Drops this many connections at once: fewer answer than the capacity, by less than this.
    Collect(Count),
}

/// `refuse-new`, `drop-oldest`, or `collect-` and a number.
pub(crate) struct Policies;

impl ValueKind for Policies {
    type Out = Policy;

    fn parse(&self, value: &Value) -> Result<Policy, Wrong> {
        let text = words_of(value)?.trim();
        let wrong = || {
            let instead =
                "write \"refuse-new\", \"drop-oldest\", or \"collect-8\" for a table that drops 8 connections at once";
            Wrong::new(format!("unknown policy `{text}`"), instead)
        };
        match text {
            "refuse-new" => Ok(Policy::RefuseNew),
            "drop-oldest" => Ok(Policy::DropOldest),
            other => {
                let at_once = other.strip_prefix("collect-").ok_or_else(wrong)?;
                count(at_once).ok().filter(|&n| n > 0).map(Policy::Collect).ok_or_else(wrong)
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

/// Halvings after which counts that still differ are no result.
const HALVINGS: u32 = 4;

/// Measures the connections that answered; the capacity is at most `error` larger. If all answered,
/// it is a lower bound.
pub(crate) fn search(
    context: &Context<'_>,
    (policy, error): (Policy, Count),
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
        let spec = trial(rate, connections, settings.alpha, validate_at_most);
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
        let held = held(policy, &judgement.last().outcome);
        let is_all = judgement.decision.passed();
        let agreed = before.zip(held).filter(|(before, held)| before.abs_diff(*held) <= error.max(above(policy)));
        if is_all || agreed.is_some() {
            let held = agreed.map_or(connections, |(before, held)| before.max(held));
            return Ok(SearchResult {
                rate: Rate(if is_all { connections } else { held }),
                kind: if is_all { ResultKind::AtUpperLimit } else { ResultKind::Observed },
                error: Rate(if is_all { 0 } else { above(policy) }),
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
fn above(policy: Policy) -> Count {
    if let Policy::Collect(at_once) = policy { at_once - 1 } else { 0 }
}

/// Connections in the table; `None` if the trial does not show them.
fn held(policy: Policy, outcome: &TrialOutcome) -> Option<Count> {
    let validated = outcome.validation.as_ref().map(|leg| leg.received);
    match policy {
        Policy::RefuseNew => validated.or(Some(outcome.forward.received)),
        // Without a complete phase 1 nothing was validated, and this policy loses no frame of phase 1.
        Policy::DropOldest | Policy::Collect(_) => validated,
    }
}
