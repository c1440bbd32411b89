//! Frames in words: one line that shows a person what a frame is, and the form of a frame that has
//! no test tag where it should be. Not for a path that every frame takes.

use crate::checksum::Sum;
use crate::header::{FCS, ICMP, ICMPV6, PROTO_IPV4, PROTO_UDP, TCP};
use crate::tag;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use std::fmt::{self, Display, Formatter, Write};
use std::net::{IpAddr, Ipv4Addr};

/// The form of a frame without a test tag where it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// An ICMP or ICMPv6 error (RFC 792; RFC 4443, section 3).
    IcmpError,
    /// A fragment, or a packet with a fragment header (RFC 791, section 3.2; RFC 8200, section 4.5).
    Fragment,
    /// A test frame with a VLAN tag (IEEE 802.1Q).
    VlanTag,
    /// A test frame of another IP version, encapsulation or protocol.
    OtherHeaders,
    /// Not a test frame.
    Foreign,
}

/// Returns the form of a frame without a test tag where it should be. Allocates nothing.
pub fn stray(frame: &[u8]) -> Stray {
    let Ok(packet) = LaxSlicedPacket::from_ethernet(frame) else { return Stray::Foreign };
    let is_fragment = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => ip.header().is_fragmenting_payload(),
        Some(LaxNetSlice::Ipv6(ip)) => ip.header().next_header().0 == FRAGMENT_HEADER,
        _ => false,
    };
    match &packet.transport {
        Some(TransportSlice::Icmpv4(icmp)) if is_error4(icmp.type_u8()) => Stray::IcmpError,
        Some(TransportSlice::Icmpv6(icmp)) if is_error6(icmp.type_u8()) => Stray::IcmpError,
        _ if is_fragment => Stray::Fragment,
        _ if tag_in(frame).is_none() => Stray::Foreign,
        _ if packet.vlan().is_some() => Stray::VlanTag,
        _ => Stray::OtherHeaders,
    }
}

/// A frame of `len` octets without FCS in one line: headers from the outermost, without Ethernet addresses. `start` may lack its end.
pub fn line(start: &[u8], len: usize) -> impl Display {
    FrameLine { start, len }
}

/// Where the tag of a test frame begins, wherever it is.
pub fn tag_in(frame: &[u8]) -> Option<usize> {
    frame.windows(tag::MAGIC.len()).position(|octets| octets == tag::MAGIC)
}

/// The IP address that asks for an Ethernet address: the sender of an ARP request (RFC 826) or neighbor solicitation (RFC 4861).
pub fn asker(frame: &[u8]) -> Option<IpAddr> {
    let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
    match (&packet.net, &packet.transport) {
        (Some(LaxNetSlice::Arp(arp)), _) if arp.operation().0 == 1 => {
            arp.sender_protocol_addr().first_chunk().map(|&octets: &[u8; 4]| Ipv4Addr::from(octets).into())
        }
        (Some(LaxNetSlice::Ipv6(ip)), Some(TransportSlice::Icmpv6(icmp)))
            if icmp.type_u8() == NEIGHBOR_SOLICITATION =>
        {
            Some(ip.header().source_addr().into())
        }
        _ => None,
    }
}

/// The source of the outermost IP packet in a frame.
pub fn source(frame: &[u8]) -> Option<IpAddr> {
    match LaxSlicedPacket::from_ethernet(frame).ok()?.net? {
        LaxNetSlice::Ipv4(ip) => Some(ip.header().source_addr().into()),
        LaxNetSlice::Ipv6(ip) => Some(ip.header().source_addr().into()),
        LaxNetSlice::Arp(_) => None,
    }
}

const NEIGHBOR_SOLICITATION: u8 = 135;
const FRAGMENT_HEADER: u8 = 44;
/// Headers inside each other that a line shows.
const DEPTH: usize = 3;

struct FrameLine<'f> {
    start: &'f [u8],
    len: usize,
}

impl Display for FrameLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let FrameLine { start, len } = *self;
        let Ok(packet) = LaxSlicedPacket::from_ethernet(start) else {
            return write!(f, "{} octets with FCS, too few for an Ethernet header", len + FCS);
        };
        for id in packet.vlan_ids() {
            write!(f, "VLAN {}, ", id.value())?;
        }
        match (&packet.net, packet.ether_payload()) {
            (Some(LaxNetSlice::Arp(arp)), _) => {
                let address =
                    |octets: &[u8]| octets.first_chunk().map_or(Ipv4Addr::UNSPECIFIED, |&ip: &[u8; 4]| ip.into());
                let (from, about) = (address(arp.sender_protocol_addr()), address(arp.target_protocol_addr()));
                let what = if arp.operation().0 == 1 { "request" } else { "reply" };
                write!(f, "ARP {what} from {from} to {about}")?;
            }
            (Some(_), _) => packet_line(f, &packet, DEPTH)?,
            (None, Some(payload)) => write!(f, "EtherType 0x{:04x}", payload.ether_type.0)?,
            (None, None) => write!(f, "no EtherType")?,
        }
        write!(f, ", {} octets with FCS", len + FCS)
    }
}

fn packet_line(f: &mut Formatter<'_>, packet: &LaxSlicedPacket<'_>, depth: usize) -> fmt::Result {
    let Some(payload) = packet.ip_payload() else { return write!(f, "a truncated IP header") };
    let (from, to, about) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            (header.source_addr().to_string(), header.destination_addr().to_string(), ipv4_words(&header))
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            (header.source_addr().to_string(), header.destination_addr().to_string(), ipv6_words(ip))
        }
        _ => return Ok(()),
    };
    match &packet.transport {
        Some(TransportSlice::Udp(udp)) => {
            let (from, to) = (with_port(&from, udp.source_port()), with_port(&to, udp.destination_port()));
            write!(f, "UDP {from} > {to}, {about}, checksum 0x{:04x}", udp.checksum())
        }
        Some(TransportSlice::Tcp(tcp)) => {
            let (from, to) = (with_port(&from, tcp.source_port()), with_port(&to, tcp.destination_port()));
            write!(f, "TCP {from} > {to}, {about}, flags")?;
            let flags =
                [("SYN", tcp.syn()), ("ACK", tcp.ack()), ("FIN", tcp.fin()), ("RST", tcp.rst()), ("PSH", tcp.psh())];
            flags.iter().filter(|(_, set)| *set).try_for_each(|(name, _)| write!(f, " {name}"))
        }
        Some(TransportSlice::Icmpv4(icmp)) => {
            let (kind, code) = (icmp.type_u8(), icmp.code_u8());
            icmp_line(f, ("ICMP", kind, code, icmp_name4(kind, code)), (&from, &to))?;
            if is_error4(kind) { about_line(f, icmp.payload(), depth) } else { Ok(()) }
        }
        Some(TransportSlice::Icmpv6(icmp)) => {
            let (kind, code) = (icmp.type_u8(), icmp.code_u8());
            icmp_line(f, ("ICMPv6", kind, code, icmp_name6(kind, code)), (&from, &to))?;
            if is_error6(kind) { about_line(f, icmp.payload(), depth) } else { Ok(()) }
        }
        _ => {
            let name = protocol(payload.ip_number.0);
            write!(f, "{name} {from} > {to}, {about}")?;
            match LaxSlicedPacket::from_ip(payload.payload) {
                Ok(inner) if depth > 0 && is_ip(payload.ip_number.0) && !payload.fragmented => {
                    write!(f, ": ")?;
                    packet_line(f, &inner, depth - 1)
                }
                _ => Ok(()),
            }
        }
    }
}

fn icmp_line(
    f: &mut Formatter<'_>,
    (protocol, kind, code, name): (&str, u8, u8, &str),
    ends: (&str, &str),
) -> fmt::Result {
    write!(f, "{protocol} {kind}/{code}")?;
    if !name.is_empty() {
        write!(f, " ({name})")?;
    }
    write!(f, " from {} to {}", ends.0, ends.1)
}

/// The packet that an ICMP error quotes, which often ends behind its ports.
fn about_line(f: &mut Formatter<'_>, quoted: &[u8], depth: usize) -> fmt::Result {
    let Ok(inner) = LaxSlicedPacket::from_ip(quoted) else { return write!(f, ", without the packet it is about") };
    write!(f, ", about ")?;
    let (Some(ends), Some(payload)) = (ends(&inner), inner.ip_payload()) else {
        return write!(f, "a truncated packet");
    };
    match (payload.ip_number.0, payload.payload) {
        (PROTO_UDP | TCP, [a, b, c, d, ..]) if !payload.fragmented => {
            let [from, to] = [[*a, *b], [*c, *d]].map(u16::from_be_bytes);
            let name = protocol(payload.ip_number.0);
            write!(f, "{name} {} > {}", with_port(&ends[0], from), with_port(&ends[1], to))
        }
        (number, rest) => {
            write!(f, "{} {} > {}", protocol(number), ends[0], ends[1])?;
            match LaxSlicedPacket::from_ip(rest) {
                Ok(inner) if depth > 0 && is_ip(number) => {
                    write!(f, ": ")?;
                    packet_line(f, &inner, depth - 1)
                }
                _ => Ok(()),
            }
        }
    }
}

fn ends(packet: &LaxSlicedPacket<'_>) -> Option<[String; 2]> {
    match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            Some([ip.header().source_addr().to_string(), ip.header().destination_addr().to_string()])
        }
        LaxNetSlice::Ipv6(ip) => {
            Some([ip.header().source_addr().to_string(), ip.header().destination_addr().to_string()])
        }
        LaxNetSlice::Arp(_) => None,
    }
}

fn ipv4_words(header: &etherparse::Ipv4HeaderSlice<'_>) -> String {
    let mut words = format!("TTL {}", header.ttl());
    let tos = header.slice()[1];
    if tos != 0 {
        let _ = write!(words, ", TOS 0x{tos:02x}");
    }
    if header.identification() != 0 {
        let _ = write!(words, ", identification {}", header.identification());
    }
    if header.dont_fragment() {
        words += ", DF";
    }
    if Sum::default().bytes(header.slice()).checksum() != [0; 2] {
        words += ", wrong header checksum";
    }
    if header.is_fragmenting_payload() {
        words += &fragment_words(header.fragments_offset().byte_offset(), header.more_fragments());
    }
    words
}

fn ipv6_words(ip: &etherparse::LaxIpv6Slice<'_>) -> String {
    let header = ip.header();
    let mut words = format!("hop limit {}", header.hop_limit());
    if header.traffic_class() != 0 {
        let _ = write!(words, ", traffic class 0x{:02x}", header.traffic_class());
    }
    if header.flow_label().value() != 0 {
        let _ = write!(words, ", flow label 0x{:05x}", header.flow_label().value());
    }
    if header.next_header().0 == FRAGMENT_HEADER
        && let Some(fragment) = ip.extensions().slice().first_chunk::<8>()
    {
        let at = u16::from_be_bytes([fragment[2], fragment[3]]);
        let id = u32::from_be_bytes([fragment[4], fragment[5], fragment[6], fragment[7]]);
        let _ = write!(words, "{}, identification {id}", fragment_words(at & 0xfff8, at & 1 != 0));
    }
    words
}

fn fragment_words(offset: u16, more: bool) -> String {
    format!(", fragment at octet {offset}{}", if more { ", more follow" } else { "" })
}

fn with_port(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn is_ip(number: u8) -> bool {
    number == PROTO_IPV4 || number == 41
}

fn protocol(number: u8) -> String {
    match number {
        PROTO_IPV4 => "IPv4 in".to_owned(),
        41 => "IPv6 in".to_owned(),
        PROTO_UDP => "UDP".to_owned(),
        TCP => "TCP".to_owned(),
        ICMP => "ICMP".to_owned(),
        ICMPV6 => "ICMPv6".to_owned(),
        _ => format!("protocol {number}"),
    }
}

/// Types of RFC 792 that quote a packet.
fn is_error4(kind: u8) -> bool {
    matches!(kind, 3 | 4 | 5 | 11 | 12)
}

/// RFC 4443, section 2.1.
fn is_error6(kind: u8) -> bool {
    kind < 128
}

/// RFC 792, RFC 1122 (section 3.2.2.1), RFC 1812 (section 5.2.7.1).
fn icmp_name4(kind: u8, code: u8) -> &'static str {
    match (kind, code) {
        (3, 0) => "network unreachable",
        (3, 1) => "host unreachable",
        (3, 2) => "protocol unreachable",
        (3, 3) => "port unreachable",
        (3, 4) => "fragmentation needed and DF set",
        (3, 5) => "source route failed",
        (3, 6) => "destination network unknown",
        (3, 7) => "destination host unknown",
        (3, 9) => "network administratively prohibited",
        (3, 10) => "host administratively prohibited",
        (3, 13) => "communication administratively prohibited",
        (5, _) => "redirect",
        (0, _) => "echo reply",
        (8, _) => "echo",
        (11, 0) => "time to live exceeded in transit",
        (11, 1) => "fragment reassembly time exceeded",
        (12, _) => "parameter problem",
        _ => "",
    }
}

/// RFC 4443, section 3.
fn icmp_name6(kind: u8, code: u8) -> &'static str {
    match (kind, code) {
        (1, 0) => "no route to destination",
        (1, 1) => "communication administratively prohibited",
        (1, 2) => "beyond scope of source address",
        (1, 3) => "address unreachable",
        (1, 4) => "port unreachable",
        (1, 5) => "source address failed ingress/egress policy",
        (1, 6) => "reject route to destination",
        (2, _) => "packet too big",
        (3, 0) => "hop limit exceeded in transit",
        (3, 1) => "fragment reassembly time exceeded",
        (4, _) => "parameter problem",
        (128, _) => "echo request",
        (129, _) => "echo reply",
        (133, _) => "router solicitation",
        (134, _) => "router advertisement",
        (135, _) => "neighbor solicitation",
        (136, _) => "neighbor advertisement",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IcmpEchoHeader, Icmpv4Type, PacketBuilder, icmpv4};
    use std::net::Ipv6Addr;

    const MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);

    fn udp4() -> Vec<u8> {
        let mut frame = Vec::new();
        let built = PacketBuilder::ethernet2(MACS.0, MACS.1).ipv4([198, 18, 0, 2], [198, 19, 0, 2], 9).udp(1024, 1);
        built.write(&mut frame, &tagged()).unwrap();
        frame
    }

    fn tagged() -> [u8; tag::LEN] {
        let mut payload = [0; tag::LEN];
        payload[..3].copy_from_slice(&tag::MAGIC);
        payload
    }

    /// Puts octets before those at `at`.
    fn with(mut frame: Vec<u8>, at: usize, octets: &[u8]) -> Vec<u8> {
        frame.splice(at..at, octets.iter().copied());
        frame
    }

    #[test]
    fn frames_are_shown_in_one_line_and_strays_by_their_form() {
        let mut error = Vec::new();
        let unreachable = Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::FilterProhibited);
        let built = PacketBuilder::ethernet2(MACS.0, MACS.1).ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64);
        built.icmpv4(unreachable).write(&mut error, &udp4()[14..42]).unwrap();
        let mut ping = Vec::new();
        let echo = Icmpv4Type::EchoRequest(IcmpEchoHeader { id: 1, seq: 2 });
        PacketBuilder::ethernet2(MACS.0, MACS.1).ipv4([1; 4], [2; 4], 3).icmpv4(echo).write(&mut ping, &[]).unwrap();
        let mut udp6 = Vec::new();
        let (from, to) = ("2001:db8::1".parse::<Ipv6Addr>().unwrap(), "2001:db8::2".parse::<Ipv6Addr>().unwrap());
        let built = PacketBuilder::ethernet2(MACS.0, MACS.1).ipv6(from.octets(), to.octets(), 8).udp(5, 6);
        built.write(&mut udp6, &tagged()).unwrap();
        // An atomic fragment header (RFC 6946) in front of UDP.
        let mut atomic = with(udp6.clone(), 54, &[17, 0, 0, 0, 0, 0, 0, 7]);
        (atomic[19], atomic[20]) = (atomic[19] + 8, FRAGMENT_HEADER);
        let mut tunnel = Vec::new();
        let built = PacketBuilder::ethernet2(MACS.0, MACS.1).ipv6(from.octets(), to.octets(), 8);
        built.write(&mut tunnel, PROTO_IPV4.into(), &udp4()[14..]).unwrap();
        let sum = |frame: &[u8], at: usize| format!("0x{:04x}", u16::from_be_bytes([frame[at], frame[at + 1]]));
        let (sum4, sum6) = (sum(&udp4(), 40), sum(&udp6, 60));
        for (frame, form, words) in [
            (
                udp4(),
                Stray::OtherHeaders,
                format!("UDP 198.18.0.2:1024 > 198.19.0.2:1, TTL 9, DF, checksum {sum4}, 64 octets with FCS"),
            ),
            (
                with(udp4(), 12, &[0x81, 0, 0, 200]),
                Stray::VlanTag,
                format!("VLAN 200, UDP 198.18.0.2:1024 > 198.19.0.2:1, TTL 9, DF, checksum {sum4}, 68 octets with FCS"),
            ),
            (
                error,
                Stray::IcmpError,
                "ICMP 3/13 (communication administratively prohibited) from 198.18.0.1 to 198.18.0.2, \
                 about UDP 198.18.0.2:1024 > 198.19.0.2:1, 74 octets with FCS"
                    .to_owned(),
            ),
            (ping, Stray::Foreign, "ICMP 8/0 (echo) from 1.1.1.1 to 2.2.2.2, 46 octets with FCS".to_owned()),
            (
                udp6,
                Stray::OtherHeaders,
                format!("UDP [2001:db8::1]:5 > [2001:db8::2]:6, hop limit 8, checksum {sum6}, 84 octets with FCS"),
            ),
            (
                atomic,
                Stray::Fragment,
                format!(
                    "UDP [2001:db8::1]:5 > [2001:db8::2]:6, hop limit 8, fragment at octet 0, identification 7, \
                     checksum {sum6}, 92 octets with FCS"
                ),
            ),
            (
                tunnel,
                Stray::OtherHeaders,
                format!(
                    "IPv4 in 2001:db8::1 > 2001:db8::2, hop limit 8: UDP 198.18.0.2:1024 > 198.19.0.2:1, TTL 9, DF, \
                     checksum {sum4}, 104 octets with FCS"
                ),
            ),
            (vec![0; 5], Stray::Foreign, "9 octets with FCS, too few for an Ethernet header".to_owned()),
        ] {
            assert_eq!((stray(&frame), line(&frame, frame.len()).to_string()), (form, words));
        }
    }

    #[test]
    fn every_cut_of_a_frame_has_a_line() {
        for frame in [udp4(), with(udp4(), 12, &[0x81, 0, 0, 200])] {
            for end in 0..frame.len() {
                assert!(!line(&frame[..end], end).to_string().is_empty() && stray(&frame[..end]) != Stray::IcmpError);
            }
        }
    }
}
