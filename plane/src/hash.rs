//! The seeded hash of state-table keys.

/// A keyed hash of two words by folded multiplications. Not cryptographic, but without the seed no
/// sender can choose the bucket.
#[derive(Clone, Copy, Debug)]
pub struct Hasher {
    keys: [u64; 3],
}

impl Hasher {
    /// A hasher keyed by a seed.
    pub fn new(seed: u64) -> Hasher {
        let mut state = seed;
        Hasher { keys: std::array::from_fn(|_| splitmix(&mut state) | 1) }
    }

    /// Mixes a pair of words.
    #[inline(always)]
    pub fn pair(&self, a: u64, b: u64) -> u64 {
        let m = fold(a ^ self.keys[0], b ^ self.keys[1]);
        fold(m ^ self.keys[2], 0x9e37_79b9_7f4a_7c15)
    }

    /// Mixes one word.
    #[inline(always)]
    pub fn one(&self, a: u64) -> u64 {
        self.pair(a, 0)
    }
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let p = a as u128 * b as u128;
    (p as u64) ^ ((p >> 64) as u64)
}

/// Next number of the splitmix64 sequence.
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps the high 32 bits of a hash onto [0, n).
#[inline(always)]
pub fn range(hash: u64, n: u32) -> u32 {
    (((hash >> 32) * n as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys as a NAT sees them (few bits vary, in runs) must fill buckets like random ones: the chi-square statistic
    /// per degree of freedom lies near 1, for the high bits (bucket) and for the low 16 (tag).
    #[test]
    fn structured_keys_spread_evenly() {
        let h = Hasher::new(1);
        let n = 1 << 20;
        let (mut high, mut low) = (vec![0u32; 4096], vec![0u32; 4096]);
        for i in 0..n as u64 {
            let (port, remote) = (1024 + i % 40_000, i / 40_000);
            let x = h.pair(0xc612_0002 | port << 32 | 17 << 48, 0xc613_0002 | (80 + remote) << 32);
            high[range(x, 4096) as usize] += 1;
            low[(x & 0xfff) as usize] += 1;
        }
        for cells in [high, low] {
            let want = n as f64 / 4096.0;
            let chi = cells.iter().map(|&c| (c as f64 - want).powi(2) / want).sum::<f64>() / 4095.0;
            assert!((0.9..1.1).contains(&chi), "chi-square per degree of freedom {chi:.3}");
        }
    }
}
