//! Where test frames may go: never to a public address (RFC 6815: benchmarks stay in the laboratory). One list,
//! and its own file so that it can be reviewed at a glance.

use super::quantity;
use std::net::Ipv4Addr;
use wire::AddrRange;

/// Blocks that scenarios may use as they like.
const ALLOWED: &[&str] = &[
    "10.0.0.0/8",      // RFC 1918
    "100.64.0.0/10",   // RFC 6598: between a provider's CE and its CGN
    "172.16.0.0/12",   // RFC 1918
    "192.0.0.0/29",    // RFC 7335: IPv4 service continuity (464XLAT, DS-Lite)
    "192.0.2.0/24",    // RFC 5737: documentation
    "192.168.0.0/16",  // RFC 1918
    "198.18.0.0/15",   // RFC 2544: benchmarks
    "198.51.100.0/24", // RFC 5737
    "203.0.113.0/24",  // RFC 5737
];

/// Blocks that are never routed in public either, but have a meaning of their own: only after
/// `allow-addresses` names them.
const ON_REQUEST: &[&str] = &[
    "169.254.0.0/16", // RFC 3927: link-local
    "192.0.0.0/24",   // RFC 6890: protocol assignments
    "240.0.0.0/4",    // RFC 1112: reserved; the broadcast address is left out below
];

/// Whether all addresses of a range may be used, given what the scenario allows besides.
pub fn is_allowed(range: AddrRange, besides: &[AddrRange]) -> bool {
    let mut blocks = parsed(ALLOWED);
    blocks.extend(besides);
    covered(range, blocks)
}

/// Whether `allow-addresses` may name this range.
pub fn may_be_requested(range: AddrRange) -> bool {
    let mut blocks = parsed(ALLOWED);
    blocks.extend(parsed(ON_REQUEST));
    covered(range, blocks) && !range.contains(Ipv4Addr::BROADCAST)
}

/// Whether two ranges have an address in common.
pub fn overlap(a: AddrRange, b: AddrRange) -> bool {
    a.first <= b.last() && b.first <= a.last()
}

fn parsed(blocks: &[&str]) -> Vec<AddrRange> {
    blocks.iter().map(|block| quantity::addresses(block).expect("the lists above are valid")).collect()
}

/// Whether the union of blocks contains a range.
fn covered(range: AddrRange, mut blocks: Vec<AddrRange>) -> bool {
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

    fn range(text: &str) -> AddrRange {
        quantity::addresses(text).unwrap()
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
}
