//! ICMP errors that the gateway itself sends (RFC 792, RFC 1812, 4.3), and their rate limit. Apart from the
//! translation of others' errors, because these are made from nothing but a quote.

use super::Nat44;
use super::counters::Event;
use super::header::Head;
use super::rewrite::L3;
use crate::function::{Packet, Side, Spare};
use wire::checksum::Sum;
use wire::header::{self, ICMP, put16, put32};

/// Octets of the offending packet that are quoted, so that the error is 576 octets at most (RFC 1812, 4.3.2.3).
const QUOTE: usize = 576 - header::IPV4 - 8;
/// Time to live of what the gateway sends itself.
const TTL: u8 = 64;
/// Errors that may be sent at once after a rest.
const BURST: u64 = 32;

/// Type, code and the four bytes after the checksum of an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// Rest of the header: next-hop MTU or zero.
    pub rest: u32,
}

/// TTL ran out on the way.
pub const TIME_EXCEEDED: Error = Error { kind: 11, code: 0, rest: 0 };
/// No state for a new flow. RFC 5508, REQ-8, has code 13; RFC 6888, REQ-11b, changed it to code 1 (host unreachable),
/// which does not make a TCP give up.
pub const HOST_UNREACHABLE: Error = Error { kind: 3, code: 1, rest: 0 };
/// Nobody listens (RFC 5382, REQ-4).
pub const PORT_UNREACHABLE: Error = Error { kind: 3, code: 3, rest: 0 };

/// Larger than the next link and not to be fragmented (RFC 1191).
pub fn fragmentation_needed(mtu: u16) -> Error {
    Error { kind: 3, code: 4, rest: mtu.into() }
}

/// Limits the rate of errors (RFC 1812, 4.3.2.8).
#[derive(Clone, Copy, Debug, Default)]
pub struct Limiter {
    /// When the next error would be due if they came evenly.
    due: u64,
}

impl Limiter {
    fn allow(&mut self, now: u64, per_second: u32) -> bool {
        let Some(apart) = 1_000_000_000u64.checked_div(per_second.into()) else { return false };
        if self.due > now + BURST * apart {
            return false;
        }
        self.due = self.due.max(now) + apart;
        true
    }
}

impl Nat44 {
    /// Send an ICMP error about `packet`, an IPv4 packet as it came in on `side`, back to where it came from. Nothing is sent
    /// about ICMP errors, later fragments and senders that are nobody (RFC 1812, 4.3.2.7).
    pub(super) fn reply<P: Packet, S: Spare<P>>(&mut self, side: Side, packet: &[u8], error: Error, spare: &mut S) {
        let Ok(head) = Head::read(packet, 0) else { return };
        let about_error = head.protocol == ICMP && packet.get(head.l4).is_none_or(|t| !super::icmp::is_query(*t));
        if about_error || head.offset > 0 || !super::fast::is_ordinary(head.src) {
            return;
        }
        if !self.limiter.allow(self.now, self.config.icmp_errors_per_second) {
            self.count.add(Event::IcmpSuppressed);
            return;
        }
        let quote = &packet[..packet.len().min(head.end).min(QUOTE)];
        let len = L3 + header::IPV4 + 8 + quote.len();
        // An Ethernet frame has 60 octets without FCS at least.
        let Some(mut p) = spare.fresh(len.max(60)) else {
            self.count.add(Event::NoMemory);
            return;
        };
        let (config, macs) = match side {
            Side::Customer => (&self.config.customer, &self.macs.to_customer),
            Side::Internet => (&self.config.internet, &self.macs.to_internet),
        };
        self.identification = self.identification.wrapping_add(1);
        let b = p.bytes_mut();
        if b.len() < len {
            return;
        }
        b.fill(0);
        b[..12].copy_from_slice(macs);
        put16(b, 12, header::TYPE_IPV4);
        b[L3] = 0x45;
        // Precedence "internetwork control" for errors (RFC 1812, 4.3.2.5).
        b[L3 + 1] = 0xc0;
        put16(b, L3 + 2, (len - L3) as u16);
        put16(b, L3 + 4, self.identification);
        b[L3 + 8] = TTL;
        b[L3 + 9] = ICMP;
        put32(b, L3 + 12, config.address.into());
        put32(b, L3 + 16, head.src);
        let l4 = L3 + header::IPV4;
        let sum = Sum::default().bytes(&b[L3..l4]).checksum();
        b[L3 + 10..L3 + 12].copy_from_slice(&sum);
        b[l4] = error.kind;
        b[l4 + 1] = error.code;
        put32(b, l4 + 4, error.rest);
        b[l4 + 8..len].copy_from_slice(quote);
        let sum = Sum::default().bytes(&b[l4..len]).checksum();
        b[l4 + 2..l4 + 4].copy_from_slice(&sum);
        self.count.add(Event::IcmpSent);
        spare.emit(side, p);
    }
}
