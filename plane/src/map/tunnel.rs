//! MAP-E (RFC 7597): border relay and customer's edge.

use super::domain::Domain;
use super::role::{Edge, RoleError};
use super::rule::Customer;
use crate::event::Event;
use crate::strategy::{Point4, Softwires, Wrap};
use std::net::Ipv6Addr;
use std::sync::Arc;

/// A border relay, with a softwire for each customer.
#[derive(Clone, Debug)]
pub struct MapEBr {
    domain: Arc<Domain>,
    own: u128,
}

impl MapEBr {
    /// A border relay with this tunnel end point.
    ///
    /// # Errors
    /// The address lies in a rule's prefix, where customers are.
    pub fn new(domain: Arc<Domain>, own: Ipv6Addr) -> Result<MapEBr, RoleError> {
        super::role::apart(&domain, wire::Prefix6 { addr: own, len: 128 })?;
        Ok(MapEBr { domain, own: own.to_bits() })
    }
}

impl Softwires for MapEBr {
    #[inline(always)]
    fn wrap(&self, customer: Point4, _: Point4) -> Result<Wrap, Event> {
        let dst = self.domain.tunnel_end(customer.addr, customer.port)?;
        Ok(Wrap { src: self.own, dst, customer: customer.addr })
    }

    /// Admits packets only from the customer that address and port belong to (RFC 7597, section
    /// 8.1).
    #[inline(always)]
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, _: Point4) -> Result<u32, Event> {
        if dst != self.own {
            return Err(Event::DestinationUnmapped);
        }
        self.domain.check_tunnel(src, customer).map(|()| customer.addr)
    }

    fn is_own(&self, addr: u128) -> bool {
        addr == self.own
    }

    fn is_shared(&self, addr: u32) -> bool {
        self.domain.is_shared(addr)
    }

    #[inline(always)]
    fn prefetch_wrap(&self, customer: Point4) {
        self.domain.prefetch(customer.addr);
    }

    #[inline(always)]
    fn prefetch_unwrap(&self, _: u128, customer: Point4) {
        self.domain.prefetch(customer.addr);
    }

    #[inline(always)]
    fn serves(&self, addr: u32) -> bool {
        self.domain.serves(addr)
    }
}

/// A customer's edge: softwires to the border relay and, in mesh mode, to other customers.
#[derive(Clone, Debug)]
pub struct MapECe {
    edge: Edge,
    relay: u128,
}

impl MapECe {
    /// `mesh` has the Forwarding Mapping Rules, empty in hub-and-spoke mode.
    ///
    /// # Errors
    /// The relay's address lies in the prefix of a rule or of the customer.
    pub fn new(customer: Customer, relay: Ipv6Addr, mesh: Arc<Domain>) -> Result<MapECe, RoleError> {
        let edge = Edge::new(customer, mesh, wire::Prefix6 { addr: relay, len: 128 })?;
        Ok(MapECe { edge, relay: relay.to_bits() })
    }
}

impl Softwires for MapECe {
    fn is_single(&self) -> bool {
        self.edge.mesh().is_none()
    }

    fn is_own(&self, addr: u128) -> bool {
        addr == self.edge.address()
    }

    #[inline(always)]
    fn wrap(&self, customer: Point4, remote: Point4) -> Result<Wrap, Event> {
        self.edge.may_send(customer)?;
        let dst = match self.edge.mesh() {
            None => self.relay,
            Some(mesh) => match mesh.tunnel_end(remote.addr, remote.port) {
                Err(Event::DestinationUnmapped) => self.relay,
                end => end?,
            },
        };
        Ok(Wrap { src: self.edge.address(), dst, customer: customer.addr })
    }

    #[inline(always)]
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, remote: Point4) -> Result<u32, Event> {
        if dst != self.edge.address() {
            return Err(Event::DestinationUnmapped);
        }
        self.edge.may_receive(customer)?;
        if src != self.relay {
            // By the other customer's rule (RFC 7597, section 8.1).
            if src == dst {
                return Err(Event::MartianSource);
            }
            self.edge.mesh().ok_or(Event::UnknownSoftwire)?.check_tunnel(src, remote)?;
        }
        Ok(customer.addr)
    }
}
