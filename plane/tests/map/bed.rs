//! A function in its bed, the packets for it, and the judge of every frame that leaves it.

use crate::common::{self, judge_ethernet};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use plane::{Function, Side, Side4, Side6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Deref;
use wire::Mac;

pub const V4_MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];
pub const V4_HOP: [u8; 6] = [2, 0, 0, 0, 1, 2];
const V6_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const V6_HOP: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// The IPv4 link of the function under test.
pub fn v4_side() -> Side4 {
    Side4 { mac: Mac(V4_MAC), next_hop: Mac(V4_HOP), address: [198, 51, 100, 254].into(), mtu: 1500 }
}

/// Its IPv6 link.
pub fn v6_side() -> Side6 {
    Side6 { mac: Mac(V6_MAC), next_hop: Mac(V6_HOP), address: "2001:db8:fffe::1".parse().unwrap(), mtu: 1500 }
}

/// The bed, whose sides are called by what is spoken there: true is IPv6.
pub struct Bed<F: Function> {
    bed: common::Bed<F>,
    ipv6: Side,
}

impl<F: Function> Deref for Bed<F> {
    type Target = common::Bed<F>;
    fn deref(&self) -> &common::Bed<F> {
        &self.bed
    }
}

impl<F: Function> Bed<F> {
    pub fn new(function: F, ipv6: Side) -> Bed<F> {
        let bed = common::Bed::one(function, move |side, f| {
            let (own, hop) = if side == ipv6 { (V6_MAC, V6_HOP) } else { (V4_MAC, V4_HOP) };
            judge_ethernet(f, own, hop);
            judge(f);
        });
        Bed { bed, ipv6 }
    }

    /// The side of an IP version.
    fn side(&self, ipv6: bool) -> Side {
        if ipv6 { self.ipv6 } else { self.ipv6.other() }
    }

    /// Send a frame in over IPv6 or IPv4, and give what comes out, with whether it is over IPv6.
    pub fn send(&mut self, over6: bool, frame: &[u8]) -> Vec<(bool, Vec<u8>)> {
        let out = self.bed.send(self.side(over6), frame);
        out.into_iter().map(|(s, f)| (s == self.ipv6, f)).collect()
    }

    /// Send a frame that must come out on the other side, alone.
    #[track_caller]
    pub fn pass(&mut self, over6: bool, frame: &[u8]) -> Vec<u8> {
        self.bed.pass(self.side(over6), self.side(!over6), frame)
    }

    /// Send a frame that must be dropped for this reason; what is sent instead.
    #[track_caller]
    pub fn dropped(&mut self, over6: bool, frame: &[u8], why: &str) -> Option<Vec<u8>> {
        let before = self.count(why);
        let mut out = self.send(over6, frame);
        assert_eq!(self.count(why), before + 1, "counters {:?}", self.nonzero());
        assert!(out.len() <= 1);
        out.pop().map(|(six, f)| {
            assert_eq!(six, over6, "errors go back");
            f
        })
    }
}

/// What was seen of a packet: addresses, ports (or identifier), hops left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub ports: (u16, u16),
    pub hops: u8,
    /// ICMP type and code.
    pub icmp: Option<(u8, u8)>,
    /// The packet inside a tunnel.
    pub inside: Option<Box<Seen>>,
}

/// Read a frame and check each checksum.
pub fn judge(frame: &[u8]) -> Seen {
    seen(&SlicedPacket::from_ethernet(frame).expect("a frame that parses"))
}

fn seen(packet: &SlicedPacket) -> Seen {
    let (src, dst, hops): (IpAddr, IpAddr, u8);
    let mut inside = None;
    let fragment;
    match packet.net.as_ref().expect("an IP packet") {
        NetSlice::Ipv4(ip) => {
            let h = ip.header().to_header();
            assert_eq!(h.header_checksum, h.calc_header_checksum(), "IPv4 header checksum");
            (src, dst, hops) = (Ipv4Addr::from(h.source).into(), Ipv4Addr::from(h.destination).into(), h.time_to_live);
            fragment = ip.is_payload_fragmented();
        }
        NetSlice::Ipv6(ip) => {
            let h = ip.header().to_header();
            (src, dst, hops) = (h.source_addr().into(), h.destination_addr().into(), h.hop_limit);
            fragment = ip.is_payload_fragmented();
            if h.next_header.0 == 4 {
                let payload = &ip.payload().payload[..usize::from(h.payload_length)];
                inside = Some(Box::new(seen(&SlicedPacket::from_ip(payload).expect("a packet inside"))));
            }
        }
        NetSlice::Arp(_) => panic!("ARP"),
    }
    let (mut ports, mut icmp) = ((0, 0), None);
    let sum = |zero: u16, is: u16, v4: u16, v6: u16| {
        let want = if src.is_ipv4() { v4 } else { v6 };
        assert!(is == want || src.is_ipv4() && is == zero, "transport checksum");
    };
    if !fragment {
        let (a4, b4) = (four(src), four(dst));
        let (a6, b6) = (six(src), six(dst));
        match packet.transport.as_ref() {
            Some(TransportSlice::Udp(u)) => {
                let h = u.to_header();
                ports = (h.source_port, h.destination_port);
                let v4 = h.calc_checksum_ipv4_raw(a4, b4, u.payload()).unwrap();
                sum(0, h.checksum, v4, h.calc_checksum_ipv6_raw(a6, b6, u.payload()).unwrap());
            }
            Some(TransportSlice::Tcp(t)) => {
                let h = t.to_header();
                ports = (h.source_port, h.destination_port);
                let v4 = h.calc_checksum_ipv4_raw(a4, b4, t.payload()).unwrap();
                sum(v4, h.checksum, v4, h.calc_checksum_ipv6_raw(a6, b6, t.payload()).unwrap());
            }
            Some(TransportSlice::Icmpv4(i)) => {
                let sum = etherparse::checksum::Sum16BitWords::new().add_slice(i.slice());
                assert_eq!(sum.ones_complement(), 0, "ICMP checksum");
                icmp = Some((i.type_u8(), i.code_u8()));
                ports.0 = u16::from_be_bytes([i.slice()[4], i.slice()[5]]);
            }
            Some(TransportSlice::Icmpv6(i)) => {
                assert!(i.is_checksum_valid(a6, b6), "ICMPv6 checksum");
                icmp = Some((i.type_u8(), i.code_u8()));
                ports.0 = u16::from_be_bytes([i.slice()[4], i.slice()[5]]);
            }
            _ => {}
        }
    }
    Seen { src, dst, ports, hops, icmp, inside }
}

fn four(a: IpAddr) -> [u8; 4] {
    if let IpAddr::V4(a) = a { a.octets() } else { [0; 4] }
}

fn six(a: IpAddr) -> [u8; 16] {
    if let IpAddr::V6(a) = a { a.octets() } else { [0; 16] }
}

/// An IPv4 address and a port.
pub type At4<'a> = (&'a str, u16);

fn octets4(a: &str) -> [u8; 4] {
    a.parse::<Ipv4Addr>().unwrap().octets()
}

fn octets6(a: &str) -> [u8; 16] {
    a.parse::<Ipv6Addr>().unwrap().octets()
}

fn clear_df(mut frame: Vec<u8>, l3: usize) -> Vec<u8> {
    frame[l3 + 6] &= !0x40;
    frame[l3 + 10..l3 + 12].fill(0);
    let sum = etherparse::checksum::Sum16BitWords::new().add_slice(&frame[l3..l3 + 20]).ones_complement();
    frame[l3 + 10..l3 + 12].copy_from_slice(&sum.to_ne_bytes());
    frame
}

/// A UDP frame over IPv4.
pub fn udp4(from: At4, to: At4) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(V4_HOP, V4_MAC).ipv4(octets4(from.0), octets4(to.0), 64);
    b.udp(from.1, to.1).write(&mut out, b"hello, other side of it").unwrap();
    clear_df(out, 14)
}

/// A UDP frame over IPv6.
pub fn udp6(from: At4, to: At4) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(V6_HOP, V6_MAC).ipv6(octets6(from.0), octets6(to.0), 64);
    b.udp(from.1, to.1).write(&mut out, b"hello, other side of it").unwrap();
    out
}

/// An echo request or reply over IPv4.
pub fn echo4(from: &str, to: &str, id: u16, reply: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(V4_HOP, V4_MAC).ipv4(octets4(from), octets4(to), 64);
    let b = if reply { b.icmpv4_echo_reply(id, 1) } else { b.icmpv4_echo_request(id, 1) };
    b.write(&mut out, b"ping ping ping").unwrap();
    clear_df(out, 14)
}

/// An echo request or reply over IPv6.
pub fn echo6(from: &str, to: &str, id: u16, reply: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(V6_HOP, V6_MAC).ipv6(octets6(from), octets6(to), 64);
    let b = if reply { b.icmpv6_echo_reply(id, 1) } else { b.icmpv6_echo_request(id, 1) };
    b.write(&mut out, b"ping ping ping").unwrap();
    out
}

/// An ICMP destination unreachable over IPv4 about a frame.
pub fn unreachable4(from: &str, to: &str, about: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(V4_HOP, V4_MAC).ipv4(octets4(from), octets4(to), 64);
    b.icmpv4_raw(3, 3, [0; 4]).write(&mut out, &about[14..]).unwrap();
    clear_df(out, 14)
}

/// An ICMPv6 destination unreachable about a frame.
pub fn unreachable6(from: &str, to: &str, about: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(V6_HOP, V6_MAC).ipv6(octets6(from), octets6(to), 64);
    b.icmpv6_raw(1, 4, [0; 4]).write(&mut out, &about[14..]).unwrap();
    out
}

/// An IPv4 frame of the tests in a tunnel.
pub fn in_tunnel(from: &str, to: &str, inner: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(V6_HOP, V6_MAC).ipv6(octets6(from), octets6(to), 64);
    b.write(&mut out, etherparse::IpNumber::IPV4, &inner[14..]).unwrap();
    out
}

/// The frame as it arrives at the next gateway: these have the same Ethernet addresses on their IPv6 links.
pub fn turn(frame: &[u8]) -> Vec<u8> {
    [&frame[6..12], &frame[..6], &frame[12..]].concat()
}

/// Octets of a hexadecimal text.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}
