//! What MAP-E and MAP-T edges have in common: the customer's own addresses and ports, and the rules
//! of customers that it sends to directly.

use super::domain::Domain;
use super::rule::{Customer, CustomerId, RuleError};
use crate::event::Event;
use crate::strategy::Point4;
use std::sync::Arc;
use wire::Prefix6;

/// Why a role is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// The relay lies among the customers.
    #[error("the border relay's {relay} overlaps the rule prefix {rule}: choose one outside of all rules")]
    RelayInRule {
        /// Address of the relay, or prefix of the Default Mapping Rule.
        relay: Prefix6,
        /// The rule's prefix.
        rule: Prefix6,
    },
    /// The relay lies in the customer's prefix.
    #[error("the border relay's {relay} overlaps the customer's own prefix {customer}")]
    RelayInCustomer {
        /// The prefix of the relay.
        relay: Prefix6,
        /// The customer's prefix.
        customer: Prefix6,
    },
    /// No customer has the prefix.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

pub(super) fn apart(domain: &Domain, relay: Prefix6) -> Result<(), RoleError> {
    match domain.overlaps(relay) {
        Some(i) => Err(RoleError::RelayInRule { relay, rule: domain.rules()[i].ipv6 }),
        None => Ok(()),
    }
}

#[derive(Clone, Debug)]
pub(super) struct Edge {
    customer: Customer,
    id: CustomerId,
    address: u128,
    mesh: Option<Arc<Domain>>,
}

impl Edge {
    /// `mesh` has the rules of others; `relay` are the border relay's IPv6 addresses.
    pub(super) fn new(customer: Customer, mesh: Arc<Domain>, relay: Prefix6) -> Result<Edge, RoleError> {
        apart(&mesh, relay)?;
        if customer.prefix.contains(relay.first()) || relay.contains(customer.prefix.first()) {
            return Err(RoleError::RelayInCustomer { relay, customer: customer.prefix });
        }
        let address = customer.address.to_bits();
        let mesh = (!mesh.rules().is_empty()).then_some(mesh);
        Ok(Edge { id: customer.id(), customer, address, mesh })
    }

    #[inline(always)]
    pub(super) fn address(&self) -> u128 {
        self.address
    }

    #[inline(always)]
    pub(super) fn address_of(&self, ipv4: u32) -> u128 {
        self.id.address(ipv4)
    }

    #[inline(always)]
    pub(super) fn mesh(&self) -> Option<&Domain> {
        self.mesh.as_deref()
    }

    /// Checks the source of a CE's packet (RFC 7599, section 8.1).
    #[inline(always)]
    pub(super) fn may_send(&self, point: Point4) -> Result<(), Event> {
        let own =
            self.customer.ipv4.contains(point.addr) && point.port.is_none_or(|port| self.customer.ports.contains(port));
        if own { Ok(()) } else { Err(Event::Spoofed) }
    }

    /// Checks the destination at a CE (RFC 7599, section 8.2).
    #[inline(always)]
    pub(super) fn may_receive(&self, point: Point4) -> Result<(), Event> {
        if !self.customer.ipv4.contains(point.addr) {
            return Err(Event::DestinationUnmapped);
        }
        if point.port.is_none_or(|port| self.customer.ports.contains(port)) {
            return Ok(());
        }
        Err(Event::OutsidePortSet)
    }
}
