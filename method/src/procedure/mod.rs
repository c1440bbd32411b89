//! Procedures: which trials are run, in which order, and what number they give. This file lists the known
//! ones and holds what they share: the settings of a search, the probe for a dead DUT. A new
//! procedure is one file beside this one and one entry in [`PROCEDURES`].

pub mod binary;
pub mod establishment;
mod result;
pub mod throughput;
mod verify;

pub use result::{ResultKind, SearchResult, SearchStep, StepVerdict};

use crate::judged::{Judged, Judgement, Life};
use crate::ratio::Ratio;
use crate::trial::{Direction, Order, TrialError, TrialOutcome, TrialSpec, Trials};
use crate::units::{Nanos, Rate};
use crate::validity::Criteria;
use serde::{Deserialize, Serialize};

/// What is known of a procedure without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Name in scenario files.
    pub key: &'static str,
    /// Title in reports.
    pub title: &'static str,
    /// Where it is defined.
    pub reference: &'static str,
    /// The metrics that it can give, by their keys.
    pub metrics: &'static [&'static str],
    /// What it does, in a sentence.
    pub summary: &'static str,
}

/// The known procedures.
pub const PROCEDURES: &[Procedure] = &[throughput::PROCEDURE, establishment::PROCEDURE];

/// How close the bounds of a search must come before it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// To this many frames (connections) per second, per direction.
    Absolute(Rate),
    /// To this share of the result.
    Relative(Ratio),
}

impl Precision {
    /// The width allowed when `passed` is the highest rate that passed so far; at least 1.
    pub fn width(self, passed: Rate) -> Rate {
        match self {
            Precision::Absolute(width) => width.max(Rate(1)),
            Precision::Relative(share) => share.of(passed).max(Rate(1)),
        }
    }
}

/// Binary search with loss verification (ETSI GS NFV-TST 009): a failed rate is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Trials at a rate in all before it has failed; the first pass decides.
    pub tries: u32,
}

/// The settings of a search; all of them belong in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    /// Lower end, frames (connections) per second per direction.
    pub lo: Rate,
    /// Upper end: the line limit if there is one, and 0.9 of the tester's calibrated ceiling.
    pub hi: Rate,
    /// When to stop.
    pub precision: Precision,
    /// Loss verification; none is the strict search of RFC 2544.
    pub verify: Option<Verify>,
    /// What counts as a pass.
    pub criteria: Criteria,
    /// Complete searches per result.
    pub repetitions: u32,
    /// Duration of a throughput trial (RFC 2544 section 24: at least 60 s).
    pub duration: Nanos,
    /// Directions of a throughput trial.
    pub direction: Direction,
    /// Validation at alpha × R (RFC 9693 section 4.6); none leaves it out.
    pub alpha: Option<Ratio>,
    /// Phase 1 before phase 2 runs at this share of the smallest maximum connection establishment rate.
    pub phase1_share: Ratio,
    /// Order in which the Responder uses its state table in phase 2.
    pub responder_order: Order,
    /// So long may invalid trials take in all before none is repeated any more; no limit, if not given.
    pub invalid_at_most: Option<Nanos>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            lo: Rate(0),
            hi: Rate(0),
            precision: Precision::Relative(Ratio::from_ppm(1_000)),
            verify: None,
            criteria: Criteria::default(),
            repetitions: 10,
            duration: Nanos::from_secs(60),
            direction: Direction::Both,
            alpha: None,
            phase1_share: Ratio::from_ppm(700_000),
            responder_order: Order::Random,
            invalid_at_most: None,
        }
    }
}

impl SearchSettings {
    /// Refuse settings that cannot give a result.
    ///
    /// # Errors
    /// [`TrialError::Refused`], naming the setting.
    pub fn check(&self) -> Result<(), TrialError> {
        let refuse = |text: &str| Err(TrialError::Refused(text.to_owned()));
        if self.hi.0 == 0 || self.lo >= self.hi {
            return refuse("the search needs an upper end above its lower end");
        }
        if self.criteria.acceptance.is_zero() || self.criteria.phase1_acceptance.is_zero() {
            return refuse("an acceptance of 0 lets every trial pass; use 1, or the share that must arrive");
        }
        if self.alpha.is_some_and(Ratio::is_zero) {
            return refuse("alpha must be above 0, or left out for no validation");
        }
        if self.verify.is_some_and(|verify| verify.tries == 0) {
            return refuse("loss verification needs at least one try");
        }
        if self.hi.frames_in(self.duration) == 0 {
            return refuse("not even one frame is sent in a trial at the upper end; use longer trials");
        }
        Ok(())
    }
}

/// Where a search stands, told before each of its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Lower bound so far.
    pub lo: Rate,
    /// Upper bound so far.
    pub hi: Rate,
    /// The rate tried next.
    pub rate: Rate,
    /// Decisions still to come at most, this one included.
    pub steps_left: u32,
}

/// Decides rates for a search: verification, and the probe that keeps a dead DUT from becoming a low rate.
struct Decider<'a, T> {
    judged: Judged<&'a mut T>,
    verify: Option<Verify>,
}

impl<'a, T: Trials> Decider<'a, T> {
    fn new(trials: &'a mut T, settings: &SearchSettings) -> Self {
        let judged = Judged::new(trials, settings.criteria).invalid_at_most(settings.invalid_at_most);
        Decider { judged, verify: settings.verify }
    }

    /// Decide about `spec`. Where a stream came back without a single right frame, `probe`, the same at a
    /// rate that no living DUT fails, has to bring back some.
    fn decide(&mut self, spec: &TrialSpec, probe: &TrialSpec) -> Result<Judgement, TrialError> {
        let judgement = verify::decide(&mut self.judged, spec, self.verify)?;
        if !judgement.decision.passed() {
            let dark = dark_streams(&judgement.last().outcome);
            if !dark.is_empty() {
                self.probe(probe, &dark)?;
            }
        }
        Ok(judgement)
    }

    fn probe(&mut self, probe: &TrialSpec, dark: &[&str]) -> Result<(), TrialError> {
        let still = |outcome: &TrialOutcome| -> Vec<&str> {
            dark_streams(outcome).into_iter().filter(|stream| dark.contains(stream)).collect()
        };
        let Life::Dead(outcome) = self.judged.probe(probe, |outcome| still(outcome).is_empty())? else { return Ok(()) };
        let still = still(&outcome);
        Err(TrialError::DutDead(format!(
            "{}: no right frame came back, not even of {} frames at {} frames/s; check forwarding, routes and neighbours",
            still.join(" and "),
            probe.frames(),
            probe.rate
        )))
    }
}

/// Streams that sent and of which nothing right came back.
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
