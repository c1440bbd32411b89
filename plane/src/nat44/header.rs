//! What the slow path wants to know of an IPv4 header, checked completely. Apart from the slow path itself,
//! because the headers quoted in ICMP errors go through the same reading.

use super::counters::Event;
use super::rewrite::L3;
use super::session::endpoint;
use wire::checksum::Sum;
use wire::header::{self, be16, be32};

/// An IPv4 header that was read.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Source.
    pub src: u32,
    /// Destination.
    pub dst: u32,
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
    /// Where the packet ends; the frame may go on with padding.
    pub end: usize,
}

impl Head {
    /// Read and check the header of a frame.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn of_frame(b: &[u8]) -> Result<Head, Event> {
        let h = Head::read(b, L3)?;
        // No datagram is longer than 65,535 octets, so no fragment ends behind that (RFC 791, section 3.1).
        if h.end > b.len() || h.offset + (h.end - h.l3) > usize::from(u16::MAX) {
            return Err(Event::BadLength);
        }
        options(&b[L3 + header::IPV4..h.l4])?;
        Ok(h)
    }

    /// Read the header at `l3` of a packet that may be cut off behind it, as in a quote.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn read(b: &[u8], l3: usize) -> Result<Head, Event> {
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
        Ok(Head {
            src: be32(b, l3 + 12),
            dst: be32(b, l3 + 16),
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

    /// Whether it is a part of a datagram only.
    pub fn is_fragment(&self) -> bool {
        self.more || self.offset > 0
    }

    /// Source end point of UDP or TCP, with protocol.
    pub fn source(&self, b: &[u8]) -> u64 {
        endpoint(self.src, be16(b, self.l4), self.protocol)
    }

    /// Destination end point of UDP or TCP, with protocol.
    pub fn destination(&self, b: &[u8]) -> u64 {
        endpoint(self.dst, be16(b, self.l4 + 2), self.protocol)
    }

    /// Identifier of an ICMP query.
    pub fn identifier(&self, b: &[u8]) -> u16 {
        be16(b, self.l4 + 4)
    }

    /// Check that the transport header is all there, as far as a NAT needs it.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn transport(&self, b: &[u8]) -> Result<(), Event> {
        let need = if self.protocol == header::TCP { 20 } else { 8 };
        if self.end - self.l4 < need {
            return Err(if self.more { Event::TinyFragment } else { Event::Short });
        }
        if self.protocol == header::PROTO_UDP {
            let len = usize::from(be16(b, self.l4 + 4));
            if len < header::UDP || (!self.more && len > self.end - self.l4) {
                return Err(Event::BadLength);
            }
        }
        Ok(())
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
