//! Prefixes of both IP versions. Ranges of IPv4 addresses and of ports are in `range`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An IPv4 prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Prefix4 {
    /// Any address inside.
    pub addr: Ipv4Addr,
    /// Length, 0 to 32.
    pub len: u8,
}

impl Prefix4 {
    /// Network mask.
    pub fn mask(&self) -> u32 {
        (u64::from(u32::MAX) << (32 - u32::from(self.len.min(32)))) as u32
    }
    /// Whether an address lies inside.
    #[inline]
    pub fn contains(&self, addr: u32) -> bool {
        (addr ^ u32::from(self.addr)) & self.mask() == 0
    }
    /// Number of addresses.
    pub fn count(&self) -> u64 {
        1 << (32 - u32::from(self.len.min(32)))
    }
}

impl fmt::Display for Prefix4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

/// An IPv6 prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Prefix6 {
    /// Any address inside.
    pub addr: Ipv6Addr,
    /// Length, 0 to 128.
    pub len: u8,
}

impl Prefix6 {
    /// Network mask.
    pub fn mask(&self) -> u128 {
        u128::MAX.checked_shl(128 - u32::from(self.len.min(128))).unwrap_or(0)
    }
    /// The prefix with all other bits zero.
    pub fn first(&self) -> u128 {
        self.addr.to_bits() & self.mask()
    }
    /// Whether an address lies inside.
    #[inline]
    pub fn contains(&self, addr: u128) -> bool {
        (addr ^ self.addr.to_bits()) & self.mask() == 0
    }
}

impl fmt::Display for Prefix6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}
