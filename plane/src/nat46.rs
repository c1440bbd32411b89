//! Stateful NAT46: IPv4 customers share a few IPv6 addresses of an IPv6 Internet (a stateful NATxy
//! of RFC 9693). A NAT44 in front of the translator, as in a MAP-T CE.

use crate::chain::{CUSTOMER_HALF, Chain, INTERNET_HALF};
use crate::customers::numbers;
use crate::event::Event;
use crate::function::{SESSIONS, Side, unchanged};
use crate::ip6::{Pool6, Pool6Error};
use crate::nat44::config as nat44;
use crate::nat44::{Nat44, NatError};
use crate::side::{Side4, Side6, inner_address};
use crate::steer::Steering;
use crate::strategy::{Addressing, End, Point4};
use crate::translate::{self, Eam, EamError, Pair, Pref64, Pref64Error, Siit, Translate};
use std::net::Ipv4Addr;
use wire::{AddrRange, Prefix4, Prefix6};

/// Octets by which an IPv6 header exceeds an IPv4 header.
const GROWTH: u16 = 20;

/// A NAT46.
#[derive(Clone, Debug)]
pub struct Config {
    /// IPv6 side.
    pub internet: Side6,
    /// Outside addresses.
    pub pool: Pool6,
    /// Explicit maps (RFC 7757) of remote hosts; `pref64` is for all others.
    pub maps: Vec<Pair>,
    /// Prefix for IPv4 addresses without a map (RFC 6052).
    pub pref64: Option<Prefix6>,
    /// Whether private IPv4 addresses may stand behind the well-known prefix, against RFC 6052, section 3.1.
    pub private_behind_well_known: bool,
    /// Fragment size of packets without DF (RFC 7915, section 4.1).
    pub lowest_ipv6_mtu: u16,
    /// Customers' side, ports, behaviour, timeouts and limits. Its Internet's side and pool are not used.
    pub nat: nat44::Config,
}

/// Why a NAT46 cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Nat46Error {
    /// The outside addresses.
    #[error("NAT46: {0}")]
    Pool(#[from] Pool6Error),
    /// The prefix of remote hosts.
    #[error("pref64 of a NAT46: {0}")]
    Pref64(#[from] Pref64Error),
    /// The maps of remote hosts.
    #[error("explicit maps of a NAT46: {0}")]
    Maps(#[from] EamError),
    /// No remote host can be reached.
    #[error(
        "a NAT46 needs `eam`, `pref64` or both: which IPv6 address is meant by an IPv4 address that customers send to"
    )]
    NoRemotes,
    /// Too few IPv4 addresses are left to represent the pool.
    #[error("a NAT46 whose customers and maps have every IPv4 address: leave a /16 free, for its own use")]
    Full,
    /// The NAT44 is misconfigured.
    #[error("state of a NAT46: {0}")]
    Nat(#[from] NatError),
    /// The translator is misconfigured.
    #[error("translation of a NAT46, {0}")]
    Translator(#[from] translate::ConfigError),
}

/// One worker of a NAT46.
pub type Nat46 = Chain<Nat44, Translate<HostNumbers>>;

impl Config {
    /// A configuration with the RFCs' defaults.
    pub fn new(customer: Side4, internet: Side6, inside: Vec<Prefix4>, pool: Pool6) -> Config {
        let nat = nat44::Config::new(customer, customer, inside, Vec::new());
        Config {
            internet,
            pool,
            maps: Vec::new(),
            pref64: None,
            private_behind_well_known: false,
            lowest_ipv6_mtu: 1280,
            nat,
        }
    }

    /// Worker number `worker` of `workers`, all with the same configuration and seed.
    ///
    /// # Errors
    /// An invalid configuration, or too little memory.
    pub fn build(&self, worker: usize, workers: usize, seed: u64) -> Result<Nat46, Nat46Error> {
        let addressing = self.outside()?;
        let first = addressing.first;
        let address = inner_address(self.nat.customer.address);
        let inner = Side4 { mac: INTERNET_HALF, next_hop: CUSTOMER_HALF, address, mtu: u16::MAX };
        let mut t = translate::Config::new(Side::Internet, inner, self.internet);
        t.hop = false;
        t.headers.lowest_ipv6_mtu = self.lowest_ipv6_mtu;
        // Outside addresses have no IPv4 address.
        t.hairpinning = translate::Hairpinning::Off;
        t.icmp_errors_per_second = self.nat.icmp_errors_per_second;
        t.seed = seed;
        let translate = Translate::new(t, addressing)?.on_worker(worker as u16, workers as u16);
        let nat = Nat44::new(self.nat_before(first.into()), worker, workers, seed)?;
        Ok(Chain::new(("nat44", nat), ("translate", translate), workers, seed))
    }

    /// Steering of customers' packets, as of a NAT44.
    pub const STEER_CUSTOMER: Steering = Nat44::STEER_CUSTOMER;
    /// Steers by block of the outside port.
    pub const STEER_INTERNET: Steering = Nat44::STEER_IPV6;

    /// Configuration of a NAT whose pool is the numbers of the outside addresses.
    fn nat_before(&self, first: Ipv4Addr) -> nat44::Config {
        let mtu = self.internet.mtu.saturating_sub(GROWTH);
        nat44::Config {
            internet: Side4 { mac: CUSTOMER_HALF, next_hop: INTERNET_HALF, address: first, mtu },
            pool: vec![AddrRange { first, count: self.pool.count() }],
            hairpinning: false,
            ..self.nat.clone()
        }
    }

    fn outside(&self) -> Result<HostNumbers, Nat46Error> {
        self.pool.not(self.internet.address)?;
        if self.maps.is_empty() && self.pref64.is_none() {
            return Err(Nat46Error::NoRemotes);
        }
        let pairs: Vec<_> = self.maps.iter().enumerate().map(|(i, pair)| (i + 1, *pair)).collect();
        let maps = if pairs.is_empty() { None } else { Some(Eam::new(&pairs, true)?) };
        let prefix = self.pref64.map(|p| Pref64::new(p, self.private_behind_well_known)).transpose()?;
        let taken: Vec<_> = self.nat.inside.iter().chain(self.maps.iter().map(|p| &p.v4)).copied().map(range).collect();
        let address = self.nat.customer.address;
        let own = [inner_address(address), address];
        let numbers = numbers(self.pool.count().into(), &taken, &own).ok_or(Nat46Error::Full)?;
        let first = u32::from(numbers.addr) & numbers.mask();
        let inside = self.nat.inside.clone();
        Ok(HostNumbers { pool: self.pool, first, inside, address, remotes: Siit::new(maps, prefix) })
    }
}

fn range(p: Prefix4) -> AddrRange {
    let first = u32::from(p.addr) & p.mask();
    AddrRange { first: first.into(), count: p.count().min(u32::MAX.into()) as u32 }
}

/// A number for each outside address, and the rules of SIIT for remote hosts.
pub struct HostNumbers {
    pool: Pool6,
    first: u32,
    /// The numbers must not overlap these: the customers' and the gateway's.
    inside: Vec<Prefix4>,
    address: Ipv4Addr,
    remotes: Siit,
}

impl Addressing for HostNumbers {
    #[inline(always)]
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event> {
        if end == End::Customer {
            return self.pool.nth(point.addr.wrapping_sub(self.first)).ok_or(Event::SourceUnmapped);
        }
        let remote = self.remotes.to_ipv6(end, point)?;
        // No remote host has an outside address.
        if self.pool.number(remote).is_some() { Err(Event::DestinationUnmapped) } else { Ok(remote) }
    }

    #[inline(always)]
    fn to_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        if end == End::Customer {
            return self.pool.number(addr).map(|n| self.first + n).ok_or(Event::DestinationUnmapped);
        }
        self.remotes.to_ipv4(end, addr, port)
    }

    #[inline(always)]
    fn prefetch_ipv4(&self, end: End, point: Point4) {
        if end == End::Remote {
            self.remotes.prefetch_ipv4(end, point);
        }
    }

    #[inline(always)]
    fn prefetch_ipv6(&self, end: End, addr: u128) {
        if end == End::Remote {
            self.remotes.prefetch_ipv6(end, addr);
        }
    }

    /// Every session has the number of an outside address.
    fn can_adopt(&self, new: &HostNumbers) -> Result<(), String> {
        unchanged(&[("pool", self.pool != new.pool)], SESSIONS)?;
        if self.first == new.first {
            return Ok(());
        }
        let what = if self.inside != new.inside {
            "inside"
        } else if self.address != new.address {
            "address or eam"
        } else {
            "eam"
        };
        Err(format!(
            "{what}: this change moves the numbers that stand for `pool` inside the gateway, from {} to {}, and sessions have \
             them; restart the gateway",
            Ipv4Addr::from(self.first),
            Ipv4Addr::from(new.first)
        ))
    }
}
