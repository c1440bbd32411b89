//! RFC 6888 where an AFTR's subscribers are softwires: limits, fairness, refusals.

use crate::packets::*;
use crate::set_up::*;
use plane::Side::Customer;

#[test]
fn req_2_a_customer_has_one_outside_address() {
    let mut c = config();
    c.nat.pool[0].count = 4;
    let mut g = aftr(&c);
    for i in 1..20 {
        let seen: std::collections::HashSet<_> = (0..20).map(|p| map(&mut g, b4(i), (HOST, 5000 + p)).0).collect();
        assert_eq!(seen.len(), 1);
    }
}

#[test]
fn req_4_ports_of_a_customer_are_limited() {
    let mut c = config();
    c.nat.quota.ports = Some(10);
    let mut g = aftr(&c);
    for p in 0..10 {
        map(&mut g, b4(1), (HOST, 5000 + p));
    }
    let answer = g.refused(Customer, &wrap(b4(1), &udp((HOST, 6000), (REMOTE, 80))), "nat44.quota");
    let (_, end, inner) = unwrap(&answer);
    assert_eq!((end, icmp_type(&inner)), (b4(1), (3, 1)));
    map(&mut g, b4(2), (HOST, 6000));
}

#[test]
fn req_5_sessions_of_a_customer_are_limited() {
    let mut c = config();
    c.nat.quota.sessions = Some(10);
    let mut g = aftr(&c);
    for p in 0..10 {
        map(&mut g, b4(1), (HOST, 5000 + p));
    }
    g.refused(Customer, &wrap(b4(1), &udp((HOST, 6000), (REMOTE, 80))), "nat44.quota");
    map(&mut g, b4(2), (HOST, 6000));
}

#[test]
fn req_7_filtering_is_endpoint_independent() {
    let mut g = aftr(&config());
    let outside = map(&mut g, b4(1), (HOST, 5000));
    assert_eq!(arrives(&mut g, &udp((OTHER, 99), outside)).1.to, (HOST, 5000));
}
