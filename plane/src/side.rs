//! One side of a gateway: its link, its neighbour, its own address.

use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Mac;
use wire::header::word;

/// Side where a packet arrives or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Left side, inside.
    Customer,
    /// Right side, outside.
    Internet,
}

impl Side {
    /// The opposite side.
    pub fn other(self) -> Side {
        match self {
            Side::Customer => Side::Internet,
            Side::Internet => Side::Customer,
        }
    }
}

/// An IPv4 side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side4 {
    /// Gateway's Ethernet address.
    pub mac: Mac,
    /// Ethernet destination of everything that leaves.
    pub next_hop: Mac,
    /// Gateway's address, source of its ICMP errors.
    pub address: Ipv4Addr,
    /// Largest IPv4 packet that leaves.
    pub mtu: u16,
}

/// An IPv6 side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side6 {
    /// Gateway's Ethernet address.
    pub mac: Mac,
    /// Ethernet destination of everything that leaves.
    pub next_hop: Mac,
    /// Gateway's address, source of its ICMPv6 errors.
    pub address: Ipv6Addr,
    /// Largest IPv6 packet that leaves.
    pub mtu: u16,
}

/// A gateway's address on its IPv4 inner link, which no host has (RFC 7335): for that of the
/// customers' side, errors of the half behind a NAT44 would have no session.
pub fn inner_address(customer: Ipv4Addr) -> Ipv4Addr {
    const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 2), Ipv4Addr::new(192, 0, 0, 3)];
    ADDRESSES[usize::from(customer == ADDRESSES[0])]
}

/// An Ethernet address as a word, compared in one step.
#[derive(Clone, Copy)]
pub(crate) struct OwnMac(u64);

/// Six of eight bytes.
const MAC_MASK: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);

impl OwnMac {
    pub(crate) fn new(mac: Mac) -> OwnMac {
        let [a, b, c, d, e, f] = mac.0;
        OwnMac(u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// The frame has eight octets or more.
    #[inline(always)]
    pub(crate) fn receives(self, frame: &[u8]) -> bool {
        word(frame, 0) & MAC_MASK == self.0
    }
}

/// A link: our address, and destination and source of frames that leave.
pub(crate) struct Link {
    pub(crate) own: OwnMac,
    pub(crate) leaving: [u8; 12],
}

impl Link {
    pub(crate) fn new(own: Mac, next_hop: Mac) -> Link {
        Link { own: OwnMac::new(own), leaving: leaving(own, next_hop) }
    }
}

/// Destination and source of leaving frames.
pub fn leaving(own: Mac, next_hop: Mac) -> [u8; 12] {
    let mut m = [0; 12];
    m[..6].copy_from_slice(&next_hop.0);
    m[6..].copy_from_slice(&own.0);
    m
}
