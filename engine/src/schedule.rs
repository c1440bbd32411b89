//! The schedule of a phase: departure times from a rate, in pure arithmetic on ticks.

use method::{Count, Pace};
use port::Ticks;

/// Departure times of one sender. All n senders share one schedule, with frame k due at start + k /
/// rate; sender w has the frames w, w + n, w + 2n, …
#[derive(Clone, Copy, Debug)]
pub struct Departures {
    start: Ticks,
    begin: Ticks,
    frames: Count,
    /// × 2^`shift`, see [`ratio`].
    per_tick: u64,
    shift: u32,
    rate: u64,
    ticks: u64,
    burst: u32,
    which: u64,
    of: u64,
}

impl Departures {
    /// `frames` frames at `rate` from `start`, on a clock of `frequency` ticks per second.
    ///
    /// The burst is 1 up to 1 Mfps; above, the smallest that leaves 1 µs between clock readings, at most 32.
    pub fn new(start: Ticks, frequency: u64, rate: impl Into<Pace>, frames: Count) -> Departures {
        Departures::shared(start, frequency, rate, frames, (0, 1))
    }

    /// Sender `which` of `of` in a schedule of `frames` frames at `rate` in total.
    pub fn shared(
        start: Ticks,
        frequency: u64,
        rate: impl Into<Pace>,
        frames: Count,
        (which, of): (u64, u64),
    ) -> Departures {
        let pace = rate.into();
        let (rate, seconds) = pace.frames_in_seconds();
        let (rate, ticks) = (rate.max(1), frequency * seconds);
        let (per_tick, shift) = ratio(rate, ticks as u128 * of as u128);
        let mut departures = Departures {
            start,
            begin: start,
            frames: Departures::share(frames, which, of),
            per_tick,
            shift,
            rate,
            ticks,
            burst: pace.per_second().0.max(1).div_ceil(of).div_ceil(1_000_000).clamp(1, port::BATCH as u64) as u32,
            which,
            of,
        };
        departures.start_at(start);
        departures
    }

    /// Frames of sender `which` of `of`.
    pub fn share(frames: Count, which: u64, of: u64) -> Count {
        frames / of + u64::from(which < frames % of)
    }

    /// Moves the schedule.
    pub fn start_at(&mut self, start: Ticks) {
        self.start = start;
        self.begin = self.due(0);
    }

    /// The burst in frames.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// The frames of this sender.
    pub fn frames(&self) -> Count {
        self.frames
    }

    /// Due time of this sender's frame `k`.
    #[inline]
    pub fn due(&self, k: Count) -> Ticks {
        let k = k as u128 * self.of as u128 + self.which as u128;
        self.start + ((k * self.ticks as u128) / self.rate as u128) as u64
    }

    /// Frames due at `now`, in complete bursts except the last.
    #[inline(always)]
    pub fn due_count(&self, now: Ticks) -> Count {
        if now < self.begin {
            return 0;
        }
        // Rounded up to begun bursts.
        let frames = (((now - self.begin) as u128 * self.per_tick as u128) >> self.shift) as u64 + 1;
        let bursts = frames.div_ceil(self.burst as u64);
        (bursts * self.burst as u64).min(self.frames)
    }
}

/// 62 or 63 significant bits, and a shift: rounded up so that a frame due now counts, and so little
/// that none is early.
fn ratio(rate: u64, ticks: u128) -> (u64, u32) {
    let shift = 62 + ticks.ilog2() - rate.ilog2();
    (((rate as u128) << shift).div_ceil(ticks) as u64, shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::{Direction, DirectionRatio, Rate};

    #[test]
    fn bursts_follow_the_rule() {
        let burst = |rate| Departures::new(0, 2_500_000_000, Rate(rate), 10).burst();
        assert_eq!(
            (burst(1), burst(1_000_000), burst(1_000_001), burst(14_880_952), burst(40_000_000)),
            (1, 1, 2, 15, 32)
        );
    }

    #[test]
    fn frames_are_due_exactly_on_time() {
        let d = Departures::new(1000, 1_000_000_000, Rate(500_000), 100);
        assert_eq!((d.due_count(999), d.due_count(1000), d.due_count(2999), d.due_count(3000)), (0, 1, 1, 2));
        assert_eq!((d.due(1), d.due(99)), (3000, 199_000));
        assert_eq!(d.due_count(u64::MAX / 2), 100);
    }

    #[test]
    fn a_day_at_40_mfps_neither_wraps_nor_drifts() {
        let d = Departures::new(0, 2_596_104_321, Rate(40_000_000), u64::MAX);
        let day = 86_400 * 2_596_104_321;
        assert!(d.due_count(day).abs_diff(86_400 * 40_000_000) <= 32);
        assert_eq!(d.due(86_400 * 40_000_000), day);
    }

    /// Senders together follow the common schedule, and none ends after it.
    #[test]
    fn uneven_shares_make_one_even_schedule() {
        for (rate, frames, of) in [(3, 8, 2), (1, 5, 3), (1_000_001, 7001, 2), (999_999, 10_000, 3), (700, 2, 4)] {
            let whole = Departures::new(77, 2_596_104_321, Rate(rate), frames);
            let parts: Vec<_> =
                (0..of).map(|w| Departures::shared(77, 2_596_104_321, Rate(rate), frames, (w, of))).collect();
            for k in 0..frames {
                let (part, own) = (&parts[(k % of) as usize], k / of);
                assert_eq!(part.due(own), whole.due(k), "frame {k} at {rate}/s by {of} senders");
                let due = part.due(own);
                assert_eq!(part.due_count(due - 1), own, "not early");
                assert_eq!(part.due_count(due + 1), own + 1, "late by at most the tick to which times are rounded");
            }
            assert_eq!(parts.iter().map(Departures::frames).sum::<u64>(), frames);
        }
    }

    /// 3:7 at a rate that 7 does not divide, for a day: frame 3k is due with frame 7k of the faster direction.
    #[test]
    fn directions_of_a_mix_do_not_drift_apart() {
        let ratio = Direction::Mixed(DirectionRatio::new(3, 7).unwrap());
        let all = u64::MAX / 8;
        let [slow, fast] = [true, false].map(|forward| ratio.pace(forward, Rate(10_000_019)));
        let fast = Departures::new(5, 2_596_104_321, fast, all);
        let whole = Departures::new(5, 2_596_104_321, slow, all);
        for k in [0, 1, 1000, 10_000_019 * 86_400 / 7] {
            assert_eq!(whole.due(3 * k), fast.due(7 * k));
        }
        assert_eq!((fast.burst(), whole.burst()), (11, 5));
        let parts: Vec<_> = (0..2).map(|w| Departures::shared(5, 2_596_104_321, slow, all, (w, 2))).collect();
        for k in (0..1000).chain([370_285_714_285]) {
            let due = parts[(k % 2) as usize].due(k / 2);
            assert_eq!(due, whole.due(k));
            assert!(whole.due_count(due + 1) > k, "late by at most the tick to which times are rounded");
        }
    }

    #[test]
    fn several_senders_have_the_burst_of_their_own_rate() {
        let burst = |of| Departures::shared(0, 2_500_000_000, Rate(6_000_001), 10, (0, of)).burst();
        assert_eq!((burst(1), burst(2), burst(7)), (7, 4, 1));
    }
}
