//! RFC 6146, section 3.5.2: the state machine of TCP, seen by what passes and for how long.

use crate::nat64::set_up::*;
use plane::Side::{Customer, Internet};
use plane::nat64::Nat64;
use testbed::Bed;
use testbed::prelude::*;

const CUSTOMER: At = (A, 5000);
const SERVER: At = (REMOTE, 80);
const OUTSIDE: At = (POOL, 5000);
const TRANSITORY: u64 = 240;
const ESTABLISHED: u64 = 2 * 3600 + 4 * 60;

fn out(g: &mut Bed<Nat64>, flags: &str) {
    assert_eq!(g.seen_out(&tcp(CUSTOMER, (x(REMOTE), 80), flags)).from, OUTSIDE);
}

fn back(g: &mut Bed<Nat64>, flags: &str) {
    assert_eq!(g.seen_back(&tcp(SERVER, OUTSIDE, flags)).to, CUSTOMER);
}

fn established() -> Bed<Nat64> {
    let mut g = nat64(&config());
    out(&mut g, "S");
    back(&mut g, "SA");
    out(&mut g, "A");
    g
}

/// The session lives for so many seconds from now on, and no longer.
#[track_caller]
fn lives(g: &mut Bed<Nat64>, seconds: u64, state: &str) {
    g.wait(seconds - 1);
    g.idle(1);
    assert_eq!(g.entries().0, 1, "{state}: it must live for {seconds} s");
    g.idle(20);
    assert_eq!(g.entries().0, 0, "{state}: it must not live longer than {seconds} s by much");
}

/// Segments from the customer (`>`) and from the server (`<`) with their flags, and seconds between them (`+`).
const HANDSHAKE: &str = ">S <SA >A";

#[test]
fn a_session_lives_as_long_as_its_state_says() {
    for (state, begins, steps, seconds) in [
        ("CLOSED: a SYN from IPv6 opens", "", ">S", TRANSITORY),
        ("V6 INIT is restarted by a SYN only", "", ">S +200 >S +200 >A", TRANSITORY - 200),
        ("V6 INIT and a SYN from IPv4 is ESTABLISHED", "", ">S <SA", ESTABLISHED),
        ("the same, a simultaneous open", "", ">S <S", ESTABLISHED),
        ("V6 INIT ignores a reset", "", ">S +100 <R", TRANSITORY - 100),
        ("ESTABLISHED is restarted by any packet", HANDSHAKE, "+7430 >A +7430 <A", ESTABLISHED),
        // The other direction still flows, and restarts the long timer.
        ("V6 FIN leaves it established", HANDSHAKE, ">FA +1000 <A", ESTABLISHED),
        ("V4 FIN leaves it established", HANDSHAKE, "<FA +1000 >A", ESTABLISHED),
        ("a reset after one FIN leaves it established", HANDSHAKE, ">FA +1000 >R", ESTABLISHED),
        ("the same, from the server", HANDSHAKE, ">FA +1000 <R", ESTABLISHED),
        ("a reset after both FINs does not restart the timer", HANDSHAKE, ">FA <FA +100 <R", TRANSITORY - 100),
        ("both FINs end it and nothing restarts the timer", HANDSHAKE, ">FA <FA +100 >A <A", TRANSITORY - 100),
        ("a reset is transitory", HANDSHAKE, ">R +100 <R", TRANSITORY - 100),
        ("the same, from the server", HANDSHAKE, "<R +100 <R", TRANSITORY - 100),
        ("a packet after a reset is ESTABLISHED again", HANDSHAKE, "<R >A", ESTABLISHED),
    ] {
        let mut g = nat64(&config());
        for step in begins.split_whitespace().chain(steps.split_whitespace()) {
            match step.split_at(1) {
                (">", flags) => out(&mut g, flags),
                ("<", flags) => back(&mut g, flags),
                (_, seconds) => g.wait(seconds.parse().unwrap()),
            }
        }
        assert_eq!(g.entries(), (1, 1), "{state}");
        lives(&mut g, seconds, state);
    }
}

#[test]
fn v4_init_then_a_syn_from_ipv6_is_established_and_nothing_is_refused() {
    let mut g = nat64(&config());
    g.dropped(Internet, &tcp(SERVER, OUTSIDE, "S"), "nat44.syn-held");
    g.wait(3);
    out(&mut g, "S");
    g.wait(10);
    assert_eq!(g.send_all(Customer, &[]), []);
    lives(&mut g, ESTABLISHED - 10, "opened from inside");
}

#[test]
fn the_binding_ends_with_its_last_session() {
    let mut g = established();
    assert_eq!(g.entries(), (1, 1));
    g.wait(ESTABLISHED + 10);
    g.idle(10);
    assert_eq!(g.entries(), (0, 0));
}

#[test]
fn lifetimes_below_those_of_rfc_5382_are_refused() {
    for (established, transitory) in [(7439, 240), (7440, 239)] {
        let mut c = config();
        c.nat.timeouts.tcp_established = std::time::Duration::from_secs(established);
        c.nat.timeouts.tcp_transitory = std::time::Duration::from_secs(transitory);
        assert!(Nat64::new(c, 0, 1, 1).is_err());
    }
}
