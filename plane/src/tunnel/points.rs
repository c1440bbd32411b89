//! The end points that a packet shows.

use crate::event::Event;
use crate::ip4::Head4;
use crate::ip6::is_martian;
use crate::strategy::Point4;
use wire::header::{ICMP, PROTO_UDP, TCP, be16};

impl Head4 {
    /// An ICMP query shows its identifier at both ends, an ICMP error the ports of its quote, which
    /// went the other way (RFC 7596, section 8.1). A truncated transport header fails.
    pub(super) fn points(&self, b: &[u8]) -> Result<[Point4; 2], Event> {
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
            IcmpKind::Query => Ok([Some(be16(b, self.l4 + 4)); 2]),
            IcmpKind::Other => Ok([None; 2]),
            IcmpKind::Error => {
                let quote = Head4::sealed(b, self.l4 + 8)?;
                let [source, destination] = quote.quoted(b);
                Ok([destination, source])
            }
        }
    }

    /// Ports of a quote with at least eight octets of payload.
    fn quoted(&self, b: &[u8]) -> [Option<u16>; 2] {
        if self.offset > 0 || b.len() < self.l4 + 8 {
            return [None; 2];
        }
        match self.protocol {
            PROTO_UDP | TCP => [Some(be16(b, self.l4)), Some(be16(b, self.l4 + 2))],
            ICMP if kind(b[self.l4]) == IcmpKind::Query => [Some(be16(b, self.l4 + 4)); 2],
            _ => [None; 2],
        }
    }

    /// Whether this is an error; only a first fragment shows the type.
    pub(super) fn is_icmp_error(&self, b: &[u8]) -> bool {
        self.protocol == ICMP && self.offset == 0 && b.get(self.l4).is_some_and(|t| kind(*t) == IcmpKind::Error)
    }
}

/// Kinds of ICMP messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpKind {
    /// A query with an identifier.
    Query,
    /// Unreachable, source quench, time exceeded, parameter problem: quotes a packet.
    Error,
    /// Everything else.
    Other,
}

/// Kind of an ICMP type.
pub fn kind(icmp_type: u8) -> IcmpKind {
    match icmp_type {
        0 | 8 | 13..=18 => IcmpKind::Query,
        3 | 4 | 11 | 12 => IcmpKind::Error,
        _ => IcmpKind::Other,
    }
}

/// Whether it may end a tunnel: neither multicast nor link-local, which no router forwards (RFC
/// 4291, section 2.5.6), nor in ::/64 (unspecified, loopback).
#[inline(always)]
pub fn is_unicast6(a: u128) -> bool {
    a >> 64 != 0 && !is_martian(a)
}
