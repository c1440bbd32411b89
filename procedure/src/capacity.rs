//! Connection tracking table capacity (RFC 9693 section 4.9): the maximum number of connections that the DUT keeps. A
//! full table, a rate that is too high, and a validation that is too fast look the same from outside. So the procedure
//! searches for the validated establishment rate at every number of connections, and the table counts as full where
//! this rate breaks down.

use crate::Procedure;
use crate::establishment::trial;
use method::judged::{Decision, Patience, probe_connections};
use method::ratio::Ratio;
use method::search::{CapacityRates, Decider, Progress, ResultKind, SearchResult, SearchSettings};
use method::trial::{TrialError, Trials};
use method::units::{Count, Rate};
use method::validity::{Invalid, Spoiler};

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "capacity",
    title: "Connection tracking table capacity",
    reference: "RFC 9693 section 4.9",
    metrics: &["conn_table_capacity"],
    phase1: true,
    stateful: true,
    at_throughput: false,
    summary: "exponential, then binary search for the most connections that can be set up and validated at a rate that does not break down",
};

/// Width of a search for a rate, relative to the rate that passed: 2.5 %, as in published runs.
const RATE_ERROR: Ratio = Ratio::from_ppm(25_000);
/// The first search for a rate ends at this part of its upper end: 1/4096.
const LOWEST_PART: u64 = 4096;

/// The first number of connections is at least this many times the frames that the path can buffer. Buffers then raise
/// the first rate by at most a third, so that a later rate without their effect does not look like a break-down.
const BUFFERS: Count = 4;

/// Parameters of the search; names as in RFC 9693.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// C0: connections that the table surely holds.
    pub from: Count,
    /// Upper end of the search: connections that the tester has.
    pub most: Count,
    /// beta: the exponential search ends below this share of the last safe rate.
    pub beta: Ratio,
    /// gamma: in the binary search, a number of connections fails below this share of the last safe rate.
    pub gamma: Ratio,
    /// E: the distance of the bounds at which the search stops, in connections.
    pub error: Count,
    /// Frames that the path can buffer; 0 if unknown.
    pub buffered: Count,
    /// Maximum validation rate.
    pub validate_at_most: Option<Rate>,
}

/// Searches for the capacity. The result's rate and error are connections: the most that were safe, and the distance to the
/// fewest that were not.
///
/// # Errors
/// As [`Trials::run`]; [`TrialError::DutDead`] if no connection is set up at a low rate either; [`TrialError::Refused`] for
/// settings without a result.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    limits: Limits,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    settings.check()?;
    check(settings, &limits)?;
    let decider = Decider::new(trials, settings);
    let search = Search { decider, settings, limits, watch, result: SearchResult::empty() };
    search.run()
}

fn check(settings: &SearchSettings, limits: &Limits) -> Result<(), TrialError> {
    let refuse = |text: &str| Err(TrialError::Refused(text.to_owned()));
    if settings.alpha.is_none() {
        return refuse("the capacity needs alpha: only validated connections are in the table (RFC 9693, section 4.9)");
    }
    if limits.from == 0 || limits.from > limits.most {
        return refuse("the search for the capacity begins above its upper end, or at 0 connections");
    }
    if limits.error == 0 {
        return refuse("an error of 0 connections cannot be reached; use 1");
    }
    if limits.beta.is_zero() || limits.gamma.is_zero() {
        return refuse("beta and gamma are above 0: at 0 no rate ever breaks down");
    }
    let least = limits.buffered.saturating_mul(BUFFERS);
    if limits.from < least {
        return Err(TrialError::Refused(format!(
            "the search for the capacity begins with {} connections, and the path can buffer {} frames: write capacity-from = {least} \
             or more, or use shorter queues",
            limits.from, limits.buffered
        )));
    }
    Ok(())
}

struct Search<'a, 'w> {
    decider: Decider<'a>,
    settings: &'a SearchSettings,
    limits: Limits,
    watch: &'w mut dyn FnMut(&Progress),
    result: SearchResult,
}

/// A number of connections and the rate found with it.
#[derive(Clone, Copy)]
struct Pair {
    connections: Count,
    rate: Rate,
}

/// The result of a search for a rate.
struct Found {
    rate: Rate,
    /// Why higher rates are undecided.
    undecided: Option<Invalid>,
}

impl Search<'_, '_> {
    fn run(mut self) -> Result<SearchResult, TrialError> {
        let from = self.limits.from;
        let first = self.rate(from, self.settings.hi, Rate(self.settings.hi.0 / LOWEST_PART))?;
        if first.rate.0 == 0 {
            let kind = if first.undecided.is_some() { ResultKind::NothingMeasured } else { ResultKind::NothingPassed };
            (self.result.kind, self.result.tester_limit) = (kind, first.undecided);
            return Ok(self.result);
        }
        let mut safe = Pair { connections: from, rate: first.rate };
        let mut rates = CapacityRates { from, first: first.rate, safe: first.rate, broken: None, doublings: 0 };
        let mut broken: Option<Pair> = None;
        let mut undecided = None;
        while undecided.is_none()
            && let Some((connections, share)) = self.next(safe, broken)
        {
            rates.doublings += u32::from(broken.is_none());
            let floor = share.of(safe.rate).max(Rate(1));
            let found = self.rate(connections, safe.rate, floor)?;
            let pair = Pair { connections, rate: found.rate };
            if found.rate >= floor {
                safe = pair;
            } else if found.undecided.is_some() {
                undecided = found.undecided;
            } else {
                broken = Some(pair);
            }
        }
        (rates.safe, rates.broken) = (safe.rate, broken.map(|pair| pair.rate));
        Ok(self.conclude(safe, broken, undecided, rates))
    }

    /// The next number of connections, and the share of the safe rate below which it fails; `None` at the end.
    fn next(&self, safe: Pair, broken: Option<Pair>) -> Option<(Count, Ratio)> {
        let Limits { most, beta, gamma, error, .. } = self.limits;
        match broken {
            None => (safe.connections < most).then(|| (safe.connections.saturating_mul(2).min(most), beta)),
            Some(broken) if broken.connections - safe.connections > error => {
                Some((Rate(safe.connections).halfway(Rate(broken.connections)).0, gamma))
            }
            Some(_) => None,
        }
    }

    /// Searches for the validated establishment rate up to `top`, which is tried first. Ends below `floor`.
    fn rate(&mut self, connections: Count, top: Rate, floor: Rate) -> Result<Found, TrialError> {
        let (mut passed, mut failed) = (Rate(0), None::<Rate>);
        let mut undecided = None;
        loop {
            let rate = match failed {
                None => top,
                Some(failed) if failed > floor && failed.0 - passed.0 > RATE_ERROR.of(passed).0.max(1) => {
                    passed.halfway(failed)
                }
                Some(_) => return Ok(Found { rate: passed, undecided }),
            };
            match self.decide(connections, rate, (passed, failed.unwrap_or(top)))? {
                Decision::Pass if rate == top => return Ok(Found { rate, undecided: None }),
                Decision::Pass => passed = rate,
                Decision::Fail(_) => (failed, undecided) = (Some(rate), None),
                Decision::TesterBound(reason) | Decision::HostBound(reason) => {
                    (failed, undecided) = (Some(rate), Some(reason));
                }
            }
        }
    }

    fn decide(&mut self, connections: Count, rate: Rate, (lo, hi): (Rate, Rate)) -> Result<Decision, TrialError> {
        let width = RATE_ERROR.of(lo).0.max(1);
        let intervals = (hi.0 - lo.0).div_ceil(width).max(1);
        (self.watch)(&Progress { lo, hi, rate, steps_left: (u64::BITS - (intervals - 1).leading_zeros()).max(1) });
        let (alpha, at_most) = (self.settings.alpha, self.limits.validate_at_most);
        let spec = trial(rate, connections, alpha, at_most);
        let (few, slow) = probe_connections(connections, rate);
        let probe = trial(slow, few, alpha, at_most);
        let judgement = self.decider.decide(&spec, &probe, Patience::Repeat)?;
        self.result.note(rate, &judgement);
        if let Some(step) = self.result.trace.last_mut() {
            step.connections = Some(connections);
        }
        Ok(judgement.decision)
    }

    fn conclude(
        self,
        safe: Pair,
        broken: Option<Pair>,
        undecided: Option<Invalid>,
        rates: CapacityRates,
    ) -> SearchResult {
        let by_host = undecided.is_some_and(|reason| reason.spoiler() == Spoiler::Host);
        let kind = match (broken, undecided) {
            (Some(_), None) => ResultKind::Exact,
            (Some(_), Some(_)) => ResultKind::Between,
            (None, None) => ResultKind::AtUpperLimit,
            (None, Some(_)) if by_host => ResultKind::HostLimit,
            (None, Some(_)) => ResultKind::TesterLimit,
        };
        SearchResult {
            rate: Rate(safe.connections),
            kind,
            error: Rate(broken.map_or(0, |broken| broken.connections - safe.connections)),
            tester_limit: undecided,
            capacity: Some(rates),
            ..self.result
        }
    }
}
