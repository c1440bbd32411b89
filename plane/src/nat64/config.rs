//! The configuration of a NAT64.

use crate::affinity::SUBSCRIBER_PREFIX;
use crate::customers::share;
use crate::fragment::PartLimits;
use crate::nat_behind;
use crate::nat44::config::{self as nat44, StaticMapping};
use crate::side::{Side4, Side6};
use crate::translate::HeaderRules;
use std::net::Ipv6Addr;
use wire::{AddrRange, Prefix6};

/// A NAT64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Customers' side.
    pub customer: Side6,
    /// 1 to 16 prefixes under which the IPv4 Internet appears (RFC 6052), none inside another. A
    /// session keeps the prefix that the customer sent to. Unknown hosts appear behind the prefix
    /// that last opened a session of the mapping, or the first one if the mapping is static.
    pub pref64: Vec<Prefix6>,
    /// Whether private IPv4 addresses may stand behind the well-known prefix, against RFC 6052, section 3.1.
    pub private_behind_well_known: bool,
    /// Prefixes of customers; any when empty.
    pub inside: Vec<Prefix6>,
    /// IPv6 addresses with state at once, of all workers.
    pub customers: u64,
    /// Static entries of the binding information base (RFC 6146, section 3.1.1).
    pub statics: Vec<StaticMapping<Ipv6Addr>>,
    /// Length of subscribers' prefixes, 0 to 128: one worker counts quotas and port blocks for all
    /// addresses of a prefix.
    pub subscriber_prefix: u8,
    /// What becomes of headers.
    pub headers: HeaderRules,
    /// Limits for fragments of UDP datagrams without checksum (RFC 6146, section 3.4), for at most `nat.fragments.lifetime` (15 s).
    pub reassembly: PartLimits,
    /// The NAT, whose settings of the customers' side (`customer`, `inside`, `numbered`, `statics`) are not used.
    pub nat: nat44::Config,
}

impl Config {
    /// Endpoint-independent mapping and filtering; packets of both directions keep a session alive
    /// (RFC 6146, sections 3.5.1 and 3.5.3).
    pub fn new(customer: Side6, internet: Side4, pref64: Prefix6, pool: Vec<AddrRange>) -> Config {
        let mut nat = nat44::Config::new(internet, internet, Vec::new(), pool);
        nat.inbound_refresh = true;
        Config {
            customer,
            pref64: vec![pref64],
            private_behind_well_known: false,
            inside: Vec::new(),
            customers: 1 << 16,
            statics: Vec::new(),
            subscriber_prefix: SUBSCRIBER_PREFIX,
            headers: HeaderRules::default(),
            reassembly: PartLimits::WHOLE,
            nat,
        }
    }

    /// The length of subscribers' prefixes, if subscribers are counted.
    pub(super) fn counted_by(&self) -> Option<u8> {
        self.nat.counts_subscribers().then_some(self.subscriber_prefix)
    }

    /// One worker has all customers of a prefix of this length.
    pub(super) fn together_by(&self) -> u8 {
        self.counted_by().unwrap_or(128)
    }

    /// A worker's share, and with several workers 1/16 more because hashing is uneven.
    pub fn customers_per_worker(&self, workers: usize) -> u64 {
        share(self.customers, workers) + nat_behind::hosts(&self.statics).len() as u64
    }
}
