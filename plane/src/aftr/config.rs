//! The configuration of an AFTR.

use crate::customers::share;
use crate::nat_behind;
use crate::nat44::config::{self as nat44, StaticMapping};
use crate::nat44::static_mapping::InsideAddress;
use crate::side::{Side4, Side6};
use crate::tunnel::config::{Outer, PartLimits};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{AddrRange, Prefix4, Prefix6};

/// A host behind a softwire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host {
    /// Customer's end of the tunnel.
    pub softwire: Ipv6Addr,
    /// IPv4 address of the host.
    pub address: Ipv4Addr,
}

impl InsideAddress for Host {
    const EXAMPLE: &'static str = "2001:db8::2 192.168.1.2:80";
    fn text(&self) -> String {
        format!("{} {}", self.softwire, self.address)
    }
    fn read(text: &str) -> Option<Host> {
        let (softwire, address) = text.split_once(' ')?;
        Some(Host { softwire: softwire.parse().ok()?, address: address.trim().parse().ok()? })
    }
}

/// An AFTR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Customers' side, whose address is the AFTR's end of every tunnel.
    pub customer: Side6,
    /// Prefixes of tunnels' far ends; any when empty.
    pub softwires: Vec<Prefix6>,
    /// IPv4 addresses that customers may have; all but the AFTR's own when empty.
    pub inner: Vec<Prefix4>,
    /// Customers (softwire and address inside) with state at once, of all workers.
    pub customers: u64,
    /// Static mappings to hosts behind softwires.
    pub statics: Vec<StaticMapping<Host>>,
    /// The outer header of its tunnels.
    pub outer: Outer,
    /// Limits for fragmented tunnel packets (RFC 6333, section 6.3).
    pub reassembly: PartLimits,
    /// The NAT, whose settings of the customers' side (`customer`, `inside`, `numbered`, `statics`)
    /// are not used. A subscriber of its quotas and port blocks is a softwire.
    pub nat: nat44::Config,
}

impl Config {
    /// A configuration with the RFCs' defaults.
    pub fn new(customer: Side6, internet: Side4, pool: Vec<AddrRange>) -> Config {
        Config {
            customer,
            softwires: Vec::new(),
            inner: Vec::new(),
            customers: 1 << 16,
            statics: Vec::new(),
            outer: Outer::default(),
            reassembly: PartLimits::WHOLE,
            nat: nat44::Config::new(internet, internet, Vec::new(), pool),
        }
    }

    /// A worker's share, and with several workers 1/16 more because hashing is uneven.
    pub fn customers_per_worker(&self, workers: usize) -> u64 {
        share(self.customers, workers) + nat_behind::hosts(&self.statics).len() as u64
    }
}
