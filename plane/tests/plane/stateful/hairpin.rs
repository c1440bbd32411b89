//! Customers reach each other by outside addresses (RFC 4787, REQ-9; RFC 5382, REQ-8; RFC 6146, section 3.8), one hop and not
//! two away.

use super::{Stateful, beds, count, dropped, each, joined, known, map, open, port_unreachable, with};
use plane::Side::Customer;
use plane::nat44::config::Filtering;
use testbed::prelude::*;

each! {
    udp_and_back: nat44 nat64 nat66 ds_lite aftr;
    tcp_and_back: nat44 nat64 nat66 ds_lite aftr;
    errors_find_back: nat44 nat64 nat66 ds_lite aftr;
    fragments_turn_round: nat44 nat64 nat66 ds_lite aftr;
    a_customer_reaches_itself: nat44 nat64 nat66 ds_lite aftr;
    they_obey_the_filter: nat44 nat64 nat66 aftr;
    they_can_be_switched_off: nat44 nat64 nat66 aftr;
}

fn udp_and_back<N: Stateful>() {
    for mut g in beds::<N>() {
        let b = map(&mut g, (N::B, 6000), (N::REMOTE, 80));
        // The sender has no mapping yet, then one.
        for port in [5000, 5000, 5001] {
            let seen = judge(&g.around(&udp_with((N::A, port), known::<N>(b), 9, b"x")));
            assert_eq!((seen.from.0, seen.to, seen.ttl), (N::known(N::POOL), (N::B, 6000), 9 - N::HOPS[1]));
            assert_eq!(known::<N>(map(&mut g, (N::A, port), (N::REMOTE, 80))), seen.from, "its external end point");
            let answer = judge(&g.around(&udp((N::B, 6000), seen.from)));
            assert_eq!((answer.from, answer.to), (known::<N>(b), (N::A, port)));
        }
        assert_eq!(count(&g, "hairpinned"), 6);
    }
}

fn tcp_and_back<N: Stateful>() {
    for mut g in beds::<N>() {
        let b = known::<N>(open(&mut g, (N::B, 6000), (N::REMOTE, 80)));
        let syn = judge(&g.around(&tcp((N::A, 5000), b, "S")));
        assert_eq!((syn.from.0, syn.to, syn.ttl), (N::known(N::POOL), (N::B, 6000), 64 - N::HOPS[1]));
        let answer = judge(&g.around(&tcp((N::B, 6000), syn.from, "SA")));
        assert_eq!((answer.from, answer.to), (b, (N::A, 5000)));
        g.wait(5000);
        assert_eq!(judge(&g.around(&tcp((N::A, 5000), b, "A"))).to, (N::B, 6000), "and it is established");
    }
}

/// RFC 5508, REQ-7.
fn errors_find_back<N: Stateful>() {
    for mut g in beds::<N>() {
        let b = known::<N>(map(&mut g, (N::B, 6000), (N::REMOTE, 80)));
        let arrived = g.around(&udp((N::A, 5000), b));
        let (kind, code) = port_unreachable(N::A);
        let e = g.around(&error(N::B, N::known(N::POOL), kind, code, &arrived, 1000));
        let seen = judge(&e);
        assert_eq!((seen.from.0, seen.to.0, seen.ttl), (N::known(N::POOL), N::A, 64 - N::HOPS[1]));
        assert_eq!((icmp_type(&e), quote_of(&e).from, quote_of(&e).to), ((kind, code), (N::A, 5000), b));
    }
}

fn fragments_turn_round<N: Stateful>() {
    for mut g in beds::<N>() {
        let b = known::<N>(map(&mut g, (N::B, 6000), (N::REMOTE, 80)));
        let a = known::<N>(map(&mut g, (N::A, 5000), (N::REMOTE, 80)));
        let whole = udp_with((N::A, 5000), b, 64, &[7; 100]);
        for (id, order) in [[0, 1, 2], [1, 0, 2], [2, 1, 0]].into_iter().enumerate() {
            let parts = fragments(&whole, &[24, 48], id as u32);
            let seen = judge(&reassemble(&joined(&mut g, Customer, Customer, &parts, &order)));
            assert_eq!(seen, Header { from: a, to: (N::B, 6000), protocol: 17, ttl: 64 - N::HOPS[1] }, "{order:?}");
        }
    }
}

fn a_customer_reaches_itself<N: Stateful>() {
    for mut g in beds::<N>() {
        let own = map(&mut g, (N::A, 6000), (N::REMOTE, 80));
        assert_eq!(judge(&g.around(&udp((N::A, 5000), known::<N>(own)))).to, (N::A, 6000));
    }
}

fn they_obey_the_filter<N: Stateful>() {
    for filtering in [Filtering::AddressDependent, Filtering::AddressAndPortDependent] {
        let mut g = with::<N>(&|c| c.filtering = filtering);
        let b = known::<N>(map(&mut g, (N::B, 6000), (N::REMOTE, 80)));
        dropped(&mut g, Customer, &udp((N::A, 5000), b), "filtered");
        // Once B has sent to the outside address, A may answer from it.
        let a = map(&mut g, (N::A, 5000), (N::REMOTE, 80));
        g.send(Customer, &udp((N::B, 6000), known::<N>(a)));
        assert_eq!(judge(&g.around(&udp((N::A, 5000), b))).to, (N::B, 6000));
    }
}

fn they_can_be_switched_off<N: Stateful>() {
    let mut g = with::<N>(&|c| c.hairpinning = false);
    let b = map(&mut g, (N::B, 6000), (N::REMOTE, 80));
    dropped(&mut g, Customer, &udp((N::A, 5000), known::<N>(b)), "hairpin-off");
}
