//! ICMP errors and ICMPv6 errors (RFC 7915, sections 4.2 and 5.2).

use crate::event::Event;
use crate::icmp_error::Error;
use crate::icmp_type::{v4, v6};

/// Minimum MTU of an IPv6 link (RFC 8200, section 5).
pub(super) const LEAST_MTU6: u32 = 1280;

/// A NAT64 has no room for a new flow.
pub(super) const ADDRESS_UNREACHABLE: Error = Error::new(v6::UNREACHABLE, 3);

#[derive(Clone, Copy, Debug)]
pub(super) struct Mtus {
    pub v4: u32,
    pub v6: u32,
}

/// Extensions may follow the quote (RFC 4884, section 3), whose length then is in the second of the
/// four octets, in words of four octets.
pub(super) fn extends4(kind: u8) -> bool {
    matches!(kind, v4::UNREACHABLE | v4::TIME_EXCEEDED | v4::PARAMETER)
}

/// Whether the first octet states a length, in words of eight octets.
pub(super) fn extends6(kind: u8) -> bool {
    matches!(kind, v6::UNREACHABLE | v6::TIME_EXCEEDED)
}

pub(super) fn echo_to6(kind: u8) -> Option<u8> {
    match kind {
        v4::ECHO => Some(v6::ECHO),
        v4::ECHO_REPLY => Some(v6::ECHO_REPLY),
        _ => None,
    }
}

pub(super) fn echo_to4(kind: u8) -> Option<u8> {
    match kind {
        v6::ECHO => Some(v4::ECHO),
        v6::ECHO_REPLY => Some(v4::ECHO_REPLY),
        _ => None,
    }
}

/// Translates an error (RFC 7915, section 4.2); one without counterpart fails. `quoted` is the
/// total length of the quoted packet.
pub(super) fn to6(e: Error, quoted: u32, mtus: Mtus) -> Result<Error, Event> {
    const NO_ROUTE: Error = Error::new(v6::UNREACHABLE, 0);
    const PROHIBITED: Error = Error::new(v6::UNREACHABLE, 1);
    match (e.kind, e.code) {
        (v4::UNREACHABLE, 0 | 1 | 5..=8 | 11 | 12) => Ok(NO_ROUTE),
        (v4::UNREACHABLE, 2) => Ok(Error { kind: v6::PARAMETER, code: 1, rest: 6 }),
        (v4::UNREACHABLE, 3) => Ok(Error::new(v6::UNREACHABLE, 4)),
        (v4::UNREACHABLE, 4) => {
            let mtu = match e.rest & 0xffff {
                0 => plateau(quoted),
                told => told,
            };
            let rest = mtu_to6(mtu, mtus);
            Ok(Error { kind: v6::TOO_BIG, code: 0, rest })
        }
        (v4::UNREACHABLE, 9 | 10 | 13 | 15) => Ok(PROHIBITED),
        (v4::TIME_EXCEEDED, code) => Ok(Error::new(v6::TIME_EXCEEDED, code)),
        (v4::PARAMETER, 0 | 2) => {
            let rest = pointer_to6((e.rest >> 24) as u8).ok_or(Event::IcmpUntranslatable)?;
            Ok(Error { kind: v6::PARAMETER, code: 0, rest })
        }
        _ => Err(Event::IcmpUntranslatable),
    }
}

/// Translates an error (RFC 7915, section 5.2); one without counterpart fails. `fragment`: the
/// quoted packet has a fragment header.
pub(super) fn to4(e: Error, fragment: bool, mtus: Mtus) -> Result<Error, Event> {
    match (e.kind, e.code) {
        (v6::UNREACHABLE, 0 | 2 | 3) => Ok(Error::new(v4::UNREACHABLE, 1)),
        (v6::UNREACHABLE, 1) => Ok(Error::new(v4::UNREACHABLE, 10)),
        (v6::UNREACHABLE, 4) => Ok(Error::new(v4::UNREACHABLE, 3)),
        (v6::TOO_BIG, _) => {
            let rest = mtu_to4(e.rest, fragment, mtus);
            Ok(Error { kind: v4::UNREACHABLE, code: 4, rest })
        }
        (v6::TIME_EXCEEDED, code) => Ok(Error::new(v4::TIME_EXCEEDED, code)),
        (v6::PARAMETER, 0) => {
            let pointer = pointer_to4(e.rest).ok_or(Event::IcmpUntranslatable)?;
            Ok(Error { kind: v4::PARAMETER, code: 0, rest: u32::from(pointer) << 24 })
        }
        (v6::PARAMETER, 1) => Ok(Error::new(v4::UNREACHABLE, 2)),
        _ => Err(Event::IcmpUntranslatable),
    }
}

fn part(fragment: bool) -> u32 {
    if fragment { 8 } else { 0 }
}

/// Where a link carries IPv4 packets of `mtu` octets: never below the IPv6 minimum, as senders
/// ignore smaller values (RFC 7915, section 4.2; RFC 8201, section 4). A fragment header in the
/// quoted packet does not count: the next packet may have none.
pub(super) fn mtu_to6(mtu: u32, mtus: Mtus) -> u32 {
    (mtu + 20).min(mtus.v6).min(mtus.v4 + 20).max(LEAST_MTU6)
}

/// The MTU, with room for the fragment header that the sender's packets get.
fn mtu_to4(mtu: u32, fragment: bool, mtus: Mtus) -> u32 {
    let less = 20 + part(fragment);
    mtu.saturating_sub(less).min(mtus.v4).min(mtus.v6 - less).max(68)
}

/// If a router reports no MTU: the largest plateau of RFC 1191, section 7.1, below the packet's
/// length and at least 1280 (RFC 7915, section 4.2), else the value of the smallest IPv6 MTU.
fn plateau(length: u32) -> u32 {
    const PLATEAUS: [u32; 7] = [65_535, 32_000, 17_914, 8166, 4352, 2002, 1492];
    PLATEAUS.into_iter().find(|p| *p < length).unwrap_or(1260)
}

/// Translates a pointer by figure 3.
fn pointer_to6(pointer: u8) -> Option<u32> {
    match pointer {
        0 => Some(0),
        1 => Some(1),
        2 | 3 => Some(4),
        8 => Some(7),
        9 => Some(6),
        12..=15 => Some(8),
        16..=19 => Some(24),
        _ => None,
    }
}

/// Translates a pointer by figure 6.
fn pointer_to4(pointer: u32) -> Option<u8> {
    match pointer {
        0 => Some(0),
        1 => Some(1),
        4 | 5 => Some(2),
        6 => Some(9),
        7 => Some(8),
        8..=23 => Some(12),
        24..=39 => Some(16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTUS: Mtus = Mtus { v4: 1500, v6: 1500 };

    fn six(kind: u8, code: u8, rest: u32) -> Option<(u8, u8, u32)> {
        to6(Error { kind, code, rest }, 1500, MTUS).ok().map(|e| (e.kind, e.code, e.rest))
    }

    fn four(kind: u8, code: u8, rest: u32) -> Option<(u8, u8, u32)> {
        to4(Error { kind, code, rest }, false, MTUS).ok().map(|e| (e.kind, e.code, e.rest))
    }

    #[test]
    fn rfc7915_4_2_destination_unreachable() {
        let want = [
            Some((1, 0, 0)),
            Some((1, 0, 0)),
            Some((4, 1, 6)),
            Some((1, 4, 0)),
            Some((2, 0, 1420)),
            Some((1, 0, 0)),
            Some((1, 0, 0)),
            Some((1, 0, 0)),
            Some((1, 0, 0)),
            Some((1, 1, 0)),
            Some((1, 1, 0)),
            Some((1, 0, 0)),
            Some((1, 0, 0)),
            Some((1, 1, 0)),
            None,
            Some((1, 1, 0)),
            None,
        ];
        for (code, want) in want.into_iter().enumerate() {
            assert_eq!(six(3, code as u8, 1400), want, "code {code}");
        }
    }

    #[test]
    fn rfc7915_4_2_other_types() {
        assert_eq!((six(11, 0, 0), six(11, 1, 0)), (Some((3, 0, 0)), Some((3, 1, 0))));
        assert_eq!(six(12, 1, 0), None);
        for silent in [4, 5, 6, 9, 10, 13, 14, 15, 16, 17, 18, 200] {
            assert_eq!(six(silent, 0, 0), None, "type {silent}");
        }
    }

    #[test]
    fn rfc7915_4_2_figure_3_pointers() {
        let want = [
            (0, Some(0)),
            (1, Some(1)),
            (2, Some(4)),
            (3, Some(4)),
            (4, None),
            (5, None),
            (6, None),
            (7, None),
            (8, Some(7)),
            (9, Some(6)),
            (10, None),
            (11, None),
            (12, Some(8)),
            (15, Some(8)),
            (16, Some(24)),
            (19, Some(24)),
            (20, None),
        ];
        for (from, to) in want {
            for code in [0, 2] {
                assert_eq!(six(12, code, from << 24), to.map(|p| (4, 0, p)), "pointer {from}");
            }
        }
    }

    #[test]
    fn rfc7915_4_2_mtu_of_packet_too_big() {
        let mtu = |told, v4, v6| to6(Error { kind: 3, code: 4, rest: told }, 1500, Mtus { v4, v6 }).unwrap().rest;
        assert_eq!(mtu(1400, 1500, 1500), 1420);
        assert_eq!(mtu(576, 1500, 1500), 1280, "never below 1280");
        assert_eq!(mtu(9000, 9000, 1500), 1500, "not above the IPv6 link");
        assert_eq!(mtu(9000, 1400, 9000), 1420, "not above the IPv4 link");
    }

    #[test]
    fn rfc7915_4_2_plateau_when_the_router_tells_no_mtu() {
        let mtu =
            |quoted| to6(Error { kind: 3, code: 4, rest: 0 }, quoted, Mtus { v4: 65535, v6: 65575 }).unwrap().rest;
        assert_eq!((mtu(65_535), mtu(32_000), mtu(9000), mtu(4352)), (32_020, 17_934, 8186, 2022));
        assert_eq!((mtu(1500), mtu(1492), mtu(1280), mtu(100)), (1512, 1280, 1280, 1280));
    }

    #[test]
    fn rfc7915_5_2_destination_unreachable() {
        let want = [Some((3, 1, 0)), Some((3, 10, 0)), Some((3, 1, 0)), Some((3, 1, 0)), Some((3, 3, 0)), None, None];
        for (code, want) in want.into_iter().enumerate() {
            assert_eq!(four(1, code as u8, 0), want, "code {code}");
        }
    }

    #[test]
    fn rfc7915_5_2_other_types() {
        assert_eq!((four(3, 0, 0), four(3, 1, 0)), (Some((11, 0, 0)), Some((11, 1, 0))));
        assert_eq!((four(4, 1, 0), four(4, 2, 0)), (Some((3, 2, 0)), None));
        for silent in [0, 5, 100, 130, 131, 132, 133, 137, 143] {
            assert_eq!(four(silent, 0, 0), None, "type {silent}");
        }
    }

    #[test]
    fn rfc7915_5_2_figure_6_pointers() {
        let want = [
            (0, Some(0)),
            (1, Some(1)),
            (2, None),
            (3, None),
            (4, Some(2)),
            (5, Some(2)),
            (6, Some(9)),
            (7, Some(8)),
            (8, Some(12)),
            (23, Some(12)),
            (24, Some(16)),
            (39, Some(16)),
            (40, None),
            (256, None),
        ];
        for (from, to) in want {
            assert_eq!(four(4, 0, from), to.map(|p: u32| (12, 0, p << 24)), "pointer {from}");
        }
    }

    #[test]
    fn rfc7915_5_2_mtu_of_fragmentation_needed() {
        let mtu = |told, fragment, v4, v6| {
            to4(Error { kind: 2, code: 0, rest: told }, fragment, Mtus { v4, v6 }).unwrap().rest
        };
        assert_eq!(mtu(1400, false, 1500, 1500), 1380);
        assert_eq!(mtu(9000, false, 1500, 9000), 1500, "not above the IPv4 link");
        assert_eq!(mtu(9000, false, 9000, 1500), 1480, "not above the IPv6 link");
        assert_eq!(mtu(1400, true, 1500, 1500), 1372, "the packet in error has a fragment header");
    }
}
