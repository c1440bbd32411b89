//! The NATs of these tests in their bed, and the addresses around them.

use crate::common::{Bed, judge_ethernet};
use crate::packets::*;
use plane::nat66::{Config, Nat66};
use plane::{Function, Pool6, Side, Side6};
use std::net::{IpAddr, Ipv6Addr};
use std::ops::{Deref, DerefMut};
use wire::{Mac, Prefix6};

pub const A: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0xa));
pub const B: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0xb));
pub const REMOTE: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 7));
pub const OTHER: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 8));
/// The one outside address.
pub const POOL: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1));
/// The gateway's own addresses.
pub const LEFT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xfffe, 0, 0, 0, 0, 1);
pub const RIGHT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1);

/// A gateway in its bed. Frames get the Ethernet addresses of the side that they arrive at; every frame that leaves is judged.
pub struct Bench<F>(Bed<F>);

impl<F> Deref for Bench<F> {
    type Target = Bed<F>;
    fn deref(&self) -> &Bed<F> {
        &self.0
    }
}

impl<F> DerefMut for Bench<F> {
    fn deref_mut(&mut self) -> &mut Bed<F> {
        &mut self.0
    }
}

fn macs(side: Side) -> ([u8; 6], [u8; 6]) {
    if side == Side::Customer { (CUSTOMER_MAC, CUSTOMER_HOP) } else { (INTERNET_MAC, INTERNET_HOP) }
}

/// A frame as it arrives at a side.
pub fn at(side: Side, frame: &[u8]) -> Vec<u8> {
    let (own, hop) = macs(side);
    [&own, &hop, &frame[12..]].concat()
}

impl<F: Function> Bench<F> {
    pub fn new(workers: Vec<F>, steering: [plane::Steering; 2]) -> Bench<F> {
        Bench(Bed::new(workers, steering, |side, f| {
            let (own, hop) = macs(side);
            judge_ethernet(f, own, hop);
            judge(f);
        }))
    }

    /// From a customer to the Internet.
    #[track_caller]
    pub fn out(&mut self, frame: &[u8]) -> Vec<u8> {
        self.0.pass(Side::Customer, Side::Internet, &at(Side::Customer, frame))
    }

    /// From the Internet to a customer.
    #[track_caller]
    pub fn back(&mut self, frame: &[u8]) -> Vec<u8> {
        self.0.pass(Side::Internet, Side::Customer, &at(Side::Internet, frame))
    }

    /// From one customer to another.
    #[track_caller]
    pub fn around(&mut self, frame: &[u8]) -> Vec<u8> {
        self.0.pass(Side::Customer, Side::Customer, &at(Side::Customer, frame))
    }

    /// What a customer's end point looks like to a remote one.
    #[track_caller]
    pub fn map(&mut self, from: At, to: At) -> At {
        judge(&self.out(&udp(from, to))).from
    }

    /// Whom a UDP packet from the Internet reaches.
    #[track_caller]
    pub fn reached(&mut self, from: At, to: At) -> At {
        judge(&self.back(&udp(from, to))).to
    }

    #[track_caller]
    pub fn drops(&mut self, from: Side, frame: &[u8], why: &str) {
        self.0.dropped(from, &at(from, frame), why);
    }

    #[track_caller]
    pub fn refuses(&mut self, from: Side, frame: &[u8], why: &str) -> Vec<u8> {
        self.0.refused(from, &at(from, frame), why)
    }

    /// Everything that comes out for these frames.
    pub fn all(&mut self, from: Side, frames: &[Vec<u8>]) -> Vec<(Side, Vec<u8>)> {
        let frames: Vec<_> = frames.iter().map(|f| at(from, f)).collect();
        self.0.send_all(from, &frames)
    }
}

pub fn side(mac: [u8; 6], hop: [u8; 6], address: Ipv6Addr) -> Side6 {
    Side6 { mac: Mac(mac), next_hop: Mac(hop), address, mtu: 1500 }
}

pub fn pool(text: &str) -> Pool6 {
    let (addr, len) = text.split_once('/').unwrap();
    Pool6::new(Prefix6 { addr: addr.parse().unwrap(), len: len.parse().unwrap() }).unwrap()
}

pub fn config() -> Config {
    let customer = side(CUSTOMER_MAC, CUSTOMER_HOP, LEFT);
    let internet = side(INTERNET_MAC, INTERNET_HOP, RIGHT);
    let mut c = Config::new(customer, internet, pool("2001:db8:2::1/128"));
    c.nat.sessions = 4096;
    (c.customers, c.remotes) = (256, 256);
    c
}

pub fn with_workers(c: &Config, n: usize) -> Bench<Nat66> {
    let workers = (0..n).map(|w| Nat66::new(c.clone(), w, n, 42).unwrap()).collect();
    Bench::new(workers, [Nat66::STEER_CUSTOMER, Nat66::STEER_INTERNET])
}

pub fn nat66(c: &Config) -> Bench<Nat66> {
    with_workers(c, 1)
}

/// Octets of a hexadecimal text.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().filter(|b| *b != b' ').map(|b| (b as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}
