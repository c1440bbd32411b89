//! The functions under test. Their types have the names of the tests.

#![allow(non_camel_case_types, reason = "the name of a type is that of a test")]

use super::{Setup, Stateful};
use crate::aftr::{dual, set_up as tunnels};
use crate::{nat44 as four, nat64 as six, natxy};
use plane::Steering;
use plane::nat44::Nat44;
use plane::nat46::Config as Nat46;
use plane::nat64::Nat64;
use plane::nat66::Nat66;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testbed::Tunnels;
use testbed::prelude::*;

pub(super) type nat44 = Nat44;
pub(super) type nat64 = Nat64;
pub(super) type nat66 = Nat66;
pub(super) type nat46 = plane::nat46::Nat46;
pub(super) type ds_lite = dual::Dual;
pub(super) type aftr = plane::aftr::Aftr;

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn same<const N: usize>(kinds: [(u8, u8); N]) -> [[(u8, u8); 2]; N] {
    let mut all = [[(0, 0); 2]; N];
    let mut n = 0;
    while n < N {
        all[n] = [kinds[n]; 2];
        n += 1;
    }
    all
}

impl Stateful for nat44 {
    const VERSIONS: [u8; 2] = [4, 4];
    const STEERING: [Steering; 2] = [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET];
    const NAT: &'static str = "";
    const OWN: [IpAddr; 2] = [v4(10, 255, 255, 1), v4(192, 0, 2, 254)];
    const A: IpAddr = four::packets::A;
    const B: IpAddr = four::packets::B;
    const ROUTER: IpAddr = v4(10, 0, 7, 7);
    const POOL: IpAddr = four::packets::POOL;
    const REMOTE: IpAddr = four::packets::REMOTE;
    const OTHER: IpAddr = four::packets::OTHER;
    const ERRORS_IN: &'static [[(u8, u8); 2]] = &same([(3, 0), (3, 1), (3, 4), (11, 0), (12, 0)]);
    const ERRORS_OUT: &'static [[(u8, u8); 2]] = &same([(3, 3)]);

    fn worker(setup: &Setup, worker: usize) -> Result<Self, String> {
        let mut c = four::gateway::config();
        (setup.nat)(&mut c);
        c.statics = setup.statics::<Self, _>();
        Nat44::new(c, worker, setup.workers, 42).map_err(|e| e.to_string())
    }

    fn customer(i: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a01_0000 + i).into()
    }
}

impl Stateful for nat64 {
    const VERSIONS: [u8; 2] = [6, 4];
    const STEERING: [Steering; 2] = [Nat64::STEER_CUSTOMER, Nat64::STEER_INTERNET];
    const NAT: &'static str = "nat44.";
    const OWN: [IpAddr; 2] = [six::set_up::GATEWAY6, IpAddr::V4(six::set_up::GATEWAY4)];
    const A: IpAddr = six::set_up::A;
    const B: IpAddr = six::set_up::B;
    const ROUTER: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x77, 0, 0, 0, 0, 1));
    const POOL: IpAddr = six::set_up::POOL;
    const REMOTE: IpAddr = six::set_up::REMOTE;
    const OTHER: IpAddr = six::set_up::OTHER;
    /// As RFC 7915, section 4.2, translates them.
    const ERRORS_IN: &'static [[(u8, u8); 2]] =
        &[[(3, 1), (1, 0)], [(3, 3), (1, 4)], [(11, 0), (3, 0)], [(3, 13), (1, 1)]];
    /// As section 5.2 does.
    const ERRORS_OUT: &'static [[(u8, u8); 2]] =
        &[[(1, 0), (3, 1)], [(1, 4), (3, 3)], [(3, 0), (11, 0)], [(1, 1), (3, 10)]];

    fn worker(setup: &Setup, worker: usize) -> Result<Self, String> {
        let mut c = six::set_up::config();
        (setup.nat)(&mut c.nat);
        c.subscriber_prefix = setup.prefix.unwrap_or(c.subscriber_prefix);
        c.statics = setup.statics::<Self, _>();
        c.customers = if c.nat.sketch { 1 } else { c.customers };
        Nat64::new(c, worker, setup.workers, 42).map_err(|e| e.to_string())
    }

    fn customer(i: u32) -> IpAddr {
        host_of(0, i.into())
    }

    fn host(subscriber: u16, i: u8) -> IpAddr {
        host_of(subscriber.into(), i.into())
    }

    fn known(host: IpAddr) -> IpAddr {
        six::set_up::x(host)
    }

    fn numbered(&self) -> Option<u32> {
        Some(self.customers())
    }
}

impl Stateful for nat66 {
    const VERSIONS: [u8; 2] = [6, 6];
    const STEERING: [Steering; 2] = [Nat66::STEER_CUSTOMER, Nat66::STEER_INTERNET];
    const NAT: &'static str = "";
    const OWN: [IpAddr; 2] = [IpAddr::V6(natxy::bench::LEFT), IpAddr::V6(natxy::bench::RIGHT)];
    const A: IpAddr = natxy::bench::A;
    const B: IpAddr = natxy::bench::B;
    const ROUTER: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0x77));
    const POOL: IpAddr = natxy::bench::POOL;
    const REMOTE: IpAddr = natxy::bench::REMOTE;
    const OTHER: IpAddr = natxy::bench::OTHER;
    const ERRORS_IN: &'static [[(u8, u8); 2]] = &same([(1, 0), (1, 3), (1, 4), (3, 0)]);
    const ERRORS_OUT: &'static [[(u8, u8); 2]] = &same([(1, 0), (3, 0)]);

    fn worker(setup: &Setup, worker: usize) -> Result<Self, String> {
        let mut c = natxy::bench::config();
        (setup.nat)(&mut c.nat);
        c.subscriber_prefix = setup.prefix.unwrap_or(c.subscriber_prefix);
        Nat66::new(c, worker, setup.workers, 42).map_err(|e| e.to_string())
    }

    fn customer(i: u32) -> IpAddr {
        host_of(0, i.into())
    }

    fn host(subscriber: u16, i: u8) -> IpAddr {
        host_of(subscriber.into(), i.into())
    }

    fn is_bounded(&self) -> bool {
        self.config().fragments.allow(self.waiting())
    }

    fn numbered(&self) -> Option<u32> {
        Some(self.known()[0])
    }
}

impl Stateful for nat46 {
    const VERSIONS: [u8; 2] = [4, 6];
    const STEERING: [Steering; 2] = [Nat46::STEER_CUSTOMER, Nat46::STEER_INTERNET];
    const NAT: &'static str = "nat44.";
    const OWN: [IpAddr; 2] = [v4(198, 18, 255, 254), IpAddr::V6(natxy::bench::RIGHT)];
    const A: IpAddr = natxy::nat46::A;
    const B: IpAddr = natxy::nat46::B;
    const ROUTER: IpAddr = v4(198, 18, 0, 77);
    const POOL: IpAddr = natxy::bench::POOL;
    const REMOTE: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 7));
    const OTHER: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 8));
    const ERRORS_IN: &'static [[(u8, u8); 2]] = &[[(3, 0), (11, 0)], [(1, 4), (3, 3)]];
    const ERRORS_OUT: &'static [[(u8, u8); 2]] = &[[(3, 3), (1, 4)]];

    fn worker(setup: &Setup, worker: usize) -> Result<Self, String> {
        let mut c = natxy::nat46::config();
        (setup.nat)(&mut c.nat);
        c.build(worker, setup.workers, 42).map_err(|e| e.to_string())
    }

    fn customer(i: u32) -> IpAddr {
        Ipv4Addr::from_bits(0xc612_0100 + i).into()
    }

    /// The explicit maps of the tests.
    fn known(host: IpAddr) -> IpAddr {
        let IpAddr::V6(host) = host else { panic!("{host} is no address of the Internet") };
        v4(198, 19, 0, host.octets()[15])
    }
}

/// B4 and AFTR, whose customers are behind one softwire.
impl Stateful for ds_lite {
    const VERSIONS: [u8; 2] = [4, 4];
    const STEERING: [Steering; 2] = [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET];
    const NAT: &'static str = "pe.nat44.";
    const HOPS: [u8; 2] = [2, 3];
    const OWN: [IpAddr; 2] = [tunnels::AFTR4, v4(192, 0, 2, 254)];
    const A: IpAddr = tunnels::HOST;
    const B: IpAddr = v4(192, 168, 1, 11);
    const ROUTER: IpAddr = v4(192, 168, 1, 77);
    const POOL: IpAddr = tunnels::POOL;
    const REMOTE: IpAddr = tunnels::REMOTE;
    const OTHER: IpAddr = tunnels::OTHER;
    const ERRORS_IN: &'static [[(u8, u8); 2]] = &same([(3, 1), (11, 0)]);
    const ERRORS_OUT: &'static [[(u8, u8); 2]] = &same([(3, 3)]);

    fn worker(setup: &Setup, worker: usize) -> Result<Self, String> {
        dual::worker(setup.nat, worker, setup.workers)
    }

    fn customer(i: u32) -> IpAddr {
        Ipv4Addr::from_bits(0xc0a8_0200 + i).into()
    }
}

/// The softwire of a home, whose number octets two and three of all addresses there are.
fn home(address: &[u8]) -> Ipv6Addr {
    tunnels::b4(u16::from_be_bytes([address[1], address[2]]).into())
}

/// The AFTR alone, whose customers are in different homes, each behind its softwire.
impl Stateful for aftr {
    const VERSIONS: [u8; 2] = [4, 4];
    const STEERING: [Steering; 2] = [aftr::STEER_CUSTOMER, aftr::STEER_INTERNET];
    const NAT: &'static str = "nat44.";
    const OWN: [IpAddr; 2] = [tunnels::AFTR4, v4(192, 0, 2, 254)];
    const A: IpAddr = tunnels::HOST;
    const B: IpAddr = v4(192, 168, 2, 11);
    const ROUTER: IpAddr = v4(192, 168, 1, 77);
    const POOL: IpAddr = tunnels::POOL;
    const REMOTE: IpAddr = tunnels::REMOTE;
    const OTHER: IpAddr = tunnels::OTHER;
    const ERRORS_IN: &'static [[(u8, u8); 2]] = &same([(3, 1), (11, 0)]);
    const ERRORS_OUT: &'static [[(u8, u8); 2]] = &same([(3, 3)]);

    fn worker(setup: &Setup, worker: usize) -> Result<Self, String> {
        let mut c = tunnels::config();
        (setup.nat)(&mut c.nat);
        c.statics = setup.statics::<Self, _>();
        c.customers = if c.nat.sketch { 1 } else { c.customers };
        aftr::new(c, worker, setup.workers, 42).map_err(|e| e.to_string())
    }

    fn bed(workers: Vec<Self>) -> Bed<Self> {
        let enter = |frame: &[u8]| tunnels::wrap(home(&frame[26..30]), frame);
        let leave = |frame: &[u8]| {
            let (from, to, inner) = tunnels::unwrap(frame);
            assert_eq!((from, to), (tunnels::AFTR6, home(&inner[30..34])), "ends of the softwire");
            inner
        };
        let mut g = Bed::readdressing(workers, Self::STEERING, [6, 4]);
        g.tunnels = Some(Tunnels { enter, leave });
        g
    }

    fn customer(i: u32) -> IpAddr {
        Self::host(i as u16, 20)
    }

    fn host(subscriber: u16, i: u8) -> IpAddr {
        let [a, b] = subscriber.to_be_bytes();
        v4(10, a, b, i)
    }

    fn written(host: IpAddr) -> String {
        format!("{} {host}", home(&testbed::prelude::v4(host)))
    }

    fn numbered(&self) -> Option<u32> {
        Some(self.customers())
    }
}
