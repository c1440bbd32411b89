//! Quantities as integers with a unit type (invariant 12).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

pub type Count = u64;

/// Frames per second **in one direction** (in phase 1 the same figure is connections per second).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rate(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }
    /// Seconds, for statistics and reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(d: std::time::Duration) -> Nanos {
        Nanos(d.as_nanos() as u64)
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(n: Nanos) -> std::time::Duration {
        std::time::Duration::from_nanos(n.0)
    }
}

impl Rate {
    /// Returns `count` per `time`, rounded down.
    pub fn of(count: Count, time: Nanos) -> Rate {
        Rate(u64::try_from(in_seconds(count) / u128::from(time.0.max(1))).unwrap_or(u64::MAX))
    }
    /// Returns the lowest rate at which `time` has room for `count`.
    pub fn at_least(count: Count, time: Nanos) -> Rate {
        Rate(u64::try_from(in_seconds(count).div_ceil(u128::from(time.0.max(1)))).unwrap_or(u64::MAX))
    }
    /// floor(rate × duration), saturating.
    pub fn frames_in(self, duration: Nanos) -> Count {
        u64::try_from((self.0 as u128 * duration.0 as u128) / 1_000_000_000).unwrap_or(u64::MAX)
    }
    /// Time for `frames`, rounded up; the longest time for a rate of 0.
    pub fn time_for(self, frames: Count) -> Nanos {
        if self.0 == 0 {
            return Nanos(if frames == 0 { 0 } else { u64::MAX });
        }
        Nanos(((frames as u128 * 1_000_000_000).div_ceil(self.0 as u128)).min(u64::MAX as u128) as u64)
    }
    /// Mean of both rates, rounded down.
    #[must_use]
    pub fn halfway(self, higher: Rate) -> Rate {
        Rate(self.0 + (higher.0 - self.0) / 2)
    }
    /// floor(self × numerator / denominator).
    #[must_use]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Rate {
        Rate(((self.0 as u128 * numerator as u128) / denominator as u128) as u64)
    }
}

fn in_seconds(count: Count) -> u128 {
    u128::from(count) * u128::from(Nanos::SECOND.0)
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_do_not_wrap_in_long_fast_trials() {
        // 40 Mfps for a day: far above 2^32.
        assert_eq!(Rate(40_000_000).frames_in(Nanos::from_secs(86_400)), 3_456_000_000_000);
        assert_eq!(Rate(u64::MAX).frames_in(Nanos::from_secs(3)), u64::MAX);
    }

    #[test]
    fn a_rate_of_frames_in_a_time_is_rounded() {
        let time = Nanos::from_secs(3);
        assert_eq!((Rate::of(10, time), Rate::at_least(10, time)), (Rate(3), Rate(4)));
        assert_eq!((Rate::of(u64::MAX, Nanos(1)), Rate::at_least(1, Nanos(0))), (Rate(u64::MAX), Rate(1_000_000_000)));
    }

    #[test]
    fn time_rounds_up_and_zero_rate_never_ends() {
        assert_eq!(Rate(3).time_for(1), Nanos(333_333_334));
        assert_eq!(Rate(0).time_for(1), Nanos(u64::MAX));
        assert_eq!(Rate(0).time_for(0), Nanos(0));
    }
}
