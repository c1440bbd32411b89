//! The four rings of an XDP socket: memory shared with the kernel.

use crate::sys::Mapping;
use libc::xdp_ring_offset;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

struct Shared<T> {
    memory: Arc<Mapping>,
    offsets: xdp_ring_offset,
    size: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Shared<T> {
    /// `offsets` is the layout; `size` is a power of two.
    fn new(memory: Arc<Mapping>, offsets: xdp_ring_offset, size: u32) -> Shared<T> {
        assert!(size.is_power_of_two());
        let inside = |at: u64, len: usize| (at as usize).checked_add(len).is_some_and(|end| end <= memory.len());
        assert!(
            [offsets.producer, offsets.consumer, offsets.flags]
                .into_iter()
                .all(|at| at.is_multiple_of(4) && inside(at, 4))
        );
        assert!(
            offsets.desc.is_multiple_of(align_of::<T>() as u64) && inside(offsets.desc, size as usize * size_of::<T>())
        );
        Shared { memory, offsets, size, entries: PhantomData }
    }
    fn index(&self, at: u64) -> &AtomicU32 {
        // SAFETY: `new` checked that the four bytes are aligned and inside the mapping, which lives
        // as long as `self`. Both sides access them only atomically.
        unsafe { AtomicU32::from_ptr(self.memory.base().as_ptr().add(at as usize).cast()) }
    }
    fn producer(&self) -> &AtomicU32 {
        self.index(self.offsets.producer)
    }
    fn consumer(&self) -> &AtomicU32 {
        self.index(self.offsets.consumer)
    }
    fn entry(&self, index: u32) -> NonNull<T> {
        // SAFETY: `index` modulo `size` is inside the mapping, which `new` checked.
        unsafe {
            self.memory.base().byte_add(self.offsets.desc as usize).cast::<T>().add((index & (self.size - 1)) as usize)
        }
    }
}

pub(super) struct Producer<T> {
    ring: Shared<T>,
    /// Next entry to write; those before it are published by [`Producer::publish`].
    next: u32,
    /// Cached index up to which the other side has taken entries.
    taken: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) fn new(memory: Arc<Mapping>, offsets: xdp_ring_offset, size: u32) -> Producer<T> {
        let ring = Shared::new(memory, offsets, size);
        let (next, taken) = (ring.producer().load(Ordering::Relaxed), ring.consumer().load(Ordering::Acquire));
        Producer { ring, next, taken }
    }
    /// Entries that can be written. Reads the other side's index only if fewer than `want` are known to be free.
    #[inline]
    pub(super) fn room(&mut self, want: u32) -> u32 {
        if self.ring.size - self.next.wrapping_sub(self.taken) < want {
            self.taken = self.ring.consumer().load(Ordering::Acquire);
        }
        self.ring.size - self.next.wrapping_sub(self.taken)
    }
    /// Writes an entry, to be published.
    ///
    /// # Panics
    /// If the ring is full; check [`Producer::room`] before.
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        assert!(self.next.wrapping_sub(self.taken) < self.ring.size, "a ring has no room for the entry");
        // SAFETY: the entry is inside the mapping. The other side does not read it until it is published, and has taken
        // the earlier entry in this place (assertion).
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }
    #[inline]
    pub(super) fn publish(&mut self) {
        self.ring.producer().store(self.next, Ordering::Release);
    }
    /// Entries that the other side has not taken.
    #[inline]
    pub(super) fn waiting(&mut self) -> u32 {
        self.taken = self.ring.consumer().load(Ordering::Acquire);
        self.next.wrapping_sub(self.taken)
    }
    /// Index up to which the other side had taken entries when [`Producer::waiting`] looked.
    pub(super) fn taken(&self) -> u32 {
        self.taken
    }
    /// Whether entries wait, and the other side needs a system call to take them. A wakeup can be lost, as while the
    /// link is down: ask again as long as entries wait.
    #[inline]
    pub(super) fn wants_wakeup(&mut self) -> bool {
        // Entries must be visible before the flag is read: the other side may have gone to sleep without seeing them.
        std::sync::atomic::fence(Ordering::SeqCst);
        let flags = self.ring.index(self.ring.offsets.flags).load(Ordering::Relaxed);
        flags & libc::XDP_RING_NEED_WAKEUP != 0 && self.waiting() > 0
    }
}

pub(super) struct Consumer<T> {
    ring: Shared<T>,
    next: u32,
    /// Cached index up to which the other side has written entries.
    written: u32,
}

impl<T: Copy> Consumer<T> {
    pub(super) fn new(memory: Arc<Mapping>, offsets: xdp_ring_offset, size: u32) -> Consumer<T> {
        let ring = Shared::new(memory, offsets, size);
        let (next, written) = (ring.consumer().load(Ordering::Relaxed), ring.producer().load(Ordering::Acquire));
        Consumer { ring, next, written }
    }
    /// The entry's place may be reused after [`Consumer::release`].
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.next == self.written {
            self.written = self.ring.producer().load(Ordering::Acquire);
            if self.next == self.written {
                return None;
            }
        }
        // SAFETY: the entry is inside the mapping. It was written before the index that was acquired, and is not
        // written again before it is released.
        let entry = unsafe { self.ring.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }
    #[inline]
    pub(super) fn release(&mut self) {
        self.ring.consumer().store(self.next, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes both ends of a ring over one memory. Their indices begin at `start`.
    fn ends(size: u32, start: u32) -> (Producer<u64>, Consumer<u64>) {
        ends_over(&memory(size), size, start)
    }

    fn memory(size: u32) -> Arc<Mapping> {
        Arc::new(Mapping::anonymous(192 + 8 * size as usize).unwrap())
    }

    fn ends_over(memory: &Arc<Mapping>, size: u32, start: u32) -> (Producer<u64>, Consumer<u64>) {
        let offsets = xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };
        let ring = Shared::<u64>::new(Arc::clone(memory), offsets, size);
        ring.producer().store(start, Ordering::Relaxed);
        ring.consumer().store(start, Ordering::Relaxed);
        ring.index(offsets.flags).store(0, Ordering::Relaxed);
        (Producer::new(Arc::clone(memory), offsets, size), Consumer::new(Arc::clone(memory), offsets, size))
    }

    #[test]
    fn entries_arrive_in_order_across_the_wrap_of_the_index() {
        let (mut producer, mut consumer) = ends(8, u32::MAX - 20);
        let (mut written, mut read) = (0u64, 0u64);
        for step in 0..200 {
            for _ in 0..(step % 9).min(producer.room(8)) {
                producer.push(written);
                written += 1;
            }
            producer.publish();
            while let Some(entry) = consumer.pop() {
                assert_eq!(entry, read);
                read += 1;
            }
            assert_eq!(written, read);
            consumer.release();
            assert_eq!(producer.waiting(), 0);
        }
        assert!(written > 600);
    }

    #[test]
    fn nothing_is_seen_before_it_is_published_and_no_place_reused_before_its_release() {
        let (mut producer, mut consumer) = ends(4, 0);
        assert_eq!(producer.room(4), 4);
        (0..4).for_each(|i| producer.push(i));
        assert_eq!((consumer.pop(), producer.room(1)), (None, 0));
        producer.publish();
        assert_eq!((consumer.pop(), consumer.pop(), producer.room(1)), (Some(0), Some(1), 0));
        consumer.release();
        assert_eq!((producer.room(1), producer.waiting()), (2, 2));
    }

    /// What can happen to a ring, in any order.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// The port publishes an entry, if there is room.
        Publish,
        /// The port wakes the driver, if it asks for it.
        Wake,
        /// One step of a driver that is awake.
        Step,
        /// The link is lost: the driver sleeps, and forgets what woke it.
        Stop,
        /// The link is back: the driver asks for wakeups.
        Start,
    }
    const EVENTS: [Event; 5] = [Event::Publish, Event::Wake, Event::Step, Event::Stop, Event::Start];
    /// Events of an order.
    const EVENTS_OF_ORDER: u32 = if cfg!(miri) { 3 } else { 7 };

    #[derive(Clone, Copy, PartialEq)]
    enum Driver {
        Down,
        Asleep,
        /// It found no entry and asks for wakeups; before it sleeps it looks again.
        Drowsy,
        Awake,
    }

    struct Model {
        producer: Producer<u64>,
        consumer: Consumer<u64>,
        driver: Driver,
    }

    impl Model {
        fn after(memory: &Arc<Mapping>, events: impl Iterator<Item = Event>) -> Model {
            let (producer, consumer) = ends_over(memory, 2, u32::MAX);
            let mut model = Model { producer, consumer, driver: Driver::Awake };
            events.for_each(|event| model.happens(event));
            model
        }
        fn wants_wakeups(&self, value: u32) {
            let ring = &self.producer.ring;
            ring.index(ring.offsets.flags).store(value, Ordering::Relaxed);
        }
        fn happens(&mut self, event: Event) {
            match (event, self.driver) {
                (Event::Publish, _) if self.producer.room(1) > 0 => {
                    self.producer.push(0);
                    self.producer.publish();
                }
                (Event::Wake, Driver::Asleep | Driver::Drowsy) if self.producer.wants_wakeup() => {
                    self.wants_wakeups(0);
                    self.driver = Driver::Awake;
                }
                (Event::Step, Driver::Awake | Driver::Drowsy) => {
                    let found = self.consumer.pop().is_some();
                    self.consumer.release();
                    self.wants_wakeups(if found { 0 } else { libc::XDP_RING_NEED_WAKEUP });
                    self.driver = match (found, self.driver) {
                        (true, _) => Driver::Awake,
                        (false, Driver::Awake) => Driver::Drowsy,
                        (false, _) => Driver::Asleep,
                    };
                }
                (Event::Stop, _) => self.driver = Driver::Down,
                (Event::Start, Driver::Down) => {
                    self.wants_wakeups(libc::XDP_RING_NEED_WAKEUP);
                    self.driver = Driver::Asleep;
                }
                _ => {}
            }
        }
        /// Whether all entries are taken once the link is back and the port has looked at the ring this often.
        fn empties(mut self, looks: usize) -> bool {
            self.happens(Event::Start);
            for event in std::iter::repeat_n(Event::Wake, looks).chain([Event::Step; 4]) {
                self.happens(event);
            }
            self.producer.waiting() == 0
        }
    }

    /// All orders of events: one look is enough, and without a look some entries are never taken.
    #[test]
    fn a_ring_makes_progress_again_whatever_happened_to_the_link() {
        let (memory, mut lost) = (memory(2), 0);
        for order in 0..EVENTS.len().pow(EVENTS_OF_ORDER) {
            let events = || (0..EVENTS_OF_ORDER).map(|at| EVENTS[order / EVENTS.len().pow(at) % EVENTS.len()]);
            assert!(Model::after(&memory, events()).empties(1), "{:?}", events().collect::<Vec<_>>());
            lost += usize::from(!Model::after(&memory, events()).empties(0));
        }
        assert!(lost > 0);
    }

    #[test]
    fn two_threads_agree() {
        let (mut producer, mut consumer) = ends(16, 7);
        let last = if cfg!(miri) { 200 } else { 20_000 };
        std::thread::scope(|s| {
            s.spawn(move || {
                let mut next = 0;
                while next < last {
                    for _ in 0..producer.room(4).min((last - next) as u32) {
                        producer.push(next);
                        next += 1;
                    }
                    producer.publish();
                    std::thread::yield_now();
                }
            });
            let mut next = 0;
            while next < last {
                match consumer.pop() {
                    Some(entry) => {
                        assert_eq!(entry, next);
                        next += 1;
                    }
                    None => std::thread::yield_now(),
                }
                consumer.release();
            }
        });
    }
}
