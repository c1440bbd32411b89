//! From trials to a decision: run a trial, judge it, repeat it while it is worth nothing. Its own file
//! because this is the only place that repeats trials; a procedure sees decisions alone.
//!
//! Repetitions (METHODOLOGY.md, validity): spoiled by the tester, three times
//! at one rate and that rate is the tester's bound, once where it was less than half as fast; spoiled by the host, up to ten repeats, then nothing is
//! known about that rate; spoiled by an
//! incomplete phase 1, three times, then again with a phase 1 that is 10 % slower. A phase 1 of which nothing at all came
//! through is followed by a probe: a dead DUT is not to be asked slower and slower. Once the invalid trials of a measurement have
//! taken the time that they may take, none is repeated any more.

use crate::ratio::Ratio;
use crate::trial::{Direction, Leg, Load, PhaseKind, TrialError, TrialOutcome, TrialSpec, Trials};
use crate::units::{Count, Nanos, Rate};
use crate::validity::{Criteria, Failure, Invalid, Spoiler, Verdict, judge};
use serde::{Deserialize, Serialize};

/// A living DUT sets up some of so many connections at so low a rate.
pub(crate) const PROBE_CONNECTIONS: Count = 1_000;
pub(crate) const PROBE_RATE: Rate = Rate(1_000);

/// Trials in which a DUT may answer a probe.
const PROBES: u32 = 5;

// How often an invalid trial is repeated. Constants and no settings: they are part of what a result means, and nobody can
// choose better ones for a device.

/// Trials at one rate spoiled by the tester that make it the tester's bound: one may be chance, and a tester that is too
/// slow is so every time.
pub const TESTER_TRIALS: u32 = 3;
/// Repeats of a trial that the host spoiled. Each stall comes by chance, so that on a host which spoils half of all trials
/// one in 2,048 rates is left open.
pub const HOST_REPEATS: u32 = 10;
/// Trials with an incomplete phase 1 before its rate is lowered.
pub const PHASE1_TRIALS: u32 = 3;
/// How often the rate of phase 1 is lowered by 10 % before the measurement is given up: ten times is to 35 % of what
/// was measured as safe, and a device that fails there has another trouble.
pub const PHASE1_LOWERINGS: u32 = 10;

/// One trial that was run for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What was asked for; the rate of phase 1 may have been lowered.
    pub spec: TrialSpec,
    /// What happened.
    pub outcome: TrialOutcome,
    /// What it is worth.
    pub verdict: Verdict,
}

/// What is known about a rate after as many trials as it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The DUT carried it.
    Pass,
    /// The DUT did not carry it.
    Fail(Failure),
    /// The tester could not tell: the search goes on below, and where this is its final upper end the result
    /// is printed as "≥".
    TesterBound(Invalid),
    /// The host spoiled every trial: nothing is known about this rate, and a lower one is not easier to
    /// measure (a phase 1 takes even longer).
    HostBound(Invalid),
}

impl Decision {
    /// Whether the DUT carried the rate.
    pub fn passed(&self) -> bool {
        *self == Decision::Pass
    }
}

/// A decision with all the trials behind it, the deciding one last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What is known now.
    pub decision: Decision,
    /// Every trial that was run, in order. Never empty.
    pub attempts: Vec<Attempt>,
}

impl Judgement {
    /// The trial that decided.
    pub fn last(&self) -> &Attempt {
        self.attempts.last().expect("a judgement has at least one attempt")
    }
    /// Whether the tester was so much too slow that the rate is known to be far above its bound.
    pub fn is_far_above_tester(&self) -> bool {
        matches!(&self.decision, Decision::TesterBound(reason) if is_far_too_slow(reason, self.last()))
    }
    /// Trials that were worth nothing.
    pub fn invalid(&self) -> Count {
        self.attempts.iter().filter(|a| matches!(a.verdict, Verdict::Invalid(_))).count() as Count
    }
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// It answers.
    Alive,
    /// It does not, and nothing else explains that.
    Dead(Box<TrialOutcome>),
    /// It does not, and in no trial was that its own fault for certain.
    Unknown,
}

/// Trials that judge themselves and repeat what was worth nothing.
#[derive(Debug)]
pub struct Judged<T> {
    trials: T,
    criteria: Criteria,
    /// Phase 1 was lowered to this rate and stays there for the rest of the measurement.
    phase1_cap: Option<Rate>,
    /// Invalid trials are repeated until they have taken so long in all; no limit, if not given.
    invalid_at_most: Option<Nanos>,
    /// So long they have taken so far.
    invalid_time: Nanos,
}

impl<T: Trials> Judged<T> {
    /// Judge the trials of `trials` by `criteria`.
    pub fn new(trials: T, criteria: Criteria) -> Self {
        Judged { trials, criteria, phase1_cap: None, invalid_at_most: None, invalid_time: Nanos(0) }
    }

    /// Repeat invalid trials only until they have taken this long in all; then one trial a rate decides, or leaves it undecided.
    #[must_use]
    pub fn invalid_at_most(self, time: Option<Nanos>) -> Self {
        Judged { invalid_at_most: time, ..self }
    }

    /// What counts as a pass here.
    pub fn criteria(&self) -> &Criteria {
        &self.criteria
    }

    /// Ask for what no living DUT fails, and see whether it answers. A trial without an answer is repeated while host or tester
    /// explain that: nobody is called dead who was not asked.
    ///
    /// # Errors
    /// As [`Trials::run`].
    pub fn probe(&mut self, spec: &TrialSpec, answers: impl Fn(&TrialOutcome) -> bool) -> Result<Life, TrialError> {
        for _ in 0..PROBES {
            let outcome = self.trials.run(spec)?;
            if answers(&outcome) {
                return Ok(Life::Alive);
            }
            if !matches!(judge(spec, &outcome, &self.criteria), Verdict::Invalid(_)) {
                return Ok(Life::Dead(Box::new(outcome)));
            }
        }
        Ok(Life::Unknown)
    }

    /// Run the trial until it is worth something, or until patience ends.
    ///
    /// # Errors
    /// As [`Trials::run`]; and [`TrialError::Phase1`] when phase 1 stays incomplete however slow it is, or when there is no time
    /// to make it slower.
    pub fn decide(&mut self, wanted: &TrialSpec) -> Result<Judgement, TrialError> {
        let mut spec = wanted.clone();
        self.cap_phase1(&mut spec);
        let mut attempts = Vec::new();
        let (mut by_tester, mut by_host, mut by_phase1, mut lowered) = (0, 0, 0, 0);
        let mut alive = false;
        loop {
            let outcome = self.trials.run(&spec)?;
            let verdict = judge(&spec, &outcome, &self.criteria);
            alive |= outcome.store.as_ref().is_none_or(|store| store.learned > 0);
            attempts.push(Attempt { spec: spec.clone(), outcome, verdict: verdict.clone() });
            let attempt = attempts.last().expect("one was pushed");
            let reason = match verdict {
                Verdict::Pass => return Ok(Judgement { decision: Decision::Pass, attempts }),
                Verdict::Fail(failure) => return Ok(Judgement { decision: Decision::Fail(failure), attempts }),
                Verdict::Invalid(reason) => reason,
            };
            self.invalid_time.0 = self.invalid_time.0.saturating_add(attempt.outcome.wall.0);
            let in_time = self.invalid_at_most.is_none_or(|most| self.invalid_time < most);
            let spoiler = reason.spoiler();
            let patient = match spoiler {
                Spoiler::Tester => {
                    in_time && more(&mut by_tester) < TESTER_TRIALS && !is_far_too_slow(&reason, attempt)
                }
                Spoiler::Host => in_time && more(&mut by_host) <= HOST_REPEATS,
                Spoiler::Phase1 if !in_time => return Err(phase1_fails(&reason)),
                Spoiler::Phase1 => {
                    // The table that this trial left is incomplete: do not build on it.
                    spec.keep_table = false;
                    if !alive {
                        self.see_that_it_sets_up(&spec)?;
                        alive = true;
                    }
                    if more(&mut by_phase1) >= PHASE1_TRIALS {
                        by_phase1 = 0;
                        self.lower_phase1(&mut spec, more(&mut lowered), &reason)?;
                    }
                    true
                }
            };
            if !patient {
                let bound = if spoiler == Spoiler::Host { Decision::HostBound } else { Decision::TesterBound };
                return Ok(Judgement { decision: bound(reason), attempts });
            }
        }
    }

    /// Ask for a few connections at a rate that no living DUT fails.
    fn see_that_it_sets_up(&mut self, spec: &TrialSpec) -> Result<(), TrialError> {
        let connections = spec.connections.min(PROBE_CONNECTIONS);
        let probe = TrialSpec {
            kind: PhaseKind::Establish,
            rate: spec.phase1_rate.unwrap_or(spec.rate).min(PROBE_RATE),
            load: Load::Frames(connections),
            direction: Direction::Forward,
            connections,
            phase1_rate: None,
            validate_rate: None,
            ..spec.clone()
        };
        let Life::Dead(_) = self.probe(&probe, |outcome| outcome.forward.received > 0)? else { return Ok(()) };
        Err(TrialError::DutDead(format!(
            "phase 1: no connection was set up, not even one of {connections} at {} a second; check forwarding, routes and neighbours",
            probe.rate
        )))
    }

    fn cap_phase1(&self, spec: &mut TrialSpec) {
        if let (Some(cap), Some(rate)) = (self.phase1_cap, spec.phase1_rate) {
            spec.phase1_rate = Some(rate.min(cap));
        }
    }

    fn lower_phase1(&mut self, spec: &mut TrialSpec, times: u32, reason: &Invalid) -> Result<(), TrialError> {
        let nine_tenths = Ratio::from_ppm(900_000);
        let lower = spec.phase1_rate.map(|rate| nine_tenths.of(rate)).filter(|rate| rate.0 > 0);
        match lower {
            Some(rate) if times <= PHASE1_LOWERINGS => {
                spec.phase1_rate = Some(rate);
                self.phase1_cap = Some(rate);
                Ok(())
            }
            _ => Err(phase1_fails(reason)),
        }
    }
}

fn phase1_fails(reason: &Invalid) -> TrialError {
    TrialError::Phase1(format!("{reason}; {}", reason.advice()))
}

/// A lateness of so many times the longest stall is not the host's.
const STALLS_THAT_EXPLAIN: u64 = 10;

/// Whether a sender was less than half as fast as it should be, and late by far more than stalls explain. That is no chance, and
/// would be the same again.
fn is_far_too_slow(reason: &Invalid, attempt: &Attempt) -> bool {
    let Attempt { spec, outcome, .. } = attempt;
    let stall = outcome.host.tester_stall.0.saturating_mul(STALLS_THAT_EXPLAIN);
    let slow = |leg: &Leg| {
        let due = u128::from(spec.rate.0) * u128::from(leg.send_time.0) / 1_000_000_000;
        u128::from(leg.sent) * 2 < due && leg.timing.finished_late.0 > stall
    };
    matches!(reason, Invalid::SenderLate { .. } | Invalid::SentTooFew { .. })
        && [&outcome.forward, &outcome.reverse].into_iter().any(|leg| leg.planned > 0 && slow(leg))
}

/// Count one more, and how many it is now.
fn more(count: &mut u32) -> u32 {
    *count += 1;
    *count
}
