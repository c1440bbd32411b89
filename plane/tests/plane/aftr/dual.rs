//! B4 and AFTR in one gateway of several workers, a stateful function of the tests. The B4 is one softwire of one worker, so other
//! workers' B4s hand every packet over in the middle of its way.

use crate::aftr::set_up::{AFTR6, POOL};
use plane::Side::Internet;
use plane::aftr::{Aftr, Config};
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::tunnel::{self, OneTunnel, Tunnel};
use plane::{Chain, Side4, Side6};
use std::net::{Ipv4Addr, Ipv6Addr};
use testbed::prelude::*;
use wire::{AddrRange, Mac};

pub(crate) type Dual = Chain<Tunnel<OneTunnel>, Aftr>;

const B4: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 2);

/// The two edges of a worker, and the link between them.
pub(crate) fn worker(
    change: &dyn Fn(&mut plane::nat44::config::Config),
    worker: usize,
    workers: usize,
) -> Result<Dual, String> {
    let side4 = |mac, next_hop, address: [u8; 4]| Side4 { mac, next_hop, address: address.into(), mtu: 1500 };
    let side6 = |mac, next_hop, address| Side6 { mac, next_hop, address, mtu: u16::MAX };
    let left = side4(Mac(CUSTOMER_MAC), Mac(CUSTOMER_HOP), [192, 168, 1, 1]);
    let right = side4(Mac(INTERNET_MAC), Mac(INTERNET_HOP), [192, 0, 2, 254]);
    let between = [side6(CUSTOMER_HALF, INTERNET_HALF, B4), side6(INTERNET_HALF, CUSTOMER_HALF, AFTR6)];
    let b4 = tunnel::Config {
        inner_address: Ipv4Addr::new(192, 0, 0, 2),
        ..tunnel::Config::new(Internet, left, between[0])
    };
    let b4 = Tunnel::new(b4, OneTunnel::new(B4, AFTR6), worker as u16, workers as u16, 42).unwrap();
    let pool = vec![AddrRange { first: v4(POOL).into(), count: 1 }];
    let mut aftr = Config::new(between[1], right, pool);
    aftr.nat.sessions = 4096;
    change(&mut aftr.nat);
    aftr.customers = 256;
    let aftr = Aftr::new(aftr, worker, workers, 42).map_err(|e| e.to_string())?;
    Ok(Chain::new(("ce", b4), ("pe", aftr), workers, 42))
}
