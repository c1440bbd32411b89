//! Captures the first and last frames of each trial to preallocated memory, for debugging: it takes
//! the worker's time.

use crate::clock::Calendar;
use crate::{Burst, Clock, Counters, Pool, Port, PortError, PortFacts, Sent};
use std::sync::{Arc, Mutex, PoisonError};

/// Limits of a capture, for one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Octets of a frame.
    pub snaplen: usize,
    /// Frames: half the first, half the last of the trial.
    pub frames: usize,
}

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Time of receipt or of the offer for sending, in nanoseconds since 1970.
    pub nanos: u64,
    /// Length in octets, without FCS.
    pub length: usize,
    /// First octets, up to [`CaptureLimits::snaplen`].
    pub octets: Vec<u8>,
}

/// Frames captured since they were last taken.
#[derive(Clone)]
pub struct CaptureBuffer(Arc<Mutex<FrameBuffer>>);

impl CaptureBuffer {
    /// Returns an empty buffer.
    pub fn new(limits: CaptureLimits) -> CaptureBuffer {
        CaptureBuffer(Arc::new(Mutex::new(FrameBuffer::new(limits))))
    }

    /// Most octets of a frame.
    pub fn snaplen(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).slots.snaplen
    }

    /// Takes the frames, in order of arrival.
    pub fn take_frames(&self) -> Vec<CapturedFrame> {
        // If a thread panicked while writing a frame, those before it are complete.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take_frames()
    }
}

struct Slots {
    snaplen: usize,
    bytes: Vec<u8>,
    /// Time and length.
    frames: Vec<(u64, usize)>,
}

impl Slots {
    fn new(frames: usize, octets: usize) -> Slots {
        Slots { snaplen: octets, bytes: vec![0; frames * octets], frames: vec![(0, 0); frames] }
    }

    fn put(&mut self, slot: usize, nanos: u64, bytes: &[u8]) {
        let kept = bytes.len().min(self.snaplen);
        self.bytes[slot * self.snaplen..][..kept].copy_from_slice(&bytes[..kept]);
        self.frames[slot] = (nanos, bytes.len());
    }

    fn get(&self, slot: usize) -> CapturedFrame {
        let (nanos, length) = self.frames[slot];
        let octets = self.bytes[slot * self.snaplen..][..length.min(self.snaplen)].to_vec();
        CapturedFrame { nanos, length, octets }
    }

    fn copy(&mut self, slot: usize, other: &Slots, from: usize) {
        let octets = self.snaplen;
        self.bytes[slot * octets..][..octets].copy_from_slice(&other.bytes[from * octets..][..octets]);
        self.frames[slot] = other.frames[from];
    }
}

/// The first frames, and a ring of the last ones.
struct FrameBuffer {
    slots: Slots,
    /// Number of first slots; the other slots are the ring.
    head_slots: usize,
    stored: usize,
}

impl FrameBuffer {
    fn new(limits: CaptureLimits) -> FrameBuffer {
        FrameBuffer {
            slots: Slots::new(limits.frames, limits.snaplen),
            head_slots: limits.frames.div_ceil(2),
            stored: 0,
        }
    }

    /// `None` in a ring without slots.
    fn slot(&self, number: usize) -> Option<usize> {
        let ring = self.slots.frames.len() - self.head_slots;
        match number.checked_sub(self.head_slots) {
            None => Some(number),
            Some(later) => later.checked_rem(ring).map(|at| self.head_slots + at),
        }
    }

    fn add(&mut self, other: &Slots, from: usize) {
        if let Some(slot) = self.slot(self.stored) {
            self.slots.copy(slot, other, from);
            self.stored += 1;
        }
    }

    fn take_frames(&mut self) -> Vec<CapturedFrame> {
        let ring = self.slots.frames.len() - self.head_slots;
        let seen = std::mem::take(&mut self.stored);
        let latest = seen.saturating_sub(ring).max(self.head_slots);
        let numbers = (0..seen.min(self.head_slots)).chain(latest..seen);
        numbers.filter_map(|number| Some(self.slots.get(self.slot(number)?))).collect()
    }
}

/// A port whose frames are captured.
pub struct Capture<P> {
    port: P,
    clock: Clock,
    /// One reading for all frames, so that intervals are exact.
    calendar: Calendar,
    buffer: CaptureBuffer,
    /// Copies of the burst being sent, which may be accepted in part.
    pending: Slots,
}

impl<P: Port> Capture<P> {
    /// Captures the frames of `port`.
    pub fn new(port: P, limits: CaptureLimits, clock: Clock) -> (Capture<P>, CaptureBuffer) {
        let buffer = CaptureBuffer::new(limits);
        let pending = Slots::new(crate::BATCH, limits.snaplen);
        (Capture { port, clock, calendar: Calendar::now(clock), buffer: buffer.clone(), pending }, buffer)
    }

    fn prepare(&mut self, frames: &[crate::Frame], now: Option<u64>) {
        for (slot, frame) in frames.iter().enumerate() {
            self.pending.put(slot, self.calendar.nanos_at(now.unwrap_or(frame.stamp)), frame.bytes());
        }
    }

    fn keep(&mut self, frames: usize) {
        let mut buffer = self.buffer.0.lock().unwrap_or_else(PoisonError::into_inner);
        (0..frames).for_each(|slot| buffer.add(&self.pending, slot));
    }
}

impl<P: Port> Port for Capture<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let first = into.len();
        let got = self.port.receive(pool, into)?;
        if got > 0 {
            self.prepare(&into[first..], None);
            self.keep(into.len() - first);
        }
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let before = burst.len();
        if before == 0 {
            return self.port.transmit(pool, burst);
        }
        let now = self.clock.now();
        self.prepare(burst, Some(now));
        let sent = self.port.transmit(pool, burst)?;
        self.keep(before - burst.len());
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        self.port.counters()
    }

    fn facts(&self) -> PortFacts {
        self.port.facts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{LinkPort, Steer, link};
    use crate::{PoolConfig, burst};

    /// Returns first octet, number of octets kept, and length of each frame.
    fn shapes(frames: &[CapturedFrame]) -> Vec<(u8, usize, usize)> {
        assert!(frames.is_sorted_by_key(|f| f.nanos) && frames.iter().all(|f| f.nanos > 1_600_000_000_000_000_000));
        let shape = |f: &CapturedFrame| {
            assert!(f.octets.iter().all(|octet| *octet == f.octets[0]));
            (f.octets[0], f.octets.len(), f.length)
        };
        frames.iter().map(shape).collect()
    }

    fn rig(frames: usize) -> (Pool, Capture<LinkPort>, LinkPort, CaptureBuffer) {
        let clock = Clock::system();
        let pool = Pool::single(PoolConfig::compact(1, 16, 200)).unwrap();
        let (mut a, mut b) = link("t", clock, 8, (1, Steer::First), (1, Steer::First));
        let (a, buffer) = Capture::new(a.remove(0), CaptureLimits { snaplen: 64, frames }, clock);
        (pool, a, b.remove(0), buffer)
    }

    fn send(pool: &mut Pool, port: &mut impl Port, value: u8, len: usize) {
        let mut frames = burst();
        let mut frame = pool.alloc(len).unwrap();
        frame.bytes_mut().fill(value);
        frames.push(frame);
        port.transmit(pool, &mut frames).unwrap();
    }

    #[test]
    fn both_directions_are_captured_in_order_and_cut_to_the_limit() {
        let (mut pool, mut a, mut b, buffer) = rig(10);
        send(&mut pool, &mut a, 1, 60);
        send(&mut pool, &mut a, 2, 100);
        let mut frames = burst();
        b.receive(&mut pool, &mut frames).unwrap();
        b.transmit(&mut pool, &mut frames).unwrap();
        a.receive(&mut pool, &mut frames).unwrap();
        assert_eq!(shapes(&buffer.take_frames()), [(1, 60, 60), (2, 64, 100), (1, 60, 60), (2, 64, 100)]);
    }

    #[test]
    fn the_first_and_the_last_frames_of_each_trial_are_kept() {
        let (mut pool, mut a, mut b, buffer) = rig(5);
        for (frames, kept) in [(12, vec![0, 1, 2, 10, 11]), (4, vec![0, 1, 2, 3]), (0, vec![])] {
            for value in 0..frames {
                send(&mut pool, &mut a, value, 60 + value as usize);
                let mut back = burst();
                b.receive(&mut pool, &mut back).unwrap();
                pool.free_all(&mut back);
            }
            let seen: Vec<u8> = shapes(&buffer.take_frames()).iter().map(|shape| shape.0).collect();
            assert_eq!(seen, kept);
        }
    }

    #[test]
    fn a_buffer_of_one_frame_or_none_has_no_ring() {
        for frames in [0, 1] {
            let (mut pool, mut a, _b, buffer) = rig(frames);
            for value in 1..5 {
                send(&mut pool, &mut a, value, 60);
            }
            assert_eq!(buffer.take_frames().len(), frames);
        }
    }

    #[test]
    fn what_was_not_sent_is_not_captured() {
        struct Stuck;
        impl Port for Stuck {
            fn receive(&mut self, _: &mut Pool, _: &mut Burst) -> Result<usize, PortError> {
                Ok(0)
            }
            fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
                pool.free(burst.remove(0));
                Ok(Sent { accepted: 1, refused: 0 })
            }
            fn counters(&mut self) -> Counters {
                Counters::default()
            }
            fn facts(&self) -> PortFacts {
                PortFacts::default()
            }
        }
        let mut pool = Pool::single(PoolConfig::compact(1, 4, 60)).unwrap();
        let (mut port, buffer) = Capture::new(Stuck, CaptureLimits { snaplen: 60, frames: 8 }, Clock::system());
        let mut frames = burst();
        frames.extend([pool.alloc(60).unwrap(), pool.alloc(60).unwrap()]);
        port.transmit(&mut pool, &mut frames).unwrap();
        assert_eq!(shapes(&buffer.take_frames()), [(0, 60, 60)]);
    }
}
