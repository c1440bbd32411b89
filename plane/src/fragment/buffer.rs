//! A copy of a packet outside the caller's frames: it has waited, or was reassembled.

use crate::function::Packet;

/// Octets in front, for headers.
const HEADROOM: usize = 128;

pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    pub(crate) fn with_room(len: usize) -> Buffer {
        let mut bytes = Vec::with_capacity(HEADROOM + len);
        bytes.resize(HEADROOM, 0);
        Buffer { bytes, start: HEADROOM }
    }

    pub(crate) fn copy(frame: &[u8]) -> Buffer {
        let mut b = Buffer::with_room(frame.len());
        b.append(frame);
        b
    }

    pub(crate) fn append(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
    }
}

impl Packet for Buffer {
    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
    fn grow_front(&mut self, n: usize) -> bool {
        let ok = n <= self.start;
        if ok {
            self.start -= n;
        }
        ok
    }
    fn shrink_front(&mut self, n: usize) -> bool {
        let ok = n <= self.bytes.len() - self.start;
        if ok {
            self.start += n;
        }
        ok
    }
    fn set_len(&mut self, len: usize) -> bool {
        self.bytes.resize(self.start + len, 0);
        true
    }
}
