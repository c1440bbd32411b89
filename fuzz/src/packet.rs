//! A packet in memory for plane functions, and a place where they get and leave more of them.

#[path = "../../plane/tests/common/frame.rs"]
mod frame;

pub use frame::Frame;

use plane::{Side, Spare};

const ROOM: usize = 64;

impl Frame {
    /// With these bytes.
    pub fn new(bytes: &[u8]) -> Frame {
        Frame::with_room(bytes, ROOM, ROOM)
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
