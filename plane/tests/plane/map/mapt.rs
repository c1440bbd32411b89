//! MAP-T (RFC 7599): border relay and customer's edge over the translator, one test a rule.

use crate::each_device::tells_no_sender_of_less_than_1280;
use crate::map::bed::*;
use crate::map::rules::p6;
use plane::Side;
use plane::map::{Domain, MapTBr, MapTCe, RoleError};
use plane::translate::{Config, Hairpinning, Pref64, Translate};
use std::sync::Arc;
use testbed::packets;

/// MAP address of appendix A, and the addresses of 10.2.3.4 and 192.0.2.99 under its default rule.
pub(super) const CE: &str = "2001:db8:12:3400:0:c000:212:34";
const REMOTE: &str = "2001:db8:ffff:0:a:203:400::";

fn dmr() -> Pref64 {
    Pref64::new(p6("2001:db8:ffff::/64"), false).unwrap()
}

fn br() -> Bed<Translate<MapTBr>> {
    br_with_mtu(1500)
}

fn br_with_mtu(mtu: u16) -> Bed<Translate<MapTBr>> {
    let mut config = br_config();
    config.v4.mtu = mtu;
    bed(Translate::new(config, relay()).unwrap(), Side::Customer)
}

pub(super) fn br_config() -> Config {
    Config::new(Side::Customer, v4_side(), v6_side())
}

pub(super) fn relay() -> MapTBr {
    MapTBr::new(Arc::new(domain()), dmr()).unwrap()
}

pub(super) fn ce(mesh: bool) -> Bed<Translate<MapTCe>> {
    let config = Config::new(Side::Internet, v4_side(), v6_side());
    let mesh = if mesh { domain() } else { Domain::new(Vec::new()).unwrap() };
    let addressing = MapTCe::new(customer(&domain(), "2001:db8:12:3400::/56"), dmr(), Arc::new(mesh)).unwrap();
    bed(Translate::new(config, addressing).unwrap(), Side::Internet)
}

/// Appendix A, example 2, as octets. Made with scapy 2.8.0: `Ether()/IP(src="10.2.3.4", dst="192.0.2.18", ttl=64,
/// tos=0x20, id=0x1234, flags="DF")/TCP(sport=80, dport=1232, seq=1000, ack=2000, flags="PA", window=4096)/b"MAP-T!"`, and
/// `Ether()/IPv6(src="2001:db8:ffff:0:a:203:400:0", dst="2001:db8:12:3400:0:c000:212:34", hlim=63, tc=0x20)` before the
/// same.
#[test]
fn golden_appendix_a_example_2() {
    let into = hex("02000000010102000000010208004520002e123440004006595e0a020304c0000212005004d0000003e8000007d05018
         1000ce4600004d41502d5421");
    let out = hex("02000000000202000000000186dd62000000001a063f20010db8ffff0000000a02030400000020010db8001234000000
         c00002120034005004d0000003e8000007d050181000458700004d41502d5421");
    assert_eq!(br().pass(false, &into), out);
}

/// Appendix A, example 3, the way back, as octets; made with scapy 2.8.0 in the same way, 1241 octets of payload so that
/// the IPv4 packet must not be fragmented (RFC 7915, section 5.1). Identification, which anything may be, and with it
/// the header checksum are left out.
#[test]
fn golden_appendix_a_example_3() {
    let payload = [b'x'; 1241];
    let into = hex("02000000000102000000000286dd6000000004ed064020010db8001234000000c0000212003420010db8ffff0000000a
         02030400000004d00050000007d0000003ee50101000f6810000");
    let out =
        hex("020000000102020000000101080045000501000040003f0667dfc00002120a02030404d00050000007d0000003ee50101000
         7f410000");
    let mut got = br().pass(true, &[into, payload.to_vec()].concat());
    got[18..20].copy_from_slice(&out[18..20]);
    got[24..26].copy_from_slice(&out[24..26]);
    assert_eq!(got, [out, payload.to_vec()].concat());
}

#[test]
fn rfc7915_5_1_no_sender_is_told_of_less_than_1280() {
    tells_no_sender_of_less_than_1280(br_with_mtu, |b, payload| {
        b.send(true, &packets::udp_with((CE, 1232), (REMOTE, 80), 64, payload))
    });
}

#[test]
fn rfc7599_8_4_the_relay_finds_the_customer_by_address_and_port() {
    let mut b = br();
    for (to, six) in [
        (("192.0.2.18", 1232), CE),
        // A rule prefix that is no multiple of eight: where a peer (VPP) loses most customers.
        (("203.0.113.35", 24_576), "2001:db8:ce00:11b:0:cb00:7123:3"),
        (("203.0.113.255", 65_535), "2001:db8:ce00:7ff:0:cb00:71ff:7"),
        // A customer with a prefix: the address is kept whole.
        (("198.18.7.77", 80), "2001:db8:dd07:0:0:c612:74d:0"),
    ] {
        let seen = judge(&b.pass(false, &udp4(("10.2.3.4", 80), to)));
        assert_eq!((seen.src, seen.dst, seen.ports, seen.hops), (ip(REMOTE), ip(six), (80, to.1), 63));
        let back = judge(&b.pass(true, &udp6((six, to.1), (REMOTE, 80))));
        assert_eq!((back.src, back.dst, back.ports), (ip(to.0), ip("10.2.3.4"), (to.1, 80)));
    }
    b.ended(false, &udp4(("10.2.3.4", 80), ("192.0.2.18", 1023)), "outside-port-set");
    b.ended(false, &udp4(("10.2.3.4", 80), ("192.0.3.18", 1232)), "destination-unmapped");
}

/// RFC 7599, section 8.3: address and port of the source must be the customer's; the answer has type 1, code 5.
#[test]
fn rfc7599_8_3_the_relay_checks_the_source() {
    let mut b = br();
    let answer = b.ended(true, &udp6((CE, 1236), (REMOTE, 80)), "spoofed-source").unwrap();
    assert_eq!((judge(&answer).icmp, judge(&answer).dst), (Some((1, 5)), ip(CE)));
    b.ended(true, &udp6((CE, 80), (REMOTE, 80)), "spoofed-source");
    for wrong in [
        "2001:db8:12:3400:0:c000:213:34",
        "2001:db8:12:3400:0:c000:212:35",
        "2001:db8:12:3400:1:c000:212:34",
        "2001:db8:12:3401:0:c000:212:34",
        "2001:db8:12:3500:0:c000:212:34",
    ] {
        b.ended(true, &udp6((wrong, 1232), (REMOTE, 80)), "spoofed-source");
    }
    b.ended(true, &udp6(("2001:db9:12:3400:0:c000:212:34", 1232), (REMOTE, 80)), "source-unmapped");
    b.ended(true, &udp6((CE, 1232), ("2001:db8:fffd:0:a:203:400::", 80)), "destination-unmapped");
}

/// RFC 7599, section 9: identifiers stand for ports.
#[test]
fn rfc7599_9_icmp_by_identifier() {
    let mut b = br();
    let out = judge(&b.pass(true, &echo(CE, REMOTE, 1232, false)));
    assert_eq!((out.src, out.icmp, out.ports.0), (ip("192.0.2.18"), Some((8, 0)), 1232));
    let back = judge(&b.pass(false, &echo("10.2.3.4", "192.0.2.18", 1232, true)));
    assert_eq!((back.dst, back.icmp, back.ports.0), (ip(CE), Some((129, 0)), 1232));
    assert_eq!(judge(&b.pass(false, &echo("10.2.3.4", "192.0.2.18", 1233, false))).dst, ip(CE));
    b.ended(true, &echo(CE, REMOTE, 5, false), "spoofed-source");
}

/// RFC 7599, section 9 with RFC 7915: errors by the packet that they quote.
#[test]
fn rfc7599_9_icmp_errors_by_the_quoted_packet() {
    let mut b = br();
    let sent = b.pass(true, &udp6((CE, 1232), (REMOTE, 80)));
    let seen = judge(&b.pass(false, &unreachable("10.2.3.4", "192.0.2.18", &sent)));
    assert_eq!((seen.src, seen.dst, seen.icmp), (ip(REMOTE), ip(CE), Some((1, 4))));
    let sent = b.pass(false, &udp4(("10.2.3.4", 80), ("192.0.2.18", 1232)));
    let seen = judge(&b.pass(true, &unreachable(CE, REMOTE, &sent)));
    assert_eq!((seen.src, seen.dst, seen.icmp), (ip("192.0.2.18"), ip("10.2.3.4"), Some((3, 3))));
    // A router on the way has no IPv4 address: the relay's own stands for it (RFC 6791).
    let seen = judge(&b.pass(true, &unreachable("2001:db8:fffc::1", REMOTE, &sent)));
    assert_eq!(seen.src, ip("198.51.100.254"));
}

/// RFC 7599, sections 8.3 and 9: a customer speaks of its own packets only, and from its own address; routers of no rule may speak of all.
#[test]
fn rfc7599_8_3_errors_about_other_customers_are_not_believed() {
    let mut b = br();
    let sent = b.pass(false, &udp4(("10.2.3.4", 80), ("192.0.2.18", 1232)));
    // A customer that shares the address, one with its own address, and an address of no customer in the customer's
    // prefix.
    for from in [NEIGHBOUR, SHARING, WHOLE, "2001:db8:12:3400::1", "2001:db8:12:3401:0:c000:212:34"] {
        let answer = b.ended(true, &unreachable(from, REMOTE, &sent), "spoofed-source");
        assert_eq!(answer, None, "no errors about errors");
    }
    b.pass(true, &unreachable(CE, REMOTE, &sent));
    b.pass(true, &unreachable("2001:db8:fffc::1", REMOTE, &sent));
    // The same identifier at another address.
    let other = b.pass(false, &udp4(("10.2.3.4", 80), ("192.0.2.19", 1232)));
    b.ended(true, &unreachable(CE, REMOTE, &other), "spoofed-source");
    // All addresses of a customer with a prefix are its own.
    let whole = b.pass(false, &udp4(("10.2.3.4", 80), ("198.18.7.77", 80)));
    let seen = judge(&b.pass(true, &unreachable("2001:db8:dd07:0:0:c612:701:0", REMOTE, &whole)));
    assert_eq!(seen.src, ip("198.18.7.1"));
}

/// RFC 7597, section 8.1, and RFC 7599, section 8.3: of who shares an address only what shows a port can be checked.
#[test]
fn rfc7599_8_3_protocols_without_ports_need_an_address_of_ones_own() {
    let mut b = br();
    let sctp = |from: &str| {
        let mut f = udp6((from, 1232), (REMOTE, 80));
        f[20] = 132;
        f
    };
    for from in [CE, SHARING] {
        assert_eq!(b.ended(true, &sctp(from), "protocol"), None);
    }
    assert_eq!(judge(&b.pass(true, &sctp(WHOLE))).src, ip("198.18.7.77"));
}

#[test]
fn rfc7599_8_1_the_edge_sends_by_the_default_rule() {
    let mut c = ce(false);
    let seen = judge(&c.pass(false, &udp4(("192.0.2.18", 1232), ("10.2.3.4", 80))));
    assert_eq!((seen.src, seen.dst, seen.ports), (ip(CE), ip(REMOTE), (1232, 80)));
    let other = judge(&c.pass(false, &udp4(("192.0.2.18", 1232), ("203.0.113.35", 24_576))));
    assert_eq!(other.dst, ip("2001:db8:ffff:0:cb:71:2300::"), "hub and spoke: other customers by the relay");
    c.ended(false, &udp4(("192.0.2.18", 1236), ("10.2.3.4", 80)), "spoofed-source");
    c.ended(false, &udp4(("192.0.2.19", 1232), ("10.2.3.4", 80)), "spoofed-source");
}

#[test]
fn rfc7599_8_1_mesh_mode_sends_to_other_customers_directly() {
    let mut c = ce(true);
    let dst = |c: &mut Bed<Translate<MapTCe>>, to| judge(&c.pass(false, &udp4(("192.0.2.18", 1232), to))).dst;
    assert_eq!(dst(&mut c, ("203.0.113.35", 24_576)), ip("2001:db8:ce00:11b:0:cb00:7123:3"));
    assert_eq!(
        dst(&mut c, ("192.0.2.18", 1236)),
        ip("2001:db8:12:3500:0:c000:212:35"),
        "the same address, another PSID"
    );
    assert_eq!(dst(&mut c, ("10.2.3.4", 80)), ip(REMOTE));
    c.ended(false, &udp4(("192.0.2.18", 1232), ("192.0.2.19", 80)), "outside-port-set");
}

#[test]
fn rfc7599_8_2_the_edge_checks_both_ends() {
    let mut c = ce(true);
    let seen = judge(&c.pass(true, &udp6((REMOTE, 80), (CE, 1232))));
    assert_eq!((seen.src, seen.dst), (ip("10.2.3.4"), ip("192.0.2.18")));
    let peer = "2001:db8:ce00:11b:0:cb00:7123:3";
    assert_eq!(judge(&c.pass(true, &udp6((peer, 24_576), (CE, 1232)))).src, ip("203.0.113.35"));
    let silent = |c: &mut Bed<Translate<MapTCe>>, frame: &[u8], why| {
        assert_eq!(c.ended(true, frame, why), None, "nonconforming packets are dropped silently");
    };
    silent(&mut c, &udp6((REMOTE, 80), (CE, 1236)), "outside-port-set");
    silent(&mut c, &udp6((peer, 24_576), (CE, 1236)), "outside-port-set");
    silent(&mut c, &udp6((REMOTE, 80), ("2001:db8:12:3400:0:c000:213:34", 1232)), "destination-unmapped");
    silent(&mut c, &udp6(("2001:db9::1", 80), (CE, 1232)), "source-unmapped");
    silent(&mut ce(false), &udp6((peer, 24_576), (CE, 1232)), "source-unmapped");
    let answer = c.ended(true, &udp6((peer, 80), (CE, 1232)), "spoofed-source").unwrap();
    assert_eq!(judge(&answer).icmp, Some((1, 5)));
}

#[test]
fn an_edge_and_a_relay_are_each_others_inverse() {
    let (mut edge, mut relay) = (ce(false), br());
    for port in [1232, 1235, 2256, 64_723] {
        let six = edge.pass(false, &udp4(("192.0.2.18", port), ("10.2.3.4", 80)));
        let seen = judge(&relay.pass(true, &turn(&six)));
        assert_eq!((seen.src, seen.dst, seen.ports), (ip("192.0.2.18"), ip("10.2.3.4"), (port, 80)));
        let six = relay.pass(false, &udp4(("10.2.3.4", 80), ("192.0.2.18", port)));
        let seen = judge(&edge.pass(true, &turn(&six)));
        assert_eq!((seen.src, seen.dst, seen.ports), (ip("10.2.3.4"), ip("192.0.2.18"), (80, port)));
    }
}

/// Customers at 192.0.2.18 (another PSID), 203.0.113.35 and 198.18.7.77, and how these addresses look by the default rule.
const NEIGHBOUR: &str = "2001:db8:12:3500:0:c000:212:35";
const SHARING: &str = "2001:db8:ce00:11b:0:cb00:7123:3";
const WHOLE: &str = "2001:db8:dd07:0:0:c612:74d:0";
const BY_DEFAULT: [&str; 3] =
    ["2001:db8:ffff:0:c0:2:1200::", "2001:db8:ffff:0:cb:71:2300::", "2001:db8:ffff:0:c6:1207:4d00::"];

/// Send a frame from one customer to another by way of the relay.
fn hairpin(b: &mut Bed<Translate<MapTBr>>, frame: &[u8]) -> Vec<u8> {
    let [(true, out)] = &b.send(true, frame)[..] else { panic!("not turned round: {:?}", b.nonzero()) };
    out.clone()
}

/// RFC 7599, sections 8.2 to 8.4 together: in hub-and-spoke mode the other customer takes only what comes by the default
/// rule.
#[test]
fn from_one_customer_to_another_and_back() {
    let mut b = br();
    for (to, port, six) in [(0, 1236, NEIGHBOUR), (1, 24_576, SHARING), (2, 80, WHOLE)] {
        let there = judge(&hairpin(&mut b, &udp6((CE, 1232), (BY_DEFAULT[to], port))));
        assert_eq!((there.src, there.dst, there.ports), (ip(BY_DEFAULT[0]), ip(six), (1232, port)));
        assert_eq!(there.hops, 63, "one hop, as through any router");
        let back = hairpin(&mut b, &udp6((six, port), (BY_DEFAULT[0], 1232)));
        assert_eq!((judge(&back).src, judge(&back).dst), (ip(BY_DEFAULT[to]), ip(CE)));
        let arrived = judge(&ce(false).pass(true, &turn(&back)));
        assert_eq!((arrived.dst, arrived.ports), (ip("192.0.2.18"), (port, 1232)));
    }
    assert_eq!((b.count("hairpinned"), b.count("ipv6-to-ipv4"), b.count("ipv4-to-ipv6")), (6, 0, 0));
}

#[test]
fn between_customers_icmp_takes_the_same_way() {
    let mut b = br();
    let ping = judge(&hairpin(&mut b, &echo(CE, BY_DEFAULT[2], 1232, false)));
    assert_eq!((ping.src, ping.dst, ping.icmp), (ip(BY_DEFAULT[0]), ip(WHOLE), Some((128, 0))));
    let there = hairpin(&mut b, &udp6((CE, 1232), (BY_DEFAULT[1], 24_576)));
    let error = judge(&hairpin(&mut b, &unreachable(SHARING, BY_DEFAULT[0], &there)));
    assert_eq!((error.src, error.dst, error.icmp), (ip(BY_DEFAULT[1]), ip(CE), Some((1, 4))));
    assert_eq!(error.hops, 63);
}

#[test]
fn between_customers_both_ends_are_checked() {
    let mut b = br();
    let silent = b.ended(true, &udp6((CE, 1232), (BY_DEFAULT[0], 1023)), "outside-port-set");
    assert_eq!(silent, None, "a port of no customer");
    b.ended(true, &udp6((CE, 1236), (BY_DEFAULT[1], 24_576)), "spoofed-source");
    let mut last = udp6((CE, 1232), (BY_DEFAULT[1], 24_576));
    last[21] = 1;
    assert_eq!(judge(&b.ended(true, &last, "hop-limit-expired").unwrap()).icmp, Some((3, 0)));
}

#[test]
fn a_relay_that_does_not_turn_round_leaves_it_to_the_next_router() {
    let config = Config { hairpinning: Hairpinning::Off, ..br_config() };
    let mut b = bed(Translate::new(config, relay()).unwrap(), Side::Customer);
    let seen = judge(&b.pass(true, &udp6((CE, 1232), (BY_DEFAULT[1], 24_576))));
    assert_eq!((seen.src, seen.dst), (ip("192.0.2.18"), ip("203.0.113.35")));
}

#[test]
fn a_default_rule_among_the_customers_is_refused() {
    let inside = Pref64::new(p6("2001:db8:12:3400::/64"), false).unwrap();
    assert!(matches!(MapTBr::new(Arc::new(domain()), inside), Err(RoleError::RelayInRule { .. })));
    let no_rules = Arc::new(Domain::new(Vec::new()).unwrap());
    let e = MapTCe::new(customer(&domain(), "2001:db8:12:3400::/56"), inside, no_rules).unwrap_err();
    assert!(matches!(e, RoleError::RelayInCustomer { .. }), "{e}");
}
