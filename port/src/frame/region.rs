//! The memory of all workers' frames, and its layout.

use crate::PortError;
use crate::sys::Mapping;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

/// Configuration of the pools of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Number of workers, each with its [`Pool`](super::Pool).
    pub workers: usize,
    /// Slots of each worker.
    pub frames: usize,
    /// Bytes of a slot: headroom + largest frame. `AF_XDP` needs 2048 or 4096.
    pub slot: usize,
    /// Bytes in front of a new frame, for headers that the DUT adds.
    pub headroom: usize,
}

impl PoolConfig {
    /// Pools for frames of at most `frame` bytes (without FCS). Slots are as small as possible: a
    /// large power of two between frames wastes cache sets.
    pub fn compact(workers: usize, frames: usize, frame: usize) -> PoolConfig {
        let headroom = 64;
        // As in the receive ring, an odd number of cache lines uses all cache sets.
        let lines = (headroom + frame).div_ceil(64) | 1;
        PoolConfig { workers, frames, slot: lines * 64, headroom }
    }
    /// Pools for `AF_XDP`, with slots of a power of two (UMEM).
    pub fn umem(workers: usize, frames: usize) -> PoolConfig {
        PoolConfig { workers, frames, slot: 2048, headroom: 256 }
    }
    /// Length of the longest new frame.
    pub fn room(&self) -> usize {
        self.slot - self.headroom
    }
}

/// Lives as long as a pool, a port that lent it, or a frame: see [`super::REGIONS`].
pub(crate) struct Region {
    pub(super) memory: Mapping,
    pub(super) config: PoolConfig,
    pub(super) strays: AtomicBool,
}

impl Region {
    pub(super) fn map(config: PoolConfig) -> Result<Region, PortError> {
        let len = (config.workers * config.frames * config.slot).next_multiple_of(2 << 20);
        let memory = Mapping::anonymous(len).map_err(|e| {
            PortError::system(format!("mapping {len} bytes for frames"), e, "use fewer or smaller frames")
        })?;
        // SAFETY: the range was mapped just now. Huge pages and pre-faulting matter for speed only,
        // so the results are ignored. Without DontFork, a command started during a trial would make
        // every page copy-on-write (and copy the pages lent to the kernel).
        unsafe {
            // Miri does not support madvise.
            #[cfg(not(miri))]
            {
                libc::madvise(memory.base().as_ptr().cast(), len, libc::MADV_HUGEPAGE);
                libc::madvise(memory.base().as_ptr().cast(), len, libc::MADV_DONTFORK);
            }
            std::ptr::write_bytes(memory.base().as_ptr(), 0, len);
        }
        Ok(Region { memory, config, strays: AtomicBool::new(false) })
    }

    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        (self.memory.base(), self.memory.len())
    }

    pub(crate) fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Distance in bytes from the start, at least the length if it is outside.
    #[inline(always)]
    pub(super) fn distance(&self, address: NonNull<u8>) -> usize {
        (address.as_ptr() as usize).wrapping_sub(self.memory.base().as_ptr() as usize)
    }
}
