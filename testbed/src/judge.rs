//! The judge of frames that leave a function: reads them with `etherparse` and checks every checksum.

use crate::packets::{At, v6};
use etherparse::{
    Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, Ipv4HeaderSlice, Ipv6HeaderSlice, TcpSlice, UdpSlice,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What was seen of a packet. The port of an echo is its identifier, at the end that asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source.
    pub from: At,
    /// Destination.
    pub to: At,
    /// Protocol number of the transport.
    pub protocol: u8,
    /// TTL or hop limit.
    pub ttl: u8,
}

/// Read a frame and check every checksum in it, those of quoted and of tunnelled packets too.
pub fn judge(frame: &[u8]) -> Header {
    packet(&frame[14..], true)
}

/// The packet quoted in the ICMP error of a frame.
pub fn quote_of(frame: &[u8]) -> Header {
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

/// Read a packet; if it claims to be whole, it must be.
#[track_caller]
pub fn packet(b: &[u8], whole: bool) -> Header {
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
    let ports = if part { (0, 0) } else { transport(body, [from, to], protocol, whole, complete) };
    Header { from: (from, ports.0), to: (to, ports.1), protocol, ttl }
}

/// The ports of what is above IP, whose checksum must be right if it is all there; a quote may be cut off anywhere.
fn transport(b: &[u8], [from, to]: [IpAddr; 2], protocol: u8, whole: bool, complete: bool) -> (u16, u16) {
    let word = |at: usize| b.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    if !complete {
        return match protocol {
            1 | 58 if matches!(b.first(), Some(8 | 128)) => (word(4), 0),
            1 | 58 => (0, word(4)),
            _ => (word(0), word(2)),
        };
    }
    match protocol {
        17 => {
            let u = UdpSlice::from_slice(b).unwrap();
            let h = u.to_header();
            assert!(h.checksum != 0 || from.is_ipv4() || !whole, "IPv6 has no UDP without checksum");
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
