//! One side of a gateway: its link, its neighbour, its own address.

use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Mac;
use wire::header::word;

/// The side on which a packet arrives or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The customers' side (Left, inside).
    Customer,
    /// The Internet's side (Right, outside).
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
    /// Ethernet address of the gateway on this side.
    pub mac: Mac,
    /// Ethernet destination of everything that leaves on this side.
    pub next_hop: Mac,
    /// IPv4 address of the gateway on this side: source of its ICMP errors.
    pub address: Ipv4Addr,
    /// Largest IPv4 packet that leaves on this side.
    pub mtu: u16,
}

/// An IPv6 side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side6 {
    /// Ethernet address of the gateway on this side.
    pub mac: Mac,
    /// Ethernet destination of everything that leaves on this side.
    pub next_hop: Mac,
    /// IPv6 address of the gateway on this side: source of its ICMPv6 errors.
    pub address: Ipv6Addr,
    /// Largest IPv6 packet that leaves on this side.
    pub mtu: u16,
}

/// The address of a gateway of two halves on its IPv4 inner link: one that no host has (RFC 7335), unlike that of the
/// customers' side, from which errors of the half behind a NAT44 would have no session.
pub fn inner_address(customer: Ipv4Addr) -> Ipv4Addr {
    const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 2), Ipv4Addr::new(192, 0, 0, 3)];
    ADDRESSES[usize::from(customer == ADDRESSES[0])]
}

/// The gateway's Ethernet address on a side as a word, compared in one step.
#[derive(Clone, Copy)]
pub(crate) struct OwnMac(u64);

/// The first six of eight bytes in memory.
const MAC_MASK: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);

impl OwnMac {
    pub(crate) fn new(mac: Mac) -> OwnMac {
        let [a, b, c, d, e, f] = mac.0;
        OwnMac(u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Whether a frame of eight octets or more is for this address.
    #[inline(always)]
    pub(crate) fn receives(self, frame: &[u8]) -> bool {
        word(frame, 0) & MAC_MASK == self.0
    }
}

/// Destination and source of leaving frames, as in memory.
pub fn leaving(own: Mac, next_hop: Mac) -> [u8; 12] {
    let mut m = [0; 12];
    m[..6].copy_from_slice(&next_hop.0);
    m[6..].copy_from_slice(&own.0);
    m
}
