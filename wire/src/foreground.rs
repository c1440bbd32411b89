//! Foreground frames, which the DUT translates or tunnels.

/// Frame i is foreground if i mod n < m; the others are native IPv6 (RFC 8219, section 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreground {
    m: u64,
    n: u64,
}

impl Foreground {
    /// A foreground with this share of all frames, in parts per million.
    ///
    /// # Panics
    /// When the share is 0 or above 1,000,000.
    pub fn of_ppm(ppm: u32) -> Foreground {
        assert!((1..=MILLION).contains(&ppm), "{ppm} parts per million are foreground");
        let divisor = divisor(ppm, MILLION);
        Foreground { m: (ppm / divisor).into(), n: (MILLION / divisor).into() }
    }

    /// Whether a frame is foreground.
    #[inline]
    pub fn has(self, sequence: u64) -> bool {
        sequence % self.n < self.m
    }

    /// Foreground among the first `frames` frames.
    pub fn among(self, frames: u64) -> u64 {
        frames / self.n * self.m + (frames % self.n).min(self.m)
    }
}

const MILLION: u32 = 1_000_000;

fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_rfc_8219_are_coprime_pairs() {
        for (ppm, m, n) in [(1_000_000, 1, 1), (900_000, 9, 10), (500_000, 1, 2), (100_000, 1, 10)] {
            assert_eq!(Foreground::of_ppm(ppm), Foreground { m, n });
        }
    }

    #[test]
    fn the_first_m_of_n_frames_are_foreground() {
        for ppm in [1_000_000, 900_000, 500_000, 100_000, 333_333, 1] {
            let foreground = Foreground::of_ppm(ppm);
            let mut counted = 0;
            for sequence in 0..2_500 {
                assert_eq!(foreground.among(sequence), counted, "{ppm} ppm of {sequence}");
                counted += u64::from(foreground.has(sequence));
            }
        }
    }
}
