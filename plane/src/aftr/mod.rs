//! The AFTR of DS-Lite (RFC 6333): the far end of all customers' tunnels with a dictionary of (softwire, IPv4 address inside),
//! and behind it a NAT44 whose inside addresses are the dictionary's numbers. So customers' addresses may overlap, which
//! is what section 6.6 of the RFC extends the NAT's table for.

pub mod config;
mod softwires;
mod subscribers;

pub use config::Config;
pub use softwires::Customer;

use crate::chain::{self, Chain, Nested};
use crate::customers::{Customers, Softwire, numbers};
use crate::ends::Softwires;
use crate::function::{Drops, Entry, Function, Packet, Side, Spare, Verdict};
use crate::nat44::config::{Prefix, Quota};
use crate::nat44::{self, Nat44, NatError};
use crate::pinned::{self, Pinned};
use crate::side::Side4;
use crate::steer::Steering;
use crate::tunnel::{self, Tunnel};
use arena::ArenaError;
use std::net::Ipv4Addr;
use subscribers::Subscribers;

/// The AFTR's end of every tunnel (RFC 6333, section 6.5).
pub const AFTR: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);

/// Why an AFTR cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AftrError {
    /// A mistake in the tunnel's part of the configuration.
    #[error("tunnels of an AFTR: {0}")]
    Tunnel(#[from] tunnel::ConfigError),
    /// The NAT's part.
    #[error("state of an AFTR: {0}")]
    Nat(#[from] NatError),
    /// Too many customers.
    #[error(
        "an AFTR for {0} customers a worker: at most {most} can be told apart beside this pool; lower `customers`",
        most = crate::customers::MOST
    )]
    Customers(u64),
    /// Not enough memory.
    #[error("making the dictionary of an AFTR: {0}")]
    Memory(#[from] ArenaError),
}

/// One worker of an AFTR.
pub struct Aftr {
    pair: Pinned<Chain<Tunnel<Customer>, Nat44>>,
    config: Config,
    /// Where the customers' numbers lie.
    numbers: Prefix,
}

impl Aftr {
    /// Worker number `worker` of `workers`. All workers of a gateway get the same configuration and seed.
    ///
    /// # Errors
    /// When the configuration makes no sense or there is not enough memory.
    pub fn new(config: Config, worker: usize, workers: usize, seed: u64) -> Result<Aftr, AftrError> {
        let capacity = config.customers_per_worker(workers);
        let own = [config.nat.internet.address, AFTR];
        let numbers = numbers(capacity, &config.nat.pool, &own).ok_or(AftrError::Customers(capacity))?;
        let tunnel = config.tunnel(numbers);
        let nat = config.nat_behind(numbers);
        let customers = Customers::<Softwire>::new(capacity, numbers, seed)?;
        let mut softwires =
            Customer::new(customers, config.customer.address, config.softwires.clone(), config.inner.clone());
        let mut nat = Nat44::new(nat, worker, workers, seed)?;
        if config.counts() {
            let subscribers = Subscribers::new(capacity, numbers, seed)?;
            nat.count_by(subscribers.of());
            softwires.count(subscribers);
        }
        // All parts of what a softwire sends come to one worker: among tunnels there is nothing to hand over.
        let tunnel = Tunnel::new(tunnel, softwires, 0, 1, seed ^ (worker as u64) << 32)?;
        let pair = Chain::new(("tunnel", tunnel), ("nat44", nat), workers, seed);
        Ok(Aftr { pair: Pinned::new(pair, worker, workers), config, numbers })
    }

    /// Bytes of memory that all workers together take for their tables.
    pub fn bytes_for(config: &Config, workers: usize) -> u64 {
        let capacity = config.customers_per_worker(workers);
        let counted = if config.counts() { Subscribers::bytes_for(capacity) } else { 0 };
        let customers = Customers::<Softwire>::bytes_for(capacity) + counted;
        Nat44::bytes_for(&config.nat, workers) + customers * workers as u64
    }

    /// How packets from the customers are to be spread over the workers: by the softwire's far end, the IPv6 source.
    pub const STEER_CUSTOMER: Steering = pinned::STEER_CUSTOMER;
    /// How packets from the Internet are to be spread over the workers: by block of the outside port.
    pub const STEER_INTERNET: Steering = Nat44::STEER_INTERNET;

    /// Customers that the dictionary has at the moment.
    pub fn customers(&self) -> u32 {
        self.pair.function.customer.softwires().customers()
    }

    /// The half that tunnels.
    pub fn tunnel(&self) -> &Tunnel<Customer> {
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
        customer.softwires_mut().tidy(nat.epoch(), when_idle, |n| nat.epochs_without_session(n));
    }
}

impl Function for Aftr {
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
        // Whoever has a session is a customer.
        let named = |e: Entry| {
            let (end, inner) = self.tunnel().softwires().customer(e.inside.ip())?;
            Some(Entry { softwire: Some(end), inside: (inner, e.inside.port()).into(), ..e })
        };
        self.nat().sessions(now, most).into_iter().filter_map(named).collect()
    }

    fn can_adopt(&self, new: &Aftr) -> Result<(), String> {
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
        self.tunnel().config().can_become(&new.config.tunnel(self.numbers))
    }

    fn adopt(&mut self, new: Aftr) -> Result<(), String> {
        self.can_adopt(&new)?;
        let Chain { customer, internet, .. } = &mut self.pair.function;
        internet.reconfigure(new.config.nat_behind(self.numbers));
        customer.reconfigure(new.config.tunnel(self.numbers));
        customer.softwires_mut().adopt(new.pair.function.customer.into_softwires());
        // The dictionary is as large as it was made.
        self.config = Config { customers: self.config.customers, ..new.config };
        Ok(())
    }

    fn nest(&mut self, nested: Nested) {
        self.pair.nest(nested);
    }
}

impl Config {
    /// Whether it matters who is a subscriber.
    fn counts(&self) -> bool {
        self.nat.quota != Quota::default() || self.nat.blocks.is_some()
    }

    /// The tunnelling half. What it sends to the Internet itself comes from the first number, which no customer has.
    fn tunnel(&self, numbers: Prefix) -> tunnel::Config {
        let near = Side4 {
            mac: chain::CUSTOMER_HALF,
            next_hop: chain::INTERNET_HALF,
            address: Ipv4Addr::from(u32::from(numbers.addr) & numbers.mask()),
            mtu: u16::MAX,
        };
        let mut t = tunnel::Config::new(Side::Customer, near, self.customer);
        t.inner_address = AFTR;
        t.hop = false;
        t.hop_limit = self.hop_limit;
        t.traffic_class = self.traffic_class;
        t.ecn = self.ecn;
        t.flow_label = self.flow_label;
        t.oversize = self.oversize;
        t.reassembly = self.reassembly;
        // From one customer to another the way is through the NAT.
        t.hairpinning = false;
        // RFC 6333 has no answers for strangers.
        (t.answer_spoofed, t.answer_unknown) = (false, false);
        t.icmp_errors_per_second = self.nat.icmp_errors_per_second;
        t
    }

    /// The half with the state. Sizes on the customers' side are the tunnel's business; what the NAT itself sends there
    /// comes from the well-known address.
    fn nat_behind(&self, numbers: Prefix) -> nat44::config::Config {
        let mut nat = self.nat.clone();
        nat.customer =
            Side4 { mac: chain::INTERNET_HALF, next_hop: chain::CUSTOMER_HALF, address: AFTR, mtu: u16::MAX };
        nat.inside = vec![numbers];
        nat.numbered = Some(numbers);
        nat
    }
}
