//! Stateful NAT64 (RFC 6146), which is also the PLAT of 464XLAT (RFC 6877): translation between IPv6 and IPv4 with a
//! dictionary of customers, and behind it a NAT44 whose inside addresses are the dictionary's numbers. Its mappings are the
//! RFC's binding information base, its sessions the session table.

pub mod config;
mod plat;

pub use config::Config;
pub use plat::Plat;

use crate::chain::{self, Chain, Nested};
use crate::customers::{Customers, numbers};
use crate::ends::Addressing;
use crate::function::{Drops, Entry, Function, Packet, Side, Spare, Verdict};
use crate::nat44::config::Prefix;
use crate::nat44::{self, Nat44, NatError};
use crate::pinned::{self, Pinned};
use crate::side::Side4;
use crate::steer::Steering;
use crate::translate::{self, Pref64, Pref64Error, Translate};
use arena::ArenaError;
use std::net::Ipv4Addr;

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
pub struct Nat64 {
    pair: Pinned<Chain<Translate<Plat>, Nat44>>,
    config: Config,
    /// Where the customers' numbers lie.
    numbers: Prefix,
}

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
        let translation = config.translation(numbers, seed ^ worker as u64);
        let nat = config.nat_behind(numbers);
        let customers = Customers::new(capacity, numbers, seed)?;
        let plat = Plat::new(customers, pref64, config.customer.address, first(numbers), config.inside.clone());
        let pair = Chain::new(
            ("translate", Translate::new(translation, plat)?),
            ("nat44", Nat44::new(nat, worker, workers, seed)?),
            workers,
            seed,
        );
        Ok(Nat64 { pair: Pinned::new(pair, worker, workers), config, numbers })
    }

    /// Bytes of memory that all workers together take for their tables.
    pub fn bytes_for(config: &Config, workers: usize) -> u64 {
        let customers = Customers::<u128>::bytes_for(config.customers_per_worker(workers));
        Nat44::bytes_for(&config.nat, workers) + customers * workers as u64
    }

    /// How packets from the customers are to be spread over the workers: by IPv6 source.
    pub const STEER_CUSTOMER: Steering = pinned::STEER_CUSTOMER;
    /// How packets from the Internet are to be spread over the workers: by block of the outside port.
    pub const STEER_INTERNET: Steering = Nat44::STEER_INTERNET;

    /// Customers that the dictionary has at the moment.
    pub fn customers(&self) -> u32 {
        self.pair.function.customer.addressing().customers()
    }

    /// The half that translates.
    pub fn translation(&self) -> &Translate<Plat> {
        &self.pair.function.customer
    }

    /// The half that keeps the state.
    pub fn nat(&self) -> &Nat44 {
        &self.pair.function.internet
    }

    /// Give back numbers that nobody needs any more.
    #[inline]
    fn tidy(&mut self, when_idle: bool) {
        let Chain { customer, internet: nat, .. } = &mut self.pair.function;
        customer.addressing_mut().tidy(nat.epoch(), when_idle, |n| nat.epochs_without_session(n));
    }
}

impl Function for Nat64 {
    fn process<P: Packet, S: Spare<P>>(
        &mut self,
        now: u64,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    ) {
        self.pair.process(now, from, batch, verdicts, spare);
        self.tidy(false);
    }

    fn idle(&mut self, now: u64) {
        self.pair.idle(now);
        self.tidy(true);
    }

    fn clear(&mut self) {
        self.pair.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        self.pair.entries()
    }

    fn counters(&self) -> Drops {
        self.pair.counters()
    }

    fn sessions(&self, now: u64, most: usize) -> Vec<Entry> {
        let plat = self.translation().addressing();
        // Whoever has a session is a customer.
        let named = |e: Entry| Some(Entry { inside: (plat.customer(e.inside.ip())?, e.inside.port()).into(), ..e });
        self.nat().sessions(now, most).into_iter().filter_map(named).collect()
    }

    fn can_adopt(&self, new: &Nat64) -> Result<(), String> {
        if !self.pair.same_worker(&new.pair) {
            return Err("workers: their number is fixed while there is state".to_owned());
        }
        if self.numbers.contains(new.config.nat.internet.address.into()) {
            return Err(format!(
                "address: {} lies in {}, whose addresses stand for customers inside; restart the gateway",
                new.config.nat.internet.address, self.numbers
            ));
        }
        self.nat().config().can_become(&new.config.nat_behind(self.numbers))?;
        self.translation().config().can_become(&new.config.translation(self.numbers, 0))
    }

    fn adopt(&mut self, new: Nat64) -> Result<(), String> {
        self.can_adopt(&new)?;
        let Chain { customer, internet, .. } = &mut self.pair.function;
        internet.reconfigure(new.config.nat_behind(self.numbers));
        customer.reconfigure(new.config.translation(self.numbers, 0));
        customer.addressing_mut().adopt(new.pair.function.customer.into_addressing());
        // The dictionary is as large as it was made.
        self.config = Config { customers: self.config.customers, ..new.config };
        Ok(())
    }

    fn nest(&mut self, nested: Nested) {
        self.pair.nest(nested);
    }
}

/// The first number, which no customer has: what the translator itself sends to the Internet comes from it.
fn first(numbers: Prefix) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(numbers.addr) & numbers.mask())
}

impl Config {
    /// The translating half.
    fn translation(&self, numbers: Prefix, seed: u64) -> translate::Config {
        let near = Side4 {
            mac: chain::CUSTOMER_HALF,
            next_hop: chain::INTERNET_HALF,
            address: first(numbers),
            mtu: self.nat.internet.mtu,
        };
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

    /// The half with the state. Sizes on the customers' side are the translator's business.
    fn nat_behind(&self, numbers: Prefix) -> nat44::config::Config {
        let mut nat = self.nat.clone();
        nat.customer =
            Side4 { mac: chain::INTERNET_HALF, next_hop: chain::CUSTOMER_HALF, address: first(numbers), mtu: u16::MAX };
        nat.inside = vec![numbers];
        nat.numbered = Some(numbers);
        nat.rfc6146 = true;
        nat
    }
}
