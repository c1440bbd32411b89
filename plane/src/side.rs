//! One side of a gateway: its link, its neighbour, its own address. Here and not in a technology, because every
//! function has two of them, and scenario tables and gateway files fill them.

use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Mac;

/// A side where IPv4 is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side4 {
    /// Ethernet address of the gateway on this side.
    pub mac: Mac,
    /// Ethernet address that everything leaving on this side is sent to.
    pub next_hop: Mac,
    /// IPv4 address of the gateway on this side: source of the ICMP errors that it sends there.
    pub address: Ipv4Addr,
    /// Largest IPv4 packet that leaves on this side.
    pub mtu: u16,
}

/// A side where IPv6 is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side6 {
    /// Ethernet address of the gateway on this side.
    pub mac: Mac,
    /// Ethernet address that everything leaving on this side is sent to.
    pub next_hop: Mac,
    /// IPv6 address of the gateway on this side: source of the ICMPv6 errors that it sends there.
    pub address: Ipv6Addr,
    /// Largest IPv6 packet that leaves on this side.
    pub mtu: u16,
}

/// Destination and source of frames that leave on a side, as they lie in memory.
pub fn leaving(own: Mac, next_hop: Mac) -> [u8; 12] {
    let mut m = [0; 12];
    m[..6].copy_from_slice(&next_hop.0);
    m[6..].copy_from_slice(&own.0);
    m
}
