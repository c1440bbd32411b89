//! Packets for the tests, built by `etherparse`, and the judge of those that come out.

pub use crate::common::ip4::{clear_df, fragments, reseal, set_df};
use crate::common::nat::{self, flagged};
pub use crate::common::nat::{CUSTOMER_HOP, CUSTOMER_MAC, INTERNET_HOP, INTERNET_MAC};
use etherparse::{Icmpv4Slice, Icmpv4Type, Ipv4HeaderSlice, PacketBuilder, SlicedPacket, TransportSlice};

/// An IPv4 address and a port.
pub type At = ([u8; 4], u16);
/// What a packet is.
pub type Seen = nat::Seen<At>;

pub const A: [u8; 4] = [10, 0, 0, 10];
pub const B: [u8; 4] = [10, 0, 0, 11];
pub const POOL: [u8; 4] = [192, 0, 2, 1];
pub const REMOTE: [u8; 4] = [203, 0, 113, 7];
pub const OTHER: [u8; 4] = [203, 0, 113, 8];

/// Ethernet addresses for a packet that arrives from a side: customers' when the source is 10/8.
fn link(from: [u8; 4]) -> etherparse::PacketBuilderStep<etherparse::Ethernet2Header> {
    if from[0] == 10 {
        PacketBuilder::ethernet2(CUSTOMER_HOP, CUSTOMER_MAC)
    } else {
        PacketBuilder::ethernet2(INTERNET_HOP, INTERNET_MAC)
    }
}

pub fn udp_ttl(from: At, to: At, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    link(from.0).ipv4(from.0, to.0, ttl).udp(from.1, to.1).write(&mut out, payload).unwrap();
    clear_df(out)
}

pub fn udp(from: At, to: At) -> Vec<u8> {
    udp_ttl(from, to, 64, b"hello, other side")
}

pub fn tcp(from: At, to: At, flags: &str) -> Vec<u8> {
    tcp_of(from, to, flags, b"data")
}

pub fn tcp_of(from: At, to: At, flags: &str, payload: &[u8]) -> Vec<u8> {
    let t = link(from.0).ipv4(from.0, to.0, 64).tcp(from.1, to.1, 1000, 65000);
    let mut out = Vec::new();
    flagged(t, flags).write(&mut out, payload).unwrap();
    clear_df(out)
}

/// What a UDP or TCP packet carries.
pub fn carried(frame: &[u8]) -> Vec<u8> {
    match SlicedPacket::from_ethernet(frame).expect("a frame that parses").transport {
        Some(TransportSlice::Udp(u)) => u.payload().to_vec(),
        Some(TransportSlice::Tcp(t)) => t.payload().to_vec(),
        other => panic!("neither UDP nor TCP: {other:?}"),
    }
}

/// An FTP command (RFC 959, section 4.1.2) that names an inside address and port.
pub const FTP_PORT: &[u8] = b"PORT 10,0,0,10,19,137\r\n";

/// A SIP request (RFC 3261, section 24.2) whose Via, Contact and session description name an inside address and port.
pub const SIP_INVITE: &[u8] = b"INVITE sip:bob@203.0.113.7 SIP/2.0\r\n\
    Via: SIP/2.0/UDP 10.0.0.10:5060;branch=z9hG4bKnashds8\r\n\
    Max-Forwards: 70\r\nTo: Bob <sip:bob@203.0.113.7>\r\nFrom: Alice <sip:alice@10.0.0.10>;tag=1928301774\r\n\
    Call-ID: a84b4c76e66710\r\nCSeq: 314159 INVITE\r\nContact: <sip:alice@10.0.0.10:5060>\r\n\
    Content-Type: application/sdp\r\nContent-Length: 76\r\n\r\n\
    v=0\r\no=alice 1 1 IN IP4 10.0.0.10\r\nc=IN IP4 10.0.0.10\r\nm=audio 5001 RTP/AVP 0\r\n";

pub fn icmp(from: [u8; 4], to: [u8; 4], message: Icmpv4Type, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    link(from).ipv4(from, to, 64).icmpv4(message).write(&mut out, payload).unwrap();
    clear_df(out)
}

pub fn ping(from: [u8; 4], to: [u8; 4], id: u16) -> Vec<u8> {
    icmp(from, to, Icmpv4Type::EchoRequest(etherparse::IcmpEchoHeader { id, seq: 1 }), b"ping")
}

pub fn pong(from: [u8; 4], to: [u8; 4], id: u16) -> Vec<u8> {
    icmp(from, to, Icmpv4Type::EchoReply(etherparse::IcmpEchoHeader { id, seq: 1 }), b"ping")
}

/// An ICMP error about `about`, a frame, of which `quoted` octets are quoted.
pub fn error(from: [u8; 4], to: [u8; 4], kind: u8, code: u8, about: &[u8], quoted: usize) -> Vec<u8> {
    let end = (14 + quoted).min(about.len());
    let message = Icmpv4Type::Unknown { type_u8: kind, code_u8: code, bytes5to8: [0; 4] };
    icmp(from, to, message, &about[14..end])
}

/// Read a frame and check every checksum in it, those of quoted packets too.
pub fn judge(frame: &[u8]) -> Seen {
    let packet = SlicedPacket::from_ethernet(frame).expect("a frame that parses");
    let Some(etherparse::NetSlice::Ipv4(ip)) = &packet.net else { panic!("not IPv4") };
    let h = ip.header().to_header();
    assert_eq!(h.header_checksum, h.calc_header_checksum(), "IPv4 header checksum");
    let ports = match &packet.transport {
        Some(TransportSlice::Udp(u)) => {
            let u_header = u.to_header();
            if u_header.checksum != 0 {
                assert_eq!(u_header.checksum, u_header.calc_checksum_ipv4(&h, u.payload()).unwrap(), "UDP checksum");
            }
            (u.source_port(), u.destination_port())
        }
        Some(TransportSlice::Tcp(t)) => {
            let t_header = t.to_header();
            assert_eq!(t_header.checksum, t_header.calc_checksum_ipv4(&h, t.payload()).unwrap(), "TCP checksum");
            (t.source_port(), t.destination_port())
        }
        Some(TransportSlice::Icmpv4(i)) => judge_icmp(i),
        _ => (0, 0),
    };
    Seen { from: (h.source, ports.0), to: (h.destination, ports.1), protocol: h.protocol.0, ttl: h.time_to_live }
}

fn judge_icmp(i: &Icmpv4Slice) -> At2 {
    let sum = etherparse::checksum::Sum16BitWords::new().add_slice(i.slice());
    assert_eq!(sum.ones_complement(), 0, "ICMP checksum");
    match i.icmp_type() {
        Icmpv4Type::EchoRequest(e) => (e.id, 0),
        Icmpv4Type::EchoReply(e) => (0, e.id),
        _ => {
            if matches!(i.type_u8(), 3 | 11 | 12) {
                quoted(i.payload());
            }
            (0, 0)
        }
    }
}

type At2 = (u16, u16);

/// Read the packet that an ICMP error quotes and check what of its checksums can be checked.
pub fn quoted(quote: &[u8]) -> Seen {
    let h = Ipv4HeaderSlice::from_slice(quote).unwrap().to_header();
    assert_eq!(h.header_checksum, h.calc_header_checksum(), "quoted IPv4 header checksum");
    let l4 = &quote[h.header_len()..];
    let whole = l4.len() + h.header_len() >= usize::from(h.total_len);
    let ports = match h.protocol.0 {
        17 => {
            let u = etherparse::UdpSlice::from_slice_lax(l4).unwrap().to_header();
            if whole && u.checksum != 0 {
                let payload = &l4[8..usize::from(u.length)];
                assert_eq!(u.checksum, u.calc_checksum_ipv4(&h, payload).unwrap(), "quoted UDP checksum");
            }
            (u.source_port, u.destination_port)
        }
        6 => {
            if whole {
                let t = etherparse::TcpSlice::from_slice(&l4[..usize::from(h.total_len) - h.header_len()]).unwrap();
                let th = t.to_header();
                assert_eq!(th.checksum, th.calc_checksum_ipv4(&h, t.payload()).unwrap(), "quoted TCP checksum");
            }
            (u16::from_be_bytes([l4[0], l4[1]]), u16::from_be_bytes([l4[2], l4[3]]))
        }
        1 => {
            let id = u16::from_be_bytes([l4[4], l4[5]]);
            if whole {
                judge_icmp(&Icmpv4Slice::from_slice(&l4[..usize::from(h.total_len) - h.header_len()]).unwrap());
            }
            if l4[0] == 8 { (id, 0) } else { (0, id) }
        }
        p => panic!("quoted protocol {p}"),
    };
    Seen { from: (h.source, ports.0), to: (h.destination, ports.1), protocol: h.protocol.0, ttl: h.time_to_live }
}

/// The packet quoted in an ICMP error frame without IP options.
pub fn quote_of(frame: &[u8]) -> Seen {
    let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    quoted(&frame[42..14 + total])
}

/// Type and code of an ICMP frame.
pub fn icmp_type(frame: &[u8]) -> (u8, u8) {
    (frame[34], frame[35])
}
