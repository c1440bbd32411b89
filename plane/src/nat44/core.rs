//! The decision about a packet by state alone. NAT66 uses it with numbers as addresses.

use super::config::Filtering;
use super::counters::Event;
use super::session::{HAIRPIN, addr, endpoint, port, protocol};
use super::{Nat44, SWEEP_BATCH, SWEEP_IDLE, tcp};
use wire::header::{ICMP, TCP};

/// An address or its number, with a port or an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub addr: u32,
    pub port: u16,
}

impl Point {
    #[inline(always)]
    pub(super) fn of(end: u64) -> Point {
        Point { addr: addr(end), port: port(end) }
    }

    #[inline(always)]
    pub(crate) fn own(self, protocol: u8) -> u64 {
        endpoint(self.addr, self.port, protocol)
    }

    /// The point as remote end point: a query's identifier is at one end only.
    #[inline(always)]
    pub(crate) fn remote(self, protocol: u8) -> u64 {
        endpoint(self.addr, if protocol == ICMP { 0 } else { self.port }, 0)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks {
    /// ICMP stands for any version.
    pub protocol: u8,
    pub own: Point,
    pub remote: Point,
    /// Flags of TCP, or 0.
    pub flags: u8,
    /// Whether the packet is between customers.
    pub hairpin: bool,
}

impl Nat44 {
    pub(super) fn session_out(
        &mut self,
        inside: u64,
        remote: u64,
        flags: u8,
        reply: bool,
        hairpin: bool,
    ) -> Result<u32, Event> {
        let tcp = protocol(inside) == TCP;
        let e = match self.find_inner(self.hash(inside, remote), inside, remote) {
            Some(e) => e,
            None if tcp && !tcp::opens(flags) => return Err(Event::TcpNotSyn),
            None if reply => return Err(Event::IcmpNoSession),
            None => self.open_out(inside, remote, if hairpin { HAIRPIN } else { 0 })?,
        };
        // A reset does not count as an answer.
        if flags & tcp::RST == 0 {
            self.answer(e)?;
        }
        self.refresh(e, tcp, flags, true);
        let s = &mut self.sessions.slab[e];
        if tcp && self.pending_syns.forget(&(s.outside, remote)) && self.config.rfc6146 {
            // The SYN that came in counts (RFC 6146, section 3.5.2.2, V4 INIT).
            s.set_flags(tcp::step(s.flags(), tcp::SYN, false, true));
        }
        Ok(e)
    }

    /// Opened where mapping and filtering allow it.
    pub(super) fn session_in(
        &mut self,
        outside: u64,
        remote: u64,
        flags: u8,
        query: bool,
        hairpin: bool,
    ) -> Result<u32, Event> {
        let tcp = protocol(outside) == TCP;
        let e = match self.find_outer(self.hash(outside, remote), outside, remote) {
            Some(e) => e,
            // A host that was not queried cannot answer.
            None if protocol(outside) == ICMP && !(query && self.takes_queries(outside)) => {
                return Err(Event::NoSession);
            }
            None if tcp && !tcp::opens(flags) => return Err(Event::NoSession),
            None => self.open_in(outside, remote, if hairpin { HAIRPIN } else { 0 })?,
        };
        if tcp || self.config.inbound_refresh {
            self.refresh(e, tcp, flags, false);
        }
        Ok(e)
    }

    #[inline(always)]
    pub(super) fn refresh(&mut self, e: u32, tcp: bool, flags: u8, outbound: bool) {
        let rfc6146 = self.config.rfc6146;
        let s = &mut self.sessions.slab[e];
        let (old, new) = (s.flags(), if tcp { tcp::step(s.flags(), flags, outbound, rfc6146) } else { s.flags() });
        // Writing a line back costs as much as reading it.
        if s.seen != self.tick && (!tcp || !rfc6146 || tcp::restarts(old, new, flags)) {
            s.seen = self.tick;
        }
        if new != old {
            s.set_flags(new);
        }
    }

    pub(crate) fn pass_out(&mut self, a: &Asks) -> Result<Point, Event> {
        let e = self.session_out(a.own.own(a.protocol), a.remote.remote(a.protocol), a.flags, false, a.hairpin)?;
        Ok(Point::of(self.sessions.slab[e].outside))
    }

    pub(crate) fn pass_in(&mut self, a: &Asks) -> Result<Point, Event> {
        let e = self.session_in(a.own.own(a.protocol), a.remote.remote(a.protocol), a.flags, false, a.hairpin)?;
        Ok(Point::of(self.sessions.slab[e].inside))
    }

    /// The outside end point of an ICMP error, and whether the session is between customers.
    /// Refreshes nothing.
    pub(crate) fn seen_out(&mut self, a: &Asks) -> Option<(Point, bool)> {
        let (own, remote) = (a.own.own(a.protocol), a.remote.remote(a.protocol));
        let e = self.find_inner(self.hash(own, remote), own, remote)?;
        let s = self.sessions.slab[e];
        Some((Point::of(s.outside), s.flags() & HAIRPIN != 0))
    }

    /// The inside end point of an ICMP error.
    pub(crate) fn seen_in(&mut self, a: &Asks) -> Option<Point> {
        let (own, remote) = (a.own.own(a.protocol), a.remote.remote(a.protocol));
        let e = self.find_outer(self.hash(own, remote), own, remote)?;
        Some(Point::of(self.sessions.slab[e].inside))
    }

    /// Checks whether a packet from an unknown sender could open a session.
    pub(crate) fn invites(&self, protocol: u8, own: Point, flags: u8) -> Result<(), Event> {
        let mapped = self.mappings.as_ref().is_some_and(|m| m.by_outside(own.own(protocol)).is_some());
        match self.config.filtering {
            _ if !mapped || protocol == ICMP || (protocol == TCP && !tcp::opens(flags)) => Err(Event::NoSession),
            Filtering::EndpointIndependent => Ok(()),
            Filtering::AddressDependent | Filtering::AddressAndPortDependent => Err(Event::Filtered),
        }
    }

    /// Checks whether a packet from inside could open a session for this subscriber (0 without number).
    pub(crate) fn may_open(&mut self, protocol: u8, subscriber: u32, flags: u8) -> Result<(), Event> {
        if protocol == TCP && !tcp::opens(flags) {
            return Err(Event::TcpNotSyn);
        }
        self.make_room_of(subscriber)
    }

    /// The worker that owns the port, unless it is this one.
    pub(crate) fn owner(&self, outside_port: u16) -> Option<u16> {
        let owner = self.ports.all.owner(outside_port);
        (owner != self.workers.own).then_some(owner as u16)
    }

    pub(crate) fn keep_time(&mut self, now: u64) {
        self.set_time(now);
    }

    pub(crate) fn end_all_due(&mut self) {
        self.end_due(u32::MAX);
    }

    pub(crate) fn tidy(&mut self, when_idle: bool) {
        self.sweep_some(if when_idle { SWEEP_IDLE } else { SWEEP_BATCH });
    }
}
