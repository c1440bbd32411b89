//! Fragments through a NAT66: each stays the fragment that it was, in any order, within limits.

use crate::natxy::bench::*;
use plane::Side::{Customer, Internet};
use testbed::prelude::*;

const PAYLOAD: [u8; 200] = [0x5a; 200];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn from_inside_in_any_order() {
    for order in ORDERS {
        for whole in [
            udp_with((A, 5000), (REMOTE, 80), 64, &PAYLOAD),
            icmp6(
                A,
                REMOTE,
                etherparse::Icmpv6Type::EchoRequest(etherparse::IcmpEchoHeader { id: 5, seq: 1 }),
                &PAYLOAD,
            ),
        ] {
            let mut g = nat66(&config());
            let parts = fragments(&whole, &[64, 128], 0x89ab_cdef);
            let out: Vec<_> = order.iter().flat_map(|i| g.send_all(Customer, &parts[*i..=*i])).collect();
            assert!(out.len() == 3 && out.iter().all(|o| o.0 == Internet), "{order:?}: {:?}", g.nonzero());
            let parts: Vec<_> = out.into_iter().map(|o| o.1).collect();
            assert!(parts.iter().all(|p| p[58..62] == [0x89, 0xab, 0xcd, 0xef]), "identification");
            let seen = judge(&reassemble(&parts));
            assert_eq!((seen.from.0, seen.to.0, seen.ttl), (POOL, REMOTE, 63), "{order:?}");
        }
    }
}

#[test]
fn from_outside_in_any_order() {
    for order in ORDERS {
        let mut g = nat66(&config());
        let outside = g.map((A, 5000), (REMOTE, 80));
        let parts = fragments(&udp_with((REMOTE, 80), outside, 64, &PAYLOAD), &[64, 128], 7);
        let out: Vec<_> = order.iter().flat_map(|i| g.send_all(Internet, &parts[*i..=*i])).collect();
        assert_eq!(out.len(), 3, "{order:?}");
        let parts: Vec<_> = out.into_iter().map(|o| o.1).collect();
        assert_eq!(judge(&reassemble(&parts)).to, (A, 5000), "{order:?}");
    }
}

#[test]
fn they_wait_no_longer_than_their_time() {
    let mut g = nat66(&config());
    let parts = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &PAYLOAD), &[64], 1);
    g.dropped(Customer, &parts[1], "fragment-held");
    g.wait(16);
    assert_eq!(g.send_all(Customer, &[]), []);
    assert_eq!((g.count("fragment-late"), g.workers[0].waiting().datagrams), (1, 0));
}

#[test]
fn the_store_is_bounded() {
    let mut c = config();
    c.fragments.datagrams = 8;
    let mut g = nat66(&c);
    for id in 0..20 {
        let parts = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &PAYLOAD), &[64], id);
        assert_eq!(g.send_all(Customer, &parts[1..]), []);
    }
    assert_eq!((g.workers[0].waiting().datagrams, g.count("fragment-store-full")), (8, 12));
}

/// RFC 7112: the first has the whole header chain, or is dropped.
#[test]
fn tiny_first_fragments() {
    let mut g = nat66(&config());
    let parts = fragments(&tcp((A, 5000), (REMOTE, 80), "S"), &[16], 1);
    g.dropped(Customer, &parts[0], "tiny-fragment");
    let mut odd = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &PAYLOAD), &[64], 1)[0].clone();
    odd.pop();
    let len = u16::from_be_bytes([odd[18], odd[19]]) - 1;
    odd[18..20].copy_from_slice(&len.to_be_bytes());
    g.dropped(Customer, &odd, "fragment-overlap");
}
