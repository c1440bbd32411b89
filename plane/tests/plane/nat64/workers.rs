//! Several workers: packets reach the worker of their customer, and nothing loops.

use crate::nat64::set_up::*;
use plane::Side::{Customer, Internet};
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
        for i in 1..200 {
            let frame = udp((customer(i), 5000), (x(REMOTE), 80));
            let outside = g.seen_out(&frame).from;
            let answer = udp((REMOTE, 80), outside);
            assert_eq!(g.steered(Internet, &answer), g.steered(Customer, &frame));
            assert_eq!(g.seen_back(&answer).to, (customer(i), 5000));
        }
        assert_eq!(g.crossings, 0, "nothing crosses when links steer");
        let used: Vec<_> = g.workers.iter().map(plane::nat64::Nat64::customers).collect();
        assert!(used.iter().all(|&u| u > 200 / n as u32 / 3), "{used:?}");
    }
}

#[test]
fn whatever_comes_to_the_wrong_worker_is_handed_over() {
    let mut g = with_workers(&config(), 4);
    g.misled = true;
    for i in 1..50 {
        let seen = g.seen_out(&udp((customer(i), 5000), (x(REMOTE), 80)));
        assert_eq!(g.seen_back(&udp((REMOTE, 80), seen.from)).to, (customer(i), 5000));
        let seen = g.seen_out(&echo(customer(i), x(REMOTE), 7, true));
        assert_eq!(g.seen_back(&echo(REMOTE, POOL, seen.from.1, false)).to, (customer(i), 7));
    }
    assert!(g.count("customer-handed-over") >= 98 && g.count("nat44.handed-over") >= 49);
    assert!(
        g.workers.iter().map(plane::nat64::Nat64::customers).sum::<u32>() == 49,
        "each customer is known to one worker"
    );
}

#[test]
fn hairpins_cross_and_arrive() {
    for misled in [false, true] {
        let mut g = with_workers(&config(), 2);
        g.misled = misled;
        for i in 1..40 {
            let (a, b) = ((customer(2 * i), 5000), (customer(2 * i + 1), 6000));
            let outside = map(&mut g, b, (REMOTE, 80));
            let from = map(&mut g, a, (REMOTE, 80));
            let sent = udp_with(a, (x(outside.0), outside.1), 9, b"x");
            let arrived = g.pass(Customer, Customer, &sent);
            assert_eq!(judge(&arrived), Seen { from: (x(from.0), from.1), to: b, protocol: 17, ttl: 8 });
            // And an error about it finds its way back.
            let e = g.pass(Customer, Customer, &error(b.0, x(POOL), 1, 4, &arrived, 1000));
            assert_eq!((judge(&e).to.0, quote_of(&e).to), (a.0, (x(outside.0), outside.1)));
        }
        assert!(g.count("inner-handed-over") > 10, "a hand-over in the middle of the way");
    }
}

#[test]
fn fragments_meet_wherever_they_arrive() {
    testbed::workers::fragments_meet(|| with_workers(&config(), 3), customer, (x(REMOTE), 80), (REMOTE, 80));
}

#[test]
fn errors_of_any_router_reach_the_worker_of_the_customer_they_are_about() {
    let mut g = with_workers(&config(), 4);
    for i in 1..40 {
        let outside = map(&mut g, (customer(i), 5000), (REMOTE, 80));
        let arrived = g.back(&udp((REMOTE, 80), outside));
        let router = ip("2001:db8:77::1");
        let e = g.out(&error(router, x(REMOTE), 1, 0, &arrived, 1000));
        assert_eq!((judge(&e).from.0, quote_of(&e).to), (POOL, outside));
        let sent = g.out(&udp((customer(i), 5000), (x(REMOTE), 80)));
        let e = g.back(&error(OTHER, POOL, 3, 1, &sent, 1000));
        assert_eq!(judge(&e).to.0, customer(i));
    }
    assert!(g.count("customer-handed-over") > 10);
}

#[test]
fn a_frame_from_outside_cannot_enter_in_the_middle() {
    let mut g = with_workers(&config(), 2);
    map(&mut g, (A, 5000), (REMOTE, 80));
    // An IPv4 packet of the first customer's number, with the addresses of the inner link.
    let mut f = udp((ip("10.0.0.1"), 5000), (REMOTE, 80));
    for first in [plane::chain::INTERNET_HALF.0, plane::chain::CUSTOMER_HALF.0, [3, 0, 0, 0, 0, 0], CUSTOMER_MAC] {
        f[..6].copy_from_slice(&first);
        f[6..12].copy_from_slice(&plane::chain::CUSTOMER_HALF.0);
        assert_eq!(g.send(Customer, &f), []);
    }
    assert_eq!(g.count("nat44.in2out"), 1);
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
            map(g, (host, port), (REMOTE, 80));
        },
        |g, host, port| {
            g.refused(Customer, &udp((host, port), (x(REMOTE), 80)), "nat44.quota");
        },
    );
}

#[test]
fn subscribers_stay_with_the_worker_that_links_steer_them_to() {
    for (workers, len) in [(2, 64), (3, 56), (3, 60), (2, 128)] {
        let mut c = config();
        c.subscriber_prefix = len;
        c.nat.blocks = Some(plane::nat44::config::Blocks { size: 64, per_subscriber: 1 });
        let mut g = with_workers(&c, workers);
        g.steering[0] = plane::affinity::steering(len);
        for subscriber in 0..20u32 {
            for i in 1..5u32 {
                let host = Ipv6Addr::from_bits(
                    (0x2001_0db8_0001u128 << 80)
                        | u128::from(subscriber) << (128 - len)
                        | u128::from(i) << (128 - len) >> 3,
                );
                let outside = map(&mut g, (host.into(), 5000), (REMOTE, 80));
                assert_eq!(g.seen_back(&udp((REMOTE, 80), outside)).to, (host.into(), 5000));
            }
        }
        assert_eq!(g.crossings, 0);
        if len < 128 {
            assert_eq!(g.count("nat44.block-allocated"), 20, "a block for each, whatever its addresses");
        }
        let used: Vec<_> = g.workers.iter().map(plane::nat64::Nat64::customers).collect();
        // The hosts of sixteen neighbouring /60 are one worker's: their prefixes differ in half an octet.
        assert!(len == 60 || used.iter().all(|&u| u > 0), "{used:?}");
    }
}

/// RFC 6864, section 4.3: workers share the outside addresses, so together they come by each identification once a round.
#[test]
fn identifications_are_shared_out() {
    let mut g = with_workers(&config(), 3);
    let mut seen = std::collections::HashSet::new();
    for w in 0..3 {
        let frame = |i| udp((customer(i), 5000), (x(REMOTE), 80));
        let sent = (1..100).map(frame).find(|f| g.steered(Customer, f) == w).unwrap();
        for _ in 0..65_536 / 3 {
            let f = g.out(&sent);
            assert!(seen.insert([f[18], f[19]]), "worker {w}, after {}", seen.len());
        }
    }
}
