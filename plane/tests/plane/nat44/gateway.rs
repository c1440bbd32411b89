//! The NAT44 of the tests in its bed. Every frame that leaves it is judged.

pub(crate) use testbed::SECOND;

use crate::nat44::packets::*;
use plane::nat44::Nat44;
use plane::nat44::config::{Config, SideConfig};
use testbed::{Bed, Link};
use wire::{AddrRange, Mac};

pub(crate) type Gateway = Bed<Nat44>;

pub(crate) fn config() -> Config {
    let side = |link: Link, address: [u8; 4]| SideConfig {
        mac: Mac(link.own),
        next_hop: Mac(link.hop),
        address: address.into(),
        mtu: 1500,
    };
    let mut c = Config::new(
        side(CUSTOMER, [10, 255, 255, 1]),
        side(INTERNET, [192, 0, 2, 254]),
        vec![prefix4("10.0.0.0/8")],
        vec![AddrRange::one(POOL4)],
    );
    c.sessions = 4096;
    c
}

#[allow(clippy::needless_pass_by_value, reason = "most tests make a configuration for one gateway")]
pub(crate) fn gateway(config: Config) -> Gateway {
    with_workers(&config, 1)
}

pub(crate) fn gateway_with(change: impl FnOnce(&mut Config)) -> Gateway {
    let mut c = config();
    change(&mut c);
    gateway(c)
}

pub(crate) fn with_workers(config: &Config, n: usize) -> Gateway {
    let workers = (0..n).map(|w| Nat44::new(config.clone(), w, n, 42).unwrap()).collect();
    Bed::gateway(workers, [Nat44::STEER_CUSTOMER, Nat44::steer_ports(36, config.port_set, n)], [4, 4])
}
