//! The order in which a sender uses connections.

use crate::churn::ChurnOrder;
use crate::popularity::Popular;
use crate::random::random;
use method::{Count, Order, Popularity};
use wire::perm::splitmix;

/// Connection indices of a sender.
#[derive(Clone, Debug)]
pub enum Indices {
    /// Indices drawn once each: first, first + step, …, wrapping at N.
    Sequence {
        /// Next index.
        next: u64,
        /// Number of senders.
        step: u64,
        /// N.
        n: u64,
    },
    /// Indices drawn with replacement (phase 2).
    Random {
        /// State of the generator.
        state: u64,
        /// N.
        n: u64,
    },
    /// Listed indices, once each (connections that a phase 1 lacks).
    These {
        /// Indices that are left, the next one last.
        left: Vec<u32>,
    },
    /// Indices drawn with replacement and popularity.
    Popular(Box<Popular>),
    /// Held connections and new ones.
    Churn(Box<ChurnOrder>),
}

impl Indices {
    /// Every `of`-th index of `all`.
    pub fn these(all: &[u32], which: u64, of: u64) -> Indices {
        let mut left: Vec<u32> = all.iter().skip(which as usize).step_by(of as usize).copied().collect();
        left.reverse();
        Indices::These { left }
    }

    /// Indices in this order for sender `which` of `of`.
    pub fn new(order: Order, n: Count, seed: u64, which: u64, of: u64) -> Indices {
        match order {
            Order::RoundRobin => Indices::Sequence { next: which % n.max(1), step: of, n },
            Order::Random => Indices::Random { state: Indices::state(seed, which), n },
        }
    }

    /// Indices with a popularity for random indices, whose order follows from `order_seed`.
    pub fn with(
        popularity: Popularity,
        (order, n): (Order, Count),
        (order_seed, seed): (u64, u64),
        (which, of): (u64, u64),
    ) -> Indices {
        let is_random = order == Order::Random;
        let popular = is_random.then(|| Popular::new(popularity, n, order_seed, Indices::state(seed, which))).flatten();
        popular.map_or_else(|| Indices::new(order, n, seed, which, of), |popular| Indices::Popular(Box::new(popular)))
    }

    fn state(seed: u64, which: u64) -> u64 {
        let mut state = seed ^ (which + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        splitmix(&mut state);
        state
    }

    /// Uses only the first `flows` connections from now on, in the orders `Sequence` and `Random`.
    pub fn use_flows(&mut self, flows: Count) {
        if let Indices::Sequence { n, .. } | Indices::Random { n, .. } = self {
            *n = flows;
        }
    }

    /// Fills the slice.
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
            Indices::Churn(order) => order.fill(out),
            Indices::Popular(popular) => popular.fill(out),
            // The sender draws one batch more than it uses.
            Indices::These { left } => out.iter_mut().for_each(|o| *o = left.pop().unwrap_or_default()),
            Indices::Random { state, n } => {
                for o in out {
                    // The bias of multiply-shift over 64 random bits is below 2^-32 for N <= 2^32.
                    *o = ((random(state) as u128 * *n as u128) >> 64) as u32;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts in 64 cells by upper bits, lower bits, and distance to the previous index: chi-square with 63 degrees of
    /// freedom exceeds 100 once in 500 times.
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
