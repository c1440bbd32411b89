//! Fragments of datagrams, for all technologies: one store with bounds on number, octets and time (`Tracker`), in which
//! fragments wait for the first of their datagram, and a way to reassemble what is in it (`Reassembly`).

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

/// What the fragments of a datagram have in common, and the tunnel or the side from which they arrived: one sender's
/// fragments must not match another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub from: u128,
    pub addresses: (u32, u32),
    pub id: u16,
    pub protocol: u8,
}

impl Key {
    /// The worker of `workers` that collects the fragments of a datagram: by a hash of addresses and identification.
    pub(crate) fn worker(&self, workers: u16) -> u16 {
        let (src, dst) = self.addresses;
        let common = src.to_be_bytes().into_iter().chain(dst.to_be_bytes()).chain(self.id.to_be_bytes());
        by_hash(common, workers.into()) as u16
    }
}

/// A fragment's place in its datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Where it begins, in octets.
    pub offset: usize,
    /// Octets of payload.
    pub len: usize,
    /// Whether there are fragments behind it.
    pub more: bool,
}

/// Ports of source and destination.
pub(crate) type Ports = [Option<u16>; 2];

/// What waits in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Datagrams known.
    pub datagrams: usize,
    /// Octets of the fragments kept, with the overhead of keeping them.
    pub octets: usize,
}

/// Limits of a store of fragments. When it is full, it removes the datagram that has waited longest: a datagram that
/// becomes complete needs milliseconds, so a flood of incomplete ones displaces only itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimits {
    /// Datagrams known at a time.
    pub datagrams: u32,
    /// Octets of all fragments kept.
    pub octets: u32,
    /// How long the rest of a datagram may take.
    pub lifetime: Duration,
}

impl PartLimits {
    /// For datagrams of which only the first fragment has the port.
    pub const FRAGMENTS: PartLimits =
        PartLimits { datagrams: 1024, octets: 1 << 20, lifetime: Duration::from_secs(15) };

    /// For datagrams that are reassembled, with the time that RFC 1122, section 3.3.2, and RFC 8200, section 4.5,
    /// require.
    pub const WHOLE: PartLimits = PartLimits { datagrams: 1024, octets: 4 << 20, lifetime: Duration::from_secs(60) };

    /// Whether `waiting` is within the limits.
    pub fn allow(&self, waiting: Waiting) -> bool {
        waiting.datagrams <= self.datagrams as usize && waiting.octets <= self.octets as usize
    }

    /// Whether there is room for a datagram of `least` octets, and time.
    pub(crate) fn suffice(&self, least: u32) -> bool {
        self.datagrams > 0 && self.octets >= least && !self.lifetime.is_zero()
    }
}
