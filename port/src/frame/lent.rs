//! Frames lent to the kernel, by ports that share memory with it.

use super::{Frame, PoolConfig, Region};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// The lent slots of a mapping. Dropping it returns them to their pools; the kernel must no longer use them.
pub(crate) struct LentSlots {
    region: Arc<Region>,
    slot_shift: u32,
    bits: Vec<u64>,
}

impl LentSlots {
    pub(crate) fn none(region: &Arc<Region>) -> Option<LentSlots> {
        let PoolConfig { workers, frames, slot, .. } = region.config;
        let bits = vec![0; (workers * frames).div_ceil(64)];
        slot.is_power_of_two().then(|| LentSlots {
            region: Arc::clone(region),
            slot_shift: slot.trailing_zeros(),
            bits,
        })
    }

    /// Returns the distance of the first byte from the start of the mapping, or a frame of another mapping itself.
    #[inline]
    pub(crate) fn lend(&mut self, frame: Frame) -> Result<u64, Frame> {
        let distance = self.region.distance(frame.slot);
        let Some(word) = self.bits.get_mut(distance >> self.slot_shift >> 6) else { return Err(frame) };
        *word |= 1 << (distance >> self.slot_shift & 63);
        Ok((distance + ManuallyDrop::new(frame).start as usize) as u64)
    }

    /// Takes back the frame of `len` bytes at this distance, which may be anywhere in the slot.
    /// `None` if the slot was not lent.
    #[inline]
    pub(crate) fn take(&mut self, distance: u64, len: usize) -> Option<Frame> {
        let number = (distance >> self.slot_shift) as usize;
        let (word, bit) = (self.bits.get_mut(number >> 6)?, 1u64 << (number & 63));
        let size = 1usize << self.slot_shift;
        let start = distance as usize & (size - 1);
        if *word & bit == 0 || start + len > size {
            return None;
        }
        *word &= !bit;
        Some(Frame {
            // SAFETY: the bit says that this is a lent slot of the mapping; the bit was cleared, so
            // the new frame is its only owner.
            slot: unsafe { self.region.memory.base().add(number << self.slot_shift) },
            start: start as u16,
            len: len as u16,
            size: size as u16,
            home: (number as u32 / self.region.config.frames as u32) as u16,
            stamp: 0,
        })
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }
}

impl Drop for LentSlots {
    fn drop(&mut self) {
        for number in 0..self.bits.len() * 64 {
            drop(self.take((number as u64) << self.slot_shift, 0));
        }
    }
}
