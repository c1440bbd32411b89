//! Packets for the tests, built by `etherparse`, and the judge of those that come out.

use etherparse::{Ipv4HeaderSlice, NetSlice, SlicedPacket, TransportSlice};
use std::net::Ipv6Addr;
use testbed::{fragments, packets};

pub(super) type At = ([u8; 4], u16);

pub(super) const MAC4: [u8; 6] = [2, 0, 0, 0, 4, 1];
pub(super) const HOP4: [u8; 6] = [2, 0, 0, 0, 4, 2];
pub(super) const MAC6: [u8; 6] = [2, 0, 0, 0, 6, 1];
pub(super) const HOP6: [u8; 6] = [2, 0, 0, 0, 6, 2];

/// Address of the gateway on its IPv4 side, inside tunnels and on its IPv6 side.
pub(super) const OWN4: [u8; 4] = [192, 0, 2, 254];
pub(super) const INSIDE: [u8; 4] = [192, 0, 0, 1];
pub(super) const OWN6: &str = "2001:2:0:100::ffff";
/// End points of tunnels: provider, two customers.
pub(super) const PE: &str = "2001:2:0:100::1";
pub(super) const B4: &str = "2001:2:0:100::b4";
pub(super) const OTHER_B4: &str = "2001:2:0:100::b5";

pub(super) const CUSTOMER: [u8; 4] = [198, 18, 0, 10];
pub(super) const REMOTE: [u8; 4] = [203, 0, 113, 7];

pub(super) fn a6(s: &str) -> [u8; 16] {
    s.parse::<Ipv6Addr>().unwrap().octets()
}

#[allow(clippy::needless_pass_by_value, reason = "the frame is made for its packet")]
fn packet(frame: Vec<u8>) -> Vec<u8> {
    frame[14..].to_vec()
}

pub(super) fn udp(from: At, to: At, payload: &[u8]) -> Vec<u8> {
    packet(packets::udp_with(from, to, 64, payload))
}

pub(super) fn tcp(from: At, to: At, payload: &[u8]) -> Vec<u8> {
    packet(packets::tcp_with(from, to, "A", payload))
}

pub(super) fn ping(from: [u8; 4], to: [u8; 4], id: u16) -> Vec<u8> {
    packet(packets::ping(from, to, id))
}

pub(super) fn pong(from: [u8; 4], to: [u8; 4], id: u16) -> Vec<u8> {
    packet(packets::pong(from, to, id))
}

pub(super) fn icmp_error(from: [u8; 4], to: [u8; 4], kind: u8, code: u8, about: &[u8]) -> Vec<u8> {
    packet(packets::icmp(from, to, kind, code, [0; 4], &about[..about.len().min(528)]))
}

/// Change octets of an IPv4 header and make its checksum right again.
pub(super) fn with(mut packet: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    change(&mut packet);
    reseal(&mut packet);
    packet
}

pub(super) fn reseal(packet: &mut [u8]) {
    let sum = Ipv4HeaderSlice::from_slice(packet).unwrap().to_header().calc_header_checksum();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

pub(super) fn df(packet: Vec<u8>) -> Vec<u8> {
    with(packet, |p| p[6] |= 0x40)
}

/// The fragments of an IPv4 packet without options; the offsets between them are multiples of eight.
pub(super) fn fragments(packet: &[u8], id: u16, cuts: &[usize]) -> Vec<Vec<u8>> {
    fragments6(packet, id.into(), cuts)
}

/// The frame of an IPv4 packet, as it arrives on the IPv4 side.
pub(super) fn frame4(packet: &[u8]) -> Vec<u8> {
    let mut f = [&MAC4[..], &HOP4, &[8, 0], packet].concat();
    f.resize(f.len().max(60), 0);
    f
}

pub(super) fn ipv6(src: &str, dst: &str, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut p = vec![0x60, 0, 0, 0];
    p.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    p.extend_from_slice(&[next, 64]);
    p.extend_from_slice(&a6(src));
    p.extend_from_slice(&a6(dst));
    p.extend_from_slice(payload);
    p
}

/// The frame of an IPv6 packet, as it arrives on the IPv6 side.
pub(super) fn frame6(packet: &[u8]) -> Vec<u8> {
    [&MAC6[..], &HOP6, &[0x86, 0xdd], packet].concat()
}

/// The frame of an IPv4 packet in a tunnel.
pub(super) fn wrapped(src: &str, dst: &str, packet: &[u8]) -> Vec<u8> {
    frame6(&ipv6(src, dst, 4, packet))
}

/// The fragments of a packet of either version without options and extension headers.
pub(super) fn fragments6(bare: &[u8], id: u32, cuts: &[usize]) -> Vec<Vec<u8>> {
    let frame = [&[0; 14], bare].concat();
    fragments::fragments(&frame, cuts, id).into_iter().map(packet).collect()
}

/// An ICMPv6 message with its checksum.
pub(super) fn icmp6(src: &str, dst: &str, kind: u8, code: u8, rest: u32, payload: &[u8]) -> Vec<u8> {
    packet(packets::icmp(src, dst, kind, code, rest.to_be_bytes(), payload))
}

/// The IPv4 packet of a frame that left on the IPv4 side, without padding, every checksum judged.
pub(super) fn bare(frame: &[u8]) -> Vec<u8> {
    assert_eq!((&frame[..6], &frame[6..12], &frame[12..14]), (&HOP4[..], &MAC4[..], &[8u8, 0][..]), "Ethernet header");
    assert!(frame.len() >= 60, "a frame of {} octets", frame.len());
    let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    assert!(frame[14 + total..].iter().all(|b| *b == 0), "padding");
    let packet = &frame[14..14 + total];
    judge4(packet);
    packet.to_vec()
}

/// Source, destination and the IPv4 packet of a whole tunnel packet in a frame that left on the IPv6 side.
pub(super) fn unwrapped(frame: &[u8]) -> (Ipv6Addr, Ipv6Addr, Vec<u8>) {
    assert_eq!(
        (&frame[..6], &frame[6..12], &frame[12..14]),
        (&HOP6[..], &MAC6[..], &[0x86u8, 0xdd][..]),
        "Ethernet header"
    );
    let packet = SlicedPacket::from_ethernet(frame).expect("a frame that parses");
    let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("not IPv6") };
    let h = ip.header();
    assert_eq!(usize::from(h.payload_length()), frame.len() - 54, "payload length");
    assert_eq!(ip.payload().ip_number.0, 4, "next header");
    let inner = ip.payload().payload.to_vec();
    judge4(&inner);
    (h.source_addr(), h.destination_addr(), inner)
}

/// Check every checksum of an IPv4 packet, those of quoted packets too.
pub(super) fn judge4(packet: &[u8]) {
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    assert_eq!(total, packet.len(), "total length");
    testbed::judge::packet(packet, true);
}

/// Check an ICMPv6 message; gives type, code, the four octets behind the checksum, and the quote.
pub(super) fn judge_icmp6(frame: &[u8]) -> (u8, u8, u32, Vec<u8>) {
    let packet = SlicedPacket::from_ethernet(frame).expect("a frame that parses");
    let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("not IPv6") };
    let Some(TransportSlice::Icmpv6(i)) = &packet.transport else { panic!("not ICMPv6") };
    assert!(i.is_checksum_valid(ip.header().source(), ip.header().destination()), "ICMPv6 checksum");
    (i.type_u8(), i.code_u8(), u32::from_be_bytes(i.bytes5to8()), i.payload().to_vec())
}

/// Type, code, the four octets behind the checksum, and the quote of an ICMP packet.
pub(super) fn parts_of_icmp(packet: &[u8]) -> (u8, u8, u32, Vec<u8>) {
    assert_eq!(packet[9], 1, "ICMP");
    let rest = u32::from_be_bytes([packet[24], packet[25], packet[26], packet[27]]);
    (packet[20], packet[21], rest, packet[28..].to_vec())
}

/// What a router does to a packet on its way.
pub(super) fn one_hop(packet: &[u8]) -> Vec<u8> {
    with(packet.to_vec(), |p| p[8] -= 1)
}
