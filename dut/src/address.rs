//! Ranges of IPv4 addresses, and the fewest prefixes that cover one: what routes are made of. Its own file because
//! the tester's addresses come as ranges and the kernel's routing table knows prefixes alone.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// Addresses from first to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRange {
    /// First address.
    pub first: Ipv4Addr,
    /// Last address.
    pub last: Ipv4Addr,
}

impl AddressRange {
    /// One address alone.
    pub fn one(address: impl Into<Ipv4Addr>) -> AddressRange {
        let first = address.into();
        AddressRange { first, last: first }
    }

    /// Whether it is one of them.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        (self.first..=self.last).contains(&address)
    }

    /// The fewest prefixes that cover these addresses but for `hole`, as `address/bits`.
    pub(crate) fn prefixes_without(self, hole: Ipv4Addr) -> Vec<String> {
        let (first, last, hole) = (self.first.to_bits(), self.last.to_bits(), hole.to_bits());
        if !(first..=last).contains(&hole) {
            return prefixes(u64::from(first), u64::from(last) + 1);
        }
        let mut all = prefixes(u64::from(first), u64::from(hole));
        all.extend(prefixes(u64::from(hole) + 1, u64::from(last) + 1));
        all
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { self.first.fmt(f) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

/// The fewest prefixes that cover addresses from `from` to before `to`.
fn prefixes(mut from: u64, to: u64) -> Vec<String> {
    let mut all = Vec::new();
    while from < to {
        // The largest block that begins here: as aligned as its start, and no longer than what is left.
        let aligned = if from == 0 { 32 } else { from.trailing_zeros() };
        let bits = aligned.min((to - from).ilog2());
        all.push(format!("{}/{}", Ipv4Addr::from_bits(from as u32), 32 - bits));
        from += 1 << bits;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(first: [u8; 4], last: [u8; 4], hole: [u8; 4]) -> Vec<String> {
        AddressRange { first: first.into(), last: last.into() }.prefixes_without(hole.into())
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
    fn the_next_hop_itself_needs_no_route() {
        let hop = [198, 18, 0, 2];
        assert!(covered(hop, hop, hop).is_empty());
        assert_eq!(covered(hop, [198, 18, 0, 5], hop), ["198.18.0.3/32", "198.18.0.4/31"]);
        assert_eq!(covered([198, 18, 0, 2], [198, 18, 0, 3], [198, 18, 0, 3]), ["198.18.0.2/32"]);
    }
}
