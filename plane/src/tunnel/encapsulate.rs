//! The slow path into tunnels, with all checks in a router's order (RFC 1812, 5.2), so that each drop has one reason.

use super::config::{InboundIcmp, Oversize};
use super::error::{self, Answer, Refusal};
use super::{L3, OVERHEAD, Tunnel, address};
use crate::event::Event;
use crate::fragment::{Buffer, Key, Ports, Whose};
use crate::function::{Packet, Side, Spare, Verdict, decide_copy};
use crate::icmp_error::{Error, HOST_UNREACHABLE, TIME_EXCEEDED};
use crate::ip4::{Head4, is_ordinary};
use crate::original_id;
use crate::side::OwnMac;
use crate::strategy::{Point4, Softwires, Wrap};
use wire::header::{self, ICMP, PROTO_UDP, TCP, be16};

impl<S: Softwires> Tunnel<S> {
    #[cold]
    #[inline(never)]
    pub(super) fn slow_in<F: Packet, P: Packet>(&mut self, p: &mut F, spare: &mut dyn Spare<P>) -> Verdict {
        let result = match self.link4(p.bytes()) {
            Err(why) => Err(why.into()),
            Ok(None) => Ok(self.local()),
            Ok(Some(head)) => self.ipv4_in(p, &head, spare),
        };
        result.unwrap_or_else(|refusal| {
            if let Answer::Inner(error) = refusal.answer {
                original_id::restore(self.config.v4.mac, p.bytes_mut());
                self.reply4(None, &p.bytes()[L3..], error, spare);
            }
            self.count.add(refusal.why);
            Verdict::Drop
        })
    }

    fn link4(&self, b: &[u8]) -> Result<Option<Head4>, Event> {
        if !is_ours(b, self.plan.v4.own)? && be16(b, 12) == header::TYPE_IPV4 {
            return Err(Event::LinkMulticast);
        }
        if be16(b, 12) != header::TYPE_IPV4 {
            return Ok(None);
        }
        let head = Head4::whole(b, L3)?;
        head.without_route(b)?;
        Ok(Some(head))
    }

    fn ipv4_in<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        head: &Head4,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Refusal> {
        addresses(head)?;
        if head.src == u32::from(self.config.v4.address) {
            return Err(Event::MartianSource.into());
        }
        if head.dst == u32::from(self.config.v4.address) {
            return Ok(self.local());
        }
        if head.ttl <= self.plan.last_hop {
            return Err(error::inner(Event::HopLimit, TIME_EXCEEDED));
        }
        if head.protocol == ICMP && !self.plan.ce && !self.lets_in(p.bytes(), head) {
            return Err(Event::IcmpFiltered.into());
        }
        let mut points = head.points(p.bytes())?;
        let mut tracked = None;
        let (customer, remote) = self.ends_in(points.map(without_port));
        let wrap = if head.is_fragment() {
            match self.softwires.wrap(customer, remote) {
                Err(Event::OutsidePortSet) if has_ports(head.protocol) => {
                    let key = head.key(0);
                    let shown = points.map(|p| p.port);
                    match self.whose(key, p.bytes(), head, shown)? {
                        Whose::Not(v) => return Ok(v),
                        Whose::Known(ports) => set_ports(&mut points, ports),
                    }
                    tracked = (head.offset == 0).then_some(key);
                    self.find(points)
                }
                other => other,
            }
        } else {
            self.find(points)
        };
        let result = wrap.map_err(|why| self.refuse_unmapped(why, head)).and_then(|w| self.put_in(p, head, w, spare));
        if let Some(key) = tracked {
            self.let_go(&key, self.ipv4(), spare);
        }
        if result.is_ok() {
            self.count.add(Event::ToIpv6);
        }
        result
    }

    pub(super) fn find(&self, points: [Point4; 2]) -> Result<Wrap, Event> {
        let (customer, remote) = self.ends_in(points);
        self.softwires.wrap(customer, remote)
    }

    pub(super) fn refuse_unmapped(&self, why: Event, head: &Head4) -> Refusal {
        // A shared address without a port has no softwire: the drop reason is the protocol.
        let why = if why == Event::OutsidePortSet && !has_ports(head.protocol) { Event::Protocol } else { why };
        if self.config.answer_unknown { error::inner(why, HOST_UNREACHABLE) } else { why.into() }
    }

    /// The type of later fragments is unknown.
    fn lets_in(&self, b: &[u8], head: &Head4) -> bool {
        match self.config.inbound_icmp {
            InboundIcmp::All => true,
            InboundIcmp::Errors => head.is_icmp_error(b),
            InboundIcmp::Nothing => false,
        }
    }

    /// A hash selects the worker that knows them.
    pub(super) fn whose(&mut self, key: Key, frame: &[u8], head: &Head4, shown: Ports) -> Result<Whose, Event> {
        if let Some(w) = self.elsewhere(|workers| key.worker(workers)) {
            return Ok(Whose::Not(w));
        }
        self.tracker.whose(self.now, key, head.piece(), shown, frame, &mut self.count)
    }

    /// `None` if `which` selects this worker.
    pub(super) fn elsewhere(&mut self, which: impl FnOnce(u16) -> u16) -> Option<Verdict> {
        if self.workers == 1 {
            return None;
        }
        let w = which(self.workers);
        if w == self.own {
            return None;
        }
        self.count.add(Event::HandedOver);
        Some(Verdict::HandOver(w))
    }

    pub(super) fn let_go<P: Packet>(&mut self, key: &Key, from: Side, spare: &mut dyn Spare<P>) {
        for kept in self.tracker.take_kept(key) {
            self.resume(from, Buffer::copy(&kept.bytes), spare);
        }
    }

    /// Decides for a packet outside the caller's frames.
    pub(super) fn resume<P: Packet>(&mut self, from: Side, mut p: Buffer, spare: &mut dyn Spare<P>) {
        let over_ipv6 = from == self.config.ipv6;
        let sent = decide_copy(from, &mut p, spare, |p, behind| {
            if over_ipv6 { self.slow_out(p, behind) } else { self.slow_in(p, behind) }
        });
        if !sent {
            self.count.add(Event::NoMemory);
        }
    }

    pub(super) fn put_in<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        head: &Head4,
        wrap: Wrap,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Refusal> {
        let total = head.total();
        let large = total > self.plan.room;
        if large && head.df && self.config.outer.oversize != Oversize::OuterAlways {
            return Err(error::inner(Event::TooBig, Error::fragmentation_needed(self.plan.room as u32)));
        }
        if S::RENAMES {
            // The NAT has translated the error and quotes its receiver.
            let untranslatable = |_| Err(Event::IcmpUntranslatable);
            address::replace(p.bytes_mut(), head, !self.plan.ce, wrap.customer, untranslatable)?;
        }
        self.take_hop(p.bytes_mut(), head.l3);
        let ports = !head.is_fragment() && matches!(head.protocol, PROTO_UDP | TCP);
        let first = self.first_word_for(p.bytes(), head.l3, ports);
        if !p.set_len(L3 + total) {
            return Err(Event::NoMemory.into());
        }
        if large && self.config.outer.oversize == Oversize::Inner {
            self.cut4(p, self.plan.room, Some((first, wrap.src, wrap.dst)), spare)?;
            return Ok(Verdict::Forward(self.config.ipv6));
        }
        if !p.grow_front(OVERHEAD) {
            return Err(Event::NoMemory.into());
        }
        self.outer_header(p.bytes_mut(), first, total as u16, wrap.src, wrap.dst);
        if large {
            self.cut6(p, spare)?;
        }
        Ok(Verdict::Forward(self.config.ipv6))
    }

    pub(super) fn local(&mut self) -> Verdict {
        self.count.add(Event::Local);
        Verdict::Local
    }
}

pub(super) fn addresses(head: &Head4) -> Result<(), Event> {
    if !is_ordinary(head.src) {
        return Err(Event::MartianSource);
    }
    if head.dst >> 28 == 0xe {
        return Err(Event::Multicast);
    }
    if is_ordinary(head.dst) { Ok(()) } else { Err(Event::MartianDestination) }
}

pub(super) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, PROTO_UDP | TCP | ICMP)
}

pub(super) fn without_port(p: Point4) -> Point4 {
    Point4 { port: None, ..p }
}

pub(super) fn set_ports(points: &mut [Point4; 2], ports: Ports) {
    points[0].port = ports[0];
    points[1].port = ports[1];
}

/// Whether the frame is to us; false for a group address, an error for another unicast address.
pub(super) fn is_ours(b: &[u8], own: OwnMac) -> Result<bool, Event> {
    if b.len() < L3 {
        return Err(Event::Short);
    }
    let group = b[0] & 1 == 1;
    if group || own.receives(b) { Ok(!group) } else { Err(Event::OtherMac) }
}
