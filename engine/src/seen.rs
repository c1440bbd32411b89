//! Which frames of a sender have arrived at a receiver.

/// Sequence bitmap of one sender.
#[derive(Default)]
pub struct Arrivals {
    bits: Vec<u64>,
    frames: u64,
    /// Frames expected at another receiver.
    unexpected: u64,
    highest: u64,
}

impl Arrivals {
    /// Makes room for `frames` in reused memory.
    pub fn reset(&mut self, frames: u64) {
        self.bits.clear();
        self.bits.resize(frames.div_ceil(64) as usize, 0);
        (self.frames, self.unexpected, self.highest) = (frames, 0, 0);
    }

    /// Resets as [`Arrivals::reset`] does, but allocates when a frame arrives: lanes rarely receive
    /// frames of others.
    pub fn reset_unexpected(&mut self, frames: u64) {
        *self = Arrivals { unexpected: frames, ..Arrivals::default() };
    }

    /// Whether a frame may have arrived.
    pub fn has_room(&self) -> bool {
        !self.bits.is_empty()
    }

    #[inline(always)]
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// Makes room if `sequence` is expected elsewhere.
    #[cold]
    pub(crate) fn is_unexpected(&mut self, sequence: u64) -> bool {
        if sequence >= self.unexpected {
            return false;
        }
        self.frames = std::mem::take(&mut self.unexpected);
        self.bits = vec![0; self.frames.div_ceil(64) as usize];
        true
    }

    pub(crate) fn has(&self, sequence: u64) -> bool {
        self.bits.get((sequence / 64) as usize).is_some_and(|word| word & 1 << (sequence % 64) != 0)
    }

    /// `sequence` is a multiple of 64.
    pub(crate) fn all_of(&self, sequence: u64) -> bool {
        self.bits.get((sequence / 64) as usize) == Some(&u64::MAX)
    }

    /// `None` for a duplicate, else whether `sequence` is reordered.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, sequence: u64) -> Option<bool> {
        let (word, bit) = (&mut self.bits[(sequence / 64) as usize], 1u64 << (sequence % 64));
        if *word & bit != 0 {
            return None;
        }
        *word |= bit;
        let out_of_order = sequence < self.highest;
        self.highest = self.highest.max(sequence);
        Some(out_of_order)
    }

    /// `count` ≤ [`port::BATCH`] planned frames from `first`, or none and false if one is not in order.
    #[inline(always)]
    pub(crate) fn arrive_in_a_row(&mut self, first: u64, count: usize) -> bool {
        let last = first + count as u64 - 1;
        let run = (((1u64 << count) - 1) as u128) << (first % 64);
        let (word, next) = ((first / 64) as usize, (last / 64) as usize);
        let (low, high) = (run as u64, (run >> 64) as u64);
        if first < self.highest || (self.bits[word] & low) | (self.bits[next] & high) != 0 {
            return false;
        }
        self.bits[word] |= low;
        self.bits[next] |= high;
        self.highest = last;
        true
    }

    /// Merges another receiver's bitmap for the same sender; calls `twice` for each frame that both
    /// counted.
    pub fn merge(&mut self, other: &Arrivals, mut twice: impl FnMut(u64)) {
        for ((mine, theirs), at) in self.bits.iter_mut().zip(&other.bits).zip(0u64..) {
            let mut both = *mine & theirs;
            while both != 0 {
                twice(at * 64 + u64::from(both.trailing_zeros()));
                both &= both - 1;
            }
            *mine |= theirs;
        }
    }
}
