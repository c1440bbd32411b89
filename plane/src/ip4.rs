//! Reading IPv4: the header with its options, checked completely (RFC 791).

use crate::event::Event;
use crate::fragment::{Key, Piece};
use wire::checksum::Sum;
use wire::header::{self, be16, be32};

/// Why a header is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The packet is shorter than any header.
    Short,
    /// Version or header length.
    Header,
    /// A length does not fit another length.
    Length,
    /// Header checksum.
    Checksum,
    /// The options do not parse.
    Option,
}

impl From<Fault> for Event {
    fn from(f: Fault) -> Event {
        match f {
            Fault::Short => Event::Short,
            Fault::Header => Event::BadHeader,
            Fault::Length => Event::BadLength,
            Fault::Checksum => Event::BadHeaderChecksum,
            Fault::Option => Event::BadOption,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Free,
    /// The packet has followed its route to the end.
    Followed,
    /// The packet's route has hops left.
    Fixed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Head4 {
    pub src: u32,
    pub dst: u32,
    /// DSCP and ECN.
    pub tos: u8,
    pub protocol: u8,
    pub ttl: u8,
    pub id: u16,
    pub df: bool,
    pub more: bool,
    /// Offset in octets.
    pub offset: usize,
    pub l3: usize,
    pub l4: usize,
    /// End of the packet; padding may follow.
    pub end: usize,
}

impl Head4 {
    /// Reads the header at `l3`; the packet must be complete in `b`.
    pub(crate) fn whole(b: &[u8], l3: usize) -> Result<Head4, Fault> {
        let h = Head4::sealed(b, l3)?;
        // Fragments behind the largest datagram attack the host that reassembles it (RFC 791, section 3.1).
        if h.end > b.len() || h.offset + h.total() > usize::from(u16::MAX) { Err(Fault::Length) } else { Ok(h) }
    }

    /// Reads the header of a packet that may be truncated behind the header, as in a quote.
    pub(crate) fn sealed(b: &[u8], l3: usize) -> Result<Head4, Fault> {
        let h = Head4::read(b, l3)?;
        if Sum::default().bytes(&b[h.l3..h.l4]).is_valid() { Ok(h) } else { Err(Fault::Checksum) }
    }

    /// Reads the header without the checksum: routers quote packets that they have already changed.
    pub(crate) fn read(b: &[u8], l3: usize) -> Result<Head4, Fault> {
        if b.len() < l3 + header::IPV4 {
            return Err(Fault::Short);
        }
        let l4 = l3 + usize::from(b[l3] & 15) * 4;
        if b[l3] >> 4 != 4 || l4 < l3 + header::IPV4 {
            return Err(Fault::Header);
        }
        let total = usize::from(be16(b, l3 + 2));
        if total < l4 - l3 || b.len() < l4 {
            return Err(Fault::Length);
        }
        let fragment = be16(b, l3 + 6);
        Ok(Head4 {
            src: be32(b, l3 + 12),
            dst: be32(b, l3 + 16),
            tos: b[l3 + 1],
            protocol: b[l3 + 9],
            ttl: b[l3 + 8],
            id: be16(b, l3 + 4),
            df: fragment & 0x4000 != 0,
            more: fragment & 0x2000 != 0,
            offset: usize::from(fragment & 0x1fff) * 8,
            l3,
            l4,
            end: l3 + total,
        })
    }

    pub(crate) fn total(&self) -> usize {
        self.end - self.l3
    }

    pub(crate) fn is_fragment(&self) -> bool {
        self.more || self.offset > 0
    }

    /// The key of fragments from this tunnel or side.
    pub(crate) fn key(&self, from: u128) -> Key {
        Key { from, addresses: (self.src, self.dst), id: self.id, protocol: self.protocol }
    }

    pub(crate) fn piece(&self) -> Piece {
        Piece { offset: self.offset, len: self.end - self.l4, more: self.more }
    }

    pub(crate) fn route(&self, b: &[u8]) -> Result<Route, Fault> {
        route(&b[self.l3 + header::IPV4..self.l4])
    }

    /// Refuses a source route (RFC 7126, 4.3 and 4.4).
    pub(crate) fn without_route(&self, b: &[u8]) -> Result<(), Fault> {
        if self.route(b)? == Route::Free { Ok(()) } else { Err(Fault::Option) }
    }
}

fn route(mut o: &[u8]) -> Result<Route, Fault> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const LOOSE_SOURCE_ROUTE: u8 = 131;
    const STRICT_SOURCE_ROUTE: u8 = 137;
    let mut found = Route::Free;
    while let Some(&kind) = o.first() {
        match kind {
            END => break,
            NOTHING => o = &o[1..],
            _ => {
                let len = usize::from(*o.get(1).ok_or(Fault::Option)?);
                if len < 2 || len > o.len() {
                    return Err(Fault::Option);
                }
                if matches!(kind, LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE) {
                    if len < 3 {
                        return Err(Fault::Option);
                    }
                    found = Route::Followed;
                    if usize::from(o[2]) <= len {
                        return Ok(Route::Fixed);
                    }
                }
                o = &o[len..];
            }
        }
    }
    Ok(found)
}

/// Ordinary unicast (RFC 1122, 3.2.1.3; RFC 1812, 5.3.7), and not link-local (RFC 3927, section 7).
#[inline(always)]
pub(crate) fn is_ordinary(a: u32) -> bool {
    /// Few addresses but 127 and 169 have these bits.
    const BOTH: u32 = 0x7f & 0xa9;
    let top = a >> 24;
    top.wrapping_sub(1) < 223 && (top & BOTH != BOTH || top != 127 && a >> 16 != 0xa9fe)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with these options, padded, and eight octets behind.
    fn packet(options: &[u8]) -> Vec<u8> {
        let l4 = 20 + options.len().next_multiple_of(4);
        let mut b = vec![0; l4 + 8];
        b[0] = 0x40 | (l4 / 4) as u8;
        b[3] = b.len() as u8;
        (b[6], b[7], b[8], b[9]) = (0x20, 3, 64, 17);
        b[12..20].copy_from_slice(&[198, 18, 0, 2, 198, 19, 0, 2]);
        b[20..20 + options.len()].copy_from_slice(options);
        let sum = Sum::default().bytes(&b[..l4]).checksum();
        b[10..12].copy_from_slice(&sum);
        b
    }

    #[test]
    fn a_header_is_read() {
        let h = Head4::whole(&packet(&[7, 3, 4, 0]), 0).unwrap();
        assert_eq!((h.src, h.dst, h.protocol, h.ttl, h.l4, h.end), (0xc612_0002, 0xc613_0002, 17, 64, 24, 32));
        assert_eq!((h.df, h.more, h.offset, h.is_fragment(), h.total()), (false, true, 24, true, 32));
    }

    #[test]
    fn what_is_wrong_has_a_reason() {
        let good = packet(&[]);
        let fault = |at: usize, to: u8, len: usize| {
            let mut b = good.clone();
            b[at] = to;
            Head4::whole(&b[..len], 0).unwrap_err()
        };
        assert_eq!((fault(0, 0x45, 19), fault(0, 0x45, 27)), (Fault::Short, Fault::Length));
        assert_eq!((fault(0, 0x65, 28), fault(0, 0x44, 28)), (Fault::Header, Fault::Header));
        assert_eq!((fault(3, 19, 28), fault(8, 63, 28)), (Fault::Length, Fault::Checksum));
        assert!(Head4::sealed(&good[..20], 0).is_ok(), "a quote may end behind the header");
    }

    #[test]
    fn options_and_the_route() {
        let route = |o: &[u8]| Head4::whole(&packet(o), 0).unwrap().route(&packet(o));
        assert_eq!(
            (route(&[]), route(&[1, 1, 0, 131]), route(&[7, 3, 4])),
            (Ok(Route::Free), Ok(Route::Free), Ok(Route::Free))
        );
        assert_eq!(route(&[131, 7, 4, 10, 0, 0, 1]), Ok(Route::Fixed));
        assert_eq!(route(&[137, 7, 8, 10, 0, 0, 1]), Ok(Route::Followed));
        assert_eq!(
            (route(&[7, 1, 0]), route(&[7, 9, 4]), route(&[131, 2])),
            (Err(Fault::Option), Err(Fault::Option), Err(Fault::Option))
        );
    }

    #[test]
    fn ordinary_addresses() {
        let ordinary = |a: [u8; 4]| is_ordinary(u32::from_be_bytes(a));
        assert!([[1, 0, 0, 0], [126, 1, 1, 1], [128, 0, 0, 0], [223, 255, 255, 255]].into_iter().all(ordinary));
        assert!([[169, 253, 255, 255], [169, 255, 0, 0], [43, 169, 254, 1], [191, 1, 1, 1]].into_iter().all(ordinary));
        assert!(![[169, 254, 0, 0], [169, 254, 255, 255]].into_iter().any(ordinary), "link-local");
        assert!(![[0, 0, 0, 1], [127, 0, 0, 1], [224, 0, 0, 1], [240, 0, 0, 1], [255; 4]].into_iter().any(ordinary));
    }
}
