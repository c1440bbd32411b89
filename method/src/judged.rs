//! Decides about a rate: runs a trial, judges it, and repeats it while it is invalid (METHODOLOGY.md, validity).
//!
//! - Invalid because of the tester: three trials at one rate make it tester-limited.
//! - Invalid because of host noise: up to 40 repetitions, then the rate is undecided.
//! - Incomplete phase 1: three trials, then again with a phase 1 that is 10 % slower. If a phase 1
//!   established no connection, a probe follows first.
//! - Once the invalid trials of a measurement have used up their time limit, no trial is repeated.

use crate::ratio::Ratio;
use crate::trial::{Direction, Load, PhaseKind, TrialError, TrialOutcome, TrialSpec, Trials};
use crate::units::{Count, Nanos, Rate};
use crate::validity::{Criteria, Failure, Invalid, Spoiler, Verdict, judge};
use crate::witness;
use serde::{Deserialize, Serialize};

const PROBE_CONNECTIONS: Count = 1_000;

/// Returns number and rate of the connections of a probe. They take a second, unless `rate` is
/// lower, so that two probes outlast a router's repetition of a neighbor solicitation.
pub fn probe_connections(connections: Count, rate: Rate) -> (Count, Rate) {
    let few = connections.min(PROBE_CONNECTIONS);
    (few, rate.min(Rate(few)))
}

const PROBES: u32 = 5;
/// During the first, a router may still resolve the tester's address (RFC 4861, section 10, RETRANS_TIMER).
const DEAD_PROBES: u32 = 2;

// Constants, because they define a result.

/// Trials at one rate that the tester invalidates before the rate is tester-limited.
pub const TESTER_TRIALS: u32 = 3;
/// Repetitions of a trial that host noise invalidated: at 80 % invalid trials, one rate in 10,000 remains undecided.
pub const HOST_REPEATS: u32 = 40;
/// Trials with an incomplete phase 1 before its rate is lowered.
pub const PHASE1_TRIALS: u32 = 3;
/// How often the rate of phase 1 is lowered by 10 %, down to 35 %, before the measurement fails.
pub const PHASE1_LOWERINGS: u32 = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Perhaps with a lowered rate of phase 1.
    pub spec: TrialSpec,
    pub outcome: TrialOutcome,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The rate passed.
    Pass,
    /// The rate failed.
    Fail(Failure),
    /// Tester-limited: the search continues below this rate. At its upper end, the result is a lower bound ("≥").
    TesterBound(Invalid),
    /// Undecided: host noise invalidated every trial.
    HostBound(Invalid),
}

impl Decision {
    pub fn passed(&self) -> bool {
        *self == Decision::Pass
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub decision: Decision,
    pub attempts: Vec<Attempt>,
}

impl Judgement {
    pub fn last(&self) -> &Attempt {
        self.attempts.last().expect("a judgement has at least one attempt")
    }
    pub fn invalid(&self) -> Count {
        self.attempts.iter().filter(|a| matches!(a.verdict, Verdict::Invalid(_))).count() as Count
    }
}

/// Whether invalid trials are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As often as the rules of validity allow.
    Repeat,
    /// Never: one trial decides or leaves the rate undecided.
    Once,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// The DUT answers.
    Alive,
    /// The DUT answers, but did not in a valid trial before.
    Revived,
    /// No frame arrived, which neither host nor tester explains.
    Dead,
    /// Frames arrived, but not those that show that the DUT works; what arrived, in words.
    Faulty(String),
    /// The DUT does not answer; host noise or the tester may be the cause.
    Unknown,
}

impl Life {
    /// # Errors
    /// [`TrialError::DutDead`] or [`TrialError::Faulty`], after these words.
    pub fn or_error(self, what: &str) -> Result<Life, TrialError> {
        match self {
            Life::Dead => Err(TrialError::DutDead(format!(
                "{what}, and no frame arrived; check forwarding, routes and neighbours"
            ))),
            Life::Faulty(words) => Err(TrialError::Faulty(format!("{what}; {words}"))),
            life => Ok(life),
        }
    }
}

#[derive(Debug)]
pub struct TrialJudge<T> {
    trials: T,
    criteria: Criteria,
    phase1_cap: Option<Rate>,
    invalid_at_most: Option<Nanos>,
    invalid_time: Nanos,
}

impl<T: Trials> TrialJudge<T> {
    pub fn new(trials: T, criteria: Criteria) -> Self {
        TrialJudge { trials, criteria, phase1_cap: None, invalid_at_most: None, invalid_time: Nanos(0) }
    }

    #[must_use]
    pub fn invalid_at_most(self, time: Option<Nanos>) -> Self {
        TrialJudge { invalid_at_most: time, ..self }
    }

    pub fn criteria(&self) -> &Criteria {
        &self.criteria
    }

    /// Probes the DUT with a load that every working DUT passes in part. After two valid trials
    /// without an answer it is dead if no frame of any kind arrived in them, and only right ones in those before.
    pub fn probe(
        &mut self,
        spec: &TrialSpec,
        before: &[Attempt],
        mut answers: impl FnMut(&TrialOutcome) -> bool,
    ) -> Result<Life, TrialError> {
        let mut unanswered = 0;
        let mut most: Option<TrialOutcome> = None;
        for _ in 0..PROBES {
            let outcome = self.trials.run(spec)?;
            if answers(&outcome) {
                return Ok(if unanswered == 0 { Life::Alive } else { Life::Revived });
            }
            let is_valid = !matches!(judge(spec, &outcome, &self.criteria), Verdict::Invalid(_));
            let counts = is_valid || witness::has_only_wrong_frames(&outcome);
            if most.as_ref().is_none_or(|most| witness::arrived(&outcome) > witness::arrived(most)) {
                most = Some(outcome);
            }
            if counts && more(&mut unanswered) == DEAD_PROBES {
                // A router limits the rate of its ICMP errors (RFC 1812, section 4.3.2.8), and may have no more for the probes.
                let before =
                    before.iter().map(|at| (&at.spec, &at.outcome)).filter(|at| witness::has_no_right_frame(at.1));
                let mut all = most.iter().map(|most| (spec, most)).chain(before);
                let words =
                    all.find(|at| witness::arrived(at.1) > 0).map(|(spec, outcome)| witness::in_words(spec, outcome));
                return Ok(words.map_or(Life::Dead, Life::Faulty));
            }
        }
        Ok(Life::Unknown)
    }

    /// Runs the trial until it is valid, or the limits on repetitions are reached.
    ///
    /// # Errors
    /// As [`Trials::run`], and [`TrialError::Phase1`] when phase 1 stays incomplete.
    pub fn decide(&mut self, wanted: &TrialSpec, patience: Patience) -> Result<Judgement, TrialError> {
        let mut spec = wanted.clone();
        self.cap_phase1(&mut spec);
        let mut attempts = Vec::new();
        let (mut by_tester, mut by_host, mut by_phase1, mut lowered) = (0, 0, 0, 0);
        let mut alive = false;
        loop {
            let outcome = self.trials.run(&spec)?;
            let verdict = judge(&spec, &outcome, &self.criteria);
            alive |= outcome.store.as_ref().is_none_or(|store| store.learned > 0);
            let (wall, only_wrong) = (outcome.wall, witness::has_only_wrong_frames(&outcome));
            attempts.push(Attempt { spec: spec.clone(), outcome, verdict: verdict.clone() });
            let reason = match verdict {
                Verdict::Pass => return Ok(Judgement { decision: Decision::Pass, attempts }),
                Verdict::Fail(failure) => return Ok(Judgement { decision: Decision::Fail(failure), attempts }),
                Verdict::Invalid(reason) => reason,
            };
            if matches!(reason, Invalid::EndedEarly { .. }) && spec.options.early_end.take().is_some() {
                continue;
            }
            self.invalid_time.0 = self.invalid_time.0.saturating_add(wall.0);
            let in_time =
                patience == Patience::Repeat && self.invalid_at_most.is_none_or(|most| self.invalid_time < most);
            let spoiler = reason.spoiler();
            let again = match spoiler {
                Spoiler::Tester => in_time && more(&mut by_tester) < TESTER_TRIALS,
                Spoiler::Host => in_time && !only_wrong && more(&mut by_host) <= HOST_REPEATS,
                Spoiler::Phase1 if !in_time && patience == Patience::Repeat => {
                    return Err(phase1_fails(&attempts, &reason));
                }
                Spoiler::Phase1 => {
                    // This trial left an incomplete table.
                    spec.keep_table = false;
                    if !alive {
                        self.probe_set_up(&spec, &attempts)?;
                        alive = true;
                    }
                    if more(&mut by_phase1) >= PHASE1_TRIALS {
                        by_phase1 = 0;
                        if !self.lower_phase1(&mut spec, more(&mut lowered)) {
                            return Err(phase1_fails(&attempts, &reason));
                        }
                    }
                    true
                }
            };
            if !again {
                let bound = if spoiler == Spoiler::Host { Decision::HostBound } else { Decision::TesterBound };
                return Ok(Judgement { decision: bound(reason), attempts });
            }
        }
    }

    fn probe_set_up(&mut self, spec: &TrialSpec, before: &[Attempt]) -> Result<(), TrialError> {
        let (connections, rate) = probe_connections(spec.connections, spec.phase1_rate.unwrap_or(spec.rate));
        let probe = TrialSpec {
            kind: PhaseKind::Establish,
            rate,
            load: Load::Frames(connections),
            direction: Direction::Forward,
            connections,
            phase1_rate: None,
            validate_rate: None,
            ..spec.clone()
        };
        let what = format!(
            "phase 1: the DUT set up no connection, not even one of {connections} at {} per second",
            probe.rate
        );
        self.probe(&probe, before, |outcome| outcome.forward.received > 0)?.or_error(&what).map(drop)
    }

    fn cap_phase1(&self, spec: &mut TrialSpec) {
        if let (Some(cap), Some(rate)) = (self.phase1_cap, spec.phase1_rate) {
            spec.phase1_rate = Some(rate.min(cap));
        }
    }

    /// Returns false if it has been lowered as often as is allowed.
    fn lower_phase1(&mut self, spec: &mut TrialSpec, times: u32) -> bool {
        let nine_tenths = Ratio::from_ppm(900_000);
        let lower = spec.phase1_rate.map(|rate| nine_tenths.of(rate)).filter(|rate| rate.0 > 0);
        let Some(rate) = lower.filter(|_| times <= PHASE1_LOWERINGS) else { return false };
        spec.phase1_rate = Some(rate);
        self.phase1_cap = Some(rate);
        true
    }
}

/// Quotes the best of the attempts whose phase 1 stayed incomplete.
fn phase1_fails(attempts: &[Attempt], reason: &Invalid) -> TrialError {
    let learned = |attempt: &&Attempt| attempt.outcome.store.as_ref().map_or(0, |store| store.learned);
    let whole = attempts.iter().filter(|at| matches!(at.verdict, Verdict::Invalid(Invalid::Phase1Incomplete { .. })));
    let whole: Vec<&Attempt> = whole.collect();
    let Some(best) = whole.iter().copied().max_by_key(learned) else { return TrialError::Phase1(reason.to_string()) };
    let alike: Vec<Option<Rate>> =
        whole.iter().filter(|at| learned(at) == learned(&best)).map(|at| at.spec.phase1_rate).collect();
    let words = format!(
        "phase 1 established at best {} of {} connections, in {} of {} attempts",
        learned(&best),
        best.spec.connections,
        alike.len(),
        whole.len()
    );
    let at_all_rates = alike.len() == whole.len() && alike.first() != alike.last();
    let (missing, late) = (best.spec.connections - learned(&best), witness::late(&best.outcome));
    let advice = if late > missing / 2 {
        "frames arrive later than `phase1-drain`: raise it"
    } else if at_all_rates {
        "the same at each rate: check the DUT's table, port pool and timeouts"
    } else {
        reason.advice()
    };
    TrialError::Phase1(witness::with_advice(&words, &best.spec, &best.outcome, advice))
}

fn more(count: &mut u32) -> u32 {
    *count += 1;
    *count
}
