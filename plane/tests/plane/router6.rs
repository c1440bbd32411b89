//! The IPv6 router: requirements of RFC 8200, RFC 4291 and RFC 4443.

use plane::router6::{Config, Router6};
use plane::{Function, Side, Side6};
use testbed::link::{CUSTOMER, INTERNET};
use testbed::packets::{icmp, raw, udp_with};
use testbed::{Bed, Link};
use wire::Mac;

const HOST: &str = "2001:2::2";
const SERVER: &str = "2001:2:0:8000::2";
const MTU: usize = 1500;

fn side(link: Link, address: &str) -> Side6 {
    Side6 { mac: Mac(link.own), next_hop: Mac(link.hop), address: address.parse().unwrap(), mtu: MTU as u16 }
}

fn router() -> Bed<Router6> {
    let config = Config::new(side(CUSTOMER, "2001:2::1"), side(INTERNET, "2001:2:0:8000::1"));
    Bed::readdressing(vec![Router6::new(config)], [Router6::STEER; 2], [6, 6])
}

/// A datagram to the server whose payload has so many octets.
fn datagram(hops: u8, octets: usize) -> Vec<u8> {
    udp_with((HOST, 5000), (SERVER, 53), hops, &vec![7; octets])
}

#[test]
fn the_hop_limit_is_decremented_and_nothing_else_changes() {
    let mut bed = router();
    for (from, to) in [(Side::Customer, Side::Internet), (Side::Internet, Side::Customer)] {
        let sent = datagram(64, 100);
        let [(side, arrived)] = &bed.send(from, &sent)[..] else { panic!("one packet") };
        let mut expected = sent[14..].to_vec();
        expected[7] = 63;
        assert_eq!((*side, &arrived[14..]), (to, &expected[..]));
    }
    assert_eq!(bed.count("forwarded"), 2);
}

/// RFC 8200, section 4: a router looks at no extension header but the hop-by-hop options, and forwards fragments as they are.
#[test]
fn extension_headers_and_unknown_protocols_pass() {
    let mut bed = router();
    let fragment = [17, 0, 0, 8, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8];
    for (protocol, payload) in [(44, &fragment[..]), (43, &[17, 0, 4, 1, 0, 0, 0, 0]), (253, &[1, 2, 3]), (59, &[])] {
        assert_eq!(bed.send(Side::Customer, &raw(HOST, SERVER, 2, protocol, payload)).len(), 1, "protocol {protocol}");
    }
}

/// RFC 4443, sections 3.2 and 3.3: the sender is told, with as much of the packet as fits 1280 octets.
#[test]
fn the_sender_learns_why_a_packet_was_dropped() {
    let mut bed = router();
    let large = datagram(64, MTU - 47);
    let cases = [(datagram(1, 100), [3, 0], 0u32, "hop-limit-expired"), (large, [2, 0], MTU as u32, "too-big")];
    for (sent, kind, rest, counter) in cases {
        let [(side, told)] = &bed.send(Side::Customer, &sent)[..] else { panic!("one error") };
        assert_eq!(*side, Side::Customer, "back to the sender");
        assert_eq!((&told[54..56], &told[58..62]), (&kind[..], &rest.to_be_bytes()[..]));
        let quoted = &told[62..];
        assert_eq!(quoted, &sent[14..][..quoted.len()]);
        assert_eq!(told.len() - 14, (sent.len() - 14 + 48).min(1280));
        assert_eq!(bed.count(counter), 1);
    }
    assert_eq!(bed.send(Side::Customer, &datagram(64, MTU - 48)).len(), 1, "as large as the link carries");
    // No error is sent about an ICMPv6 error (RFC 4443, section 2.4 e.1), but one is sent about an echo.
    let error = icmp(HOST, SERVER, 3, 0, [0; 4], &[0; 48]);
    let echo = icmp(HOST, SERVER, 128, 0, [0, 1, 0, 1], &[0; 8]);
    for (mut packet, told) in [(error, 0), (echo, 1)] {
        packet[21] = 1;
        assert_eq!(bed.send(Side::Customer, &packet).len(), told);
    }
}

#[test]
fn errors_are_limited() {
    let mut bed = router();
    let told = (0..200).filter(|_| !bed.send(Side::Internet, &datagram(0, 10)).is_empty()).count() as u64;
    assert_eq!((told + bed.count("icmp-suppressed"), bed.count("icmp-sent")), (200, told));
    assert!((32..40).contains(&told), "{told}");
}

/// RFC 4291, sections 2.5 and 2.7; what is for the machine itself is left to it.
#[test]
fn addresses_that_no_router_forwards() {
    let mut bed = router();
    let refused = [
        (HOST, "ff0e::1", "multicast"),
        ("::1", SERVER, "martian-source"),
        ("::", SERVER, "martian-source"),
        ("ff02::1", SERVER, "martian-source"),
        ("2001:2:0:8000::1", SERVER, "martian-source"),
        (HOST, "::1", "martian-destination"),
        (HOST, "::ffff:192.0.2.1", "martian-destination"),
        ("fe80::1", SERVER, "local"),
        (HOST, "fe80::1", "local"),
        (HOST, "2001:2::1", "local"),
        (HOST, "2001:2:0:8000::1", "local"),
    ];
    for (src, dst, counter) in refused {
        let before = bed.count(counter);
        assert!(bed.send(Side::Customer, &raw(src, dst, 64, 17, &[0; 8])).is_empty(), "{src} to {dst}");
        assert_eq!(bed.count(counter), before + 1, "{src} to {dst}");
    }
    // A Neighbor Solicitation from a global address to the group of another one (RFC 4861, section 4.3).
    let solicitation = raw(HOST, "ff02::1:ff00:9", 255, 58, &[135, 0, 0, 0, 0, 0, 0, 0]);
    let before = bed.count("local");
    assert!(bed.send(Side::Customer, &solicitation).is_empty());
    assert_eq!(bed.count("local"), before + 1);
}

#[test]
fn frames_that_are_no_packets_for_it() {
    let mut bed = router();
    bed.arrive_by = None;
    let arriving = |frame: &[u8]| CUSTOMER.arriving(frame);
    let good = arriving(&datagram(64, 100));
    let with = |at: usize, octet: u8| {
        let mut frame = good.clone();
        frame[at] = octet;
        frame
    };
    let cases = [
        (good[..50].to_vec(), "short-frame"),
        (with(5, 9), "other-mac"),
        (with(14, 0x45), "bad-ip-header"),
        (with(18, 1), "bad-length"),
        (with(0, 0x33), "multicast"),
        (with(12, 8), "local"),
    ];
    for (frame, counter) in cases {
        let before = bed.count(counter);
        assert!(bed.send(Side::Customer, &frame).is_empty(), "{counter}");
        assert_eq!(bed.count(counter), before + 1, "{counter}");
    }
    // Padding behind a short packet is no part of it.
    assert_eq!(bed.send(Side::Customer, &arriving(&[&datagram(64, 1)[..], &[0; 9]].concat())).len(), 1);
}

#[test]
fn a_reload_keeps_counters() {
    let mut bed = router();
    bed.send(Side::Customer, &datagram(64, 1));
    let mut next = Router6::new(Config::new(side(CUSTOMER, "2001:2::9"), side(INTERNET, "2001:2:0:8000::9")));
    bed.workers[0].adopt(&mut next).unwrap();
    assert_eq!(bed.send(Side::Customer, &raw(HOST, "2001:2::1", 64, 253, &[0; 8])).len(), 1, "no longer its own");
    assert_eq!((bed.count("forwarded"), bed.workers[0].entries()), (2, None));
}
