//! RFC 6146, section 3.4: fragments of both directions, in order and out of order, within limits.

use crate::nat64::set_up::*;
use plane::Side::{Customer, Internet};
use plane::nat64::Nat64;
use plane::translate::ZeroChecksum;
use std::time::Duration;
use testbed::Bed;
use testbed::prelude::*;

const PAYLOAD: [u8; 200] = [0x5a; 200];

fn only(out: Vec<(plane::Side, Vec<u8>)>, side: plane::Side) -> Vec<Vec<u8>> {
    assert!(out.iter().all(|o| o.0 == side));
    out.into_iter().map(|o| o.1).collect()
}

#[test]
fn large_packets_that_may_be_cut_reach_the_customer_in_parts() {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let out = only(g.send(Internet, &udp_with((REMOTE, 80), outside, 64, &[3; 1450])), Customer);
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|f| f.len() <= 14 + 1280), "RFC 7915, section 4: the smallest IPv6 MTU");
    assert_eq!(judge(&reassemble(&out)).to, (A, 5000));
}

#[test]
fn the_store_of_fragments_is_bounded() {
    let mut g = nat64_with(|c| c.nat.fragments.held = 8);
    let part = |id| fragments(&udp_with((A, 5000), (x(REMOTE), 80), 64, &PAYLOAD), &[64], id)[1].clone();
    for id in 0..8 {
        assert_eq!(g.send(Customer, &part(id)), []);
    }
    assert_eq!(g.count("nat44.fragment-held"), 8);
    g.dropped(Customer, &part(99), "nat44.fragment-store-full");
}

/// A datagram from the Internet without UDP checksum, in fragments of 64 octets.
fn unsummed(to: At, payload: &[u8], id: u32) -> Vec<Vec<u8>> {
    let mut whole = udp_with((REMOTE, 80), to, 64, payload);
    whole[40..42].fill(0);
    let cuts: Vec<usize> = (1..(8 + payload.len()).div_ceil(64)).map(|i| 64 * i).collect();
    fragments(&whole, &cuts, id)
}

#[test]
fn fragments_without_checksum_are_put_together_and_get_one() {
    for order in [[0, 1, 2, 3], [0, 3, 1, 2], [1, 2, 0, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        for workers in [1, 3] {
            let mut g = with_workers(&config(), workers);
            let outside = map(&mut g, (A, 5000), (REMOTE, 80));
            let parts = unsummed(outside, &PAYLOAD, 0x4321);
            let mut out = Vec::new();
            for i in order {
                assert_eq!(out.len(), 0, "nothing leaves before all have come");
                out = only(g.send(Internet, &parts[i]), Customer);
            }
            assert_eq!(out.len(), 1, "{order:?}, small enough to go whole");
            assert_eq!((judge(&out[0]).from, judge(&out[0]).to), ((x(REMOTE), 80), (A, 5000)), "{order:?}");
            assert_eq!(out[0][62..62 + PAYLOAD.len()], PAYLOAD);
            assert_eq!(g.count("translate.reassembled"), 1);
        }
    }
}

#[test]
fn a_datagram_put_together_is_cut_again_where_it_is_too_large() {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let mut whole = udp_with((REMOTE, 80), outside, 64, &[9; 4000]);
    whole[40..42].fill(0);
    // Its parts may not be cut themselves, which says nothing about the whole.
    let mut parts = fragments(&whole, &[1480, 2960], 77);
    for p in &mut parts {
        set_df(p);
    }
    let mut out = Vec::new();
    for p in &parts {
        out.extend(only(g.send(Internet, p), Customer));
    }
    let offsets: Vec<_> = out.iter().map(|f| u16::from_be_bytes([f[56], f[57]]) & !7).collect();
    assert_eq!(offsets, [0, 1232, 2464, 3696], "RFC 7915, section 4: in order");
    assert!(out.iter().all(|f| f.len() <= 14 + 1280 && f[60..62] == [0, 77]), "one identification, that of the parts");
    assert_eq!(judge(&reassemble(&out)).to, (A, 5000));
}

#[test]
fn fragments_without_checksum_are_dropped_where_none_is_computed() {
    let mut g = nat64_with(|c| c.headers.zero_udp_checksum = ZeroChecksum::Drop);
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let parts = unsummed(outside, &PAYLOAD, 1);
    let _told = g.send(Internet, &parts[0]);
    assert_eq!((g.count("translate.udp-checksum-zero"), g.count("translate.fragment-held")), (1, 0));
}

#[test]
fn the_store_of_datagrams_without_checksum_is_bounded_and_the_oldest_goes() {
    let mut g = nat64_with(|c| (c.reassembly.datagrams, c.reassembly.octets) = (4, 8192));
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let all: Vec<_> = (0..6).map(|id| unsummed(outside, &PAYLOAD, id)).collect();
    for parts in &all {
        assert_eq!(g.send(Internet, &parts[0]), []);
    }
    assert_eq!((g.count("translate.fragment-held"), g.count("translate.fragment-store-full")), (6, 2));
    let mut rest = |id: usize| all[id][1..].iter().flat_map(|p| g.send(Internet, p)).count();
    assert_eq!(rest(5), 1, "the youngest is still there");
    assert_eq!(rest(2), 1, "the oldest of those that found room");
}

#[test]
fn datagrams_without_checksum_wait_no_longer_than_their_time() {
    // By default as long as the NAT in front remembers them; shorter if that is wanted.
    for (lifetime, waits) in [(60, 15), (5, 5)] {
        let mut g = nat64_with(|c| c.reassembly.lifetime = Duration::from_secs(lifetime));
        let outside = map(&mut g, (A, 5000), (REMOTE, 80));
        let parts = unsummed(outside, &PAYLOAD, 1);
        assert_eq!(g.send(Internet, &parts[0]), []);
        assert_eq!(g.send(Internet, &parts[1]), []);
        g.wait(waits - 1);
        assert_eq!(g.send_all(Internet, &[]), []);
        assert_eq!(g.count("translate.fragment-late"), 0);
        g.wait(2);
        assert_eq!(g.send_all(Internet, &[]), [], "no ICMP error is sent");
        assert_eq!(g.count("translate.fragment-late"), 2);
    }
}

/// A NAT of which an older datagram has left two parts in the translator, but is forgotten in front of it.
fn with_an_older_one(id: u32) -> (Bed<Nat64>, At) {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let old = unsummed(outside, &[0xee; 200], id);
    assert_eq!(g.send(Internet, &old[1]), [], "the NAT counts from here");
    g.wait(10);
    assert_eq!(g.send(Internet, &old[0]), [], "and the translator from here");
    g.wait(6);
    assert_eq!((g.send_all(Internet, &[]), g.count("translate.fragment-late")), (vec![], 0));
    (g, outside)
}

/// RFC 4963: the rest of a younger datagram must not complete an older one with the same identification, which would leave with
/// a checksum over both.
#[test]
fn an_identification_that_comes_again_begins_another_datagram() {
    for order in [[0, 1, 2, 3], [1, 2, 0, 3], [3, 2, 1, 0]] {
        let (mut g, outside) = with_an_older_one(0x4321);
        let young = unsummed(outside, &PAYLOAD, 0x4321);
        let out: Vec<_> = order.iter().flat_map(|&i| only(g.send(Internet, &young[i]), Customer)).collect();
        assert_eq!(out.len(), 1, "{order:?}");
        assert_eq!(out[0][62..62 + PAYLOAD.len()], PAYLOAD, "{order:?}");
        assert_eq!((g.count("translate.fragment-late"), g.count("translate.fragment-overlap")), (2, 0), "{order:?}");

        let (mut g, outside) = with_an_older_one(0x4321);
        let young = fragments(&udp_with((REMOTE, 80), outside, 64, &PAYLOAD), &[64, 128, 192], 0x4321);
        let out: Vec<_> = order.iter().flat_map(|&i| only(g.send(Internet, &young[i]), Customer)).collect();
        assert_eq!((out.len(), g.count("translate.reassembled")), (4, 0), "{order:?}, one by one");
        assert_eq!((judge(&reassemble(&out)).to, g.count("translate.fragment-late")), ((A, 5000), 2), "{order:?}");
    }
}

#[test]
fn fragments_with_a_checksum_go_on_one_by_one() {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    assert_eq!(g.send(Internet, &unsummed(outside, &PAYLOAD, 1)[0]), []);
    let parts = fragments(&udp_with((REMOTE, 80), outside, 64, &PAYLOAD), &[64], 2);
    assert_eq!(parts.iter().map(|p| g.send(Internet, p).len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(g.count("translate.reassembled"), 0);
}
