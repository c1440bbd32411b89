//! The rounds of a lane's polling loop, and its stalls.

use method::Nanos;
use port::{Clock, Gaps, Ticks};

pub(crate) struct Rounds {
    start: Ticks,
    last: Ticks,
    inside: Ticks,
    gaps: Gaps,
    /// Longest round, DUT included.
    longest: Ticks,
}

impl Rounds {
    /// Rounds of a lane; after the start of the phase, the lane has waited since then.
    pub(crate) fn new(clock: Clock, start: Ticks, now: Ticks) -> Rounds {
        Rounds { start, last: now.min(start), inside: 0, gaps: Gaps::new(clock), longest: 0 }
    }

    /// `inside` is the time in which the DUT may have worked so far. A round handles one burst per
    /// task, so a much longer one stalled unless the DUT worked.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Ticks, inside: Ticks) {
        if now > self.start {
            let round = now - self.last;
            self.longest = self.longest.max(round);
            self.gaps.add(round.saturating_sub(inside - self.inside));
        }
        (self.last, self.inside) = (now, inside);
    }

    /// The longest and the total. `waited` is the time off the core of a lane that polls a DUT: in
    /// one round, no longer than the round.
    pub(crate) fn stalls(&self, clock: Clock, waited: Option<Nanos>) -> (Nanos, Nanos) {
        let [longest, stalled, round] =
            [self.gaps.longest, self.gaps.stalled, self.longest].map(|ticks| Nanos(clock.nanos(ticks)));
        let waited = waited.unwrap_or_default();
        (longest.max(waited.min(round)), stalled.max(waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(begun: u64, rounds: &[(u64, u64)], waited: Option<u64>) -> (u64, u64) {
        let clock = Clock::system();
        let ticks = |micros: u64| clock.ticks(micros * 1_000);
        let mut watched = Rounds::new(clock, ticks(1_000), ticks(begun));
        for &(now, inside) in rounds {
            watched.begin(ticks(now), ticks(inside));
        }
        let (longest, stalled) = watched.stalls(clock, waited.map(|micros| Nanos(micros * 1_000)));
        let micros = |nanos: Nanos| (nanos.0 + 500) / 1_000;
        (micros(longest), micros(stalled))
    }

    #[test]
    fn the_wait_from_the_start_to_the_first_round_is_a_stall() {
        assert_eq!(rounds(300_000, &[(300_001, 0), (300_010, 0)], None), (299_001, 299_001));
        assert_eq!(rounds(500, &[(501, 0), (999, 0), (1_005, 0), (1_010, 0)], None), (6, 0));
    }

    #[test]
    fn time_in_which_the_device_may_have_worked_is_no_stall() {
        assert_eq!(rounds(1_000, &[(1_100, 95), (1_200, 100)], None), (95, 95));
    }

    /// The lane waited 40 ms while it polled the device; no round took longer than 25 ms.
    #[test]
    fn a_wait_for_the_core_while_the_device_was_polled_is_a_stall() {
        let polled = [(26_000, 24_990), (41_000, 39_980), (41_010, 39_985)];
        assert_eq!(rounds(1_000, &polled, Some(40_000)), (25_000, 40_000));
        assert_eq!(rounds(1_000, &polled, Some(8_000)), (8_000, 8_000));
        assert_eq!(rounds(1_000, &polled, None), (10, 0));
    }
}
