//! The dictionary of customers of a NAT64: bounded, and releases unused numbers.

use crate::nat64::set_up::*;
use plane::Side::Customer;
use std::net::{IpAddr, Ipv6Addr};
use testbed::prelude::*;

fn customer(i: u32) -> IpAddr {
    Ipv6Addr::from_bits((0x2001_0db8_0001u128 << 80) | u128::from(i) << 16 | 2).into()
}

#[test]
fn a_full_dictionary_refuses_new_customers_and_keeps_the_others() {
    let mut g = nat64_with(|c| c.customers = 10);
    let outside: Vec<At> = (0..10).map(|i| map(&mut g, (customer(i), 5000), (REMOTE, 80))).collect();
    assert!(g.send(Customer, &udp((customer(10), 5000), (x(REMOTE), 80))).len() <= 1);
    assert_eq!((g.count("translate.table-full"), g.entries().0), (1, 10));
    for (i, o) in outside.iter().enumerate() {
        assert_eq!(g.seen_back(&udp((REMOTE, 80), *o)).to, (customer(i as u32), 5000));
    }
}

#[test]
fn customers_without_sessions_are_forgotten() {
    let mut g = nat64_with(|c| c.customers = 10);
    for i in 0..10 {
        map(&mut g, (customer(i), 5000), (REMOTE, 80));
    }
    g.idle(200);
    assert_eq!(g.workers[0].customers(), 10, "their sessions live, however long they are silent");
    for _ in 0..4 {
        g.wait(100);
        map(&mut g, (customer(3), 5000), (REMOTE, 80));
    }
    g.idle(60);
    assert_eq!(g.workers[0].customers(), 1);
    for i in 20..29 {
        map(&mut g, (customer(i), 5000), (REMOTE, 80));
    }
    let outside = map(&mut g, (customer(3), 5000), (REMOTE, 80));
    assert_eq!(g.seen_back(&udp((REMOTE, 80), outside)).to, (customer(3), 5000));
}

#[test]
fn a_session_that_only_answers_keep_alive_keeps_its_customer() {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    for _ in 0..20 {
        g.idle(60);
        assert_eq!(g.seen_back(&udp((REMOTE, 80), outside)).to, (A, 5000));
    }
    assert_eq!(g.workers[0].customers(), 1);
}

#[test]
fn customers_that_never_get_a_session_are_forgotten_too() {
    let mut g = nat64(&config());
    for i in 0..100 {
        g.send(Customer, &tcp((customer(i), 5000), (x(REMOTE), 80), "A"));
    }
    assert_eq!(g.workers[0].customers(), 100);
    g.idle(90);
    assert_eq!(g.workers[0].customers(), 0);
}

/// RFC 6146, section 3.5: an ICMPv6 error opens no session. Any router may send one, and its quote may be forged.
#[test]
fn errors_make_no_customers() {
    let mut g = nat64_with(|c| c.customers = 10);
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let arrived = g.back(&udp((REMOTE, 80), outside));
    for i in 0..100 {
        let e = g.out(&error(customer(i), x(REMOTE), 1, 0, &arrived, 1000));
        assert_eq!((judge(&e).from.0, judge(&e).to.0), (POOL, REMOTE), "from a router");
        let mut to_unknown = arrived.clone();
        let IpAddr::V6(unknown) = customer(i) else { unreachable!() };
        to_unknown[38..54].copy_from_slice(&unknown.octets());
        g.dropped(Customer, &error(A, x(REMOTE), 1, 0, &to_unknown, 1000), "translate.icmp-untranslatable");
    }
    assert_eq!(g.workers[0].customers(), 1);
}

#[test]
fn under_load_alone_numbers_come_back_as_well() {
    let mut g = nat64(&config());
    map(&mut g, (B, 5000), (REMOTE, 80));
    for _ in 0..2000 {
        g.now += 300_000_000;
        g.out(&udp((A, 5000), (x(REMOTE), 80)));
    }
    assert_eq!(g.workers[0].customers(), 1);
}

#[test]
fn no_more_than_96_bytes_a_session() {
    for sessions in [1u64 << 20, 16 << 20] {
        let mut c = config().clone();
        c.nat = c.nat.per_connection();
        (c.nat.sessions, c.customers) = (sessions, sessions);
        let bytes = plane::nat64::Nat64::bytes_for(&c, 1);
        assert!(bytes <= 96 * sessions, "{} bytes with a customer for each session", bytes / sessions);
    }
}

#[test]
fn a_subscriber_has_a_prefix_that_there_is() {
    let mut c = config();
    c.subscriber_prefix = 129;
    assert!(plane::nat64::Nat64::new(c, 0, 1, 1).err().unwrap().to_string().contains("/129"));
}
