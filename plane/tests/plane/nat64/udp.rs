//! RFC 6146, sections 3.5 and 3.5.1: bindings and sessions of UDP, ports, filtering, lifetimes, and requirements on
//! packets.

use crate::each_device::tells_no_sender_of_less_than_1280;
use crate::nat64::set_up::*;
use plane::Side::{Customer, Internet};
use std::net::{Ipv4Addr, Ipv6Addr};
use testbed::prelude::*;
use wire::AddrRange;

#[test]
fn every_length_of_prefix() {
    // RFC 6052, section 2.4, table 1, with 192.0.2.33 behind 2001:db8::/32 and so on.
    let rows = [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
    ];
    let customer = ip("2001:2::5");
    for (prefix, host) in rows {
        let mut c = config();
        c.pref64 = vec![prefix6(prefix)];
        c.nat.internet.address = [198, 51, 100, 1].into();
        c.nat.pool = vec![AddrRange { first: [198, 51, 100, 2].into(), count: 1 }];
        let mut g = nat64(&c);
        let seen = g.seen_out(&udp((customer, 5000), (ip(host), 80)));
        assert_eq!(seen.to, (ip("192.0.2.33"), 80), "{prefix}");
        let back = g.seen_back(&udp(seen.to, seen.from));
        assert_eq!((back.from, back.to), ((ip(host), 80), (customer, 5000)), "{prefix}");
    }
}

#[test]
fn a_prefix_that_rfc_6052_has_not_is_refused() {
    let mut c = config();
    c.pref64[0].len = 80;
    assert!(plane::nat64::Nat64::new(c, 0, 1, 1).err().unwrap().to_string().contains("32, 40, 48, 56, 64 or 96"));
}

#[test]
fn the_well_known_prefix_has_no_private_addresses_unless_allowed() {
    let (private, host) = (ip("10.1.2.3"), ip("64:ff9b::10.1.2.3"));
    let mut c = config();
    c.pref64 = vec![prefix6("64:ff9b::/96")];
    let mut g = nat64(&c);
    g.refused(Customer, &udp((A, 5000), (host, 80)), "translate.well-known-prefix-private");
    c.private_behind_well_known = true;
    let mut g = nat64(&c);
    assert_eq!(g.seen_out(&udp((A, 5000), (host, 80))).to, (private, 80));
}

#[test]
fn parity_and_range_of_the_port_are_kept() {
    let mut g = nat64_with(|c| c.nat.ports.first = 1);
    for port in [7u16, 8, 1023, 1024, 5001, 65534] {
        for customer in [A, B] {
            let got = map(&mut g, (customer, port), (REMOTE, 80)).1;
            assert_eq!((got & 1, got < 1024), (port & 1, port < 1024), "port {port} became {got}");
        }
    }
}

#[test]
fn without_a_binding_nothing_comes_in() {
    let mut g = nat64(&config());
    g.dropped(Internet, &udp((REMOTE, 80), (POOL, 5000)), "nat44.no-session");
    g.dropped(Internet, &udp((REMOTE, 80), (ip("192.0.2.77"), 5000)), "nat44.not-pool");
}

#[test]
fn sessions_live_five_minutes_after_the_last_packet_of_either_direction() {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    for _ in 0..3 {
        g.wait(299);
        g.back(&udp((REMOTE, 80), outside));
    }
    g.wait(299);
    assert_eq!(map(&mut g, (A, 5000), (REMOTE, 80)), outside);
    g.wait(301);
    g.dropped(Internet, &udp((REMOTE, 80), outside), "nat44.no-session");
    g.idle(20);
    assert_eq!(g.entries(), (0, 0), "the binding ends with its last session");
}

#[test]
fn a_source_in_the_prefix_is_dropped() {
    let mut g = nat64(&config());
    g.dropped(Customer, &udp((x(OTHER), 5000), (x(REMOTE), 80)), "translate.martian-source");
    // Nor may one come from an IPv4-mapped address (RFC 6890), or from the gateway itself.
    let mapped = ip("::ffff:198.51.100.10");
    g.dropped(Customer, &udp((mapped, 5000), (x(REMOTE), 80)), "translate.martian-source");
    g.dropped(Customer, &udp((GATEWAY6, 5000), (x(REMOTE), 80)), "translate.martian-source");
    g.dropped(Customer, &udp_with((GATEWAY6, 5000), (x(REMOTE), 80), 1, b"x"), "translate.martian-source");
    assert_eq!(g.workers[0].customers(), 0);
}

#[test]
fn a_destination_outside_the_prefix_is_not_translated() {
    let mut g = nat64(&config());
    let frame = udp((A, 5000), (ip("2001:db8:99::1"), 80));
    let answer = g.refused(Customer, &frame, "translate.destination-unmapped");
    assert_eq!(judge(&answer).to.0, A);
    assert_eq!(g.entries(), (0, 0));
}

#[test]
fn customers_elsewhere_are_dropped_when_there_is_a_list() {
    let mut g = nat64_with(|c| c.inside = vec![prefix6("2001:db8:1::/48")]);
    map(&mut g, (A, 5000), (REMOTE, 80));
    g.send(Customer, &udp((B, 5000), (x(REMOTE), 80)));
    assert_eq!(g.count("translate.spoofed-source"), 1);
}

#[test]
fn a_customer_may_have_the_address_of_a_remote_host_as_its_number() {
    // Numbers are taken from 10.0.0.0/8; 10.0.0.1 is the first customer's. A host of that address is another matter.
    let mut g = nat64(&config());
    let host = ip("10.0.0.1");
    let outside = map(&mut g, (A, 5000), (host, 80));
    assert_eq!(outside, (POOL, 5000));
    let seen = g.seen_back(&INTERNET.arriving(&udp((host, 80), outside)));
    assert_eq!((seen.from, seen.to), ((x(host), 80), (A, 5000)));
    // A remote host cannot reach a customer by its number, either.
    g.dropped(Internet, &udp((REMOTE, 80), (host, 5000)), "nat44.not-pool");
    let about = g.out(&udp((A, 5000), (x(REMOTE), 80)));
    let error = error(host, POOL, 3, 3, &about, 28);
    assert_eq!(
        g.seen_back(&INTERNET.arriving(&error)).from.0,
        x(host),
        "a router with that address is still one on the Internet"
    );
}

#[test]
fn what_is_too_large_is_told_to_the_sender() {
    let mut g = nat64_with(|c| c.nat.internet.mtu = 1400);
    let answer = g.refused(Customer, &udp_with((A, 5000), (x(REMOTE), 80), 64, &[1; 1400]), "translate.too-big");
    assert_eq!((judge(&answer).from.0, icmp_type(&answer)), (GATEWAY6, (2, 0)));
    assert_eq!(answer[58..62], 1420u32.to_be_bytes());
    // From IPv4 with DF, for an IPv6 link of 1500.
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let mut frame = udp_with((REMOTE, 80), outside, 64, &[1; 1460]);
    set_df(&mut frame);
    let answer = g.refused(Internet, &frame, "translate.too-big");
    assert_eq!((judge(&answer).to.0, icmp_type(&answer)), (REMOTE, (3, 4)));
    assert_eq!(judge(&answer).from.0, POOL, "what a customer's network reports has its outside address");
    assert_eq!((quote_of(&answer).to, &answer[40..42]), (outside, &1480u16.to_be_bytes()[..]));
}

#[test]
fn rfc7915_5_1_no_sender_is_told_of_less_than_1280() {
    let with_mtu = |mtu| {
        let mut c = config();
        c.nat.internet.mtu = mtu;
        nat64(&c)
    };
    tells_no_sender_of_less_than_1280(with_mtu, |g, payload| {
        let out = g.send(Customer, &udp_with((A, 5000), (x(REMOTE), 80), 64, payload));
        out.into_iter().map(|(to, f)| (to == Customer, f)).collect()
    });
}

#[test]
fn the_gateway_itself_is_left_to_the_machine() {
    let mut g = nat64(&config());
    assert_eq!(g.send(Customer, &echo(A, GATEWAY6, 1, true)), []);
    assert_eq!(g.count("translate.local"), 1);
    assert_eq!(g.send(Customer, &udp((A, 1), (x(GATEWAY4.into()), 80))), []);
    assert_eq!(g.count("inner-local"), 1, "by its IPv4 address it cannot be reached from the customers' side");
    assert_eq!(g.send(Internet, &echo(REMOTE, GATEWAY4, 1, true)), []);
    assert_eq!(g.count("nat44.local"), 2);
}

#[test]
fn addresses_of_the_well_known_kind_are_read_as_text() {
    assert_eq!(x(REMOTE), ip("2001:db8:64::203.0.113.7"));
    assert_eq!(Ipv4Addr::from(v4(POOL)), Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(Ipv6Addr::from(v6(A)), "2001:db8:1::a".parse::<Ipv6Addr>().unwrap());
}
