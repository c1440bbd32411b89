//! Searches for a rate ([`binary`], [`mlr`]), and the probe for a dead DUT.

pub mod binary;
pub mod bottleneck;
mod cause;
mod evidence;
pub mod keep;
pub mod mlr;
pub mod no_rate;
mod result;
mod strict;
mod verify;
mod warm;

pub use bottleneck::Bottleneck;
pub use cause::{FlatLoss, LateFrames, NoRate, SmallTable};
pub use evidence::{BelowResolution, Evidence, KeptTable, Leak, ValidationCap};
pub use no_rate::LossLog;
pub use result::{CapacityRates, GoalResult, ResultKind, SearchResult, SearchStep, StepVerdict};
pub use strict::{Strict, StrictMedian};
pub use warm::Warm;

use crate::judged::{Decision, Judgement, Life, Patience, TrialJudge};
use crate::ratio::Ratio;
use crate::trial::{
    Direction, Load, Order, PhaseKind, ResponderTable, TrialError, TrialOptions, TrialOutcome, TrialSpec, Trials,
};
use crate::units::{Count, Nanos, Rate};
use crate::validity::Criteria;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase2 {
    /// N of RFC 9693.
    pub connections: Count,
    /// Rate of phase 1, below the smallest maximum connection establishment rate.
    pub phase1_rate: Rate,
}

/// Returns the trial of a stateless device or of phase 2, with rate 0.
///
/// # Errors
/// For a phase 2 without connections or without a rate.
pub fn data_trial(settings: &SearchSettings, phase2: Option<Phase2>) -> Result<TrialSpec, TrialError> {
    let stateless = TrialSpec {
        direction: settings.direction,
        options: settings.options.clone(),
        ..TrialSpec::stateless(Rate(0), Load::For(settings.duration))
    };
    let Some(Phase2 { connections, phase1_rate }) = phase2 else { return Ok(stateless) };
    if connections == 0 || phase1_rate.0 == 0 {
        return Err(TrialError::Refused("phase 2 needs at least one connection and a phase 1 rate above 0".to_owned()));
    }
    Ok(TrialSpec {
        kind: PhaseKind::Established,
        connections,
        phase1_rate: Some(phase1_rate),
        responder_order: settings.responder_order,
        responder_table: settings.responder_table,
        ..stateless
    })
}

/// Distance of the bounds at which a search stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Frames (connections) per second, per direction.
    Absolute(Rate),
    /// Relative to the result.
    Relative(Ratio),
}

impl Precision {
    /// Allowed distance below the highest passed rate, at least 1.
    pub fn width(self, passed: Rate) -> Rate {
        match self {
            Precision::Absolute(width) => width.max(Rate(1)),
            Precision::Relative(share) => share.of(passed).max(Rate(1)),
        }
    }

    /// Returns the number of halvings until the interval between two rates has at most this width.
    pub fn halvings(self, lo: Rate, hi: Rate) -> u32 {
        let intervals = hi.0.saturating_sub(lo.0).div_ceil(self.width(lo).0).max(1);
        u64::BITS - (intervals - 1).leading_zeros()
    }
}

/// Loss verification (ETSI GS NFV-TST 009): a failed rate is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Most trials at a rate. The rate passes if one of them passes.
    pub tries: u32,
    /// A trial that lost more frames decides at once (Z of TST 009).
    #[serde(default)]
    pub at_most: Option<Count>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    /// Lower end, frames (connections) per second per direction.
    pub lo: Rate,
    /// Upper end: the line rate or at most 0.9 of the tester ceiling.
    pub hi: Rate,
    /// Distance of the bounds at which the search stops.
    pub precision: Precision,
    /// Verification; none: the strict search of RFC 2544.
    pub verify: Option<Verify>,
    /// Goals of MLRsearch; none: binary search.
    pub goals: Vec<mlr::Goal>,
    /// Bounds of an earlier search, at which a binary search begins.
    pub warm: Option<Warm>,
    /// Whether a binary search ends trials that have certainly failed.
    pub early_end: bool,
    /// Whether the trials of phase 2 share one phase 1.
    pub keep_table: bool,
    pub criteria: Criteria,
    pub repetitions: u32,
    /// Duration of a throughput trial (RFC 2544 section 24: at least 60 s).
    pub duration: Nanos,
    pub direction: Direction,
    /// Validation at alpha × R (RFC 9693 section 4.6), if any.
    pub alpha: Option<Ratio>,
    /// Share of the smallest maximum connection establishment rate.
    pub phase1_share: Ratio,
    pub responder_order: Order,
    pub responder_table: ResponderTable,
    /// Options of every trial, in addition to the procedure's.
    pub options: TrialOptions,
    /// Limit on the total time of invalid trials, if any.
    pub invalid_at_most: Option<Nanos>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            lo: Rate(0),
            hi: Rate(0),
            precision: Precision::Relative(Ratio::from_ppm(1_000)),
            verify: None,
            goals: Vec::new(),
            warm: None,
            early_end: false,
            keep_table: false,
            criteria: Criteria::default(),
            repetitions: 10,
            duration: Nanos::from_secs(60),
            direction: Direction::Both,
            alpha: None,
            phase1_share: Ratio::from_ppm(700_000),
            responder_order: Order::Random,
            responder_table: ResponderTable::Keep,
            options: TrialOptions::default(),
            invalid_at_most: None,
        }
    }
}

impl SearchSettings {
    /// Refuses settings that cannot give a result.
    pub fn check(&self) -> Result<(), TrialError> {
        let refuse = |text: &str| Err(TrialError::Refused(text.to_owned()));
        if self.hi.0 == 0 || self.lo >= self.hi {
            return refuse("the upper end of the search is not above its lower end; raise the upper end");
        }
        if self.criteria.acceptance.is_zero() || self.criteria.phase1_acceptance.is_zero() {
            return refuse("an acceptance of 0 lets every trial pass; use 1, or the share that must arrive");
        }
        if self.alpha.is_some_and(Ratio::is_zero) {
            return refuse("alpha is 0; use a value above 0, or remove alpha to skip validation");
        }
        if self.verify.is_some_and(|verify| verify.tries == 0) {
            return refuse("loss verification needs at least one trial");
        }
        mlr::check(&self.goals)?;
        if !self.goals.is_empty() && (self.verify.is_some() || !self.criteria.acceptance.is_one()) {
            return refuse("MLRsearch has goals in place of loss verification and an acceptance; remove one of them");
        }
        if !self.goals.is_empty() && (self.warm.is_some() || self.early_end || self.keep_table) {
            return refuse("MLRsearch has no warm start, early end or kept table; remove them, or use a binary search");
        }
        if self.hi.frames_in(self.duration) < self.direction.least_frames() {
            return refuse("a trial at the upper end would send no frame; use longer trials");
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Highest passed rate so far.
    pub lo: Rate,
    /// Lowest failed rate so far.
    pub hi: Rate,
    /// Rate of the next trial.
    pub rate: Rate,
    /// Steps left at most, this one included.
    pub steps_left: u32,
}

/// A working DUT forwards at least one of so many frames at this rate, or of those of two seconds at a lower one.
const PROBE_FRAMES: Count = 1_000;
const PROBE_RATE: Rate = Rate(1_000);
const LEAST_PROBE_FRAMES: Count = 20;

/// A trial that a working device passes in part.
pub fn probe(spec: &TrialSpec) -> TrialSpec {
    let rate = spec.rate.min(PROBE_RATE);
    let load = Load::Frames((2 * rate.0).clamp(LEAST_PROBE_FRAMES, PROBE_FRAMES));
    // The slower direction would have too few frames for a verdict.
    let direction = if spec.direction.ratio().is_some() { Direction::Both } else { spec.direction };
    TrialSpec { rate, load, direction, options: TrialOptions::default(), ..spec.clone() }
}

/// Decides about rates, with loss verification and the probe for a dead DUT.
pub struct Decider<'a> {
    judged: TrialJudge<&'a mut dyn Trials>,
    verify: Option<Verify>,
    keep_table: bool,
    phases1: Count,
}

impl<'a> Decider<'a> {
    /// Runs these trials with the settings' verification and criteria.
    pub fn new(trials: &'a mut dyn Trials, settings: &SearchSettings) -> Self {
        let judged = TrialJudge::new(trials, settings.criteria).invalid_at_most(settings.invalid_at_most);
        Decider { judged, verify: settings.verify, keep_table: false, phases1: 0 }
    }

    fn keep(&mut self, keep_table: bool) {
        self.keep_table = keep_table;
    }

    /// Decides about `spec`. If a stream received no right frame, it runs `probe`. If the DUT
    /// revives in the probe, the rate is decided once more.
    ///
    /// # Errors
    /// As [`Trials::run`]; if the DUT returns no right frame in the probe either, [`TrialError::Faulty`], or
    /// [`TrialError::DutDead`] if nothing arrived.
    pub fn decide(&mut self, spec: &TrialSpec, probe: &TrialSpec, patience: Patience) -> Result<Judgement, TrialError> {
        let kept = |spec: &TrialSpec| TrialSpec { keep_table: self.keep_table, ..spec.clone() };
        let (spec, probe) = (&kept(spec), &kept(probe));
        let first = self.judge(spec, patience)?;
        if self.probe(&first, probe)? != Life::Revived || !matches!(first.decision, Decision::Fail(_)) {
            return Ok(first);
        }
        let mut again = self.judge(spec, patience)?;
        self.probe(&again, probe)?;
        again.attempts.splice(..0, first.attempts);
        Ok(again)
    }

    fn judge(&mut self, spec: &TrialSpec, patience: Patience) -> Result<Judgement, TrialError> {
        let judgement = verify::decide(&mut self.judged, spec, patience, self.verify)?;
        self.phases1 += judgement.attempts.iter().filter(|a| !a.spec.keep_table).count() as Count;
        Ok(judgement)
    }

    fn probe(&mut self, judgement: &Judgement, probe: &TrialSpec) -> Result<Life, TrialError> {
        let mut dark = dark_streams(&judgement.last().outcome);
        if judgement.decision.passed() || dark.is_empty() {
            return Ok(Life::Alive);
        }
        let life = self.judged.probe(probe, &judgement.attempts, |outcome| {
            let still = dark_streams(outcome);
            dark.retain(|stream| still.contains(stream));
            dark.is_empty()
        })?;
        let (streams, frames, rate) = (dark.join(" and "), probe.frames(), probe.rate);
        life.or_error(&format!(
            "{streams}: the tester received no right frame, not even of {frames} frames at {rate} frames/s"
        ))
    }
}

/// Streams with sent and without right received frames.
fn dark_streams(outcome: &TrialOutcome) -> Vec<&'static str> {
    let mut dark = Vec::new();
    for (name, leg) in [("Left to Right", Some(&outcome.forward)), ("Right to Left", Some(&outcome.reverse))]
        .into_iter()
        .chain([("validation", outcome.validation.as_ref())])
    {
        if leg.is_some_and(|leg| leg.sent > 0 && leg.received == 0) {
            dark.push(name);
        }
    }
    dark
}
