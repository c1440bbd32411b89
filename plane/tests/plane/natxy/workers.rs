//! Several workers of a NAT66: what arrives at the wrong one reaches the right one, and nothing loops.

use crate::natxy::bench::*;
use plane::Side::Customer;
use std::net::{IpAddr, Ipv6Addr};
use testbed::prelude::*;
use testbed::quota;

fn customer(i: u32) -> IpAddr {
    quota::host(0, i.into())
}

#[test]
fn flows_stay_with_the_worker_that_links_steer_them_to() {
    for n in [2, 3, 8] {
        let mut g = with_workers(&config(), n);
        for i in 1..100 {
            let outside = g.map((customer(i), 5000), (REMOTE, 80));
            assert_eq!(g.reached((REMOTE, 80), outside), (customer(i), 5000));
        }
        assert_eq!(g.crossings, 0);
    }
}

#[test]
fn whatever_comes_to_the_wrong_worker_is_handed_over() {
    let mut g = with_workers(&config(), 4);
    g.misled = true;
    for i in 1..50 {
        let outside = g.map((customer(i), 5000), (REMOTE, 80));
        assert_eq!(g.reached((REMOTE, 80), outside), (customer(i), 5000));
        let id = judge(&g.out(&echo(customer(i), REMOTE, 7, true))).from.1;
        assert_eq!(judge(&g.back(&echo(REMOTE, POOL, id, false))).to, (customer(i), 7));
    }
    assert!(g.crossings >= 98);
    assert_eq!(g.workers.iter().map(|w| w.known()[0]).sum::<u32>(), 49, "each customer is known to one worker");
}

#[test]
fn hairpins_cross_and_arrive() {
    for misled in [false, true] {
        let mut g = with_workers(&config(), 2);
        g.misled = misled;
        for i in 1..40 {
            let (a, b) = ((customer(2 * i), 5000), (customer(2 * i + 1), 6000));
            let (outside, from) = (g.map(b, (REMOTE, 80)), g.map(a, (REMOTE, 80)));
            let arrived = g.around(&udp_with(a, outside, 9, b"x"));
            assert_eq!(judge(&arrived), Seen { from, to: b, protocol: 17, ttl: 8 });
            let e = g.around(&error(b.0, POOL, 1, 4, &arrived, 1000));
            assert_eq!((judge(&e).to.0, quote_of(&e).to), (a.0, outside));
        }
        assert!(g.crossings > 10);
    }
}

#[test]
fn fragments_meet_wherever_they_arrive() {
    testbed::workers::fragments_meet(|| with_workers(&config(), 3), customer, (REMOTE, 80), (REMOTE, 80));
}

#[test]
fn errors_of_any_router_reach_the_worker_of_the_customer_they_are_about() {
    let mut g = with_workers(&config(), 4);
    for i in 1..40 {
        let sent = udp((customer(i), 5000), (REMOTE, 80));
        let out = g.out(&sent);
        let arrived = g.back(&udp((REMOTE, 80), judge(&out).from));
        let e = g.out(&error(ip("2001:db8:77::1"), REMOTE, 1, 0, &arrived, 1000));
        assert_eq!((judge(&e).from.0, quote_of(&e).to), (POOL, judge(&out).from));
        let e = g.back(&error(OTHER, POOL, 3, 0, &out, 1000));
        assert_eq!(judge(&e).to.0, customer(i));
    }
    assert!(g.crossings > 10);
}

/// RFC 6888, REQ-4 and REQ-5: one worker has all of a subscriber, whatever its addresses, and allows the whole quota.
#[test]
fn a_subscriber_has_one_quota_however_many_workers() {
    let gateway = |case: &quota::Case| {
        let mut c = config();
        (c.subscriber_prefix, c.nat.quota) = (case.prefix, case.quota);
        let mut g = with_workers(&c, case.workers);
        g.misled = case.misled;
        g
    };
    quota::one_however_many_workers(
        gateway,
        |g, host, port| {
            g.map((host, port), (REMOTE, 80));
        },
        |g, host, port| {
            g.refused(Customer, &udp((host, port), (REMOTE, 80)), "quota");
        },
    );
}

#[test]
fn subscribers_stay_with_the_worker_that_links_steer_them_to() {
    for (workers, len) in [(2, 64), (3, 56)] {
        let mut c = config();
        c.subscriber_prefix = len;
        c.nat.blocks = Some(plane::nat44::config::Blocks { size: 64, per_subscriber: 1 });
        let mut g = with_workers(&c, workers);
        g.steering[0] = plane::affinity::steering(len);
        for subscriber in 0..20u32 {
            for i in 1..5u32 {
                let low = u128::from(subscriber) << (128 - len) | u128::from(i);
                let host = (Ipv6Addr::from_bits((0x2001_0db8_0001u128 << 80) | low).into(), 5000);
                let outside = g.map(host, (REMOTE, 80));
                assert_eq!(g.reached((REMOTE, 80), outside), host);
                let frame = udp_with(host, (REMOTE, 80), 64, &[7; 100]);
                assert_eq!(g.send_all(Customer, &fragments(&frame, &[48], i)).len(), 2, "fragments");
            }
        }
        assert_eq!((g.crossings, g.count("block-allocated")), (0, 20), "a block for each, whatever its addresses");
        assert!(g.workers.iter().all(|w| w.known()[0] > 0));
    }
}
