//! Ranges of ports and addresses. Apart from the flow space, because pools, expectations and scenarios speak of them without
//! any flow.

use crate::addr::Prefix4;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// An inclusive range of UDP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Last port, not below the first.
    pub last: u16,
}

impl PortRange {
    /// How many ports.
    pub fn count(&self) -> u32 {
        self.last as u32 - self.first as u32 + 1
    }
    /// Whether a port lies inside.
    pub fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl std::fmt::Display for PortRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// Consecutive IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddrRange {
    /// First address.
    pub first: Ipv4Addr,
    /// How many, at least 1.
    pub count: u32,
}

impl AddrRange {
    /// One address.
    pub fn one(first: Ipv4Addr) -> AddrRange {
        AddrRange { first, count: 1 }
    }
    /// The longest prefix that holds all of it.
    pub fn covering(&self) -> Prefix4 {
        let (first, last) = (u32::from(self.first), u32::from(self.last()));
        Prefix4 { addr: self.first, len: (first ^ last).leading_zeros() as u8 }
    }
    /// Last address.
    pub fn last(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.first).saturating_add(self.count - 1))
    }
    /// Whether an address lies inside.
    pub fn contains(&self, a: Ipv4Addr) -> bool {
        (u32::from(self.first)..=u32::from(self.last())).contains(&u32::from(a))
    }
}
