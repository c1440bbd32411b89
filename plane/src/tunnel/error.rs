//! ICMP errors that a tunnel end sends itself: to the sender of an IPv4 packet, on the link or inside its tunnel, and to the
//! sender of a tunnel packet. Rate limited, and never about what no error may be about (RFC 1812, 4.3.2.7; RFC 4443, 2.4).

use super::fast::LEAST_FRAME;
use super::head4::{Head4, Kind, is_ordinary, is_unicast6, kind};
use super::{L3, OVERHEAD, Tunnel};
use crate::ends::Softwires;
use crate::event::Event;
use crate::function::{Packet, Spare};
use crate::ip6::{be128, put128};
use wire::checksum::Sum;
use wire::header::{self, ICMP, ICMPV6, IPV4, IPV6, put16, put32};

/// Octets of the offending packet that are quoted, so that an IPv4 error is 576 octets at most (RFC 1812, 4.3.2.3), and an
/// IPv6 one 1280 (RFC 4443, 3.1).
const QUOTE4: usize = 576 - IPV4 - 8;
const QUOTE6: usize = 1280 - IPV6 - 8;
/// Time to live of what this end sends itself.
const TTL: u8 = 64;
/// Errors that may be sent at once after a rest.
const BURST: u64 = 32;

/// Type, code and the four bytes after the checksum of an ICMP or ICMPv6 error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// Rest of the header: MTU, pointer or zero.
    pub rest: u32,
}

/// ICMP: TTL ran out on the way.
pub const TIME_EXCEEDED: Error = Error { kind: 11, code: 0, rest: 0 };
/// ICMP: host unreachable.
pub const HOST_UNREACHABLE: Error = Error { kind: 3, code: 1, rest: 0 };
/// ICMPv6: source address failed ingress or egress policy.
pub const SOURCE_POLICY: Error = Error { kind: 1, code: 5, rest: 0 };
/// ICMPv6: the rest of a datagram did not come (RFC 8200, section 4.5).
pub const REASSEMBLY_TIME: Error = Error { kind: 3, code: 1, rest: 0 };

/// ICMP: too large for the next link and not to be fragmented (RFC 1191).
pub fn fragmentation_needed(mtu: usize) -> Error {
    Error { kind: 3, code: 4, rest: mtu as u32 }
}

/// ICMPv6: a header field that cannot be (RFC 4443, 3.4).
pub fn parameter_problem(pointer: usize) -> Error {
    Error { kind: 4, code: 0, rest: pointer as u32 }
}

/// Why a packet is dropped, and who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: Event,
    /// What is sent.
    pub answer: Answer,
}

/// What is sent about a dropped packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// An ICMP error about the IPv4 packet.
    Inner(Error),
    /// An ICMPv6 error about the tunnel packet.
    Outer(Error),
}

impl From<Event> for Refusal {
    fn from(why: Event) -> Refusal {
        Refusal { why, answer: Answer::Nothing }
    }
}

/// A refusal that the sender of the IPv4 packet hears of.
pub fn inner(why: Event, error: Error) -> Refusal {
    Refusal { why, answer: Answer::Inner(error) }
}

/// A refusal that the sender of the tunnel packet hears of.
pub fn outer(why: Event, error: Error) -> Refusal {
    Refusal { why, answer: Answer::Outer(error) }
}

/// Limits the rate of errors (RFC 1812, 4.3.2.8; RFC 4443, 2.4 f).
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

impl<S: Softwires> Tunnel<S> {
    /// Send an ICMP error about the IPv4 packet `about` to its sender: inside the tunnel with these ends, or else on the IPv4
    /// side. True when it was sent.
    pub(super) fn reply4<P: Packet, Q: Spare<P>>(
        &mut self,
        tunnel: Option<(u128, u128)>,
        about: &[u8],
        error: Error,
        spare: &mut Q,
    ) -> bool {
        let Ok(head) = Head4::read(about, 0) else { return false };
        let about_error = head.protocol == ICMP && about.get(head.l4).is_none_or(|t| kind(*t) != Kind::Query);
        if about_error || head.offset > 0 || !is_ordinary(head.src) || !is_ordinary(head.dst) || !self.may_send() {
            return false;
        }
        let quote = &about[..about.len().min(head.end).min(QUOTE4)];
        let l3 = if tunnel.is_some() { L3 + OVERHEAD } else { L3 };
        let l4 = l3 + IPV4;
        let len = l4 + 8 + quote.len();
        let Some(mut p) = self.fresh(len, spare) else { return false };
        let id = self.identification() as u16;
        let b = p.bytes_mut();
        let from = if tunnel.is_some() { self.config.inner_address } else { self.config.v4.address };
        b[l3] = 0x45;
        // Precedence "internetwork control" for errors (RFC 1812, 4.3.2.5).
        b[l3 + 1] = 0xc0;
        put16(b, l3 + 2, (len - l3) as u16);
        put16(b, l3 + 4, id);
        b[l3 + 8] = TTL;
        b[l3 + 9] = ICMP;
        put32(b, l3 + 12, from.into());
        put32(b, l3 + 16, head.src);
        let sum = Sum::default().bytes(&b[l3..l4]).checksum();
        b[l3 + 10..l3 + 12].copy_from_slice(&sum);
        b[l4] = error.kind;
        b[l4 + 1] = error.code;
        put32(b, l4 + 4, error.rest);
        b[l4 + 8..len].copy_from_slice(quote);
        let sum = Sum::default().bytes(&b[l4..len]).checksum();
        b[l4 + 2..l4 + 4].copy_from_slice(&sum);
        let to = if let Some((src, dst)) = tunnel {
            let first = self.first_word_for(b, l3, false);
            self.outer_header(b, first, (len - l3) as u16, src, dst);
            self.config.ipv6
        } else {
            b[..L3].copy_from_slice(&self.plan.v4.leaving);
            self.ipv4()
        };
        spare.emit(to, p);
        true
    }

    /// Send an ICMPv6 error about the IPv6 packet `about` to its sender.
    pub(super) fn reply6<P: Packet, Q: Spare<P>>(&mut self, about: &[u8], error: Error, spare: &mut Q) {
        if about.len() < IPV6 || !is_unicast6(be128(about, 8)) || !self.may_send() {
            return;
        }
        let quote = &about[..about.len().min(QUOTE6)];
        let l4 = L3 + IPV6;
        let len = l4 + 8 + quote.len();
        let Some(mut p) = self.fresh(len, spare) else { return };
        let b = p.bytes_mut();
        b[..L3].copy_from_slice(&self.plan.v6.leaving);
        b[L3] = 0x60;
        put16(b, L3 + 4, (len - l4) as u16);
        b[L3 + 6] = ICMPV6;
        b[L3 + 7] = TTL;
        put128(b, L3 + 8, self.config.v6.address.to_bits());
        put128(b, L3 + 24, be128(about, 8));
        b[l4] = error.kind;
        b[l4 + 1] = error.code;
        put32(b, l4 + 4, error.rest);
        b[l4 + 8..len].copy_from_slice(quote);
        let sum = sum6(b, L3, l4, len).checksum();
        b[l4 + 2..l4 + 4].copy_from_slice(&sum);
        spare.emit(self.config.ipv6, p);
    }

    /// Whether the rate allows an error now; counts it either way.
    fn may_send(&mut self) -> bool {
        let may = self.limiter.allow(self.now, self.config.icmp_errors_per_second);
        self.count.add(if may { Event::IcmpSent } else { Event::IcmpSuppressed });
        may
    }

    /// A fresh frame of zeros, at least as long as a frame must be.
    fn fresh<P: Packet, Q: Spare<P>>(&mut self, len: usize, spare: &mut Q) -> Option<P> {
        let want = len.max(LEAST_FRAME);
        let p = spare.fresh(want).filter(|p| p.bytes().len() == want).map(|mut p| {
            p.bytes_mut().fill(0);
            p
        });
        if p.is_none() {
            self.count.add(Event::NoMemory);
        }
        p
    }
}

/// The sum over an ICMPv6 message and its pseudo header (RFC 8200, section 8.1), checksum field included.
pub fn sum6(b: &[u8], l3: usize, l4: usize, end: usize) -> Sum {
    let addresses = &b[l3 + 8..l3 + header::IPV6];
    Sum::default().bytes(addresses).be32((end - l4) as u32).be16(ICMPV6.into()).bytes(&b[l4..end])
}
