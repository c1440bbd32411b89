//! The IPv6 half of the rule that test frames never go to a public address (RFC 6815), as `address` for IPv4. There is no
//! way around it: whoever needs more room has all of the documentation block and of the unique local addresses.

use super::check_axes;
use super::diagnostic::{Diagnostic, Place};
use super::draft::{Draft, DutKind};
use super::technology::{Plays, Softwires, Technology};
use crate::technology::b4_in_row;
use std::net::Ipv6Addr;
use wire::Prefix6;

/// Blocks that scenarios may use as they like.
const ALLOWED: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48), // RFC 5180: benchmarks
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // RFC 3849: documentation
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // RFC 9637: documentation
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),  // RFC 4193: unique local
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48), // RFC 8215: local translation
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96), // RFC 6052: what is translated is looked at as IPv4
];

/// Whether all addresses of a prefix may be used.
pub fn is_allowed(prefix: Prefix6) -> bool {
    let within = |&(addr, len): &(Ipv6Addr, u8)| Prefix6 { addr, len }.contains(prefix.first());
    ALLOWED.iter().any(|block| block.1 <= prefix.len && within(block))
}

/// Apply the rule to what is written in technologies' tables, and to rows of softwires that grow out of their block.
pub fn check(draft: &Draft, log: &mut Vec<Diagnostic>) {
    for dut in &draft.duts {
        let DutKind::Technology { plays, technology, words } = &dut.kind else { continue };
        for (text, place) in words.texts() {
            if text.split_whitespace().filter_map(prefix).any(|prefix| !is_allowed(prefix)) {
                log.push(refused(Some(place), "outside the blocks for tests, documentation and local use"));
            }
        }
        let Some((first, count)) = row(draft, technology, *plays) else { continue };
        let last = b4_in_row(first, count.saturating_sub(1));
        let [begins, ends] = [first, last].map(|addr| is_allowed(Prefix6 { addr, len: 128 }));
        if begins && !ends {
            log.push(refused(words.at("b4"), &format!("the last of {count} B4s, one /64 each, is {last}")));
        }
    }
}

fn refused(place: Option<Place>, why: &str) -> Diagnostic {
    Diagnostic::new("these addresses are not for laboratories: frames to them could leave the test bed")
        .at(place, why)
        .instead("use prefixes of 2001:2::/48 (RFC 5180), of 2001:db8::/32 where that is too small, or fd00::/8")
}

/// The first of the B4s that are numbered upwards, and how many there are.
fn row(draft: &Draft, technology: &Technology, plays: Plays) -> Option<(Ipv6Addr, u64)> {
    match technology {
        Technology::Lw4o6(l) => match l.softwires {
            Softwires::Row { b4, .. } => Some((b4, l.softwires.count())),
            Softwires::File(_) => None,
        },
        Technology::DsLite { b4, .. } if plays == Plays::Pe => {
            Some((*b4, check_axes::insides(&draft.build(false)).map_or(1, |(_, most)| most)))
        }
        _ => None,
    }
}

/// An IPv6 address or prefix, if a word is one.
fn prefix(word: &str) -> Option<Prefix6> {
    let (addr, len) = word.split_once('/').unwrap_or((word, "128"));
    Some(Prefix6 { addr: addr.parse().ok()?, len: len.parse().ok().filter(|len| *len <= 128)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_laboratory_addresses() {
        let allowed = |word| is_allowed(prefix(word).unwrap());
        for word in ["2001:2::/48", "2001:2:0:ffff::1", "2001:db8::/32", "fd00::/8", "64:ff9b::/96", "64:ff9b:1::/64"] {
            assert!(allowed(word), "{word}");
        }
        for word in ["2001:2:1::", "2001:2::/47", "2001:db9::", "::/0", "::1", "fe80::1", "64:ff9b:0:1::", "2600::/12"]
        {
            assert!(!allowed(word), "{word}");
        }
        assert_eq!(prefix("198.18.0.0/24"), None);
    }
}
