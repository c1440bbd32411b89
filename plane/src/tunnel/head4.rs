//! Reading IPv4: the header, checked completely, and the end points that a packet shows. Apart from the paths of a
//! packet, because frames, packets inside tunnels and the quotes of ICMP errors all go through the same reading.

use crate::ends::Point4;
use crate::event::Event;
use crate::parts::tracker::{Key, Piece};
use wire::checksum::Sum;
use wire::header::{self, ICMP, PROTO_UDP, TCP, be16, be32};

/// An IPv4 header that was read.
#[derive(Clone, Copy, Debug)]
pub struct Head4 {
    /// Source.
    pub src: u32,
    /// Destination.
    pub dst: u32,
    /// Type of service, or DSCP and ECN.
    pub tos: u8,
    /// Protocol.
    pub protocol: u8,
    /// Time to live.
    pub ttl: u8,
    /// Identification.
    pub id: u16,
    /// Don't fragment.
    pub df: bool,
    /// More fragments.
    pub more: bool,
    /// Offset of this fragment in octets.
    pub offset: usize,
    /// Where the header begins.
    pub l3: usize,
    /// Where the payload begins.
    pub l4: usize,
    /// Where the packet ends.
    pub end: usize,
}

impl Head4 {
    /// Read and check the header of a packet at `l3` that must be all there, before `room` ends.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn whole(b: &[u8], l3: usize, room: usize) -> Result<Head4, Event> {
        let h = Head4::read(&b[..room.min(b.len())], l3)?;
        // A fragment behind the largest datagram (RFC 791, section 3.1) is an attack on whoever puts it together.
        if h.end > room.min(b.len()) || h.offset + h.total() > 65_535 {
            return Err(Event::BadLength);
        }
        options(&b[l3 + header::IPV4..h.l4])?;
        Ok(h)
    }

    /// Read the header at `l3` of a packet that may be cut off behind it, as in a quote.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn read(b: &[u8], l3: usize) -> Result<Head4, Event> {
        if b.len() < l3 + header::IPV4 {
            return Err(Event::Short);
        }
        let l4 = l3 + usize::from(b[l3] & 15) * 4;
        if b[l3] >> 4 != 4 || l4 < l3 + header::IPV4 {
            return Err(Event::BadHeader);
        }
        let total = usize::from(be16(b, l3 + 2));
        if total < l4 - l3 || b.len() < l4 {
            return Err(Event::BadLength);
        }
        if !Sum::default().bytes(&b[l3..l4]).is_valid() {
            return Err(Event::BadHeaderChecksum);
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

    /// Octets of the whole packet.
    pub fn total(&self) -> usize {
        self.end - self.l3
    }

    /// What it has in common with the other fragments of its datagram, out of this tunnel or of none (0).
    pub fn key(&self, tunnel: u128) -> Key {
        Key::new(tunnel, (self.src, self.dst), self.id, self.protocol)
    }

    /// Its place in its datagram.
    pub fn piece(&self) -> Piece {
        Piece { offset: self.offset, len: self.end - self.l4, more: self.more }
    }

    /// Whether it is a part of a datagram only.
    pub fn is_fragment(&self) -> bool {
        self.more || self.offset > 0
    }

    /// Source and destination as far as the packet shows them. An ICMP query shows its identifier at both ends; an ICMP error
    /// the ports of the packet that it quotes, which went the other way (RFC 7596, section 8.1).
    ///
    /// # Errors
    /// The reason to drop it: a transport header that is cut off.
    pub fn points(&self, b: &[u8]) -> Result<[Point4; 2], Event> {
        let ports = if self.offset > 0 { [None; 2] } else { self.ports(&b[..self.end.min(b.len())])? };
        Ok([Point4 { addr: self.src, port: ports[0] }, Point4 { addr: self.dst, port: ports[1] }])
    }

    fn ports(&self, b: &[u8]) -> Result<[Option<u16>; 2], Event> {
        let least = match self.protocol {
            TCP if !self.more => 20,
            PROTO_UDP | TCP | ICMP => 8,
            _ => return Ok([None; 2]),
        };
        if b.len() < self.l4 + least {
            return Err(Event::Short);
        }
        if self.protocol != ICMP {
            return Ok([Some(be16(b, self.l4)), Some(be16(b, self.l4 + 2))]);
        }
        match kind(b[self.l4]) {
            Kind::Query => Ok([Some(be16(b, self.l4 + 4)); 2]),
            Kind::Other => Ok([None; 2]),
            Kind::Error => {
                let quote = Head4::read(b, self.l4 + 8)?;
                let [source, destination] = quote.quoted(b);
                Ok([destination, source])
            }
        }
    }

    /// Ports of a quoted packet, of which eight octets behind the header are enough.
    fn quoted(&self, b: &[u8]) -> [Option<u16>; 2] {
        if self.offset > 0 || b.len() < self.l4 + 8 {
            return [None; 2];
        }
        match self.protocol {
            PROTO_UDP | TCP => [Some(be16(b, self.l4)), Some(be16(b, self.l4 + 2))],
            ICMP if kind(b[self.l4]) == Kind::Query => [Some(be16(b, self.l4 + 4)); 2],
            _ => [None; 2],
        }
    }

    /// Whether it is an ICMP error; of a part of one the type is seen in the first fragment only.
    pub fn is_icmp_error(&self, b: &[u8]) -> bool {
        self.protocol == ICMP && self.offset == 0 && b.get(self.l4).is_some_and(|t| kind(*t) == Kind::Error)
    }
}

/// What an ICMP message is to those who share an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A query or its answer: has an identifier.
    Query,
    /// Unreachable, source quench, time exceeded, parameter problem: quotes a packet.
    Error,
    /// Everything else.
    Other,
}

/// Kind of an ICMP type.
pub fn kind(icmp_type: u8) -> Kind {
    match icmp_type {
        0 | 8 | 13..=18 => Kind::Query,
        3 | 4 | 11 | 12 => Kind::Error,
        _ => Kind::Other,
    }
}

/// Check IPv4 options: they must parse, and the sender must not choose the route (RFC 7126, 4.3 and 4.4).
fn options(mut o: &[u8]) -> Result<(), Event> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const LOOSE_SOURCE_ROUTE: u8 = 131;
    const STRICT_SOURCE_ROUTE: u8 = 137;
    while let Some(&kind) = o.first() {
        match kind {
            END => return Ok(()),
            NOTHING => o = &o[1..],
            LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE => return Err(Event::BadOption),
            _ => {
                let len = usize::from(*o.get(1).ok_or(Event::BadOption)?);
                if len < 2 || len > o.len() {
                    return Err(Event::BadOption);
                }
                o = &o[len..];
            }
        }
    }
    Ok(())
}

/// Whether an address is an ordinary unicast one: neither "this network" nor loopback, nor multicast, reserved or
/// broadcast (RFC 1122, 3.2.1.3; RFC 1812, 5.3.7).
#[inline(always)]
pub fn is_ordinary(a: u32) -> bool {
    let top = a >> 24;
    top.wrapping_sub(1) < 223 && top != 127
}

/// Whether an IPv6 address may be the end of a tunnel: neither multicast nor unspecified, loopback or anything else in ::/64.
#[inline(always)]
pub fn is_unicast6(a: u128) -> bool {
    a >> 120 != 0xff && a >> 64 != 0
}
