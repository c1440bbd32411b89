//! Binary search for the highest rate that passes; RFC 2544, section 26.1, prescribes no method.

use super::strict::Literal;
use super::warm::{Gallop, Warm};
use super::{Precision, Progress, ResultKind, SearchResult, SearchStep, StepVerdict, Strict};
use crate::judged::{Decision, Judgement, Patience};
use crate::trial::TrialError;
use crate::units::Rate;
use crate::validity::{Failure, Invalid, Spoiler, Stream};

/// Equal verdicts at the end of a search that make it one-sided.
pub const ONE_SIDED: usize = 8;

/// Whether the steps of a search show that no rate will pass: [`no_rate::ends`](super::no_rate::ends) or [`never()`].
pub type Ends = fn(&[SearchStep]) -> bool;

/// For searches that need no reason for having no rate.
pub fn never(_: &[SearchStep]) -> bool {
    false
}

/// Searches in `[lo, hi]`, the upper end first, and the lower end if nothing above it passed; or from
/// the bounds of an earlier search. `decide` decides one rate; `watch` receives the progress before.
/// No rate below `least` is tried, at which a trial would have no frame.
///
/// If host noise leaves a rate undecided, the search tries another one of the bracket, and ends if
/// that is undecided too. It continues with one strict trial (RFC 2544) for each rate, not below
/// `least_strict`.
pub fn search(
    warm: Option<Warm>,
    (lo, hi): (Rate, Rate),
    (least, least_strict): (Rate, Rate),
    (precision, ends): (Precision, Ends),
    mut decide: impl FnMut(Rate, Patience) -> Result<Judgement, TrialError>,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let warm = warm.and_then(|warm| warm.within(lo.max(least), hi));
    let mut bracket = Bracket { gallop: warm.map(Gallop::new), ..Bracket::new(lo, hi) };
    let mut literal = Literal::new(lo, hi);
    let mut result = SearchResult::empty();
    result.evidence.warm = warm;
    let mut ask = |(rate, patience): (Rate, Patience),
                   bracket: &mut Bracket,
                   literal: &mut Literal,
                   result: &mut SearchResult| {
        let bounds = if patience == Patience::Once { literal.bounds(bracket.hi) } else { (bracket.lo, bracket.hi) };
        watch(&bracket.progress(rate, bounds, precision));
        let judgement = decide(rate, patience)?;
        result.note(rate, &judgement);
        literal.learn(rate, &judgement);
        bracket.learn(rate, judgement.decision);
        Ok::<_, TrialError>(())
    };

    if warm.is_none() {
        ask((hi, Patience::Repeat), &mut bracket, &mut literal, &mut result)?;
    }
    let before = result.trace.len();
    while bracket.passed != Some(hi)
        && bracket.hi > least
        && (bracket.bound.is_none() || bracket.hi.0 - bracket.lo.0 > precision.width(bracket.lo).0)
        && bracket.stopped.is_none()
        && !ends(&result.trace)
    {
        let rate = bracket.next().max(least);
        ask((rate, Patience::Repeat), &mut bracket, &mut literal, &mut result)?;
    }
    result.one_sided = one_sided(&result.trace[before..]);
    let lowest = bracket.lo.max(least);
    let is_open = bracket.passed.is_none() && bracket.stopped.is_none() && !ends(&result.trace);
    if is_open && bracket.lo.0 > 0 && lowest < bracket.hi {
        ask((lowest, Patience::Repeat), &mut bracket, &mut literal, &mut result)?;
    }
    let decided = !bracket.ended_by_host();
    while !decided && let Some(rate) = literal.next((least_strict, bracket.hi), precision) {
        ask((rate, Patience::Once), &mut bracket, &mut literal, &mut result)?;
    }
    Ok(bracket.conclude(result, literal.result(decided)))
}

/// `lo` passed or is the lower end; `hi` did not pass, as `bound` says, or is the upper end.
struct Bracket {
    lo: Rate,
    passed: Option<Rate>,
    hi: Rate,
    bound: Option<UpperEnd>,
    failed: Option<(Rate, Failure)>,
    undecided: Option<Rate>,
    stopped: Option<Invalid>,
    gallop: Option<Gallop>,
}

enum UpperEnd {
    Dut,
    Undecided(Invalid),
}

impl Bracket {
    fn new(lo: Rate, hi: Rate) -> Bracket {
        Bracket { lo, passed: None, hi, failed: None, bound: None, undecided: None, stopped: None, gallop: None }
    }

    /// The next rate: below an undecided rate, because queues absorb longer stalls at lower rates.
    fn next(&mut self) -> Rate {
        match (&mut self.gallop, self.undecided, &self.bound) {
            (Some(gallop), None, None) => gallop.up(self.passed, self.hi),
            (Some(gallop), None, Some(_)) if self.passed.is_none() => gallop.down(self.lo, self.hi),
            (_, undecided, _) => self.lo.halfway(undecided.unwrap_or(self.hi)),
        }
    }

    fn ended_by_host(&self) -> bool {
        let open = match &self.bound {
            Some(UpperEnd::Undecided(reason)) => Some(reason),
            _ => None,
        };
        self.stopped.as_ref().or(open).is_some_and(|reason| reason.spoiler() == Spoiler::Host)
    }

    fn learn(&mut self, rate: Rate, decision: Decision) {
        let before = self.undecided.take();
        // Only the strict search tries rates below one that passed.
        if self.passed.is_some_and(|passed| rate <= passed) {
            return;
        }
        let bound = match decision {
            Decision::Pass => {
                (self.lo, self.passed) = (rate, Some(rate));
                return;
            }
            Decision::HostBound(reason) => {
                if rate == self.hi && self.bound.is_none() {
                    self.bound = Some(UpperEnd::Undecided(reason));
                }
                if before.is_some() {
                    self.stopped = self.stopped.or(Some(reason));
                    self.bound.get_or_insert(UpperEnd::Undecided(reason));
                }
                self.undecided = Some(rate);
                return;
            }
            Decision::Fail(failure) => {
                self.failed = Some((rate, failure));
                UpperEnd::Dut
            }
            Decision::TesterBound(reason) => {
                if !reason.depends_on_rate() {
                    self.stopped = Some(reason);
                }
                UpperEnd::Undecided(reason)
            }
        };
        (self.hi, self.bound) = (rate, Some(bound));
    }

    fn progress(&self, rate: Rate, (lo, hi): (Rate, Rate), precision: Precision) -> Progress {
        let halvings = precision.halvings(lo, hi);
        let steps_left = if self.bound.is_none() && self.passed.is_none() { halvings + 1 } else { halvings };
        Progress { lo, hi, rate, steps_left: steps_left.max(1) }
    }

    fn conclude(self, mut result: SearchResult, strict: Strict) -> SearchResult {
        result.rate = self.passed.unwrap_or_default();
        let at_rate = result.trace.iter().rfind(|s| s.verdict == StepVerdict::Pass && s.rate == result.rate);
        result.lost_at_rate = at_rate.map_or(0, |step| step.lost);
        result.strict = Some(strict);
        let Some(bound) = self.bound.filter(|_| self.passed != Some(self.hi)) else {
            result.kind = ResultKind::AtUpperLimit;
            return result;
        };
        let undecided = match bound {
            UpperEnd::Dut => self.stopped,
            UpperEnd::Undecided(reason) => Some(reason),
        };
        result.tester_limit = undecided;
        let failed = self.failed.map(|(rate, failure)| {
            result.closed_loop = failure.closed_loop;
            result.validation_failed = failure.stream() == Stream::Validation;
            rate
        });
        result.error = Rate(failed.unwrap_or(self.hi).0 - result.rate.0);
        result.kind = ResultKind::of_ends(self.passed.is_some(), failed.is_some(), undecided.as_ref());
        if self.passed.is_none() && undecided.is_some() && !strict.decided && strict.rate.0 > 0 {
            result.kind = ResultKind::Strict;
            result.rate = strict.rate;
            result.error = strict.below.map_or(Rate(0), |below| Rate(below.0 - strict.rate.0));
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
