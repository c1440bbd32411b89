//! The slow path out of tunnels, with all checks. Packets to another customer are hairpinned (RFC 7596, section 6.2).

use super::encapsulate::{addresses, has_ports, is_ours, set_ports, without_port};
use super::error::{self, Answer, Refusal, SOURCE_POLICY};
use super::fast::pad;
use super::points::is_unicast6;
use super::{L3, Tunnel, address, ecn};
use crate::event::Event;
use crate::fragment::{Buffer, Datagram, Fragment, Whose};
use crate::function::{Packet, Side, Spare, Verdict};
use crate::icmp_error::{Error, TIME_EXCEEDED};
use crate::ip4::Head4;
use crate::ip6::{BadOption, FragmentField, Head6, is_link_local, next};
use crate::steer::by_hash;
use crate::strategy::{Point4, Softwires};
use wire::checksum::update16;
use wire::header::{self, ICMPV6, IPV6, be16, put16};

impl<S: Softwires> Tunnel<S> {
    #[cold]
    #[inline(never)]
    pub(super) fn slow_out<F: Packet, P: Packet>(&mut self, p: &mut F, spare: &mut dyn Spare<P>) -> Verdict {
        let head = match self.link6(p.bytes()) {
            Ok(Some(head)) => head,
            Ok(None) => return self.local(),
            Err(why) => {
                self.count.add(why);
                return Verdict::Drop;
            }
        };
        self.ipv6_out(p, &head, spare).unwrap_or_else(|refusal| {
            let b = p.bytes();
            match refusal.answer {
                Answer::Nothing => {}
                Answer::Outer(error) => self.reply6(&b[L3..head.end], error, spare),
                Answer::Inner(error) => {
                    self.reply4(Some((head.dst, head.src)), &b[head.l4..head.end], error, spare);
                }
            }
            self.count.add(refusal.why);
            Verdict::Drop
        })
    }

    fn link6(&self, b: &[u8]) -> Result<Option<Head6>, Event> {
        let alone = is_ours(b, self.plan.v6.own)?;
        if be16(b, 12) != header::TYPE_IPV6 {
            return Ok(None);
        }
        let head = Head6::of_frame(b)?;
        // Link-local traffic, such as neighbour discovery (RFC 4861).
        if head.dst >> 120 == 0xff || is_link_local(head.dst) {
            return Ok(None);
        }
        if !alone {
            return Err(Event::LinkMulticast);
        }
        // Forged, and an answer would loop (RFC 2473, section 7).
        if self.is_own6(head.src) && !head.is_discovery(b) {
            return Err(Event::MartianSource);
        }
        // Neighbours may send to this machine itself from link-local addresses.
        if is_unicast6(head.src) || is_link_local(head.src) { Ok(Some(head)) } else { Err(Event::MartianSource) }
    }

    pub(super) fn is_own6(&self, addr: u128) -> bool {
        addr == self.config.v6.address.to_bits() || self.softwires.is_own(addr)
    }

    fn ipv6_out<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        head: &Head6,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Refusal> {
        if head.source_route.is_some() {
            return Err(Event::SourceRoute.into());
        }
        let part = head.part.filter(|p| !p.is_atomic());
        // Options before the inner packet may begin in the first fragment and are not searched for in later ones.
        let tunnelled = head.protocol == next::IPV4 || part.is_some() && head.protocol == next::DESTINATION;
        if tunnelled && !is_unicast6(head.src) {
            return Err(Event::MartianSource.into());
        }
        if tunnelled && self.is_own6(head.dst) {
            head.options(p.bytes()).map_err(|bad| match bad {
                BadOption::Told(at) => error::outer(Event::BadExtension, error::unknown_option(at - head.l3)),
                BadOption::Length | BadOption::Unknown => Event::BadExtension.into(),
            })?;
        }
        if let Some(part) = part {
            return if tunnelled { self.part(p.bytes(), head, &part, spare) } else { self.not_tunnel(head) };
        }
        match head.protocol {
            next::IPV4 => self.tunnel_packet(p, head, spare),
            ICMPV6 => self.relay(p.bytes(), head, spare),
            _ => self.not_tunnel(head),
        }
    }

    /// IPv6 without IPv4 inside: for the machine itself, or dropped.
    pub(super) fn not_tunnel(&mut self, head: &Head6) -> Result<Verdict, Refusal> {
        if head.dst == self.config.v6.address.to_bits() { Ok(self.local()) } else { Err(Event::NotTunnel.into()) }
    }

    /// A hash selects the worker that reassembles the packet.
    fn part<P: Packet>(
        &mut self,
        b: &[u8],
        head: &Head6,
        part: &FragmentField,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Refusal> {
        let common = head.src.to_be_bytes().into_iter().chain(head.dst.to_be_bytes()).chain(part.id.to_be_bytes());
        if let Some(v) = self.elsewhere(|workers| by_hash(common, workers.into()) as u16) {
            return Ok(v);
        }
        let fragment = fragment_of(b, head, part)?;
        match self.reassembly.add(self.now, (head.src, head.dst, part.id), &fragment, &mut self.count)? {
            None => self.count.add(Event::FragmentHeld),
            Some(datagram) => {
                let whole = join(&datagram).ok_or(Event::EcnLost)?;
                self.count.add(Event::Reassembled);
                self.resume(self.config.ipv6, whole, spare);
            }
        }
        // Sent from a copy.
        Ok(Verdict::Held)
    }

    /// Decapsulates a packet, and decides where to send it.
    fn tunnel_packet<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        outer: &Head6,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Refusal> {
        let b = p.bytes();
        let b = &b[..outer.end.min(b.len())];
        let head = Head4::whole(b, outer.l4)?;
        head.without_route(b)?;
        addresses(&head)?;
        let mut points = head.points(p.bytes())?;
        let mut tracked = None;
        if head.is_fragment() && has_ports(head.protocol) && self.needs_ports(outer, points) {
            let key = head.key(outer.src);
            match self.whose(key, p.bytes(), &head, points.map(|p| p.port))? {
                Whose::Not(v) => return Ok(v),
                Whose::Known(ports) => set_ports(&mut points, ports),
            }
            tracked = (head.offset == 0).then_some(key);
        }
        let result = self.out_of(p, outer, &head, points, spare);
        if let Some(key) = tracked {
            self.let_go(&key, self.config.ipv6, spare);
        }
        result
    }

    /// Whether an end shares its address, so that ports decide.
    fn needs_ports(&mut self, outer: &Head6, points: [Point4; 2]) -> bool {
        let points = points.map(without_port);
        let (customer, remote) = self.ends_out(points);
        let shared = Err(Event::OutsidePortSet);
        self.softwires.unwrap(outer.src, outer.dst, customer, remote) == shared
            || (self.turns(points[1]) && self.find(points).is_err_and(|e| e == Event::OutsidePortSet))
    }

    fn turns(&self, to: Point4) -> bool {
        !self.plan.ce && self.softwires.serves(to.addr)
    }

    fn out_of<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        outer: &Head6,
        head: &Head4,
        points: [Point4; 2],
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Refusal> {
        let (customer, remote) = self.ends_out(points);
        let found = self.softwires.unwrap(outer.src, outer.dst, customer, remote);
        let address = found.map_err(|why| self.refuse_source(why, head))?;
        // A later fragment's first has shown the port.
        if customer.port.is_none()
            && !(head.offset > 0 && has_ports(head.protocol))
            && !self.plan.ce
            && self.softwires.is_shared(customer.addr)
        {
            return Err(self.refuse_source(Event::OutsidePortSet, head));
        }
        let field = ecn::leave(head.tos, outer.class).ok_or(Event::EcnLost)?;
        if head.dst == u32::from(self.config.inner_address) || head.dst == u32::from(self.config.v4.address) {
            return Ok(self.local());
        }
        if head.ttl <= self.plan.last_hop {
            return Err(error::inner(Event::HopLimit, TIME_EXCEEDED));
        }
        let turn = if self.turns(points[1]) {
            if !self.config.hairpinning {
                return Err(Event::HairpinOff.into());
            }
            Some(self.find(points).map_err(|why| self.refuse_unmapped(why, head))?)
        } else {
            None
        };
        if turn.is_none() && head.total() > self.plan.mtu4 && head.df {
            return Err(error::inner(Event::TooBig, Error::fragmentation_needed(self.plan.mtu4 as u32)));
        }
        if turn.is_some()
            && head.total() > self.plan.room
            && head.df
            && self.config.outer.oversize != super::config::Oversize::OuterAlways
        {
            return Err(error::inner(Event::TooBig, Error::fragmentation_needed(self.plan.room as u32)));
        }
        let b = p.bytes_mut();
        set_ecn(b, head.l3, field);
        if S::RENAMES {
            let softwires = &self.softwires;
            address::replace(b, head, self.plan.ce, address, |a| softwires.quoted(outer.src, a))?;
        }
        let by = head.l3 - L3;
        if !p.shrink_front(by) {
            return Err(Event::NoMemory.into());
        }
        let (l3, l4, end) = (L3, head.l4 - by, head.end - by);
        let moved = if self.plan.ce {
            Head4 { dst: address, l3, l4, end, ..*head }
        } else {
            Head4 { src: address, l3, l4, end, ..*head }
        };
        if let Some(wrap) = turn {
            let v = self.put_in(p, &moved, wrap, spare).map_err(|r| Refusal::from(r.why))?;
            self.count.add(Event::Hairpinned);
            return Ok(v);
        }
        self.take_hop(p.bytes_mut(), L3);
        p.bytes_mut()[..L3].copy_from_slice(&self.plan.v4.leaving);
        pad(p, end);
        if moved.total() > self.plan.mtu4 {
            self.cut4(p, self.plan.mtu4, None, spare)?;
        }
        self.count.add(Event::ToIpv4);
        Ok(Verdict::Forward(self.ipv4()))
    }

    fn refuse_source(&self, why: Event, head: &Head4) -> Refusal {
        let why = if why == Event::OutsidePortSet && !has_ports(head.protocol) { Event::Protocol } else { why };
        let told = self.config.answer_spoofed && self.config.ipv6 == Side::Customer;
        if told { error::outer(why, SOURCE_POLICY) } else { why.into() }
    }
}

/// Lengths checked (RFC 8200, section 4.5).
fn fragment_of<'a>(b: &'a [u8], h: &Head6, part: &FragmentField) -> Result<Fragment<'a>, Refusal> {
    let (headers, payload) = b[..h.end].split_at(part.at + 8);
    if part.more && !payload.len().is_multiple_of(8) {
        return Err(error::outer(Event::BadLength, error::parameter_problem(4)));
    }
    if part.offset + payload.len() > usize::from(u16::MAX) {
        return Err(error::outer(Event::BadLength, error::parameter_problem(part.at + 2 - L3)));
    }
    if payload.is_empty() {
        return Err(Event::BadLength.into());
    }
    Ok(Fragment { offset: part.offset, more: part.more, headers, payload, ecn: h.class })
}

/// Joins fragments with the first one's IPv6 header, without extension headers of its path. `None`
/// when a fragment has CE and another is not ECN-capable.
fn join(d: &Datagram) -> Option<Buffer> {
    let mut head = [0; L3 + IPV6];
    head.copy_from_slice(d.headers().get(..L3 + IPV6)?);
    head[L3 + 1] = head[L3 + 1] & !0x30 | d.ecn()? << 4;
    head[L3 + 6] = d.headers()[d.headers().len() - 8];
    put16(&mut head, L3 + 4, d.octets() as u16);
    Some(d.behind(&head))
}

/// Sets the ECN field of the packet at `l3`.
fn set_ecn(b: &mut [u8], l3: usize, field: u8) {
    let old = be16(b, l3);
    b[l3 + 1] = b[l3 + 1] & !3 | field;
    let sum = update16([b[l3 + 10], b[l3 + 11]], old, be16(b, l3));
    b[l3 + 10..l3 + 12].copy_from_slice(&sum);
}
