//! RFC 4787 and RFC 5382: who reaches whom, and through which mapping.

use super::{MAPPINGS, Setup, Stateful, USUAL, bed, beds, count, dropped, each, known, map, open, with, with_workers};
use plane::Side::{Customer, Internet};
use plane::nat44::config::Filtering;
use testbed::prelude::*;

each! {
    a_packet_and_its_answer: nat44 nat64 nat66 nat46 ds_lite aftr;
    customers_share_an_address_and_are_told_apart_by_port: nat44 nat64 nat66 nat46 ds_lite aftr;
    a_customer_has_one_outside_address: nat44 nat64 aftr;
    the_mapping_is_endpoint_independent: nat44 nat64 nat66 nat46 ds_lite aftr;
    filtering_is_as_configured: nat44 nat64 nat66 aftr;
    filtering_of_connections_is_as_configured: nat44 nat64 nat66 aftr;
    a_session_for_each_connection_if_that_is_asked_for: nat44 nat64 nat66 aftr;
    a_connection_opens_with_a_syn: nat44 nat64 nat66 aftr;
    connections_from_outside_go_through_a_mapping: nat44 nat64 nat66 aftr;
    all_state_can_be_forgotten: nat44 nat64 nat66 nat46 ds_lite aftr;
}

fn a_packet_and_its_answer<N: Stateful>() {
    for mut g in beds::<N>() {
        let (from, to) = ((N::A, 5000), (N::REMOTE, 80));
        let out = g.seen_out(&udp_with(from, known::<N>(to), 9, b"x"));
        assert_eq!((out.from.0, out.to, out.protocol, out.ttl), (N::POOL, to, 17, 9 - N::HOPS[0]));
        let back = g.seen_back(&udp_with(to, out.from, 9, b"y"));
        assert_eq!(back, Header { from: known::<N>(to), to: from, protocol: 17, ttl: 9 - N::HOPS[0] });
        assert_eq!(g.entries().0, 1);
    }
}

fn customers_share_an_address_and_are_told_apart_by_port<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let outside = [N::A, N::B].map(|from| map(&mut g, (from, 5000), (N::REMOTE, 80)));
    assert_eq!(outside.map(|o| o.0), [N::POOL; 2]);
    assert_ne!(outside[0], outside[1]);
    assert_eq!(outside.map(|o| g.reached((N::REMOTE, 80), o)), [(N::A, 5000), (N::B, 5000)]);
}

/// RFC 4787, REQ-2; RFC 6888, REQ-2.
fn a_customer_has_one_outside_address<N: Stateful>() {
    let mut g = with::<N>(&|c| c.pool[0].count = 4);
    for i in 1..20 {
        let outside = [5000, 5001, 5010].map(|port| map(&mut g, (N::customer(i), port), (N::REMOTE, 80)).0);
        assert_eq!(outside, [outside[0]; 3]);
    }
}

/// RFC 4787, REQ-1, and RFC 5382, REQ-1.
fn the_mapping_is_endpoint_independent<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let to = [(N::REMOTE, 80), (N::REMOTE, 81), (N::OTHER, 80)];
    let mapped = to.map(|to| map(&mut g, (N::A, 5000), to));
    assert_eq!(mapped, [mapped[0]; 3]);
    assert_ne!(map(&mut g, (N::A, 5001), to[0]), mapped[0]);
    assert_eq!(g.entries(), (4, 2), "four sessions, two mappings");
    let opened = [(N::REMOTE, 80), (N::OTHER, 443)].map(|to| open(&mut g, (N::A, 5000), to));
    assert_eq!(opened[0], opened[1]);
}

const FILTERS: [(Filtering, bool, bool); 3] = [
    (Filtering::EndpointIndependent, true, true),
    (Filtering::AddressDependent, true, false),
    (Filtering::AddressAndPortDependent, false, false),
];

/// RFC 4787, REQ-8: from a remote port, and from a remote address, that was never sent to.
fn filtering_is_as_configured<N: Stateful>() {
    for (filtering, same_address, other_address) in FILTERS {
        let mut g = with::<N>(&|c| c.filtering = filtering);
        let outside = map(&mut g, (N::A, 5000), (N::REMOTE, 80));
        assert_eq!(g.reached((N::REMOTE, 80), outside), (N::A, 5000));
        for (from, allowed) in [((N::REMOTE, 81), same_address), ((N::OTHER, 80), other_address)] {
            if allowed {
                let seen = g.seen_back(&udp(from, outside));
                assert_eq!((seen.from, seen.to), (known::<N>(from), (N::A, 5000)));
            } else {
                dropped(&mut g, Internet, &udp(from, outside), "filtered");
            }
        }
        dropped(&mut g, Internet, &udp((N::REMOTE, 80), (N::POOL, outside.1 ^ 1)), "no-session");
        assert_eq!(g.entries(), (1 + u64::from(same_address) + u64::from(other_address), 1));
    }
}

/// RFC 5382, REQ-3 and REQ-4: what is filtered is answered after six seconds.
fn filtering_of_connections_is_as_configured<N: Stateful>() {
    for (filtering, same_address, other_address) in FILTERS {
        let mut g = with::<N>(&|c| c.filtering = filtering);
        let outside = open(&mut g, (N::A, 5000), (N::REMOTE, 80));
        let from = [((N::REMOTE, 81), same_address), ((N::OTHER, 80), other_address)];
        for (from, allowed) in from {
            if allowed {
                assert_eq!(g.seen_back(&tcp(from, outside, "S")).to, (N::A, 5000));
            } else {
                dropped(&mut g, Internet, &tcp(from, outside, "S"), "syn-held");
            }
        }
        g.wait(6);
        assert_eq!(g.send_all(Internet, &[]).len(), from.iter().filter(|f| !f.1).count());
    }
}

/// RFC 9693 counts connections: address-and-port-dependent mapping makes each four-tuple one.
fn a_session_for_each_connection_if_that_is_asked_for<N: Stateful>() {
    for mut g in with_workers::<N>(Setup { nat: MAPPINGS[1], ..USUAL }) {
        for port in 0..100 {
            for remote in [N::REMOTE, N::OTHER] {
                let outside = map(&mut g, (N::A, 5000 + port), (remote, 80));
                assert_eq!(g.reached((remote, 80), outside), (N::A, 5000 + port));
                dropped(&mut g, Internet, &udp((remote, 81), outside), "no-session");
            }
        }
        assert_eq!(g.entries(), (200, 0));
    }
}

/// RFC 5382, REQ-1 and REQ-5: a segment of no connection opens nothing, and leaves no trace.
fn a_connection_opens_with_a_syn<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    for flags in ["A", "SA", "F", "R", "FA"] {
        dropped(&mut g, Customer, &tcp((N::A, 5000), known::<N>((N::REMOTE, 80)), flags), "tcp-not-syn");
        dropped(&mut g, Internet, &tcp((N::REMOTE, 80), (N::POOL, 5000), flags), "no-session");
    }
    assert_eq!((g.entries(), g.workers[0].numbered().is_some_and(|n| n > 1)), ((0, 0), false));
    let outside = open(&mut g, (N::A, 5000), (N::REMOTE, 80));
    g.wait(7000);
    g.back(&tcp((N::REMOTE, 80), outside, "A"));
}

/// RFC 5382, REQ-2: endpoint-independent filtering permits it.
fn connections_from_outside_go_through_a_mapping<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let outside = open(&mut g, (N::A, 5000), (N::REMOTE, 80));
    let third = (N::OTHER, 999);
    assert_eq!(g.seen_back(&tcp(third, outside, "S")).to, (N::A, 5000));
    assert_eq!(g.entries(), (2, 1));
    let seen = g.seen_out(&tcp((N::A, 5000), known::<N>(third), "SA"));
    assert_eq!((seen.from, seen.to), (outside, third));
    g.back(&tcp(third, outside, "A"));
    g.wait(7000);
    g.back(&tcp(third, outside, "A"));
}

fn all_state_can_be_forgotten<N: Stateful>() {
    for mut g in beds::<N>() {
        let outside = map(&mut g, (N::A, 5000), (N::REMOTE, 80));
        g.clear();
        assert_eq!((g.entries(), count(&g, "no-session")), ((0, 0), 0));
        assert!(g.workers.iter().all(|w| w.numbered().unwrap_or(0) == 0));
        assert_eq!(g.send(Internet, &udp((N::REMOTE, 80), outside)), []);
    }
}
