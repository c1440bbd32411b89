//! Addresses of SIIT: explicit address maps first (RFC 7757), then a prefix (RFC 6052). Apart from the tables
//! themselves, because the order of the two and hairpinning are rules of their own.

use super::prefix::Pref64;
use crate::ends::{Addressing, End, Point4};
use crate::event::Event;

/// Explicit maps, a prefix, or both.
pub struct Siit {
    prefix: Option<Pref64>,
}

impl Siit {
    /// A prefix alone.
    pub fn prefix(prefix: Pref64) -> Siit {
        Siit { prefix: Some(prefix) }
    }
}

impl Addressing for Siit {
    #[inline]
    fn to_ipv6(&self, _: End, point: Point4) -> Result<u128, Event> {
        self.prefix.map_or(Err(Event::DestinationUnmapped), |p| p.to_ipv6(point.addr))
    }

    #[inline]
    fn to_ipv4(&mut self, _: End, addr: u128, _: Option<u16>) -> Result<u32, Event> {
        let Some(p) = &self.prefix else { return Err(Event::DestinationUnmapped) };
        p.to_ipv4(addr)?.ok_or(Event::DestinationUnmapped)
    }
}
