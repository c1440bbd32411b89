//! One packet: checks in a router's order, so that each drop has one reason; then look-up and translation.

use super::Nat66;
use super::config::POOL;
use super::event::Event;
use super::pending_syn::Conversation;
use super::rewrite::{End, endpoint, leave};
use crate::affinity;
use crate::fragment::Ports;
use crate::function::{Packet, Side, Spare, Verdict};
use crate::icmp_type::{is_error6, v6};
use crate::ip6::{Head6, is_extension, is_link_local, is_martian};
use crate::nat44::core::{Asks, Point};
use wire::header::{self, ICMP, ICMPV6, PROTO_UDP, TCP, be16};

#[derive(Clone, Copy)]
pub(super) struct Way {
    pub from: Side,
    pub head: Head6,
    pub ports: [u16; 2],
    /// Whether another worker marked the packet.
    pub marked: bool,
    /// Second pass between customers, already with an outside source.
    pub second: bool,
}

impl Nat66 {
    /// Forwards one packet; if it has waited as a copy, emitted packets have another type.
    pub(super) fn one<F: Packet, P: Packet>(&mut self, from: Side, p: &mut F, spare: &mut dyn Spare<P>) -> Verdict {
        let result = match self.link(from, p.bytes()) {
            Ok(Some(head)) => self.network::<F, P>(from, p, head, spare),
            Ok(None) => Ok(Verdict::Local),
            Err(why) => Err(why),
        };
        match result {
            Ok(Verdict::Local) => {
                self.count.add(Event::Local);
                Verdict::Local
            }
            Ok(verdict) => verdict,
            Err(why) => {
                self.refuse(from, p.bytes(), why, spare);
                self.count.add(why);
                Verdict::Drop
            }
        }
    }

    fn link(&self, from: Side, b: &[u8]) -> Result<Option<Head6>, Event> {
        if b.len() < header::ETH {
            return Err(Event::Short);
        }
        let group = b[0] & 1 == 1;
        if !group && !self.link_of(from).own.receives(b) {
            return Err(Event::OtherMac);
        }
        if be16(b, 12) != header::TYPE_IPV6 {
            return Ok(None);
        }
        let head = Head6::of_frame(b)?;
        // Neighbour discovery to us.
        if group && !head.is_discovery(b) {
            return Err(Event::LinkMulticast);
        }
        Ok(Some(head))
    }

    fn network<F: Packet, P: Packet>(
        &mut self,
        from: Side,
        p: &mut F,
        h: Head6,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        let b = p.bytes();
        if self.is_own(h.dst) || is_link_local(h.dst) || h.is_discovery(b) {
            return Ok(Verdict::Local);
        }
        let marked = self.is_marked(b);
        let pool = self.config.pool;
        let (from_pool, to_pool) = (pool.number(h.src).is_some(), pool.number(h.dst).is_some());
        let second = from == Side::Customer && marked && from_pool && to_pool;
        if self.workers > 1
            && from == Side::Customer
            && !second
            && let Some(worker) =
                affinity::worker(b, self.workers.into(), self.config.pinned_by()).filter(|w| *w != self.worker)
        {
            return Ok(self.hand_over(worker));
        }
        if is_martian(h.src) || self.is_own(h.src) || (from_pool && !second) {
            return Err(Event::MartianSource);
        }
        if h.dst >> 120 == 0xff {
            return Err(Event::Multicast);
        }
        if is_martian(h.dst) {
            return Err(Event::MartianDestination);
        }
        let inside = &self.config.inside;
        match from {
            Side::Customer if second || inside.is_empty() || inside.iter().any(|p| p.contains(h.src)) => {}
            Side::Customer => return Err(Event::NotInside),
            Side::Internet if to_pool => {}
            Side::Internet => return Err(Event::NotPool),
        }
        if h.hop_limit <= 1 {
            return Err(Event::HopLimit);
        }
        if h.source_route.is_some() {
            return Err(Event::SourceRoute);
        }
        // It would hide headers from later fragments.
        if h.part.is_some_and(|part| is_extension(b[part.at])) {
            return Err(Event::BadExtension);
        }
        if !matches!(h.protocol, PROTO_UDP | TCP | ICMPV6) {
            return Err(Event::Protocol);
        }
        let egress = if from == Side::Customer && !to_pool { Side::Internet } else { Side::Customer };
        if h.end - h.l3 > usize::from(self.side(egress).mtu) {
            return Err(Event::TooBig);
        }
        let way = Way { from, head: h, ports: [0; 2], marked, second };
        if h.is_fragment() {
            return self.fragment::<F, P>(p, &way, spare);
        }
        if h.protocol == ICMPV6 && h.l4 < h.end && is_error6(b[h.l4]) {
            return self.error(p, &way);
        }
        let ports = shown(b, &way)?;
        self.translate(p, &Way { ports: ports.map(Option::unwrap_or_default), ..way })
    }

    pub(super) fn translate<F: Packet>(&mut self, p: &mut F, way: &Way) -> Result<Verdict, Event> {
        if way.from == Side::Customer && !way.second { self.outbound(p, way) } else { self.inbound(p, way) }
    }

    fn outbound<F: Packet>(&mut self, p: &mut F, way: &Way) -> Result<Verdict, Event> {
        let h = &way.head;
        let (protocol, flags) = (protocol(h), flags(p.bytes(), h));
        let outside = self.config.pool.number(h.dst);
        let hairpin = outside.is_some();
        if hairpin && !self.config.nat.hairpinning {
            return Err(Event::HairpinOff);
        }
        if hairpin && protocol == ICMP {
            // No host for the query (RFC 5508, REQ-7 is for Basic NAT).
            return Err(Event::IcmpOther);
        }
        let known = outside.map(|n| u32::from(POOL) + n).or_else(|| self.remotes.known(h.dst));
        let end = |addr, port| Point { addr, port };
        // Packets that the state refuses make no entries.
        if known.is_none() {
            self.nat.may_open(protocol, self.subscriber(h.src), flags)?;
        }
        let own = end(self.number(h.src)?, way.ports[0]);
        let remote = match outside {
            Some(n) => u32::from(POOL) + n,
            None => self.remotes.number(h.dst).ok_or(Event::RemotesFull)?,
        };
        let asks = Asks { protocol, own, remote: end(remote, way.ports[1]), flags, hairpin };
        let point = self.nat.pass_out(&asks)?;
        if protocol == TCP && !self.pending_syns.is_empty() {
            self.pending_syns.forget(&Conversation { own: point, remote: (h.dst, way.ports[1]) });
        }
        self.change(p, h, End::Source, point)?;
        if !hairpin {
            return Ok(self.depart(p, Side::Internet, Event::In2Out));
        }
        let head = Head6::of_frame(p.bytes())?;
        self.inbound(p, &Way { head, ports: [point.port, way.ports[1]], second: true, ..*way })
    }

    fn inbound<F: Packet>(&mut self, p: &mut F, way: &Way) -> Result<Verdict, Event> {
        let h = &way.head;
        if let Some(worker) = self.nat.owner(way.ports[1]) {
            if way.second || h.is_fragment() {
                self.set_mark(p.bytes_mut());
            }
            return Ok(self.hand_over(worker));
        }
        let (protocol, flags) = (protocol(h), flags(p.bytes(), h));
        let own = self.config.pool.number(h.dst).ok_or(Event::NotPool)?;
        let own = Point { addr: u32::from(POOL) + own, port: way.ports[1] };
        let remote = Point { addr: 0, port: way.ports[0] };
        let mut asks = Asks { protocol, own, remote, flags, hairpin: way.second };
        let point = match self.asked_by(h.src, &mut asks) {
            Err(why) => return Err(self.refused(why, p.bytes(), &asks, h.src)),
            Ok(point) => point,
        };
        self.change(p, h, End::Destination, point)?;
        Ok(self.depart(p, Side::Customer, if way.second { Event::Hairpinned } else { Event::Out2In }))
    }

    /// What a packet from the Internet, or from another customer, asks.
    fn asked_by(&mut self, sender: u128, asks: &mut Asks) -> Result<Point, Event> {
        let own = self.config.pool.number(sender).map(|n| u32::from(POOL) + n);
        asks.remote.addr = if let Some(number) = own.or_else(|| self.remotes.known(sender)) {
            number
        } else {
            // Hosts outside must not fill the dictionary.
            self.nat.invites(asks.protocol, asks.own, asks.flags)?;
            self.remotes.number(sender).ok_or(Event::RemotesFull)?
        };
        Ok(self.nat.pass_in(asks)?)
    }

    fn change<F: Packet>(&self, p: &mut F, h: &Head6, end: End, point: Point) -> Result<(), Event> {
        let address = self.address(point.addr).ok_or(Event::NoSession)?;
        endpoint(&mut p.bytes_mut()[..h.end], h, end, address, point.port);
        Ok(())
    }

    /// Writes Ethernet addresses and hop limit.
    pub(super) fn depart<F: Packet>(&mut self, p: &mut F, to: Side, event: Event) -> Verdict {
        leave(p.bytes_mut(), &self.link_of(to).leaving);
        self.count.add(event);
        Verdict::Forward(to)
    }

    pub(super) fn hand_over(&mut self, worker: u16) -> Verdict {
        self.count.add(Event::HandedOver);
        Verdict::HandOver(worker)
    }

    /// Marks a packet by its Ethernet source, derived from the seed so that an outsider cannot forge it.
    pub(super) fn set_mark(&self, b: &mut [u8]) {
        b[6..12].copy_from_slice(&self.mark);
    }

    #[inline(always)]
    pub(super) fn is_marked(&self, b: &[u8]) -> bool {
        self.workers > 1 && b[6..12] == self.mark
    }

    fn is_own(&self, a: u128) -> bool {
        a == self.config.customer.address.to_bits() || a == self.config.internet.address.to_bits()
    }
}

/// One ICMP for both versions.
pub(super) fn protocol(h: &Head6) -> u8 {
    if h.protocol == ICMPV6 { ICMP } else { h.protocol }
}

fn flags(b: &[u8], h: &Head6) -> u8 {
    let first = h.part.is_none_or(|part| part.offset == 0);
    if h.protocol == TCP && first { b[h.l4 + 13] } else { 0 }
}

/// Ports, or a query's identifier for both; the transport header must be present.
pub(super) fn shown(b: &[u8], way: &Way) -> Result<Ports, Event> {
    let h = &way.head;
    let more = h.part.is_some_and(|part| part.more);
    let need = if h.protocol == TCP { 20 } else { 8 };
    if h.end - h.l4 < need {
        return Err(if more { Event::TinyFragment } else { Event::BadLength });
    }
    if h.protocol == PROTO_UDP {
        let len = usize::from(be16(b, h.l4 + 4));
        if len < header::UDP || (!more && len > h.end - h.l4) {
            return Err(Event::BadLength);
        }
    }
    if h.protocol != ICMPV6 {
        return Ok([Some(be16(b, h.l4)), Some(be16(b, h.l4 + 2))]);
    }
    let outbound = way.from == Side::Customer && !way.second;
    match b[h.l4] {
        v6::ECHO if outbound => {}
        v6::ECHO_REPLY if !outbound => {}
        v6::ECHO => return Err(Event::NoSession),
        _ => return Err(Event::IcmpOther),
    }
    Ok([Some(be16(b, h.l4 + 4)); 2])
}
