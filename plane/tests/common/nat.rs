//! What the tests of NAT44 and NAT64 have in common: Ethernet addresses of both sides, TCP flags, and what was seen.

use etherparse::{PacketBuilderStep, TcpHeader};

pub const CUSTOMER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const CUSTOMER_HOP: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub const INTERNET_MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];
pub const INTERNET_HOP: [u8; 6] = [2, 0, 0, 0, 1, 2];

/// What a packet is, for comparisons, with end points of this kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<At> {
    pub from: At,
    pub to: At,
    pub protocol: u8,
    pub ttl: u8,
}

/// A TCP header with these flags, each by its letter.
pub fn flagged(mut tcp: PacketBuilderStep<TcpHeader>, flags: &str) -> PacketBuilderStep<TcpHeader> {
    for f in flags.chars() {
        tcp = match f {
            'S' => tcp.syn(),
            'A' => tcp.ack(77),
            'F' => tcp.fin(),
            'R' => tcp.rst(),
            _ => panic!("no flag {f}"),
        };
    }
    tcp
}
