//! A customer's edge whole: the NAT44 that stays within the port set, and behind it the tunnel (MAP-E) or the translator
//! (MAP-T), as one router. Apart from the strategies, because here and nowhere else the customer meets a state table.

use super::domain::Domain;
use super::role::RoleError;
use super::rule::Customer;
use super::{MapECe, MapTCe};
use crate::chain::{CUSTOMER_HALF, Chain, INTERNET_HALF};
use crate::function::Side;
use crate::nat44::{self, Nat44, NatError};
use crate::side::{Side4, Side6, inner_address};
use crate::steer::Steering;
use crate::translate::{self, Pref64, Translate};
use crate::tunnel::{self, Tunnel};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::Mac;

/// An edge of MAP-E.
pub type MapEEdge = Chain<Nat44, Tunnel<MapECe>>;
/// An edge of MAP-T.
pub type MapTEdge = Chain<Nat44, Translate<MapTCe>>;

/// Why an edge cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// Rules, prefix and relay do not go together.
    #[error("customer's edge: {0}")]
    Role(#[from] RoleError),
    /// The NAT44's part.
    #[error("customer's edge: {0}")]
    Nat(#[from] NatError),
    /// The tunnel's part.
    #[error("customer's edge, tunnel: {0}")]
    Tunnel(#[from] tunnel::ConfigError),
    /// The translator's part.
    #[error("customer's edge, translator: {0}")]
    Translator(#[from] translate::ConfigError),
}

/// What both edges are told.
#[derive(Clone, Debug)]
pub struct EdgeConfig {
    /// The NAT44: the customer's side, inside prefixes, behaviour, timeouts, limits. What it says of the Internet's side, of the
    /// pool and of the port set is not used: these follow from the customer.
    pub nat: nat44::config::Config,
    /// The side where IPv6 is spoken.
    pub internet: Side6,
    /// Who this is.
    pub customer: Customer,
    /// Forwarding Mapping Rules for mesh mode; none for hub and spoke.
    pub mesh: Arc<Domain>,
}

impl EdgeConfig {
    /// The NAT44's settings in the pair.
    pub fn nat(&self) -> nat44::config::Config {
        nat44::config::Config {
            internet: inner(CUSTOMER_HALF, INTERNET_HALF, self.customer.ipv4.addr),
            pool: vec![self.customer.pool()],
            port_set: self.customer.ports,
            ..self.nat.clone()
        }
    }

    /// The tunnel's settings in the pair, with the defaults of the RFCs.
    pub fn tunnel(&self) -> tunnel::Config {
        let inner = inner(INTERNET_HALF, CUSTOMER_HALF, inner_address(self.nat.customer.address));
        tunnel::Config { hop: false, ..tunnel::Config::new(Side::Internet, inner, self.internet) }
    }

    /// The translator's settings in the pair, with the defaults of the RFCs.
    pub fn translator(&self) -> translate::Config {
        let inner = inner(INTERNET_HALF, CUSTOMER_HALF, inner_address(self.nat.customer.address));
        translate::Config { hop: false, ..translate::Config::new(Side::Internet, inner, self.internet) }
    }

    /// Worker number `worker` of `workers` of a MAP-E edge; `tunnel` is [`Self::tunnel`], with other settings if need be. All
    /// workers get the same configuration and seed.
    ///
    /// # Errors
    /// When the configuration makes no sense or there is not enough memory.
    pub fn map_e(
        &self,
        tunnel: tunnel::Config,
        relay: Ipv6Addr,
        worker: usize,
        workers: usize,
        seed: u64,
    ) -> Result<MapEEdge, EdgeError> {
        let softwires = MapECe::new(self.customer, relay, self.mesh.clone())?;
        let nat = Nat44::new(self.nat(), worker, workers, seed)?;
        let tunnel = Tunnel::new(tunnel, softwires, worker as u16, workers as u16, seed)?;
        Ok(Chain::new(("nat44", nat), ("tunnel", tunnel), workers, seed))
    }

    /// The same for a MAP-T edge; `translator` is [`Self::translator`], with other settings if need be.
    ///
    /// # Errors
    /// When the configuration makes no sense or there is not enough memory.
    pub fn map_t(
        &self,
        translator: translate::Config,
        default: Pref64,
        worker: usize,
        workers: usize,
        seed: u64,
    ) -> Result<MapTEdge, EdgeError> {
        let addressing = MapTCe::new(self.customer, default, self.mesh.clone())?;
        let nat = Nat44::new(self.nat(), worker, workers, seed)?;
        let translator = Translate::new(translator, addressing)?.on_worker(worker as u16, workers as u16);
        Ok(Chain::new(("nat44", nat), ("translate", translator), workers, seed))
    }

    /// How packets from the customer are to be spread over the workers.
    pub const STEER_CUSTOMER: Steering = Nat44::STEER_CUSTOMER;

    /// How MAP-E packets from the Internet are to be spread: by block of the port inside the tunnel.
    pub fn steer_map_e(&self, workers: usize) -> Steering {
        Nat44::steer_ports(76, self.customer.ports, workers)
    }

    /// How MAP-T packets from the Internet are to be spread: by block of the port.
    pub fn steer_map_t(&self, workers: usize) -> Steering {
        Nat44::steer_ports(56, self.customer.ports, workers)
    }
}

/// A side of the inner link. It carries packets of any size: what fits is the business of the links outside.
fn inner(mac: Mac, next_hop: Mac, address: Ipv4Addr) -> Side4 {
    Side4 { mac, next_hop, address, mtu: u16::MAX }
}
