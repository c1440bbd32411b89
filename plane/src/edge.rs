//! A customer edge that keeps state: a NAT44, and behind it the tunnel (lw4o6, MAP-E) or the translator (MAP-T).

use crate::chain::{CUSTOMER_HALF, Chain, INTERNET_HALF};
use crate::function::{Function, Side};
use crate::nat44::config::Config as NatConfig;
use crate::nat44::{Nat44, NatError};
use crate::side::{Side4, Side6, inner_address};
use crate::{translate, tunnel};
use wire::{AddrRange, PortRange, PortSet, Prefix4};

/// Octets by which an IPv6 header exceeds an IPv4 header.
const GROWTH: u16 = 20;

/// The links of an edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// IPv4.
    pub customer: Side4,
    /// IPv6.
    pub internet: Side6,
}

impl Edge {
    /// The NAT44 before a tunnel, which itself decides about packets that are too large.
    pub fn nat_before_tunnel(&self, inside: Vec<Prefix4>, pool: AddrRange, ports: PortSet) -> NatConfig {
        self.nat(inside, pool, ports, u16::MAX)
    }

    /// The NAT44 before a translator, which gets no larger packets than the IPv6 side takes.
    pub fn nat_before_translator(&self, inside: Vec<Prefix4>, pool: AddrRange, ports: PortSet) -> NatConfig {
        self.nat(inside, pool, ports, self.internet.mtu.saturating_sub(GROWTH))
    }

    fn nat(&self, inside: Vec<Prefix4>, pool: AddrRange, ports: PortSet, mtu: u16) -> NatConfig {
        let internet = Side4 { mac: CUSTOMER_HALF, next_hop: INTERNET_HALF, address: pool.first, mtu };
        let mut c = NatConfig::new(self.customer, internet, inside, vec![pool]);
        // A shared address has few ports.
        c.ports = PortRange { first: if ports == PortSet::ALL { 1024 } else { 1 }, last: 65_535 };
        c.port_set = ports;
        c
    }

    /// The tunnel behind the NAT44, which is the hop.
    pub fn tunnel(&self) -> tunnel::Config {
        tunnel::Config { hop: false, ..tunnel::Config::new(Side::Internet, self.inner(), self.internet) }
    }

    /// The translator behind the NAT44, which is the hop.
    pub fn translator(&self) -> translate::Config {
        translate::Config { hop: false, ..translate::Config::new(Side::Internet, self.inner(), self.internet) }
    }

    fn inner(&self) -> Side4 {
        let address = inner_address(self.customer.address);
        Side4 { mac: INTERNET_HALF, next_hop: CUSTOMER_HALF, address, mtu: u16::MAX }
    }
}

/// One worker's NAT44, and behind it a function with this prefix of its counters.
///
/// # Errors
/// An invalid configuration, or too little memory.
pub fn behind_nat<F: Function>(
    nat: NatConfig,
    behind: (&'static str, F),
    worker: usize,
    workers: usize,
    seed: u64,
) -> Result<Chain<Nat44, F>, NatError> {
    Ok(Chain::new(("nat44", Nat44::new(nat, worker, workers, seed)?), behind, workers, seed))
}
