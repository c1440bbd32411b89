//! Making and ending sessions: the one place where session table, mappings, ports, permissions and
//! quotas change together.

use super::config::{Filtering, Pooling};
use super::counters::Event;
use super::pairs::{Pairs, Place};
use super::portmap::{PortMap, Wish};
use super::session::{ADDR_PORT, ALONE, Session, UNANSWERED, addr, endpoint, port, protocol};
use super::subscriber::BLOCKS as MOST_BLOCKS;
use super::{Nat44, timers};
use crate::function::TableEntry;
use crate::table::NONE;
use crate::translate::is_global;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;

/// Ports tried at an address under address-and-port-dependent mapping.
const PROBES: u32 = 256;
/// Ports tried then at addresses besides the first.
const FURTHER_PROBES: u32 = 768;
/// Looks for an expired session in a full table.
const RECLAIM: u32 = 512;
/// Looks that take as long as the end of a session, and as an address that comes into another epoch.
const END: u32 = 3;
const TURN: u32 = 20;

/// Part of the table for unanswered sessions from outside.
const OUTSIDE_SHARE: u32 = 4;

/// Sessions, for display.
pub(super) fn entries(nat: &Nat44, tick: u32, places: Range<u64>) -> Vec<TableEntry> {
    let slab = &nat.sessions.slab;
    let upto = |place: u64| place.min(slab.touched().into()) as u32;
    let live = (upto(places.start)..upto(places.end))
        .map(|e| slab[e])
        .filter(|s| s.is_live() && !nat.lifetimes.expired(s, tick));
    live.map(|s| shown(&s, tick)).collect()
}

pub(super) fn shown(s: &Session, tick: u32) -> TableEntry {
    let at = |e: u64| SocketAddr::from((Ipv4Addr::from(addr(e)), port(e)));
    TableEntry {
        part: "",
        softwire: None,
        protocol: s.protocol(),
        inside: at(s.inside),
        outside: at(s.outside),
        remote: at(s.remote()),
        idle: timers::duration(tick.wrapping_sub(s.seen).cast_signed().max(0).cast_unsigned()),
    }
}

impl Nat44 {
    #[inline(always)]
    pub(super) fn hash(&self, own: u64, remote: u64) -> u64 {
        self.hasher.pair(own, remote)
    }

    #[inline]
    pub(super) fn find_inner(&mut self, hash: u64, inside: u64, remote: u64) -> Option<u32> {
        let t = &self.sessions;
        let e = t.inner.find(hash, |e| t.slab[e].is_inner(inside, remote))?;
        self.unless_expired(e)
    }

    #[inline]
    pub(super) fn find_outer(&mut self, hash: u64, outside: u64, remote: u64) -> Option<u32> {
        let t = &self.sessions;
        let e = t.outer.find(hash, |e| t.slab[e].is_outer(outside, remote))?;
        self.unless_expired(e)
    }

    #[inline(always)]
    fn unless_expired(&mut self, e: u32) -> Option<u32> {
        if self.lifetimes.expired(&self.sessions.slab[e], self.tick) {
            self.expire(e);
            return None;
        }
        Some(e)
    }

    /// Opens a session for a packet from inside.
    #[inline]
    pub(super) fn open_out(&mut self, inside: u64, remote: u64, flags: u8) -> Result<u32, Event> {
        self.make_room_for(inside)?;
        let (outside, mapping) = self.outside_for(inside, remote)?;
        Ok(self.open(inside, outside, remote, flags, mapping))
    }

    /// The outside end point, and its mapping or none.
    #[inline]
    fn outside_for(&mut self, inside: u64, remote: u64) -> Result<(u64, u32), Event> {
        if let Some(outside) = self.static_outside(inside)
            && !self.is_taken(outside, remote)
        {
            self.count_static();
            if self.aliases != 0
                && let Some(statics) = &mut self.statics
            {
                statics.used_by(inside, outside, self.aliases);
            }
            return Ok((outside, NONE));
        }
        if self.mappings.is_none() {
            return Ok((self.free_outside(inside, remote)?, NONE));
        }
        let shared = inside & !self.aliases;
        let key = if self.aliases != 0 && self.shared_is_taken(shared, remote) { inside | ALONE } else { shared };
        self.mapping_for(inside, key)
    }

    /// Whether another alias uses the end point. Replies would be the same for both, so the second
    /// session needs another outside end point (RFC 6146).
    #[inline]
    fn is_taken(&mut self, outside: u64, remote: u64) -> bool {
        self.aliases != 0 && self.find_outer(self.hash(outside, remote), outside, remote).is_some()
    }

    /// For the mapping that all aliases share, whose last session, and thus itself, may end here.
    #[cold]
    fn shared_is_taken(&mut self, key: u64, remote: u64) -> bool {
        let Some(mappings) = &self.mappings else { return false };
        let outside = mappings.by_inside(key).map(|m| mappings.get(m).outside);
        outside.is_some_and(|outside| self.is_taken(outside, remote))
    }

    /// Opens a session from outside, if mapping and filtering allow it. Until the customer answers,
    /// the session does not count for the customer, and such sessions may fill only a part of the
    /// table: otherwise forged sources could use up a quota, or the table.
    pub(super) fn open_in(&mut self, outside: u64, remote: u64, flags: u8) -> Result<u32, Event> {
        self.invited(outside, remote)?;
        self.make_room_outside()?;
        // Making room may have ended the mapping.
        let (inside, mapping) = self.invited(outside, remote)?;
        // Another alias may have this session, with another outside end point.
        if self.aliases != 0 && self.find_inner(self.hash(inside, remote), inside, remote).is_some() {
            return Err(Event::NoSession);
        }
        if let Some(c) = &mut self.census {
            c.meet(inside, remote);
        }
        if mapping == NONE {
            self.count_static();
        }
        Ok(self.open(inside, outside, remote, flags | UNANSWERED, mapping))
    }

    /// With the alias that can carry the remote address.
    pub(super) fn carried(&self, inside: u64, remote: u64) -> u64 {
        match self.config.global_only {
            Some([alias, other]) if inside & self.aliases == u64::from(alias) && !is_global(addr(remote)) => {
                inside & !self.aliases | u64::from(other)
            }
            _ => inside,
        }
    }

    /// The inside end point with the mapping, or none if it is static: static mappings admit every
    /// sender.
    fn invited(&self, outside: u64, remote: u64) -> Result<(u64, u32), Event> {
        if let Some(inside) = self.static_inside(outside) {
            return Ok((self.carried(inside, remote), NONE));
        }
        let Some(mappings) = &self.mappings else { return Err(Event::NoSession) };
        let m = mappings.by_outside(outside).ok_or(Event::NoSession)?;
        let allowed = match self.config.filtering {
            Filtering::EndpointIndependent => true,
            Filtering::AddressDependent => mappings.permits(m, addr(remote)),
            Filtering::AddressAndPortDependent => false,
        };
        if allowed { Ok((self.carried(mappings.get(m).inside(), remote), m)) } else { Err(Event::Filtered) }
    }

    /// Lets a session from outside count for the customer from now on, unless that exceeds the
    /// quota.
    pub(super) fn answer(&mut self, e: u32) -> Result<(), Event> {
        let s = self.sessions.slab[e];
        if s.flags() & UNANSWERED == 0 {
            return Ok(());
        }
        let subscriber = self.subscriber(s.inside);
        if let Some(sub) = &mut self.subscribers {
            if !sub.may_open(subscriber) {
                return Err(Event::Quota);
            }
            sub.add_session(subscriber);
        }
        self.unanswered -= 1;
        self.sessions.slab[e].set_flags(s.flags() & !UNANSWERED);
        Ok(())
    }

    fn open(&mut self, inside: u64, outside: u64, remote: u64, flags: u8, mapping: u32) -> u32 {
        let s = Session::new(inside, outside, remote, flags, self.tick, mapping);
        let e = self
            .sessions
            .insert(self.hash(inside, remote), self.hash(outside, remote), s)
            .expect("room was made just before");
        self.deadlines.note(e, self.lifetimes.deadline(&s, self.tick));
        if let Some(m) = &mut self.mappings
            && mapping != NONE
        {
            m.add_session(mapping, addr(remote));
        }
        if flags & UNANSWERED != 0 {
            self.unanswered += 1;
        } else if self.subscribers.is_some() {
            let subscriber = self.subscriber(inside);
            if let Some(s) = &mut self.subscribers {
                s.add_session(subscriber);
            }
        }
        self.count.add(Event::SessionNew);
        e
    }

    /// Live sessions are never displaced (RFC 6888, REQ-11d).
    #[inline]
    fn make_room(&mut self) -> Result<(), Event> {
        if self.sessions.slab.len() >= self.sessions.slab.capacity() {
            self.end_due(RECLAIM);
            if self.sessions.slab.len() >= self.sessions.slab.capacity() {
                return Err(Event::TableFull);
            }
        }
        Ok(())
    }

    /// The session counts for the end point's subscriber.
    #[inline]
    pub(super) fn make_room_for(&mut self, inside: u64) -> Result<(), Event> {
        self.make_room()?;
        if self.subscribers.is_some() { self.within_quota(self.subscriber(inside)) } else { Ok(()) }
    }

    pub(super) fn make_room_of(&mut self, subscriber: u32) -> Result<(), Event> {
        self.make_room()?;
        self.within_quota(subscriber)
    }

    fn within_quota(&self, subscriber: u32) -> Result<(), Event> {
        match &self.subscribers {
            Some(s) if !s.may_open(subscriber) => Err(Event::Quota),
            _ => Ok(()),
        }
    }

    fn make_room_outside(&mut self) -> Result<(), Event> {
        self.make_room()?;
        let most = (self.sessions.slab.capacity() / OUTSIDE_SHARE).max(1);
        if self.unanswered >= most {
            self.end_due(RECLAIM);
        }
        if self.unanswered < most { Ok(()) } else { Err(Event::OutsideFull) }
    }

    /// The inside address, unless several addresses are one subscriber.
    #[inline]
    pub(super) fn subscriber(&self, inside: u64) -> u32 {
        match (&self.owners, &self.config.numbered) {
            (Some(owners), Some(numbers)) => owners.load((addr(inside) & !numbers.mask()) as usize) as u32,
            _ => addr(inside),
        }
    }

    /// Who has one outside address with paired pooling.
    #[inline]
    pub(super) fn customer(&self, inside: u64) -> u32 {
        if self.owners.is_some() { self.subscriber(inside) } else { self.inside_number(addr(inside)) }
    }

    /// Number of the outside address that is tried first. With paired pooling the same for all
    /// flows of a subscriber, evenly distributed over inside addresses.
    #[inline]
    fn preferred_address(&self, inside: u64) -> u32 {
        match self.pool.len() {
            1 => 0,
            n if self.config.pooling == Pooling::Paired => self.customer(inside) % n,
            n => crate::hash::range(self.hasher.one(inside), n),
        }
    }

    /// Where the search for another outside address begins.
    fn next_address(&self, inside: u64) -> u32 {
        let key = if self.config.pooling == Pooling::Paired { self.customer(inside).into() } else { inside };
        crate::hash::range(self.hasher.pair(key, 4), self.pool.len())
    }

    #[inline]
    fn inside_number(&self, a: u32) -> u32 {
        let (a, mut before) = (a & !self.config.aliases, 0u32);
        for p in &self.config.inside {
            if p.contains(a) {
                return before.wrapping_add(a & !p.mask());
            }
            before = before.wrapping_add(p.count() as u32);
        }
        a
    }

    /// The probable outside end point of a new session, only for prefetching.
    #[inline]
    pub(super) fn probable_outside(&self, inside: u64, remote: u64) -> Option<u64> {
        if let Some(pairs) = self.pairs() {
            pairs.prefetch(self.customer(inside));
        }
        self.outside_choice(self.preferred_address(inside), inside, remote, 0, self.config.preserve_parity)
    }

    /// The `k`-th to try under address-and-port-dependent mapping.
    #[inline]
    fn outside_choice(&self, number: u32, inside: u64, remote: u64, k: u32, parity: bool) -> Option<u64> {
        let want = port(inside);
        let ports = self.ports.class(want);
        let chosen = if k == 0 && self.config.preserve_port && ports.owns(want) {
            want
        } else {
            // Keyed, so that outsiders cannot guess ports (RFC 6888, REQ-15).
            let p = ports.walk(self.hasher.pair(inside, remote | 1 << 63), k)?;
            let turned = if parity { p ^ ((p ^ want) & 1) } else { p };
            if ports.owns(turned) { turned } else { p }
        };
        Some(endpoint(self.pool.addr(number), chosen, protocol(inside)))
    }

    /// An outside end point not used towards this remote end point, at the first address that has one.
    #[inline]
    fn free_outside(&mut self, inside: u64, remote: u64) -> Result<u64, Event> {
        let first = self.preferred_address(inside);
        let outside = self.free_at(first, inside, remote).or_else(|| self.free_elsewhere(first, inside, remote));
        let outside = outside.ok_or(Event::NoPort)?;
        self.count_parity(port(inside), port(outside));
        Ok(outside)
    }

    #[cold]
    fn free_elsewhere(&mut self, first: u32, inside: u64, remote: u64) -> Option<u64> {
        let (from, n) = (self.next_address(inside), self.pool.len());
        let others =
            (0..n).map(|k| (from + k) % n).filter(|&number| number != first && !self.is_all_static(number, inside));
        let others: Vec<u32> = others.take((FURTHER_PROBES / self.probes(inside)) as usize).collect();
        others.into_iter().find_map(|number| self.free_at(number, inside, remote))
    }

    /// The preserved port, and the others once.
    #[inline]
    fn probes(&self, inside: u64) -> u32 {
        PROBES.min(self.ports.class(port(inside)).count().next_power_of_two() + 1)
    }

    #[inline]
    fn free_at(&mut self, number: u32, inside: u64, remote: u64) -> Option<u64> {
        for &parity in self.parities() {
            for k in 0..self.probes(inside) {
                let Some(outside) = self.outside_choice(number, inside, remote, k, parity) else { continue };
                let hash = self.hash(outside, remote);
                if self.find_outer(hash, outside, remote).is_none() && self.static_inside(outside).is_none() {
                    return Some(outside);
                }
            }
        }
        None
    }

    /// RFC 4787, section 4.2.2, prefers a port of the other parity to none.
    fn parities(&self) -> &'static [bool] {
        if self.config.preserve_parity { &[true, false] } else { &[false] }
    }

    #[inline]
    fn count_parity(&mut self, inside: u16, outside: u16) {
        if self.config.preserve_parity && (inside ^ outside) & 1 == 1 {
            self.count.add(Event::ParityChanged);
        }
    }

    fn mapping_for(&mut self, inside: u64, key: u64) -> Result<(u64, u32), Event> {
        let Some(mappings) = &mut self.mappings else { return Err(Event::NoPort) };
        if let Some(m) = mappings.by_inside(key) {
            if self.aliases != 0 {
                mappings.used_by(m, inside);
            }
            return Ok((mappings.get(m).outside, m));
        }
        if !mappings.has_room() {
            return Err(Event::MappingFull);
        }
        let subscriber = self.subscriber(inside);
        if self.subscribers.as_ref().is_some_and(|s| !s.may_map(subscriber)) {
            return Err(Event::Quota);
        }
        let (number, taken) = self.outside_port(inside).ok_or(Event::NoPort)?;
        let outside = endpoint(self.pool.addr(number), taken, protocol(inside));
        let mappings = self.mappings.as_mut().ok_or(Event::NoPort)?;
        let m = mappings.make(key, inside, outside).ok_or(Event::MappingFull)?;
        if let Some(s) = &mut self.subscribers {
            s.add_port(subscriber, taken);
        }
        self.count_parity(port(inside), taken);
        self.count.add(Event::MappingNew);
        Ok((outside, m))
    }

    /// Takes a port. A customer with mappings keeps its address; a new one gets the next with room.
    fn outside_port(&mut self, inside: u64) -> Option<(u32, u16)> {
        self.draws = self.draws.wrapping_add(1);
        let hash = self.hasher.pair(inside, self.draws | 1 << 63);
        let known =
            self.subscribers.as_ref().filter(|s| s.has_blocks()).and_then(|s| s.address(self.subscriber(inside)));
        let mut number = known.unwrap_or_else(|| self.preferred_address(inside));
        loop {
            let place = match self.pairs() {
                Some(pairs) => pairs.join(self.customer(inside), number),
                None => Place { address: number, is_new: true },
            };
            if let Some(port) = self.port_at(place.address, inside, hash) {
                return Some((place.address, port));
            }
            self.unpair(inside, place.address);
            if known.is_some() || !place.is_new {
                return None;
            }
            let from = self.next_address(inside);
            number = self.mappings.as_mut()?.ports.address_with_room(protocol(inside), from, self.tick)?;
        }
    }

    #[inline]
    pub(super) fn pairs(&self) -> Option<&Pairs> {
        self.pairs.as_ref().filter(|_| self.pool.len() > 1)
    }

    fn unpair(&self, inside: u64, number: u32) {
        if let Some(pairs) = self.pairs() {
            pairs.leave(self.customer(inside), number);
        }
    }

    /// Takes a port of this address, out of the subscriber's blocks if there are blocks. An address
    /// without a port for a new customer is marked as full.
    fn port_at(&mut self, number: u32, inside: u64, hash: u64) -> Option<u16> {
        let (proto, tick, subscriber) = (protocol(inside), self.tick, self.subscriber(inside));
        let (inside, same) = (port(inside), self.config.preserve_port);
        let wish = Wish { inside, same, parity: false, any: false, hash };
        let last = Wish { any: true, ..wish };
        let wishes = self.parities().iter().map(|&parity| Wish { parity, ..wish }).chain([last]);
        let ports = &mut self.mappings.as_mut()?.ports;
        let take =
            |ports: &mut PortMap, within| wishes.clone().find_map(|wish| ports.take(number, proto, wish, within, tick));
        let mut found = None;
        if let Some(s) = self.subscribers.as_mut().filter(|s| s.has_blocks()) {
            let own: [_; MOST_BLOCKS] = std::array::from_fn(|i| s.block(subscriber, i));
            let mut of_own = |wish| own.iter().flatten().find_map(|b| ports.take(number, proto, wish, Some(*b), tick));
            found = wishes.clone().find_map(&mut of_own);
            if found.is_some() || !s.may_take_block(subscriber) {
                return found;
            }
            let mut from = 0;
            while found.is_none()
                && ports.has_room(number, proto, tick)
                && let Some(block) = s.new_block(subscriber, number, hash, from)
            {
                found = take(ports, Some(block.chunks));
                from = block.place + 1;
                match found {
                    Some(_) => self.count.add(Event::BlockAllocated),
                    None => s.release_unused(subscriber, number),
                }
            }
        } else if ports.has_room(number, proto, tick) {
            found = take(ports, None);
        }
        if found.is_none() {
            ports.mark_full(number, proto);
        }
        found
    }

    #[cold]
    pub(super) fn expire(&mut self, e: u32) {
        self.close(e);
        self.count.add(Event::SessionExpired);
    }

    fn close(&mut self, e: u32) {
        let s = self.sessions.slab[e];
        let remote = s.remote() & ADDR_PORT;
        self.sessions.remove(self.hash(s.inside, remote), self.hash(s.outside, remote), e);
        // All sessions of a mapping have its inside end point.
        let subscriber = self.subscriber(s.inside);
        if let Some(mappings) = &mut self.mappings
            && s.mapping != NONE
        {
            let number = self.pool.number(addr(s.outside)).unwrap_or(0);
            if let Some(mapped) = mappings.end_session(s.mapping, addr(remote), number, self.tick) {
                if let Some(sub) = &mut self.subscribers
                    && sub.end_port(subscriber, number, port(mapped.outside))
                {
                    mappings.ports.block_freed(number, self.tick);
                    self.count.add(Event::BlockReleased);
                }
                self.unpair(s.inside, number);
            }
        }
        if s.flags() & UNANSWERED != 0 {
            self.unanswered -= 1;
        } else if let Some(sub) = &mut self.subscribers {
            sub.end_session(subscriber);
        }
    }

    fn turns(&self) -> u32 {
        self.mappings.as_ref().map_or(0, |m| m.ports.turns)
    }

    /// Ends sessions that are due, with so many looks.
    #[inline]
    pub(super) fn end_due(&mut self, mut looks: u32) {
        while let Some(e) = self.deadlines.next(self.tick, self.sessions.slab.touched(), &mut looks) {
            let s = &self.sessions.slab[e];
            if !s.is_live() {
                continue;
            }
            if self.lifetimes.expired(s, self.tick) {
                let turns = self.turns();
                self.expire(e);
                looks = looks.saturating_sub(END + TURN * self.turns().wrapping_sub(turns));
            } else {
                self.deadlines.note(e, self.lifetimes.deadline(s, self.tick));
            }
        }
    }

    #[inline]
    pub(super) fn sweep_some(&mut self, most: u32) {
        self.end_due(most);
        self.count_numbers(most);
    }

    /// The census meets every session in a round.
    #[inline]
    fn count_numbers(&mut self, most: u32) {
        let Some(census) = &mut self.census else { return };
        let entries = self.sessions.slab.touched();
        if entries == 0 {
            census.round(self.tick);
        }
        for _ in 0..self.sweep.due(self.tick, entries, self.lifetimes.round(), most) {
            let e = self.sweep.next(entries);
            if e == 0 {
                census.round(self.tick);
            }
            let s = &self.sessions.slab[e];
            if s.is_live() && !self.lifetimes.expired(s, self.tick) {
                census.meet(s.inside, s.remote());
            }
        }
    }

    #[inline]
    pub(super) fn set_time(&mut self, now: u64) {
        self.now = now;
        self.tick = timers::tick(now);
    }
}
