//! Packets for the tests, built by `etherparse`, and the judge of those that come out.

use etherparse::{Icmpv4Type, Ipv4HeaderSlice, NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use std::net::Ipv6Addr;

/// An IPv4 address and a port.
pub type At = ([u8; 4], u16);

pub const MAC4: [u8; 6] = [2, 0, 0, 0, 4, 1];
pub const HOP4: [u8; 6] = [2, 0, 0, 0, 4, 2];
pub const MAC6: [u8; 6] = [2, 0, 0, 0, 6, 1];
pub const HOP6: [u8; 6] = [2, 0, 0, 0, 6, 2];

/// Address of the gateway on its IPv4 side, inside tunnels and on its IPv6 side.
pub const OWN4: [u8; 4] = [192, 0, 2, 254];
pub const INSIDE: [u8; 4] = [192, 0, 0, 1];
pub const OWN6: &str = "2001:2:0:100::ffff";
/// End points of tunnels: provider, two customers.
pub const PE: &str = "2001:2:0:100::1";
pub const B4: &str = "2001:2:0:100::b4";
pub const OTHER_B4: &str = "2001:2:0:100::b5";

pub const CUSTOMER: [u8; 4] = [198, 18, 0, 10];
pub const REMOTE: [u8; 4] = [203, 0, 113, 7];

pub fn a6(s: &str) -> [u8; 16] {
    s.parse::<Ipv6Addr>().unwrap().octets()
}

/// An IPv4 packet: UDP.
pub fn udp(from: At, to: At, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(from.0, to.0, 64).udp(from.1, to.1).write(&mut out, payload).unwrap();
    clear_df(out)
}

/// An IPv4 packet: TCP.
pub fn tcp(from: At, to: At, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(from.0, to.0, 64).tcp(from.1, to.1, 1000, 65000).ack(7).write(&mut out, payload).unwrap();
    clear_df(out)
}

/// An IPv4 packet: ICMP.
pub fn icmp(from: [u8; 4], to: [u8; 4], message: Icmpv4Type, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(from, to, 64).icmpv4(message).write(&mut out, payload).unwrap();
    clear_df(out)
}

pub fn ping(from: [u8; 4], to: [u8; 4], id: u16) -> Vec<u8> {
    icmp(from, to, Icmpv4Type::EchoRequest(etherparse::IcmpEchoHeader { id, seq: 1 }), b"ping")
}

pub fn pong(from: [u8; 4], to: [u8; 4], id: u16) -> Vec<u8> {
    icmp(from, to, Icmpv4Type::EchoReply(etherparse::IcmpEchoHeader { id, seq: 1 }), b"ping")
}

/// An ICMP error about a packet.
pub fn icmp_error(from: [u8; 4], to: [u8; 4], kind: u8, code: u8, about: &[u8]) -> Vec<u8> {
    let message = Icmpv4Type::Unknown { type_u8: kind, code_u8: code, bytes5to8: [0; 4] };
    icmp(from, to, message, &about[..about.len().min(528)])
}

/// Change octets of an IPv4 header and make its checksum right again.
pub fn with(mut packet: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    change(&mut packet);
    reseal(&mut packet);
    packet
}

pub fn reseal(packet: &mut [u8]) {
    let sum = Ipv4HeaderSlice::from_slice(packet).unwrap().to_header().calc_header_checksum();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// `etherparse` sets DF; here it is off unless asked for.
fn clear_df(packet: Vec<u8>) -> Vec<u8> {
    with(packet, |p| p[6] &= !0x40)
}

pub fn df(packet: Vec<u8>) -> Vec<u8> {
    with(packet, |p| p[6] |= 0x40)
}

/// Cut the payload of an IPv4 packet without options at these offsets (multiples of eight).
pub fn fragments(packet: &[u8], id: u16, cuts: &[usize]) -> Vec<Vec<u8>> {
    let payload = &packet[20..];
    let ends: Vec<usize> = cuts.iter().copied().chain([payload.len()]).collect();
    let mut at = 0;
    ends.iter()
        .map(|&end| {
            let mut f = packet[..20].to_vec();
            f.extend_from_slice(&payload[at..end]);
            let more = if end < payload.len() { 0x2000 } else { 0 };
            f[2..4].copy_from_slice(&((20 + end - at) as u16).to_be_bytes());
            f[4..6].copy_from_slice(&id.to_be_bytes());
            f[6..8].copy_from_slice(&((at / 8) as u16 | more).to_be_bytes());
            at = end;
            reseal(&mut f);
            f
        })
        .collect()
}

/// The frame of an IPv4 packet, as it arrives on the IPv4 side.
pub fn frame4(packet: &[u8]) -> Vec<u8> {
    let mut f = [&MAC4[..], &HOP4, &[8, 0], packet].concat();
    f.resize(f.len().max(60), 0);
    f
}

/// An IPv6 packet with this next header.
pub fn ipv6(src: &str, dst: &str, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut p = vec![0x60, 0, 0, 0];
    p.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    p.extend_from_slice(&[next, 64]);
    p.extend_from_slice(&a6(src));
    p.extend_from_slice(&a6(dst));
    p.extend_from_slice(payload);
    p
}

/// The frame of an IPv6 packet, as it arrives on the IPv6 side.
pub fn frame6(packet: &[u8]) -> Vec<u8> {
    [&MAC6[..], &HOP6, &[0x86, 0xdd], packet].concat()
}

/// The frame of an IPv4 packet in a tunnel.
pub fn wrapped(src: &str, dst: &str, packet: &[u8]) -> Vec<u8> {
    frame6(&ipv6(src, dst, 4, packet))
}

/// Cut an IPv6 packet without extension headers at these offsets of its payload.
pub fn fragments6(packet: &[u8], id: u32, cuts: &[usize]) -> Vec<Vec<u8>> {
    let payload = &packet[40..];
    let ends: Vec<usize> = cuts.iter().copied().chain([payload.len()]).collect();
    let mut at = 0;
    ends.iter()
        .map(|&end| {
            let mut f = packet[..40].to_vec();
            let more = u16::from(end < payload.len());
            f[4..6].copy_from_slice(&((8 + end - at) as u16).to_be_bytes());
            let next = std::mem::replace(&mut f[6], 44);
            f.extend_from_slice(&[next, 0]);
            f.extend_from_slice(&(at as u16 | more).to_be_bytes());
            f.extend_from_slice(&id.to_be_bytes());
            f.extend_from_slice(&payload[at..end]);
            at = end;
            f
        })
        .collect()
}

/// An ICMPv6 message with its checksum.
pub fn icmp6(src: &str, dst: &str, kind: u8, code: u8, rest: u32, payload: &[u8]) -> Vec<u8> {
    let message = etherparse::Icmpv6Type::Unknown { type_u8: kind, code_u8: code, bytes5to8: rest.to_be_bytes() };
    let mut out = Vec::new();
    PacketBuilder::ipv6(a6(src), a6(dst), 64).icmpv6(message).write(&mut out, payload).unwrap();
    out
}

/// The IPv4 packet of a frame that left on the IPv4 side, without padding, every checksum judged.
pub fn bare(frame: &[u8]) -> Vec<u8> {
    assert_eq!((&frame[..6], &frame[6..12], &frame[12..14]), (&HOP4[..], &MAC4[..], &[8u8, 0][..]), "Ethernet header");
    assert!(frame.len() >= 60, "a frame of {} octets", frame.len());
    let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    assert!(frame[14 + total..].iter().all(|b| *b == 0), "padding");
    let packet = &frame[14..14 + total];
    judge4(packet);
    packet.to_vec()
}

/// Source, destination and the IPv4 packet of a whole tunnel packet in a frame that left on the IPv6 side.
pub fn unwrapped(frame: &[u8]) -> (Ipv6Addr, Ipv6Addr, Vec<u8>) {
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
pub fn judge4(packet: &[u8]) {
    let h = Ipv4HeaderSlice::from_slice(packet).unwrap().to_header();
    assert_eq!(h.header_checksum, h.calc_header_checksum(), "IPv4 header checksum");
    assert_eq!(usize::from(h.total_len), packet.len(), "total length");
    if h.is_fragmenting_payload() {
        return;
    }
    let sliced = SlicedPacket::from_ip(packet).expect("a packet that parses");
    match &sliced.transport {
        Some(TransportSlice::Udp(u)) if u.checksum() != 0 => {
            assert_eq!(u.checksum(), u.to_header().calc_checksum_ipv4(&h, u.payload()).unwrap(), "UDP checksum");
        }
        Some(TransportSlice::Tcp(t)) => {
            assert_eq!(t.checksum(), t.to_header().calc_checksum_ipv4(&h, t.payload()).unwrap(), "TCP checksum");
        }
        Some(TransportSlice::Icmpv4(i)) => {
            let sum = etherparse::checksum::Sum16BitWords::new().add_slice(i.slice());
            assert_eq!(sum.ones_complement(), 0, "ICMP checksum");
            if matches!(i.type_u8(), 3 | 11 | 12) {
                let q = Ipv4HeaderSlice::from_slice(i.payload()).unwrap().to_header();
                assert_eq!(q.header_checksum, q.calc_header_checksum(), "quoted header checksum");
                if usize::from(q.total_len) == i.payload().len() {
                    judge4(i.payload());
                }
            }
        }
        _ => {}
    }
}

/// Check an ICMPv6 message; gives type, code, the four octets behind the checksum, and the quote.
pub fn judge_icmp6(frame: &[u8]) -> (u8, u8, u32, Vec<u8>) {
    let packet = SlicedPacket::from_ethernet(frame).expect("a frame that parses");
    let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("not IPv6") };
    let Some(TransportSlice::Icmpv6(i)) = &packet.transport else { panic!("not ICMPv6") };
    assert!(i.is_checksum_valid(ip.header().source(), ip.header().destination()), "ICMPv6 checksum");
    (i.type_u8(), i.code_u8(), u32::from_be_bytes(i.bytes5to8()), i.payload().to_vec())
}

/// Type, code, the four octets behind the checksum, and the quote of an ICMP packet.
pub fn parts_of_icmp(packet: &[u8]) -> (u8, u8, u32, Vec<u8>) {
    assert_eq!(packet[9], 1, "ICMP");
    let rest = u32::from_be_bytes([packet[24], packet[25], packet[26], packet[27]]);
    (packet[20], packet[21], rest, packet[28..].to_vec())
}

/// What a router does to a packet on its way.
pub fn one_hop(packet: &[u8]) -> Vec<u8> {
    with(packet.to_vec(), |p| p[8] -= 1)
}
