//! Addresses and packets of the tests.

pub(crate) use testbed::prelude::*;

use etherparse::{SlicedPacket, TransportSlice};
use std::net::{IpAddr, Ipv4Addr};

pub(crate) const A: IpAddr = ip4(10, 0, 0, 10);
pub(crate) const B: IpAddr = ip4(10, 0, 0, 11);
pub(crate) const POOL4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const POOL: IpAddr = IpAddr::V4(POOL4);
pub(crate) const REMOTE: IpAddr = ip4(203, 0, 113, 7);
pub(crate) const OTHER: IpAddr = ip4(203, 0, 113, 8);

pub(crate) const fn ip4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// The fragments of a frame, all with the same identification.
pub(crate) fn fragments(frame: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    fragments_of(0x1234, frame, cuts)
}

/// Returns the fragments of a frame, all with this identification.
pub(crate) fn fragments_of(id: u16, frame: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    testbed::fragments::fragments(frame, cuts, id.into())
}

pub(crate) fn carried(frame: &[u8]) -> Vec<u8> {
    match SlicedPacket::from_ethernet(frame).expect("a frame that parses").transport {
        Some(TransportSlice::Udp(u)) => u.payload().to_vec(),
        Some(TransportSlice::Tcp(t)) => t.payload().to_vec(),
        other => panic!("neither UDP nor TCP: {other:?}"),
    }
}

/// An FTP command (RFC 959, section 4.1.2) that names an inside address and port.
pub(crate) const FTP_PORT: &[u8] = b"PORT 10,0,0,10,19,137\r\n";

/// A SIP request (RFC 3261, section 24.2) whose Via, Contact and session description name an inside address and port.
pub(crate) const SIP_INVITE: &[u8] = b"INVITE sip:bob@203.0.113.7 SIP/2.0\r\n\
    Via: SIP/2.0/UDP 10.0.0.10:5060;branch=z9hG4bKnashds8\r\n\
    Max-Forwards: 70\r\nTo: Bob <sip:bob@203.0.113.7>\r\nFrom: Alice <sip:alice@10.0.0.10>;tag=1928301774\r\n\
    Call-ID: a84b4c76e66710\r\nCSeq: 314159 INVITE\r\nContact: <sip:alice@10.0.0.10:5060>\r\n\
    Content-Type: application/sdp\r\nContent-Length: 76\r\n\r\n\
    v=0\r\no=alice 1 1 IN IP4 10.0.0.10\r\nc=IN IP4 10.0.0.10\r\nm=audio 5001 RTP/AVP 0\r\n";
