//! Binary search for the highest rate that passes. RFC 2544, section 26.1, prescribes no search method; binary search
//! is the usual one. The result is the highest rate that **passed**, never the last one tried, and states what bounds
//! it from above.

use super::{Precision, Progress, ResultKind, SearchResult, StepVerdict};
use crate::judged::{Decision, Judgement};
use crate::trial::TrialError;
use crate::units::Rate;
use crate::validity::{Failure, Invalid, Spoiler, Stream};

/// Number of equal verdicts at the end of a search that make it one-sided.
pub const ONE_SIDED: usize = 8;
/// Number of consecutive rates left undecided by host noise that ends a search in which nothing passed.
pub const HOST_BOUNDS: usize = 4;
/// A rate is far above the passed rate if it is more than this factor higher. Halving alone leaves a factor of two.
const FAR_BELOW: u64 = 4;
/// A search that host noise ended is exact if its error is at most this multiple of the requested one (two halvings
/// were missing). Otherwise the rate is only known to lie between the bounds.
pub const ENDED_WITHIN: u64 = 4;

/// Searches in `[lo, hi]`. `decide` decides one rate, and repeats invalid trials itself. `watch` receives the progress
/// before each decision. The search tries the upper end first. If nothing above the lower end passed, it tries the
/// lower end, too. It tries no rate below `least`, at which a trial would not have a single frame.
///
/// # Errors
/// Those of `decide`.
pub fn search(
    (lo, hi): (Rate, Rate),
    least: Rate,
    precision: Precision,
    mut decide: impl FnMut(Rate) -> Result<Judgement, TrialError>,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let mut bracket = Bracket::new(lo, hi);
    let mut result = SearchResult::empty();
    let mut ask = |rate: Rate, bracket: &mut Bracket, result: &mut SearchResult| {
        watch(&bracket.progress(rate, precision));
        let judgement = decide(rate)?;
        result.note(rate, &judgement);
        bracket.learn(rate, judgement);
        Ok::<_, TrialError>(())
    };

    ask(hi, &mut bracket, &mut result)?;
    let before = result.trace.len();
    while bracket.passed != Some(hi)
        && bracket.hi > least
        && bracket.hi.0 - bracket.lo.0 > precision.width(bracket.lo).0
        && !bracket.is_hopeless()
    {
        ask(bracket.next().max(least), &mut bracket, &mut result)?;
    }
    result.one_sided = one_sided(&result.trace[before..]);
    let lowest = bracket.lo.max(least);
    if bracket.passed.is_none() && bracket.lo.0 > 0 && lowest < bracket.hi && !bracket.is_hopeless() {
        ask(lowest, &mut bracket, &mut result)?;
    }
    Ok(bracket.conclude(result, precision))
}

/// State of the search: `lo` passed or is the lower end; `hi` did not pass, for the reason in `bound`.
struct Bracket {
    lo: Rate,
    passed: Option<Rate>,
    hi: Rate,
    bound: Option<Bound>,
    /// The lowest rate that failed, and its failure.
    failed: Option<(Rate, Failure)>,
    /// Whether host noise left a rate between `lo` and `hi` undecided after another rate had passed.
    stopped: Option<Invalid>,
    /// Number of consecutive undecided rates.
    spoiled: usize,
    /// Of these: the number of the last ones that are undecided because of host noise.
    by_host: usize,
    /// Total number of rates left undecided by host noise.
    by_host_in_all: usize,
    /// The rate at which the queues would have absorbed the stall that invalidated the last rate.
    bridged: Option<Rate>,
}

enum Bound {
    Dut,
    /// The tester or its host.
    Undecided(Invalid),
}

impl Bracket {
    fn new(lo: Rate, hi: Rate) -> Bracket {
        Bracket {
            lo,
            passed: None,
            hi,
            failed: None,
            bound: None,
            stopped: None,
            spoiled: 0,
            by_host: 0,
            by_host_in_all: 0,
            bridged: None,
        }
    }

    /// Returns the next rate: the middle, or a lower one if host noise would invalidate the middle, too. Above a lower
    /// rate that passed, the search doubles.
    fn next(&self) -> Rate {
        let bridged = self.bridged.map_or(Rate(u64::MAX), |rate| rate.max(Rate(self.lo.0.saturating_mul(2))));
        self.middle().min(bridged)
    }

    /// Whether a rate left undecided by host noise ends the search. It does not if the passed rate is far below,
    /// because the search went down there to avoid host noise.
    fn ends_at(&self, rate: Rate) -> bool {
        let far = self.lo.0.saturating_mul(FAR_BELOW) < rate.0;
        self.passed.is_some() && !(far && self.by_host_in_all < HOST_BOUNDS)
    }

    fn middle(&self) -> Rate {
        Rate(self.lo.0 + (self.hi.0 - self.lo.0) / 2)
    }

    /// Whether to end the search, because more trials would only take time: host noise blocks the search or invalidates
    /// one rate after the other (a lower one is hardly easier, and its phase 1 takes longer), or the tester is too slow
    /// repeatedly.
    fn is_hopeless(&self) -> bool {
        let nothing = self.passed.is_none() && (self.spoiled >= ONE_SIDED || self.by_host >= HOST_BOUNDS);
        self.stopped.is_some() || nothing
    }

    fn learn(&mut self, rate: Rate, judgement: Judgement) {
        // Rates far above the tester ceiling do not count: each takes only one trial on the way down.
        let on_its_way = judgement.is_far_above_tester();
        let decision = judgement.decision;
        self.spoiled = match decision {
            _ if on_its_way => self.spoiled,
            Decision::TesterBound(_) | Decision::HostBound(_) => self.spoiled + 1,
            Decision::Pass | Decision::Fail(_) => 0,
        };
        let by_host = matches!(decision, Decision::HostBound(_));
        self.by_host = if by_host { self.by_host + 1 } else { 0 };
        self.by_host_in_all += usize::from(by_host);
        if let Decision::HostBound(reason) = decision {
            self.bridged = reason.bridged_at(rate);
        }
        let bound = match decision {
            Decision::Pass => {
                self.lo = rate;
                self.passed = Some(rate);
                return;
            }
            Decision::HostBound(reason) if self.ends_at(rate) => {
                self.stopped = Some(reason);
                return;
            }
            Decision::Fail(failure) => {
                self.failed = Some((rate, failure));
                Bound::Dut
            }
            Decision::TesterBound(reason) | Decision::HostBound(reason) => Bound::Undecided(reason),
        };
        self.hi = rate;
        self.bound = Some(bound);
    }

    fn progress(&self, rate: Rate, precision: Precision) -> Progress {
        let width = precision.width(self.lo).0;
        let intervals = (self.hi.0 - self.lo.0).div_ceil(width).max(1);
        // ceil(log2): number of halvings until one interval is left.
        let halvings = u64::BITS - (intervals - 1).leading_zeros();
        let steps_left = if self.bound.is_none() && self.passed.is_none() { halvings + 1 } else { halvings };
        Progress { lo: self.lo, hi: self.hi, rate, steps_left: steps_left.max(1) }
    }

    fn conclude(self, mut result: SearchResult, precision: Precision) -> SearchResult {
        result.rate = self.passed.unwrap_or_default();
        let at_rate = result.trace.iter().rfind(|s| s.verdict == StepVerdict::Pass && s.rate == result.rate);
        result.lost_at_rate = at_rate.map_or(0, |step| step.lost);
        let Some(bound) = self.bound else {
            result.kind = ResultKind::AtUpperLimit;
            return result;
        };
        let undecided = match bound {
            Bound::Dut => self.stopped,
            Bound::Undecided(reason) => Some(reason),
        };
        result.tester_limit = undecided;
        result.error = Rate(self.hi.0 - result.rate.0);
        let Some((failed, failure)) = self.failed else {
            // If no rate failed, the upper bound is an undecided rate.
            let by_host = undecided.is_some_and(|reason| reason.spoiler() == Spoiler::Host);
            result.kind = match (self.passed, by_host) {
                (None, _) => ResultKind::NothingMeasured,
                (Some(_), true) => ResultKind::HostLimit,
                (Some(_), false) => ResultKind::TesterLimit,
            };
            return result;
        };
        result.error = Rate(failed.0 - result.rate.0);
        let asked_for = precision.width(result.rate).0.saturating_mul(ENDED_WITHIN);
        result.kind = match (self.passed, undecided) {
            (None, Some(_)) => ResultKind::Below,
            (None, None) => ResultKind::NothingPassed,
            (Some(_), Some(_)) if result.error.0 > asked_for => ResultKind::Between,
            (Some(_), _) => ResultKind::Exact,
        };
        if result.kind != ResultKind::Below {
            result.closed_loop = failure.closed_loop;
            result.validation_failed = failure.stream() == Stream::Validation;
        }
        result
    }
}

fn one_sided(trace: &[super::SearchStep]) -> bool {
    trace.len() >= ONE_SIDED && {
        let last = &trace[trace.len() - ONE_SIDED..];
        last.iter().all(|step| (step.verdict == StepVerdict::Pass) == (last[0].verdict == StepVerdict::Pass))
    }
}
