//! Packets in parts, for the engines that need more of a datagram than one part shows: stores with bounds on number, octets
//! and time. Apart from tunnelling and translation, because both must find the customer of a fragment that shows no port.

pub(crate) mod assembly;
pub(crate) mod store;
pub(crate) mod tracker;

use std::time::Duration;

/// What waits in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Datagrams known.
    pub datagrams: usize,
    /// Octets of the parts kept, with what keeping them takes.
    pub octets: usize,
}

/// Limits for packets in parts. When a store is full, the datagram that has waited longest goes: a complete one needs
/// milliseconds, so that a flood of incomplete ones displaces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimits {
    /// Datagrams known at a time.
    pub datagrams: u32,
    /// Octets of all parts kept.
    pub octets: u32,
    /// How long the rest of a datagram may take.
    pub lifetime: Duration,
}

impl PartLimits {
    /// For fragments whose first alone shows the port.
    pub const FRAGMENTS: PartLimits =
        PartLimits { datagrams: 1024, octets: 1 << 20, lifetime: Duration::from_secs(15) };

    /// For datagrams that are put together: the time is what RFC 1122, section 3.3.2, and RFC 8200, section 4.5, ask for.
    pub const WHOLE: PartLimits = PartLimits { datagrams: 1024, octets: 4 << 20, lifetime: Duration::from_secs(60) };

    /// Whether so much may wait.
    pub fn allow(&self, waiting: Waiting) -> bool {
        waiting.datagrams <= self.datagrams as usize && waiting.octets <= self.octets as usize
    }

    /// Whether there is room for a datagram of `least` octets, and time.
    pub(crate) fn suffice(&self, least: u32) -> bool {
        self.datagrams > 0 && self.octets >= least && !self.lifetime.is_zero()
    }
}
