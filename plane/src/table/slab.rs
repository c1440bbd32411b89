//! The entries of a state table, by number.

use super::MOST;
use arena::{ArenaError, Array};

/// Entries by number: first in ascending order, then the last freed first.
pub struct Slab<T: Copy> {
    entries: Array<T>,
    free: Array<u32>,
    freed: u32,
    fresh: u32,
    empty: T,
}

impl<T: Copy> Slab<T> {
    /// Room for `capacity` entries, each `empty` while it is free.
    ///
    /// # Errors
    /// Too little memory.
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
    /// Largest number of entries.
    pub fn capacity(&self) -> u32 {
        self.entries.len() as u32
    }
    /// Entries used since the last clearing are below: a sweep must check these.
    pub fn touched(&self) -> u32 {
        self.fresh
    }

    /// Takes an entry; `None` when full.
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

    /// Prefetches the entry that the `k`-th next [`Self::take`] will return.
    #[inline(always)]
    pub fn prefetch_next(&self, k: u32) {
        let e = match self.freed.checked_sub(k + 1) {
            Some(i) => self.free[i as usize],
            None => self.fresh + (k - self.freed),
        };
        self.entries.prefetch(e as usize);
    }

    /// Frees an entry.
    #[inline]
    pub fn give_back(&mut self, e: u32) {
        self.entries[e as usize] = self.empty;
        self.free[self.freed as usize] = e;
        self.freed += 1;
    }

    /// Prefetches an entry.
    #[inline(always)]
    pub fn prefetch(&self, e: u32) {
        self.entries.prefetch(e as usize);
    }

    /// Forgets all entries, in constant time.
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
