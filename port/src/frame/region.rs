//! The memory mapping for the frames of all workers, and its layout. Back-ends register it with the kernel as a whole.

use crate::PortError;
use crate::sys::Mapping;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

/// Configuration of the pools of one run: the number of workers that share the mapping, and the layout of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Number of workers; each has its own [`Pool`](super::Pool).
    pub workers: usize,
    /// Number of slots of each worker.
    pub frames: usize,
    /// Bytes of a slot: headroom + largest frame. `AF_XDP` needs 2048 or 4096.
    pub slot: usize,
    /// Bytes in front of a new frame, for headers that the DUT adds.
    pub headroom: usize,
}

impl PoolConfig {
    /// Returns the configuration for frames of at most `frame` bytes (without FCS) on links that do not prescribe the
    /// size of a slot. Slots are as small as possible, because a large power of two between frames wastes cache sets.
    pub fn compact(workers: usize, frames: usize, frame: usize) -> PoolConfig {
        let headroom = 64;
        // An odd number of cache lines spreads neighbouring slots over all sets of L1 and L2.
        let lines = (headroom + frame).div_ceil(64) | 1;
        PoolConfig { workers, frames, slot: lines * 64, headroom }
    }
    /// Returns the configuration for `AF_XDP`: the size of a slot is a power of two, so that the mapping can be
    /// registered as UMEM.
    pub fn umem(workers: usize, frames: usize) -> PoolConfig {
        PoolConfig { workers, frames, slot: 2048, headroom: 256 }
    }
    /// Returns the length of the longest new frame, in bytes.
    pub fn room(&self) -> usize {
        self.slot - self.headroom
    }
}

/// The mapping itself. It stays mapped while there is a pool, a port that lent it to the kernel, or any frame: see
/// [`super::REGIONS`].
pub(crate) struct Region {
    pub(super) memory: Mapping,
    pub(super) config: PoolConfig,
    /// Whether the registry holds slots of dropped frames.
    pub(super) strays: AtomicBool,
}

impl Region {
    pub(super) fn map(config: PoolConfig) -> Result<Region, PortError> {
        let len = (config.workers * config.frames * config.slot).next_multiple_of(2 << 20);
        let memory = Mapping::anonymous(len).map_err(|e| {
            PortError::system(format!("mapping {len} bytes for frames"), e, "use fewer or smaller frames")
        })?;
        // SAFETY: the range was mapped just now. Huge pages and pre-faulting matter for speed only, so the results are
        // ignored. Without DontFork, a command that is started while a trial runs would make every page copy-on-write
        // (and copy at once the pages that are lent to the kernel). The child process never reads frames, so it does
        // not get them.
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

    /// Returns start and length of the mapping, for registration with the kernel.
    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        (self.memory.base(), self.memory.len())
    }

    /// Returns the configuration of the pools.
    pub(crate) fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Returns the distance of an address from the start in bytes; at least the length of the mapping if the address is
    /// not inside.
    #[inline(always)]
    pub(super) fn distance(&self, address: NonNull<u8>) -> usize {
        (address.as_ptr() as usize).wrapping_sub(self.memory.base().as_ptr() as usize)
    }
}
