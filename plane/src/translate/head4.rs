//! Reading IPv4 headers for translation: of whole frames, and of the quotes of ICMP errors. Apart from the slow
//! path, because both directions need the same reading and each refusal has a name of its own.

use crate::event::Event;
use wire::checksum::Sum;
use wire::header::{self, be16, be32};

/// An IPv4 header that was read.
#[derive(Clone, Copy, Debug)]
pub struct Head4 {
    /// Source.
    pub src: u32,
    /// Destination.
    pub dst: u32,
    /// Type of service.
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
    /// Whether a source route has hops left (RFC 7915, section 4.1).
    pub source_route: bool,
    /// Where the header begins.
    pub l3: usize,
    /// Where the payload begins.
    pub l4: usize,
    /// Where the packet ends; the frame may go on with padding.
    pub end: usize,
}

impl Head4 {
    /// Read and check the header of a frame, options included.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn of_frame(b: &[u8]) -> Result<Head4, Event> {
        let mut h = Head4::read(b, header::ETH)?;
        if !Sum::default().bytes(&b[h.l3..h.l4]).is_valid() {
            return Err(Event::BadHeaderChecksum);
        }
        if h.end > b.len() {
            return Err(Event::BadLength);
        }
        h.source_route = source_route(&b[h.l3 + header::IPV4..h.l4])?;
        Ok(h)
    }

    /// Read the header at `l3` of a packet that may be cut off behind it, as in a quote. Its checksum is not looked at:
    /// routers quote what they have changed already.
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
            source_route: false,
            l3,
            l4,
            end: l3 + total,
        })
    }

    /// Whether it is a part of a datagram only.
    pub fn is_fragment(&self) -> bool {
        self.more || self.offset > 0
    }
}

/// Walk over the options: they must parse, everything else about them is ignored (RFC 7915, section 4.1) but a source
/// route that has not expired: its pointer still lies within.
fn source_route(mut o: &[u8]) -> Result<bool, Event> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const LOOSE_SOURCE_ROUTE: u8 = 131;
    const STRICT_SOURCE_ROUTE: u8 = 137;
    while let Some(&kind) = o.first() {
        match kind {
            END => return Ok(false),
            NOTHING => o = &o[1..],
            _ => {
                let len = usize::from(*o.get(1).ok_or(Event::BadOption)?);
                if len < 2 || len > o.len() {
                    return Err(Event::BadOption);
                }
                if matches!(kind, LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE) {
                    if len < 3 {
                        return Err(Event::BadOption);
                    }
                    if usize::from(o[2]) <= len {
                        return Ok(true);
                    }
                }
                o = &o[len..];
            }
        }
    }
    Ok(false)
}
