//! Invalid and forged packets, and properties of all packets: no panic, bounded tables, one counter a drop, and
//! translation is reversed on the way back.

use crate::each_device::{counted, damaged};
use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::{Customer, Internet};
use plane::{Function, Side};
use proptest::prelude::*;
use std::net::IpAddr;

#[test]
fn each_fault_has_its_name() {
    let mut g = gateway(config());
    let good = udp((A, 5000), (REMOTE, 80));
    let broken = |at: usize, value: u8, right_sum: bool| {
        let mut f = good.clone();
        f[at] = value;
        if right_sum {
            reseal(&mut f);
        }
        f
    };
    let from_to = |from: IpAddr, to: IpAddr| {
        let mut f = good.clone();
        f[26..30].copy_from_slice(&v4(from));
        f[30..34].copy_from_slice(&v4(to));
        reseal(&mut f);
        f
    };
    g.dropped(Customer, &good[..13], "short-frame");
    let to_internet = |f: &[u8]| [&INTERNET_MAC[..], &INTERNET_HOP, &f[12..]].concat();
    g.dropped(Customer, &good[..20], "short-frame");
    g.dropped(Customer, &broken(5, 9, false), "other-mac");
    g.dropped(Customer, &broken(0, 3, false), "link-multicast");
    g.dropped(Customer, &broken(14, 0x65, false), "bad-ip-header");
    g.dropped(Customer, &broken(14, 0x44, false), "bad-ip-header");
    g.dropped(Customer, &broken(24, good[24] ^ 1, false), "bad-header-checksum");
    g.dropped(Customer, &broken(16, 9, true), "bad-length");
    g.dropped(Customer, &broken(17, 19, false), "bad-length");
    g.dropped(Customer, &broken(38, 1, false), "bad-length");
    g.dropped(Customer, &broken(39, 7, false), "bad-length");
    g.dropped(Customer, &broken(23, 47, true), "protocol");
    g.dropped(Customer, &from_to(ip("172.16.0.1"), REMOTE), "not-inside");
    for martian in [[0, 0, 0, 1], [127, 0, 0, 1], [169, 254, 1, 1], [224, 0, 0, 5], [240, 0, 0, 1], [255; 4]] {
        g.dropped(Customer, &from_to(martian.into(), REMOTE), "martian-source");
    }
    // The gateway's own addresses, of which one is inside: such packets leave no state and cause no ICMP error.
    for own in [ip("10.255.255.1"), ip("192.0.2.254")] {
        for to in [REMOTE, own] {
            g.dropped(Customer, &from_to(own, to), "martian-source");
            g.dropped(Internet, &to_internet(&from_to(own, to)), "martian-source");
        }
        g.dropped(Customer, &ping([10, 255, 255, 1], REMOTE, 9), "martian-source");
    }
    assert_eq!(g.entries(), (0, 0));
    g.dropped(Customer, &from_to(A, ip("224.0.0.5")), "multicast");
    for martian in [[0, 0, 0, 1], [127, 0, 0, 1], [169, 254, 1, 1], [240, 0, 0, 1], [255; 4]] {
        g.dropped(Customer, &from_to(A, martian.into()), "martian-destination");
    }
    g.dropped(Internet, &udp((REMOTE, 80), ([192, 0, 2, 99], 5000)), "not-pool");
    // From the Internet, but with an address of ours.
    let mut spoofed = udp((REMOTE, 80), (POOL, 5000));
    spoofed[26..30].copy_from_slice(&v4(POOL));
    reseal(&mut spoofed);
    g.dropped(Internet, &spoofed, "martian-source");
    g.dropped(Customer, &tcp((A, 1), (REMOTE, 2), "A"), "tcp-not-syn");
    g.dropped(Internet, &tcp((REMOTE, 2), (POOL, 1), "A"), "no-session");
    g.dropped(Customer, &pong(A, REMOTE, 1), "icmp-other");
    for route in [[131, 3, 4, 0], [137, 3, 4, 0], [7, 1, 0, 0], [7, 9, 0, 0]] {
        g.dropped(Customer, &with_options(&good, &route), "bad-ip-option");
    }
    assert_eq!(g.entries(), (0, 0), "none of it left a trace");
}

#[test]
fn what_is_not_ipv4_or_is_for_the_gateway_is_local() {
    let mut g = gateway(config());
    let mut arp = vec![0xff; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut v6 = udp((A, 1), (REMOTE, 2));
    v6[12..14].copy_from_slice(&[0x86, 0xdd]);
    let ssh = tcp((A, 5000), ([10, 255, 255, 1], 22), "S");
    for f in [arp, v6, ssh] {
        assert!(g.send(Customer, &f).is_empty());
    }
    assert_eq!(g.count("local"), 3);
}

/// RFC 6146, section 5.3, and RFC 6888, REQ-5: packets with forged sources can fill neither the table nor a customer's
/// quota.
#[test]
fn unsolicited_sessions_fill_part_of_the_table_only() {
    let mut c = config();
    c.sessions = 400;
    c.quota.sessions = Some(5);
    let mut g = gateway(c);
    let outside = g.map((A, 5000), (REMOTE, 80));
    let remote = |i: u32| (([198, 51, (100 + i / 250) as u8, (i % 250) as u8]), 80);
    for i in 0..100 {
        g.back(&udp(remote(i), outside));
    }
    for i in 100..2000 {
        g.dropped(Internet, &udp(remote(i), outside), "outside-share-full");
    }
    g.back(&udp(remote(7), outside));
    g.back(&udp((REMOTE, 80), outside));
    // The customer's quota and the table still have room.
    for port in 1..=3 {
        g.map((A, 5000), (REMOTE, 1000 + port));
    }
    for host in 0..200 {
        g.map(([10, 0, 7, host], 5000), (REMOTE, 80));
    }
    assert_eq!(g.entries().0, 304);
    // An answer makes room for the next unsolicited session, and is the last that the quota allows.
    g.out(&udp((A, 5000), remote(7)));
    g.back(&udp(remote(3000), outside));
    g.dropped(Internet, &udp(remote(3001), outside), "outside-share-full");
    g.refused(Customer, &udp((A, 5000), remote(8)), "quota");
    // Unanswered sessions time out like all others.
    g.wait(400);
    g.idle(100);
    assert_eq!(g.entries(), (0, 0));
    let outside = g.map((A, 5000), (REMOTE, 80));
    g.back(&udp(remote(1), outside));
}

#[test]
fn a_reset_is_no_answer() {
    let mut g = gateway_with(|c| c.sessions = 4);
    let outside = judge(&g.out(&tcp((A, 5000), (REMOTE, 80), "S"))).from;
    g.back(&tcp((OTHER, 1), outside, "S"));
    g.out(&tcp((A, 5000), (OTHER, 1), "RA"));
    g.dropped(Internet, &tcp((OTHER, 2), outside, "S"), "outside-share-full");
    g.out(&tcp((A, 5000), (OTHER, 1), "SA"));
    g.back(&tcp((OTHER, 2), outside, "S"));
}

#[test]
fn options_and_padding_pass() {
    let mut g = gateway(config());
    let good = udp((A, 5000), (REMOTE, 80));
    let out = g.out(&with_options(&good, &[7, 7, 4, 0, 0, 0, 0, 0]));
    assert_eq!(&out[34..42], &[7, 7, 4, 0, 0, 0, 0, 0]);
    let outside = judge(&out).from;
    let mut padded = udp_with((REMOTE, 80), outside, 64, b"");
    padded.resize(60, 0xaa);
    let back = g.back(&padded);
    assert_eq!((back.len(), &back[42..]), (60, &[0xaa; 18][..]), "Ethernet padding is left alone");
}

#[test]
fn tiny_fragments_are_dropped() {
    let mut g = gateway(config());
    let parts = fragments(&tcp((A, 5000), (REMOTE, 80), "S"), &[8]);
    g.dropped(Customer, &parts[0], "tiny-fragment");
    g.dropped(Customer, &parts[1], "tiny-fragment");
    let mut odd = fragments(&udp((A, 5000), (REMOTE, 80)), &[16])[0].clone();
    odd[17] -= 1;
    reseal(&mut odd);
    g.dropped(Customer, &odd, "tiny-fragment");
    assert_eq!(g.entries(), (0, 0));
}

#[test]
fn a_fragment_behind_the_largest_datagram_is_dropped() {
    let mut g = gateway(config());
    // The last fragment that an offset can name begins at 65,528; a header of 20 octets leaves no room for it.
    let mut f = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &[0; 64]), &[32])[1].clone();
    f[20..22].copy_from_slice(&0x1fff_u16.to_be_bytes());
    reseal(&mut f);
    g.dropped(Customer, &f, "bad-length");
}

#[test]
fn an_icmp_error_too_large_for_the_next_link_has_one_fate() {
    let mut g = gateway_with(|c| (c.internet.mtu, c.customer.mtu) = (576, 576));
    let outside = g.map((A, 5000), (REMOTE, 80));
    let about = [
        (Customer, error(A, REMOTE, 3, 1, &udp_with((REMOTE, 80), (A, 5000), 64, &[0; 1000]), 1028)),
        (Internet, error(OTHER, POOL, 3, 1, &udp_with(outside, (REMOTE, 80), 64, &[0; 1000]), 1028)),
    ];
    let forwarded = |g: &Gateway| g.count("in2out") + g.count("out2in");
    let before = forwarded(&g);
    for (side, mut f) in about {
        f[20] |= 0x40;
        reseal(&mut f);
        g.dropped(side, &f, "too-big");
    }
    assert_eq!(forwarded(&g), before, "dropped, so not forwarded");
}

/// `len` octets of one UDP datagram from `at` on, with more to come or not.
fn piece(at: usize, len: usize, more: bool) -> Vec<u8> {
    let whole = udp_with((A, 5000), (REMOTE, 80), 64, &[7; 192]);
    let mut f = fragments(&whole, &if at == 0 { vec![len] } else { vec![at, at + len] })[usize::from(at > 0)].clone();
    let field = (at / 8) as u16 | if more { 0x2000 } else { 0 };
    f[20..22].copy_from_slice(&field.to_be_bytes());
    reseal(&mut f);
    f
}

#[test]
fn a_datagram_whose_fragments_overlap_goes_as_a_whole() {
    // Each time the second overlaps the first in part, or contradicts its end.
    for [first, second] in [
        [piece(0, 64, true), piece(56, 64, true)],
        [piece(64, 64, true), piece(56, 16, true)],
        [piece(64, 32, true), piece(56, 48, true)],
        [piece(64, 32, false), piece(96, 8, false)],
        [piece(64, 32, false), piece(0, 104, true)],
        [piece(64, 64, true), piece(64, 32, false)],
    ] {
        let mut g = gateway(config());
        g.map((A, 5000), (REMOTE, 80));
        g.send(Customer, &first);
        let waited = g.count("fragment-held");
        let before = g.count("fragment-overlap");
        assert!(g.send(Customer, &second).is_empty());
        assert_eq!(g.count("fragment-overlap") - before, 1 + waited, "what waited goes with it");
        for rest in [piece(0, 64, true), piece(120, 8, true), piece(128, 64, false)] {
            assert!(g.send(Customer, &rest).is_empty(), "what has not come yet goes too");
        }
    }
}

#[test]
fn octets_that_come_twice_do_not_complete_a_datagram() {
    let mut g = gateway(config());
    g.map((A, 5000), (REMOTE, 80));
    assert_eq!(g.send(Customer, &piece(0, 64, true)).len(), 1);
    assert_eq!(g.send(Customer, &piece(136, 64, false)).len(), 1);
    for _ in 0..3 {
        g.dropped(Customer, &piece(0, 64, true), "fragment-again");
        g.dropped(Customer, &piece(16, 16, true), "fragment-again");
    }
    // 64 octets are still missing: were the datagram forgotten, this one would wait for a first fragment.
    assert_eq!(g.send(Customer, &piece(64, 72, true)).len(), 1);
    assert_eq!(g.count("fragment-held"), 0);
}

#[test]
fn without_memory_for_new_packets_nothing_breaks() {
    let mut c = config();
    c.internet.mtu = 600;
    c.sessions = 1;
    let mut g = gateway(c);
    g.memory = 0;
    g.map((A, 5000), (REMOTE, 80));
    g.dropped(Customer, &udp((A, 5001), (REMOTE, 80)), "table-full");
    g.dropped(Customer, &udp_with((A, 5000), (REMOTE, 80), 64, &[0; 1000]), "no-memory");
    let parts = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &[0; 64]), &[32]);
    assert!(g.send(Customer, &parts[1]).is_empty());
    assert_eq!(g.send(Customer, &parts[0]).len(), 1);
}

#[test]
fn clearing_forgets_everything() {
    for c in [config(), config().per_connection()] {
        let mut g = gateway(c);
        let outside = g.map((A, 5000), (REMOTE, 80));
        assert!(g.send(Customer, &fragments(&udp((A, 5000), (REMOTE, 80)), &[16])[1]).is_empty());
        g.workers[0].clear();
        assert_eq!(g.entries(), (0, 0));
        g.dropped(Internet, &udp((REMOTE, 80), outside), "no-session");
        assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside, "the port is free again at once");
    }
}

#[test]
fn one_batch_may_hold_a_flow_many_times() {
    for c in [config(), config().per_connection()] {
        let mut g = gateway(c);
        let frames: Vec<_> = (0..32).map(|i| udp((A, 5000 + i % 4), (REMOTE, 80 + i % 2))).collect();
        let out = g.send_all(Customer, &frames);
        assert_eq!((out.len(), g.entries().0), (32, 4));
        for (i, (_, f)) in out.iter().enumerate() {
            assert_eq!(judge(f).from, judge(&out[i % 4].1).from);
        }
    }
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Customer), Just(Internet)]
}

/// Frames that are nearly right: a good one with a few octets changed, its header checksum made right again.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let base = prop_oneof![
        (1u16..20, 1u16..20).prop_map(|(a, b)| udp((A, a), (REMOTE, b))),
        (1u16..20, 1024u16..1044).prop_map(|(a, b)| udp((REMOTE, a), (POOL, b))),
        (1u16..20, 1u16..20).prop_map(|(a, b)| tcp((A, a), (REMOTE, b), "S")),
        (1u16..20, 1024u16..1044).prop_map(|(a, b)| tcp((REMOTE, a), (POOL, b), "SA")),
        (0u16..9).prop_map(|id| ping(A, REMOTE, id)),
        (0u16..9).prop_map(|id| pong(REMOTE, POOL, id)),
        (1u16..20).prop_map(|p| error(OTHER, POOL, 3, 1, &udp((POOL, p), (REMOTE, p)), 40)),
        (1u16..20).prop_map(|p| error(A, REMOTE, 11, 0, &udp((REMOTE, p), (A, p)), 40)),
        (1u16..20, 0usize..3)
            .prop_map(|(p, i)| fragments(&udp_with((A, p), (REMOTE, p), 9, &[3; 80]), &[24, 48]).swap_remove(i)),
    ];
    let change = proptest::collection::vec((12usize..90, any::<u8>()), 0..4);
    (base, change, 0usize..40, any::<bool>()).prop_map(|(f, change, cut, seal)| damaged(f, &change, cut, seal))
}

fn check_batch(g: &mut Gateway, from: Side, frames: &[Vec<u8>]) {
    g.now += SECOND / 10;
    let beside = ["session-new", "session-expired", "mapping-new", "parity-changed"];
    let beside = [&beside[..], &["icmp-sent", "icmp-suppressed", "fragmented"]].concat();
    assert!(counted(g, from, frames, &beside) >= frames.len() as u64, "every packet is counted");
}

proptest! {
#![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

#[test]
fn arbitrary_octets_never_panic(
    batches in proptest::collection::vec(
        (side(), proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 0..8)), 0..20),
) {
    let mut g = gateway(config());
    for (from, frames) in batches {
        check_batch(&mut g, from, &frames);
    }
    prop_assert_eq!(g.entries().0, 0);
}

#[test]
fn nearly_right_packets_never_panic_and_memory_is_bounded(
    per_connection: bool,
    batches in proptest::collection::vec((side(), proptest::collection::vec(nearly(), 0..33)), 0..30),
) {
    let mut c = if per_connection { config().per_connection() } else { config() };
    c.sessions = 50;
    c.fragments.datagrams = 8;
    c.fragments.held = 4;
    c.internet.mtu = 68;
    let mut g = gateway(c);
    for (from, frames) in batches {
        check_batch(&mut g, from, &frames);
        prop_assert!(g.entries().0 <= 50 && g.entries().1 <= g.entries().0);
    }
}}
