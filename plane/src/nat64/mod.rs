//! Stateful NAT64 (RFC 6146), also the PLAT of 464XLAT (RFC 6877): translation with a dictionary of
//! customers, and behind it a NAT44 with the dictionary's numbers as inside addresses.

pub mod config;
mod plat;
mod prefixes;

pub use config::Config;
pub use plat::Plat;

use crate::affinity::octets;
use crate::customers::{Customers, numbers};
use crate::fragment::PartLimits;
use crate::function::{SESSIONS, Side, TableEntry, unchanged};
use crate::ip6::is_martian;
use crate::nat_behind::{self, NumberedNat, Numbering, Owners};
use crate::nat44::config::{self as nat44, ConfigError};
use crate::nat44::{Nat44, NatError, static_mapping};
use crate::steer::by_hash;
use crate::strategy::Addressing;
use crate::subscribers::Subscribers;
use crate::translate::{self, Pref64Error, Translate};
use arena::ArenaError;
use prefixes::Prefixes;
use std::net::Ipv6Addr;
use wire::{Prefix4, Prefix6};

/// Why a NAT64 cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Nat64Error {
    /// Prefix of the IPv4 addresses.
    #[error("pref64 of a NAT64: {0}")]
    Pref64(#[from] Pref64Error),
    /// None, or too many.
    #[error("pref64 of a NAT64: {0} prefixes; name 1 to {1}")]
    Prefixes(usize, usize),
    /// One prefix lies in the other.
    #[error("pref64 of a NAT64: {0} and {1} overlap; name prefixes of which none lies in another")]
    Overlap(Prefix6, Prefix6),
    /// A static mapping is invalid.
    #[error("NAT64 configuration, {0}")]
    Static(ConfigError),
    /// The translation is misconfigured.
    #[error("translation of a NAT64, {0}")]
    Translate(#[from] translate::ConfigError),
    /// The NAT is misconfigured.
    #[error("state of a NAT64: {0}")]
    Nat(#[from] NatError),
    /// Too many customers.
    #[error(
        "a NAT64 for {0} customers a worker: at most {most} can be told apart beside this pool; lower `customers`",
        most = crate::customers::MOST
    )]
    Customers(u64),
    /// Length of a subscriber's prefix.
    #[error("a NAT64 with subscribers of /{0}: no IPv6 prefix is longer than 128; 64 is usual")]
    SubscriberPrefix(u8),
    /// Not enough memory.
    #[error("making the dictionary of a NAT64: {0}")]
    Memory(#[from] ArenaError),
}

/// One worker of a NAT64.
pub type Nat64 = NumberedNat<Translate<Plat>>;

impl Nat64 {
    /// Worker number `worker` of `workers`, all with the same configuration and seed.
    ///
    /// # Errors
    /// An invalid configuration, or too little memory.
    pub fn new(config: Config, worker: usize, workers: usize, seed: u64) -> Result<Nat64, Nat64Error> {
        let capacity = config.customers_per_worker(workers);
        let numbers = config.numbers(capacity).ok_or(Nat64Error::Customers(capacity))?;
        let prefixes = Prefixes::new(&config.pref64, config.private_behind_well_known, numbers)?;
        static_mapping::check(&config.statics, &config.nat.pool, config.nat.port_set, |a| config.not_a_customer(a))
            .map_err(Nat64Error::Static)?;
        let inner = nat_behind::first(numbers);
        let hosts = nat_behind::hosts(&config.statics).into_iter().map(Ipv6Addr::to_bits).collect();
        let apart = prefixes::of_customers(numbers, prefixes.count());
        let customers = Customers::with_permanent(capacity, apart, seed, hosts)?;
        if config.subscriber_prefix > 128 {
            return Err(Nat64Error::SubscriberPrefix(config.subscriber_prefix));
        }
        let mut plat = Plat::new(customers, prefixes, config.customer.address, inner, config.inside.clone());
        let mut nat = Nat44::new(config.nat_behind(numbers), worker, workers, seed)?;
        let together = config.together_by();
        nat_behind::place_statics(&mut nat, &config.statics, numbers, |host| {
            by_hash(host.octets().into_iter().take(octets(together)), workers)
        });
        nat.count_by(plat.count_by(config.counted_by(), apart)?);
        let translate = Translate::new(config.translation(numbers, seed), plat)?;
        let translate = translate.on_worker(worker as u16, workers as u16);
        Ok(NumberedNat::join(("translate", translate), nat, config, numbers, worker, workers, seed)
            .together_by(together))
    }

    /// Memory of all workers' tables.
    pub fn bytes_for(config: &Config, workers: usize) -> u64 {
        let capacity = config.customers_per_worker(workers);
        let counts = config.nat.counts_subscribers();
        let counted = if counts { Subscribers::bytes_for(capacity) * workers as u64 } else { 0 };
        nat_behind::bytes_for::<u128>(capacity, &config.nat, workers) + counted
    }
}

impl Numbering for Translate<Plat> {
    type Key = u128;
    type Config = Config;

    #[inline]
    fn dictionary(&self) -> &Customers<u128> {
        self.addressing().customers()
    }

    #[inline]
    fn tidy(&mut self, epoch: u8, when_idle: bool, idle: impl Fn(u32) -> u8) {
        self.addressing_mut().tidy(epoch, when_idle, idle);
    }

    fn named(&self, e: TableEntry) -> Option<TableEntry> {
        Some(TableEntry { inside: (self.addressing().customer(e.inside.ip())?, e.inside.port()).into(), ..e })
    }

    fn nat_behind(config: &Config, numbers: Prefix4) -> nat44::Config {
        config.nat_behind(numbers)
    }

    fn can_follow(&self, config: &Config, numbers: Prefix4) -> Result<(), String> {
        let lengths = self.addressing().counts_by().zip(config.counted_by());
        let fixed = [
            ("pref64: the number of prefixes", self.addressing().prefixes() != config.pref64.len()),
            ("subscriber-prefix", lengths.is_some_and(|(own, new)| own != new)),
        ];
        unchanged(&fixed, SESSIONS)?;
        self.config().can_become(&config.translation(numbers, 0))
    }

    fn prepare(&mut self, config: &Config, numbers: Prefix4, new: &Self) -> Result<Owners, String> {
        let plat = self.addressing_mut();
        if !plat.keep_like(new.addressing()) {
            return Err(nat_behind::FULL.to_owned());
        }
        let apart = prefixes::of_customers(numbers, config.pref64.len());
        plat.count_by(config.counted_by(), apart).map_err(|e| e.to_string())
    }

    fn follow(&mut self, config: &Config, numbers: Prefix4, new: &mut Self) {
        self.reconfigure(config.translation(numbers, 0));
        self.addressing_mut().adopt(new.addressing_mut());
    }
}

impl Config {
    /// Numbers for `capacity` customers, with an alias for each `pref64`.
    fn numbers(&self, capacity: u64) -> Option<Prefix4> {
        let aliased = ((capacity.min(u32::MAX.into()) + 1) << prefixes::bits(self.pref64.len())) - 1;
        numbers(aliased, &self.nat.pool, &[self.nat.internet.address])
    }

    fn not_a_customer(&self, a: Ipv6Addr) -> Option<String> {
        let bits = a.to_bits();
        if a == self.customer.address {
            return Some(format!("{a} is the gateway's own address"));
        }
        if let Some(p) = self.pref64.iter().find(|p| p.contains(bits)) {
            return Some(format!("{a} lies in {p}, which stands for IPv4 addresses"));
        }
        if is_martian(bits) || bits >> 120 == 0xff {
            return Some(format!("{a} is not an address that a customer can have"));
        }
        let inside = self.inside.is_empty() || self.inside.iter().any(|p| p.contains(bits));
        (!inside).then(|| format!("{a} lies in no prefix of the customers; add one to `inside`"))
    }

    fn nat_behind(&self, numbers: Prefix4) -> nat44::Config {
        let count = self.pref64.len();
        nat44::Config {
            rfc6146: true,
            numbered: Some(prefixes::of_customers(numbers, count)),
            aliases: prefixes::aliases(numbers, count),
            global_only: prefixes::global_only(&self.pref64, self.private_behind_well_known, numbers),
            statics: nat_behind::by_number(&self.statics, numbers),
            ..nat_behind::far(&self.nat, numbers, nat_behind::first(numbers))
        }
    }

    fn translation(&self, numbers: Prefix4, seed: u64) -> translate::Config {
        let near = nat_behind::near(nat_behind::first(numbers), self.nat.internet.mtu);
        let mut t = translate::Config::new(Side::Customer, near, self.customer);
        t.hop = false;
        // Packets between customers pass through the NAT.
        t.hairpinning = translate::Hairpinning::Off;
        t.headers = self.headers;
        // Independent of the checksum rule, which may change while fragments wait. Later fragments
        // with the same identification belong to another datagram.
        let lifetime = self.reassembly.lifetime.min(self.nat.fragments.lifetime);
        t.unsummed = Some(PartLimits { lifetime, ..self.reassembly });
        t.icmp_errors_per_second = self.nat.icmp_errors_per_second;
        t.seed = seed;
        t
    }
}
