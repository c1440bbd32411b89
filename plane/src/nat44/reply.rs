//! ICMP errors about dropped packets (RFC 1812, 4.3.2.7).

use super::Nat44;
use super::counters::Event;
use super::rewrite::L3;
use crate::function::{Packet, Side, Spare, fresh};
use crate::icmp_error::{Error, HEADERS4, QUOTE4};
use crate::ip4::{Head4, is_ordinary};
use wire::header::{self, ICMP, put16};

/// RFC 6888, REQ-11b, replaced code 13 of RFC 5508, REQ-8, by code 1, which does not abort TCP connections.
pub(super) use crate::icmp_error::HOST_UNREACHABLE;
/// Destination unreachable: protocol (RFC 6146, section 3.4).
pub(super) const PROTOCOL_UNREACHABLE: Error = Error::new(3, 2);
/// Destination unreachable: port (RFC 5382, REQ-4).
pub(super) const PORT_UNREACHABLE: Error = Error::new(3, 3);

impl Nat44 {
    /// Replies with an error; none about ICMP errors, later fragments, and sources that are no
    /// single host (RFC 1812, 4.3.2.7).
    pub(super) fn reply<P: Packet>(&mut self, side: Side, packet: &[u8], error: Error, spare: &mut dyn Spare<P>) {
        let config = if side == Side::Customer { &self.config.customer } else { &self.config.internet };
        if let Some(p) = self.error_frame(side, config.address.into(), packet, error, spare) {
            spare.emit(side, p);
        }
    }

    /// `None` if none may be sent.
    pub(super) fn error_frame<P: Packet>(
        &mut self,
        side: Side,
        src: u32,
        packet: &[u8],
        error: Error,
        spare: &mut dyn Spare<P>,
    ) -> Option<P> {
        let head = Head4::sealed(packet, 0).ok()?;
        let about_error = head.protocol == ICMP && packet.get(head.l4).is_none_or(|t| !super::icmp::is_query(*t));
        if about_error || head.offset > 0 || !is_ordinary(head.src) {
            return None;
        }
        if !self.limiter.allow(self.now, self.config.icmp_errors_per_second) {
            self.count.add(Event::IcmpSuppressed);
            return None;
        }
        let quote = &packet[..packet.len().min(head.end).min(QUOTE4)];
        let len = L3 + HEADERS4 + quote.len();
        let Some(mut p) = fresh(spare, len) else {
            self.count.add(Event::NoMemory);
            return None;
        };
        self.identification = self.identification.wrapping_add(1);
        let macs = &self.link_of(side).leaving;
        let b = p.bytes_mut();
        b[..12].copy_from_slice(macs);
        put16(b, 12, header::TYPE_IPV4);
        error.write4(&mut b[L3..len], src, head.src, self.identification, quote);
        self.count.add(Event::IcmpSent);
        Some(p)
    }
}
