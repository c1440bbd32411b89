//! Addresses of SIIT: explicit address maps first (RFC 7757), then a prefix (RFC 6052).

use super::eam::Eam;
use super::prefix::Pref64;
use crate::event::Event;
use crate::strategy::{Addressing, End, Point4};

/// Maps and prefix, for both ends.
pub struct Siit {
    maps: Option<Eam>,
    prefix: Option<Pref64>,
}

impl Siit {
    /// The prefix is for addresses without a map.
    pub fn new(maps: Option<Eam>, prefix: Option<Pref64>) -> Siit {
        Siit { maps: maps.filter(|m| !m.is_empty()), prefix }
    }

    /// A prefix alone.
    pub fn prefix(prefix: Pref64) -> Siit {
        Siit::new(None, Some(prefix))
    }

    /// The address of a source that is answered through the translator.
    fn by_prefix(&self, addr: u32) -> Option<u128> {
        self.prefix.and_then(|p| p.to_ipv6(addr).ok())
    }
}

impl Addressing for Siit {
    #[inline(always)]
    fn to_ipv6(&self, _: End, point: Point4) -> Result<u128, Event> {
        if let Some(found) = self.maps.as_ref().and_then(|m| m.to_ipv6(point.addr)) {
            return Ok(found);
        }
        self.prefix.map_or(Err(Event::DestinationUnmapped), |p| p.to_ipv6(point.addr))
    }

    #[inline(always)]
    fn to_ipv4(&mut self, _: End, addr: u128, _: Option<u16>) -> Result<u32, Event> {
        if let Some(found) = self.maps.as_ref().and_then(|m| m.to_ipv4(addr)) {
            return Ok(found);
        }
        let Some(p) = &self.prefix else { return Err(Event::DestinationUnmapped) };
        p.to_ipv4(addr)?.ok_or(Event::DestinationUnmapped)
    }

    /// The destination behind the prefix represents an IPv4 address with a map. The sender is shown
    /// behind the prefix too, so that the reply takes the same way (RFC 7757, section 4.2.2).
    #[inline(always)]
    fn turned(&self, dst6: u128, src: u32, dst: u32) -> Option<(u128, u128)> {
        let maps = self.maps.as_ref()?;
        // A map gives another IPv4 address, or leads back to the same IPv6 address.
        if !self.prefix.as_ref().is_some_and(|p| p.contains(dst6) && p.extract(dst6) == dst) {
            return None;
        }
        let host = maps.to_ipv6(dst).filter(|host| *host != dst6)?;
        Some((self.by_prefix(src)?, host))
    }

    /// No map is used, whatever the destination (RFC 7757, section 4.2.1).
    fn hidden(&self, src: u32) -> Option<u128> {
        self.by_prefix(src)
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
