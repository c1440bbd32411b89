//! Reading IPv6: pools, and the header with its extension headers, checked completely (RFC 8200).

use crate::event::Event;
use std::net::Ipv6Addr;
use wire::Prefix6;
use wire::header::{self, be16, be32};

/// Numbers of extension headers.
pub mod next {
    /// Hop-by-hop options.
    pub const HOP_BY_HOP: u8 = 0;
    /// Routing.
    pub const ROUTING: u8 = 43;
    /// Fragment.
    pub const FRAGMENT: u8 = 44;
    /// Destination options.
    pub const DESTINATION: u8 = 60;
    /// No next header.
    pub const NONE: u8 = 59;
    /// IPv4 inside.
    pub const IPV4: u8 = 4;
}

const MOST_EXTENSIONS: usize = 8;

/// Numbered outside addresses of a short prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool6(Prefix6);

/// Why a prefix cannot be a [`Pool6`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pool {0}: {1}")]
pub struct Pool6Error(Prefix6, &'static str);

impl Pool6 {
    /// The addresses of a prefix.
    ///
    /// # Errors
    /// Too many, or no router would forward to them.
    pub fn new(prefix: Prefix6) -> Result<Pool6, Pool6Error> {
        if !(112..=128).contains(&prefix.len) {
            return Err(Pool6Error(prefix, "write a prefix of length 112 to 128: at most 65,536 outside addresses"));
        }
        if is_martian(prefix.first()) {
            return Err(Pool6Error(prefix, "write global unicast addresses: no router forwards to these"));
        }
        Ok(Pool6(prefix))
    }

    pub(crate) fn not(&self, own: Ipv6Addr) -> Result<(), Pool6Error> {
        if self.number(own.to_bits()).is_none() {
            return Ok(());
        }
        Err(Pool6Error(self.0, "the gateway's own address lies in it; give the pool addresses of its own"))
    }

    /// The prefix.
    pub fn prefix(&self) -> Prefix6 {
        self.0
    }

    /// Number of addresses.
    pub fn count(&self) -> u32 {
        1 << (128 - self.0.len)
    }

    /// Address number `number`.
    #[inline(always)]
    pub fn nth(&self, number: u32) -> Option<u128> {
        (number < self.count()).then(|| self.0.first() | number as u128)
    }

    /// Number of an address.
    #[inline(always)]
    pub fn number(&self, addr: u128) -> Option<u32> {
        self.0.contains(addr).then(|| (addr & !self.0.mask()) as u32)
    }
}

/// Sixteen bytes at `at`.
#[inline(always)]
pub fn be128(b: &[u8], at: usize) -> u128 {
    let mut w = [0; 16];
    w.copy_from_slice(&b[at..at + 16]);
    u128::from_be_bytes(w)
}

/// Stores an address at `at`.
#[inline(always)]
pub fn put128(b: &mut [u8], at: usize, v: u128) {
    b[at..at + 16].copy_from_slice(&v.to_be_bytes());
}

pub(crate) fn is_link_local(a: u128) -> bool {
    a >> 118 == 0xfe80 >> 6
}

/// No router forwards it: unspecified, loopback, link-local, multicast (RFC 4291), IPv4-mapped (RFC
/// 6890, section 2.2.3).
pub(crate) fn is_martian(a: u128) -> bool {
    a <= 1 || a >> 32 == 0xffff || is_link_local(a) || a >> 120 == 0xff
}

/// Whether an address lies outside ::/64 (unspecified, loopback) and fe00::/7 (link-local, multicast).
#[inline(always)]
pub(crate) fn is_common(a: u128) -> bool {
    // One comparison for both.
    ((a >> 64) as u64).wrapping_sub(1) < 0xfe00_0000_0000_0000 - 1
}

/// Whether the protocol is an extension header other than ESP (RFC 7045, section 4).
pub(crate) fn is_extension(protocol: u8) -> bool {
    matches!(protocol, 0 | 43 | 44 | 51 | 60 | 135 | 139 | 140)
}

/// ICMPv6 types of neighbour discovery.
const DISCOVERY: std::ops::RangeInclusive<u8> = 133..=137;

/// A fragment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentField {
    /// Position of the fragment header.
    pub at: usize,
    /// Offset in octets.
    pub offset: usize,
    /// More fragments follow.
    pub more: bool,
    /// Identification.
    pub id: u32,
}

impl FragmentField {
    fn read(b: &[u8], at: usize) -> FragmentField {
        let field = be16(b, at + 2);
        FragmentField { at, offset: usize::from(field & !7), more: field & 1 == 1, id: be32(b, at + 4) }
    }

    /// Whether the packet is the only fragment (RFC 6946).
    pub fn is_atomic(&self) -> bool {
        self.offset == 0 && !self.more
    }
}

/// Whether a Hop-by-Hop Options header or a second Fragment Header may follow, against RFC 8200, section 4.1.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChainRule {
    Refused,
    Read,
}

/// An IPv6 header with its extension headers.
#[derive(Clone, Copy, Debug)]
pub struct Head6 {
    /// Source.
    pub src: u128,
    /// Destination.
    pub dst: u128,
    /// Traffic class.
    pub class: u8,
    /// Flow label.
    pub flow: u32,
    /// Hop limit.
    pub hop_limit: u8,
    /// Protocol at `l4`.
    pub protocol: u8,
    /// Offset of the field that names `protocol`.
    pub protocol_at: usize,
    /// Fragment header, if there is one.
    pub part: Option<FragmentField>,
    /// Position of a routing header with segments left (RFC 7915, section 5.1).
    pub source_route: Option<usize>,
    /// Start of the header.
    pub l3: usize,
    /// Start of the payload behind all extension headers.
    pub l4: usize,
    /// End of the packet; padding may follow.
    pub end: usize,
}

impl Head6 {
    /// Reads the header of a frame, which must be complete.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn of_frame(b: &[u8]) -> Result<Head6, Event> {
        Head6::read(b, header::ETH)?.not_cut(b)
    }

    /// Misplaced headers may follow the Fragment Header: a translator sends an error about these
    /// (RFC 7915, sections 5.1.1 and 5.4).
    pub(crate) fn of_frame_in_any_order(b: &[u8]) -> Result<Head6, Event> {
        Head6::walked(b, header::ETH, ChainRule::Read)?.not_cut(b)
    }

    fn not_cut(self, b: &[u8]) -> Result<Head6, Event> {
        if self.end > b.len() { Err(Event::BadLength) } else { Ok(self) }
    }

    /// Reads the header at `l3` of a packet that may be truncated behind its headers, as in a quote.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn read(b: &[u8], l3: usize) -> Result<Head6, Event> {
        Head6::walked(b, l3, ChainRule::Refused)
    }

    fn walked(b: &[u8], l3: usize, behind: ChainRule) -> Result<Head6, Event> {
        if b.len() < l3 + header::IPV6 {
            return Err(Event::Short);
        }
        let first = be32(b, l3);
        if first >> 28 != 6 {
            return Err(Event::BadHeader);
        }
        let mut h = Head6 {
            src: be128(b, l3 + 8),
            dst: be128(b, l3 + 24),
            class: (first >> 20) as u8,
            flow: first & 0xf_ffff,
            hop_limit: b[l3 + 7],
            protocol: b[l3 + 6],
            protocol_at: l3 + 6,
            part: None,
            source_route: None,
            l3,
            l4: l3 + header::IPV6,
            end: l3 + header::IPV6 + usize::from(be16(b, l3 + 4)),
        };
        h.walk(b, behind)?;
        Ok(h)
    }

    fn walk(&mut self, b: &[u8], behind: ChainRule) -> Result<(), Event> {
        let mut later = false;
        for _ in 0..MOST_EXTENSIONS {
            let known = [next::HOP_BY_HOP, next::ROUTING, next::FRAGMENT, next::DESTINATION].contains(&self.protocol);
            if !known || later {
                return Ok(());
            }
            let at = self.l4;
            if at + 8 > self.end.min(b.len()) {
                return Err(Event::BadExtension);
            }
            let misplaced = match self.protocol {
                next::FRAGMENT => self.part.is_some(),
                // First or not at all (RFC 8200, section 4.1).
                next::HOP_BY_HOP => at != self.l3 + header::IPV6,
                _ => false,
            };
            if misplaced && !(behind == ChainRule::Read && self.part.is_some()) {
                return Err(Event::BadExtension);
            }
            let len = match self.protocol {
                next::FRAGMENT => {
                    let part = FragmentField::read(b, at);
                    later = part.offset > 0;
                    self.part.get_or_insert(part);
                    8
                }
                next::ROUTING => {
                    if b[at + 3] > 0 {
                        self.source_route.get_or_insert(at);
                    }
                    8 + usize::from(b[at + 1]) * 8
                }
                _ => 8 + usize::from(b[at + 1]) * 8,
            };
            if at + len > self.end.min(b.len()) {
                return Err(Event::BadExtension);
            }
            (self.protocol, self.protocol_at, self.l4) = (b[at], at, at + len);
        }
        Err(Event::BadExtension)
    }

    /// Checks options as the destination must (RFC 8200, section 4.2); in a fragment only those
    /// before the fragment header.
    pub(crate) fn options(&self, b: &[u8]) -> Result<(), BadOption> {
        let (mut number, mut at) = (b[self.l3 + 6], self.l3 + header::IPV6);
        while at < self.l4 {
            let len = match number {
                next::FRAGMENT if self.is_fragment() => break,
                next::FRAGMENT => 8,
                _ => 8 + usize::from(b[at + 1]) * 8,
            };
            if matches!(number, next::HOP_BY_HOP | next::DESTINATION) {
                options(b, at + 2, at + len)?;
            }
            (number, at) = (b[at], at + len);
        }
        Ok(())
    }

    pub(crate) fn is_discovery(&self, b: &[u8]) -> bool {
        let icmp = self.protocol == header::ICMPV6 && self.part.is_none() && self.l4 < self.end;
        icmp && self.hop_limit == 255 && DISCOVERY.contains(&b[self.l4])
    }

    /// Whether the packet is one of several fragments.
    pub fn is_fragment(&self) -> bool {
        self.part.is_some_and(|p| !p.is_atomic())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadOption {
    Length,
    /// The packet must not skip the option.
    Unknown,
    /// The option at this offset is unknown; the sender gets an error.
    Told(usize),
}

fn options(b: &[u8], mut at: usize, end: usize) -> Result<(), BadOption> {
    const PAD1: u8 = 0;
    while at < end {
        if b[at] == PAD1 {
            at += 1;
            continue;
        }
        let behind = at + 2 + if at + 1 < end { usize::from(b[at + 1]) } else { 0 };
        if behind > end {
            return Err(BadOption::Length);
        }
        // Nodes that do not know these options may skip them.
        match b[at] >> 6 {
            0 => at = behind,
            1 => return Err(BadOption::Unknown),
            _ => return Err(BadOption::Told(at)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of these headers, each with its number, and eight octets behind.
    fn packet(headers: &[(u8, &[u8])], last: u8) -> Vec<u8> {
        let mut b = vec![0; 14 + 40];
        b[14] = 0x6a;
        b[15] = 0xb1;
        b[21] = 64;
        let mut field = 20;
        for (number, octets) in headers {
            b[field] = *number;
            field = b.len();
            b.extend_from_slice(octets);
        }
        b[field] = last;
        b.extend_from_slice(&[0xaa; 8]);
        let len = (b.len() - 54) as u16;
        b[18..20].copy_from_slice(&len.to_be_bytes());
        b
    }

    #[test]
    fn extension_headers_are_walked() {
        let b = packet(
            &[
                (next::HOP_BY_HOP, &[0, 0, 5, 2, 0, 0, 1, 0]),
                (next::ROUTING, &[0, 0, 4, 1, 0, 0, 0, 0]),
                (next::FRAGMENT, &[0, 0, 0, 1, 1, 2, 3, 4]),
                (next::DESTINATION, &[0, 1, 1, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0]),
            ],
            17,
        );
        let h = Head6::of_frame(&b).unwrap();
        assert_eq!((h.protocol, h.l4, h.end, h.class, h.flow), (17, 94, 102, 0xab, 0x1_0000));
        assert_eq!(h.part, Some(FragmentField { at: 70, offset: 0, more: true, id: 0x0102_0304 }));
        assert_eq!((h.source_route, h.is_fragment(), h.protocol_at), (Some(62), true, 78));
    }

    #[test]
    fn what_does_not_parse_has_a_reason() {
        let plain = packet(&[], 6);
        let cut = |n: usize| Head6::of_frame(&plain[..n]).unwrap_err();
        assert_eq!((cut(53), cut(60)), (Event::Short, Event::BadLength));
        let twice = packet(&[(next::FRAGMENT, &[0; 8]), (next::FRAGMENT, &[0; 8])], 17);
        assert_eq!(Head6::of_frame(&twice).unwrap_err(), Event::BadExtension);
        let late = packet(&[(next::DESTINATION, &[0; 8]), (next::HOP_BY_HOP, &[0; 8])], 17);
        assert_eq!(Head6::of_frame(&late).unwrap_err(), Event::BadExtension);
        let long = packet(&[(next::DESTINATION, &[0, 9, 0, 0, 0, 0, 0, 0])], 17);
        assert_eq!(Head6::of_frame(&long).unwrap_err(), Event::BadExtension);
        let many = packet(&[(next::DESTINATION, &[0; 8][..]); 9], 17);
        assert_eq!(Head6::of_frame(&many).unwrap_err(), Event::BadExtension);
    }

    #[test]
    fn misplaced_headers_behind_a_fragment_header_can_be_read() {
        let fragment = |offset: u8| (next::FRAGMENT, [0, 0, 0, offset, 0, 0, 0, 1]);
        let pad = (next::HOP_BY_HOP, [0, 0, 1, 4, 0, 0, 0, 0]);
        let seen = |headers: &[(u8, [u8; 8])]| {
            let headers: Vec<_> = headers.iter().map(|(number, octets)| (*number, &octets[..])).collect();
            let b = packet(&headers, 58);
            assert_eq!(Head6::of_frame(&b).unwrap_err(), Event::BadExtension);
            Head6::of_frame_in_any_order(&b).map(|h| (h.protocol, h.l4, h.part.unwrap().at))
        };
        assert_eq!(seen(&[fragment(1), pad]), Ok((58, 70, 54)));
        assert_eq!(seen(&[fragment(1), fragment(0), pad]), Ok((58, 78, 54)));
        assert_eq!(
            seen(&[fragment(1), fragment(8), pad]),
            Ok((0, 70, 54)),
            "these octets are the middle of a datagram"
        );
        assert_eq!(seen(&[(next::DESTINATION, [0; 8]), pad, fragment(1)]), Err(Event::BadExtension));
    }

    #[test]
    fn behind_a_later_fragment_nothing_is_read() {
        let b = packet(&[(next::FRAGMENT, &[0, 0, 0, 8, 0, 0, 0, 1])], next::DESTINATION);
        let h = Head6::of_frame(&b).unwrap();
        assert_eq!((h.protocol, h.part.unwrap().offset, h.is_fragment()), (next::DESTINATION, 8, true));
        let atomic = packet(&[(next::FRAGMENT, &[0, 0, 0, 0, 0, 0, 0, 1])], 17);
        assert!(!Head6::of_frame(&atomic).unwrap().is_fragment());
    }

    #[test]
    fn prefixes() {
        let p = Prefix6 { addr: "2001:2:0:100::".parse().unwrap(), len: 56 };
        assert!(p.contains("2001:2:0:1ff::9".parse::<Ipv6Addr>().unwrap().to_bits()));
        assert!(!p.contains("2001:2:0:200::9".parse::<Ipv6Addr>().unwrap().to_bits()));
        assert_eq!((Prefix6 { len: 0, ..p }.mask(), Prefix6 { len: 128, ..p }.mask()), (0, u128::MAX));
    }
}
