//! A packet in memory for plane functions, and a place where they get and leave more of them.

use plane::{Packet, Side, Spare};

/// A packet with room in front and behind, as a frame of a pool has.
#[derive(Clone, Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

const ROOM: usize = 64;

impl Frame {
    /// With these bytes.
    pub fn new(bytes: &[u8]) -> Frame {
        let mut buffer = vec![0xee; ROOM + bytes.len() + ROOM];
        buffer[ROOM..ROOM + bytes.len()].copy_from_slice(bytes);
        Frame { buffer, start: ROOM, len: bytes.len() }
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

/// What a function made beyond a batch; `memory` packets at most.
#[derive(Debug)]
pub struct Made {
    /// To be sent.
    pub out: Vec<(Side, Frame)>,
    /// For other workers.
    pub handed: Vec<(u16, Side, Frame)>,
    /// Packets still to be had.
    pub memory: usize,
}

impl Made {
    /// Nothing yet.
    pub fn with_memory(memory: usize) -> Made {
        Made { out: Vec::new(), handed: Vec::new(), memory }
    }
}

impl Spare<Frame> for Made {
    fn fresh(&mut self, len: usize) -> Option<Frame> {
        self.memory = self.memory.checked_sub(1)?;
        Some(Frame::new(&vec![0xee; len]))
    }
    fn emit(&mut self, to: Side, packet: Frame) {
        self.out.push((to, packet));
    }
    fn hand_over(&mut self, to: u16, from: Side, packet: Frame) {
        self.handed.push((to, from, packet));
    }
}
