//! Unsolicited SYNs from the Internet (RFC 5382, REQ-4): answered after six seconds, unless the customer opens the connection.

use super::{MAPPINGS, Stateful, USUAL, bed, count, dropped, each, known, port_unreachable, with};
use plane::Side::Internet;
use testbed::prelude::*;

each! {
    an_unsolicited_syn_is_answered_after_six_seconds: nat44 nat64 nat66 aftr;
    an_outbound_syn_silences_the_held_one: nat44 nat64 nat66 aftr;
    what_is_held_is_bounded: nat44 nat64 nat66 aftr;
    nothing_is_answered_that_was_forgotten: nat44 nat64 nat66 aftr;
}

fn syn<N: Stateful>(port: u16) -> Vec<u8> {
    tcp((N::REMOTE, port), (N::POOL, 5000), "S")
}

fn an_unsolicited_syn_is_answered_after_six_seconds<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    for _ in 0..2 {
        dropped(&mut g, Internet, &syn::<N>(80), "syn-held");
    }
    g.now += 6 * SECOND - 1;
    assert!(g.send_all(Internet, &[]).is_empty() && count(&g, "icmp-sent") == 0, "not before");
    g.now += 1;
    let out = g.send_all(Internet, &[]);
    assert_eq!((out.len(), out[0].0), (1, Internet), "its repetition is not answered again");
    let answer = &out[0].1;
    let seen = judge(answer);
    assert_eq!((icmp_type(answer), seen.from.0, seen.to.0), (port_unreachable(N::REMOTE), N::OWN[1], N::REMOTE));
    assert_eq!((quote_of(answer).from, quote_of(answer).to), ((N::REMOTE, 80), (N::POOL, 5000)));
    assert!(g.workers[0].numbered().is_none_or(|n| n == 0));
}

fn an_outbound_syn_silences_the_held_one<N: Stateful>() {
    for nat in MAPPINGS {
        let mut g = with::<N>(nat);
        dropped(&mut g, Internet, &syn::<N>(80), "syn-held");
        g.wait(3);
        assert_eq!(g.seen_out(&tcp((N::A, 5000), known::<N>((N::REMOTE, 80)), "S")).from, (N::POOL, 5000));
        g.wait(10);
        assert_eq!(g.send_all(Internet, &[]), []);
        assert_eq!(g.seen_back(&syn::<N>(80)).to, (N::A, 5000), "its repetition goes in");
        assert_eq!(count(&g, "icmp-sent"), 0);
    }
}

fn what_is_held_is_bounded<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    for port in 0..5000u16 {
        dropped(&mut g, Internet, &syn::<N>(port + 1), "syn-held");
    }
    g.wait(7);
    g.send_all(Internet, &[]);
    assert!(count(&g, "icmp-sent") + count(&g, "icmp-suppressed") <= 256);
}

fn nothing_is_answered_that_was_forgotten<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    dropped(&mut g, Internet, &syn::<N>(80), "syn-held");
    g.clear();
    g.wait(7);
    assert_eq!(g.send_all(Internet, &[]), []);
}
