//! A NAT66 leaves every octet but addresses, ports, checksum and hop limit.

use crate::natxy::bench::*;
use testbed::prelude::*;

/// Check that two IPv6 frames differ only in the Ethernet addresses, the hop limit (by exactly one), one address (at
/// `address`) and these octets.
#[track_caller]
fn differ_only(before: &[u8], after: &[u8], address: usize, more: &[usize]) {
    assert_eq!(before.len(), after.len());
    assert_eq!(before[21], after[21] + 1, "one hop less");
    for (i, (b, a)) in before.iter().zip(after).enumerate() {
        let may = i < 12 || i == 21 || (address..address + 16).contains(&i) || more.contains(&i);
        assert!(may || b == a, "octet {i}: {b:02x} became {a:02x}");
    }
}

fn labelled(mut frame: Vec<u8>) -> Vec<u8> {
    frame[14..18].copy_from_slice(&[0x6a, 0x51, 0x23, 0x45]);
    frame
}

#[test]
fn udp_both_ways() {
    let mut g = nat66(&config());
    let sent = labelled(udp((A, 5001), (REMOTE, 80)));
    let out = g.out(&sent);
    differ_only(&sent, &out, 22, &[54, 55, 60, 61]);
    let seen = judge(&out);
    assert_eq!((seen.from.0, seen.to), (POOL, (REMOTE, 80)));
    let answer = labelled(udp((REMOTE, 80), seen.from));
    let back = g.back(&answer);
    differ_only(&answer, &back, 38, &[56, 57, 60, 61]);
    assert_eq!(judge(&back).to, (A, 5001));
}

#[test]
fn tcp_with_options() {
    let mut g = nat66(&config());
    let mut frame = Vec::new();
    let options = [
        etherparse::TcpOptionElement::MaximumSegmentSize(1440),
        etherparse::TcpOptionElement::SelectiveAcknowledgementPermitted,
    ];
    let t = etherparse::PacketBuilder::ethernet2(CUSTOMER_HOP, CUSTOMER_MAC).ipv6(v6(A), v6(REMOTE), 64);
    t.tcp(5000, 80, 9, 1000).syn().options(&options).unwrap().write(&mut frame, b"").unwrap();
    let out = g.out(&frame);
    differ_only(&frame, &out, 22, &[54, 55, 70, 71]);
    judge(&out);
}

#[test]
fn echo_both_ways() {
    let mut g = nat66(&config());
    let sent = labelled(echo(A, REMOTE, 77, true));
    let out = g.out(&sent);
    differ_only(&sent, &out, 22, &[56, 57, 58, 59]);
    let id = judge(&out).from.1;
    let answer = echo(REMOTE, POOL, id, false);
    let back = g.back(&answer);
    differ_only(&answer, &back, 38, &[56, 57, 58, 59]);
    assert_eq!(judge(&back).to, (A, 77));
}

/// Hop-by-hop and destination options pass, and the transport header behind them is found.
#[test]
fn extension_headers() {
    let mut g = nat66(&config());
    let plain = udp((A, 5001), (REMOTE, 80));
    let options = [60, 0, 5, 2, 0, 0, 1, 0, 17, 0, 1, 4, 0, 0, 0, 0];
    let mut frame = [&plain[..54], &options, &plain[54..]].concat();
    frame[20] = 0;
    let len = u16::from_be_bytes([frame[18], frame[19]]) + 16;
    frame[18..20].copy_from_slice(&len.to_be_bytes());
    let out = g.out(&frame);
    differ_only(&frame, &out, 22, &[70, 71, 76, 77]);
    let mut bare = [&out[..20], &[17], &out[21..54], &out[70..]].concat();
    bare[18..20].copy_from_slice(&plain[18..20]);
    assert_eq!(judge(&bare).to, (REMOTE, 80), "the checksum is right");
}

/// RFC 8200, section 8.1, and RFC 6936 allow it between the ends of some tunnels.
#[test]
fn udp_without_checksum_stays_without() {
    let mut g = nat66(&config());
    let mut frame = udp((A, 5000), (REMOTE, 80));
    frame[60..62].fill(0);
    let sent = testbed::arriving(plane::Side::Customer, &frame);
    // Not through the bench, whose judge wants a checksum.
    let mut batch = [testbed::Frame::new(&sent)];
    let mut made = testbed::Outbox::new(0, 0);
    let mut verdicts = [plane::Verdict::Drop];
    let input = plane::Input::new(g.now, plane::Side::Customer, &mut batch, &mut verdicts);
    plane::Function::process(&mut g.workers[0], input, &mut made);
    assert_eq!(verdicts, [plane::Verdict::Forward(plane::Side::Internet)]);
    differ_only(&sent, plane::Packet::bytes(&batch[0]), 22, &[54, 55]);
}

/// A fragment header of a whole packet (RFC 6946) and the 32 bits of an identification stay.
#[test]
fn atomic_fragments() {
    let mut g = nat66(&config());
    let frame = &fragments(&udp((A, 5000), (REMOTE, 80)), &[], 0x89ab_cdef)[0];
    let out = g.out(frame);
    differ_only(frame, &out, 22, &[62, 63, 68, 69]);
}

/// No IPv6 router cuts (RFC 8200, section 5): what is too large is told to the sender, with the link's MTU.
#[test]
fn packets_larger_than_the_next_link() {
    let mut g = nat66_with(|c| c.internet.mtu = 1400);
    g.out(&udp_with((A, 5000), (REMOTE, 80), 64, &[0; 1352]));
    let e = g.refused(plane::Side::Customer, &udp_with((A, 5000), (REMOTE, 80), 64, &[0; 1353]), "too-big");
    assert_eq!((icmp_type(&e), &e[58..62]), ((2, 0), &1400u32.to_be_bytes()[..]));
}
