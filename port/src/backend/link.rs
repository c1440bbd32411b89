//! The in-process link: frames move as descriptors over single-producer rings, one for each pair of
//! queues. A full ring loses frames as a NIC does (open-loop): the sending end counts them as
//! refused, the receiving end as its own drops.

use crate::{BATCH, Burst, Clock, Counters, Frame, Pool, Port, PortError, PortFacts, Sent};
use rtrb::{Consumer, Producer, RingBuffer};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How frames are spread over the queues of the far side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Steer {
    /// All frames go to the first queue.
    First,
    /// Steers by a hash over bytes (offset, length); frames too short go to the first queue.
    Hash(Vec<(usize, usize)>),
    /// Steers by blocks of 2^shift values of the big-endian 16-bit field at `at`: block number
    /// modulo queues.
    Block {
        /// Offset of the field.
        at: usize,
        /// log2 of the block size.
        shift: u32,
    },
    /// Steers by a byte, modulo queues; frames too short go to the first queue.
    Byte {
        /// Offset of the byte.
        at: usize,
    },
}

impl Steer {
    /// The queue of a frame, out of `queues`.
    #[inline]
    pub fn queue(&self, frame: &[u8], queues: usize) -> usize {
        match self {
            Steer::First => 0,
            Steer::Hash(fields) => (hash_fields(frame, fields) as usize * queues) >> 32,
            Steer::Block { at, shift } => match frame.get(*at..*at + 2) {
                Some(f) => (u16::from_be_bytes([f[0], f[1]]) >> shift) as usize % queues,
                None => 0,
            },
            Steer::Byte { at } => frame.get(*at).map_or(0, |&byte| usize::from(byte) % queues),
        }
    }
}

/// A 32-bit hash over fields of a frame.
#[inline]
pub fn hash_fields(frame: &[u8], fields: &[(usize, usize)]) -> u32 {
    let mut h: u64 = 0x9e37_79b9_7f4a_7c15;
    for &(at, len) in fields {
        for b in frame.get(at..at + len).unwrap_or(&[]) {
            h = (h ^ *b as u64).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    (h.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32) as u32
}

/// A frame, not dropped in a ring: one copy takes a burst out. Dropping the receiving end returns
/// the rest to their pools.
type Parcel = ManuallyDrop<Frame>;

/// One queue at one end of a link.
pub struct LinkPort {
    name: String,
    clock: Clock,
    depth: usize,
    steer: Steer,
    to: Vec<Producer<Parcel>>,
    from: Vec<Consumer<Parcel>>,
    next: usize,
    counters: Counters,
    /// Frames that a full ring to this port refused.
    turned_away: Arc<AtomicU64>,
    /// That counter of each port at the far end.
    theirs: Vec<Arc<AtomicU64>>,
}

/// Makes a link with `left` and `right` queues, each ring `depth` frames deep.
pub fn link(
    name: &str,
    clock: Clock,
    depth: usize,
    (left, to_left): (usize, Steer),
    (right, to_right): (usize, Steer),
) -> (Vec<LinkPort>, Vec<LinkPort>) {
    let end = |queues: usize, side: &str, steer: &Steer| -> Vec<LinkPort> {
        (0..queues)
            .map(|q| LinkPort {
                name: format!("{name}.{side}{q}"),
                clock,
                depth,
                steer: steer.clone(),
                to: Vec::new(),
                from: Vec::new(),
                next: 0,
                counters: Counters::default(),
                turned_away: Arc::default(),
                theirs: Vec::new(),
            })
            .collect()
    };
    let (mut a, mut b) = (end(left, "l", &to_right), end(right, "r", &to_left));
    for x in &mut a {
        for y in &mut b {
            let (tx, rx) = RingBuffer::new(depth);
            x.to.push(tx);
            y.from.push(rx);
            let (tx, rx) = RingBuffer::new(depth);
            y.to.push(tx);
            x.from.push(rx);
            x.theirs.push(Arc::clone(&y.turned_away));
            y.theirs.push(Arc::clone(&x.turned_away));
        }
    }
    (a, b)
}

/// Reads the other side's index only if the cached value is too small, as each read transfers its
/// cache line between cores.
#[inline(always)]
fn up_to(wanted: usize, known: usize, look: impl FnOnce() -> usize) -> usize {
    if known >= wanted { wanted } else { look().min(wanted) }
}

impl LinkPort {
    #[inline]
    fn push_all(ring: &mut Producer<Parcel>, pool: &mut Pool, burst: &mut Burst) -> Sent {
        // A closed end refuses every frame.
        let room = if ring.is_abandoned() { 0 } else { up_to(burst.len(), ring.cached_slots(), || ring.slots()) };
        if room > 0
            && let Ok(mut chunk) = ring.write_chunk_uninit(room)
        {
            let (first, second) = chunk.as_mut_slices();
            let rest = burst.len() - room;
            // SAFETY: both slices together hold `room` frames, and the burst holds at least as
            // many; ring and burst do not overlap. Each frame is copied once and then forgotten by
            // the burst, whose remaining frames move to its start, so every frame has one owner.
            unsafe {
                let from = burst.as_mut_ptr();
                ptr::copy_nonoverlapping(from, first.as_mut_ptr().cast(), first.len());
                ptr::copy_nonoverlapping(from.add(first.len()), second.as_mut_ptr().cast(), second.len());
                chunk.commit_all();
                ptr::copy(from.add(room), from, rest);
                burst.set_len(rest);
            }
        }
        let refused = burst.len();
        pool.free_all(burst);
        Sent { accepted: room, refused }
    }

    /// Pops frames with one store of the ring's index.
    #[inline]
    fn pop_all(ring: &mut Consumer<Parcel>, n: usize, now: u64, into: &mut Burst) {
        let Ok(chunk) = ring.read_chunk(n) else { return };
        into.reserve(n);
        let (first, second) = chunk.as_slices();
        let end = into.len();
        // SAFETY: the burst has room for `n` more frames, and the slices hold `n`; ring and burst do not overlap. The
        // ring does not drop its copies; `commit_all` only forgets them, so every frame has one owner.
        unsafe {
            let to = into.as_mut_ptr().add(end);
            ptr::copy_nonoverlapping(first.as_ptr().cast(), to, first.len());
            ptr::copy_nonoverlapping(second.as_ptr().cast(), to.add(first.len()), second.len());
            into.set_len(end + n);
        }
        chunk.commit_all();
        for frame in &mut into[end..] {
            frame.stamp = now;
        }
    }

    /// `None` if each frame must be steered.
    #[inline]
    fn common_queue(&self, burst: &Burst) -> Option<usize> {
        let queues = self.to.len();
        if queues == 1 {
            return Some(0);
        }
        let Steer::Byte { .. } = self.steer else { return None };
        let queue = self.steer.queue(burst.first()?.bytes(), queues);
        burst.iter().all(|frame| self.steer.queue(frame.bytes(), queues) == queue).then_some(queue)
    }

    fn push_steered(&mut self, pool: &mut Pool, burst: &mut Burst) -> Sent {
        let mut sent = Sent::default();
        for frame in burst.drain(..) {
            let q = self.steer.queue(frame.bytes(), self.to.len());
            if self.to[q].is_abandoned() || self.to[q].is_full() {
                sent.refused += 1;
                self.theirs[q].fetch_add(1, Ordering::Relaxed);
                pool.free(frame);
            } else {
                let pushed = self.to[q].push(ManuallyDrop::new(frame));
                debug_assert!(pushed.is_ok());
                sent.accepted += 1;
            }
        }
        sent
    }
}

impl Drop for LinkPort {
    fn drop(&mut self) {
        for ring in &mut self.from {
            while let Ok(frame) = ring.pop() {
                drop(ManuallyDrop::into_inner(frame));
            }
        }
    }
}

impl Port for LinkPort {
    #[inline]
    fn receive(&mut self, _pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let before = into.len();
        let mut now = 0;
        let rings = self.from.len();
        for k in 0..rings {
            let ring = &mut self.from[(self.next + k) % rings];
            let n = up_to(BATCH.saturating_sub(into.len() - before), ring.cached_slots(), || ring.slots());
            if n > 0 {
                now = if now == 0 { self.clock.now() } else { now };
                LinkPort::pop_all(ring, n, now, into);
            }
        }
        self.next = self.next.wrapping_add(1);
        let got = into.len() - before;
        self.counters.received += got as u64;
        Ok(got)
    }

    #[inline]
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let sent = match self.common_queue(burst) {
            Some(queue) => {
                let sent = LinkPort::push_all(&mut self.to[queue], pool, burst);
                if sent.refused > 0 {
                    self.theirs[queue].fetch_add(sent.refused as u64, Ordering::Relaxed);
                }
                sent
            }
            None => self.push_steered(pool, burst),
        };
        self.counters.accepted += sent.accepted as u64;
        self.counters.refused += sent.refused as u64;
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        Counters { own_drops: self.turned_away.load(Ordering::Relaxed), ..self.counters }
    }

    fn facts(&self) -> PortFacts {
        PortFacts {
            backend: "link".into(),
            name: self.name.clone(),
            mode: String::new(),
            dut_queue: self.depth,
            own_queue: self.depth,
            own_queues: self.from.len(),
            inline: false,
            stamped_by_kernel: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PoolConfig;

    #[test]
    fn a_full_link_refuses_and_gives_the_frames_back() {
        let mut pools = Pool::for_workers(PoolConfig::compact(2, 8, 60)).unwrap();
        let (mut pb, mut pa) = (pools.pop().unwrap(), pools.pop().unwrap());
        let (mut a, mut b) = link("t", Clock::system(), 4, (1, Steer::First), (1, Steer::First));
        let mut burst = crate::burst();
        burst.extend((0..6).filter_map(|_| pa.alloc(60)));
        assert_eq!(a[0].transmit(&mut pa, &mut burst).unwrap(), Sent { accepted: 4, refused: 2 });
        assert!(burst.is_empty() && pa.available() == 4);
        assert_eq!(b[0].receive(&mut pb, &mut burst).unwrap(), 4);
        pb.free_all(&mut burst);
        assert_eq!((pa.available(), pb.available()), (8, 8));
    }

    /// Frames that one end did not receive in time are its own drops, not drops of the sending end.
    #[test]
    fn what_found_no_room_is_a_drop_of_the_end_that_did_not_fetch() {
        let mut pool = Pool::single(PoolConfig::compact(1, 16, 60)).unwrap();
        let block = Steer::Block { at: 0, shift: 0 };
        let (mut a, mut b) = link("t", Clock::system(), 4, (1, Steer::First), (2, block));
        let mut burst = crate::burst();
        pool.alloc_burst(6, 60, &mut burst);
        for f in &mut burst {
            f.bytes_mut()[..2].copy_from_slice(&[0, 1]);
        }
        assert_eq!(a[0].transmit(&mut pool, &mut burst).unwrap(), Sent { accepted: 4, refused: 2 });
        let drops = |p: &mut LinkPort| p.counters().own_drops;
        assert_eq!((drops(&mut a[0]), drops(&mut b[0]), drops(&mut b[1])), (0, 0, 2));
        pool.alloc_burst(7, 60, &mut burst);
        assert_eq!(b[0].transmit(&mut pool, &mut burst).unwrap(), Sent { accepted: 4, refused: 3 });
        assert_eq!((drops(&mut a[0]), a[0].counters().refused, b[0].counters().refused), (3, 2, 3));
    }

    /// Sends three frames at a time through a ring of four, so that bursts wrap around its end.
    #[test]
    fn frames_keep_their_order_and_their_bytes() {
        let mut pool = Pool::single(PoolConfig::compact(1, 8, 60)).unwrap();
        let (mut a, mut b) = link("t", Clock::system(), 4, (1, Steer::First), (1, Steer::First));
        let (mut out, mut back) = (crate::burst(), crate::burst());
        for round in 0..9u8 {
            pool.alloc_burst(3, 60, &mut out);
            (0..).zip(&mut out).for_each(|(k, f)| f.bytes_mut().fill(3 * round + k));
            assert_eq!(a[0].transmit(&mut pool, &mut out).unwrap(), Sent { accepted: 3, refused: 0 });
            assert_eq!(b[0].receive(&mut pool, &mut back).unwrap(), 3);
            assert!((0..).zip(&back).all(|(k, f)| f.bytes() == [3 * round + k; 60] && f.stamp > 0));
            pool.free_all(&mut back);
        }
        assert_eq!(pool.available(), 8);
    }

    #[test]
    fn frames_left_in_a_link_go_home_with_it() {
        let mut pool = Pool::single(PoolConfig::compact(1, 8, 60)).unwrap();
        let (mut a, b) = link("t", Clock::system(), 4, (1, Steer::First), (1, Steer::First));
        let mut out = crate::burst();
        pool.alloc_burst(3, 60, &mut out);
        a[0].transmit(&mut pool, &mut out).unwrap();
        drop(b);
        assert_eq!(pool.available(), 8);
        pool.alloc_burst(2, 60, &mut out);
        assert_eq!(a[0].transmit(&mut pool, &mut out).unwrap(), Sent { accepted: 0, refused: 2 });
        assert_eq!(pool.available(), 8);
    }

    #[test]
    fn blocks_steer_to_the_queue_that_owns_them() {
        let steer = Steer::Block { at: 0, shift: 6 };
        let queue = |port: u16| steer.queue(&port.to_be_bytes(), 3);
        assert_eq!((queue(0), queue(63), queue(64), queue(128), queue(192)), (0, 0, 1, 2, 0));
    }

    /// Whether a burst goes to one queue or to several, every frame arrives at its queue, and frames that find no room
    /// are counted there.
    #[test]
    fn bursts_of_one_queue_and_of_several_are_steered_alike() {
        let mut pool = Pool::single(PoolConfig::compact(1, 16, 60)).unwrap();
        let (mut a, mut b) = link("t", Clock::system(), 4, (1, Steer::First), (2, Steer::Byte { at: 3 }));
        let (mut out, mut back) = (crate::burst(), crate::burst());
        let mut send = |a: &mut LinkPort, pool: &mut Pool, bytes: &[u8]| {
            pool.alloc_burst(bytes.len(), 60, &mut out);
            out.iter_mut().zip(bytes).for_each(|(f, &byte)| f.bytes_mut()[3] = byte);
            a.transmit(pool, &mut out).unwrap()
        };
        assert_eq!(send(&mut a[0], &mut pool, &[1, 3, 1]), Sent { accepted: 3, refused: 0 });
        assert_eq!(send(&mut a[0], &mut pool, &[0, 1, 1, 2]), Sent { accepted: 3, refused: 1 });
        assert_eq!(send(&mut a[0], &mut pool, &[1, 1]), Sent { accepted: 0, refused: 2 });
        let mut got = |port: &mut LinkPort| {
            port.receive(&mut pool, &mut back).unwrap();
            let bytes: Vec<u8> = back.iter().map(|f| f.bytes()[3]).collect();
            pool.free_all(&mut back);
            (bytes, port.counters().own_drops)
        };
        assert_eq!(got(&mut b[0]), (vec![0, 2], 0));
        assert_eq!(got(&mut b[1]), (vec![1, 3, 1, 1], 3));
    }

    #[test]
    fn a_byte_steers_to_the_queue_of_its_number() {
        let queue = |frame: &[u8]| Steer::Byte { at: 1 }.queue(frame, 3);
        assert_eq!((queue(&[9, 0]), queue(&[9, 2]), queue(&[9, 3]), queue(&[9])), (0, 2, 0, 0));
    }
}
