//! NAT46: IPv4 customers share IPv6 addresses. Tests of NAT44 and translation combined.

use crate::natxy::bench::{POOL, RIGHT, pool, side};
use plane::Side::{Customer, Internet};
use plane::nat46::{Config, Nat46};
use plane::translate::Pair;
use plane::{Function, Side4};
use std::net::{IpAddr, Ipv4Addr};
use testbed::prelude::*;
use wire::Mac;

pub(crate) const A: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));
pub(crate) const B: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 3));
/// What customers know a remote host by, and what it is.
const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 19, 0, 7));
const REMOTE6: &str = "2001:db8:7::7";

pub(crate) fn config() -> Config {
    let customer = Side4 {
        mac: Mac(CUSTOMER_MAC),
        next_hop: Mac(CUSTOMER_HOP),
        address: Ipv4Addr::new(198, 18, 255, 254),
        mtu: 1500,
    };
    let internet = side(INTERNET_MAC, INTERNET_HOP, RIGHT);
    let mut c = Config::new(customer, internet, vec![prefix4("198.18.0.0/16")], pool("2001:db8:2::1/128"));
    c.maps = vec![pair("198.19.0.0/24", "2001:db8:7::/120")];
    c.nat.sessions = 4096;
    c
}

fn pair(v4: &str, v6: &str) -> Pair {
    Pair { v4: prefix4(v4), v6: prefix6(v6) }
}

pub(crate) fn nat46(c: &Config, workers: usize) -> Bed<Nat46> {
    let all = (0..workers).map(|w| c.build(w, workers, 42).unwrap()).collect();
    Bed::readdressing(all, [Config::STEER_CUSTOMER, Config::STEER_INTERNET], [4, 6])
}

fn nat46_with(change: impl FnOnce(&mut Config)) -> Bed<Nat46> {
    let mut c = config();
    change(&mut c);
    nat46(&c, 1)
}

#[test]
fn who_has_no_counterpart_is_nowhere() {
    let mut g = nat46(&config(), 1);
    let e = g.send_all(Customer, &[udp((A, 5000), (ip("203.0.113.9"), 80))]);
    assert_eq!(g.count("translate.destination-unmapped"), 1);
    assert_eq!((e.len(), icmp_type(&e[0].1), judge(&e[0].1).to.0), (1, (3, 13), A), "the customer is told");
    g.send_all(Internet, &[udp((ip("2001:db8:99::1"), 80), (POOL, 5000))]);
    assert_eq!(g.count("translate.source-unmapped"), 1);
    g.send_all(Internet, &[udp((ip(REMOTE6), 80), (ip("2001:db8:2::2"), 5000))]);
    assert_eq!(g.count("translate.destination-unmapped"), 2);
    g.dropped(Internet, &udp((ip(REMOTE6), 80), (POOL, 6000)), "nat44.no-session");
}

#[test]
fn a_prefix_reaches_everybody_else() {
    let mut g = nat46_with(|c| c.pref64 = Some(prefix6("2001:db8:64::/96")));
    let seen = judge(&g.out(&udp((A, 5000), (ip("203.0.113.9"), 80))));
    assert_eq!(seen.to.0, ip("2001:db8:64::203.0.113.9"));
    assert_eq!(judge(&g.back(&udp(seen.to, seen.from))).from.0, ip("203.0.113.9"));
    assert_eq!(judge(&g.out(&udp((A, 5000), (REMOTE, 80)))).to.0, ip(REMOTE6), "maps come first");
}

/// RFC 7915, section 5.2, and RFC 5508: errors of any router arrive, with what they quote.
#[test]
fn errors_find_their_customer() {
    let mut g = nat46(&config(), 1);
    let sent = udp((A, 5000), (REMOTE, 80));
    let out = g.out(&sent);
    let e = g.back(&error(ip("2001:db8:77::1"), POOL, 3, 0, &out, 1000));
    assert_eq!((judge(&e).to.0, icmp_type(&e)), (A, (11, 0)));
    assert_eq!((quote_of(&e).from, quote_of(&e).to), ((A, 5000), (REMOTE, 80)));
}

#[test]
fn a_packet_too_large_for_the_internet_is_told_with_its_room() {
    let mut g = nat46(&config(), 1);
    let mut large = udp_with((A, 5000), (REMOTE, 80), 64, &[0; 1453]);
    set_df(&mut large);
    let e = g.refused(Customer, &large, "nat44.too-big");
    assert_eq!((icmp_type(&e), &e[40..42]), ((3, 4), &1480u16.to_be_bytes()[..]));
}

/// The numbers that represent the outside addresses inside the gateway belong to no customer, no mapped host and not to
/// the gateway itself.
#[test]
fn numbers_of_the_pool_are_unassigned() {
    let mut g = nat46_with(|c| c.nat.inside = vec![prefix4("10.0.0.0/8")]);
    let from = (ip("10.0.0.0"), 5000);
    let seen = judge(&g.out(&udp(from, (REMOTE, 80))));
    assert_eq!(judge(&g.back(&udp(seen.to, seen.from))).to, from);
}

#[test]
fn configurations_that_make_no_sense() {
    let refused = |change: fn(&mut Config)| {
        let mut c = config();
        change(&mut c);
        c.build(0, 1, 1).err().unwrap().to_string()
    };
    assert!(refused(|c| c.maps.clear()).contains("pref64"));
    assert!(refused(|c| c.internet.address = "2001:db8:2::1".parse().unwrap()).contains("own address"));
    assert!(refused(|c| c.maps[0].v6.len = 127).contains("explicit maps"));
    assert!(refused(|c| c.nat.inside[0].len = 0).contains("free"));
}

/// Every session is known to the Internet by one of the outside addresses.
#[test]
fn a_running_nat_keeps_its_outside_addresses() {
    let mut g = nat46(&config(), 1);
    let outside = g.map((A, 5000), (REMOTE, 80));
    let mut told = |change: fn(&mut Config)| {
        let mut c = config();
        change(&mut c);
        (c.nat.sessions, c.nat.sketch) = (1, true);
        g.workers[0].adopt(&mut c.build(0, 1, 7).unwrap())
    };
    let refused = [
        told(|c| c.pool = pool("2001:db8:3::1/128")),
        told(|c| c.pool = pool("2001:db8:2::/127")),
        told(|c| c.maps.push(pair("10.0.0.0/24", "2001:db8:8::/120"))),
        told(|c| c.nat.customer.address = Ipv4Addr::new(10, 0, 0, 1)),
        told(|c| c.nat.inside[0] = prefix4("10.0.0.0/16")),
        told(|c| c.nat.inside[0].len = 17),
    ];
    let keys = ["translate: pool: ", "translate: pool: ", "translate: eam: ", "translate: address or eam: "];
    let keys = keys.into_iter().chain(["translate: inside: ", "nat44: inside: "]);
    for (said, key) in refused.into_iter().zip(keys) {
        let said = said.unwrap_err();
        assert!(said.starts_with(key) && said.ends_with("; restart the gateway"), "{key} is not in: {said}");
    }
    assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside, "nothing has changed");
}

#[test]
fn a_running_nat_takes_over_maps_and_prefix() {
    let mut g = nat46(&config(), 1);
    let outside = g.map((A, 5000), (REMOTE, 80));
    let mut c = config();
    c.maps.push(pair("203.0.113.0/24", "2001:db8:8::/120"));
    c.pref64 = Some(prefix6("2001:db8:64::/96"));
    g.workers[0].adopt(&mut c.build(0, 1, 7).unwrap()).unwrap();
    assert_eq!(g.reached((ip(REMOTE6), 80), outside), (A, 5000));
    let [mapped, embedded] = ["203.0.113.9", "192.0.2.9"].map(|to| judge(&g.out(&udp((A, 5000), (ip(to), 80)))));
    assert_eq!((mapped.from, mapped.to.0), (outside, ip("2001:db8:8::9")));
    assert_eq!((embedded.from, embedded.to.0), (outside, ip("2001:db8:64::192.0.2.9")));
}
