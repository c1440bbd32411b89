//! Stateful NAT64 (RFC 6146), which is also the PLAT of 464XLAT (RFC 6877): translation between IPv6 and IPv4 with a
//! dictionary of customers, and behind it a NAT44 whose inside addresses are the dictionary's numbers. Its mappings are the
//! RFC's binding information base, its sessions the session table.

pub mod config;
mod plat;

pub use config::Config;
pub use plat::Plat;

use crate::customers::{Customers, numbers};
use crate::function::Side;
use crate::nat44::NatError;
use crate::numbered::{self, Numbered, Numbering};
use crate::side::Side4;
use crate::translate::{self, Pref64, Pref64Error, Translate};
use arena::ArenaError;

/// Why a NAT64 cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Nat64Error {
    /// The prefix of the IPv4 addresses.
    #[error("pref64 of a NAT64: {0}")]
    Pref64(#[from] Pref64Error),
    /// A mistake in the translation's part of the configuration.
    #[error("translation of a NAT64, {0}")]
    Translate(#[from] translate::ConfigError),
    /// The NAT's part.
    #[error("state of a NAT64: {0}")]
    Nat(#[from] NatError),
    /// Too many customers.
    #[error(
        "a NAT64 for {0} customers a worker: at most {most} can be told apart beside this pool; lower `customers`",
        most = crate::customers::MOST
    )]
    Customers(u64),
    /// Not enough memory.
    #[error("making the dictionary of a NAT64: {0}")]
    Memory(#[from] ArenaError),
}

/// One worker of a NAT64.
pub type Nat64 = Numbered<Translate<Plat>>;

impl Nat64 {
    /// Worker number `worker` of `workers`. All workers of a gateway get the same configuration and seed.
    ///
    /// # Errors
    /// When the configuration makes no sense or there is not enough memory.
    pub fn new(config: Config, worker: usize, workers: usize, seed: u64) -> Result<Nat64, Nat64Error> {
        let pref64 = Pref64::new(config.pref64, config.private_behind_well_known)?;
        let capacity = config.customers_per_worker(workers);
        let own = [config.nat.internet.address];
        let numbers = numbers(capacity, &config.nat.pool, &own).ok_or(Nat64Error::Customers(capacity))?;
        let inner = numbered::first(numbers);
        let translation = config.translation(numbered::near(inner, config.nat.internet.mtu), seed ^ worker as u64);
        let mut nat = numbered::far(&config.nat, numbers, inner);
        nat.rfc6146 = true;
        let customers = Customers::new(capacity, numbers, seed)?;
        let plat = Plat::new(customers, pref64, config.customer.address, inner, config.inside);
        Ok(Numbered::join(("translate", Translate::new(translation, plat)?), nat, worker, workers, seed)?)
    }

    /// Bytes of memory that all workers together take for their tables.
    pub fn bytes_for(config: &Config, workers: usize) -> u64 {
        numbered::bytes_for::<u128>(config.customers_per_worker(workers), &config.nat, workers)
    }
}

impl Numbering for Translate<Plat> {
    type Key = u128;
    #[inline]
    fn dictionary(&self) -> &Customers<u128> {
        self.addressing().customers()
    }
    #[inline]
    fn dictionary_mut(&mut self) -> &mut Customers<u128> {
        self.addressing_mut().customers_mut()
    }
}

impl Config {
    /// The translating half.
    fn translation(&self, near: Side4, seed: u64) -> translate::Config {
        let mut t = translate::Config::new(Side::Customer, near, self.customer);
        t.hop = false;
        // From one customer to another the way is through the NAT.
        t.hairpinning = translate::Hairpinning::Off;
        t.lowest_ipv6_mtu = self.lowest_ipv6_mtu;
        t.traffic_class = self.traffic_class;
        t.tos = self.tos;
        t.zero_udp_checksum = self.zero_udp_checksum;
        t.icmp_errors_per_second = self.nat.icmp_errors_per_second;
        t.seed = seed;
        t
    }
}
