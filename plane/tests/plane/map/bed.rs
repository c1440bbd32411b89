//! A function in its bed, the packets for it, and the judge of every frame that leaves it.

pub(super) use testbed::hex;
pub(super) use testbed::packets::ip;

use crate::map::rules::{self, p6, rule};
use plane::map::{Customer, Domain, Rule};
use plane::{Function, Side, Side4, Side6};
use std::net::IpAddr;
use testbed::link::{CUSTOMER, INTERNET};
use testbed::packets::{self, Address};
use testbed::{ByVersion, Link};
use wire::Mac;

pub(super) const V4: Link = INTERNET;
const V6: Link = CUSTOMER;

pub(super) fn v4_side() -> Side4 {
    Side4 { mac: Mac(V4.own), next_hop: Mac(V4.hop), address: [198, 51, 100, 254].into(), mtu: 1500 }
}

pub(super) fn v6_side() -> Side6 {
    Side6 { mac: Mac(V6.own), next_hop: Mac(V6.hop), address: "2001:db8:fffe::1".parse().unwrap(), mtu: 1500 }
}

/// The bed, whose sides are called by what is spoken there: true is IPv6. Frames get the Ethernet addresses of the link that they
/// arrive by.
pub(super) type Bed<F> = ByVersion<F>;

pub(super) fn bed<F: Function>(function: F, ipv6: Side) -> Bed<F> {
    let mut bed = ByVersion::new(function, ipv6, [V4, V6], |frame| {
        judge(frame);
    });
    bed.arrive_by = Some(if ipv6 == Side::Internet { [V4, V6] } else { [V6, V4] });
    bed
}

/// What was seen of a packet: addresses, ports (or identifier), hops left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub ports: (u16, u16),
    pub hops: u8,
    pub icmp: Option<(u8, u8)>,
    pub inside: Option<Box<Header>>,
}

/// Read a frame, checking each checksum of it, and the packet in its tunnel, if it is one.
pub(super) fn judge(frame: &[u8]) -> Header {
    testbed::judge::judge(frame);
    let ipv6 = frame[12..14] == [0x86, 0xdd];
    let inside = (ipv6 && frame[20] == 4).then(|| {
        let inner = [&V4.hop, &V4.own, &[8, 0][..], &frame[54..]].concat();
        Box::new(judge(&inner))
    });
    seen(frame, ipv6, inside)
}

fn seen(frame: &[u8], ipv6: bool, inside: Option<Box<Header>>) -> Header {
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let address = |at: usize| -> IpAddr {
        if ipv6 {
            <[u8; 16]>::try_from(&frame[at..at + 16]).unwrap().into()
        } else {
            <[u8; 4]>::try_from(&frame[at..at + 4]).unwrap().into()
        }
    };
    let (src, dst, hops, protocol, l4, fragment) = if ipv6 {
        (address(22), address(38), frame[21], frame[20], 54, frame[20] == 44)
    } else {
        let l4 = 14 + usize::from(frame[14] & 15) * 4;
        (address(26), address(30), frame[22], frame[23], l4, word(20) & 0x3fff != 0)
    };
    let (ports, icmp) = match protocol {
        _ if fragment => ((0, 0), None),
        6 | 17 => ((word(l4), word(l4 + 2)), None),
        1 | 58 => ((word(l4 + 4), 0), Some((frame[l4], frame[l4 + 1]))),
        _ => ((0, 0), None),
    };
    Header { src, dst, ports, hops, icmp, inside }
}

pub(super) type At<'a> = (&'a str, u16);

pub(super) fn udp4(from: At, to: At) -> Vec<u8> {
    V4.arriving(&udp(from, to))
}

pub(super) fn udp6(from: At, to: At) -> Vec<u8> {
    udp(from, to)
}

fn udp(from: At, to: At) -> Vec<u8> {
    packets::udp_with(from, to, 64, b"hello, other side of it")
}

/// An IPv4 frame of the tests in a tunnel.
pub(super) fn in_tunnel(from: &str, to: &str, inner: &[u8]) -> Vec<u8> {
    V6.arriving(&packets::raw(from, to, 64, 4, &inner[14..]))
}

pub(super) fn echo(from: &str, to: &str, id: u16, reply: bool) -> Vec<u8> {
    packets::echo(from, to, id, !reply)
}

/// An ICMP destination unreachable about a frame: the port, of either version.
pub(super) fn unreachable(from: &str, to: &str, about: &[u8]) -> Vec<u8> {
    let (kind, code) = if from.ip().is_ipv6() { (1, 4) } else { (3, 3) };
    packets::error(from, to, kind, code, about, about.len())
}

/// The frame as it arrives at the next gateway: these have the same Ethernet addresses on their IPv6 links.
pub(super) fn turn(frame: &[u8]) -> Vec<u8> {
    [&frame[6..12], &frame[..6], &frame[12..]].concat()
}

/// Shared addresses of both offsets, and customers with prefixes.
pub(super) fn domain() -> Domain {
    Domain::new(vec![
        rule("2001:db8::/40", "192.0.2.0/24", 16),
        Rule { offset: 0, ..rule("2001:db8:ce00::/53", "203.0.113.0/24", 11) },
        rule("2001:db8:dd00::/40", "198.18.0.0/16", 8),
    ])
    .unwrap()
}

pub(super) fn customer(domain: &Domain, prefix: &str) -> Customer {
    let prefix = p6(prefix);
    rules::customer(&domain.mapping(domain.by_ipv6((prefix.first() >> 64) as u64).unwrap()), prefix)
}
