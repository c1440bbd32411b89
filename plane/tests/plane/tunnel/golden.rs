//! Golden packets, octet by octet, made with scapy 2.8.0 (`bytes(Ether(…)/IPv6(…)/IP(…)/UDP(…)/b"hello").hex()`), never
//! by our own code.

use crate::tunnel::packets::*;
use crate::tunnel::rfc7596::lwaftr;
use plane::Side;
use testbed::hex;

/// UDP from 203.0.113.7 port 80 to 198.51.100.1 port 5197, DF, DSCP EF.
const FROM_INTERNET: &str = "020000000401 020000000402 0800
    45b80021 12344000 4011c1a3 cb007107 c6336401
    0050144d 000d4128 68656c6c6f";
/// The same in the tunnel from the lwAFTR to the lwB4, one hop on.
const INTO_TUNNEL: &str = "020000000602 020000000601 86dd
    6b800000 00210440 20010002000001000000000000000001 200100020000010000000000000000b4
    45b80021 12344000 3f11c2a3 cb007107 c6336401
    0050144d 000d4128 68656c6c6f";
/// TCP from 198.51.100.1 port 5197 to 203.0.113.7 port 80 in its tunnel.
const FROM_TUNNEL: &str = "020000000601 020000000602 86dd
    60000000 002d0440 200100020000010000000000000000b4 20010002000001000000000000000001
    4500002d 43210000 4006d16d c6336401 cb007107
    144d0050 000003e8 00000007 5010fde8 ef4b0000 68656c6c6f";
/// The same outside, one hop on.
const TO_INTERNET: &str = "020000000402 020000000401 0800
    4500002d 43210000 3f06d26d c6336401 cb007107
    144d0050 000003e8 00000007 5010fde8 ef4b0000 68656c6c6f";
/// Packet too big, MTU 1400, from a router on the way, about a tunnel packet.
const TOO_BIG: &str = "020000000601 020000000602 86dd
    60000000 00513a40 20010db8000000000000000000000099 20010002000001000000000000000001
    020067e9 00000578
    60000000 0021043c 20010002000001000000000000000001 200100020000010000000000000000b4
    45000021 12344000 3f11c35b cb007107 c6336401
    0050144d 000d4128 68656c6c6f";
/// What the sender in the Internet hears: fragmentation needed, MTU 1360; the identification of the packet is ours.
const FRAGMENTATION_NEEDED: &str = "45c0003d 00000000 40017afa c00002fe cb007107
    03045e07 00000550
    45000021 12344000 3f11c35b cb007107 c6336401
    0050144d 000d4128 68656c6c6f";

#[test]
fn into_the_tunnel() {
    let (mut end, _) = lwaftr(|_| {});
    let out = end.send_all(Side::Internet, &[hex(FROM_INTERNET)]);
    assert_eq!(out, [(Side::Customer, hex(INTO_TUNNEL))]);
}

#[test]
fn out_of_the_tunnel() {
    let (mut end, _) = lwaftr(|_| {});
    let out = end.send_all(Side::Customer, &[hex(FROM_TUNNEL)]);
    let mut want = hex(TO_INTERNET);
    want.resize(60, 0);
    assert_eq!(out, [(Side::Internet, want)]);
}

#[test]
fn an_error_about_a_tunnel_packet() {
    let (mut end, _) = lwaftr(|_| {});
    let out = end.send_all(Side::Customer, &[hex(TOO_BIG)]);
    assert_eq!((out.len(), out[0].0), (1, Side::Internet));
    let error = with(bare(&out[0].1), |p| p[4..6].fill(0));
    assert_eq!(error, hex(FRAGMENTATION_NEEDED));
}

#[test]
fn the_page_shows_these_octets() {
    let page = include_str!("../../../../docs/technologies/lw4o6.md");
    for line in FROM_INTERNET.lines().chain(INTO_TUNNEL.lines()) {
        assert!(page.contains(line.trim()), "{line}");
    }
}
