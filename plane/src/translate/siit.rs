//! Addresses of SIIT: explicit address maps first (RFC 7757), then prefixes (RFC 6052).

use super::eam::Eam;
use super::prefix::Pref64;
use crate::event::Event;
use crate::strategy::{Addressing, End, Point4};

/// Maps and prefixes, for both ends.
pub struct Siit {
    maps: Option<Eam>,
    prefix: Option<Pref64>,
    /// Further ones, for IPv4 addresses that those before may not have (RFC 6052, section 3.1).
    others: Vec<Pref64>,
}

impl Siit {
    /// The prefixes are for addresses without a map: an IPv4 address appears behind the first that may have it.
    pub fn new(maps: Option<Eam>, prefixes: impl IntoIterator<Item = Pref64>) -> Siit {
        let mut prefixes = prefixes.into_iter();
        Siit { maps: maps.filter(|m| !m.is_empty()), prefix: prefixes.next(), others: prefixes.collect() }
    }

    /// A prefix alone.
    pub fn prefix(prefix: Pref64) -> Siit {
        Siit::new(None, Some(prefix))
    }

    #[inline(always)]
    fn by_prefix(&self, addr: u32) -> Result<u128, Event> {
        let first = self.prefix.map_or(Err(Event::DestinationUnmapped), |p| p.to_ipv6(addr));
        first.or_else(|why| self.to_ipv6_by_others(addr).ok_or(why))
    }

    #[cold]
    fn to_ipv6_by_others(&self, addr: u32) -> Option<u128> {
        self.others.iter().find_map(|p| p.to_ipv6(addr).ok())
    }

    #[cold]
    fn to_ipv4_by_others(&self, addr: u128) -> Result<u32, Event> {
        let of = |p: &Pref64| p.to_ipv4(addr).transpose();
        self.others.iter().find_map(of).unwrap_or(Err(Event::DestinationUnmapped))
    }

    /// The prefix of an address.
    #[inline(always)]
    fn prefix_of(&self, addr: u128) -> Option<&Pref64> {
        let is = |p: &&Pref64| p.contains(addr);
        self.prefix.as_ref().filter(is).or_else(|| self.others.iter().find(is))
    }
}

impl Addressing for Siit {
    #[inline(always)]
    fn to_ipv6(&self, _: End, point: Point4) -> Result<u128, Event> {
        if let Some(found) = self.maps.as_ref().and_then(|m| m.to_ipv6(point.addr)) {
            return Ok(found);
        }
        self.by_prefix(point.addr)
    }

    #[inline(always)]
    fn to_ipv4(&mut self, _: End, addr: u128, _: Option<u16>) -> Result<u32, Event> {
        if let Some(found) = self.maps.as_ref().and_then(|m| m.to_ipv4(addr)) {
            return Ok(found);
        }
        let Some(p) = &self.prefix else { return Err(Event::DestinationUnmapped) };
        match p.to_ipv4(addr)? {
            Some(found) => Ok(found),
            None => self.to_ipv4_by_others(addr),
        }
    }

    /// The destination behind the prefix represents an IPv4 address with a map. The sender is shown
    /// behind the prefix too, so that the reply takes the same way (RFC 7757, section 4.2.2).
    #[inline(always)]
    fn turned(&self, dst6: u128, src: u32, dst: u32) -> Option<(u128, u128)> {
        let maps = self.maps.as_ref()?;
        // A map gives another IPv4 address, or leads back to the same IPv6 address.
        let prefix = self.prefix_of(dst6).filter(|p| p.extract(dst6) == dst)?;
        let host = maps.to_ipv6(dst).filter(|host| *host != dst6)?;
        Some((prefix.to_ipv6(src).ok()?, host))
    }

    /// No map is used, whatever the destination (RFC 7757, section 4.2.1).
    fn hidden(&self, src: u32) -> Option<u128> {
        self.by_prefix(src).ok()
    }

    #[inline(always)]
    fn prefetch_ipv4(&self, _: End, point: Point4) {
        if let Some(m) = &self.maps
            && m.is_far()
        {
            m.prefetch4(point.addr);
        }
    }

    #[inline(always)]
    fn prefetch_ipv6(&self, _: End, addr: u128) {
        if let Some(m) = &self.maps
            && m.is_far()
        {
            m.prefetch6(addr);
            // For hairpinning.
            if let Some(p) = &self.prefix
                && p.contains(addr)
            {
                m.prefetch4(p.extract(addr));
            }
        }
    }
}
