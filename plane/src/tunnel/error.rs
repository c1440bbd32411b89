//! Errors about dropped packets: to the IPv4 packet's sender, or the tunnel packet's (RFC 1812,
//! 4.3.2.7; RFC 4443, 2.4).

use super::points::{IcmpKind, is_unicast6, kind};
use super::{L3, OVERHEAD, Tunnel};
use crate::event::Event;
use crate::function::{Packet, Spare, fresh};
use crate::icmp_error::{Error, HEADERS4, HEADERS6, QUOTE4, QUOTE6};
use crate::ip4::{Fault, Head4, is_ordinary};
use crate::ip6::be128;
use crate::strategy::Softwires;
use wire::checksum::Sum;
use wire::header::{self, ICMP, ICMPV6, IPV6};

/// Source address failed ingress or egress policy.
pub(super) const SOURCE_POLICY: Error = Error::new(1, 5);
/// Reassembly time exceeded (RFC 8200, section 4.5).
pub(super) const REASSEMBLY_TIME: Error = Error::new(3, 1);

/// Erroneous header field (RFC 4443, 3.4).
pub(super) fn parameter_problem(pointer: usize) -> Error {
    Error { kind: 4, code: 0, rest: pointer as u32 }
}

/// Unrecognized IPv6 option (RFC 4443, 3.4).
pub(super) fn unknown_option(pointer: usize) -> Error {
    Error { kind: 4, code: 2, rest: pointer as u32 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub why: Event,
    pub answer: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    /// Error about the IPv4 packet.
    Inner(Error),
    /// Error about the tunnel packet.
    Outer(Error),
}

impl From<Event> for Refusal {
    fn from(why: Event) -> Refusal {
        Refusal { why, answer: Answer::Nothing }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Event::from(fault).into()
    }
}

pub(super) fn inner(why: Event, error: Error) -> Refusal {
    Refusal { why, answer: Answer::Inner(error) }
}

pub(super) fn outer(why: Event, error: Error) -> Refusal {
    Refusal { why, answer: Answer::Outer(error) }
}

impl<S: Softwires> Tunnel<S> {
    /// About the IPv4 packet `about`: inside the tunnel with these ends, or on the IPv4 side. True when it was sent.
    pub(super) fn reply4<P: Packet>(
        &mut self,
        tunnel: Option<(u128, u128)>,
        about: &[u8],
        error: Error,
        spare: &mut dyn Spare<P>,
    ) -> bool {
        let Ok(head) = Head4::sealed(about, 0) else { return false };
        let about_error = head.protocol == ICMP && about.get(head.l4).is_none_or(|t| kind(*t) != IcmpKind::Query);
        if about_error || head.offset > 0 || !is_ordinary(head.src) || !is_ordinary(head.dst) || !self.may_send() {
            return false;
        }
        let quote = &about[..about.len().min(head.end).min(QUOTE4)];
        let l3 = if tunnel.is_some() { L3 + OVERHEAD } else { L3 };
        let len = l3 + HEADERS4 + quote.len();
        let Some(mut p) = self.fresh(len, spare) else { return false };
        let id = self.identification() as u16;
        let b = p.bytes_mut();
        let from = if tunnel.is_some() { self.config.inner_address } else { self.config.v4.address };
        error.write4(&mut b[l3..len], from.into(), head.src, id, quote);
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

    /// Sends an error about the IPv6 packet `about`.
    pub(super) fn reply6<P: Packet>(&mut self, about: &[u8], error: Error, spare: &mut dyn Spare<P>) {
        if about.len() < IPV6 || !is_unicast6(be128(about, 8)) || !self.may_send() {
            return;
        }
        let quote = &about[..about.len().min(QUOTE6)];
        let len = L3 + HEADERS6 + quote.len();
        let Some(mut p) = self.fresh(len, spare) else { return };
        let b = p.bytes_mut();
        b[..L3].copy_from_slice(&self.plan.v6.leaving);
        error.write6(&mut b[L3..len], self.config.v6.address.to_bits(), be128(about, 8), quote);
        spare.emit(self.config.ipv6, p);
    }

    /// Whether an error may be sent; counts either way.
    fn may_send(&mut self) -> bool {
        let may = self.limiter.allow(self.now, self.config.icmp_errors_per_second);
        self.count.add(if may { Event::IcmpSent } else { Event::IcmpSuppressed });
        may
    }

    fn fresh<P: Packet>(&mut self, len: usize, spare: &mut dyn Spare<P>) -> Option<P> {
        let p = fresh(spare, len);
        if p.is_none() {
            self.count.add(Event::NoMemory);
        }
        p
    }
}

/// Checksum and pseudo header included (RFC 8200, section 8.1).
pub(super) fn sum6(b: &[u8], l3: usize, l4: usize, end: usize) -> Sum {
    let addresses = &b[l3 + 8..l3 + header::IPV6];
    Sum::default().bytes(addresses).be32((end - l4) as u32).be16(ICMPV6.into()).bytes(&b[l4..end])
}
