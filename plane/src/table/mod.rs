//! The state table: flat entries and an index over them for each direction. Callers can prefetch
//! for a batch, and clearing touches no memory.

mod index;
mod slab;
#[cfg(test)]
mod tests;

pub use index::{Guess, Index};
pub use slab::Slab;

use arena::ArenaError;

/// No entry.
pub const NONE: u32 = u32::MAX;
/// 32-bit numbers without [`NONE`].
pub const MOST: u64 = u32::MAX as u64;

/// Entries with an index for each direction.
pub struct SessionTable<T: Copy> {
    /// The entries.
    pub slab: Slab<T>,
    /// Index by the customer's side.
    pub inner: Index,
    /// Index by the Internet's side.
    pub outer: Index,
}

impl<T: Copy> SessionTable<T> {
    /// `what` names it in errors.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(what: &str, capacity: u64, empty: T) -> Result<SessionTable<T>, ArenaError> {
        Ok(SessionTable {
            slab: Slab::new(what, capacity, empty)?,
            inner: Index::new(what, capacity)?,
            outer: Index::new(what, capacity)?,
        })
    }

    /// Inserts an entry; `None` when full.
    #[inline]
    pub fn insert(&mut self, inner: u64, outer: u64, value: T) -> Option<u32> {
        let e = self.slab.take(value)?;
        self.inner.insert(inner, e);
        self.outer.insert(outer, e);
        Some(e)
    }

    /// Removes an entry.
    pub fn remove(&mut self, inner: u64, outer: u64, e: u32) {
        let both = self.inner.remove(inner, e) & self.outer.remove(outer, e);
        debug_assert!(both, "entry {e} is missing from an index");
        self.slab.give_back(e);
    }

    /// Forgets all entries, in constant time.
    pub fn clear(&mut self) {
        self.slab.clear();
        self.inner.clear();
        self.outer.clear();
    }
}

/// Memory of a table with `capacity` entries of `T`.
pub fn bytes_for<T: Copy>(capacity: u64) -> u64 {
    capacity * (size_of::<T>() as u64 + 4) + 2 * Index::bytes_for(capacity)
}
