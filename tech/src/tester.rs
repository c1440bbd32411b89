//! The tester's part: its flows, and the inputs of a view.

use crate::axis::MOST_SUBSCRIBERS;
use crate::parts::Plays;
use crate::table::Open;
use key::kind::{addresses, number, ports, settled};
use key::{computed, or};
use plane::Hop;
use plane::view::BedAddresses;
use wire::{AddrRange, FlowError, FlowSpace, PortRange};

/// Default source ports.
pub const USUAL_SOURCE_PORTS: PortRange = PortRange { first: 1024, last: 41_023 };
/// Default destination ports.
pub const USUAL_DESTINATION_PORTS: PortRange = PortRange { first: 1, last: 100 };

/// RFC 2544, section 12.
const MOST_NETWORKS: u64 = 256;

key::table! {
    /// The flows: every combination of an inside address or subscriber, a source port, a remote address and a destination port.
    pub struct Flows {
        /// Addresses of the Initiator, on the left.
        inside: AddrRange = "inside", addresses(), or("198.18.0.3");
        /// Networks on each side of a router, 256 addresses apart: `inside` and `remote` are the addresses in the first ones. Each
        /// frame goes to a pseudo-random network (RFC 2544, section 12).
        networks: u32 = "networks", number(1..=MOST_NETWORKS), or("1");
        /// Subscribers whose customer edges the tester plays, of a provider edge alone.
        subscribers: u32 = "subscribers", number(1..=MOST_SUBSCRIBERS), or("1");
        /// Source ports of the Initiator.
        source_ports: PortRange = "source-ports", settled(ports(), || USUAL_SOURCE_PORTS),
            computed("follows from the number of connections; without connections `\"1024-41023\"`");
        /// Addresses of the Responder, on the right.
        remote: AddrRange = "remote", addresses(), or("198.19.0.2");
        /// Destination ports of the Initiator's frames.
        destination_ports: PortRange = "destination-ports", settled(ports(), || USUAL_DESTINATION_PORTS),
            computed("follows from the number of connections; without connections `\"1-100\"`");
    }
}

impl Flows {
    /// Subscribers or inside addresses that share the flows.
    pub fn hosts(&self) -> u64 {
        // Subscribers take the place of inside addresses.
        u64::from(self.inside.count.max(self.subscribers).max(self.networks))
    }

    /// Flows of each host.
    pub fn of_a_host(&self) -> u64 {
        let each = [self.source_ports.count(), self.remote.count, self.destination_ports.count()];
        each.into_iter().map(u64::from).product()
    }

    /// Flows of all hosts.
    pub fn count(&self) -> u128 {
        u128::from(self.hosts()) * u128::from(self.of_a_host())
    }

    /// Inside and remote addresses of all networks.
    pub fn ends(&self) -> [AddrRange; 2] {
        let further = (self.networks.max(1) - 1) << 8;
        [self.inside, self.remote].map(|range| AddrRange { count: range.count.saturating_add(further), ..range })
    }

    /// Hosts with one address each.
    ///
    /// # Errors
    /// When the ranges are inconsistent.
    pub fn space(&self) -> Result<FlowSpace, FlowError> {
        let Flows { inside, remote, source_ports, destination_ports, .. } = *self;
        if self.networks > 1 {
            return FlowSpace::of_networks(self.networks, inside.first, source_ports, remote.first, destination_ports);
        }
        FlowSpace::new(inside, source_ports, remote, destination_ports)
    }

    /// The flow space; for a provider edge alone, each subscriber is a host.
    pub(crate) fn space_of(&self, plays: Plays) -> Result<FlowSpace, FlowError> {
        if self.subscribers <= 1 || plays != Plays::Pe {
            return self.space();
        }
        Flows { inside: AddrRange { count: self.subscribers, ..self.inside }, ..self.clone() }.space()
    }
}

/// The inputs of a view.
pub struct Setting<'a> {
    /// Flows at this point of the matrix.
    pub flows: &'a Flows,
    /// IPv4 frame size in octets, with FCS.
    pub frame_size: usize,
    /// TTL and hop limit.
    pub ttl: u8,
    /// Connections; 0: as many as flows.
    pub connections: u64,
    /// Seed of the pseudo-random order.
    pub seed: u64,
    /// Tester's next hop on the left.
    pub left: Hop,
    /// Tester's next hop on the right.
    pub right: Hop,
    /// Opens files of a technology.
    pub open: Open<'a>,
}

impl Setting<'_> {
    /// The test bed with these flows.
    pub fn bed(&self, flows: FlowSpace) -> BedAddresses {
        BedAddresses {
            left: self.left,
            right: self.right,
            frame_size: self.frame_size,
            ttl: self.ttl,
            connections: if self.connections == 0 { flows.size() } else { self.connections },
            flows,
            seed: self.seed,
        }
    }
}
