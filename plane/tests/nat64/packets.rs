//! Packets for the tests, built by `etherparse`, and the judge of those that come out: IPv4, IPv6, and IPv4 in IPv6.
//! Nothing of the plane's own checksum code is used here.

pub use crate::common::ip4::{clear_df, reseal, set_df};
use crate::common::ip4::{cut, part};
use crate::common::nat::{self, flagged};
pub use crate::common::nat::{CUSTOMER_HOP, CUSTOMER_MAC, INTERNET_HOP, INTERNET_MAC};
use etherparse::{
    Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, Ipv4HeaderSlice, Ipv6HeaderSlice, PacketBuilder, TcpSlice,
    UdpSlice,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address of either version and a port.
pub type At = (IpAddr, u16);
/// What a packet is.
pub type Seen = nat::Seen<At>;

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub fn v4(a: IpAddr) -> [u8; 4] {
    match a {
        IpAddr::V4(a) => a.octets(),
        IpAddr::V6(a) => panic!("{a} is no IPv4 address"),
    }
}

pub fn v6(a: IpAddr) -> [u8; 16] {
    match a {
        IpAddr::V6(a) => a.octets(),
        IpAddr::V4(a) => panic!("{a} is no IPv6 address"),
    }
}

/// Ethernet and IP headers for a packet that arrives: IPv6 from the customers' side, IPv4 from the Internet's.
fn header(from: IpAddr, to: IpAddr, ttl: u8) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
    if from.is_ipv6() {
        PacketBuilder::ethernet2(CUSTOMER_HOP, CUSTOMER_MAC).ipv6(v6(from), v6(to), ttl)
    } else {
        PacketBuilder::ethernet2(INTERNET_HOP, INTERNET_MAC).ipv4(v4(from), v4(to), ttl)
    }
}

pub fn udp_with(from: At, to: At, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header(from.0, to.0, ttl).udp(from.1, to.1).write(&mut out, payload).unwrap();
    clear_df(out)
}

pub fn udp(from: At, to: At) -> Vec<u8> {
    udp_with(from, to, 64, b"hello, other side")
}

pub fn tcp(from: At, to: At, flags: &str) -> Vec<u8> {
    let t = header(from.0, to.0, 64).tcp(from.1, to.1, 1000, 65000);
    let mut out = Vec::new();
    flagged(t, flags).write(&mut out, b"data of a stream").unwrap();
    clear_df(out)
}

pub fn icmp4(from: IpAddr, to: IpAddr, message: Icmpv4Type, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header(from, to, 64).icmpv4(message).write(&mut out, payload).unwrap();
    clear_df(out)
}

pub fn icmp6(from: IpAddr, to: IpAddr, message: Icmpv6Type, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header(from, to, 64).icmpv6(message).write(&mut out, payload).unwrap();
    out
}

/// An echo request (or else reply) of the version that the addresses have.
pub fn echo(from: IpAddr, to: IpAddr, id: u16, request: bool) -> Vec<u8> {
    let e = etherparse::IcmpEchoHeader { id, seq: 1 };
    match (from.is_ipv6(), request) {
        (true, true) => icmp6(from, to, Icmpv6Type::EchoRequest(e), b"ping"),
        (true, false) => icmp6(from, to, Icmpv6Type::EchoReply(e), b"ping"),
        (false, true) => icmp4(from, to, Icmpv4Type::EchoRequest(e), b"ping"),
        (false, false) => icmp4(from, to, Icmpv4Type::EchoReply(e), b"ping"),
    }
}

/// An ICMP error about `about`, a frame, of which `quoted` octets are quoted.
pub fn error(from: IpAddr, to: IpAddr, kind: u8, code: u8, about: &[u8], quoted: usize) -> Vec<u8> {
    let end = (14 + quoted).min(about.len());
    if from.is_ipv6() {
        let message = Icmpv6Type::Unknown { type_u8: kind, code_u8: code, bytes5to8: [0; 4] };
        return icmp6(from, to, message, &about[14..end]);
    }
    let message = Icmpv4Type::Unknown { type_u8: kind, code_u8: code, bytes5to8: [0; 4] };
    icmp4(from, to, message, &about[14..end])
}

/// Cut the payload of a frame at these offsets (multiples of eight).
pub fn fragments(frame: &[u8], cuts: &[usize], id: u32) -> Vec<Vec<u8>> {
    let over6 = frame[14] >> 4 == 6;
    cut(frame, if over6 { 54 } else { 34 }, cuts, |at, payload, more| {
        if over6 { part6(frame, at, payload, more, id) } else { part(frame, at, payload, more, id as u16) }
    })
}

fn part6(frame: &[u8], at: usize, payload: &[u8], more: bool, id: u32) -> Vec<u8> {
    let mut f = frame[..54].to_vec();
    f.extend_from_slice(&[frame[20], 0]);
    f.extend_from_slice(&(at as u16 | u16::from(more)).to_be_bytes());
    f.extend_from_slice(&id.to_be_bytes());
    f.extend_from_slice(payload);
    f[20] = 44;
    f[18..20].copy_from_slice(&((8 + payload.len()) as u16).to_be_bytes());
    f
}

/// The datagram that fragments make, as a frame with the headers of the first.
pub fn reassemble(parts: &[Vec<u8>]) -> Vec<u8> {
    let over6 = parts[0][14] >> 4 == 6;
    let mut pieces: Vec<(usize, &[u8])> = parts
        .iter()
        .map(|f| {
            if over6 {
                let field = u16::from_be_bytes([f[56], f[57]]);
                let len = usize::from(u16::from_be_bytes([f[18], f[19]]));
                (usize::from(field & !7), &f[62..54 + len])
            } else {
                let field = u16::from_be_bytes([f[20], f[21]]);
                let len = usize::from(u16::from_be_bytes([f[16], f[17]]));
                (usize::from(field & 0x1fff) * 8, &f[34..14 + len])
            }
        })
        .collect();
    pieces.sort_by_key(|p| p.0);
    let mut payload = Vec::new();
    for (at, bytes) in pieces {
        assert_eq!(at, payload.len(), "fragments must join");
        payload.extend_from_slice(bytes);
    }
    let mut f = parts[0][..if over6 { 54 } else { 34 }].to_vec();
    if over6 {
        f[20] = parts[0][54];
        f[18..20].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        f.extend_from_slice(&payload);
    } else {
        f[16..18].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
        f[20..22].fill(0);
        f.extend_from_slice(&payload);
        reseal(&mut f);
    }
    f
}

/// Read a frame and check every checksum in it, those of quoted and of tunnelled packets too.
pub fn judge(frame: &[u8]) -> Seen {
    packet(&frame[14..], true)
}

/// The packet quoted in the ICMP error of a frame.
pub fn quote_of(frame: &[u8]) -> Seen {
    let b = &frame[14..];
    let (at, end) = if b[0] >> 4 == 4 {
        (20, usize::from(u16::from_be_bytes([b[2], b[3]])))
    } else {
        (40, 40 + usize::from(u16::from_be_bytes([b[4], b[5]])))
    };
    packet(&b[at + 8..end], false)
}

/// Type and code of the ICMP message of a frame.
pub fn icmp_type(frame: &[u8]) -> (u8, u8) {
    let at = if frame[14] >> 4 == 4 { 34 } else { 54 };
    (frame[at], frame[at + 1])
}

/// A packet, and if it claims to be whole, that it is.
fn packet(b: &[u8], whole: bool) -> Seen {
    let (from, to, protocol, ttl, l4, end, part): (IpAddr, IpAddr, u8, u8, usize, usize, bool);
    if b[0] >> 4 == 4 {
        let h = Ipv4HeaderSlice::from_slice(b).unwrap().to_header();
        assert_eq!(h.header_checksum, h.calc_header_checksum(), "IPv4 header checksum");
        (from, to) = (Ipv4Addr::from(h.source).into(), Ipv4Addr::from(h.destination).into());
        (protocol, ttl, l4, end) = (h.protocol.0, h.time_to_live, h.header_len(), h.total_len.into());
        part = h.is_fragmenting_payload();
    } else {
        let h = Ipv6HeaderSlice::from_slice(b).unwrap().to_header();
        (from, to) = (Ipv6Addr::from(h.source).into(), Ipv6Addr::from(h.destination).into());
        part = h.next_header.0 == 44;
        l4 = if part { 48 } else { 40 };
        protocol = if part { b[40] } else { h.next_header.0 };
        (ttl, end) = (h.hop_limit, 40 + usize::from(h.payload_length));
    }
    assert!(!whole || end <= b.len(), "longer than its frame");
    let body = &b[l4..end.min(b.len())];
    if protocol == 4 && !part {
        return packet(body, whole);
    }
    let complete = !part && end <= b.len();
    let ports = if part { (0, 0) } else { transport(body, from, to, protocol, complete) };
    Seen { from: (from, ports.0), to: (to, ports.1), protocol, ttl }
}

fn transport(b: &[u8], from: IpAddr, to: IpAddr, protocol: u8, complete: bool) -> (u16, u16) {
    let word = |at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
    if !complete {
        return match protocol {
            1 | 58 if matches!(b[0], 8 | 128) => (word(4), 0),
            1 | 58 => (0, word(4)),
            _ => (word(0), word(2)),
        };
    }
    match protocol {
        17 => {
            let u = UdpSlice::from_slice(b).unwrap();
            let h = u.to_header();
            assert!(h.checksum != 0 || from.is_ipv4(), "IPv6 has no UDP without checksum");
            if h.checksum != 0 {
                let sum = match (from, to) {
                    (IpAddr::V4(f), IpAddr::V4(t)) => h.calc_checksum_ipv4_raw(f.octets(), t.octets(), u.payload()),
                    _ => h.calc_checksum_ipv6_raw(v6(from), v6(to), u.payload()),
                };
                assert_eq!(h.checksum, sum.unwrap(), "UDP checksum");
            }
            (word(0), word(2))
        }
        6 => {
            let t = TcpSlice::from_slice(b).unwrap();
            let h = t.to_header();
            let sum = match (from, to) {
                (IpAddr::V4(f), IpAddr::V4(t2)) => h.calc_checksum_ipv4_raw(f.octets(), t2.octets(), t.payload()),
                _ => h.calc_checksum_ipv6_raw(v6(from), v6(to), t.payload()),
            };
            assert_eq!(h.checksum, sum.unwrap(), "TCP checksum");
            (word(0), word(2))
        }
        1 => {
            let sum = etherparse::checksum::Sum16BitWords::new().add_slice(b);
            assert_eq!(sum.ones_complement(), 0, "ICMP checksum");
            match Icmpv4Slice::from_slice(b).unwrap().icmp_type() {
                Icmpv4Type::EchoRequest(e) => (e.id, 0),
                Icmpv4Type::EchoReply(e) => (0, e.id),
                _ => quoted(b, matches!(b[0], 3 | 11 | 12)),
            }
        }
        58 => {
            let i = Icmpv6Slice::from_slice(b).unwrap();
            assert!(i.is_checksum_valid(v6(from), v6(to)), "ICMPv6 checksum");
            match i.icmp_type() {
                Icmpv6Type::EchoRequest(e) => (e.id, 0),
                Icmpv6Type::EchoReply(e) => (0, e.id),
                _ => quoted(b, b[0] < 128),
            }
        }
        _ => (0, 0),
    }
}

fn quoted(b: &[u8], error: bool) -> (u16, u16) {
    if error {
        packet(&b[8..], false);
    }
    (0, 0)
}
