//! What each side of each connection has received: one atomic half of a word a side. A half names
//! the phase that opened the connection, or an exchange, so nothing is cleared between phases.

use arena::{ArenaError, AtomicArray};
use std::sync::atomic::{AtomicU32, Ordering};
use wire::tcp::{Progress, Side};

/// States by connection index and side. A half is one of these:
///
/// - stage 16 | phase 16, while the connection follows its script; the stage is below 2^15
/// - the word of a [`Progress`], once there were exchanges
///
/// Only the lane that receives at a side changes its half.
pub struct Stages {
    words: AtomicArray,
}

impl Stages {
    /// States for N connections, 8 octets each.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(connections: u64) -> Result<Stages, ArenaError> {
        Ok(Stages { words: AtomicArray::zeroed("the stages of TCP connections", connections as usize)? })
    }

    #[inline(always)]
    fn half(&self, index: u32, side: Side) -> &AtomicU32 {
        &self.words.halves()[2 * index as usize + usize::from(side == Side::Responder)]
    }

    /// The next segment that this side can receive in this phase, at the earliest.
    #[inline(always)]
    pub fn get(&self, index: u32, side: Side, phase: u16) -> u16 {
        let half = self.half(index, side).load(Ordering::Relaxed);
        let stage = (half >> 16) as u16;
        if half as u16 == phase && stage < 1 << 15 { stage } else { 0 }
    }

    /// Stores a stage.
    #[inline(always)]
    pub fn set(&self, index: u32, side: Side, phase: u16, stage: u16) {
        self.half(index, side).store(u32::from(stage) << 16 | u32::from(phase), Ordering::Relaxed);
    }

    /// Exchanges received by this side.
    #[inline(always)]
    pub fn progress(&self, index: u32, side: Side) -> Progress {
        Progress::of(self.half(index, side).load(Ordering::Relaxed))
    }

    /// Stores a progress.
    #[inline(always)]
    pub fn set_progress(&self, index: u32, side: Side, progress: Progress) {
        self.half(index, side).store(progress.word(), Ordering::Relaxed);
    }

    /// Prefetches both sides' entries.
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
    use Side::{Initiator, Responder};

    #[test]
    fn a_stage_belongs_to_its_side_and_phase() {
        let stages = Stages::new(4).unwrap();
        stages.set(2, Initiator, 7, 3);
        let of = |index, side, phase| stages.get(index, side, phase);
        assert_eq!(of(2, Initiator, 7), 3);
        assert_eq!((of(2, Initiator, 8), of(2, Responder, 7), of(1, Initiator, 7)), (0, 0, 0));
    }

    #[test]
    fn exchanges_begin_where_a_connection_was_opened_and_end_when_it_is_opened_again() {
        let stages = Stages::new(1).unwrap();
        stages.set(0, Responder, u16::MAX, 3);
        assert_eq!(stages.progress(0, Responder), Progress::default());
        let progress = Progress { next: 5, whole: 2 };
        stages.set_progress(0, Responder, progress);
        assert_eq!((stages.progress(0, Responder), stages.get(0, Responder, 2)), (progress, 0));
        stages.set(0, Responder, 9, 1);
        assert_eq!((stages.progress(0, Responder), stages.get(0, Responder, 9)), (Progress::default(), 1));
    }
}
