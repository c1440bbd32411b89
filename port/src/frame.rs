//! Frames and the pools they live in. A frame is a slot of one large mapping, moved and never copied
//! from receive to transmit; a pool is one worker's handle on that mapping. Any worker may free any
//! frame: it travels home over a ring of its own, so nothing locks and nothing is allocated.

use crate::PortError;
use rtrb::{Consumer, Producer, RingBuffer};
use std::ptr::NonNull;
use std::sync::Arc;

/// Shape of the pools of one run: how many workers share the mapping and what a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Workers, each with a [`Pool`] of its own.
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

/// The mapping itself. It is unmapped when the last pool is gone **and** every slot is home again;
/// a slot lost on the way keeps the mapping alive for ever, so that no frame can dangle.
pub(crate) struct Region {
    base: NonNull<u8>,
    len: usize,
    slots: usize,
}

// SAFETY: the region is plain memory; access goes through frames, each of which owns its slot alone.
unsafe impl Send for Region {}
// SAFETY: as above; the region itself hands out no reference.
unsafe impl Sync for Region {}

impl Region {
    fn map(len: usize, slots: usize) -> Result<Region, PortError> {
        // SAFETY: a fresh private anonymous mapping; no existing memory is touched.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(PortError::last(
                format!("mapping {len} bytes for frames"),
                "less memory: fewer or smaller frames",
            ));
        }
        let base = NonNull::new(base.cast::<u8>()).expect("mmap never returns null here");
        // SAFETY: the range was mapped just now. Huge pages and pre-faulting are a matter of speed only,
        // so their results are not looked at.
        unsafe {
            libc::madvise(base.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
            std::ptr::write_bytes(base.as_ptr(), 0, len);
        }
        Ok(Region { base, len, slots })
    }
}

/// A frame without FCS, owned by whoever holds it. It must go back to a [`Pool`] or out of a port;
/// one that is simply dropped loses its slot.
#[derive(Debug)]
pub struct Frame {
    slot: NonNull<u8>,
    start: u16,
    len: u16,
    size: u16,
    home: u16,
    /// When it was received, in ticks of the [`crate::Clock`].
    pub stamp: u64,
}

// SAFETY: a frame is the only way to its slot, so moving it to another thread moves the slot with it.
unsafe impl Send for Frame {}

impl Frame {
    /// The bytes of the frame.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: start + len <= size is kept by every method; the slot is ours alone and stays mapped while any
        // frame exists (Region).
        unsafe { std::slice::from_raw_parts(self.slot.as_ptr().add(self.start as usize), self.len as usize) }
    }
    /// The bytes of the frame, to be changed in place.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` excludes any other reference.
        unsafe { std::slice::from_raw_parts_mut(self.slot.as_ptr().add(self.start as usize), self.len as usize) }
    }
    /// Length in bytes, without FCS.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether there is no byte in it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Bytes free in front.
    #[inline(always)]
    pub fn headroom(&self) -> usize {
        self.start as usize
    }
    /// Bytes free behind.
    #[inline(always)]
    pub fn tailroom(&self) -> usize {
        (self.size - self.start - self.len) as usize
    }
    /// Make the frame `n` bytes longer at the front; false (and unchanged) if there is no room.
    #[inline]
    pub fn grow_front(&mut self, n: usize) -> bool {
        let ok = n <= self.headroom();
        if ok {
            self.start -= n as u16;
            self.len += n as u16;
        }
        ok
    }
    /// Take `n` bytes off the front; false (and unchanged) if there are fewer.
    #[inline]
    pub fn shrink_front(&mut self, n: usize) -> bool {
        let ok = n <= self.len();
        if ok {
            self.start += n as u16;
            self.len -= n as u16;
        }
        ok
    }
    /// Set the length by moving the end; false (and unchanged) if there is no room. New bytes hold old data.
    #[inline]
    pub fn set_len(&mut self, len: usize) -> bool {
        let ok = len <= self.size as usize - self.start as usize;
        if ok {
            self.len = len as u16;
        }
        ok
    }
    /// Start of the slot, for back-ends that give slots to the kernel.
    #[allow(dead_code, reason = "used by the AF_XDP back-end")]
    pub(crate) fn slot(&self) -> NonNull<u8> {
        self.slot
    }
    /// Place the frame inside its slot; for back-ends that got it filled by the kernel.
    #[allow(dead_code, reason = "used by the AF_XDP back-end")]
    pub(crate) fn place(&mut self, start: usize, len: usize) {
        assert!(start + len <= self.size as usize, "the kernel wrote outside the slot");
        self.start = start as u16;
        self.len = len as u16;
    }
}

/// A slot on its way home.
struct Slot(NonNull<u8>);
// SAFETY: as for Frame: whoever holds the Slot holds the memory.
unsafe impl Send for Slot {}

/// One worker's share of the frames.
pub struct Pool {
    worker: u16,
    config: PoolConfig,
    region: Arc<Region>,
    free: Vec<Slot>,
    incoming: Vec<Consumer<Slot>>,
    outgoing: Vec<Option<Producer<Slot>>>,
    lowest_free: usize,
}

impl Pool {
    /// Map the memory and make one pool a worker.
    ///
    /// # Errors
    /// When the memory cannot be had, or the shape makes no sense.
    pub fn for_workers(config: PoolConfig) -> Result<Vec<Pool>, PortError> {
        let PoolConfig { workers, frames, slot, headroom } = config;
        if workers == 0 || workers > u16::MAX as usize || slot > u16::MAX as usize || headroom >= slot {
            return Err(PortError::Unsupported(format!("no pool has this shape: {config:?}")));
        }
        let len = (workers * frames * slot).next_multiple_of(2 << 20);
        let region = Arc::new(Region::map(len, workers * frames)?);
        let mut pools: Vec<Pool> = (0..workers)
            .map(|w| Pool {
                worker: w as u16,
                config,
                region: Arc::clone(&region),
                free: (0..frames)
                    // SAFETY: (w * frames + i) * slot + slot <= len, so the pointer stays inside the mapping.
                    .map(|i| Slot(unsafe { region.base.add((w * frames + i) * slot) }))
                    .rev()
                    .collect(),
                incoming: Vec::new(),
                outgoing: (0..workers).map(|_| None).collect(),
                lowest_free: frames,
            })
            .collect();
        for home in 0..workers {
            for from in (0..workers).filter(|&f| f != home) {
                let (tx, rx) = RingBuffer::new(frames.max(1));
                pools[home].incoming.push(rx);
                pools[from].outgoing[home] = Some(tx);
            }
        }
        Ok(pools)
    }

    /// One pool for one worker.
    ///
    /// # Errors
    /// As [`Pool::for_workers`].
    pub fn single(config: PoolConfig) -> Result<Pool, PortError> {
        Ok(Pool::for_workers(PoolConfig { workers: 1, ..config })?.remove(0))
    }

    /// The shape it was made with.
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// A fresh frame of `len` bytes behind the configured headroom, with whatever the slot held before;
    /// `None` when every slot is on its way.
    #[inline]
    pub fn alloc(&mut self, len: usize) -> Option<Frame> {
        if self.free.is_empty() {
            self.collect();
        }
        let Slot(slot) = self.free.pop()?;
        debug_assert!(self.config.headroom + len <= self.config.slot);
        let room = self.config.slot - self.config.headroom;
        Some(Frame {
            slot,
            start: self.config.headroom as u16,
            len: len.min(room) as u16,
            size: self.config.slot as u16,
            home: self.worker,
            stamp: 0,
        })
    }

    /// Take a frame back, wherever it came from.
    #[inline]
    pub fn free(&mut self, frame: Frame) {
        if frame.home == self.worker {
            self.free.push(Slot(frame.slot));
        } else if let Some(Some(home)) = self.outgoing.get_mut(frame.home as usize) {
            // Never full: the ring has room for every frame of that home.
            let pushed = home.push(Slot(frame.slot));
            debug_assert!(pushed.is_ok());
        }
    }

    /// Take back every frame of a burst.
    #[inline]
    pub fn free_all(&mut self, burst: &mut crate::Burst) {
        for frame in burst.drain(..) {
            self.free(frame);
        }
    }

    /// Frames at hand right now (those on their way home included, once collected).
    pub fn available(&mut self) -> usize {
        self.collect();
        self.free.len()
    }

    /// Fetch what other workers freed.
    #[cold]
    fn collect(&mut self) {
        for ring in &mut self.incoming {
            let n = ring.slots();
            if let Ok(chunk) = ring.read_chunk(n) {
                self.free.extend(chunk);
            }
        }
        self.lowest_free = self.lowest_free.min(self.free.len());
    }

    /// Start and length of the mapping, to be registered with the kernel.
    #[allow(dead_code, reason = "used by the AF_XDP back-end")]
    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        (self.region.base, self.region.len)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.collect();
        let home = self.free.len();
        self.free.clear();
        RETURNED
            .lock()
            .expect("no panic while held")
            .entry(self.region.base.as_ptr() as usize)
            .and_modify(|n| *n += home)
            .or_insert(home);
        // The last pool of a region decides: with every slot home nobody can hold a frame, so the memory may go.
        if Arc::strong_count(&self.region) == 1 {
            let returned = RETURNED.lock().expect("no panic while held").remove(&(self.region.base.as_ptr() as usize));
            if returned == Some(self.region.slots) {
                // SAFETY: all slots are home and all pools are gone: no frame or slot points into the mapping.
                unsafe { libc::munmap(self.region.base.as_ptr().cast(), self.region.len) };
            }
        }
    }
}

/// Slots that came home with pools already dropped, per region. Only touched when pools are dropped.
static RETURNED: std::sync::Mutex<std::collections::BTreeMap<usize, usize>> =
    std::sync::Mutex::new(std::collections::BTreeMap::new());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_goes_home_through_another_worker() {
        let mut pools = Pool::for_workers(PoolConfig { workers: 2, frames: 4, slot: 192, headroom: 64 }).unwrap();
        let mut b = pools.pop().unwrap();
        let mut a = pools.pop().unwrap();
        let frames: Vec<Frame> = std::iter::from_fn(|| a.alloc(60)).collect();
        assert_eq!(frames.len(), 4);
        for f in frames {
            b.free(f);
        }
        assert_eq!(b.available(), 4, "b keeps its own");
        assert_eq!(a.available(), 4, "a has all of its own back");
    }

    #[test]
    fn growing_and_shrinking_stays_inside_the_slot() {
        let mut pool = Pool::single(PoolConfig { workers: 1, frames: 1, slot: 192, headroom: 64 }).unwrap();
        let mut f = pool.alloc(60).unwrap();
        assert!(f.grow_front(40) && f.len() == 100 && f.headroom() == 24);
        assert!(!f.grow_front(25));
        assert!(f.shrink_front(100) && f.is_empty());
        assert!(!f.set_len(69));
        assert!(f.set_len(68) && f.tailroom() == 0);
        pool.free(f);
    }
}
