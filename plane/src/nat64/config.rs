//! The configuration of a NAT64. Its own file, because it is the only part that authors of scenarios need.

use crate::affinity::SUBSCRIBER_PREFIX;
use crate::customers::share;
use crate::fragment::PartLimits;
use crate::nat_behind;
use crate::nat44::config::{self as nat44, StaticMapping};
use crate::side::{Side4, Side6};
use crate::translate::{ClassRule, ZeroChecksum};
use std::net::Ipv6Addr;
use wire::{AddrRange, Prefix6};

/// A NAT64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Customers' side.
    pub customer: Side6,
    /// Prefixes under which the IPv4 Internet appears to the customers: 1 to 16, of any length in RFC 6052, none inside
    /// another. A session keeps the prefix that the customer sent to. Hosts on the Internet that a customer has not
    /// sent to appear behind the prefix by which it last opened a session of the mapping, or behind the first prefix if
    /// the mapping is static.
    pub pref64: Vec<Prefix6>,
    /// Whether private IPv4 addresses may stand behind the well-known prefix, which RFC 6052, section 3.1, forbids.
    pub private_behind_well_known: bool,
    /// Where customers may be; anywhere when empty.
    pub inside: Vec<Prefix6>,
    /// IPv6 addresses with state at once, of all workers together.
    pub customers: u64,
    /// Static entries of the binding information base (RFC 6146, section 3.1.1).
    pub statics: Vec<StaticMapping<Ipv6Addr>>,
    /// Length of the prefix that one subscriber has, 0 to 128: quotas and port blocks are counted for all its addresses
    /// together, at the one worker that has them all.
    pub subscriber_prefix: u8,
    /// Smallest MTU of the IPv6 network: packets that may be fragmented get fragments of this size (RFC 7915, section 4.1).
    pub lowest_ipv6_mtu: u16,
    /// Traffic class of IPv6 packets.
    pub traffic_class: ClassRule,
    /// Type of service of IPv4 packets.
    pub tos: ClassRule,
    /// UDP over IPv4 without checksum.
    pub zero_udp_checksum: ZeroChecksum,
    /// Limits for fragments of such datagrams, which are reassembled to compute a checksum (RFC 6146, section 3.4).
    /// They wait no longer than the NAT remembers a fragmented datagram (`nat.fragments.lifetime`, 15 s).
    pub reassembly: PartLimits,
    /// The Internet's side, pool, mapping, filtering, timeouts and limits. Its settings of the customers' side
    /// (`customer`, `inside`, `numbered`, `statics`) are not used: the customers' numbers take their place.
    pub nat: nat44::Config,
}

impl Config {
    /// A NAT64 with the defaults of the RFCs: endpoint-independent mapping and filtering, and packets of both directions
    /// keep a session alive (RFC 6146, sections 3.5.1 and 3.5.3).
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
            lowest_ipv6_mtu: 1280,
            traffic_class: ClassRule::default(),
            tos: ClassRule::default(),
            zero_udp_checksum: ZeroChecksum::default(),
            reassembly: PartLimits::WHOLE,
            nat,
        }
    }

    /// One worker has all customers with a common prefix of this length: otherwise no worker could count all of a
    /// subscriber's state.
    pub(super) fn together_by(&self) -> u8 {
        if self.nat.counts_subscribers() { self.subscriber_prefix } else { 128 }
    }

    /// Customers that one of `workers` makes room for: its share, and with several workers 1/16 more because hashing
    /// does not distribute them evenly. Hosts of static mappings have room of their own at each worker.
    pub fn customers_per_worker(&self, workers: usize) -> u64 {
        share(self.customers, workers) + nat_behind::hosts(&self.statics).len() as u64
    }
}
