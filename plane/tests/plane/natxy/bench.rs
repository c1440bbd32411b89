//! The NATs of these tests in their bed, and the addresses around them.

use plane::nat66::{Config, Nat66};
use plane::{Pool6, Side6};
use std::net::{IpAddr, Ipv6Addr};
use testbed::prelude::*;
use wire::Mac;

pub(crate) const A: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0xa));
pub(crate) const B: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0xb));
pub(crate) const REMOTE: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 7));
pub(crate) const OTHER: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 8));
pub(crate) const POOL: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1));
/// The gateway's own addresses.
pub(crate) const LEFT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xfffe, 0, 0, 0, 0, 1);
pub(crate) const RIGHT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1);

pub(crate) fn side(mac: [u8; 6], hop: [u8; 6], address: Ipv6Addr) -> Side6 {
    Side6 { mac: Mac(mac), next_hop: Mac(hop), address, mtu: 1500 }
}

pub(crate) fn pool(text: &str) -> Pool6 {
    Pool6::new(prefix6(text)).unwrap()
}

pub(crate) fn config() -> Config {
    let customer = side(CUSTOMER_MAC, CUSTOMER_HOP, LEFT);
    let internet = side(INTERNET_MAC, INTERNET_HOP, RIGHT);
    let mut c = Config::new(customer, internet, pool("2001:db8:2::1/128"));
    c.nat.sessions = 4096;
    (c.customers, c.remotes) = (256, 256);
    c
}

pub(crate) fn with_workers(c: &Config, n: usize) -> Bed<Nat66> {
    let workers = (0..n).map(|w| Nat66::new(c.clone(), w, n, 42).unwrap()).collect();
    Bed::readdressing(workers, [Nat66::STEER_CUSTOMER, Nat66::STEER_INTERNET], [6, 6])
}

pub(crate) fn nat66(c: &Config) -> Bed<Nat66> {
    with_workers(c, 1)
}

pub(crate) fn nat66_with(change: impl FnOnce(&mut Config)) -> Bed<Nat66> {
    let mut c = config();
    change(&mut c);
    nat66(&c)
}
