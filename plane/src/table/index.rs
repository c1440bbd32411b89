//! The index of a state table, one cache line a look-up.

use super::NONE;
use crate::hash::range;
use arena::{ArenaError, Array};

const SLOTS: usize = 10;
/// Planned load in half slots: 0.75, so that one look-up in twelve reads a second line.
const PLANNED_HALVES: u64 = 15;

/// One cache line: tags, entry numbers, how many insertions went past, and the generation of the
/// last write (other generations are empty).
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    tags: [u64; 2],
    more_tags: u32,
    entries: [u32; SLOTS],
    overflow: u16,
    generation: u16,
}

const EMPTY: Bucket = Bucket { tags: [0; 2], more_tags: 0, entries: [NONE; SLOTS], overflow: 0, generation: 0 };

/// Tag from other bits than the bucket's. Never 0, a free slot, nor 1, which [`Bucket::matching`]
/// may take for one.
#[inline(always)]
fn tag(hash: u64) -> u16 {
    (hash as u16).max(2)
}

impl Bucket {
    /// Rarely also one whose tag differs in the last bit (a borrow): look-ups compare keys anyway.
    /// Never a free slot if `tag` is above 1.
    #[inline(always)]
    fn matching(&self, tag: u16) -> Slots {
        let [a, b, c] = self.differences(tag);
        let zero = |x: u64| x.wrapping_sub(ONES) & !x & HIGH;
        Slots(zero(a) >> 15 | zero(b) >> 14 | zero(c) >> 13)
    }

    #[inline(always)]
    fn free(&self) -> Slots {
        let [a, b, c] = self.differences(0);
        let zero = |x: u64| !(((x & !HIGH) + !HIGH) | x) & HIGH;
        Slots(zero(a) >> 15 | zero(b) >> 14 | zero(c) >> 13)
    }

    /// 16-bit lanes that are zero where a tag agrees; spare lanes of the last word become zero with no tag.
    #[inline(always)]
    fn differences(&self, tag: u16) -> [u64; 3] {
        let t = tag as u64 * ONES;
        let last = self.more_tags as u64 | (!t & 0xffff_ffff_0000_0000);
        [self.tags[0] ^ t, self.tags[1] ^ t, last ^ t]
    }

    #[inline(always)]
    fn set_tag(&mut self, slot: usize, tag: u16) {
        let put = |w: u64, lane: usize| w & !(0xffff << (lane * 16)) | (tag as u64) << (lane * 16);
        match slot {
            0..4 => self.tags[0] = put(self.tags[0], slot),
            4..8 => self.tags[1] = put(self.tags[1], slot - 4),
            _ => self.more_tags = put(self.more_tags as u64, slot - 8) as u32,
        }
    }
}

/// The lowest bit in each 16-bit lane.
const ONES: u64 = 0x0001_0001_0001_0001;
const HIGH: u64 = ONES << 15;

/// A bit for each slot, at 16 × lane + word for each slot.
struct Slots(u64);

impl Slots {
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.0 == 0
    }
    /// The first match, arbitrary when there is none.
    #[inline(always)]
    fn first(&self) -> usize {
        let bit = self.0.trailing_zeros();
        ((bit & 3) * 4 + (bit >> 4)).min(SLOTS as u32 - 1) as usize
    }
}

impl Iterator for Slots {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let slot = (self.0 != 0).then(|| self.first());
        self.0 &= self.0.wrapping_sub(1);
        slot
    }
}

/// What one bucket says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// First entry with this tag: nearly always the right one.
    Entry(u32),
    /// The key is not in the table.
    Absent,
    /// The key is perhaps in a further bucket.
    Further,
}

/// Hash → entry number. Callers compare keys.
pub struct Index {
    buckets: Array<Bucket>,
    count: u32,
    generation: u16,
}

impl Index {
    /// An index for `capacity` entries.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(what: &str, capacity: u64) -> Result<Index, ArenaError> {
        let count = Index::buckets_for(capacity);
        Ok(Index { buckets: Array::filled(what, count as usize, EMPTY)?, count: count as u32, generation: 1 })
    }

    fn buckets_for(capacity: u64) -> u64 {
        (capacity * 2).div_ceil(PLANNED_HALVES).max(2)
    }

    /// Memory for `capacity` entries.
    pub fn bytes_for(capacity: u64) -> u64 {
        Index::buckets_for(capacity) * size_of::<Bucket>() as u64
    }

    /// Prefetches the home bucket of a hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.buckets.prefetch(range(hash, self.count) as usize);
    }

    /// The home bucket's answer, for prefetching; prefetches the next bucket if needed.
    #[inline(always)]
    pub fn guess(&self, hash: u64) -> Guess {
        let home = range(hash, self.count);
        match self.guess_at(home, hash) {
            Guess::Further => {
                self.buckets.prefetch(self.after(home) as usize);
                Guess::Further
            }
            other => other,
        }
    }

    /// The answer for the next bucket, after [`Guess::Further`].
    #[inline(always)]
    pub fn guess_further(&self, hash: u64) -> Guess {
        self.guess_at(self.after(range(hash, self.count)), hash)
    }

    #[inline(always)]
    fn guess_at(&self, at: u32, hash: u64) -> Guess {
        let b = &self.buckets[at as usize];
        let m = b.matching(tag(hash));
        if b.generation != self.generation {
            Guess::Absent
        } else if !m.is_empty() {
            Guess::Entry(b.entries[m.first()])
        } else if b.overflow == 0 {
            Guess::Absent
        } else {
            Guess::Further
        }
    }

    /// Entry under this hash for which `is` holds.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let mut at = range(hash, self.count);
        loop {
            let b = &self.buckets[at as usize];
            if b.generation != self.generation {
                return None;
            }
            for slot in b.matching(tag) {
                if is(b.entries[slot]) {
                    return Some(b.entries[slot]);
                }
            }
            if b.overflow == 0 {
                return None;
            }
            at = self.after(at);
        }
    }

    /// Inserts a new entry; there are fewer than `capacity`.
    #[inline]
    pub fn insert(&mut self, hash: u64, entry: u32) {
        let mut at = range(hash, self.count);
        loop {
            let generation = self.generation;
            let b = &mut self.buckets[at as usize];
            if b.generation != generation {
                *b = Bucket { generation, ..EMPTY };
            }
            if let Some(slot) = b.free().next() {
                b.set_tag(slot, tag(hash));
                b.entries[slot] = entry;
                return;
            }
            // Saturated counters stay: look-ups then search too far, correctly but slowly.
            b.overflow = b.overflow.saturating_add(1);
            at = self.after(at);
        }
    }

    /// Removes an entry; false without it.
    pub fn remove(&mut self, hash: u64, entry: u32) -> bool {
        let home = range(hash, self.count);
        let mut at = home;
        loop {
            let generation = self.generation;
            let b = &mut self.buckets[at as usize];
            if b.generation != generation {
                return false;
            }
            let mut with_tag = b.matching(tag(hash));
            if let Some(slot) = with_tag.find(|&slot| b.entries[slot] == entry) {
                b.set_tag(slot, 0);
                // Nor may a freed slot be found by its number.
                b.entries[slot] = NONE;
                self.step_back(home, at);
                return true;
            }
            if b.overflow == 0 {
                return false;
            }
            at = self.after(at);
        }
    }

    /// Decrements the overflows between an entry's home and its bucket.
    fn step_back(&mut self, home: u32, stood: u32) {
        let mut at = home;
        while at != stood {
            let b = &mut self.buckets[at as usize];
            if b.overflow != u16::MAX {
                b.overflow -= 1;
            }
            at = self.after(at);
        }
    }

    /// Forgets everything; touches the buckets once in 65,535 times.
    pub fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.buckets.fill(EMPTY);
            self.generation = 1;
        }
    }

    #[inline(always)]
    fn after(&self, at: u32) -> u32 {
        if at + 1 == self.count { 0 } else { at + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Index {
        /// Whether it is empty and always was.
        pub(crate) fn is_bare(&self) -> bool {
            self.buckets.iter().all(|b| b.overflow == 0 && b.free().count() == SLOTS)
        }
    }

    #[test]
    fn a_bucket_is_a_cache_line() {
        assert_eq!(size_of::<Bucket>(), 64);
    }

    /// Tags that differ in the last bit, side by side in every order, with free slots between them.
    #[test]
    fn look_ups_never_see_a_free_slot() {
        for low in [0u64, 1, 2, 3, 4, 5, 0x7fff, 0x8000, 0xfffe, 0xffff] {
            let mut x = Index::new("test", 1).unwrap();
            for e in 0..10u32 {
                x.insert(low ^ u64::from(e & 1), e);
            }
            for gone in [0, 3, 4, 9] {
                assert!(x.remove(low ^ u64::from(gone & 1), gone));
                for hash in [low, low ^ 1] {
                    assert_eq!(
                        x.find(hash, |e| {
                            assert!(e != NONE);
                            false
                        }),
                        None
                    );
                }
            }
        }
    }
}
