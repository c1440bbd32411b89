//! RFC 6888: carrier-grade NAT. REQ-9 (port control protocol), REQ-10 (management information base) and REQ-12 (log) do
//! not apply to a benchmark's device. REQ-1 is the files rfc4787, rfc5382 and rfc5508; REQ-2 and REQ-7 repeat RFC 4787.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::{Customer, Internet};
use plane::nat44::config::{Blocks, Config, Exempt, Filtering, Pooling};
use std::collections::HashSet;
use std::time::Duration;
use wire::{AddrRange, PortRange};

#[test]
fn rfc6888_req2_and_req7_defaults() {
    assert_eq!((config().pooling, config().filtering), (Pooling::Paired, Filtering::EndpointIndependent));
}

#[test]
fn rfc6888_req3_the_pool_need_not_be_contiguous() {
    let mut g = gateway_with(|c| {
        c.pool = vec![
            AddrRange { first: [192, 0, 2, 9].into(), count: 2 },
            AddrRange::one([198, 51, 100, 200].into()),
            AddrRange { first: [192, 0, 2, 77].into(), count: 3 },
        ];
    });
    let seen: HashSet<_> = (0..60).map(|h| g.map(([10, 0, 0, h], 4000), (REMOTE, 80)).0).collect();
    assert_eq!(seen.len(), 6);
    for at in seen {
        let outside = (at, g.map(([10, 0, 0, 1], 4000), (REMOTE, 80)).1);
        g.send(Internet, &udp((REMOTE, 80), outside));
    }
    assert_eq!(g.count("not-pool"), 0);
}

#[test]
fn rfc6888_req4_ports_of_a_subscriber_are_limited() {
    let mut g = gateway_with(|c| c.quota.ports = Some(10));
    for port in 5000..5010 {
        g.map((A, port), (REMOTE, 80));
    }
    assert_eq!(icmp_type(&g.refused(Customer, &udp((A, 6000), (REMOTE, 80)), "quota")), (3, 1));
    g.refused(Customer, &ping(A, REMOTE, 1), "quota");
    g.map((A, 5000), (OTHER, 80));
    g.map((B, 5000), (REMOTE, 80));
    g.wait(301);
    g.idle(100);
    g.map((A, 6000), (REMOTE, 80));
}

#[test]
fn rfc6888_req5_sessions_of_a_subscriber_are_limited() {
    for per_connection in [false, true] {
        let mut c = if per_connection { config().per_connection() } else { config() };
        c.quota.sessions = Some(5);
        let mut g = gateway(c);
        for port in 1..=5 {
            g.map((A, 5000), (REMOTE, port));
        }
        g.refused(Customer, &udp((A, 5000), (REMOTE, 6)), "quota");
        g.map((B, 5000), (REMOTE, 6));
        if !per_connection {
            // What others open counts when it is answered.
            let b = g.map((B, 5000), (REMOTE, 6));
            for port in 10..16 {
                g.back(&udp((OTHER, port), b));
            }
            for port in 10..14 {
                g.out(&udp((B, 5000), (OTHER, port)));
            }
            g.refused(Customer, &udp((B, 5000), (OTHER, 14)), "quota");
        }
    }
}

#[test]
fn rfc6888_req6_destinations_without_translation() {
    let mut g = gateway_with(|c| {
        c.untranslated = vec![
            Exempt { remote: prefix4("203.0.113.0/29"), ports: None },
            Exempt { remote: prefix4("198.51.100.0/24"), ports: Some(PortRange { first: 53, last: 53 }) },
        ];
    });
    let dns = (ip("198.51.100.3"), 53);
    for to in [(REMOTE, 80), dns] {
        assert_eq!(judge(&g.out(&udp((A, 5000), to))), Header { from: (A, 5000), to, protocol: 17, ttl: 63 });
        assert_eq!(judge(&g.back(&udp(to, (A, 5000)))).to, (A, 5000));
    }
    assert_eq!(judge(&g.out(&ping(A, REMOTE, 3))).from.0, A);
    assert_eq!(g.entries(), (0, 0));
    assert_eq!(g.map((A, 5000), (OTHER, 80)).0, POOL);
    assert_eq!(g.map((A, 5000), ([198, 51, 100, 3], 80)).0, POOL);
    g.dropped(Internet, &udp((OTHER, 80), (A, 5000)), "not-pool");
}

#[test]
fn rfc6888_req8_a_port_rests_after_use() {
    let only_one = |rest| {
        gateway_with(|c| {
            c.ports = PortRange { first: 4000, last: 4000 };
            c.preserve_parity = false;
            c.port_reuse_delay = Duration::from_secs(rest);
            c.timeouts.udp = Duration::from_secs(120);
        })
    };
    let mut g = only_one(120);
    g.map((A, 5000), (REMOTE, 80));
    g.wait(121);
    g.idle(100);
    assert_eq!(g.entries(), (0, 0));
    g.refused(Customer, &udp((B, 5000), (REMOTE, 80)), "no-port");
    g.wait(15);
    g.refused(Customer, &udp((B, 5000), (REMOTE, 80)), "no-port");
    g.wait(225);
    g.map((B, 5000), (REMOTE, 80));
    let mut g = only_one(0);
    g.map((A, 5000), (REMOTE, 80));
    g.wait(121);
    g.idle(100);
    g.map((B, 5000), (REMOTE, 80));
}

#[test]
fn rfc6888_req11_without_resources_nothing_that_lives_is_ended() {
    for c in [config(), config().per_connection()] {
        let mut g = gateway(Config { sessions: 500, ..c });
        let outside: Vec<_> = (0..500).map(|p| g.map((A, 5000 + p), (REMOTE, 80))).collect();
        for p in 0..100 {
            // a: dropped; b: an ICMP error is sent (within the rate limit); d: no session is removed.
            g.send(Customer, &udp((B, 5000 + p), (REMOTE, 80)));
        }
        assert_eq!(g.count("table-full"), 100);
        for (p, o) in outside.iter().enumerate() {
            assert_eq!(judge(&g.back(&udp((REMOTE, 80), *o))).to, (A, 5000 + p as u16));
        }
        // Time makes room, even before the sweep comes by.
        g.wait(301);
        g.map((B, 5000), (REMOTE, 80));
    }
}

/// To make room for an unsolicited session, the NAT removes sessions that have timed out, possibly those of the mapping
/// to which the packet was sent.
#[test]
fn rfc6888_req11_a_mapping_removed_to_make_room_admits_no_session() {
    let mut g = gateway_with(|c| c.sessions = 4);
    let outside: Vec<_> = (0..4).map(|p| g.map((A, 5000 + p), (REMOTE, 80))).collect();
    g.wait(400);
    g.dropped(Internet, &udp((OTHER, 80), outside[0]), "no-session");
    assert_eq!(g.entries(), (0, 0));
    g.map((B, 5000), (REMOTE, 80));
    g.wait(400);
    g.idle(100);
    assert_eq!(g.entries(), (0, 0));
}

#[test]
fn rfc6888_req13_every_port_can_be_used() {
    let mut g = gateway_with(|c| {
        c.ports = PortRange { first: 2000, last: 4999 };
        c.preserve_parity = false;
    });
    let seen: HashSet<_> = (0..3000).map(|p| g.map((A, 10_000 + p), (REMOTE, 80)).1).collect();
    assert_eq!((seen.len(), seen.iter().min(), seen.iter().max()), (3000, Some(&2000), Some(&4999)));
    g.refused(Customer, &udp((A, 9999), (REMOTE, 80)), "no-port");
    assert_eq!(judge(&g.out(&tcp((A, 9999), (REMOTE, 80), "S"))).from.0, POOL, "TCP has ports of its own");
}

#[test]
fn rfc6888_req14_port_blocks() {
    let mut g = gateway_with(|c| c.blocks = Some(Blocks { size: 64, per_subscriber: 2 }));
    let a: HashSet<_> = (0..128u16).map(|p| g.map((A, 5000 + p), (REMOTE, 80)).1 / 64).collect();
    assert_eq!(a.len(), 2, "128 ports in two blocks of 64");
    assert_eq!(g.count("block-allocated"), 2, "two log lines, not 128");
    g.refused(Customer, &udp((A, 9000), (REMOTE, 80)), "no-port");
    let b = g.map((B, 5000), (REMOTE, 80)).1 / 64;
    assert!(!a.contains(&b), "blocks are not shared");
    g.wait(301);
    g.idle(100);
    assert_eq!((g.entries(), g.count("block-released")), ((0, 0), 3));
    g.map((A, 5000), (REMOTE, 80));
    assert_eq!(g.count("block-allocated"), 4);
}

/// The ports of a block that was given back rest.
#[test]
fn rfc6888_req14_the_second_block_serves_when_the_first_is_given_back() {
    let mut g = gateway_with(|c| {
        c.blocks = Some(Blocks { size: 64, per_subscriber: 2 });
        c.ports = PortRange { first: 2048, last: 2175 };
    });
    let last = (0..65u16).map(|p| g.map((A, 5000 + p), (REMOTE, 80))).last().unwrap();
    g.wait(200);
    g.map((A, 5064), (REMOTE, 80));
    g.wait(120);
    g.idle(1);
    assert_eq!((g.entries().0, g.count("block-released")), (1, 1));
    assert_eq!(g.map((A, 9000), (REMOTE, 80)).1 / 64, last.1 / 64);
}

#[test]
fn rfc6888_req15_ports_are_hard_to_guess() {
    let mut g = gateway_with(|c| {
        c.preserve_port = false;
        c.preserve_parity = false;
    });
    let ports: Vec<f64> = (0..2000).map(|p| f64::from(g.map((A, 5000 + p), (REMOTE, 80)).1) - 33280.0).collect();
    let r = ports.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / ports.iter().map(|p| p * p).sum::<f64>();
    assert!(r.abs() < 0.08, "neighbouring ports are correlated: {r}");
    let mut half = ports.clone();
    half.retain(|&p| p > 0.0);
    assert!((900..1100).contains(&half.len()), "ports lean to one side");
}
