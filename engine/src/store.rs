//! The Responder's state table: for each connection the outside address and port that phase 1
//! learned, in one atomic 64-bit word: address 32 | port 16 | trial 16. With the trial's number,
//! the table need not be cleared.

use arena::{ArenaError, AtomicArray};

/// Learned four-tuples, by connection index.
pub struct StateTable {
    words: AtomicArray,
}

impl StateTable {
    /// A table for N connections, 8 bytes each.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(connections: u64) -> Result<StateTable, ArenaError> {
        Ok(StateTable { words: AtomicArray::zeroed("the Responder's state table", connections as usize)? })
    }

    /// Returns whether this trial had learned the connection.
    #[inline(always)]
    pub fn learn(&self, index: u32, trial: u16, addr: u32, port: u16) -> bool {
        let known = self.words.load(index as usize) as u16 == trial;
        self.words.store(index as usize, (addr as u64) << 32 | (port as u64) << 16 | trial as u64);
        known
    }

    /// Outside address and port, if `trial` learned the connection.
    #[inline(always)]
    pub fn get(&self, index: u32, trial: u16) -> Option<(u32, u16)> {
        let w = self.words.load(index as usize);
        (w as u16 == trial).then_some(((w >> 32) as u32, (w >> 16) as u16))
    }

    /// Prefetches entry `index`.
    #[inline(always)]
    pub fn prefetch(&self, index: u32) {
        self.words.prefetch(index as usize);
    }

    /// Prefetches these entries.
    #[inline(always)]
    pub fn prefetch_all(&self, indices: &[u32]) {
        for &i in indices {
            self.prefetch(i);
        }
    }

    /// Entries of `trial`.
    pub fn learned(&self, trial: u16) -> u64 {
        self.words.words().iter().filter(|w| w.load(std::sync::atomic::Ordering::Relaxed) as u16 == trial).count()
            as u64
    }

    /// Returns the number of entries for which the store has room.
    pub fn capacity(&self) -> usize {
        self.words.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_belongs_to_its_trial_only() {
        let t = StateTable::new(10).unwrap();
        assert!(!t.learn(3, 7, 0xc613_0001, 65_535));
        assert!(t.learn(3, 7, 0xc613_0001, 65_535));
        assert_eq!(t.get(3, 7), Some((0xc613_0001, 65_535)));
        assert_eq!(t.get(3, 8), None);
        assert_eq!((t.learned(7), t.learned(8)), (1, 0));
    }
}
