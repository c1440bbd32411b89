//! Fragments of datagrams: a store with limits (`Tracker`), and reassembly (`Reassembly`).

mod buffer;
mod coverage;
mod reassembly;
mod tracker;

pub(crate) use buffer::Buffer;
pub(crate) use coverage::Fit;
pub(crate) use reassembly::{Datagram, Fragment, Reassembly};
pub(crate) use tracker::{Bounds, Tracker, Whose};

use crate::steer::by_hash;
use std::time::Duration;

/// A datagram, with the tunnel or side that fragments arrived from: those of different senders must not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub from: u128,
    pub addresses: (u32, u32),
    pub id: u16,
    pub protocol: u8,
}

impl Key {
    /// Collects the fragments of a datagram.
    pub(crate) fn worker(&self, workers: u16) -> u16 {
        let (src, dst) = self.addresses;
        let common = src.to_be_bytes().into_iter().chain(dst.to_be_bytes()).chain(self.id.to_be_bytes());
        by_hash(common, workers.into()) as u16
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Offset in octets.
    pub offset: usize,
    /// Length in octets.
    pub len: usize,
    pub more: bool,
}

pub(crate) type Ports = [Option<u16>; 2];

/// Contents of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingDatagrams {
    /// Datagrams known.
    pub datagrams: usize,
    /// Octets of the fragments kept, with overhead.
    pub octets: usize,
}

/// Limits of a store. A full store removes the datagram that has waited longest: complete datagrams
/// need milliseconds, so a flood of incomplete ones displaces only itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimits {
    /// Datagrams known at a time.
    pub datagrams: u32,
    /// Octets of all fragments kept.
    pub octets: u32,
    /// Time for the rest of a datagram.
    pub lifetime: Duration,
}

impl PartLimits {
    /// Limits for datagrams of which only the first fragment has the port.
    pub const FRAGMENTS: PartLimits =
        PartLimits { datagrams: 1024, octets: 1 << 20, lifetime: Duration::from_secs(15) };

    /// Limits for datagrams that are reassembled (RFC 1122, section 3.3.2; RFC 8200, section 4.5).
    pub const WHOLE: PartLimits = PartLimits { datagrams: 1024, octets: 4 << 20, lifetime: Duration::from_secs(60) };

    /// Whether the store is within the limits.
    pub fn allow(&self, waiting: WaitingDatagrams) -> bool {
        waiting.datagrams <= self.datagrams as usize && waiting.octets <= self.octets as usize
    }

    /// `least` octets fit, and have time.
    pub(crate) fn suffice(&self, least: u32) -> bool {
        self.datagrams > 0 && self.octets >= least && !self.lifetime.is_zero()
    }
}
