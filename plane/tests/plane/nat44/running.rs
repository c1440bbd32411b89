//! A running NAT: visible state, and configuration that can change without losing it.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Function;
use plane::Side::{Customer, Internet};
use plane::nat44::Nat44;
use plane::nat44::config::{Blocks, Config};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;
use wire::{AddrRange, PortRange};

/// No table of its own is needed to become another's configuration.
fn sketch(change: impl FnOnce(&mut Config)) -> Nat44 {
    let mut c = config();
    change(&mut c);
    (c.sessions, c.sketch) = (1, true);
    Nat44::new(c, 0, 1, 42).unwrap()
}

fn adopt(g: &mut Gateway, change: impl FnOnce(&mut Config)) -> Result<(), String> {
    g.workers[0].adopt(&mut sketch(change))
}

#[test]
fn sessions_can_be_listed() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    g.map((A, 5001), (OTHER, 53));
    g.wait(10);
    let all = g.workers[0].sessions(g.now, 0..10);
    assert_eq!(all.len(), 2);
    let first = all.iter().find(|e| e.inside.port() == 5000).unwrap();
    assert_eq!((first.protocol, first.inside, first.remote), (17, (A, 5000).into(), (REMOTE, 80).into()));
    assert_eq!(first.outside, outside.into());
    assert!((9..=11).contains(&first.idle.as_secs()));
    assert_eq!(g.workers[0].places(), 2);
    assert_eq!(g.workers[0].sessions(g.now, 1..2).len(), 1, "no more places than asked for");
    g.wait(3600);
    assert!(g.workers[0].sessions(g.now, 0..10).is_empty(), "what has timed out is not shown");
}

/// The ports of a large pool are gigabytes; a configuration has none.
#[test]
fn a_sketch_takes_no_memory_for_its_pool_and_opens_nothing() {
    let pool = vec![wire::AddrRange { first: [198, 18, 0, 0].into(), count: 65_536 }];
    for blocks in [None, Some(Blocks { size: 64, per_subscriber: 1 })] {
        let whole = Config { pool: pool.clone(), sessions: 1, blocks, ..config() };
        let sketch = Config { sketch: true, ..whole.clone() };
        let [large, small] = [whole, sketch.clone()].map(|c| Nat44::bytes_for(&c, 1));
        assert!(large > 4 << 30 && small < 1 << 20, "{large}, {small}");
        let mut g = gateway(sketch);
        g.send(Customer, &udp((A, 5000), (REMOTE, 80)));
        assert_eq!(g.entries(), (0, 0));
    }
}

#[test]
fn timeouts_and_links_change_without_losing_state() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    adopt(&mut g, |c| {
        c.timeouts.udp = Duration::from_secs(1000);
        c.internet.mtu = 1300;
    })
    .unwrap();
    g.wait(900);
    assert_eq!(judge(&g.back(&udp((REMOTE, 80), outside))).to, (A, 5000), "lives by the new timeout");
    assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside, "the same mapping");
    assert_eq!(g.workers[0].entries(), Some((1, 1)));
    g.wait(1100);
    g.dropped(Internet, &udp((REMOTE, 80), outside), "no-session");
}

#[test]
fn what_tables_were_made_from_cannot_change() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    let error = adopt(&mut g, |c| c.ports.first = 2000).unwrap_err();
    assert!(error.starts_with("pool-ports:"), "{error}");
    assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside, "and nothing has changed");
}

/// An address that comes into another epoch of resting ports costs 8 kB of memory traffic, so a call ends fewer sessions of
/// such addresses.
#[test]
fn a_call_of_expiry_is_short_where_ports_of_many_addresses_begin_to_rest() {
    let mut g =
        gateway_with(|c| c.pool = vec![AddrRange { first: std::net::Ipv4Addr::new(198, 51, 100, 0), count: 400 }]);
    let host = |n: u16| ip4(10, 2, (n >> 8) as u8, n as u8);
    let outside: HashSet<_> = (0..400).map(|n| g.map((host(n), 4000), (REMOTE, 80)).0).collect();
    assert_eq!(outside.len(), 400, "customers have addresses of their own");
    g.wait(400);
    let mut ended = Vec::new();
    while g.entries().0 > 0 {
        let before = g.entries().0;
        g.workers[0].idle(g.now);
        ended.push(before - g.entries().0);
    }
    assert!(ended.iter().all(|n| (1..=20).contains(n)) && ended.len() <= 30, "{ended:?}");
}

/// Ports in use stay in use, ports that rest do not come back early, and no other session ends.
#[test]
fn addresses_mappings_quotas_and_blocks_are_added_to_a_running_nat() {
    let ports = |c: &mut Config| c.ports = PortRange { first: 2048, last: 2175 };
    let mut g = gateway_with(ports);
    let outside: Vec<At> = (0..64).map(|p| g.map((A, 4000 + p), (REMOTE, 80))).collect();
    let all = |c: &mut Config| {
        ports(c);
        c.pool[0].count = 3;
        c.statics = vec!["udp 192.0.2.2:2048-2175 -> 10.0.0.99:2048-2175".parse().unwrap()];
        c.quota.sessions = Some(100);
        c.blocks = Some(Blocks { size: 64, per_subscriber: 2 });
    };
    assert!(Function::ending(&g.workers[0], &sketch(all), 9).is_empty());
    adopt(&mut g, all).unwrap();
    for (p, outside) in (0..).zip(&outside) {
        assert_eq!(judge(&g.back(&udp((REMOTE, 80), *outside))).to, (A, 4000 + p), "sessions go on");
    }
    assert_eq!(judge(&g.back(&udp((OTHER, 9), (ip("192.0.2.2"), 2050)))).to, (ip("10.0.0.99"), 2050));
    let mut taken: HashSet<At> = outside.iter().copied().collect();
    for p in 64..100 {
        let more = g.map((A, 4000 + p), (REMOTE, 80));
        assert!(more.0 == POOL && taken.insert(more), "the customer keeps its address, and no port is given twice");
    }
    g.refused(Customer, &udp((A, 4100), (REMOTE, 80)), "quota");
    let others: HashSet<_> = (0..2).map(|host| g.map(([10, 0, 0, 200 + host], 4000), (REMOTE, 80)).0).collect();
    assert_eq!(others, HashSet::from([ip("192.0.2.3")]), "the new address");
    let first = g.map(([10, 0, 0, 200], 4000), (REMOTE, 80));
    g.wait(400);
    g.idle(1);
    adopt(&mut g, |c| {
        all(c);
        c.blocks = None;
        c.pool[0] = AddrRange::one(std::net::Ipv4Addr::new(192, 0, 2, 3));
        c.statics.clear();
    })
    .unwrap();
    assert_ne!(g.map(([10, 0, 0, 210], first.1), (REMOTE, 80)), first, "it rests");
}

/// RFC 4787, REQ-2, also while only some workers have the new configuration.
#[test]
fn customers_keep_their_address_while_workers_change_one_after_the_other() {
    let with = |count| Config { pool: vec![AddrRange { first: POOL4, count }], ..config() };
    let (mut g, mut of) = (with_workers(&with(3), 2), HashMap::new());
    for round in 0..8u16 {
        for (host, port) in (0..100).flat_map(|host| (0..4).map(move |p| (host, 4000 + 4 * round + p))) {
            let outside = g.map(([10, 0, 0, host], port), (REMOTE, 80)).0;
            assert_eq!(*of.entry(host).or_insert(outside), outside, "host {host}, round {round}");
        }
        let sketch = Config { sessions: 1, sketch: true, ..with(4 + u32::from(round) / 2) };
        let worker = usize::from(round % 2);
        g.workers[worker].adopt(&mut Nat44::new(sketch, worker, 2, 42).unwrap()).unwrap();
    }
}

#[test]
fn sessions_of_what_is_removed_are_named_and_end() {
    let web = "tcp 192.0.2.1:80 -> 10.0.0.10:8080".parse().unwrap();
    let two = |c: &mut Config| {
        c.pool[0].count = 2;
        c.statics = vec![web];
    };
    let mut g = gateway_with(two);
    let [a, b] = [[10, 0, 0, 2], [10, 0, 0, 3]].map(|host| (g.map((host, 5000), (REMOTE, 80)), host));
    let ((gone, host), (stays, other)) = if a.0.0 == POOL { (b, a) } else { (a, b) };
    g.back(&tcp((OTHER, 9), (POOL, 80), "S"));
    let ending = |g: &Gateway, new: &Nat44| -> Vec<SocketAddr> {
        Function::ending(&g.workers[0], new, 9).iter().map(|e| e.inside).collect()
    };
    let without_address = |c: &mut Config| c.statics = vec![web];
    let own = SocketAddr::from((host, 5000));
    assert_eq!(ending(&g, &sketch(without_address)), [own]);
    assert_eq!(ending(&g, &sketch(|c| c.pool[0].count = 2)), [SocketAddr::from(([10, 0, 0, 10], 8080))]);
    adopt(&mut g, without_address).unwrap();
    assert_eq!(g.entries(), (2, 1));
    g.dropped(Internet, &udp((REMOTE, 80), gone), "not-pool");
    assert_eq!(
        judge(&g.back(&udp((REMOTE, 80), stays))).to,
        (ip(&SocketAddr::from((other, 0)).ip().to_string()), 5000)
    );
    assert_eq!(g.map((host, 5000), (REMOTE, 80)).0, POOL, "a new customer");
    adopt(&mut g, |_| {}).unwrap();
    g.dropped(Internet, &tcp((OTHER, 9), (POOL, 80), "S"), "syn-held");
}
