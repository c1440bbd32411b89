//! Several workers: whatever arrives at the wrong one reaches the right one, and nothing loops.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::Internet;
use plane::nat44::Nat44;

#[test]
fn flows_stay_with_the_worker_that_links_steer_them_to() {
    for c in [config(), config().per_connection()] {
        for n in [2, 3, 8] {
            let mut g = with_workers(&c, n);
            for port in 3000..3300 {
                let outside = g.map((A, port), (REMOTE, 80));
                let frame = udp((REMOTE, 80), outside);
                let customer = Nat44::STEER_CUSTOMER.worker(&udp((A, port), (REMOTE, 80)), n);
                assert_eq!(Nat44::STEER_INTERNET.worker(&frame, n), customer);
                assert_eq!(judge(&g.back(&frame)).to, (A, port));
            }
            assert_eq!(g.crossings, 0, "UDP never crosses");
            let used: Vec<_> = g.workers.iter().map(|w| plane::Function::entries(w).unwrap().0).collect();
            assert!(used.iter().all(|&u| u > 300 / n as u64 / 2), "{used:?}");
        }
    }
}

#[test]
fn whatever_comes_to_the_wrong_worker_is_handed_over() {
    let mut g = with_workers(&config(), 4);
    for id in 0..50 {
        let seen = judge(&g.out(&ping(A, REMOTE, id)));
        assert_eq!(judge(&g.back(&pong(REMOTE, POOL, seen.from.1))).to, (A, id));
    }
    assert!(g.crossings > 0, "echo replies have no port where the steering looks");
    assert!(g.count("handed-over") > 0);
}

#[test]
fn hairpins_cross_and_arrive() {
    let mut g = with_workers(&config(), 4);
    for port in 3000..3100 {
        let b = g.map((B, port), (REMOTE, 80));
        let a = g.map((A, port), (REMOTE, 80));
        let out = g.send(plane::Side::Customer, &udp_with((A, port), b, 9, b"x"));
        assert_eq!(out.len(), 1);
        assert_eq!(judge(&out[0].1), Seen { from: a, to: (B, port), protocol: 17, ttl: 8 });
    }
    assert!(g.crossings > 50);
}

#[test]
fn a_mark_cannot_be_forged() {
    let mut g = with_workers(&config(), 2);
    let b = g.map((B, 6000), (REMOTE, 80));
    // A customer that pretends to be an outside address, with a group address as source.
    for first in [0x03, 0x01, 0xff] {
        let mut f = udp(([10, 0, 0, 9], 5000), b);
        f[26..30].copy_from_slice(&v4(POOL));
        f[6] = first;
        reseal(&mut f);
        g.dropped(plane::Side::Customer, &f, "not-inside");
    }
}

#[test]
fn later_fragments_without_a_first_end_quietly() {
    let mut g = with_workers(&config(), 4);
    let outside = g.map((A, 5000), (REMOTE, 80));
    for id in 0..40u16 {
        let mut f = fragments(&udp_with((REMOTE, 80), outside, 64, &[1; 64]), &[32])[1].clone();
        f[18..20].copy_from_slice(&id.to_be_bytes());
        reseal(&mut f);
        assert!(g.send(Internet, &f).is_empty());
    }
    g.wait(60);
    for _ in 0..2 {
        for w in 0..40u16 {
            g.send(Internet, &udp((REMOTE, 80), (POOL, 2000 + w * 64)));
        }
    }
    assert_eq!(g.count("fragment-late"), 40);
}
