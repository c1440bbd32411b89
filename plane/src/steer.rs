//! How packets are spread over the workers of a plane function.

/// The bytes of a frame that select its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// A hash over bytes (offset, length), scaled onto the workers: see [`by_hash`].
    Hash(&'static [(usize, usize)]),
    /// Blocks of 2^shift values of the big-endian 16-bit field at `at`: block number modulo workers.
    Block {
        /// Offset of the field.
        at: usize,
        /// log2 of the block size.
        shift: u32,
    },
}

/// 64-bit FNV-1a from a fixed start, multiplied once more, the upper 32 bits scaled onto the workers.
#[inline]
pub fn by_hash(bytes: impl IntoIterator<Item = u8>, workers: usize) -> usize {
    let h =
        bytes.into_iter().fold(0x9e37_79b9_7f4a_7c15_u64, |h, b| (h ^ b as u64).wrapping_mul(0x0000_0100_0000_01b3));
    ((h.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32) as usize * workers) >> 32
}

impl Steering {
    /// The first worker if the frame is too short.
    pub fn worker(&self, frame: &[u8], workers: usize) -> usize {
        match *self {
            Steering::Hash(fields) => {
                by_hash(fields.iter().flat_map(|&(at, n)| frame.get(at..at + n).unwrap_or(&[])).copied(), workers)
            }
            Steering::Block { at, shift } => {
                frame.get(at..at + 2).map_or(0, |f| usize::from(u16::from_be_bytes([f[0], f[1]]) >> shift) % workers)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_share_out_evenly() {
        let mut seen = [0u32; 3];
        for i in 0..30_000u32 {
            seen[Steering::Hash(&[(0, 4)]).worker(&i.to_be_bytes(), 3)] += 1;
        }
        assert!(seen.iter().all(|s| (9_000..11_000).contains(s)), "{seen:?}");
    }

    #[test]
    fn blocks_follow_the_field() {
        let s = Steering::Block { at: 0, shift: 6 };
        assert_eq!(
            (s.worker(&[0, 63], 3), s.worker(&[0, 64], 3), s.worker(&[0, 192], 3), s.worker(&[9], 3)),
            (0, 1, 0, 0)
        );
    }
}
