//! RFC 6888 where an AFTR's subscribers are softwires: limits, fairness, refusals.

use crate::aftr::set_up::*;
use plane::Side::Customer;
use plane::nat44::config::Quota;
use testbed::prelude::*;

#[test]
fn req_2_a_customer_has_one_outside_address() {
    let mut g = aftr_with(|c| c.nat.pool[0].count = 4);
    for i in 1..20 {
        let seen: std::collections::HashSet<_> = (0..20).map(|p| map(&mut g, b4(i), (HOST, 5000 + p)).0).collect();
        assert_eq!(seen.len(), 1);
    }
}

#[test]
fn req_4_and_req_5_ports_and_sessions_of_a_customer_are_limited() {
    for quota in [Quota { ports: Some(10), sessions: None }, Quota { ports: None, sessions: Some(10) }] {
        let mut g = aftr_with(|c| c.nat.quota = quota);
        for p in 0..10 {
            map(&mut g, b4(1), (HOST, 5000 + p));
        }
        let answer = g.refused(Customer, &wrap(b4(1), &udp((HOST, 6000), (REMOTE, 80))), "nat44.quota");
        let (_, end, inner) = unwrap(&answer);
        assert_eq!((end, icmp_type(&inner)), (b4(1), (3, 1)));
        map(&mut g, b4(2), (HOST, 6000));
    }
}

/// A subscriber is a softwire, whatever addresses it uses inside: it gets no more by using many.
#[test]
fn quotas_are_the_softwires() {
    let hosts = [HOST, ip("192.168.1.11"), ip("10.9.8.7")];
    for by_ports in [true, false] {
        let mut c = config();
        *(if by_ports { &mut c.nat.quota.ports } else { &mut c.nat.quota.sessions }) = Some(9);
        let mut g = aftr(&c);
        let fill = |g: &mut testbed::Bed<plane::aftr::Aftr>| {
            for p in 0..9 {
                map(g, b4(1), (hosts[usize::from(p) % 3], 5000 + p));
            }
        };
        fill(&mut g);
        for host in hosts {
            g.refused(Customer, &wrap(b4(1), &udp((host, 6000), (REMOTE, 80))), "nat44.quota");
            map(&mut g, b4(2), (host, 6000));
        }
        // Who is forgotten with all customers behind the softwire begins anew.
        g.wait(400);
        g.idle(400);
        assert_eq!((g.entries().0, g.workers[0].customers()), (0, 0));
        fill(&mut g);
        g.refused(Customer, &wrap(b4(1), &udp((HOST, 6000), (REMOTE, 80))), "nat44.quota");
    }
}

#[test]
fn port_blocks_are_the_softwires() {
    let mut c = config();
    c.nat.pool[0].count = 4;
    c.nat.blocks = Some(plane::nat44::config::Blocks { size: 64, per_subscriber: 2 });
    let mut g = aftr(&c);
    let mut seen = Vec::new();
    for p in 0..20 {
        seen.push(map(&mut g, b4(1), (HOST, 5000 + p)));
        seen.push(map(&mut g, b4(1), (ip("192.168.1.11"), 7000 + p)));
    }
    let blocks: std::collections::HashSet<_> = seen.iter().map(|(a, p)| (*a, p / 64)).collect();
    assert_eq!((blocks.len(), g.count("nat44.block-allocated")), (1, 1), "one address and one block for both hosts");
    map(&mut g, b4(2), (HOST, 5000));
    assert_eq!(g.count("nat44.block-allocated"), 2);
}
