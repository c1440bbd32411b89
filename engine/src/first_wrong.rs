//! The first wrong frame of each kind, kept while frames are judged.

use method::Fault;
use wire::decode::{self, Stray};

/// Octets that are kept of a frame.
const KEPT: usize = 256;

#[derive(Clone, Copy, Debug)]
struct FrameStart {
    octets: [u8; KEPT],
    /// Length of the frame; 0 before the first one.
    len: usize,
}

/// The first wrong frame of each kind, in memory that exists before the first frame arrives.
#[derive(Clone, Debug)]
pub struct FirstWrong(Box<[FrameStart]>);

impl Default for FirstWrong {
    fn default() -> FirstWrong {
        FirstWrong(vec![FrameStart { octets: [0; KEPT], len: 0 }; Fault::ALL.len()].into())
    }
}

impl FirstWrong {
    pub(crate) fn keep(&mut self, fault: Fault, frame: &[u8]) {
        let first = &mut self.0[fault as usize];
        if first.len == 0 {
            let kept = frame.len().min(KEPT);
            first.octets[..kept].copy_from_slice(&frame[..kept]);
            first.len = frame.len();
        }
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = (Fault, &[u8], usize)> {
        let kept = Fault::ALL.into_iter().zip(&self.0).filter(|(_, first)| first.len > 0);
        kept.map(|(fault, first)| (fault, &first.octets[..first.len.min(KEPT)], first.len))
    }
}

pub(crate) fn fault_of_stray(frame: &[u8]) -> Fault {
    match decode::stray(frame) {
        Stray::IcmpError => Fault::IcmpError,
        Stray::Fragment => Fault::Fragment,
        Stray::VlanTag => Fault::WrongVlan,
        Stray::OtherHeaders => Fault::WrongHeader,
        Stray::Foreign => Fault::Foreign,
    }
}
