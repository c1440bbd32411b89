//! The configuration of a NAT66, and that of its state.

use crate::affinity::{self, SUBSCRIBER_PREFIX};
use crate::chain::{CUSTOMER_HALF, INTERNET_HALF};
use crate::customers::{MOST, share};
use crate::fragment::PartLimits;
use crate::ip6::Pool6;
use crate::nat44::config as nat44;
use crate::side::{Side4, Side6};
use std::net::Ipv4Addr;
use wire::{AddrRange, Prefix4, Prefix6};

/// Numbers of customers, remote end points and outside addresses, which only the state sees.
const CUSTOMERS: Ipv4Addr = Ipv4Addr::new(16, 0, 0, 0);
const REMOTES: Ipv4Addr = Ipv4Addr::new(32, 0, 0, 0);
pub(super) const POOL: Ipv4Addr = Ipv4Addr::new(64, 0, 0, 0);

/// A NAT66.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Customers' side.
    pub customer: Side6,
    /// Internet's side.
    pub internet: Side6,
    /// Outside addresses.
    pub pool: Pool6,
    /// Prefixes of customers; any when empty.
    pub inside: Vec<Prefix6>,
    /// Length of subscribers' prefixes, 0 to 128: one worker counts quotas and port blocks for all
    /// addresses of a prefix.
    pub subscriber_prefix: u8,
    /// Customers' addresses with state at once, of all workers.
    pub customers: u64,
    /// Remote addresses with state at once, of all workers.
    pub remotes: u64,
    /// Limits for fragments that wait for the first.
    pub fragments: PartLimits,
    /// Ports, behaviour, timeouts, quotas and limits. Its sides, prefixes, pool, `untranslated` and
    /// `fragments` are not used.
    pub nat: nat44::Config,
}

impl Config {
    /// Defaults that the RFCs have for NAT44.
    pub fn new(customer: Side6, internet: Side6, pool: Pool6) -> Config {
        let nowhere = Side4 { mac: CUSTOMER_HALF, next_hop: INTERNET_HALF, address: REMOTES, mtu: u16::MAX };
        Config {
            customer,
            internet,
            pool,
            inside: Vec::new(),
            subscriber_prefix: SUBSCRIBER_PREFIX,
            customers: 1 << 16,
            remotes: 1 << 16,
            fragments: PartLimits::FRAGMENTS,
            nat: nat44::Config::new(nowhere, nowhere, Vec::new(), Vec::new()),
        }
    }

    /// Octets of a customer's address that select its worker: of the subscriber's prefix where
    /// subscribers are counted.
    pub(super) fn pinned_by(&self) -> usize {
        affinity::octets(if self.nat.counts_subscribers() { self.subscriber_prefix } else { 128 })
    }

    /// Customers' and remote addresses.
    pub(super) fn per_worker(&self, workers: usize) -> [u64; 2] {
        [self.customers, self.remotes].map(|n| share(n, workers))
    }

    pub(super) fn numbers(&self, workers: usize) -> Option<[Prefix4; 2]> {
        let [customers, remotes] = self.per_worker(workers);
        let prefix = |addr, n: u64| {
            // The first number is never used.
            let bits = (64 - n.leading_zeros()).max(8);
            (n <= MOST).then_some(Prefix4 { addr, len: (32 - bits) as u8 })
        };
        Some([prefix(CUSTOMERS, customers)?, prefix(REMOTES, remotes)?])
    }

    pub(super) fn state(&self, [customers, remotes]: [Prefix4; 2]) -> nat44::Config {
        let mut nat = self.nat.clone();
        nat.inside = vec![customers];
        nat.pool = vec![AddrRange { first: POOL, count: self.pool.count() }];
        (nat.numbered, nat.numbered_remotes) = (Some(customers), Some(remotes));
        nat.untranslated = Vec::new();
        nat
    }
}
