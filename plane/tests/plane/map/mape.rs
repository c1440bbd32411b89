//! MAP-E (RFC 7597): border relay and customer's edge over the tunnel, one test a rule.

use crate::each_device::fragments_reassembled_packets_in_order;
use crate::map::bed::*;
use crate::map::rules::v6;
use plane::Side;
use plane::map::{Domain, MapEBr, MapECe, RoleError};
use plane::tunnel::{Config, Tunnel};
use std::sync::Arc;
use testbed::packets;
use testbed::prelude::{fragments, reseal};

/// MAP address of appendix A, another customer's, and the relay's.
const CE: &str = "2001:db8:12:3400:0:c000:212:34";
const PEER: &str = "2001:db8:ce00:11b:0:cb00:7123:3";
const RELAY: &str = "2001:db8:ffff::1";

fn br() -> Bed<Tunnel<MapEBr>> {
    br_with_mtu(1500)
}

fn br_with_mtu(mtu: u16) -> Bed<Tunnel<MapEBr>> {
    let mut config = Config::new(Side::Customer, v4_side(), v6_side());
    config.v4.mtu = mtu;
    let softwires = MapEBr::new(Arc::new(domain()), v6(RELAY)).unwrap();
    bed(Tunnel::new(config, softwires, 0, 1, 1).unwrap(), Side::Customer)
}

fn ce(mesh: bool) -> Bed<Tunnel<MapECe>> {
    let config = Config::new(Side::Internet, v4_side(), v6_side());
    let mesh = if mesh { domain() } else { Domain::new(Vec::new()).unwrap() };
    let softwires = MapECe::new(customer(&domain(), "2001:db8:12:3400::/56"), v6(RELAY), Arc::new(mesh)).unwrap();
    bed(Tunnel::new(config, softwires, 0, 1, 1).unwrap(), Side::Internet)
}

/// Appendix A, example 2, as octets, encapsulated and, in the other direction, decapsulated. Made with scapy 2.8.0:
/// `IP(src="10.2.3.4", dst="192.0.2.18", ttl=63, id=0x1234)/UDP(sport=80, dport=1232)/b"MAP-E, RFC 7597"` behind
/// `Ether()/IPv6(src="2001:db8:ffff::1", dst="2001:db8:12:3400:0:c000:212:34", hlim=64, nh=4)`; the other packets alike.
#[test]
fn golden_appendix_a_example_2() {
    let into = hex("02000000010102000000010208004500002b12340000401199760a020304c0000212005004d0001755e74d41502d452c
         205246432037353937");
    let out = hex("02000000000202000000000186dd60000000002b044020010db8ffff0000000000000000000120010db8001234000000
         c000021200344500002b123400003f119a760a020304c0000212005004d0001755e74d41502d452c2052464320373539
         37");
    assert_eq!(br().pass(false, &into), out);
    let into = hex("02000000000102000000000286dd60000000002b044020010db8001234000000c0000212003420010db8ffff00000000
         0000000000014500002b4321000040116889c00002120a02030404d00050001755e74d41502d452c2052464320373539
         37");
    let out = hex("02000000010202000000010108004500002b432100003f116989c00002120a02030404d00050001755e74d41502d452c
         205246432037353937");
    let got = br().pass(true, &into);
    assert_eq!(got[..out.len()], out);
    assert!(got[out.len()..].iter().all(|&b| b == 0), "no more than padding behind");
}

#[test]
fn reassembled_packets_are_fragmented_in_order() {
    let mut b = br_with_mtu(1000);
    let udp = V4.arriving(&packets::udp_with(("192.0.2.18", 1232), ("10.2.3.4", 80), 64, &[7; 2400]));
    fragments_reassembled_packets_in_order(&in_tunnel(CE, RELAY, &udp), |frames| {
        b.send_all(true, frames).into_iter().map(|(_, f)| f).collect()
    });
}

#[test]
fn rfc7597_8_1_the_relay_finds_the_customer_by_address_and_port() {
    let mut b = br();
    for (to, six) in [
        (("192.0.2.18", 1232), CE),
        (("203.0.113.35", 24_576), PEER),
        (("203.0.113.255", 65_535), "2001:db8:ce00:7ff:0:cb00:71ff:7"),
        // A customer with a prefix: the end of its tunnel has the prefix padded with zeros (section 6).
        (("198.18.7.0", 80), "2001:db8:dd07:0:0:c612:700:0"),
    ] {
        let seen = judge(&b.pass(false, &udp4(("10.2.3.4", 80), to)));
        let inside = seen.inside.unwrap();
        assert_eq!((seen.src, seen.dst), (ip(RELAY), ip(six)));
        assert_eq!((inside.dst, inside.ports, inside.hops), (ip(to.0), (80, to.1), 63));
        let back = in_tunnel(six, RELAY, &udp4(to, ("10.2.3.4", 80)));
        let seen = judge(&b.pass(true, &back));
        assert_eq!((seen.src, seen.dst, seen.ports), (ip(to.0), ip("10.2.3.4"), (to.1, 80)));
    }
    b.ended(false, &udp4(("10.2.3.4", 80), ("192.0.2.18", 1023)), "outside-port-set");
    b.ended(false, &udp4(("10.2.3.4", 80), ("192.0.3.18", 1232)), "destination-unmapped");
}

/// RFC 7597, section 8.1: the address outside must be that of the customer which address and port inside belong to.
#[test]
fn rfc7597_8_1_the_relay_checks_the_source() {
    let mut b = br();
    let from = |six: &str, four| in_tunnel(six, RELAY, &udp4(four, ("10.2.3.4", 80)));
    let answer = b.ended(true, &from(CE, ("192.0.2.18", 1236)), "spoofed-source").unwrap();
    assert_eq!((judge(&answer).icmp, judge(&answer).dst), (Some((1, 5)), ip(CE)));
    b.ended(true, &from(CE, ("192.0.2.19", 1232)), "spoofed-source");
    b.ended(true, &from(CE, ("198.18.7.7", 1232)), "spoofed-source");
    b.ended(true, &from(CE, ("8.8.8.8", 1232)), "spoofed-source");
    b.ended(true, &from("2001:db8:12:3400:0:c000:212:35", ("192.0.2.18", 1232)), "spoofed-source");
    b.ended(true, &from("2001:db8:12:3401:0:c000:212:34", ("192.0.2.18", 1232)), "spoofed-source");
    b.ended(true, &from("2001:db9::1", ("192.0.2.18", 1232)), "unknown-softwire");
}

/// RFC 7597, section 8.1: of who shares an address only what shows a port can be checked, in fragments, too.
#[test]
fn rfc7597_8_1_protocols_without_ports_need_an_address_of_ones_own() {
    let mut b = br();
    let (shared, whole) = (("192.0.2.18", 1232), ("198.18.7.7", 1232));
    let as_protocol = |number: u8, from, fragment: u16| {
        let mut f = udp4(from, ("10.2.3.4", 80));
        f[23] = number;
        f[20..22].copy_from_slice(&fragment.to_be_bytes());
        reseal(&mut f);
        f
    };
    for fragment in [0, 0x2000, 2] {
        let answer = b.ended(true, &in_tunnel(CE, RELAY, &as_protocol(132, shared, fragment)), "protocol").unwrap();
        assert_eq!((judge(&answer).icmp, judge(&answer).dst), (Some((1, 5)), ip(CE)));
        b.pass(true, &in_tunnel("2001:db8:dd07:0:0:c612:700:0", RELAY, &as_protocol(132, whole, fragment)));
    }
    // Later fragments of UDP follow their address.
    b.pass(true, &in_tunnel(CE, RELAY, &as_protocol(17, shared, 2)));
}

/// RFC 7597, section 8.2: identifiers stand for ports, and errors go by the packet that they quote.
#[test]
fn rfc7597_8_2_icmp() {
    let mut b = br();
    let out = judge(&b.pass(true, &in_tunnel(CE, RELAY, &echo("192.0.2.18", "10.2.3.4", 1232, false))));
    assert_eq!((out.src, out.ports.0), (ip("192.0.2.18"), 1232));
    let back = judge(&b.pass(false, &echo("10.2.3.4", "192.0.2.18", 1232, true)));
    assert_eq!(back.dst, ip(CE));
    let sent = b.pass(true, &in_tunnel(CE, RELAY, &udp4(("192.0.2.18", 1232), ("10.2.3.4", 80))));
    let seen = judge(&b.pass(false, &unreachable("10.9.9.9", "192.0.2.18", &sent)));
    assert_eq!((seen.dst, seen.inside.unwrap().icmp), (ip(CE), Some((3, 3))));
}

/// RFC 7597, section 8.3.2: only the first fragment shows the port; the others follow it, and wait for it.
#[test]
fn rfc7597_8_3_2_fragments_follow_the_first() {
    let whole = udp4(("10.2.3.4", 80), ("192.0.2.18", 1232));
    let parts = fragments(&whole, &[16], 0);
    let mut b = br();
    for p in &parts {
        assert_eq!(judge(&b.pass(false, p)).dst, ip(CE));
    }
    let mut b = br();
    assert!(b.send(false, &parts[1]).is_empty());
    let out = b.send(false, &parts[0]);
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|(six, f)| *six && judge(f).dst == ip(CE)));
}

/// RFC 7597, section 8: between customers by way of the relay.
#[test]
fn the_relay_turns_round_what_goes_to_another_customer() {
    let mut b = br();
    let frame = in_tunnel(CE, RELAY, &udp4(("192.0.2.18", 1232), ("203.0.113.35", 24_576)));
    let out = b.send(true, &frame);
    assert_eq!((out.len(), out[0].0), (1, true));
    let seen = judge(&out[0].1);
    assert_eq!((seen.src, seen.dst, seen.inside.unwrap().src), (ip(RELAY), ip(PEER), ip("192.0.2.18")));
    assert_eq!(b.count("hairpinned"), 1);
}

#[test]
fn rfc7597_8_1_the_edge_sends_to_the_relay() {
    let mut c = ce(false);
    let seen = judge(&c.pass(false, &udp4(("192.0.2.18", 1232), ("203.0.113.35", 24_576))));
    assert_eq!((seen.src, seen.dst), (ip(CE), ip(RELAY)), "hub and spoke: other customers too");
    c.ended(false, &udp4(("192.0.2.18", 1236), ("10.2.3.4", 80)), "spoofed-source");
    c.ended(false, &udp4(("192.0.2.19", 1232), ("10.2.3.4", 80)), "spoofed-source");
}

#[test]
fn rfc7597_8_1_mesh_mode_sends_to_other_customers_directly() {
    let mut c = ce(true);
    let dst = |c: &mut Bed<Tunnel<MapECe>>, to| judge(&c.pass(false, &udp4(("192.0.2.18", 1232), to))).dst;
    assert_eq!(dst(&mut c, ("203.0.113.35", 24_576)), ip(PEER));
    assert_eq!(dst(&mut c, ("198.18.7.77", 80)), ip("2001:db8:dd07:0:0:c612:700:0"));
    assert_eq!(dst(&mut c, ("192.0.2.18", 1236)), ip("2001:db8:12:3500:0:c000:212:35"));
    assert_eq!(dst(&mut c, ("10.2.3.4", 80)), ip(RELAY));
}

#[test]
fn rfc7597_8_1_the_edge_checks_both_ends() {
    let to_me = |six: &str, four, port| in_tunnel(six, CE, &udp4(four, ("192.0.2.18", port)));
    let mut c = ce(true);
    let seen = judge(&c.pass(true, &to_me(RELAY, ("10.2.3.4", 80), 1232)));
    assert_eq!((seen.src, seen.dst, seen.ports), (ip("10.2.3.4"), ip("192.0.2.18"), (80, 1232)));
    c.pass(true, &to_me(PEER, ("203.0.113.35", 24_576), 1232));
    c.ended(true, &to_me(PEER, ("203.0.113.35", 80), 1232), "spoofed-source");
    c.ended(true, &to_me(RELAY, ("10.2.3.4", 80), 1236), "outside-port-set");
    c.ended(true, &to_me("2001:db9::1", ("10.2.3.4", 80), 1232), "unknown-softwire");
    ce(false).ended(true, &to_me(PEER, ("203.0.113.35", 24_576), 1232), "unknown-softwire");
}

#[test]
fn a_relay_among_the_customers_is_refused() {
    let e = MapEBr::new(Arc::new(domain()), v6("2001:db8:12::1")).unwrap_err();
    assert!(matches!(e, RoleError::RelayInRule { .. }), "{e}");
    let no_rules = Arc::new(Domain::new(Vec::new()).unwrap());
    let e = MapECe::new(customer(&domain(), "2001:db8:12:3400::/56"), v6("2001:db8:12:34ff::1"), no_rules).unwrap_err();
    assert!(matches!(e, RoleError::RelayInCustomer { .. }), "{e}");
}
