//! Several workers: what arrives at the wrong one reaches the right one, and nothing loops.

use super::{MAPPINGS, Setup, Stateful, USUAL, bed, each, joined, kind, known, map, port_unreachable, refused};
use plane::Side::{Customer, Internet};
use plane::nat44::config::{Blocks, Config, Quota};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};
use testbed::prelude::*;

each! {
    flows_stay_with_the_worker_that_links_steer_them_to: nat44 nat64 nat66 nat46 aftr;
    whatever_comes_to_the_wrong_worker_is_handed_over: nat44 nat64 nat66 nat46 ds_lite aftr;
    hairpins_cross_and_arrive: nat44 nat64 nat66 ds_lite aftr;
    fragments_meet_wherever_they_arrive: nat44 nat64 nat66 nat46 ds_lite aftr;
    errors_of_any_router_reach_the_worker_of_the_customer_they_are_about: nat44 nat64 nat66 nat46 ds_lite;
    identifications_are_shared_out: nat64 nat46;
    a_subscriber_has_one_quota_however_many_workers: nat64 nat66 aftr;
    quotas_are_the_subscribers: nat64 nat66 aftr;
    subscribers_stay_with_the_worker_that_links_steer_them_to: nat64 nat66;
}

fn workers<N: Stateful>(workers: usize, misled: bool) -> Bed<N> {
    let mut g = bed(&Setup { workers, ..USUAL });
    g.misled = misled;
    g
}

fn flows_stay_with_the_worker_that_links_steer_them_to<N: Stateful>() {
    for nat in MAPPINGS {
        for n in [2, 3, 8] {
            let mut g = bed::<N>(&Setup { nat, workers: n, ..USUAL });
            for i in 1..200 {
                let from = (N::customer(i), 5000 + i as u16);
                let frame = udp(from, known::<N>((N::REMOTE, 80)));
                let answer = udp((N::REMOTE, 80), g.seen_out(&frame).from);
                assert_eq!(g.steered(Internet, &answer), g.steered(Customer, &frame));
                assert_eq!(g.seen_back(&answer).to, from);
            }
            assert_eq!(g.crossings, 0, "nothing crosses when links steer");
            let used: Vec<_> = g.workers.iter().map(|w| w.entries().unwrap().0).collect();
            assert!(used.iter().all(|&u| u > 200 / n as u64 / 3), "{used:?}");
        }
    }
}

fn whatever_comes_to_the_wrong_worker_is_handed_over<N: Stateful>() {
    let mut g = workers::<N>(4, true);
    for i in 1..50 {
        let from = (N::customer(i), 5000);
        let outside = map(&mut g, from, (N::REMOTE, 80));
        assert_eq!(g.reached((N::REMOTE, 80), outside), from);
        let id = g.seen_out(&echo(from.0, N::known(N::REMOTE), 7, true)).from.1;
        assert_eq!(g.seen_back(&echo(N::REMOTE, N::POOL, id, false)).to, (from.0, 7));
    }
    assert!(g.crossings >= 98, "{}", g.crossings);
    let numbered: Option<u32> = g.workers.iter().map(N::numbered).sum();
    assert!(numbered.is_none_or(|n| n == 49), "each customer is known to one worker");
}

fn hairpins_cross_and_arrive<N: Stateful>() {
    for misled in [false, true] {
        let mut g = workers::<N>(2, misled);
        for i in 1..40 {
            let (a, b) = ((N::customer(2 * i), 5000), (N::customer(2 * i + 1), 6000));
            let [outside, from] = [b, a].map(|of| known::<N>(map(&mut g, of, (N::REMOTE, 80))));
            let arrived = g.around(&udp_with(a, outside, 9, b"x"));
            assert_eq!(judge(&arrived), Header { from, to: b, protocol: 17, ttl: 9 - N::HOPS[1] });
            let (kind, code) = port_unreachable(a.0);
            let e = g.around(&error(b.0, N::known(N::POOL), kind, code, &arrived, 1000));
            assert_eq!((judge(&e).to.0, quote_of(&e).to), (a.0, outside));
        }
        assert!(g.crossings > 10, "{}", g.crossings);
    }
}

fn fragments_meet_wherever_they_arrive<N: Stateful>() {
    for misled in [false, true] {
        let mut g = workers::<N>(3, misled);
        for i in 1..30 {
            let from = (N::customer(i), 5000);
            let parts = fragments(&udp_with(from, known::<N>((N::REMOTE, 80)), 64, &[7; 100]), &[48], i);
            let order = [[0, 1], [1, 0]][(i % 2) as usize];
            let outside = judge(&reassemble(&joined(&mut g, Customer, Internet, &parts, &order))).from;
            let parts = fragments(&udp_with((N::REMOTE, 80), outside, 64, &[7; 100]), &[48], i);
            let order = [[0, 1], [1, 0]][usize::from(i % 3 == 0)];
            assert_eq!(judge(&reassemble(&joined(&mut g, Internet, Customer, &parts, &order))).to, from);
        }
        assert!(g.crossings > 10, "{}", g.crossings);
    }
}

fn errors_of_any_router_reach_the_worker_of_the_customer_they_are_about<N: Stateful>() {
    let mut g = workers::<N>(4, false);
    for i in 1..40 {
        let sent = g.out(&udp((N::customer(i), 5000), known::<N>((N::REMOTE, 80))));
        let outside = judge(&sent).from;
        let arrived = g.back(&udp((N::REMOTE, 80), outside));
        let (unreachable, code) = port_unreachable(N::A);
        let e = g.out(&error(N::ROUTER, N::known(N::REMOTE), unreachable, code, &arrived, 1000));
        assert_eq!((judge(&e).from.0, quote_of(&e).to), (N::POOL, outside));
        let expired = kind(N::REMOTE, (3, 0), (11, 0)).0;
        let e = g.back(&error(N::OTHER, N::POOL, expired, 0, &sent, 1000));
        assert_eq!(judge(&e).to.0, N::customer(i));
    }
    assert!(g.crossings > 10, "{}", g.crossings);
}

/// Nine ports, or nine sessions.
fn of_nine(ports: bool) -> Quota {
    if ports { Quota { ports: Some(9), sessions: None } } else { Quota { sessions: Some(9), ports: None } }
}

/// Workers share the IPv4 addresses, so together they use each identification once a round (RFC 6864, section 4.3).
fn identifications_are_shared_out<N: Stateful>() {
    let mut g = workers::<N>(3, false);
    let mut seen = HashSet::new();
    for w in 0..3 {
        let frame = |i| udp((N::customer(i), 5000), known::<N>((N::REMOTE, 80)));
        let sent = (1..100).map(frame).find(|f| g.steered(Customer, f) == w).unwrap();
        let answer = udp((N::REMOTE, 80), g.seen_out(&sent).from);
        for _ in 0..65_536 / 3 {
            let f = if N::VERSIONS[1] == 4 { g.out(&sent) } else { g.back(&answer) };
            assert!(seen.insert([f[18], f[19]]), "worker {w}, after {}", seen.len());
        }
    }
}

/// RFC 6888, REQ-4 and REQ-5: one worker has all of a subscriber, whatever its addresses, and allows the whole quota.
fn a_subscriber_has_one_quota_however_many_workers<N: Stateful>() {
    for (workers, prefix, hosts) in [(2, 64, 1), (3, 64, 9), (2, 60, 9), (3, 128, 1), (2, 7, 9)] {
        for (ports, misled) in [(true, false), (false, false), (true, true)] {
            let nat = |c: &mut Config| c.quota = of_nine(ports);
            let mut g = bed::<N>(&Setup { nat: &nat, workers, prefix: Some(prefix), ..USUAL });
            g.misled = misled;
            let own = |p: u16| N::host(0, 1 + p as u8 % hosts);
            for p in 0..9 {
                map(&mut g, (own(p), 5000 + p), (N::REMOTE, 80));
            }
            for p in 0..9 {
                refused(&mut g, Customer, &udp((own(p), 6000 + p), known::<N>((N::REMOTE, 80))), "quota");
            }
            if prefix > 7 {
                map(&mut g, (N::host(0x100, 1), 5000), (N::REMOTE, 80));
            }
        }
    }
}

/// RFC 6888, REQ-4 and REQ-5: a subscriber is a prefix (RFC 8981) or a softwire, whatever addresses it uses.
fn quotas_are_the_subscribers<N: Stateful>() {
    let prefixes = if N::VERSIONS[0] == 6 { &[(64, 1), (56, 3)][..] } else { &[(64, 1)] };
    for &(len, nets) in prefixes {
        for by_ports in [true, false] {
            let nat = |c: &mut Config| c.quota = of_nine(by_ports);
            let mut g = bed::<N>(&Setup { nat: &nat, prefix: Some(len), ..USUAL });
            let full = |g: &mut Bed<N>, i| {
                let e = refused(g, Customer, &udp((N::host(0, i), 6000), known::<N>((N::REMOTE, 80))), "quota");
                assert_eq!((icmp_type(&e), judge(&e).from.0), (kind(N::A, (1, 3), (3, 1)), N::OWN[0]));
            };
            let fill = |g: &mut Bed<N>| {
                for i in 0..9 {
                    map(g, (N::host(u16::from(i) % nets, i + 1), 5000), (N::REMOTE, 80));
                }
            };
            fill(&mut g);
            (1..21).for_each(|i| full(&mut g, i));
            map(&mut g, (N::host(0x100, 1), 6000), (N::REMOTE, 80));
            g.wait(400);
            g.idle(400);
            assert_eq!((g.entries().0, g.workers[0].numbered()), (0, Some(0)));
            map(&mut g, (N::host(0, 77), 6000), (N::REMOTE, 80));
            g.clear();
            fill(&mut g);
            full(&mut g, 1);
        }
    }
}

fn subscribers_stay_with_the_worker_that_links_steer_them_to<N: Stateful>() {
    for (workers, len) in [(2, 64), (3, 56), (3, 60), (2, 128)] {
        let nat = |c: &mut Config| c.blocks = Some(Blocks { size: 64, per_subscriber: 1 });
        let mut g = bed::<N>(&Setup { nat: &nat, workers, prefix: Some(len), ..USUAL });
        g.steering[0] = plane::affinity::steering(len);
        for subscriber in 0..20u128 {
            for i in 1..5 {
                let own = subscriber << (128 - len) | i << (128 - len) >> 3;
                let host: IpAddr = Ipv6Addr::from_bits(0x2001_0db8_0001 << 80 | own).into();
                let outside = map(&mut g, (host, 5000), (N::REMOTE, 80));
                assert_eq!(g.reached((N::REMOTE, 80), outside), (host, 5000));
                let whole = udp_with((host, 5000), known::<N>((N::REMOTE, 80)), 64, &[7; 100]);
                joined(&mut g, Customer, Internet, &fragments(&whole, &[48], i as u32), &[0, 1]);
            }
        }
        assert_eq!(g.crossings, 0);
        if len < 128 {
            assert_eq!(super::count(&g, "block-allocated"), 20, "a block for each, whatever its addresses");
        }
        // The hosts of sixteen neighbouring /60 are one worker's: their prefixes differ in half an octet.
        assert!(len == 60 || g.workers.iter().all(|w| w.numbered() > Some(0)));
    }
}
