//! Customers reach each other by outside addresses (RFC 4787, REQ-9), one hop and not two away.

use crate::natxy::bench::*;
use plane::Side::Customer;
use testbed::prelude::*;

#[test]
fn udp_and_back() {
    let mut g = nat66(&config());
    let b = g.map((B, 6000), (REMOTE, 80));
    let seen = judge(&g.around(&udp_with((A, 5000), b, 9, b"x")));
    assert_eq!((seen.to, seen.ttl, seen.from.0), ((B, 6000), 8, POOL));
    let answer = judge(&g.around(&udp((B, 6000), seen.from)));
    assert_eq!((answer.from, answer.to), (b, (A, 5000)));
}

#[test]
fn errors_find_back() {
    let mut g = nat66(&config());
    let b = g.map((B, 6000), (REMOTE, 80));
    let sent = udp((A, 5000), b);
    let arrived = g.around(&sent);
    let e = g.around(&error(B, POOL, 1, 4, &arrived, 1000));
    assert_eq!((judge(&e).to.0, icmp_type(&e)), (A, (1, 4)));
    assert_eq!((quote_of(&e).from, quote_of(&e).to), ((A, 5000), b));
}

#[test]
fn fragments_turn_round() {
    let mut g = nat66(&config());
    let b = g.map((B, 6000), (REMOTE, 80));
    let whole = udp_with((A, 5000), b, 64, &[7; 100]);
    for (n, order) in [[0, 1], [1, 0]].into_iter().enumerate() {
        let parts = fragments(&whole, &[48], n as u32);
        let out: Vec<_> = order.iter().flat_map(|i| g.send_all(Customer, &parts[*i..=*i])).collect();
        assert!(out.len() == 2 && out.iter().all(|o| o.0 == Customer), "{:?}", g.nonzero());
        let parts: Vec<_> = out.into_iter().map(|o| o.1).collect();
        assert_eq!(judge(&reassemble(&parts)).to, (B, 6000));
    }
}

#[test]
fn off_when_it_is_switched_off() {
    let mut c = config();
    c.nat.hairpinning = false;
    let mut g = nat66(&c);
    let b = g.map((B, 6000), (REMOTE, 80));
    g.dropped(Customer, &udp((A, 5000), b), "hairpin-off");
}

#[test]
fn echo_requests_to_an_outside_address_are_dropped() {
    let mut g = nat66(&config());
    g.dropped(Customer, &echo(A, POOL, 5, true), "icmp-other");
}
