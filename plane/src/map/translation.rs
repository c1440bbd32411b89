//! MAP-T (RFC 7599): border relay and customer's edge.

use super::domain::Domain;
use super::role::{Edge, RoleError};
use super::rule::Customer;
use crate::event::Event;
use crate::strategy::{Addressing, End, Point4};
use crate::translate::Pref64;
use std::sync::Arc;

/// IPv4 address in the interface identifier of a MAP address (RFC 7599, section 6).
#[inline(always)]
fn embedded(addr: u128) -> u32 {
    (addr >> 16) as u32
}

/// A border relay: customers by rules, all others by the Default Mapping Rule.
#[derive(Clone, Debug)]
pub struct MapTBr {
    domain: Arc<Domain>,
    default: Pref64,
}

impl MapTBr {
    /// A border relay with this Default Mapping Rule (RFC 7599, section 5.1).
    ///
    /// # Errors
    /// The default rule's prefix and another rule's overlap.
    pub fn new(domain: Arc<Domain>, default: Pref64) -> Result<MapTBr, RoleError> {
        super::role::apart(&domain, default.prefix())?;
        Ok(MapTBr { domain, default })
    }
}

impl Addressing for MapTBr {
    #[inline(always)]
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event> {
        match end {
            End::Customer => self.domain.translated(point.addr, point.port),
            End::Remote => self.default.to_ipv6(point.addr),
        }
    }

    /// RFC 7599, section 8.3: customers must use their own addresses and ports.
    #[inline(always)]
    fn to_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        match end {
            End::Customer => {
                let point = Point4 { addr: embedded(addr), port };
                self.domain.check_translated(addr, point).map(|()| point.addr)
            }
            End::Remote => self.default.to_ipv4(addr)?.ok_or(Event::DestinationUnmapped),
        }
    }

    #[inline(always)]
    fn prefetch_ipv4(&self, end: End, point: Point4) {
        if end == End::Customer {
            self.domain.prefetch(point.addr);
        }
    }

    #[inline(always)]
    fn prefetch_ipv6(&self, end: End, addr: u128) {
        if end == End::Customer {
            self.domain.prefetch(embedded(addr));
        }
    }

    fn is_shared(&self, end: End, addr: u32) -> bool {
        end == End::Customer && self.domain.is_shared(addr)
    }

    fn owns(&self, end: End, addr: u128) -> bool {
        end == End::Customer && self.domain.by_ipv6((addr >> 64) as u64).is_some()
    }

    #[inline(always)]
    fn serves(&self, addr: u32) -> bool {
        self.domain.serves(addr)
    }
}

/// A customer's edge: other customers in mesh mode by their rules, all others by the Default Mapping Rule.
#[derive(Clone, Debug)]
pub struct MapTCe {
    edge: Edge,
    default: Pref64,
}

impl MapTCe {
    /// `mesh` has the Forwarding Mapping Rules, empty in hub-and-spoke mode.
    ///
    /// # Errors
    /// The default rule's prefix overlaps that of a rule or of the customer.
    pub fn new(customer: Customer, default: Pref64, mesh: Arc<Domain>) -> Result<MapTCe, RoleError> {
        Ok(MapTCe { edge: Edge::new(customer, mesh, default.prefix())?, default })
    }
}

impl Addressing for MapTCe {
    #[inline(always)]
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event> {
        if end == End::Customer {
            self.edge.may_send(point)?;
            return Ok(self.edge.address_of(point.addr));
        }
        if let Some(mesh) = self.edge.mesh() {
            match mesh.translated(point.addr, point.port) {
                Err(Event::DestinationUnmapped) => {}
                known => return known,
            }
        }
        self.default.to_ipv6(point.addr)
    }

    /// Admits only the customer's own addresses and ports from a source of a rule (RFC 7599,
    /// section 8.2).
    #[inline(always)]
    fn to_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        let point = Point4 { addr: embedded(addr), port };
        if end == End::Customer {
            if addr != self.edge.address_of(point.addr) {
                return Err(Event::DestinationUnmapped);
            }
            return self.edge.may_receive(point).map(|()| point.addr);
        }
        if let Some(a) = self.default.to_ipv4(addr)? {
            return Ok(a);
        }
        let mesh = self.edge.mesh().ok_or(Event::SourceUnmapped)?;
        mesh.check_translated(addr, point).map(|()| point.addr)
    }

    /// Only a wrong source port gets an answer (RFC 7599, section 8.2).
    fn is_silent(&self) -> bool {
        true
    }

    /// Whether others share the address, in mesh mode.
    fn is_shared(&self, end: End, addr: u32) -> bool {
        end == End::Remote && self.edge.mesh().is_some_and(|mesh| mesh.is_shared(addr))
    }

    fn owns(&self, end: End, addr: u128) -> bool {
        end == End::Remote && self.edge.mesh().is_some_and(|mesh| mesh.by_ipv6((addr >> 64) as u64).is_some())
    }
}
