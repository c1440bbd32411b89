//! The NAT44 of the tests in its bed. Every frame that leaves it is judged.

pub use crate::common::{Frame, Made, SECOND};

use crate::common::{Bed, judge_ethernet};
use crate::packets::*;
use plane::Side;
use plane::nat44::Nat44;
use plane::nat44::config::{Config, SideConfig};
use std::ops::{Deref, DerefMut};
use wire::{AddrRange, Mac, Prefix4};

pub fn config() -> Config {
    let side = |mac, hop, address: [u8; 4]| SideConfig {
        mac: Mac(mac),
        next_hop: Mac(hop),
        address: address.into(),
        mtu: 1500,
    };
    let mut c = Config::new(
        side(CUSTOMER_MAC, CUSTOMER_HOP, [10, 255, 255, 1]),
        side(INTERNET_MAC, INTERNET_HOP, [192, 0, 2, 254]),
        vec![Prefix4 { addr: [10, 0, 0, 0].into(), len: 8 }],
        vec![AddrRange::one(POOL.into())],
    );
    c.sessions = 4096;
    c
}

/// The bed with its two directions.
pub struct Gateway(Bed<Nat44>);

impl Deref for Gateway {
    type Target = Bed<Nat44>;
    fn deref(&self) -> &Bed<Nat44> {
        &self.0
    }
}

impl DerefMut for Gateway {
    fn deref_mut(&mut self) -> &mut Bed<Nat44> {
        &mut self.0
    }
}

impl Gateway {
    #[allow(clippy::needless_pass_by_value, reason = "most tests make a configuration for one gateway")]
    pub fn new(config: Config) -> Gateway {
        Gateway::with_workers(&config, 1)
    }

    pub fn with_workers(config: &Config, n: usize) -> Gateway {
        let workers = (0..n).map(|w| Nat44::new(config.clone(), w, n, 42).unwrap()).collect();
        Gateway(Bed::new(workers, [Nat44::STEER_CUSTOMER, Nat44::steer_ports(36, config.port_set, n)], |side, f| {
            let (own, hop) = match side {
                Side::Customer => (CUSTOMER_MAC, CUSTOMER_HOP),
                Side::Internet => (INTERNET_MAC, INTERNET_HOP),
            };
            judge_ethernet(f, own, hop);
            judge(f);
        }))
    }

    /// Let all background work be done.
    pub fn idle(&mut self) {
        self.0.idle(100);
    }

    /// Send one frame from a customer that must come out at the Internet alone.
    #[track_caller]
    pub fn out(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Customer, Side::Internet, frame)
    }

    /// Send one frame from the Internet that must come out at the customers alone.
    #[track_caller]
    pub fn back(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Internet, Side::Customer, frame)
    }

    /// Open a UDP flow and give the outside end point.
    #[track_caller]
    pub fn map(&mut self, from: At, to: At) -> At {
        judge(&self.out(&udp(from, to))).from
    }
}
