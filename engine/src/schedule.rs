//! When frames leave and on which connections: departure times from a rate, and the order of connection
//! indices. Pure arithmetic on ticks, so that it can be tested without a clock.

use method::{Count, Order, Rate};
use port::Ticks;
use wire::perm::splitmix;

/// Departure times of one sender: frame k is due at start + k / rate.
#[derive(Clone, Copy, Debug)]
pub struct Departures {
    start: Ticks,
    frames: Count,
    /// Frames per 2^32 ticks × 2^32, i.e. a 64.64 fixed-point number of frames per tick.
    per_tick: u128,
    rate: u64,
    frequency: u64,
    burst: u32,
}

impl Departures {
    /// `frames` frames at `rate` a second from `start` on, on a clock of `frequency` ticks a second.
    ///
    /// The burst is 1 up to 1 Mfps; above, the smallest that leaves 1 µs between two looks at the clock, at most 32.
    pub fn new(start: Ticks, frequency: u64, rate: Rate, frames: Count) -> Departures {
        let burst = rate.0.div_ceil(1_000_000).clamp(1, port::BURST as u64) as u32;
        Departures {
            start,
            frames,
            // Rounded up, so that a frame due exactly now counts; too little to make any other frame early.
            per_tick: ((rate.0 as u128) << 64).div_ceil(frequency as u128),
            rate: rate.0.max(1),
            frequency,
            burst,
        }
    }

    /// Move the whole schedule to begin at `start`.
    pub fn start_at(&mut self, start: Ticks) {
        self.start = start;
    }

    /// Declared burst.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// Frames in all.
    pub fn frames(&self) -> Count {
        self.frames
    }

    /// When frame `k` is due.
    #[inline]
    pub fn due(&self, k: Count) -> Ticks {
        self.start + ((k as u128 * self.frequency as u128) / self.rate as u128) as u64
    }

    /// How many frames are due at `now`: whole bursts only, but never beyond the last frame.
    #[inline(always)]
    pub fn due_count(&self, now: Ticks) -> Count {
        if now < self.start {
            return 0;
        }
        // Frames with due time <= now, then as many bursts as have begun.
        let frames = ((((now - self.start) as u128).wrapping_mul(self.per_tick)) >> 64) as u64 + 1;
        let bursts = frames.div_ceil(self.burst as u64);
        (bursts * self.burst as u64).min(self.frames)
    }
}

/// The order in which a sender uses connection indices.
#[derive(Clone, Debug)]
pub enum Indices {
    /// Each index once: first, first + step, … (phase 1, validation, round robin; wraps at N).
    Sequence {
        /// Next index.
        next: u64,
        /// Distance, the number of senders.
        step: u64,
        /// N.
        n: u64,
    },
    /// Pseudo-random with replacement (phase 2).
    Random {
        /// State of the generator.
        state: u64,
        /// N.
        n: u64,
    },
}

impl Indices {
    /// In the asked order, for sender `which` of `of`.
    pub fn new(order: Order, n: Count, seed: u64, which: u64, of: u64) -> Indices {
        match order {
            Order::RoundRobin => Indices::Sequence { next: which % n.max(1), step: of, n },
            Order::Random => {
                let mut state = seed ^ (which + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
                splitmix(&mut state);
                Indices::Random { state, n }
            }
        }
    }

    /// The next indices.
    #[inline(always)]
    pub fn fill(&mut self, out: &mut [u32]) {
        match self {
            Indices::Sequence { next, step, n } => {
                for o in out {
                    *o = *next as u32;
                    *next += *step;
                    if *next >= *n {
                        *next %= *n;
                    }
                }
            }
            Indices::Random { state, n } => {
                for o in out {
                    // The bias of multiply-shift over 64 random bits is below 2^-32 for N <= 2^32.
                    *o = ((random(state) as u128 * *n as u128) >> 64) as u32;
                }
            }
        }
    }
}

/// The next number of a generator with a period of 2^64 that costs one multiplication: a counter times a function of
/// itself, the two halves of the product folded together.
#[inline(always)]
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let product = *state as u128 * (*state ^ 0xd6e8_feb8_6659_fd93) as u128;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// 64 cells by their upper bits, by their lower bits, and by the distance from the one before: for 63 degrees of
    /// freedom chi-square exceeds 100 once in 500 times, and the mean over 32 seeds lies near 63.
    #[test]
    fn random_indices_are_even_and_independent() {
        for n in [1000, 4_000_000, 3_170_829_312, 1 << 32] {
            let mut mean = [0.0; 3];
            for seed in 0..32 {
                let mut out = vec![0; 20_000];
                Indices::new(Order::Random, n, seed, 0, 1).fill(&mut out);
                assert!(out.iter().all(|&o| u64::from(o) < n));
                let mut cells = [[0f64; 64]; 3];
                for w in out.windows(2) {
                    let (a, b) = (u64::from(w[0]), u64::from(w[1]));
                    for (cell, at) in cells.iter_mut().zip([a * 64 / n, a % 1000 * 64 / 1000, (b + n - a) % n * 64 / n])
                    {
                        cell[at as usize] += 1.0;
                    }
                }
                for ((cell, mean), m) in cells.iter().zip(&mut mean).zip([n, 1000, n]) {
                    // Cells differ in width where 64 does not divide the range.
                    let width = |c: u64| ((c + 1) * m).div_ceil(64) - (c * m).div_ceil(64);
                    let wants = (0..64).map(|c| 19_999.0 * width(c) as f64 / m as f64);
                    *mean += cell.iter().zip(wants).map(|(c, w)| (c - w).powi(2) / w).sum::<f64>() / 32.0;
                }
            }
            assert!(mean.iter().all(|m| (50.0..76.0).contains(m)), "N = {n}: {mean:?}");
        }
    }

    #[test]
    fn senders_share_the_sequence_without_overlap() {
        let mut seen = [0; 10];
        for which in 0..3 {
            let mut order = Indices::new(Order::RoundRobin, 10, 0, which, 3);
            let mine = (10 - which).div_ceil(3) as usize;
            let mut out = vec![0; mine];
            order.fill(&mut out);
            for i in out {
                seen[i as usize] += 1;
            }
        }
        assert_eq!(seen, [1; 10]);
    }
}
