//! Look-ups of static mappings (RFC 6146, section 3.1.1): configuration, which never expires and is
//! never cleared or displaced.

use super::Nat44;
use super::config::Config;
use super::counters::Event;
use super::session::{addr, endpoint, port, protocol};
use crate::steer::by_hash;
use std::net::Ipv4Addr;
use wire::header::{ICMP, PROTO_UDP, TCP};

/// Successive end points.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: u64,
    last: u64,
    /// First end point after translation.
    to: u64,
    /// Alias by which the inside end point last opened a session.
    alias: u32,
    /// Worker of the sessions; `None` where the inside end point determines it.
    worker: Option<u16>,
}

/// Static mappings, all of them at every worker.
pub(super) struct Statics {
    by_outside: Vec<Line>,
    by_inside: Vec<Line>,
}

/// Key with the port in the lowest bits, so that a range has successive keys.
fn key(e: u64) -> u64 {
    u64::from(protocol(e)) << 48 | u64::from(addr(e)) << 16 | u64::from(port(e))
}

fn line(lines: &[Line], key: u64) -> Option<usize> {
    let at = lines.partition_point(|l| l.first <= key).checked_sub(1)?;
    (key <= lines[at].last).then_some(at)
}

fn find(lines: &[Line], e: u64) -> Option<(u64, Line)> {
    let key = key(e);
    let line = lines[line(lines, key)?];
    let port = port(line.to) + (key - line.first) as u16;
    Some((endpoint(addr(line.to), port, protocol(line.to)), line))
}

/// The address to which static mappings translate all ports of TCP, UDP and ICMP of `address`, unchanged.
fn whole(lines: &[Line], address: u32) -> Option<u32> {
    let host = |protocol| {
        let (first, line) = find(lines, endpoint(address, 1, protocol))?;
        (port(first) == 1 && line.last as u16 == u16::MAX).then_some((addr(first), line.alias))
    };
    let [tcp, udp, icmp] = [TCP, PROTO_UDP, ICMP].map(host);
    let (host, alias) = tcp?;
    [udp, icmp].iter().all(|other| other.is_some_and(|other| other.0 == host)).then_some(host | alias)
}

impl Statics {
    pub(super) fn new(config: &Config) -> Option<Statics> {
        if config.statics.is_empty() {
            return None;
        }
        let lines = |from: usize| {
            let line = |m: &super::config::StaticMapping| {
                let (points, more) = m.points();
                let first = key(points[from]);
                Line { first, last: first + u64::from(more), to: points[1 - from], alias: 0, worker: None }
            };
            let mut lines: Vec<Line> = config.statics.iter().map(line).collect();
            lines.sort_by_key(|l| l.first);
            lines
        };
        Some(Statics { by_outside: lines(0), by_inside: lines(1) })
    }

    /// The inside end point, with the alias that last opened a session, to which packets from unknown senders go.
    pub(super) fn inside(&self, outside: u64) -> Option<u64> {
        find(&self.by_outside, outside).map(|(inside, line)| inside | u64::from(line.alias))
    }

    /// What the same mappings of another configuration remember.
    pub(super) fn remember_like(&mut self, before: &Statics) {
        for own in &mut self.by_outside {
            let same = line(&before.by_outside, own.first).map(|at| before.by_outside[at]);
            own.alias = same.filter(|l| (l.first, l.to) == (own.first, own.to)).map_or(0, |l| l.alias);
        }
    }

    /// `aliases` are the bits of an alias.
    pub(super) fn used_by(&mut self, inside: u64, outside: u64, aliases: u64) {
        if let Some(at) = line(&self.by_outside, key(outside)) {
            self.by_outside[at].alias = addr(inside & aliases);
        }
    }

    pub(super) fn whole_outside(&self, inside: u32) -> Option<u32> {
        whole(&self.by_inside, inside)
    }

    /// The inside host, with the alias of [`Self::inside`].
    pub(super) fn whole_inside(&self, outside: u32) -> Option<u32> {
        whole(&self.by_outside, outside)
    }

    pub(super) fn outside(&self, inside: u64) -> Option<u64> {
        find(&self.by_inside, inside).map(|found| found.0)
    }
}

impl Nat44 {
    /// Sets the worker of each numbered customer.
    pub(crate) fn place_statics(&mut self, worker: impl Fn(Ipv4Addr) -> u16) {
        for line in self.statics.iter_mut().flat_map(|s| &mut s.by_outside) {
            line.worker = Some(worker(addr(line.to).into()));
        }
    }

    /// The hosts are at the workers where `other`, with the same static mappings, has them.
    pub(crate) fn place_like(&mut self, other: &Nat44) {
        if let (Some(own), Some(other)) = (&mut self.statics, &other.statics) {
            let lines = own.by_outside.iter_mut().zip(&other.by_outside);
            lines.for_each(|(own, other)| own.worker = other.worker);
        }
    }

    #[inline]
    pub(super) fn static_outside(&self, inside: u64) -> Option<u64> {
        self.statics.as_ref()?.outside(inside & !self.aliases)
    }

    #[inline]
    pub(super) fn static_inside(&self, outside: u64) -> Option<u64> {
        self.statics.as_ref()?.inside(outside)
    }

    /// Whether every port of the address has a static mapping, of the protocol of this end point.
    pub(super) fn is_all_static(&self, number: u32, inside: u64) -> bool {
        let Some(statics) = &self.statics else { return false };
        let first = key(endpoint(self.pool.addr(number), 0, protocol(inside)));
        let from = statics.by_outside.partition_point(|l| l.last < first);
        let of_address = statics.by_outside[from..].iter().take_while(|l| l.first >> 16 == first >> 16);
        let own = |l: &Line| (l.first as u16..=l.last as u16).filter(|p| self.ports.all.owns(*p)).count();
        of_address.map(own).sum::<usize>() == self.ports.all.count() as usize
    }

    /// Whether queries may come in, under RFC 6146, section 3.5.3, or with a static mapping.
    pub(super) fn takes_queries(&self, outside: u64) -> bool {
        self.config.rfc6146 || self.static_inside(outside).is_some()
    }

    pub(super) fn answers_queries(&self, inside: u64) -> bool {
        self.config.rfc6146 || self.static_outside(inside).is_some()
    }

    /// Returns the outside end point at `address` to which a static mapping maps queries of an inside end point. It has
    /// the same identifier as the inside end point, so only a host whose whole address is mapped has one, as behind a
    /// Basic NAT (RFC 5508, REQ-7).
    pub(super) fn query_target(&self, inside: u64, address: u32) -> Option<u64> {
        let target = endpoint(address, port(self.static_outside(inside)?), ICMP);
        self.static_inside(target).map(|_| target)
    }

    /// The worker of an outside end point, unless it is this one: that of its port or, for a static
    /// mapping, that of the inside end point.
    pub(super) fn owner_outside(&self, outside: u64) -> Option<u16> {
        if self.workers.is_alone() {
            return None;
        }
        let owner = match self.statics.as_ref().and_then(|s| find(&s.by_outside, outside)) {
            Some((inside, line)) => line.worker.unwrap_or_else(|| self.worker_of(inside)),
            None => self.ports.all.owner(port(outside)) as u16,
        };
        (u32::from(owner) != self.workers.own).then_some(owner)
    }

    /// The worker of a static mapping, unless it is this one.
    pub(super) fn owner_inside(&self, inside: u64) -> Option<u16> {
        if self.workers.is_alone() || self.config.numbered.is_some() {
            return None;
        }
        let owner = self.worker_of(inside);
        (u32::from(owner) != self.workers.own).then_some(owner)
    }

    /// ICMP queries are spread by type and code, which stand in place of the port.
    fn worker_of(&self, inside: u64) -> u16 {
        let port = if protocol(inside) == ICMP { ECHO } else { port(inside) };
        let bytes = addr(inside).to_be_bytes().into_iter().chain(port.to_be_bytes());
        by_hash(bytes, self.workers.count as usize) as u16
    }

    pub(super) fn count_static(&mut self) {
        self.count.add(Event::SessionStatic);
    }
}

const ECHO: u16 = 0x0800;
