//! The AFTR of DS-Lite (RFC 6333): the end of all customers' tunnels, which numbers each (softwire, inside IPv4
//! address), and behind it a NAT44 with these numbers as inside addresses (section 6.6).

pub mod config;
mod softwires;

pub use config::{Config, Host};
pub use softwires::Customer;

use crate::customers::{Customers, SoftwireHost, numbers};
use crate::function::{Side, TableEntry};
use crate::ip4::is_ordinary;
use crate::nat_behind::{self, NumberedNat, Numbering, Owners};
use crate::nat44::config::{self as nat44, ConfigError};
use crate::nat44::{Nat44, NatError, static_mapping};
use crate::steer::by_hash;
use crate::strategy::Softwires;
use crate::subscribers::Subscribers;
use crate::tunnel::{self, Tunnel};
use arena::ArenaError;
use std::net::Ipv4Addr;
use wire::Prefix4;

/// The AFTR's end of every tunnel (RFC 6333, section 6.5).
pub const AFTR: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);

/// Why an AFTR cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AftrError {
    /// The tunnel is misconfigured.
    #[error("tunnels of an AFTR: {0}")]
    Tunnel(#[from] tunnel::ConfigError),
    /// A static mapping is invalid.
    #[error("AFTR configuration, {0}")]
    Static(ConfigError),
    /// The NAT is misconfigured.
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
pub type Aftr = NumberedNat<Tunnel<Customer>>;

impl Aftr {
    /// Worker number `worker` of `workers`, all with the same configuration and seed.
    ///
    /// # Errors
    /// An invalid configuration, or too little memory.
    pub fn new(config: Config, worker: usize, workers: usize, seed: u64) -> Result<Aftr, AftrError> {
        let capacity = config.customers_per_worker(workers);
        let own = [config.nat.internet.address, AFTR];
        let numbers = numbers(capacity, &config.nat.pool, &own).ok_or(AftrError::Customers(capacity))?;
        let nat = &config.nat;
        static_mapping::check(&config.statics, &nat.pool, nat.port_set, |h| config.not_a_customer(h))
            .map_err(AftrError::Static)?;
        let hosts = nat_behind::hosts(&config.statics).into_iter();
        let hosts = hosts.map(|h| SoftwireHost::new(h.softwire.to_bits(), h.address.into())).collect();
        let customers = Customers::with_permanent(capacity, numbers, seed, hosts)?;
        let mut softwires =
            Customer::new(customers, config.customer.address, config.softwires.clone(), config.inner.clone());
        let mut nat = Nat44::new(config.nat_behind(numbers), worker, workers, seed)?;
        nat_behind::place_statics(&mut nat, &config.statics, numbers, |h| by_hash(h.softwire.octets(), workers));
        nat.count_by(softwires.count(config.counts(), numbers)?);
        // All fragments from a softwire arrive at one worker.
        let tunnel = Tunnel::new(config.tunnel(numbers), softwires, 0, 1, seed ^ (worker as u64) << 32)?;
        Ok(NumberedNat::join(("tunnel", tunnel), nat, config, numbers, worker, workers, seed))
    }

    /// Memory of all workers' tables.
    pub fn bytes_for(config: &Config, workers: usize) -> u64 {
        let capacity = config.customers_per_worker(workers);
        let counted = if config.counts() { Subscribers::bytes_for(capacity) * workers as u64 } else { 0 };
        nat_behind::bytes_for::<SoftwireHost>(capacity, &config.nat, workers) + counted
    }
}

impl Numbering for Tunnel<Customer> {
    type Key = SoftwireHost;
    type Config = Config;

    #[inline]
    fn dictionary(&self) -> &Customers<SoftwireHost> {
        self.softwires().customers()
    }

    #[inline]
    fn tidy(&mut self, epoch: u8, when_idle: bool, idle: impl Fn(u32) -> u8) {
        self.softwires_mut().tidy(epoch, when_idle, idle);
    }

    fn named(&self, e: TableEntry) -> Option<TableEntry> {
        let (end, inner) = self.softwires().customer(e.inside.ip())?;
        Some(TableEntry { softwire: Some(end), inside: (inner, e.inside.port()).into(), ..e })
    }

    fn nat_behind(config: &Config, numbers: Prefix4) -> nat44::Config {
        config.nat_behind(numbers)
    }

    fn can_follow(&self, config: &Config, numbers: Prefix4) -> Result<(), String> {
        self.config().can_become(&config.tunnel(numbers))
    }

    fn prepare(&mut self, config: &Config, numbers: Prefix4, new: &Self) -> Result<Owners, String> {
        let softwires = self.softwires_mut();
        if !softwires.keep_like(new.softwires()) {
            return Err(nat_behind::FULL.to_owned());
        }
        softwires.count(config.counts(), numbers).map_err(|e| e.to_string())
    }

    fn follow(&mut self, config: &Config, numbers: Prefix4, new: &mut Self) {
        self.reconfigure(config.tunnel(numbers));
        self.softwires_mut().adopt(new.softwires_mut());
    }
}

impl Config {
    fn counts(&self) -> bool {
        self.nat.counts_subscribers()
    }

    /// Packets that the NAT44 itself sends to customers have the well-known address as their source.
    fn nat_behind(&self, numbers: Prefix4) -> nat44::Config {
        let statics = nat_behind::by_number(&self.statics, numbers);
        nat44::Config { statics, ..nat_behind::far(&self.nat, numbers, AFTR) }
    }

    fn not_a_customer(&self, host: Host) -> Option<String> {
        let Host { softwire, address } = host;
        let (end, inner) = (softwire.to_bits(), u32::from(address));
        if softwire == self.customer.address {
            return Some(format!("{softwire} is the AFTR's own end of the softwires"));
        }
        if !self.softwires.is_empty() && !self.softwires.iter().any(|p| p.contains(end)) {
            return Some(format!("{softwire} lies in no prefix of `softwires`"));
        }
        let inside = self.inner.is_empty() || self.inner.iter().any(|p| p.contains(inner));
        if !inside || softwires::is_reserved(inner) || !is_ordinary(inner) {
            return Some(format!("{address} is not an address that a host behind a softwire can have"));
        }
        None
    }

    fn tunnel(&self, numbers: Prefix4) -> tunnel::Config {
        let near = nat_behind::near(nat_behind::first(numbers), u16::MAX);
        let mut t = tunnel::Config::new(Side::Customer, near, self.customer);
        t.inner_address = AFTR;
        t.hop = false;
        t.outer = self.outer;
        t.reassembly = self.reassembly;
        // Packets between customers pass through the NAT.
        t.hairpinning = false;
        // RFC 6333 defines no ICMP errors for unknown senders.
        (t.answer_spoofed, t.answer_unknown) = (false, false);
        t.icmp_errors_per_second = self.nat.icmp_errors_per_second;
        t
    }
}
