//! Seeded random numbers.

use crate::{Count, Ratio};

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a uniform number in 0..n; the bias is below n / 2^64.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    pub(crate) fn chance(&mut self, share: Ratio) -> bool {
        !share.is_zero() && self.below(1 << 53) < share.ceil_of(1 << 53)
    }

    /// Returns a uniform number in (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        (self.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number of the standard normal distribution (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Binomial, approximated by Poisson for few and by the normal distribution for many.
    pub(crate) fn hits(&mut self, n: Count, share: Ratio) -> Count {
        let p = share.as_f64();
        let mean = n as f64 * p;
        if mean == 0.0 {
            return 0;
        }
        if share.is_one() {
            return n;
        }
        let hits = if mean < 50.0 {
            let (limit, mut product, mut k) = ((-mean).exp(), self.unit(), 0);
            while product > limit {
                product *= self.unit();
                k += 1;
            }
            k
        } else {
            (mean + self.normal() * (mean * (1.0 - p)).sqrt()).round().max(0.0) as Count
        };
        hits.min(n)
    }
}
