//! A full table refuses new entries and removes none; and the sources from which customers may send.

use crate::natxy::bench::*;
use plane::Pool6;
use plane::Side::{Customer, Internet};
use plane::nat66::{Config, Nat66};
use std::net::{IpAddr, Ipv6Addr};
use testbed::prelude::*;

fn host(net: u128, i: u32) -> IpAddr {
    Ipv6Addr::from_bits((0x2001_0db8_0000 | net) << 80 | u128::from(i)).into()
}

/// Address unreachable, from the gateway: as RFC 6146 has it for want of resources.
#[track_caller]
fn full(g: &mut Bed<Nat66>, frame: &[u8], why: &str) {
    let e = g.refused(Customer, frame, why);
    assert_eq!((icmp_type(&e), judge(&e).from.0), ((1, 3), LEFT.into()));
}

#[test]
fn customers() {
    let mut g = nat66_with(|c| c.customers = 10);
    let outside: Vec<At> = (0..10).map(|i| g.map((host(1, i + 1), 5000), (REMOTE, 80))).collect();
    full(&mut g, &udp((host(1, 99), 5000), (REMOTE, 80)), "table-full");
    for (i, o) in outside.into_iter().enumerate() {
        assert_eq!(g.reached((REMOTE, 80), o), (host(1, i as u32 + 1), 5000));
    }
}

#[test]
fn remote_addresses() {
    let mut g = nat66_with(|c| c.remotes = 10);
    let outside = (0..10).fold((A, 0), |_, i| g.map((A, 5000), (host(7, i + 1), 80)));
    full(&mut g, &udp((A, 5000), (host(7, 99), 80)), "remotes-full");
    // There is no room for an unsolicited remote host, either, and it gets no ICMP error.
    g.dropped(Internet, &udp((host(7, 98), 80), outside), "remotes-full");
    assert_eq!(g.reached((host(7, 3), 80), outside), (A, 5000));
}

#[test]
fn sessions() {
    let mut g = nat66_with(|c| c.nat.sessions = 10);
    for i in 0..10 {
        g.map((A, 5000 + i), (REMOTE, 80));
    }
    full(&mut g, &udp((A, 6000), (host(7, 99), 80)), "table-full");
    assert_eq!(g.workers[0].known(), [1, 1], "a session that is refused assigns no number");
}

/// Who has no session left to open does not fill the dictionaries by using many addresses, either.
#[test]
fn addresses_beyond_the_quota_get_no_number() {
    let mut g = nat66_with(|c| c.nat.quota.sessions = Some(3));
    for i in 0..3 {
        g.map((A, 5000 + i), (REMOTE, 80));
    }
    for i in 0..5 {
        full(&mut g, &udp((host(1, 100 + i), 6000), (OTHER, 80)), "quota");
    }
    assert_eq!(g.workers[0].known(), [1, 1]);
    g.map((host(3, 1), 5000), (REMOTE, 80));
}

#[test]
fn port_blocks_are_the_prefixes() {
    let mut c = config();
    c.pool = pool("2001:db8:2::10/124");
    c.nat.blocks = Some(plane::nat44::config::Blocks { size: 64, per_subscriber: 1 });
    let mut g = nat66(&c);
    let seen: std::collections::HashSet<_> =
        (0..20).map(|i| g.map((host(1, 1 + i), 5000), (REMOTE, 80))).map(|(a, p)| (a, p / 64)).collect();
    assert_eq!((seen.len(), g.count("block-allocated")), (1, 1), "one address and one block, whatever the source");
    g.map((host(3, 1), 5000), (REMOTE, 80));
    assert_eq!(g.count("block-allocated"), 2);
}

#[test]
fn who_may_send() {
    let mut g = nat66_with(|c| c.inside = vec![prefix6("2001:db8:1::/48")]);
    let e = g.refused(Customer, &udp((OTHER, 5000), (REMOTE, 80)), "not-inside");
    assert_eq!(icmp_type(&e), (1, 5), "source address failed ingress policy (RFC 4443, section 3.1)");
    g.dropped(Customer, &udp((POOL, 5000), (REMOTE, 80)), "martian-source");
    g.dropped(Customer, &udp((ip("::1"), 5000), (REMOTE, 80)), "martian-source");
    g.dropped(Customer, &udp((ip("fe80::1"), 5000), (REMOTE, 80)), "martian-source");
    g.dropped(Customer, &udp((A, 5000), (ip("ff0e::1"), 80)), "multicast");
    g.dropped(Customer, &udp((A, 5000), (ip("::1"), 80)), "martian-destination");
    g.dropped(Internet, &udp((POOL, 5000), (POOL, 80)), "martian-source");
    g.dropped(Internet, &udp((RIGHT, 5000), (POOL, 80)), "martian-source");
    g.dropped(Internet, &udp((REMOTE, 5000), (A, 80)), "not-pool");
    g.dropped(Customer, &udp((A, 5000), (LEFT, 80)), "local");
    g.map((A, 5000), (REMOTE, 80));
}

#[test]
fn what_is_no_protocol_of_a_nat() {
    let mut g = nat66(&config());
    let mut frame = udp((A, 5000), (REMOTE, 80));
    frame[20] = 132;
    let e = g.refused(Customer, &frame, "protocol");
    assert_eq!(icmp_type(&e), (1, 1));
    // A routing header with segments left: the checksum is made with the last of them.
    let plain = udp((A, 5000), (REMOTE, 80));
    let route = [&[17, 2, 0, 1, 0, 0, 0, 0][..], &v6(OTHER)].concat();
    let mut frame = [&plain[..54], &route, &plain[54..]].concat();
    frame[20] = 43;
    let len = u16::from_be_bytes([frame[18], frame[19]]) + 24;
    frame[18..20].copy_from_slice(&len.to_be_bytes());
    let e = g.refused(Customer, &frame, "source-route");
    assert_eq!((icmp_type(&e), &e[58..62]), ((4, 0), &43u32.to_be_bytes()[..]));
}

#[test]
fn configurations_that_make_no_sense() {
    let refused = |change: fn(&mut Config)| {
        let mut c = config();
        change(&mut c);
        Nat66::new(c, 0, 1, 1).err().unwrap().to_string()
    };
    assert!(refused(|c| c.internet.address = "2001:db8:2::1".parse().unwrap()).contains("own address"));
    assert!(refused(|c| c.subscriber_prefix = 129).contains("/129"));
    assert!(refused(|c| c.customer.mtu = 1279).contains("1280"));
    assert!(refused(|c| c.remotes = 1 << 28).contains("remote addresses"));
    assert!(refused(|c| c.fragments.datagrams = 0).contains("fragments"));
    assert!(refused(|c| c.nat.sessions = 0).contains("sessions"));
    let pool = |text: &str| Pool6::new(prefix6(text)).is_ok();
    assert_eq!(["2001:db8::/112", "2001:db8::/111", "fe80::/120", "::/128"].map(pool), [true, false, false, false]);
}
