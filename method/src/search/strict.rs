//! The strict result of a search (RFC 2544: a lost frame is a fail), from the same trials.

use super::Precision;
use crate::judged::Judgement;
use crate::stats::median_of;
use crate::units::Rate;
use crate::validity::lost_any;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The search ends at this part of its upper end.
const LOWEST_PART: u64 = 4096;

/// The strict result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Strict {
    /// The highest rate that passed below `below`, in a valid or discarded trial, per direction; 0 when none did.
    pub rate: Rate,
    /// The lowest rate at which any trial, valid or not, lost a frame; `None` if none did.
    pub below: Option<Rate>,
    /// Whether the valid trials decided the search. If not, this rate is the figure of the search, and the host was too
    /// busy for validity.
    pub decided: bool,
}

/// The median of the strict results of several searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StrictMedian {
    /// The median. A search in which no rate passed counts with the lowest that lost frames.
    pub median: f64,
    /// Whether the median is less, because a search of this value or more had no rate that passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_less: bool,
}

impl Strict {
    /// Whether only an upper bound is known although this rate, at or above it, passed in a valid trial: a discarded one lost frames,
    /// and no lower rate was tried. The bound would contradict the pass.
    pub fn is_unknown(&self, passed: Rate) -> bool {
        self.rate.0 == 0 && self.below.is_some_and(|below| below <= passed)
    }
}

impl StrictMedian {
    /// Of strict results, each with the highest rate that passed in a valid trial. `None` if no search says anything, or if one whose
    /// strict result is unknown may move the median.
    pub fn of(all: impl Iterator<Item = (Strict, Rate)>) -> Option<StrictMedian> {
        let end = |(strict, passed): (Strict, Rate)| match strict.rate {
            Rate(0) => strict.below.map(|below| (below.0 as f64, true, strict.is_unknown(passed))),
            passed => Some((passed.0 as f64, false, false)),
        };
        let mut ends: Vec<(f64, bool, bool)> = all.filter_map(end).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let median = median_of(&ends.iter().map(|end| end.0).collect::<Vec<_>>())?;
        let middle = ends[(ends.len() - 1) / 2].0;
        let moving = || ends.iter().filter(|end| end.0 >= middle);
        let is_known = !moving().any(|&(.., is_unknown)| is_unknown);
        is_known.then(|| StrictMedian { median, is_less: moving().any(|&(_, is_less, _)| is_less) })
    }
}

pub(super) struct Literal {
    passed: Vec<Rate>,
    below: Option<Rate>,
    lo: Rate,
    /// Lowered to what the tester did not reach.
    hi: Rate,
    end: Rate,
}

impl Literal {
    pub(super) fn new(lo: Rate, hi: Rate) -> Literal {
        Literal { passed: Vec::new(), below: None, lo, hi, end: hi }
    }

    pub(super) fn learn(&mut self, rate: Rate, judgement: &Judgement) {
        let mut known = false;
        for attempt in &judgement.attempts {
            let lost = lost_any(&attempt.spec, &attempt.outcome);
            known |= lost.is_some();
            match lost {
                Some(true) => self.below = Some(self.below.map_or(rate, |below| below.min(rate))),
                Some(false) => self.passed.push(rate),
                None => {}
            }
        }
        if !known {
            self.hi = self.hi.min(rate);
        }
    }

    fn rate(&self) -> Option<Rate> {
        self.passed.iter().copied().filter(|&rate| self.below.is_none_or(|below| rate < below)).max()
    }

    pub(super) fn bounds(&self, bound: Rate) -> (Rate, Rate) {
        let lo = self.rate().unwrap_or(self.lo);
        (lo, self.below.unwrap_or(self.hi).min(self.hi).min(bound).max(lo))
    }

    /// The next rate above `least` and below `bound`, if a trial there helps.
    pub(super) fn next(&self, (least, bound): (Rate, Rate), precision: Precision) -> Option<Rate> {
        let (lo, hi) = self.bounds(bound);
        let middle = lo.halfway(hi).max(least);
        let hopeless = self.passed.is_empty() && hi.0 <= self.end.0 / LOWEST_PART;
        (hi > lo && hi.0 - lo.0 > precision.width(lo).0 && middle < hi && !hopeless).then_some(middle)
    }

    pub(super) fn result(&self, decided: bool) -> Strict {
        Strict { rate: self.rate().unwrap_or_default(), below: self.below, decided }
    }
}
