//! Gaps between the rounds of a polling thread, mostly because it did not run.

use crate::{Clock, Ticks};

/// A round takes a few microseconds.
const STALL_NANOS: u64 = 20_000;

/// Stalls, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    /// Longest gap between two rounds.
    pub longest: Ticks,
    /// Sum of all stalls.
    pub stalled: Ticks,
    at_least: Ticks,
}

impl Gaps {
    /// No gaps.
    pub fn new(clock: Clock) -> Gaps {
        Gaps { longest: 0, stalled: 0, at_least: clock.ticks(STALL_NANOS) }
    }

    /// Adds a gap.
    #[inline(always)]
    pub fn add(&mut self, gap: Ticks) {
        self.longest = self.longest.max(gap);
        if gap > self.at_least {
            self.stalled += gap;
        }
    }

    /// Takes the gaps, and resets them.
    #[must_use]
    pub fn take(&mut self) -> Gaps {
        std::mem::replace(self, Gaps { longest: 0, stalled: 0, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stalls_count_towards_the_total() {
        let clock = Clock::system();
        let ticks = |micros: u64| clock.ticks(micros * 1_000);
        let mut gaps = Gaps::new(clock);
        for micros in [3, 19, 50, 30, 2] {
            gaps.add(ticks(micros));
        }
        let taken = gaps.take();
        assert_eq!((taken.longest, taken.stalled), (ticks(50), ticks(50) + ticks(30)));
        assert_eq!((gaps.longest, gaps.stalled), (0, 0));
    }
}
