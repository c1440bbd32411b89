//! Fragments through a NAT66: each stays the fragment that it was, within limits.

use crate::natxy::bench::*;
use plane::Side::Customer;
use testbed::prelude::*;

const PAYLOAD: [u8; 200] = [0x5a; 200];

#[test]
fn each_stays_the_fragment_that_it_was() {
    let mut g = nat66(&config());
    let parts = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &PAYLOAD), &[64, 128], 0x89ab_cdef);
    for (_, out) in [1, 0, 2].into_iter().flat_map(|i| g.send(Customer, &parts[i])) {
        assert_eq!(out[58..62], [0x89, 0xab, 0xcd, 0xef], "identification");
    }
}

#[test]
fn the_store_is_bounded() {
    let mut g = nat66_with(|c| c.fragments.datagrams = 8);
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
