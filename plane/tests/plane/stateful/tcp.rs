//! The TCP state machine (RFC 6146, section 3.5.2; RFC 5382, REQ-5), observed through the packets that pass and for how
//! long.

use super::{Setup, Stateful, USUAL, bed, dropped, each, known};
use plane::Side::{Customer, Internet};
use plane::nat44::config::Config;
use std::time::Duration;
use testbed::prelude::*;

each! {
    a_session_lives_as_long_as_its_state_says: nat44 nat64 nat66 nat46 ds_lite aftr;
    a_syn_from_outside_then_one_from_inside_is_established_and_nothing_is_refused: nat64;
    lifetimes_below_those_of_the_rfcs_are_refused: nat44 nat64 nat66 nat46 ds_lite aftr;
}

const TRANSITORY: u64 = 240;
const ESTABLISHED: u64 = 2 * 3600 + 4 * 60;

fn outbound<N: Stateful>(flags: &str) -> Vec<u8> {
    tcp((N::A, 5000), known::<N>((N::REMOTE, 80)), flags)
}

fn inbound<N: Stateful>(flags: &str) -> Vec<u8> {
    tcp((N::REMOTE, 80), (N::POOL, 5000), flags)
}

/// Checks that the session and its mapping live for exactly this many seconds from now.
#[track_caller]
fn lives<N: Stateful>(g: &mut Bed<N>, seconds: u64, state: &str) {
    g.wait(seconds - 1);
    g.idle(1);
    assert_eq!(g.entries().0, 1, "{state}: it must live for {seconds} s");
    g.wait(1);
    dropped(g, Customer, &outbound::<N>("A"), "tcp-not-syn");
    dropped(g, Internet, &inbound::<N>("A"), "no-session");
    g.idle(20);
    assert_eq!(g.entries(), (0, 0), "{state}: it must not live longer than {seconds} s by much");
}

/// Segments from the customer (`>`) and from the server (`<`) with their flags, and seconds between them (`+`).
const HANDSHAKE: &str = ">S <SA >A";

fn a_session_lives_as_long_as_its_state_says<N: Stateful>() {
    // By RFC 5382, any packet restarts the timer, and any RST ends the connection.
    for (state, begins, steps, of_nat64, of_others) in [
        ("CLOSED: a SYN from IPv6 opens", "", ">S", TRANSITORY, TRANSITORY),
        ("V6 INIT is restarted by a SYN only", "", ">S +200 >S +200 >A", TRANSITORY - 200, TRANSITORY),
        ("V6 INIT and a SYN from IPv4 is ESTABLISHED", "", ">S <SA", ESTABLISHED, ESTABLISHED),
        ("the same, a simultaneous open", "", ">S <S", ESTABLISHED, ESTABLISHED),
        ("V6 INIT ignores a reset", "", ">S +100 <R", TRANSITORY - 100, TRANSITORY),
        ("ESTABLISHED is restarted by any packet", HANDSHAKE, "+7440 >A +7440 <A", ESTABLISHED, ESTABLISHED),
        // The other direction still flows, and restarts the long timer.
        ("V6 FIN leaves it established", HANDSHAKE, ">FA +1000 <A", ESTABLISHED, ESTABLISHED),
        ("V4 FIN leaves it established", HANDSHAKE, "<FA +1000 >A", ESTABLISHED, ESTABLISHED),
        ("a reset after one FIN leaves it established", HANDSHAKE, ">FA +1000 >R", ESTABLISHED, TRANSITORY),
        ("the same, from the server", HANDSHAKE, ">FA +1000 <R", ESTABLISHED, TRANSITORY),
        ("both FINs end it", HANDSHAKE, "<FA >FA", TRANSITORY, TRANSITORY),
        ("a reset after both does not restart the timer", HANDSHAKE, ">FA <FA +100 <R", TRANSITORY - 100, TRANSITORY),
        ("nor does anything else", HANDSHAKE, ">FA <FA +100 >A <A", TRANSITORY - 100, TRANSITORY),
        ("a reset is transitory", HANDSHAKE, ">R +100 <R", TRANSITORY - 100, TRANSITORY),
        ("the same, from the server", HANDSHAKE, "<R +100 <R", TRANSITORY - 100, TRANSITORY),
        ("a packet after a reset is ESTABLISHED again", HANDSHAKE, "<R >A", ESTABLISHED, ESTABLISHED),
    ] {
        let mut g = bed::<N>(&USUAL);
        for step in begins.split_whitespace().chain(steps.split_whitespace()) {
            match step.split_at(1) {
                (">", flags) => assert_eq!(g.seen_out(&outbound::<N>(flags)).from, (N::POOL, 5000)),
                ("<", flags) => assert_eq!(g.seen_back(&inbound::<N>(flags)).to, (N::A, 5000)),
                (_, seconds) => g.wait(seconds.parse().unwrap()),
            }
        }
        assert_eq!(g.entries(), (1, 1), "{state}");
        lives(&mut g, if N::VERSIONS == [6, 4] { of_nat64 } else { of_others }, state);
    }
}

fn a_syn_from_outside_then_one_from_inside_is_established_and_nothing_is_refused<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    dropped(&mut g, Internet, &inbound::<N>("S"), "syn-held");
    g.wait(3);
    g.out(&outbound::<N>("S"));
    g.wait(10);
    assert_eq!(g.send_all(Customer, &[]), []);
    lives(&mut g, ESTABLISHED - 10, "opened from inside");
}

fn lifetimes_below_those_of_the_rfcs_are_refused<N: Stateful>() {
    let accepted = |which: usize, seconds| {
        let nat = |c: &mut Config| {
            let t = &mut c.timeouts;
            let timeouts = [&mut t.tcp_established, &mut t.tcp_transitory, &mut t.udp, &mut t.icmp];
            *timeouts.into_iter().nth(which).unwrap() = Duration::from_secs(seconds);
        };
        N::worker(&Setup { nat: &nat, ..USUAL }, 0).is_ok()
    };
    for (which, least) in [7440, 240, 120, 60].into_iter().enumerate() {
        assert_eq!([least - 1, least].map(|seconds| accepted(which, seconds)), [false, true], "{least} s");
    }
}
