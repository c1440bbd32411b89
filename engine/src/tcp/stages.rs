//! How far each connection has come: the number of its segments that have arrived, in one atomic word of 8 octets a connection.
//! The phase in which it was opened is in the word, so that nothing has to be cleared between phases.

use arena::{ArenaError, AtomicArray};

/// Stages by connection index: phase 16 | segments 16.
///
/// Segments take turns, so that only one lane at a time changes a word, whichever lane that is: the one that received the last
/// segment stores the word before it answers.
pub struct Stages {
    words: AtomicArray,
}

impl Stages {
    /// Creates stages for N connections, 8 octets each, with pre-faulted memory.
    ///
    /// # Errors
    /// When memory is exhausted.
    pub fn new(connections: u64) -> Result<Stages, ArenaError> {
        Ok(Stages { words: AtomicArray::zeroed("the stages of TCP connections", connections as usize)? })
    }

    /// Segments of connection `index` that have arrived in this phase.
    #[inline(always)]
    pub fn get(&self, index: u32, phase: u16) -> u16 {
        let word = self.words.load(index as usize);
        if (word >> 16) as u16 == phase { word as u16 } else { 0 }
    }

    /// Stores it.
    #[inline(always)]
    pub fn set(&self, index: u32, phase: u16, segments: u16) {
        self.words.store(index as usize, u64::from(phase) << 16 | u64::from(segments));
    }

    /// Prefetches a word.
    #[inline(always)]
    pub fn prefetch(&self, index: u32) {
        self.words.prefetch(index as usize);
    }

    /// Capacity in connections.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether the capacity is 0.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_belongs_to_its_phase() {
        let stages = Stages::new(4).unwrap();
        stages.set(2, 7, 3);
        assert_eq!((stages.get(2, 7), stages.get(2, 8), stages.get(1, 7)), (3, 0, 0));
    }
}
