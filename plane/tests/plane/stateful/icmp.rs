//! RFC 5508: queries, errors of both directions, of which only the quoted packet is translated besides, and errors of the gateway
//! itself.

use super::{Stateful, USUAL, bed, beds, count, dropped, each, kind, known, map, port_unreachable, refused, with};
use plane::Side::{self, Customer, Internet};
use std::net::IpAddr;
use testbed::prelude::*;
use wire::PortRange;

each! {
    queries_and_their_answers: nat44 nat64 nat66 nat46 ds_lite aftr;
    queries_live_sixty_seconds: nat44 nat64 nat66 nat46 ds_lite aftr;
    identifiers_map_endpoint_independently: nat44 nat64 nat66 nat46 ds_lite aftr;
    errors_from_the_internet: nat44 nat64 nat66 nat46 ds_lite aftr;
    errors_from_customers: nat44 nat64 nat66 nat46 ds_lite aftr;
    errors_about_nothing_known_are_dropped: nat44 nat64 nat66 ds_lite aftr;
    errors_do_not_keep_a_session_alive: nat44 nat64 nat66 aftr;
    what_has_no_hop_left_is_told_to_both_sides: nat44 nat64 nat66 aftr;
    without_a_port_a_customer_is_told: nat44 nat64 nat66 aftr;
    without_a_session_a_customer_is_told: nat44 nat64 nat66 aftr;
    errors_of_its_own_are_limited: nat44 nat64 nat66 aftr;
}

fn protocol(of: IpAddr) -> u8 {
    if of.is_ipv6() { 58 } else { 1 }
}

/// REQ-1.
fn queries_and_their_answers<N: Stateful>() {
    for mut g in beds::<N>() {
        for id in [0, 1, 99, 0x8000, 65535] {
            let out = g.seen_out(&echo(N::A, N::known(N::REMOTE), id, true));
            assert_eq!((out.from.0, out.to.0, out.protocol), (N::POOL, N::REMOTE, protocol(N::POOL)));
            let back = g.seen_back(&echo(N::REMOTE, N::POOL, out.from.1, false));
            assert_eq!((back.from.0, back.to, back.protocol), (N::known(N::REMOTE), (N::A, id), protocol(N::A)));
        }
        assert_eq!(g.entries(), (5, 5));
    }
}

/// REQ-2.
fn queries_live_sixty_seconds<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let answer = echo(N::REMOTE, N::POOL, g.seen_out(&echo(N::A, N::known(N::REMOTE), 77, true)).from.1, false);
    g.wait(60);
    g.back(&answer);
    // Answers restart the timer of RFC 6146 alone.
    let more = if N::VERSIONS == [6, 4] { 60 } else { 0 };
    g.wait(more);
    g.back(&answer);
    g.wait(more + 1);
    dropped(&mut g, Internet, &answer, "no-session");
}

fn identifiers_map_endpoint_independently<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let mut asked = |from, to| g.seen_out(&echo(from, N::known(to), 77, true)).from;
    let first = asked(N::A, N::REMOTE);
    assert_eq!(asked(N::A, N::OTHER), first);
    let other = asked(N::B, N::REMOTE);
    assert_ne!(other, first, "those of two customers are kept apart");
    assert_eq!(g.seen_back(&echo(N::REMOTE, N::POOL, other.1, false)).to, (N::B, 77));
    assert_eq!(g.entries(), (3, 2));
}

/// REQ-4: with type and code, to the source of the quoted packet, which is as the customer sent it.
fn errors_from_the_internet<N: Stateful>() {
    let to = known::<N>((N::REMOTE, 80));
    let least = kind(N::REMOTE, (48, 60), (28, 40));
    for mut g in beds::<N>() {
        for about in [udp((N::A, 5000), to), tcp((N::A, 5001), to, "S"), echo(N::A, to.0, 5002, true)] {
            let sent = g.out(&about);
            for (&[there, here], quoted) in N::ERRORS_IN.iter().flat_map(|k| [least.0, least.1, 255].map(|q| (k, q))) {
                let e = g.back(&error(N::OTHER, N::POOL, there.0, there.1, &sent, quoted.into()));
                let (seen, quote, was) = (judge(&e), quote_of(&e), judge(&about));
                assert_eq!(icmp_type(&e), here);
                assert_eq!((seen.from.0, seen.to.0, seen.ttl), (N::known(N::OTHER), N::A, 64 - N::HOPS[0]));
                assert_eq!((quote.from, quote.to, quote.protocol), (was.from, was.to, was.protocol));
            }
        }
    }
}

/// REQ-5: an error has the outside address as its source, whether a customer or a router behind it sent the error.
fn errors_from_customers<N: Stateful>() {
    for mut g in beds::<N>() {
        let outside = map(&mut g, (N::A, 5000), (N::REMOTE, 80));
        let arrived = g.back(&udp((N::REMOTE, 80), outside));
        for (&[there, here], from) in N::ERRORS_OUT.iter().flat_map(|k| [N::A, N::ROUTER].map(|from| (k, from))) {
            let e = g.out(&error(from, N::known(N::REMOTE), there.0, there.1, &arrived, 1000));
            assert_eq!((icmp_type(&e), judge(&e).from.0, judge(&e).to.0), (here, N::POOL, N::REMOTE));
            assert_eq!((quote_of(&e).from, quote_of(&e).to), ((N::REMOTE, 80), outside));
        }
    }
}

fn errors_about_nothing_known_are_dropped<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    map(&mut g, (N::A, 5000), (N::REMOTE, 80));
    let (kind, code) = port_unreachable(N::REMOTE);
    for about in [udp((N::POOL, 6000), (N::REMOTE, 80)), udp((N::OTHER, 1), (N::POOL, 2))] {
        dropped(&mut g, Internet, &error(N::OTHER, N::POOL, kind, code, &about, 48), "icmp-no-session");
    }
    let about = udp(known::<N>((N::REMOTE, 9)), (N::A, 9));
    let (kind, code) = port_unreachable(N::A);
    dropped(&mut g, Customer, &error(N::A, N::known(N::REMOTE), kind, code, &about, 48), "icmp-no-session");
    assert_eq!(g.entries().0, 1);
}

/// REQ-6.
fn errors_do_not_keep_a_session_alive<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let sent = g.out(&udp((N::A, 5000), known::<N>((N::REMOTE, 80))));
    g.wait(299);
    let (kind, code) = port_unreachable(N::REMOTE);
    g.back(&error(N::REMOTE, N::POOL, kind, code, &sent, 48));
    assert_eq!(g.entries(), (1, 1), "nor end one");
    g.wait(3);
    g.idle(20);
    assert_eq!(g.entries(), (0, 0));
}

/// What is sent back for a packet that has no hop left.
#[track_caller]
fn ended<N: Stateful>(g: &mut Bed<N>, from: Side, frame: &[u8]) -> Vec<u8> {
    let expired = |g: &Bed<N>| {
        let counters = g.nonzero().into_iter();
        counters
            .filter(|c| c.0.ends_with("ttl-expired") || c.0.ends_with("hop-limit-expired"))
            .map(|c| c.1)
            .sum::<u64>()
    };
    let before = expired(g);
    let answer = g.pass(from, from, frame);
    assert_eq!(expired(g), before + 1, "counters {:?}", g.nonzero());
    answer
}

/// REQ-10.
fn what_has_no_hop_left_is_told_to_both_sides<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let (from, to) = ((N::A, 5000), known::<N>((N::REMOTE, 80)));
    let outside = map(&mut g, from, (N::REMOTE, 80));
    for ttl in [0, 1] {
        let answer = ended(&mut g, Customer, &udp_with(from, to, ttl, b"x"));
        let seen = (icmp_type(&answer), judge(&answer).from.0, judge(&answer).to.0);
        assert_eq!(seen, (kind(N::A, (3, 0), (11, 0)), N::OWN[0], N::A));
        let quote = quote_of(&answer);
        assert_eq!((quote.from, quote.to, quote.ttl), (from, to, ttl), "as it was sent");
        let answer = ended(&mut g, Internet, &udp_with((N::REMOTE, 80), outside, ttl, b"x"));
        let seen = (icmp_type(&answer), judge(&answer).from.0, judge(&answer).to.0);
        assert_eq!(seen, (kind(N::REMOTE, (3, 0), (11, 0)), N::OWN[1], N::REMOTE));
        assert_eq!(quote_of(&answer).to, outside, "nothing of the inside shows");
    }
    assert_eq!(g.seen_out(&udp_with(from, to, 2, b"x")).ttl, 1, "two is enough");
}

/// RFC 6888, REQ-11b, and RFC 6146, section 3.5.1.1: address or host unreachable. RFC 5508, REQ-8, has code 13.
#[track_caller]
fn is_told<N: Stateful>(g: &mut Bed<N>, why: &str) {
    let to = known::<N>((N::REMOTE, 80));
    for frame in [udp((N::A, 6000), to), tcp((N::A, 6000), to, "S"), echo(N::A, to.0, 6000, true)] {
        let answer = refused(g, Customer, &frame, why);
        let seen = (icmp_type(&answer), judge(&answer).from.0, judge(&answer).to.0);
        assert_eq!(seen, (kind(N::A, (1, 3), (3, 1)), N::OWN[0], N::A));
        assert_eq!(quote_of(&answer).from, (N::A, 6000));
    }
}

fn without_a_port_a_customer_is_told<N: Stateful>() {
    let mut g = with::<N>(&|c| c.ports = PortRange { first: 2000, last: 2003 });
    let to = known::<N>((N::REMOTE, 80));
    for port in 5000..5004 {
        g.out(&udp((N::A, port), to));
        g.out(&tcp((N::A, port), to, "S"));
        g.out(&echo(N::A, to.0, port, true));
    }
    is_told(&mut g, "no-port");
}

fn without_a_session_a_customer_is_told<N: Stateful>() {
    let mut g = with::<N>(&|c| c.sessions = 1);
    map(&mut g, (N::A, 5000), (N::REMOTE, 80));
    is_told(&mut g, "table-full");
}

/// REQ-9: they can be switched off.
fn errors_of_its_own_are_limited<N: Stateful>() {
    for (limit, sent_of_1000) in [(0, 0..1), (10, 20..41)] {
        let mut g = with::<N>(&|c| (c.icmp_errors_per_second, c.sessions) = (limit, 1));
        map(&mut g, (N::A, 5000), (N::REMOTE, 80));
        let refused = udp((N::A, 5001), known::<N>((N::REMOTE, 80)));
        let sent: usize = (0..1000).map(|_| g.send(Customer, &refused).len()).sum();
        assert!(sent_of_1000.contains(&sent), "{sent}");
        assert_eq!((count(&g, "icmp-sent"), count(&g, "icmp-suppressed")), (sent as u64, 1000 - sent as u64));
    }
}
