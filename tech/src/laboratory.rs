//! Addresses that test frames may have: never public ones (RFC 6815).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{AddrRange, Prefix4, Prefix6};

const ALLOWED: &[Prefix4] = &[
    block([10, 0, 0, 0], 8),      // RFC 1918
    block([100, 64, 0, 0], 10),   // RFC 6598: between a provider's CE and its CGN
    block([172, 16, 0, 0], 12),   // RFC 1918
    block([192, 0, 0, 0], 29),    // RFC 7335: IPv4 service continuity (464XLAT, DS-Lite)
    block([192, 0, 2, 0], 24),    // RFC 5737: documentation
    block([192, 168, 0, 0], 16),  // RFC 1918
    block([198, 18, 0, 0], 15),   // RFC 2544: benchmarks
    block([198, 51, 100, 0], 24), // RFC 5737
    block([203, 0, 113, 0], 24),  // RFC 5737
];

/// Allowed only if `allow-addresses` names them.
const ON_REQUEST: &[Prefix4] = &[
    block([169, 254, 0, 0], 16), // RFC 3927: link-local
    block([192, 0, 0, 0], 24),   // RFC 6890: protocol assignments
    block([240, 0, 0, 0], 4),    // RFC 1112: reserved; the broadcast address is left out below
];

/// IPv6 addresses that scenarios may use.
const ALLOWED6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48), // RFC 5180: benchmarks
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // RFC 3849: documentation
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // RFC 9637: documentation
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),  // RFC 4193: unique local
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48), // RFC 8215: local translation
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96), // RFC 6052: what is translated is looked at as IPv4
];

const fn block(addr: [u8; 4], len: u8) -> Prefix4 {
    Prefix4 { addr: Ipv4Addr::new(addr[0], addr[1], addr[2], addr[3]), len }
}

/// Whether all addresses are allowed, with those `besides`.
pub fn is_allowed(range: AddrRange, besides: &[AddrRange]) -> bool {
    covered(range, ranges(ALLOWED).chain(besides.iter().copied()))
}

/// Whether a range may be allowed by `allow-addresses`.
pub fn may_be_requested(range: AddrRange) -> bool {
    covered(range, ranges(ALLOWED).chain(ranges(ON_REQUEST))) && !range.contains(Ipv4Addr::BROADCAST)
}

/// Whether all addresses of the prefix are for laboratories.
pub fn is_laboratory_prefix(prefix: Prefix6) -> bool {
    let within = |&(addr, len): &(Ipv6Addr, u8)| len <= prefix.len && Prefix6 { addr, len }.contains(prefix.first());
    ALLOWED6.iter().any(within)
}

/// Whether a scenario may use the address, perhaps by `allow-addresses`.
pub fn is_for_laboratories(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(addr) => may_be_requested(AddrRange::one(addr)),
        IpAddr::V6(addr) => is_laboratory_prefix(Prefix6 { addr, len: 128 }),
    }
}

/// Whether two ranges overlap.
pub fn overlap(a: AddrRange, b: AddrRange) -> bool {
    a.first <= b.last() && b.first <= a.last()
}

fn ranges(blocks: &[Prefix4]) -> impl Iterator<Item = AddrRange> {
    blocks.iter().map(|block| AddrRange { first: block.addr, count: block.count() as u32 })
}

fn covered(range: AddrRange, blocks: impl Iterator<Item = AddrRange>) -> bool {
    let mut blocks: Vec<AddrRange> = blocks.collect();
    blocks.sort_by_key(|block| block.first);
    let mut next = u64::from(u32::from(range.first));
    let last = u64::from(u32::from(range.last()));
    for block in blocks {
        let (first, end) = (u64::from(u32::from(block.first)), u64::from(u32::from(block.last())) + 1);
        if first <= next && next < end {
            next = end;
        }
    }
    next > last
}

#[cfg(test)]
mod tests {
    use super::*;
    use key::quantity::addresses;

    fn range(text: &str) -> AddrRange {
        addresses(text).unwrap()
    }

    #[test]
    fn only_laboratory_addresses() {
        for text in ["198.18.0.0/15", "10.1.2.3", "100.64.0.0/10", "192.0.0.7", "198.19.255.255", "203.0.113.9"] {
            assert!(is_allowed(range(text), &[]), "{text}");
        }
        for text in [
            "8.8.8.8",
            "198.20.0.0",
            "198.17.255.255",
            "192.0.0.8",
            "127.0.0.1",
            "224.0.0.1",
            "0.0.0.0",
            "198.18.0.0 - 198.20.0.0",
        ] {
            assert!(!is_allowed(range(text), &[]), "{text}");
        }
    }

    #[test]
    fn on_request_but_never_public() {
        assert!(may_be_requested(range("240.0.0.0/8")));
        assert!(is_allowed(range("240.0.0.1"), &[range("240.0.0.0/8")]));
        assert!(is_allowed(range("192.0.0.0/24"), &[range("192.0.0.8 - 192.0.0.255")]));
        for text in ["8.8.8.0/24", "240.0.0.0/4", "127.0.0.0/8", "224.0.0.0/4", "1.0.0.0/8"] {
            assert!(!may_be_requested(range(text)), "{text}");
        }
    }

    #[test]
    fn only_laboratory_prefixes() {
        let allowed = |word: &str| {
            let (addr, len) = word.split_once('/').unwrap_or((word, "128"));
            is_laboratory_prefix(Prefix6 { addr: addr.parse().unwrap(), len: len.parse().unwrap() })
        };
        for word in ["2001:2::/48", "2001:2:0:ffff::1", "2001:db8::/32", "fd00::/8", "64:ff9b::/96", "64:ff9b:1::/64"] {
            assert!(allowed(word), "{word}");
        }
        for word in ["2001:2:1::", "2001:2::/47", "2001:db9::", "::/0", "::1", "fe80::1", "64:ff9b:0:1::", "2600::/12"]
        {
            assert!(!allowed(word), "{word}");
        }
    }
}
