//! ICMPv6 errors through the NAT, with the packet that they quote (RFC 4443, section 3). They never
//! change state (RFC 5508, REQ-6; RFC 4787, REQ-12).

use super::Nat66;
use super::config::POOL;
use super::event::Event;
use super::packet::{Way, protocol};
use super::rewrite::{End, address, endpoint, seal};
use crate::function::{Packet, Side, Verdict};
use crate::icmp_type::v6::{ECHO, ECHO_REPLY};
use crate::ip6::Head6;
use crate::nat44::core::{Asks, Point};
use wire::checksum::Sum;
use wire::header::{ICMPV6, PROTO_UDP, TCP, be16};

/// Length in front of the quote.
const HEADER: usize = 8;

struct Quote {
    head: Head6,
    /// End before padding and extensions.
    end: usize,
    /// Ports, or an identifier for both.
    ports: [u16; 2],
}

fn quote(b: &[u8], outer: &Head6) -> Result<Quote, Event> {
    if outer.end < outer.l4 + HEADER {
        return Err(Event::BadLength);
    }
    let len = outer.end - outer.l4;
    let pseudo = Sum::default().bytes(&b[outer.l3 + 8..outer.l3 + 40]).be32(len as u32).be16(ICMPV6.into());
    if !pseudo.plus(Sum::default().bytes(&b[outer.l4..outer.end])).is_valid() {
        return Err(Event::IcmpChecksum);
    }
    let head = Head6::read(&b[..outer.end], outer.l4 + HEADER)?;
    // Padding and extensions may follow the quote, whose length is in units of eight octets (RFC 4884).
    let extended = matches!(b[outer.l4], 1 | 3) && b[outer.l4 + 4] > 0;
    let most = if extended { outer.l4 + HEADER + 8 * usize::from(b[outer.l4 + 4]) } else { outer.end };
    let end = head.end.min(outer.end).min(most);
    if head.part.is_some_and(|part| part.offset > 0) || head.l4 + 8 > end {
        return Err(Event::IcmpNoSession);
    }
    let at = |n| be16(b, head.l4 + n);
    let ports = match head.protocol {
        PROTO_UDP | TCP => [at(0), at(2)],
        ICMPV6 if matches!(b[head.l4], ECHO | ECHO_REPLY) => [at(4); 2],
        _ => return Err(Event::IcmpNoSession),
    };
    Ok(Quote { head, end, ports })
}

impl Nat66 {
    pub(super) fn error<F: Packet>(&mut self, p: &mut F, way: &Way) -> Result<Verdict, Event> {
        if way.from == Side::Customer && !way.second { self.error_out(p, way) } else { self.error_in(p, way) }
    }

    /// About a packet translated on its way in.
    fn error_out<F: Packet>(&mut self, p: &mut F, way: &Way) -> Result<Verdict, Event> {
        let (q, outer) = (quote(p.bytes(), &way.head)?, &way.head);
        let remote = self.number_of_remote(q.head.src).filter(|_| q.head.src == outer.dst);
        let (remote, own) = (remote.ok_or(Event::IcmpNoSession)?, self.customers.known(q.head.dst));
        let own = Point { addr: own.ok_or(Event::IcmpNoSession)?, port: q.ports[1] };
        let (point, hairpin) = self.seen_out(&q, own, remote).ok_or(Event::IcmpNoSession)?;
        let outside = self.address(point.addr).ok_or(Event::IcmpNoSession)?;
        let b = p.bytes_mut();
        endpoint(&mut b[..q.end], &q.head, End::Destination, outside, point.port);
        // The Internet must see only the outside address, also of a router on the way (RFC 5508, REQ-5).
        address(b, outer.l3, End::Source, outside);
        seal(&mut b[..outer.end], outer);
        if !hairpin {
            return Ok(self.depart(p, Side::Internet, Event::In2Out));
        }
        let head = Head6::of_frame(p.bytes())?;
        self.error_in(p, &Way { head, second: true, ..*way })
    }

    /// About a packet translated on its way out.
    fn error_in<F: Packet>(&mut self, p: &mut F, way: &Way) -> Result<Verdict, Event> {
        let (q, outer) = (quote(p.bytes(), &way.head)?, &way.head);
        if let Some(worker) = self.nat.owner(q.ports[0]) {
            if way.second {
                self.set_mark(p.bytes_mut());
            }
            return Ok(self.hand_over(worker));
        }
        let own = self.config.pool.number(q.head.src).filter(|_| q.head.src == outer.dst);
        let own = Point { addr: u32::from(POOL) + own.ok_or(Event::IcmpNoSession)?, port: q.ports[0] };
        let remote = self.number_of_remote(q.head.dst).ok_or(Event::IcmpNoSession)?;
        let point = self.seen_in(&q, own, remote).ok_or(Event::IcmpNoSession)?;
        let inside = self.address(point.addr).ok_or(Event::IcmpNoSession)?;
        let b = p.bytes_mut();
        endpoint(&mut b[..q.end], &q.head, End::Source, inside, point.port);
        address(b, outer.l3, End::Destination, inside);
        seal(&mut b[..outer.end], outer);
        Ok(self.depart(p, Side::Customer, if way.second { Event::Hairpinned } else { Event::Out2In }))
    }

    fn number_of_remote(&self, addr: u128) -> Option<u32> {
        let outside = self.config.pool.number(addr).map(|n| u32::from(POOL) + n);
        outside.or_else(|| self.remotes.known(addr))
    }

    fn seen_out(&mut self, q: &Quote, own: Point, remote: u32) -> Option<(Point, bool)> {
        let remote = Point { addr: remote, port: q.ports[0] };
        self.nat.seen_out(&Asks { protocol: protocol(&q.head), own, remote, flags: 0, hairpin: false })
    }

    fn seen_in(&mut self, q: &Quote, own: Point, remote: u32) -> Option<Point> {
        let remote = Point { addr: remote, port: q.ports[1] };
        self.nat.seen_in(&Asks { protocol: protocol(&q.head), own, remote, flags: 0, hairpin: false })
    }
}
