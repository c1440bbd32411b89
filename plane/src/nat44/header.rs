//! Completeness and end points of an IPv4 packet, with NAT44's drop reasons.

use super::counters::Event;
use super::rewrite::L3;
use super::session::endpoint;
use crate::ip4::{Fault, Head4};
use wire::header::{self, be16};

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

impl Head4 {
    pub(super) fn of_frame(b: &[u8]) -> Result<Head4, Event> {
        let h = Head4::whole(b, L3)?;
        // RFC 791, section 3.1.
        if h.offset + h.total() > usize::from(u16::MAX) {
            return Err(Event::BadLength);
        }
        h.without_route(b)?;
        Ok(h)
    }

    /// Source end point, with protocol.
    pub(super) fn source(&self, b: &[u8]) -> u64 {
        endpoint(self.src, be16(b, self.l4), self.protocol)
    }

    pub(super) fn destination(&self, b: &[u8]) -> u64 {
        endpoint(self.dst, be16(b, self.l4 + 2), self.protocol)
    }

    pub(super) fn identifier(&self, b: &[u8]) -> u16 {
        be16(b, self.l4 + 4)
    }

    /// Checks the transport header as far as a NAT needs it.
    pub(super) fn transport(&self, b: &[u8]) -> Result<(), Event> {
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
