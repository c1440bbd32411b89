//! A goal of MLRsearch, and its view of the trials at one load (RFC 9971, appendices A and B).

use crate::ratio::Ratio;
use crate::search::Precision;
use crate::units::{Count, Nanos, Rate};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    pub name: String,
    pub final_duration: Nanos,
    pub initial_duration: Nanos,
    /// Total length of the full-length trials that decide about a load.
    pub duration_sum: Nanos,
    pub loss: Ratio,
    /// Largest share of bad trials in the duration sum of a good load, below 1.
    pub exceed: Ratio,
    /// Distance of the bounds at which the search stops.
    pub width: Precision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadTrial {
    pub duration: Nanos,
    /// Frames expected in all directions.
    pub expected: Count,
    /// Lost frames of the expected ones.
    pub lost: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A lower bound.
    Lower,
    /// An upper bound.
    Upper,
    /// More trials can make it either.
    Undecided,
}

/// Nanoseconds at one load.
#[derive(Default)]
struct Sums {
    full_good: u128,
    full_bad: u128,
    short_good: u128,
    short_bad: u128,
}

impl LoadTrial {
    fn by_loss(&self, other: &LoadTrial) -> Ordering {
        let cross = |a: &LoadTrial, b: &LoadTrial| u128::from(a.lost) * u128::from(b.expected);
        cross(self, other).cmp(&cross(other, self))
    }

    pub fn forwarded(&self, load: Rate) -> Rate {
        if self.expected == 0 { Rate(0) } else { load.scaled(self.expected.saturating_sub(self.lost), self.expected) }
    }
}

impl Goal {
    fn sums(&self, trials: &[LoadTrial]) -> Sums {
        let mut sums = Sums::default();
        for trial in trials {
            let sum = match (trial.duration >= self.final_duration, trial.lost > self.loss.floor_of(trial.expected)) {
                (true, false) => &mut sums.full_good,
                (true, true) => &mut sums.full_bad,
                (false, false) => &mut sums.short_good,
                (false, true) => &mut sums.short_bad,
            };
            *sum += u128::from(trial.duration.0);
        }
        sums
    }

    /// Good short trials only offset bad short ones.
    pub fn classify(&self, trials: &[LoadTrial]) -> Class {
        let sums = self.sums(trials);
        let (exceed, of) = self.exceed.parts();
        let (exceed, of) = (u128::from(exceed), u128::from(of));
        // Scaled by the denominator of x / (1 − x).
        let rest = of - exceed;
        let bad = sums.full_bad * rest + (sums.short_bad * rest).saturating_sub(sums.short_good * exceed);
        let good = sums.full_good * rest;
        let whole = (good + bad).max(u128::from(self.duration_sum.0) * rest);
        let fits = |bad: u128| bad * of <= whole * exceed;
        match (fits(bad), fits(whole - good)) {
            (true, true) => Class::Lower,
            (false, false) => Class::Upper,
            _ => Class::Undecided,
        }
    }

    /// The worst trial within the goal; time without a trial counts as lost.
    pub fn conditional_throughput(&self, load: Rate, trials: &[LoadTrial]) -> Rate {
        let sums = self.sums(trials);
        let (exceed, of) = self.exceed.parts();
        let whole = u128::from(self.duration_sum.0).max(sums.full_good + sums.full_bad);
        let mut left = whole * u128::from(of - exceed);
        let mut full: Vec<&LoadTrial> = trials.iter().filter(|trial| trial.duration >= self.final_duration).collect();
        full.sort_by(|a, b| a.by_loss(b));
        let mut forwarded = Rate(0);
        for (at, trial) in full.into_iter().enumerate() {
            if at > 0 && left == 0 {
                return forwarded;
            }
            forwarded = trial.forwarded(load);
            left = left.saturating_sub(u128::from(trial.duration.0) * u128::from(of));
        }
        if left > 0 { Rate(0) } else { forwarded }
    }

    fn coarser(&self, wider: u64, shorter: u64) -> Goal {
        let width = match self.width {
            Precision::Absolute(width) => Precision::Absolute(Rate(width.0.saturating_mul(wider))),
            Precision::Relative(share) => {
                let (share, of) = share.parts();
                Precision::Relative(Ratio::new(share.saturating_mul(wider).min(of), of).unwrap_or(Ratio::ONE))
            }
        };
        let least = self.initial_duration;
        Goal {
            final_duration: Nanos(self.final_duration.0 / shorter).max(least),
            duration_sum: Nanos(self.duration_sum.0 / shorter).max(least),
            width,
            ..self.clone()
        }
    }

    /// The goal itself is last.
    pub fn targets(&self) -> [Goal; 3] {
        [self.coarser(4, 20), self.coarser(2, 5), self.clone()]
    }
}
