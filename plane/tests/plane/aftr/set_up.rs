//! The AFTR of the tests, the addresses around it, and tunnel packets.

use plane::aftr::{Aftr, Config};
use plane::{Side4, Side6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testbed::prelude::*;
use wire::{AddrRange, Mac};

pub(crate) const POOL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(crate) const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
pub(crate) const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 8));
/// The same address in every home.
pub(crate) const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 10));
pub(crate) const AFTR6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1);
pub(crate) const AFTR4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 0, 1));

/// The far end of softwire number `i`.
pub(crate) fn b4(i: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits((0x2001_0db8u128 << 96) | u128::from(i) << 64 | 1)
}

pub(crate) fn config() -> Config {
    let customer = Side6 { mac: Mac(CUSTOMER_MAC), next_hop: Mac(CUSTOMER_HOP), address: AFTR6, mtu: 1500 };
    let gateway = Ipv4Addr::new(192, 0, 2, 254);
    let internet = Side4 { mac: Mac(INTERNET_MAC), next_hop: Mac(INTERNET_HOP), address: gateway, mtu: 1500 };
    let pool = vec![AddrRange { first: Ipv4Addr::from(v4(POOL)), count: 1 }];
    let mut c = Config::new(customer, internet, pool);
    c.nat.sessions = 4096;
    c.customers = 256;
    c
}

pub(crate) fn with_workers(c: &Config, n: usize) -> Bed<Aftr> {
    let workers = (0..n).map(|w| Aftr::new(c.clone(), w, n, 42).unwrap()).collect();
    Bed::gateway(workers, [Aftr::STEER_CUSTOMER, Aftr::STEER_INTERNET], [6, 4])
}

pub(crate) fn aftr(c: &Config) -> Bed<Aftr> {
    with_workers(c, 1)
}

pub(crate) fn aftr_with(change: impl FnOnce(&mut Config)) -> Bed<Aftr> {
    let mut c = config();
    change(&mut c);
    aftr(&c)
}

/// Put the IPv4 packet of a frame into a tunnel between two IPv6 addresses.
pub(crate) fn between(src: Ipv6Addr, dst: Ipv6Addr, frame: &[u8]) -> Vec<u8> {
    let inner = &frame[14..];
    let mut f = Vec::with_capacity(54 + inner.len());
    f.extend_from_slice(&CUSTOMER_MAC);
    f.extend_from_slice(&CUSTOMER_HOP);
    f.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0]);
    f.extend_from_slice(&(inner.len() as u16).to_be_bytes());
    f.extend_from_slice(&[4, 64]);
    f.extend_from_slice(&src.octets());
    f.extend_from_slice(&dst.octets());
    f.extend_from_slice(inner);
    f
}

/// The same from a B4 to the AFTR.
pub(crate) fn wrap(end: Ipv6Addr, frame: &[u8]) -> Vec<u8> {
    between(end, AFTR6, frame)
}

/// The ends of a tunnel packet, and what is inside as a frame.
pub(crate) fn unwrap(frame: &[u8]) -> (Ipv6Addr, Ipv6Addr, Vec<u8>) {
    let address = |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&frame[at..at + 16]).unwrap());
    assert_eq!(frame[20], 4, "IPv4 inside");
    let end = 54 + usize::from(u16::from_be_bytes([frame[18], frame[19]]));
    let mut inner = frame[..14].to_vec();
    inner[12..14].copy_from_slice(&[8, 0]);
    inner.extend_from_slice(&frame[54..end]);
    (address(22), address(38), inner)
}

/// The outside end point that a customer's end point gets.
#[track_caller]
pub(crate) fn map(g: &mut Bed<Aftr>, end: Ipv6Addr, from: At) -> At {
    g.seen_out(&wrap(end, &udp(from, (REMOTE, 80)))).from
}

/// What a frame from the Internet becomes: the softwire, and the packet inside.
#[track_caller]
pub(crate) fn arrives(g: &mut Bed<Aftr>, frame: &[u8]) -> (Ipv6Addr, Header) {
    let f = g.back(frame);
    let (src, dst, inner) = unwrap(&f);
    assert_eq!(src, AFTR6);
    (dst, judge(&inner))
}
