//! MLRsearch (RFC 9971) with natmeter's own controller.

mod goal;

pub use goal::{Class, Goal, LoadTrial};

use super::{GoalResult, Precision, Progress, ResultKind, SearchResult};
use crate::judged::{Attempt, Decision, Judgement};
use crate::trial::{Leg, TrialError};
use crate::units::{Nanos, Rate};
use crate::validity::Invalid;
use std::collections::BTreeMap;

/// Searches in `[lo, hi]` for all goals; the result is the relevant lower bound of the first.
/// `measure` runs one valid trial of a load and a length.
pub fn search(
    (lo, hi): (Rate, Rate),
    goals: &[Goal],
    measure: impl FnMut(Rate, Nanos) -> Result<Judgement, TrialError>,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let mut controller = Controller {
        lo,
        hi,
        measure,
        watch,
        trials: BTreeMap::new(),
        blocked: BTreeMap::new(),
        undecided_before: false,
        stopped: None,
        result: SearchResult::empty(),
    };
    for goal in goals {
        let mut coarser = None;
        for target in goal.targets() {
            controller.reach(&target, coarser.as_ref())?;
            coarser = Some(target);
        }
    }
    Ok(controller.conclude(goals))
}

struct Controller<'w, M> {
    lo: Rate,
    hi: Rate,
    measure: M,
    watch: &'w mut dyn FnMut(&Progress),
    trials: BTreeMap<Rate, Vec<LoadTrial>>,
    blocked: BTreeMap<Rate, Invalid>,
    undecided_before: bool,
    stopped: Option<Invalid>,
    result: SearchResult,
}

#[derive(Clone, Copy, Default)]
struct Bounds {
    lower: Option<Rate>,
    /// The smallest upper bound or blocked load.
    upper: Option<Rate>,
}

impl<M: FnMut(Rate, Nanos) -> Result<Judgement, TrialError>> Controller<'_, M> {
    fn class(&self, goal: &Goal, load: Rate) -> Class {
        self.trials.get(&load).map_or(Class::Undecided, |trials| goal.classify(trials))
    }

    fn loads(&self) -> impl DoubleEndedIterator<Item = Rate> {
        let mut loads: Vec<Rate> = self.trials.keys().chain(self.blocked.keys()).copied().collect();
        loads.sort_unstable();
        loads.into_iter()
    }

    /// A blocked load counts only above the lower bound.
    fn bounds(&self, goal: &Goal) -> Bounds {
        let failed = self.loads().find(|load| self.class(goal, *load) == Class::Upper);
        let below = |load: &Rate| failed.is_none_or(|failed| *load < failed);
        let lower = self.loads().rev().filter(below).find(|load| self.class(goal, *load) == Class::Lower);
        let above = |load: &&Rate| lower.is_none_or(|lower| **load > lower);
        let blocked = self.blocked.keys().filter(above).find(|load| self.class(goal, **load) == Class::Undecided);
        Bounds { lower, upper: failed.into_iter().chain(blocked.copied()).min() }
    }

    fn reach(&mut self, target: &Goal, coarser: Option<&Goal>) -> Result<(), TrialError> {
        match coarser {
            Some(coarser) => {
                let Bounds { lower, upper } = self.bounds(coarser);
                for load in [lower, upper].into_iter().flatten() {
                    self.decide(load, target)?;
                }
            }
            None => self.first_loads(target)?,
        }
        let mut step = 0;
        while self.stopped.is_none()
            && let Some(load) = self.next(target, &mut step)
        {
            self.decide(load, target)?;
        }
        Ok(())
    }

    /// The upper end, the forwarding rate there, and the forwarding rate at that rate.
    fn first_loads(&mut self, target: &Goal) -> Result<(), TrialError> {
        let mut load = self.hi;
        for _ in 0..3 {
            self.decide(load, target)?;
            let Some(seen) = self.trials.get(&load).and_then(|trials| trials.last()) else { return Ok(()) };
            let forwarded = seen.forwarded(load);
            if forwarded <= self.lo || forwarded >= load {
                return Ok(());
            }
            load = forwarded;
        }
        Ok(())
    }

    /// `None` if the bounds are close enough. Beyond the measured loads steps double, downwards at
    /// most to half of the load.
    fn next(&self, target: &Goal, step: &mut u64) -> Option<Rate> {
        let mut farther = |from: Rate| {
            *step = if *step == 0 { target.width.width(from).0.saturating_mul(2) } else { step.saturating_mul(2) };
            *step
        };
        match self.bounds(target) {
            Bounds { lower: Some(lower), upper: Some(upper) } => {
                (upper.0 - lower.0 > target.width.width(lower).0).then(|| lower.halfway(upper))
            }
            Bounds { lower: Some(lower), upper: None } => {
                (lower < self.hi).then(|| Rate(lower.0.saturating_add(farther(lower))).min(self.hi))
            }
            Bounds { lower: None, upper: Some(upper) } => {
                let nearest = Rate(upper.0 / 2).max(self.lo);
                (upper > self.lo).then(|| Rate(upper.0.saturating_sub(farther(upper))).max(nearest))
            }
            Bounds { lower: None, upper: None } => Some(self.hi),
        }
    }

    fn decide(&mut self, load: Rate, target: &Goal) -> Result<(), TrialError> {
        while self.stopped.is_none()
            && !self.blocked.contains_key(&load)
            && self.class(target, load) == Class::Undecided
        {
            let progress = self.progress(load, target);
            (self.watch)(&progress);
            let judgement = (self.measure)(load, target.final_duration)?;
            self.result.note(load, &judgement);
            if let Some(step) = self.result.trace.last_mut() {
                step.duration = Some(target.final_duration);
            }
            self.learn(load, target.final_duration, &judgement);
        }
        Ok(())
    }

    fn learn(&mut self, load: Rate, duration: Nanos, judgement: &Judgement) {
        let before = std::mem::take(&mut self.undecided_before);
        let is_late = match &judgement.decision {
            Decision::Pass => false,
            Decision::Fail(failure) => failure.closed_loop,
            Decision::HostBound(reason) => {
                self.undecided_before = true;
                self.blocked.insert(load, *reason);
                self.stopped = before.then_some(*reason);
                return;
            }
            Decision::TesterBound(reason) => {
                self.blocked.insert(load, *reason);
                self.stopped = (!reason.depends_on_rate()).then_some(*reason);
                return;
            }
        };
        let seen = seen(judgement.last(), duration, is_late);
        self.trials.entry(load).or_default().push(seen);
    }

    fn progress(&self, rate: Rate, target: &Goal) -> Progress {
        let Bounds { lower, upper } = self.bounds(target);
        let (lo, hi) = (lower.unwrap_or(self.lo), upper.unwrap_or(self.hi));
        Progress { lo, hi, rate, steps_left: target.width.halvings(lo, hi).max(1) }
    }

    fn conclude(mut self, goals: &[Goal]) -> SearchResult {
        self.result.goals = goals.iter().map(|goal| self.of_goal(goal)).collect();
        let Some(first) = goals.first() else { return self.result };
        let Bounds { lower, upper } = self.bounds(first);
        let is_real = |load: &Rate| self.class(first, *load) == Class::Upper;
        let failed = self.loads().filter(|load| lower.is_none_or(|lower| *load > lower)).find(is_real);
        let reason = upper.filter(|upper| !is_real(upper)).and_then(|upper| self.blocked.get(&upper).copied());
        let reason = reason.or(self.stopped);
        let kind = ResultKind::of_ends(lower.is_some(), failed.is_some(), reason.as_ref());
        let end = failed.or(upper).unwrap_or(self.hi);
        let mut result = self.result;
        result.rate = lower.unwrap_or_default();
        result.kind = kind;
        result.error = if kind == ResultKind::AtUpperLimit { Rate(0) } else { Rate(end.0 - result.rate.0) };
        result.tester_limit = reason;
        result.closed_loop = failed.is_some_and(|load| result.trace.iter().any(|s| s.rate == load && s.closed_loop));
        let at_rate = self.trials.get(&result.rate);
        result.lost_at_rate = at_rate.map_or(0, |trials| trials.iter().map(|seen| seen.lost).sum());
        result
    }

    fn of_goal(&self, goal: &Goal) -> GoalResult {
        let Bounds { lower, upper } = self.bounds(goal);
        let upper = upper.filter(|upper| self.class(goal, *upper) == Class::Upper);
        let conditional_throughput = lower.map(|load| goal.conditional_throughput(load, &self.trials[&load]));
        GoalResult { goal: goal.name.clone(), lower, upper, conditional_throughput }
    }
}

/// Frames that count: of a late sender in a closed loop, only those in the planned time.
fn seen(attempt: &Attempt, duration: Nanos, is_late: bool) -> LoadTrial {
    let (spec, outcome) = (&attempt.spec, &attempt.outcome);
    let arrived = |leg: &Leg, forward: bool| {
        let planned = spec.pace_of(forward).time_for(leg.planned).0;
        if is_late && leg.send_time.0 > planned {
            (u128::from(leg.received) * u128::from(planned) / u128::from(leg.send_time.0)) as u64
        } else {
            leg.received
        }
    };
    let legs = [(&outcome.forward, true), (&outcome.reverse, false)];
    let expected = legs.iter().map(|(leg, _)| leg.planned).sum::<u64>();
    let arrived = legs.iter().map(|(leg, forward)| arrived(leg, *forward)).sum::<u64>();
    LoadTrial { duration, expected, lost: expected.saturating_sub(arrived) }
}

pub fn shortest(goals: &[Goal]) -> Option<Nanos> {
    goals.iter().flat_map(Goal::targets).map(|target| target.final_duration).min()
}

pub(super) fn check(goals: &[Goal]) -> Result<(), TrialError> {
    let wrong = |goal: &&Goal| {
        let zero = |time: Nanos| time.0 == 0;
        let width_is_zero = matches!(goal.width, Precision::Absolute(Rate(0)));
        zero(goal.initial_duration)
            || goal.initial_duration > goal.final_duration
            || goal.duration_sum < goal.final_duration
            || goal.loss.is_one()
            || goal.exceed.is_one()
            || width_is_zero
    };
    match goals.iter().find(wrong) {
        None => Ok(()),
        Some(goal) => Err(TrialError::Refused(format!(
            "goal {}: needs 0 < final duration ≤ duration sum, a loss and an exceed ratio below 1, and a width above 0 (RFC 9971)",
            goal.name
        ))),
    }
}
