//! A frame in memory with room in front and behind, as a frame of a pool has, and the [`Spare`] that collects what a function
//! emits.

use plane::{Packet, Side, Spare};

/// Octets of a packet and the room around them.
#[derive(Clone, Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl Frame {
    /// A frame of these octets, with room for every header that a function adds.
    pub fn new(bytes: &[u8]) -> Frame {
        Frame::with_room(bytes, 128, 256)
    }

    /// A frame of these octets with `front` octets of room before them and `behind` octets after them.
    pub fn with_room(bytes: &[u8], front: usize, behind: usize) -> Frame {
        let mut buffer = vec![0xee; front + bytes.len() + behind];
        buffer[front..front + bytes.len()].copy_from_slice(bytes);
        Frame { buffer, start: front, len: bytes.len() }
    }
}

impl Packet for Frame {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.len]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.start + self.len]
    }
    fn grow_front(&mut self, n: usize) -> bool {
        let ok = n <= self.start;
        if ok {
            self.start -= n;
            self.len += n;
        }
        ok
    }
    fn shrink_front(&mut self, n: usize) -> bool {
        let ok = n <= self.len;
        if ok {
            self.start += n;
            self.len -= n;
        }
        ok
    }
    fn set_len(&mut self, len: usize) -> bool {
        let ok = self.start + len <= self.buffer.len();
        if ok {
            self.len = len;
        }
        ok
    }
}

/// What a function makes beyond the batch: `memory` packets at most, of at most `largest` octets.
#[derive(Debug)]
pub struct Outbox {
    /// Packets to be sent, each with its side.
    pub out: Vec<(Side, Frame)>,
    /// Packets for other workers, each with the worker and the side that it came in on.
    pub handed: Vec<(u16, Side, Frame)>,
    /// Packets still to be had.
    pub memory: usize,
    largest: usize,
}

impl Outbox {
    /// Nothing yet; `memory` packets of at most `largest` octets may be made.
    pub fn new(memory: usize, largest: usize) -> Outbox {
        Outbox { out: Vec::new(), handed: Vec::new(), memory, largest }
    }
}

impl Spare<Frame> for Outbox {
    fn fresh(&mut self, len: usize) -> Option<Frame> {
        self.memory = self.memory.checked_sub(1)?;
        (len <= self.largest).then(|| Frame::new(&vec![0xee; len]))
    }
    fn emit(&mut self, to: Side, packet: Frame) {
        self.out.push((to, packet));
    }
    fn hand_over(&mut self, to: u16, from: Side, packet: Frame) {
        self.handed.push((to, from, packet));
    }
}
