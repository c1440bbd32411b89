//! The NAT64 of the tests, and the addresses around it.

use plane::nat44::config::Filtering;
use plane::nat64::{Config, Nat64};
use plane::{Side4, Side6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testbed::prelude::*;
use wire::{AddrRange, Mac};

pub(crate) const POOL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(crate) const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
pub(crate) const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 8));
pub(crate) const A: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0xa));
pub(crate) const B: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 0xb));
/// The gateway's own addresses.
pub(crate) const GATEWAY6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1));
pub(crate) const GATEWAY4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);

/// How an IPv4 address appears to customers.
pub(crate) fn x(a: IpAddr) -> IpAddr {
    let mut b = [0; 16];
    b[..6].copy_from_slice(&[0x20, 1, 0x0d, 0xb8, 0, 0x64]);
    b[12..].copy_from_slice(&v4(a));
    Ipv6Addr::from(b).into()
}

pub(crate) fn config() -> Config {
    let IpAddr::V6(gateway) = GATEWAY6 else { unreachable!() };
    let customer = Side6 { mac: Mac(CUSTOMER_MAC), next_hop: Mac(CUSTOMER_HOP), address: gateway, mtu: 1500 };
    let internet = Side4 { mac: Mac(INTERNET_MAC), next_hop: Mac(INTERNET_HOP), address: GATEWAY4, mtu: 1500 };
    let pref64 = prefix6("2001:db8:64::/96");
    let pool = vec![AddrRange { first: Ipv4Addr::from(v4(POOL)), count: 1 }];
    let mut c = Config::new(customer, internet, pref64, pool);
    c.nat.sessions = 4096;
    c.customers = 256;
    c
}

pub(crate) fn address_dependent() -> Config {
    let mut c = config();
    c.nat.filtering = Filtering::AddressDependent;
    c
}

pub(crate) fn with_workers(c: &Config, n: usize) -> Bed<Nat64> {
    let workers = (0..n).map(|w| Nat64::new(c.clone(), w, n, 42).unwrap()).collect();
    Bed::gateway(workers, [Nat64::STEER_CUSTOMER, Nat64::STEER_INTERNET], [6, 4])
}

pub(crate) fn nat64(c: &Config) -> Bed<Nat64> {
    with_workers(c, 1)
}

pub(crate) fn nat64_with(change: impl FnOnce(&mut Config)) -> Bed<Nat64> {
    let mut c = config();
    change(&mut c);
    nat64(&c)
}

pub(crate) fn both_mappings(c: Config) -> [Config; 2] {
    let nat = c.nat.clone().per_connection();
    [c.clone(), Config { nat, ..c }]
}

/// The outside end point that a customer's end point gets towards a remote one.
pub(crate) fn map(g: &mut Bed<Nat64>, from: At, to: At) -> At {
    g.seen_out(&udp(from, (x(to.0), to.1))).from
}
