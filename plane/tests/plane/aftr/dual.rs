//! B4 and AFTR in one gateway of several workers. The B4 is one softwire of one worker, so other workers' B4s hand
//! every packet over in the middle of its way.

use crate::aftr::set_up::{AFTR6, HOST, OTHER, POOL, REMOTE};
use plane::Side::{Customer, Internet};
use plane::aftr::{Aftr, Config};
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::nat44::Nat44;
use plane::tunnel::{self, OneTunnel, Tunnel};
use plane::{Chain, Function, Side4, Side6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testbed::prelude::*;
use wire::{AddrRange, Mac};

type Dual = Chain<Tunnel<OneTunnel>, Aftr>;

const B4: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 2);

/// The two edges of a worker, and the link between them.
fn worker(worker: usize, workers: usize) -> Dual {
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
    aftr.customers = 256;
    let aftr = Aftr::new(aftr, worker, workers, 42).unwrap();
    Chain::new(("ce", b4), ("pe", aftr), workers, 42)
}

fn dual(workers: usize, misled: bool) -> Bed<Dual> {
    let all = (0..workers).map(|w| worker(w, workers)).collect();
    let mut g = Bed::gateway(all, [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET], [4, 4]);
    g.misled = misled;
    g
}

fn left(frame: &[u8]) -> Vec<u8> {
    CUSTOMER.arriving(frame)
}

/// One, two and three workers, steered as links are and wrongly.
fn all(test: impl Fn(&mut Bed<Dual>)) {
    for workers in 1..=3 {
        for misled in [false, true] {
            let mut g = dual(workers, misled && workers > 1);
            test(&mut g);
            let with_state = g.workers.iter().filter(|w| w.entries().unwrap().0 > 0).count();
            assert_eq!(with_state, 1, "{workers} workers: one has the softwire");
        }
    }
}

fn host(i: u8) -> IpAddr {
    Ipv4Addr::new(192, 168, 1, i).into()
}

#[test]
fn flows_of_many_hosts_go_out_and_come_back() {
    all(|g| {
        for i in 0..120u16 {
            let from = (host(10 + (i % 40) as u8), 5000 + i);
            let outside = judge(&g.pass(Customer, Internet, &left(&udp(from, (REMOTE, 80))))).from;
            assert_eq!(outside.0, POOL);
            assert_eq!(judge(&g.pass(Internet, Customer, &udp((REMOTE, 80), outside))).to, from);
            let out = judge(&g.pass(Customer, Internet, &left(&tcp(from, (OTHER, 443), "S")))).from;
            assert_eq!(judge(&g.pass(Internet, Customer, &tcp((OTHER, 443), out, "SA"))).to, from);
        }
        assert_eq!(g.entries().0, 240);
    });
}

#[test]
fn echoes_find_back() {
    all(|g| {
        for id in 1..60 {
            let out = judge(&g.pass(Customer, Internet, &left(&echo(HOST, REMOTE, id, true)))).from;
            assert_eq!(judge(&g.pass(Internet, Customer, &echo(REMOTE, POOL, out.1, false))).to, (HOST, id));
        }
    });
}

/// In both orders; the answer's too.
#[test]
fn fragments_meet_wherever_they_arrive() {
    all(|g| {
        for i in 1..40u16 {
            let from = (HOST, 6000 + i);
            let mut parts = fragments(&udp_with(from, (REMOTE, 80), 64, &[7; 400]), &[200], i.into());
            if i % 2 == 0 {
                parts.reverse();
            }
            let out: Vec<_> = parts.iter().flat_map(|p| g.send(Customer, &left(p))).map(|o| o.1).collect();
            assert_eq!(out.len(), 2, "{:?}", g.nonzero());
            let outside = judge(&reassemble(&out)).from;
            let mut parts = fragments(&udp_with((REMOTE, 80), outside, 64, &[7; 400]), &[200], i.into());
            if i % 3 == 0 {
                parts.reverse();
            }
            let back: Vec<_> = parts.iter().flat_map(|p| g.send(Internet, p)).map(|o| o.1).collect();
            assert_eq!(back.len(), 2, "{:?}", g.nonzero());
            assert_eq!(judge(&reassemble(&back)).to, from);
        }
    });
}

#[test]
fn hosts_of_the_customer_reach_each_other_by_outside_addresses() {
    all(|g| {
        for i in 0..40u16 {
            let (a, b) = ((host(10), 5000 + i), (host(11), 6000 + i));
            let outside = judge(&g.pass(Customer, Internet, &left(&udp(b, (REMOTE, 80))))).from;
            let seen = judge(&g.pass(Customer, Customer, &left(&udp(a, outside))));
            assert_eq!((seen.to, seen.from.0), (b, POOL));
        }
    });
}

#[test]
fn errors_find_back() {
    all(|g| {
        for i in 0..40u16 {
            let from = (HOST, 5000 + i);
            let out = g.pass(Customer, Internet, &left(&udp(from, (REMOTE, 80))));
            let e = g.pass(Internet, Customer, &error(OTHER, POOL, 3, 1, &out, 100));
            assert_eq!((judge(&e).to.0, quote_of(&e).from, icmp_type(&e)), (HOST, from, (3, 1)));
        }
    });
}
