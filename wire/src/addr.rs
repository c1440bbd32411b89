//! Sets of addresses: ranges, and prefixes of both versions.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Consecutive IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddrRange {
    /// First address.
    pub first: Ipv4Addr,
    /// Number of addresses, at least 1.
    pub count: u32,
}

impl AddrRange {
    /// One address.
    pub fn one(first: Ipv4Addr) -> AddrRange {
        AddrRange { first, count: 1 }
    }
    /// Last address.
    pub fn last(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.first).saturating_add(self.count - 1))
    }
    /// Whether the range contains `a`.
    pub fn contains(&self, a: Ipv4Addr) -> bool {
        (u32::from(self.first)..=u32::from(self.last())).contains(&u32::from(a))
    }
    /// Longest prefix around all addresses.
    pub fn covering(&self) -> Prefix4 {
        let differing = self.first.to_bits() ^ self.last().to_bits();
        Prefix4 { addr: self.first, len: differing.leading_zeros() as u8 }
    }
    /// Fewest prefixes for exactly this range.
    pub fn prefixes(&self) -> Vec<Prefix4> {
        prefixes(self.first.to_bits().into(), u64::from(self.last().to_bits()) + 1)
    }
    /// Fewest prefixes for this range without `hole`.
    pub fn prefixes_without(&self, hole: Ipv4Addr) -> Vec<Prefix4> {
        if !self.contains(hole) {
            return self.prefixes();
        }
        let [first, last, hole_at] = [self.first, self.last(), hole].map(|a| u64::from(a.to_bits()));
        let mut all = prefixes(first, hole_at);
        all.extend(prefixes(hole_at + 1, last + 1));
        all
    }
}

impl fmt::Display for AddrRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 1 { self.first.fmt(f) } else { write!(f, "{}-{}", self.first, self.last()) }
    }
}

/// Fewest prefixes from `from` up to, but without, `to`.
fn prefixes(mut from: u64, to: u64) -> Vec<Prefix4> {
    let mut all = Vec::new();
    while from < to {
        // No longer than the rest.
        let aligned = if from == 0 { 32 } else { from.trailing_zeros() };
        let bits = aligned.min((to - from).ilog2());
        all.push(Prefix4 { addr: Ipv4Addr::from_bits(from as u32), len: 32 - bits as u8 });
        from += 1 << bits;
    }
    all
}

/// An IPv4 prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix4 {
    /// Any address inside.
    pub addr: Ipv4Addr,
    /// Prefix length, 0 to 32.
    pub len: u8,
}

impl Prefix4 {
    /// Network mask.
    pub fn mask(&self) -> u32 {
        (u64::from(u32::MAX) << (32 - u32::from(self.len.min(32)))) as u32
    }
    /// Whether the prefix contains `addr`.
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
    /// Prefix length, 0 to 128.
    pub len: u8,
}

impl Prefix6 {
    /// Network mask.
    pub fn mask(&self) -> u128 {
        u128::MAX.checked_shl(128 - u32::from(self.len.min(128))).unwrap_or(0)
    }
    /// First address: all bits behind the prefix are zero.
    pub fn first(&self) -> u128 {
        self.addr.to_bits() & self.mask()
    }
    /// Whether the prefix contains `addr`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: [u8; 4], last: [u8; 4]) -> AddrRange {
        let [from, to] = [first, last].map(u32::from_be_bytes);
        AddrRange { first: first.into(), count: (to - from).saturating_add(1) }
    }

    fn covered(first: [u8; 4], last: [u8; 4], hole: [u8; 4]) -> Vec<String> {
        range(first, last).prefixes_without(hole.into()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_range_is_covered_exactly_by_the_fewest_prefixes() {
        let far = [192, 0, 2, 1];
        assert_eq!(covered([10, 0, 0, 2], [10, 0, 0, 9], far), ["10.0.0.2/31", "10.0.0.4/30", "10.0.0.8/31"]);
        assert_eq!(covered([198, 18, 0, 0], [198, 19, 255, 255], far), ["198.18.0.0/15"]);
        assert_eq!(covered([10, 0, 0, 7], [10, 0, 0, 7], far), ["10.0.0.7/32"]);
        assert_eq!(covered([0, 0, 0, 0], [255, 255, 255, 255], [0, 0, 0, 0])[0], "0.0.0.1/32");
    }

    #[test]
    fn a_hole_is_left_out() {
        let hop = [198, 18, 0, 2];
        assert!(covered(hop, hop, hop).is_empty());
        assert_eq!(covered(hop, [198, 18, 0, 5], hop), ["198.18.0.3/32", "198.18.0.4/31"]);
        assert_eq!(covered([198, 18, 0, 2], [198, 18, 0, 3], [198, 18, 0, 3]), ["198.18.0.2/32"]);
    }

    #[test]
    fn one_prefix_holds_a_range() {
        let prefix = |first, last| range(first, last).covering().to_string();
        assert_eq!(prefix([198, 18, 0, 2], [198, 18, 0, 2]), "198.18.0.2/32");
        assert_eq!(prefix([198, 18, 0, 2], [198, 18, 0, 5]), "198.18.0.2/29");
        assert_eq!(prefix([127, 255, 255, 255], [128, 0, 0, 0]), "127.255.255.255/0");
    }

    #[test]
    fn prefixes_hold_what_their_length_says() {
        let all = Prefix4 { addr: Ipv4Addr::UNSPECIFIED, len: 0 };
        assert_eq!((all.mask(), all.count(), all.contains(u32::MAX)), (0, 1 << 32, true));
        let net = Prefix4 { addr: [192, 0, 2, 77].into(), len: 24 };
        assert_eq!((net.mask(), net.count()), (0xffff_ff00, 256));
        assert!(net.contains(0xc000_02ff) && !net.contains(0xc000_0300));
        let all = Prefix6 { addr: Ipv6Addr::UNSPECIFIED, len: 0 };
        assert_eq!((all.mask(), all.contains(u128::MAX)), (0, true));
        let net = Prefix6 { addr: "2001:db8::7".parse().unwrap(), len: 64 };
        assert_eq!((net.first(), net.contains(net.first() | 9), net.contains(0)), (0x2001_0db8 << 96, true, false));
    }
}
