//! Frames and their pools. A frame is a slot of one large mapping; it is moved and never copied. A
//! pool is one worker's share. Any worker may free any frame: it returns to its pool without locks,
//! or, if dropped, on a slow path.

mod lent;
mod region;

pub(crate) use lent::LentSlots;
pub use region::PoolConfig;
pub(crate) use region::Region;

use crate::PortError;
use rtrb::{Consumer, Producer, RingBuffer};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All mappings, off the fast path. A mapping stays until all frames have returned, so that none can dangle.
static REGIONS: Mutex<Vec<Books>> = Mutex::new(Vec::new());

struct Books {
    region: Arc<Region>,
    pools: usize,
    /// Slots that have returned and whose pools no longer exist.
    home: usize,
    /// Slots of dropped frames, each with the number of its pool.
    strays: Vec<(u16, Slot)>,
}

impl Books {
    fn all() -> MutexGuard<'static, Vec<Books>> {
        // Consistent after every statement, so usable after another thread's panic.
        REGIONS.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn closed(&self) -> bool {
        let PoolConfig { workers, frames, .. } = self.region.config;
        self.pools == 0 && self.home + self.strays.len() == workers * frames
    }
}

/// A frame without FCS, which owns its slot. Free it to a [`Pool`] or send it; dropping it takes a lock.
#[derive(Debug)]
pub struct Frame {
    slot: NonNull<u8>,
    start: u16,
    len: u16,
    size: u16,
    home: u16,
    /// Receive time.
    pub stamp: u64,
}

// SAFETY: only the frame refers to its slot, which moves with it.
unsafe impl Send for Frame {}

impl Frame {
    /// The frame from the destination address on, without FCS.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: every method keeps start + len <= size. The slot belongs to this frame alone, and stays mapped while
        // any frame exists (Region).
        unsafe { std::slice::from_raw_parts(self.slot.as_ptr().add(self.start as usize), self.len as usize) }
    }
    /// Mutable octets of the frame.
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
    /// Whether it has no bytes.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Free bytes in front of the frame.
    #[inline(always)]
    pub fn headroom(&self) -> usize {
        self.start as usize
    }
    /// Free bytes behind the frame.
    #[inline(always)]
    pub fn tailroom(&self) -> usize {
        (self.size - self.start - self.len) as usize
    }
    /// Lengthens the frame at the front. False, and unchanged, without room.
    #[inline]
    pub fn grow_front(&mut self, n: usize) -> bool {
        let ok = n <= self.headroom();
        if ok {
            self.start -= n as u16;
            self.len += n as u16;
        }
        ok
    }
    /// Shortens the frame at the front. False, and unchanged, if it is shorter.
    #[inline]
    pub fn shrink_front(&mut self, n: usize) -> bool {
        let ok = n <= self.len();
        if ok {
            self.start += n as u16;
            self.len -= n as u16;
        }
        ok
    }
    /// Moves the end; new bytes hold old data. False, and unchanged, without room.
    #[inline]
    pub fn set_len(&mut self, len: usize) -> bool {
        let ok = len <= self.size as usize - self.start as usize;
        if ok {
            self.len = len as u16;
        }
        ok
    }
}

impl arena::Packet for Frame {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }
    #[inline(always)]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
    #[inline(always)]
    fn grow_front(&mut self, n: usize) -> bool {
        self.grow_front(n)
    }
    #[inline(always)]
    fn shrink_front(&mut self, n: usize) -> bool {
        self.shrink_front(n)
    }
    #[inline(always)]
    fn set_len(&mut self, len: usize) -> bool {
        self.set_len(len)
    }
}

impl Drop for Frame {
    /// Returns the slot on the slow path.
    #[cold]
    fn drop(&mut self) {
        let mut all = Books::all();
        let Some(i) = all.iter().position(|b| b.region.distance(self.slot) < b.region.memory.len()) else { return };
        all[i].strays.push((self.home, Slot(self.slot)));
        all[i].region.strays.store(true, Ordering::Release);
        if all[i].closed() {
            all.swap_remove(i);
        }
    }
}

struct Slot(NonNull<u8>);
// SAFETY: only this value refers to the memory of the slot.
unsafe impl Send for Slot {}

/// One worker's share of the frames.
pub struct Pool {
    worker: u16,
    config: PoolConfig,
    region: Arc<Region>,
    free: Vec<Slot>,
    /// A new frame, with a placeholder slot.
    fresh: ManuallyDrop<Frame>,
    incoming: Vec<Consumer<Slot>>,
    outgoing: Vec<Option<Producer<Slot>>>,
}

impl Pool {
    /// Maps the memory and makes one pool for each worker.
    ///
    /// # Errors
    /// The memory cannot be mapped, or the configuration is invalid.
    pub fn for_workers(config: PoolConfig) -> Result<Vec<Pool>, PortError> {
        let PoolConfig { workers, frames, slot, headroom } = config;
        if workers == 0 || workers > u16::MAX as usize || slot > u16::MAX as usize || headroom >= slot {
            return Err(PortError::Unsupported(format!("invalid pool configuration: {config:?}")));
        }
        let region = Arc::new(Region::map(config)?);
        Books::all().push(Books { region: Arc::clone(&region), pools: workers, home: 0, strays: Vec::new() });
        let mut pools: Vec<Pool> = (0..workers)
            .map(|w| Pool {
                worker: w as u16,
                config,
                region: Arc::clone(&region),
                free: (0..frames)
                    // SAFETY: (w * frames + i) * slot + slot <= len, so the pointer stays inside the mapping.
                    .map(|i| Slot(unsafe { region.memory.base().add((w * frames + i) * slot) }))
                    .rev()
                    .collect(),
                fresh: ManuallyDrop::new(Frame {
                    slot: region.memory.base(),
                    start: headroom as u16,
                    len: 0,
                    size: slot as u16,
                    home: w as u16,
                    stamp: 0,
                }),
                incoming: Vec::new(),
                outgoing: (0..workers).map(|_| None).collect(),
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

    /// Makes one pool for one worker.
    ///
    /// # Errors
    /// As [`Pool::for_workers`].
    pub fn single(config: PoolConfig) -> Result<Pool, PortError> {
        Ok(Pool::for_workers(PoolConfig { workers: 1, ..config })?.remove(0))
    }

    /// The configuration.
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// A new frame of `len` bytes behind the headroom, with old contents. `None` without a free
    /// slot, or if slots are too small.
    #[inline]
    pub fn alloc(&mut self, len: usize) -> Option<Frame> {
        let room = self.config.slot - self.config.headroom;
        if len > room {
            return None;
        }
        if self.free.is_empty() {
            self.collect();
        }
        let Slot(slot) = self.free.pop()?;
        Some(Frame {
            slot,
            start: self.config.headroom as u16,
            len: len as u16,
            size: self.config.slot as u16,
            home: self.worker,
            stamp: 0,
        })
    }

    /// Appends up to `n` new frames as from [`Self::alloc`]. Returns how many.
    #[inline]
    pub fn alloc_burst(&mut self, n: usize, len: usize, into: &mut crate::Burst) -> usize {
        self.alloc_burst_to_grow(n, len, 0, into)
    }

    /// As [`Self::alloc_burst`], for frames that the DUT lengthens by `growth` bytes at the front.
    /// If there is room, they begin `growth` bytes further behind, so that the longer header lies
    /// in cache lines that the sender has just written. Otherwise another line moves between cores
    /// too: stateless functions took 1.5 to 1.9 times as long (docs/performance.md, frames that
    /// grow).
    #[inline]
    pub fn alloc_burst_to_grow(&mut self, n: usize, len: usize, growth: usize, into: &mut crate::Burst) -> usize {
        if self.free.len() < n {
            self.collect();
        }
        let n = n.min(self.free.len());
        let PoolConfig { headroom, slot: size, .. } = self.config;
        debug_assert!(headroom + len <= size);
        let start = if headroom + growth + len <= size { headroom + growth } else { headroom };
        self.fresh.start = start as u16;
        self.fresh.len = len.min(size - start) as u16;
        let left = self.free.len() - n;
        into.reserve(n);
        let end = into.len();
        // SAFETY: the burst has room for `n` more frames, and each is fully initialised: a copy of
        // `fresh`, which is never used as a frame, with its own slot, removed from the free list.
        // Copied as a whole, because stores limit the speed of this loop.
        unsafe {
            let to = into.as_mut_ptr().add(end);
            for (i, slot) in self.free[left..].iter().enumerate() {
                ptr::copy_nonoverlapping(ptr::from_ref(&*self.fresh), to.add(i), 1);
                (*to.add(i)).slot = slot.0;
            }
            into.set_len(end + n);
        }
        self.free.truncate(left);
        n
    }

    /// Frees a frame of any pool.
    #[inline]
    pub fn free(&mut self, frame: Frame) {
        if self.region.distance(frame.slot) >= self.region.memory.len() {
            // Of another mapping: dropping returns it.
            return;
        }
        if frame.home == self.worker {
            self.free.push(Slot(ManuallyDrop::new(frame).slot));
        } else if let Some(Some(home)) = self.outgoing.get_mut(frame.home as usize)
            && !home.is_abandoned()
        {
            // Never full: room for every frame of that pool.
            let pushed = home.push(Slot(ManuallyDrop::new(frame).slot));
            debug_assert!(pushed.is_ok());
        }
    }

    #[inline]
    /// Frees every frame of a burst.
    pub fn free_all(&mut self, burst: &mut crate::Burst) {
        let (region, len) = (&*self.region, self.region.memory.len());
        if burst.iter().all(|f| f.home == self.worker && region.distance(f.slot) < len) {
            // Usually, all frames are of this pool.
            self.free.extend(burst.iter().map(|f| Slot(f.slot)));
            // SAFETY: zero is within the capacity. The free list owns the slots now, so the frames
            // must not be dropped.
            unsafe { burst.set_len(0) };
            return;
        }
        for frame in burst.drain(..) {
            self.free(frame);
        }
    }

    /// Free frames, after collecting those freed by other workers.
    pub fn available(&mut self) -> usize {
        self.collect();
        self.free.len()
    }

    #[cold]
    fn collect(&mut self) {
        for ring in &mut self.incoming {
            let n = ring.slots();
            if let Ok(chunk) = ring.read_chunk(n) {
                self.free.extend(chunk);
            }
        }
        if self.region.strays.load(Ordering::Acquire) {
            let mut all = Books::all();
            if let Some(books) = all.iter_mut().find(|b| Arc::ptr_eq(&b.region, &self.region)) {
                let mine = books.strays.extract_if(.., |(home, _)| *home == self.worker);
                self.free.extend(mine.map(|(_, slot)| slot));
                self.region.strays.store(!books.strays.is_empty(), Ordering::Release);
            }
        }
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.collect();
        let mut all = Books::all();
        let Some(i) = all.iter().position(|b| Arc::ptr_eq(&b.region, &self.region)) else { return };
        all[i].pools -= 1;
        all[i].home += self.free.len();
        self.free.clear();
        if all[i].closed() {
            all.swap_remove(i);
        }
    }
}

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
    fn bursts_come_and_go_like_single_frames() {
        let mut pools = Pool::for_workers(PoolConfig { workers: 2, frames: 4, slot: 192, headroom: 64 }).unwrap();
        let (mut b, mut a) = (pools.pop().unwrap(), pools.pop().unwrap());
        let mut burst = crate::burst();
        assert_eq!((a.alloc_burst(3, 60, &mut burst), b.alloc_burst(9, 60, &mut burst)), (3, 4));
        assert!(burst.iter().all(|f| f.len() == 60 && f.headroom() == 64 && f.tailroom() == 68));
        let slots: std::collections::BTreeSet<_> = burst.iter().map(|f| f.slot).collect();
        assert_eq!(slots.len(), 7, "every frame has a slot of its own");
        a.free_all(&mut burst);
        assert!(burst.is_empty());
        assert_eq!((a.available(), b.available()), (4, 4));
        a.alloc_burst(4, 60, &mut burst);
        a.free_all(&mut burst);
        assert_eq!(a.available(), 4);
    }

    #[test]
    fn a_frame_that_will_grow_begins_where_the_longer_one_begins_as_others_do() {
        let mut pool = Pool::single(PoolConfig::compact(1, 4, 100)).unwrap();
        let headroom = pool.config().headroom;
        let mut burst = crate::burst();
        pool.alloc_burst_to_grow(1, 60, 40, &mut burst);
        pool.alloc_burst_to_grow(1, 100, 40, &mut burst);
        pool.alloc_burst(1, 60, &mut burst);
        let found: Vec<_> = burst.iter().map(|f| (f.headroom() - headroom, f.len())).collect();
        assert_eq!(found, [(40, 60), (0, 100), (0, 60)], "no room in the slot for the second one");
        assert!(burst[0].grow_front(40) && burst[0].bytes().as_ptr().addr().is_multiple_of(64));
        pool.free_all(&mut burst);
    }

    #[test]
    fn a_dropped_frame_goes_home_and_a_foreign_one_is_not_kept() {
        let shape = PoolConfig { workers: 1, frames: 2, slot: 192, headroom: 64 };
        let (mut a, mut b) = (Pool::single(shape).unwrap(), Pool::single(shape).unwrap());
        drop(a.alloc(60));
        let frame = a.alloc(60).unwrap();
        b.free(frame);
        assert_eq!((a.available(), b.available()), (2, 2));
    }

    #[test]
    fn memory_outlives_its_pools_until_the_last_frame_is_gone() {
        let mapped = |at: usize| Books::all().iter().any(|b| b.region.memory.base().as_ptr() as usize == at);
        let mut pools = Pool::for_workers(PoolConfig { workers: 2, frames: 3, slot: 192, headroom: 64 }).unwrap();
        let at = pools[0].region.memory.base().as_ptr() as usize;
        let mut held = [pools[0].alloc(60).unwrap(), pools[1].alloc(60).unwrap()];
        let on_its_way = pools[0].alloc(60).unwrap();
        pools[1].free(on_its_way);
        let late = pools[0].alloc(60).unwrap();
        pools.remove(0);
        pools[0].free(late);
        drop(pools);
        held[0].bytes_mut().fill(7);
        let [a, b] = held;
        drop(b);
        assert!(mapped(at) && a.bytes() == [7; 60]);
        drop(a);
        assert!(!mapped(at));
    }

    #[test]
    fn only_what_was_lent_comes_back() {
        let mut pool = Pool::single(PoolConfig { workers: 1, frames: 70, slot: 2048, headroom: 64 }).unwrap();
        let mut other = Pool::single(PoolConfig { workers: 1, frames: 1, slot: 2048, headroom: 64 }).unwrap();
        let mut lent = LentSlots::none(pool.region()).unwrap();
        let frames: Vec<Frame> = std::iter::from_fn(|| pool.alloc(60)).collect();
        let at: Vec<u64> = frames.into_iter().map(|f| lent.lend(f).unwrap()).collect();
        assert_eq!((at[69] % 2048, at[69] / 2048), (64, 69));
        assert!(lent.lend(other.alloc(60).unwrap()).is_err());
        // The kernel placed the frame elsewhere in the slot.
        let back = lent.take(at[69] + 192, 1500).unwrap();
        assert_eq!((back.headroom(), back.len(), back.tailroom()), (256, 1500, 292));
        assert!(lent.take(at[69], 60).is_none(), "twice");
        assert!(lent.take(at[3], 1985).is_none(), "longer than the slot");
        assert!(lent.take(70 * 2048, 60).is_none() && lent.take(u64::MAX, 0).is_none());
        pool.free(back);
        drop(lent);
        assert_eq!(pool.available(), 70);
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
