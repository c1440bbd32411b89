//! Frames for tests, built by `etherparse`, of either IP version.

use crate::ip4::clear_df;
use crate::link::{CUSTOMER, INTERNET, Link};
use etherparse::{
    Ethernet2Header, Icmpv4Type, Icmpv6Type, IpHeaders, IpNumber, PacketBuilder, PacketBuilderStep, TcpHeader,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Prefix4, Prefix6};

/// An address of either version and a port.
pub type At = (IpAddr, u16);

/// Whatever tests write for an address.
pub trait Address {
    /// The address.
    fn ip(self) -> IpAddr;
}

impl Address for IpAddr {
    fn ip(self) -> IpAddr {
        self
    }
}

impl Address for Ipv4Addr {
    fn ip(self) -> IpAddr {
        self.into()
    }
}

impl Address for Ipv6Addr {
    fn ip(self) -> IpAddr {
        self.into()
    }
}

impl Address for [u8; 4] {
    fn ip(self) -> IpAddr {
        self.into()
    }
}

impl Address for &str {
    fn ip(self) -> IpAddr {
        self.parse().unwrap()
    }
}

/// Whatever tests write for an address and a port.
pub trait EndPoint {
    /// The end point.
    fn at(self) -> At;
}

impl<A: Address> EndPoint for (A, u16) {
    fn at(self) -> At {
        (self.0.ip(), self.1)
    }
}

/// An address of either version.
pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Parses an IPv4 prefix.
pub fn prefix4(text: &str) -> Prefix4 {
    let (addr, len) = text.split_once('/').unwrap();
    Prefix4 { addr: addr.parse().unwrap(), len: len.parse().unwrap() }
}

/// Parses an IPv6 prefix.
pub fn prefix6(text: &str) -> Prefix6 {
    let (addr, len) = text.split_once('/').unwrap();
    Prefix6 { addr: addr.parse().unwrap(), len: len.parse().unwrap() }
}

/// A customer's address in one of the /64 of 2001:db8:1::/48.
pub fn host_of(net: u128, i: u128) -> IpAddr {
    Ipv6Addr::from_bits(0x2001_0db8_0001 << 80 | net << 64 | i).into()
}

/// The octets of an IPv4 address.
pub fn v4(a: IpAddr) -> [u8; 4] {
    match a {
        IpAddr::V4(a) => a.octets(),
        IpAddr::V6(a) => panic!("{a} is no IPv4 address"),
    }
}

/// The octets of an IPv6 address.
pub fn v6(a: IpAddr) -> [u8; 16] {
    match a {
        IpAddr::V6(a) => a.octets(),
        IpAddr::V4(a) => panic!("{a} is no IPv6 address"),
    }
}

/// Ethernet and IP headers for a packet that arrives: from the customers' side with IPv6 or a source in 10/8, else from the
/// Internet's.
fn header(from: IpAddr, to: IpAddr, ttl: u8) -> PacketBuilderStep<IpHeaders> {
    let ethernet = |link: Link| -> PacketBuilderStep<Ethernet2Header> { PacketBuilder::ethernet2(link.hop, link.own) };
    match from {
        IpAddr::V6(from) => ethernet(CUSTOMER).ipv6(from.octets(), v6(to), ttl),
        IpAddr::V4(from) => {
            let link = if from.octets()[0] == 10 { CUSTOMER } else { INTERNET };
            ethernet(link).ipv4(from.octets(), v4(to), ttl)
        }
    }
}

/// A packet of any protocol, whose payload may be anything.
pub fn raw(from: impl Address, to: impl Address, ttl: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let from = from.ip();
    let mut out = Vec::new();
    // A protocol that the builder knows nothing of; it would look into the others.
    header(from, to.ip(), ttl).write(&mut out, IpNumber(253), payload).unwrap();
    out[if from.is_ipv6() { 20 } else { 23 }] = protocol;
    clear_df(out)
}

/// A UDP packet.
pub fn udp_with(from: impl EndPoint, to: impl EndPoint, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let (from, to) = (from.at(), to.at());
    let mut out = Vec::new();
    header(from.0, to.0, ttl).udp(from.1, to.1).write(&mut out, payload).unwrap();
    clear_df(out)
}

/// A UDP packet with a short payload.
pub fn udp(from: impl EndPoint, to: impl EndPoint) -> Vec<u8> {
    udp_with(from, to, 64, b"hello, other side")
}

/// A TCP packet with these flags, each by its letter.
pub fn tcp_with(from: impl EndPoint, to: impl EndPoint, flags: &str, payload: &[u8]) -> Vec<u8> {
    let (from, to) = (from.at(), to.at());
    let mut out = Vec::new();
    let t = header(from.0, to.0, 64).tcp(from.1, to.1, 1000, 65000);
    flagged(t, flags).write(&mut out, payload).unwrap();
    clear_df(out)
}

/// A TCP packet with a short payload.
pub fn tcp(from: impl EndPoint, to: impl EndPoint, flags: &str) -> Vec<u8> {
    tcp_with(from, to, flags, b"data of a stream")
}

fn flagged(mut tcp: PacketBuilderStep<TcpHeader>, flags: &str) -> PacketBuilderStep<TcpHeader> {
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

/// An ICMP message over IPv4.
pub fn icmp4(from: impl Address, to: impl Address, message: Icmpv4Type, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header(from.ip(), to.ip(), 64).icmpv4(message).write(&mut out, payload).unwrap();
    clear_df(out)
}

/// An ICMPv6 message.
pub fn icmp6(from: impl Address, to: impl Address, message: Icmpv6Type, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header(from.ip(), to.ip(), 64).icmpv6(message).write(&mut out, payload).unwrap();
    out
}

/// An ICMP message of the version that the addresses have: type, code, the four octets behind the checksum, and the rest.
pub fn icmp(from: impl Address, to: impl Address, kind: u8, code: u8, rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let (from, to) = (from.ip(), to.ip());
    if from.is_ipv6() {
        let message = Icmpv6Type::Unknown { type_u8: kind, code_u8: code, bytes5to8: rest };
        return icmp6(from, to, message, payload);
    }
    icmp4(from, to, Icmpv4Type::Unknown { type_u8: kind, code_u8: code, bytes5to8: rest }, payload)
}

/// An echo request (or else reply) of the version that the addresses have.
pub fn echo(from: impl Address, to: impl Address, id: u16, request: bool) -> Vec<u8> {
    let (from, to) = (from.ip(), to.ip());
    let kind = match (from.is_ipv6(), request) {
        (true, true) => 128,
        (true, false) => 129,
        (false, true) => 8,
        (false, false) => 0,
    };
    let id = id.to_be_bytes();
    icmp(from, to, kind, 0, [id[0], id[1], 0, 1], b"ping")
}

/// An echo request.
pub fn ping(from: impl Address, to: impl Address, id: u16) -> Vec<u8> {
    echo(from, to, id, true)
}

/// An echo reply.
pub fn pong(from: impl Address, to: impl Address, id: u16) -> Vec<u8> {
    echo(from, to, id, false)
}

/// An ICMP error about `about`, a frame, of which `quoted` octets are quoted.
pub fn error(from: impl Address, to: impl Address, kind: u8, code: u8, about: &[u8], quoted: usize) -> Vec<u8> {
    let end = (14 + quoted).min(about.len());
    icmp(from, to, kind, code, [0; 4], &about[14..end])
}
