//! ICMP through the NAT (RFC 5508): queries by identifier, and errors with the packet that they quote. Errors never
//! change state (REQ-6; RFC 4787, REQ-12).

use super::Nat44;
use super::counters::Event;
use super::rewrite::{End, address, endpoint as change, has_sessions};
use super::session::{HAIRPIN, addr, endpoint, protocol};
use crate::function::{Packet, Side, Verdict};
use crate::ip4::{Fault, Head4};
use wire::checksum::Sum;
use wire::header::{ICMP, PROTO_UDP, TCP};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IcmpKind {
    /// Echo, timestamp, information, address mask request.
    Query,
    Reply,
    /// Unreachable, source quench, time exceeded, parameter problem.
    Error,
    /// Everything else: redirect, router discovery, … (RFC 5508, REQ-11).
    Other,
}

pub(super) fn kind(icmp_type: u8) -> IcmpKind {
    match icmp_type {
        8 | 13 | 15 | 17 => IcmpKind::Query,
        0 | 14 | 16 | 18 => IcmpKind::Reply,
        3 | 4 | 11 | 12 => IcmpKind::Error,
        _ => IcmpKind::Other,
    }
}

pub(super) fn is_query(icmp_type: u8) -> bool {
    matches!(kind(icmp_type), IcmpKind::Query | IcmpKind::Reply)
}

struct Quote {
    head: Head4,
    /// End before padding and extensions.
    end: usize,
    source: u64,
    destination: u64,
}

/// Reads the quoted packet (RFC 5508, REQ-3).
fn quote(b: &[u8], outer: &Head4) -> Result<Quote, Event> {
    let message = &b[..outer.end];
    if outer.is_fragment() || !Sum::default().bytes(&message[outer.l4..]).is_valid() {
        return Err(Event::IcmpChecksum);
    }
    let head = Head4::sealed(message, outer.l4 + 8).map_err(|e| match e {
        Fault::Checksum => Event::IcmpChecksum,
        other => other.into(),
    })?;
    // Padding and extensions may follow the quote, whose length is in words of four octets (RFC 4884).
    let stated = usize::from(message[outer.l4 + 5]) * 4;
    let room = if stated > 0 { (outer.l4 + 8 + stated).min(outer.end) } else { outer.end };
    let end = room.min(head.end);
    if end < head.l4 + 8 {
        return Err(Event::Short);
    }
    if head.offset > 0 {
        return Err(Event::IcmpNoSession);
    }
    let (source, destination) = match head.protocol {
        PROTO_UDP | TCP => (head.source(message), head.destination(message)),
        ICMP if is_query(message[head.l4]) => {
            // The identifier belongs to the end that sent the query.
            let id = head.identifier(message);
            let asked = kind(message[head.l4]) == IcmpKind::Query;
            let (s, d) = if asked { (id, 0) } else { (0, id) };
            (endpoint(head.src, s, ICMP), endpoint(head.dst, d, ICMP))
        }
        ICMP => return Err(Event::IcmpNoSession),
        other => (endpoint(head.src, 0, other), endpoint(head.dst, 0, other)),
    };
    Ok(Quote { head, end, source, destination })
}

impl Nat44 {
    /// About a packet translated on its way in.
    pub(super) fn error_out<P: Packet>(&mut self, p: &mut P, outer: &Head4) -> Result<Verdict, Event> {
        let q = quote(p.bytes(), outer)?;
        let (inside, remote) = (q.destination, q.source & super::session::ADDR_PORT);
        if let Some(worker) = self.owner_inside(inside) {
            return Ok(self.hand_over(worker));
        }
        let found = self.quoted_outside(inside, remote).filter(|_| addr(remote) == outer.dst);
        let (outside, hairpin) = found.ok_or(Event::IcmpNoSession)?;
        self.fits(outer, if hairpin { Side::Customer } else { Side::Internet })?;
        let b = p.bytes_mut();
        change(&mut b[..q.end], q.head.l3, q.head.l4, End::Destination, outside);
        // The Internet must see only the outside address, also of a router on the way (RFC 5508, REQ-5).
        address(b, outer.l3, End::Source, addr(outside));
        seal(&mut b[outer.l4..outer.end]);
        if !hairpin {
            return Ok(self.depart(p, Side::Internet, Event::In2Out));
        }
        let outer = Head4::of_frame(p.bytes())?;
        self.error_in(p, &outer, true)
    }

    /// About a packet translated on its way out.
    pub(super) fn error_in<P: Packet>(&mut self, p: &mut P, outer: &Head4, hairpin: bool) -> Result<Verdict, Event> {
        let q = quote(p.bytes(), outer)?;
        let (outside, remote) = (q.source, q.destination & super::session::ADDR_PORT);
        if let Some(worker) = self.owner_outside(outside) {
            if hairpin {
                self.set_mark(p.bytes_mut());
            }
            return Ok(self.hand_over(worker));
        }
        let found = self.quoted_inside(outside, remote).filter(|_| addr(outside) == outer.dst);
        let inside = found.ok_or(Event::IcmpNoSession)?;
        self.fits(outer, Side::Customer)?;
        let b = p.bytes_mut();
        change(&mut b[..q.end], q.head.l3, q.head.l4, End::Source, inside);
        address(b, outer.l3, End::Destination, addr(inside));
        seal(&mut b[outer.l4..outer.end]);
        Ok(self.depart(p, Side::Customer, if hairpin { Event::Hairpinned } else { Event::Out2In }))
    }

    /// The outside end point of a packet from `remote`, and whether that is a customer.
    fn quoted_outside(&mut self, inside: u64, remote: u64) -> Option<(u64, bool)> {
        if !has_sessions(protocol(inside)) {
            let outside = self.whole_outside(addr(inside), addr(remote))?;
            return Some((endpoint(outside, 0, protocol(inside)), self.pool.contains(addr(remote))));
        }
        let e = self.find_inner(self.hash(inside, remote), inside, remote)?;
        let s = &self.sessions.slab[e];
        Some((s.outside, s.flags() & HAIRPIN != 0))
    }

    /// The inside end point of a packet to `remote`.
    fn quoted_inside(&mut self, outside: u64, remote: u64) -> Option<u64> {
        if !has_sessions(protocol(outside)) {
            let inside = self.whole_inside(addr(outside), addr(remote))?;
            return Some(endpoint(inside, 0, protocol(outside)));
        }
        let e = self.find_outer(self.hash(outside, remote), outside, remote)?;
        Some(self.sessions.slab[e].inside)
    }
}

/// The checksum has been verified, so this hides no damage.
fn seal(message: &mut [u8]) {
    message[2..4].fill(0);
    let sum = Sum::default().bytes(message).checksum();
    message[2..4].copy_from_slice(&sum);
}
