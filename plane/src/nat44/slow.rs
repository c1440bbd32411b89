//! The slow path: packets one by one, with all checks in a router's order (RFC 1812, 5.2), so that
//! each drop has one reason.

use super::counters::Event;
use super::icmp::{IcmpKind, kind};
use super::reply;
use super::rewrite::{End, L3, endpoint as change, has_sessions, leave};
use super::session::{ADDR_PORT, HAIRPIN, addr, endpoint, port};
use super::{Nat44, tcp};
use crate::function::{Packet, Side, Spare, Verdict};
use crate::icmp_error::{Error, TIME_EXCEEDED};
use crate::ip4::{Head4, is_ordinary};
use crate::original_id;
use wire::header::{self, ICMP, PROTO_UDP, TCP, be16};

impl Nat44 {
    pub(super) fn slow<P: Packet>(&mut self, from: Side, p: &mut P, spare: &mut dyn Spare<P>) -> Verdict {
        let result = self.link(from, p).and_then(|head| match head {
            None => Ok(self.local()),
            Some(head) => self.network(from, p, &head, spare),
        });
        match result {
            Ok(v) => v,
            Err(why) => {
                if let Some(error) = self.due(from, p.bytes(), why) {
                    self.reply(from, &p.bytes()[L3..], error, spare);
                }
                self.count.add(why);
                Verdict::Drop
            }
        }
    }

    fn due(&self, from: Side, b: &[u8], why: Event) -> Option<Error> {
        let egress = if from == Side::Customer { self.config.internet.mtu } else { self.config.customer.mtu };
        match why {
            Event::TtlExpired => Some(TIME_EXCEEDED),
            // Hairpinned packets go back to the customers.
            Event::TooBig => {
                let back = from == Side::Customer && self.pool.contains(header::be32(b, L3 + 16));
                let customer = self.config.customer.mtu;
                Some(Error::fragmentation_needed(u32::from(match back {
                    // The port identifies the customer, so the side is unknown: report the smaller MTU.
                    true if self.config.shares_addresses() => customer.min(egress),
                    true => customer,
                    false => egress,
                })))
            }
            // A customer is to read port unreachable, which is code 4 in ICMPv6 (RFC 6146, section 3.4).
            Event::Protocol if self.config.rfc6146 && from == Side::Customer => Some(reply::PORT_UNREACHABLE),
            Event::Protocol if self.config.rfc6146 => Some(reply::PROTOCOL_UNREACHABLE),
            // Others learn nothing about free resources.
            Event::TableFull | Event::MappingFull | Event::NoPort | Event::Quota
                if from == Side::Customer && self.is_inside(header::be32(b, L3 + 12)) =>
            {
                Some(reply::HOST_UNREACHABLE)
            }
            _ => None,
        }
    }

    fn link<P: Packet>(&self, from: Side, p: &P) -> Result<Option<Head4>, Event> {
        let b = p.bytes();
        if b.len() < header::ETH {
            return Err(Event::Short);
        }
        let own = self.link_of(from).own;
        let group = b[0] & 1 == 1;
        if !group && !own.receives(b) {
            return Err(Event::OtherMac);
        }
        if be16(b, 12) != header::TYPE_IPV4 {
            return Ok(None);
        }
        if group {
            return Err(Event::LinkMulticast);
        }
        Head4::of_frame(b).map(Some)
    }

    fn network<P: Packet>(
        &mut self,
        from: Side,
        p: &mut P,
        head: &Head4,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        // Our own source or, from the Internet, a customer's is forged (RFC 2827).
        let pretends = match from {
            // The other half has the same address.
            Side::Customer if self.config.numbered.is_some() => false,
            Side::Customer => self.is_side(head.src) && !self.pool.contains(head.src),
            Side::Internet => self.pretends(p.bytes(), head),
        };
        if pretends || !is_ordinary(head.src) {
            return Err(Event::MartianSource);
        }
        if head.dst >> 28 == 0xe {
            return Err(Event::Multicast);
        }
        if !is_ordinary(head.dst) {
            return Err(Event::MartianDestination);
        }
        let settled = self.is_marked(p.bytes());
        let to_pool = self.pool.contains(head.dst);
        if !to_pool && self.is_own(head.dst) {
            return Ok(self.local());
        }
        // The worker that did the first half has sent it.
        let second_half = from == Side::Customer && settled && to_pool && self.pool.contains(head.src);
        match from {
            Side::Customer if second_half => {}
            Side::Customer if !self.is_inside(head.src) => return Err(Event::NotInside),
            Side::Customer => {}
            Side::Internet if to_pool || self.is_exempt(p.bytes(), head, from) => {}
            Side::Internet => return Err(Event::NotPool),
        }
        if head.ttl <= 1 {
            return Err(Event::TtlExpired);
        }
        if !second_half && self.is_exempt(p.bytes(), head, from) {
            self.fits(head, from.other())?;
            let v = self.depart(p, from.other(), Event::Untranslated);
            return self.cut(p, v, spare);
        }
        if !has_sessions(head.protocol) {
            let v = self.pass_whole(from, p, head)?;
            return self.cut(p, v, spare);
        }
        if head.is_fragment() {
            let result = self.fragment(from, p, head, settled, spare);
            if result.is_err() && from == Side::Customer {
                // ICMP errors quote the packet as it was sent.
                original_id::identify(p.bytes_mut(), head.id);
            }
            return result;
        }
        let v = self.translate(from, p, head)?;
        self.identify_whole(from, p.bytes_mut(), head, v);
        self.cut(p, v, spare)
    }

    pub(super) fn translate<P: Packet>(&mut self, from: Side, p: &mut P, head: &Head4) -> Result<Verdict, Event> {
        match from {
            Side::Customer if self.is_inside(head.src) => self.outbound(p, head),
            // Only hairpins arrive from the customers' side with a source that is not inside.
            Side::Customer => self.inbound(p, head, true),
            Side::Internet => self.inbound(p, head, false),
        }
    }

    fn outbound<P: Packet>(&mut self, p: &mut P, head: &Head4) -> Result<Verdict, Event> {
        let b = p.bytes();
        let (inside, remote) = match head.protocol {
            PROTO_UDP | TCP => {
                head.transport(b)?;
                (head.source(b), head.destination(b) & ADDR_PORT)
            }
            ICMP => {
                head.transport(b)?;
                match kind(b[head.l4]) {
                    IcmpKind::Query => (endpoint(head.src, head.identifier(b), ICMP), endpoint(head.dst, 0, 0)),
                    // The answer to a query that came in.
                    IcmpKind::Reply if self.answers_queries(endpoint(head.src, head.identifier(b), ICMP)) => {
                        (endpoint(head.src, head.identifier(b), ICMP), endpoint(head.dst, 0, 0))
                    }
                    IcmpKind::Error => return self.error_out(p, head),
                    IcmpKind::Reply | IcmpKind::Other => return Err(Event::IcmpOther),
                }
            }
            _ => return Err(Event::Protocol),
        };
        if let Some(worker) = self.owner_inside(inside) {
            return Ok(self.hand_over(worker));
        }
        let flags = if head.protocol == TCP { b[head.l4 + 13] } else { 0 };
        let hairpin = match head.protocol {
            ICMP => self.pool.contains(head.dst),
            _ => self.is_own_point(head.dst, port(remote)),
        };
        if hairpin && !self.config.hairpinning {
            return Err(Event::Hairpin);
        }
        let target = match head.protocol {
            ICMP if hairpin => self.query_target(inside, head.dst).ok_or(Event::IcmpOther)?,
            _ => remote | inside & !ADDR_PORT,
        };
        self.fits(head, if hairpin { Side::Customer } else { Side::Internet })?;
        let reply = head.protocol == ICMP && kind(b[head.l4]) == IcmpKind::Reply;
        let e = self.session_out(inside, remote, flags, reply, hairpin)?;
        let s = self.sessions.slab[e];
        change(&mut p.bytes_mut()[..head.end], head.l3, head.l4, End::Source, s.outside);
        if s.flags() & HAIRPIN == 0 {
            return Ok(self.depart(p, Side::Internet, Event::In2Out));
        }
        if let Some(worker) = self.owner_outside(target) {
            self.set_mark(p.bytes_mut());
            return Ok(self.hand_over(worker));
        }
        let head = Head4 { src: addr(s.outside), ..*head };
        self.inbound(p, &head, true)
    }

    fn inbound<P: Packet>(&mut self, p: &mut P, head: &Head4, hairpin: bool) -> Result<Verdict, Event> {
        let b = p.bytes();
        let (outside, remote) = match head.protocol {
            PROTO_UDP | TCP => {
                head.transport(b)?;
                (head.destination(b), head.source(b) & ADDR_PORT)
            }
            ICMP => {
                head.transport(b)?;
                match kind(b[head.l4]) {
                    IcmpKind::Reply => (endpoint(head.dst, head.identifier(b), ICMP), endpoint(head.src, 0, 0)),
                    IcmpKind::Query if self.takes_queries(endpoint(head.dst, head.identifier(b), ICMP)) => {
                        (endpoint(head.dst, head.identifier(b), ICMP), endpoint(head.src, 0, 0))
                    }
                    IcmpKind::Error => return self.error_in(p, head, hairpin),
                    IcmpKind::Query => return Err(Event::NoSession),
                    IcmpKind::Other => return Err(Event::IcmpOther),
                }
            }
            _ => return Err(Event::Protocol),
        };
        if let Some(worker) = self.owner_outside(outside) {
            return Ok(self.hand_over(worker));
        }
        let flags = if head.protocol == TCP { b[head.l4 + 13] } else { 0 };
        self.fits(head, Side::Customer)?;
        let query = head.protocol == ICMP && kind(b[head.l4]) == IcmpKind::Query;
        let e = match self.session_in(outside, remote, flags, query, hairpin) {
            // A customer may still open a connection to this host.
            Err(Event::NoSession | Event::Filtered) if head.protocol == TCP && tcp::opens(flags) => {
                self.pending_syns.hold(self.now, (outside, remote), &p.bytes()[L3..head.end]);
                return Err(Event::SynHeld);
            }
            other => other?,
        };
        let inside = self.sessions.slab[e].inside;
        change(&mut p.bytes_mut()[..head.end], head.l3, head.l4, End::Destination, inside);
        Ok(self.depart(p, Side::Customer, if hairpin { Event::Hairpinned } else { Event::Out2In }))
    }

    /// Whether the packet passes untranslated (RFC 6888, REQ-6).
    fn is_exempt(&self, b: &[u8], head: &Head4, from: Side) -> bool {
        let (remote, inside, at) =
            if from == Side::Customer { (head.dst, head.src, 2) } else { (head.src, head.dst, 0) };
        self.config.untranslated.iter().any(|x| {
            x.remote.contains(remote)
                && self.is_inside(inside)
                && x.ports.is_none_or(|range| {
                    let ports = matches!(head.protocol, PROTO_UDP | TCP) && !head.is_fragment();
                    ports && head.transport(b).is_ok() && range.contains(be16(b, head.l4 + at))
                })
        })
    }

    /// A gateway that shares the address differs by port; packets without ports are taken to be its.
    fn pretends(&self, b: &[u8], head: &Head4) -> bool {
        if !self.config.shares_addresses() || !self.pool.contains(head.src) {
            return self.is_own(head.src);
        }
        let ports = matches!(head.protocol, PROTO_UDP | TCP) && head.offset == 0 && head.transport(b).is_ok();
        ports && self.is_own_point(head.src, be16(b, head.l4))
    }

    /// Whether the packet fits the MTU (RFC 4787, REQ-13).
    pub(super) fn fits(&self, head: &Head4, to: Side) -> Result<(), Event> {
        if head.df && head.end - head.l3 > self.mtu(to) { Err(Event::TooBig) } else { Ok(()) }
    }

    pub(super) fn mtu(&self, side: Side) -> usize {
        if side == Side::Customer { self.mtu.customer } else { self.mtu.internet }
    }

    pub(super) fn depart<P: Packet>(&mut self, p: &mut P, to: Side, event: Event) -> Verdict {
        let macs = &self.link_of(to).leaving;
        leave(p.bytes_mut(), macs);
        self.count.add(event);
        Verdict::Forward(to)
    }

    fn local(&mut self) -> Verdict {
        self.count.add(Event::Local);
        Verdict::Local
    }

    pub(super) fn hand_over(&mut self, worker: u16) -> Verdict {
        self.count.add(Event::HandedOver);
        Verdict::HandOver(worker)
    }

    /// Hairpins and fragments would otherwise be handed over for ever. The mark, the Ethernet
    /// source, is derived from the seed, so that an outsider cannot forge it.
    pub(super) fn set_mark(&self, b: &mut [u8]) {
        b[6..12].copy_from_slice(&self.mark);
    }

    fn is_marked(&self, b: &[u8]) -> bool {
        !self.workers.is_alone() && b[6..12] == self.mark
    }
}
