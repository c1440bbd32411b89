//! A packet in memory with room in front and behind, as a frame of a pool has. A file of its own, because the fuzz targets use it
//! as the tests do.

use plane::Packet;

/// Octets of a packet and the room around them.
#[derive(Clone, Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl Frame {
    /// With these octets, and so much room in front and behind.
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
