//! The state table: flat entries and two indexes over them, one for each direction. One file for every
//! technology that keeps state, because what makes a table fast at 64 M entries (one cache line a look-up, stages
//! that let a caller prefetch for a whole batch, clearing without touching memory) has nothing to do with the entry.

use crate::hash::range;
use arena::{ArenaError, Array};

/// Slots of a bucket.
const SLOTS: usize = 10;
/// Entries that a bucket is planned for: load 0.75, so that about one look-up in twelve sees a second line.
const PLANNED_HALVES: u64 = 15;
/// No entry.
pub const NONE: u32 = u32::MAX;
/// Most entries of a table: numbers are 32 bits and [`NONE`] is not one of them.
pub const MOST: u64 = u32::MAX as u64;

/// One cache line of an index: ten tags, ten entry numbers, how many insertions went past it, and the generation it
/// was last written in (a bucket of another generation is empty).
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

/// The 16-bit tag of a hash. Buckets are chosen by other bits. Never 0, which marks a free slot, nor 1, which
/// [`Bucket::matching`] may take for a free one.
#[inline(always)]
fn tag(hash: u64) -> u16 {
    (hash as u16).max(2)
}

impl Bucket {
    /// The slots that hold this tag, and seldom one whose tag differs in the last bit (the borrow of a slot below that
    /// does hold it): for look-ups, which compare keys anyway. No free slot as long as `tag` is above 1.
    #[inline(always)]
    fn matching(&self, tag: u16) -> Slots {
        let [a, b, c] = self.differences(tag);
        let zero = |x: u64| x.wrapping_sub(ONES) & !x & HIGH;
        Slots(zero(a) >> 15 | zero(b) >> 14 | zero(c) >> 13)
    }

    /// The free slots, and no others.
    #[inline(always)]
    fn free(&self) -> Slots {
        let [a, b, c] = self.differences(0);
        let zero = |x: u64| !(((x & !HIGH) + !HIGH) | x) & HIGH;
        Slots(zero(a) >> 15 | zero(b) >> 14 | zero(c) >> 13)
    }

    /// Sixteen-bit lanes that are zero where a tag agrees. The last word has two lanes of tags only; in the others
    /// stands what no tag makes zero.
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

/// A one, and the highest bit, in each 16-bit lane.
const ONES: u64 = 0x0001_0001_0001_0001;
const HIGH: u64 = ONES << 15;

/// A set of slots: bit 16 × lane + word for each.
struct Slots(u64);

impl Slots {
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.0 == 0
    }
    /// The first; some slot or other when there is none.
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

/// What one bucket says about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// The first entry whose tag agrees: nearly always the one.
    Entry(u32),
    /// It is not there.
    Absent,
    /// It may stand further on.
    Further,
}

/// Hash → entry number. Which entry is meant when tags agree, the caller says by comparing keys.
pub struct Index {
    buckets: Array<Bucket>,
    count: u32,
    generation: u16,
}

impl Index {
    /// An index for `capacity` entries.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(what: &str, capacity: u64) -> Result<Index, ArenaError> {
        let count = Index::buckets_for(capacity);
        Ok(Index { buckets: Array::filled(what, count as usize, EMPTY)?, count: count as u32, generation: 1 })
    }

    fn buckets_for(capacity: u64) -> u64 {
        (capacity * 2).div_ceil(PLANNED_HALVES).max(2)
    }

    /// Bytes of an index for `capacity` entries.
    pub fn bytes_for(capacity: u64) -> u64 {
        Index::buckets_for(capacity) * size_of::<Bucket>() as u64
    }

    /// Bring the home bucket of a hash closer.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.buckets.prefetch(range(hash, self.count) as usize);
    }

    /// What a look at the home bucket promises, for prefetching; the next bucket, if that has to be looked at, is brought
    /// closer.
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

    /// The same for the bucket behind the home bucket, after [`Guess::Further`].
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

    /// The entry under this hash for which `is` holds.
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

    /// Put an entry in. The caller knows that it is not there yet and that fewer than `capacity` are.
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
            // Saturated counters stay: look-ups then go on further than they must, which is right if slow.
            b.overflow = b.overflow.saturating_add(1);
            at = self.after(at);
        }
    }

    /// Take an entry out; false when it was not there.
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
                // A freed slot must not be found by its number, either.
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

    /// Undo the overflow marks between an entry's home and where it stood.
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

    /// Forget everything, without touching the buckets (but once in 65,535 times).
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

/// Entries by number: handed out in ascending order first, then those given back, the last first.
pub struct Slab<T: Copy> {
    entries: Array<T>,
    free: Array<u32>,
    freed: u32,
    fresh: u32,
    empty: T,
}

impl<T: Copy> Slab<T> {
    /// Room for `capacity` entries, each `empty` while nobody has it.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(what: &str, capacity: u64, empty: T) -> Result<Slab<T>, ArenaError> {
        let n = capacity.min(MOST) as usize;
        Ok(Slab {
            entries: Array::filled(what, n, empty)?,
            free: Array::filled(what, n, 0)?,
            freed: 0,
            fresh: 0,
            empty,
        })
    }

    /// Entries in use.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.fresh - self.freed
    }
    /// Whether none is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Most entries.
    pub fn capacity(&self) -> u32 {
        self.entries.len() as u32
    }
    /// Entries with a number below this have been used since the last clearing: what a sweep has to look at.
    pub fn touched(&self) -> u32 {
        self.fresh
    }

    /// Take an entry; `None` when the limit is reached.
    #[inline]
    pub fn take(&mut self, value: T) -> Option<u32> {
        let e = if self.freed > 0 {
            self.freed -= 1;
            self.free[self.freed as usize]
        } else if (self.fresh as usize) < self.entries.len() {
            self.fresh += 1;
            self.fresh - 1
        } else {
            return None;
        };
        self.entries[e as usize] = value;
        Some(e)
    }

    /// Bring the entry closer that the `k`-th next [`Self::take`] will give.
    #[inline(always)]
    pub fn prefetch_next(&self, k: u32) {
        let e = match self.freed.checked_sub(k + 1) {
            Some(i) => self.free[i as usize],
            None => self.fresh + (k - self.freed),
        };
        self.entries.prefetch(e as usize);
    }

    /// Give an entry back.
    #[inline]
    pub fn give_back(&mut self, e: u32) {
        self.entries[e as usize] = self.empty;
        self.free[self.freed as usize] = e;
        self.freed += 1;
    }

    /// Bring an entry closer.
    #[inline(always)]
    pub fn prefetch(&self, e: u32) {
        self.entries.prefetch(e as usize);
    }

    /// Forget all entries, in constant time.
    pub fn clear(&mut self) {
        (self.freed, self.fresh) = (0, 0);
    }
}

impl<T: Copy> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, e: u32) -> &T {
        &self.entries[e as usize]
    }
}

impl<T: Copy> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, e: u32) -> &mut T {
        &mut self.entries[e as usize]
    }
}

/// Entries with an index for each direction.
pub struct Table<T: Copy> {
    /// The entries.
    pub slab: Slab<T>,
    /// By the key of the customer's side.
    pub inner: Index,
    /// By the key of the Internet's side.
    pub outer: Index,
}

impl<T: Copy> Table<T> {
    /// A table for `capacity` entries; `what` names it in errors.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(what: &str, capacity: u64, empty: T) -> Result<Table<T>, ArenaError> {
        Ok(Table {
            slab: Slab::new(what, capacity, empty)?,
            inner: Index::new(what, capacity)?,
            outer: Index::new(what, capacity)?,
        })
    }

    /// Put an entry in under both hashes; `None` when the limit is reached.
    #[inline]
    pub fn insert(&mut self, inner: u64, outer: u64, value: T) -> Option<u32> {
        let e = self.slab.take(value)?;
        self.inner.insert(inner, e);
        self.outer.insert(outer, e);
        Some(e)
    }

    /// Take an entry out.
    pub fn remove(&mut self, inner: u64, outer: u64, e: u32) {
        let both = self.inner.remove(inner, e) & self.outer.remove(outer, e);
        debug_assert!(both, "entry {e} is missing from an index");
        self.slab.give_back(e);
    }

    /// Forget all entries, in constant time.
    pub fn clear(&mut self) {
        self.slab.clear();
        self.inner.clear();
        self.outer.clear();
    }
}

/// Bytes of a table with `capacity` entries of `T`: entries, free list and both indexes.
pub fn bytes_for<T: Copy>(capacity: u64) -> u64 {
    capacity * (size_of::<T>() as u64 + 4) + 2 * Index::bytes_for(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hasher;
    use proptest::prelude::*;
    use std::collections::HashMap;

    type Pair = (u64, u64);

    struct Model {
        table: Table<Pair>,
        map: HashMap<u64, u64>,
        hasher: Hasher,
    }

    impl Model {
        fn new(capacity: u64) -> Model {
            let table = Table::new("test", capacity, (0, 0)).unwrap();
            Model { table, map: HashMap::new(), hasher: Hasher::new(7) }
        }
        /// The outer key is another function of the same number, so that both indexes are exercised.
        fn hashes(&self, k: u64) -> (u64, u64) {
            (self.hasher.one(k), self.hasher.pair(1, k))
        }
        fn find(&self, k: u64) -> Option<u32> {
            let t = &self.table;
            let (i, o) = self.hashes(k);
            let a = t.inner.find(i, |e| t.slab[e].0 == k);
            assert_eq!(a, t.outer.find(o, |e| t.slab[e].0 == k));
            a
        }
        fn insert(&mut self, k: u64, v: u64) {
            let (i, o) = self.hashes(k);
            if let Some(e) = self.find(k) {
                self.table.slab[e].1 = v;
            } else {
                let full = self.map.len() as u32 == self.table.slab.capacity();
                assert_eq!(self.table.insert(i, o, (k, v)).is_none(), full);
                if full {
                    return;
                }
            }
            self.map.insert(k, v);
        }
        fn remove(&mut self, k: u64) {
            let (i, o) = self.hashes(k);
            let found = self.find(k);
            assert_eq!(found.is_some(), self.map.remove(&k).is_some());
            if let Some(e) = found {
                self.table.remove(i, o, e);
            }
        }
        fn agree(&self, k: u64) {
            assert_eq!(self.find(k).map(|e| self.table.slab[e].1), self.map.get(&k).copied());
            assert_eq!(self.table.slab.len() as usize, self.map.len());
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64, u64),
        Remove(u64),
        Find(u64),
        Clear,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            8 => (0..400u64, any::<u64>()).prop_map(|(k, v)| Op::Insert(k, v)),
            6 => (0..400u64).prop_map(Op::Remove),
            4 => (0..400u64).prop_map(Op::Find),
            1 => Just(Op::Clear),
        ]
    }

    proptest! {
        #[test]
        fn behaves_like_a_hash_map(ops in proptest::collection::vec(op(), 0..2000)) {
            let mut m = Model::new(200);
            for op in ops {
                match op {
                    Op::Insert(k, v) => m.insert(k, v),
                    Op::Remove(k) => m.remove(k),
                    Op::Find(k) => m.agree(k),
                    Op::Clear => {
                        m.table.clear();
                        m.map.clear();
                    }
                }
            }
            for k in 0..400 {
                m.agree(k);
            }
        }
    }

    #[test]
    fn fills_to_the_last_entry_and_empties_without_a_trace() {
        let mut m = Model::new(100_000);
        for round in 0..3u64 {
            for k in 0..100_000 {
                m.insert(k ^ round << 40, k);
            }
            assert!(m.table.slab.take((0, 0)).is_none(), "the limit is the limit");
            for k in 0..100_000 {
                m.agree(k ^ round << 40);
                m.agree(k + 1_000_000);
            }
            for k in 0..100_000 {
                m.remove(k ^ round << 40);
            }
            assert!(m.table.inner.buckets.iter().all(|b| b.overflow == 0 && b.free().count() == SLOTS));
        }
    }

    #[test]
    fn clearing_forgets_even_when_the_generation_wraps() {
        let mut m = Model::new(1000);
        for round in 0..70_000u64 {
            m.table.clear();
            m.map.clear();
            m.agree(round.wrapping_sub(1) % 1000);
            m.insert(round % 1000, round);
            m.agree(round % 1000);
        }
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

    #[test]
    fn at_most_64_bytes_a_session() {
        for n in [1_000_000u64, 64 << 20, 256 << 20] {
            assert!(bytes_for::<[u8; 32]>(n) <= 64 * n);
        }
        assert!(bytes_for::<[u8; 32]>(64 << 20) < 5 << 30, "64 M sessions run in 5 GiB");
        assert_eq!(size_of::<Bucket>(), 64);
    }

    #[test]
    fn next_entries_are_named_right() {
        let mut s = Slab::new("test", 8, 0u8).unwrap();
        let taken: Vec<_> = (0..5).map(|v| s.take(v).unwrap()).collect();
        s.give_back(taken[1]);
        s.give_back(taken[3]);
        for k in 0..20 {
            s.prefetch_next(k);
        }
        assert_eq!((s.take(9), s.take(9), s.take(9)), (Some(3), Some(1), Some(5)));
        assert_eq!((s.len(), s.touched()), (6, 6));
    }
}
