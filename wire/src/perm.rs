//! The keyed bijection on [0, N) for the pseudo-random order of phase 1 (RFC 9693, section 4.4, and RFC 4814), without
//! a table: a Feistel network of six rounds on a domain a × 2^k ≥ N, repeated while outside [0, N). Not cryptographic.

const ROUNDS: usize = 6;

/// Pseudo-random, of N ≤ 2^32 things.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    /// N - 1.
    last: u32,
    /// Right half in [0, 2^k), left half in [0, a).
    k: u32,
    a: u32,
    keys: [Key; ROUNDS],
}

impl Permutation {
    /// Order of `n` things (1 ..= 2^32) under a seed.
    ///
    /// # Panics
    /// When `n` is 0 or above 2^32.
    pub fn new(n: u64, seed: u64) -> Permutation {
        assert!((1..=1 << 32).contains(&n), "a permutation of {n} things was asked for");
        let bits = 64 - (n - 1).leading_zeros(); // 0 for n = 1
        let k = bits.div_ceil(2).max(1);
        let a = n.div_ceil(1 << k) as u32;
        let mut state = seed;
        let keys = std::array::from_fn(|_| {
            let random = splitmix(&mut state);
            // Never small, even if x is: small products mix little.
            Key(random as u16, (random >> 16) as u16 & 0x3fff | 0x4000)
        });
        Permutation { n, last: (n - 1) as u32, k, a, keys }
    }

    /// Number of things.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Thing at position `i` < N.
    #[inline]
    pub fn get(&self, i: u32) -> u32 {
        debug_assert!((i as u64) < self.n);
        self.walk(self.once(i))
    }

    /// Several times as fast as [`Self::get`]. `out` is as long as `positions`.
    #[inline]
    pub fn fill(&self, positions: &[u32], out: &mut [u32]) {
        let out = &mut out[..positions.len()];
        let (whole, rest) = positions.as_chunks::<LANES>();
        let (out_whole, out_rest) = out.as_chunks_mut::<LANES>();
        for (p, o) in whole.iter().zip(out_whole) {
            *o = self.many(p);
            self.walk_all(o);
        }
        if rest.len() > FEW {
            let mut p = [0; LANES];
            p[..rest.len()].copy_from_slice(rest);
            out_rest.copy_from_slice(&self.many(&p)[..rest.len()]);
            self.walk_all(out_rest);
        } else {
            for (p, o) in rest.iter().zip(out_rest) {
                *o = self.walk(self.once(*p));
            }
        }
    }

    #[inline(always)]
    fn many(&self, p: &[u32; LANES]) -> [u32; LANES] {
        if self.a > u16::MAX as u32 { self.lanes::<true>(p) } else { self.lanes::<false>(p) }
    }

    /// Rarely repeats, as the domain exceeds N by less than 2^k.
    #[inline(always)]
    fn walk(&self, mut x: u32) -> u32 {
        if x > self.last {
            x = self.walk_on(x);
        }
        x
    }

    #[cold]
    fn walk_on(&self, mut x: u32) -> u32 {
        while x > self.last {
            x = self.once(x);
        }
        x
    }

    #[inline(always)]
    fn walk_all(&self, out: &mut [u32]) {
        // One comparison for all: exits would prevent vector code.
        if out.iter().fold(0, |a, &o| a.max(o)) > self.last {
            self.walk_each(out);
        }
    }

    #[cold]
    fn walk_each(&self, out: &mut [u32]) {
        for o in out {
            *o = self.walk(*o);
        }
    }

    /// Vector code: 16-bit numbers, no branch, arrays indexed alike.
    #[inline(always)]
    fn lanes<const WHOLE: bool>(&self, p: &[u32; LANES]) -> [u32; LANES] {
        let (a, k) = (self.a as u16, self.k);
        let mask = ((1u32 << k) - 1) as u16;
        let mut l: [u16; LANES] = std::array::from_fn(|j| (p[j] >> k) as u16);
        let mut r: [u16; LANES] = std::array::from_fn(|j| p[j] as u16 & mask);
        for [left, right] in self.keys.as_chunks::<2>().0 {
            for j in 0..LANES {
                let h = hash(r[j], *left);
                // With a = 2^16 the hash is uniform on [0, a).
                l[j] = add_mod(l[j], if WHOLE { h } else { high(h, a) }, a);
            }
            for j in 0..LANES {
                r[j] = r[j].wrapping_add(hash(l[j], *right) >> (16 - k)) & mask;
            }
        }
        std::array::from_fn(|j| (l[j] as u32) << k | r[j] as u32)
    }

    /// Permutes one number as [`Self::lanes`] does, with the shortest latency.
    #[inline(always)]
    fn once(&self, i: u32) -> u32 {
        let (a, k) = (self.a, self.k);
        let mask = (1u32 << k) - 1;
        let (mut l, mut r) = (i >> k, i & mask);
        for [left, right] in self.keys.as_chunks::<2>().0 {
            let y = ((hash_above(r, *left) >> 16) * a) >> 16;
            // l + y or l + y - a, begun before y is known.
            let (below, carry) = l.wrapping_sub(a).overflowing_add(y);
            l = if carry { below } else { l + y };
            r = r.wrapping_add(hash_above(l, *right) >> (32 - k)) & mask;
        }
        l << k | r
    }
}

/// The latencies of their multiplications overlap.
const LANES: usize = 32;
/// Below this number, one by one is faster than lanes.
const FEW: usize = 5;

/// XORed with x, it gives two factors, the second odd.
#[derive(Clone, Copy, Debug)]
struct Key(u16, u16);

/// Nearly uniform over 16 bits: the halves of a product of two functions of x. One multiplication a
/// round, for latency.
#[inline(always)]
fn hash(x: u16, key: Key) -> u16 {
    let (u, v) = (x ^ key.0, x ^ key.1 | 1);
    u.wrapping_mul(v) ^ high(u, v)
}

/// A hash in the upper half; the lower half is arbitrary.
#[inline(always)]
fn hash_above(x: u32, key: Key) -> u32 {
    let p = (x ^ key.0 as u32).wrapping_mul(x ^ key.1 as u32 | 1);
    p ^ p << 16
}

/// A number that is uniform on [0, y) for uniform x.
#[inline(always)]
fn high(x: u16, y: u16) -> u16 {
    ((x as u32 * y as u32) >> 16) as u16
}

/// (x + y) mod m for x, y < m ≤ 2^16 (m = 0 is 2^16), without a comparison: if x + y < m, the first of the two wraps to
/// x + y - m + 2^16, which is not below the second; else the second is x + y or all ones, which is not below the first.
#[inline(always)]
fn add_mod(x: u16, y: u16, m: u16) -> u16 {
    x.wrapping_sub(m.wrapping_sub(y)).min(x.saturating_add(y))
}

/// Next number of the splitmix64 sequence.
#[inline(always)]
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thing_exactly_once() {
        for n in (1..=70).chain([255, 256, 257, 1000, 4_000_000, 65_536, 65_537, 1 << 20, 6_250_000]) {
            let p = Permutation::new(n, 42);
            let mut seen = vec![false; n as usize];
            for i in 0..n as u32 {
                let x = p.get(i) as usize;
                assert!(!std::mem::replace(&mut seen[x], true), "N = {n}: {x} twice");
            }
        }
    }

    #[test]
    fn sums_wrap_at_every_modulus() {
        for m in [1u32, 2, 3, 100, 32_767, 32_768, 32_769, 40_000, 65_534, 65_535, 65_536] {
            let some = [0, 1, 2, m / 3, m / 2, m / 2 + 1, m - 1].map(|v| v.min(m - 1));
            for (x, y) in some.into_iter().flat_map(|x| some.map(|y| (x, y))) {
                assert_eq!(u32::from(add_mod(x as u16, y as u16, m as u16)), (x + y) % m, "{x} + {y} mod {m}");
            }
        }
    }

    #[test]
    fn the_largest_domain_is_complete_at_its_ends() {
        let p = Permutation::new(1 << 32, 7);
        assert_eq!((p.k, p.a), (16, 65_536));
        assert_ne!(p.get(0), p.get(u32::MAX));
    }

    #[test]
    fn batches_agree_with_single_steps() {
        for n in [1, 2, 3, 70, 10_000, 65_537, 1_600_000_000, (1 << 32) - 1, 1 << 32] {
            let p = Permutation::new(n, 3);
            let positions: Vec<u32> = (0..1000u64).map(|i| (i * 1_599_999 % n) as u32).collect();
            for len in [1, 5, 6, 31, 32, 33, 1000] {
                let mut out = vec![0; len];
                p.fill(&positions[..len], &mut out);
                for (i, o) in positions.iter().zip(&out) {
                    assert_eq!(p.get(*i), *o, "N = {n}");
                }
            }
        }
    }

    /// Pairs (source port, destination port) of the first outputs, in 16 × 16 cells: 255 degrees of freedom.
    /// A single seed may reach 330; the mean over seeds must lie near 255.
    #[test]
    fn first_outputs_fill_the_plane_evenly() {
        for (s, d) in [(40_000u64, 100u64), (100, 40_000), (40_000, 40_000), (4_000, 1_000), (3, 1_000_000)] {
            let n = s * d;
            let draws = (n / 4).min(250_000);
            let mut sum = 0.0;
            for seed in 0..16 {
                let p = Permutation::new(n, seed);
                let (cs, cd) = (s.min(16), 256 / s.min(16));
                let cd = cd.min(d);
                let mut cells = vec![0f64; (cs * cd) as usize];
                for i in 0..draws as u32 {
                    let f = p.get(i) as u64;
                    cells[(f % s * cs / s * cd + f / s * cd / d) as usize] += 1.0;
                }
                // Without replacement the variance shrinks by 1 - draws/n.
                let shrink = 1.0 - draws as f64 / n as f64;
                let mut chi = 0.0;
                for (c, seen) in cells.iter().enumerate() {
                    let (x, y) = (c as u64 / cd, c as u64 % cd);
                    let width = |m: u64, of: u64, k: u64| ((k + 1) * of).div_ceil(m) - (k * of).div_ceil(m);
                    let want = (width(cs, s, x) * width(cd, d, y)) as f64 * draws as f64 / n as f64;
                    chi += (seen - want).powi(2) / want;
                }
                sum += chi / shrink / (cs * cd - 1) as f64;
            }
            let mean = sum / 16.0;
            assert!((0.9..1.1).contains(&mean), "{s} x {d}: chi-square per degree of freedom {mean:.3}");
        }
    }

    /// Pairs of neighbours and their differences, in 256 cells each (a Weyl sequence fails this by far).
    #[test]
    fn neighbours_know_nothing_of_each_other() {
        for n in [10_000u64, 4_000_000, 1_600_000_000, 1 << 32] {
            let (mut pairs, mut differences) = (0.0, 0.0);
            for seed in 0..16 {
                let p = Permutation::new(n, seed);
                let x: Vec<u64> = (0..n.min(50_000) as u32).map(|i| u64::from(p.get(i))).collect();
                let (mut pair, mut difference) = ([0f64; 256], [0f64; 256]);
                for w in x.windows(2) {
                    pair[(w[0] * 16 / n * 16 + w[1] * 16 / n) as usize] += 1.0;
                    difference[((w[1] + n - w[0]) % n * 256 / n) as usize] += 1.0;
                }
                let mean = (x.len() - 1) as f64 / 256.0;
                let chi = |cells: [f64; 256]| cells.iter().map(|c| (c - mean).powi(2) / mean).sum::<f64>() / 255.0;
                pairs += chi(pair) / 16.0;
                differences += chi(difference) / 16.0;
            }
            assert!((0.9..1.1).contains(&pairs), "N = {n}: pairs {pairs:.3}");
            assert!((0.9..1.1).contains(&differences), "N = {n}: differences {differences:.3}");
        }
    }

    /// Neighbouring positions must not be correlated (a Weyl sequence fails this by far).
    #[test]
    fn neighbours_are_not_correlated() {
        let n = 4_000_000u64;
        let p = Permutation::new(n, 11);
        let x: Vec<f64> = (0..200_000).map(|i| p.get(i) as f64 / n as f64 - 0.5).collect();
        let r: f64 = x.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / x.iter().map(|v| v * v).sum::<f64>();
        assert!(r.abs() < 0.01, "lag-1 correlation {r}");
    }
}
