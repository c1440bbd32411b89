//! The memory mapping for the frames of all workers, and its layout. Back-ends register it with the kernel as a whole.

use crate::PortError;
use crate::sys::Mapping;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

/// Shape of the pools of one run: how many workers share the mapping and what a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Workers, each with a [`Pool`](super::Pool) of its own.
    pub workers: usize,
    /// Slots a worker owns.
    pub frames: usize,
    /// Bytes of a slot: headroom + largest frame. `AF_XDP` needs 2048 or 4096.
    pub slot: usize,
    /// Bytes before the first byte of a fresh frame, for headers that the DUT puts in front.
    pub headroom: usize,
}

impl PoolConfig {
    /// Pools for frames of at most `frame` bytes (without FCS) on links that give slots no size of their own:
    /// slots are as small as they can be, because a large power of two between frames wastes cache sets.
    pub fn compact(workers: usize, frames: usize, frame: usize) -> PoolConfig {
        let headroom = 64;
        // An odd number of cache lines spreads neighbouring slots over all sets of L1 and L2.
        let lines = (headroom + frame).div_ceil(64) | 1;
        PoolConfig { workers, frames, slot: lines * 64, headroom }
    }
    /// Pools for `AF_XDP`: power-of-two slots that can be registered as UMEM.
    pub fn umem(workers: usize, frames: usize) -> PoolConfig {
        PoolConfig { workers, frames, slot: 2048, headroom: 256 }
    }
    /// Bytes of the longest frame that a fresh slot holds.
    pub fn room(&self) -> usize {
        self.slot - self.headroom
    }
}

/// The mapping itself. It stays while a pool, a port that lent it to the kernel, or any frame is there: see [`super::REGIONS`].
pub(crate) struct Region {
    pub(super) memory: Mapping,
    pub(super) config: PoolConfig,
    /// Strays are waiting in the books.
    pub(super) strays: AtomicBool,
}

impl Region {
    pub(super) fn map(config: PoolConfig) -> Result<Region, PortError> {
        let len = (config.workers * config.frames * config.slot).next_multiple_of(2 << 20);
        let memory = Mapping::anonymous(len).map_err(|e| {
            PortError::system(format!("mapping {len} bytes for frames"), e, "use fewer or smaller frames")
        })?;
        // SAFETY: the range was mapped just now. Huge pages and pre-faulting are a matter of speed only, so the
        // result is not looked at. A command started while a trial runs would make every page copy-on-write (and copy those
        // that are lent to the kernel at once); its child never looks at frames, so it gets none.
        unsafe {
            // Miri knows no advice.
            #[cfg(not(miri))]
            {
                libc::madvise(memory.base().as_ptr().cast(), len, libc::MADV_HUGEPAGE);
                libc::madvise(memory.base().as_ptr().cast(), len, libc::MADV_DONTFORK);
            }
            std::ptr::write_bytes(memory.base().as_ptr(), 0, len);
        }
        Ok(Region { memory, config, strays: AtomicBool::new(false) })
    }

    /// Start and length of the mapping, to be registered with the kernel.
    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        (self.memory.base(), self.memory.len())
    }

    /// The shape of its slots.
    pub(crate) fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Distance of an address from the start; at least the length if it is not inside.
    #[inline(always)]
    pub(super) fn distance(&self, address: NonNull<u8>) -> usize {
        (address.as_ptr() as usize).wrapping_sub(self.memory.base().as_ptr() as usize)
    }
}
