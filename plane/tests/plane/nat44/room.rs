//! No new customer is refused while an outside address has room, and no mapping with arbitrary
//! pooling (RFC 4787, REQ-2; RFC 6888, REQ-2): random pools, static mappings, blocks and workers,
//! beside a model that knows who has which port.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::Customer;
use plane::nat44::config::{Blocks, Config, Pooling};
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use wire::{AddrRange, PortRange};

/// Numbers that look random (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) % n
    }

    fn often(&mut self) -> bool {
        self.below(2) == 0
    }
}

fn some(draw: &mut Draw) -> (Config, usize) {
    let (workers, blocks) = (1 + draw.below(3) as usize, draw.often());
    let mut c = config();
    let mut first = u32::from(POOL4);
    c.pool.clear();
    for _ in 0..=draw.below(3) {
        let count = 1 + draw.below(3) as u32;
        c.pool.push(AddrRange { first: Ipv4Addr::from(first), count });
        first += count + draw.below(5) as u32;
    }
    let ports = if workers == 1 && !blocks { 1 + draw.below(12) as u16 } else { 64 * (1 + draw.below(6) as u16) };
    let from = [512, 960, 2048][draw.below(3) as usize];
    c.ports = PortRange { first: from, last: from + ports - 1 };
    c.port_reuse_delay = Duration::from_secs([0, 120][draw.below(2) as usize]);
    c.preserve_port = draw.often();
    c.preserve_parity = draw.often();
    if blocks {
        c.blocks = Some(Blocks { size: 64, per_subscriber: 1 + draw.below(2) as u16 });
    } else if draw.often() {
        c.pooling = Pooling::Arbitrary;
    }
    let all: Vec<u32> = c.pool.iter().flat_map(|r| (0..r.count).map(|i| u32::from(r.first) + i)).collect();
    for (i, address) in all.into_iter().enumerate() {
        let (outside, inside) = (Ipv4Addr::from(address), Ipv4Addr::new(10, 200, 0, i as u8));
        let more = match draw.below(3) {
            0 => continue,
            1 => draw.below(u64::from(ports)) as u16,
            _ => ports - 1,
        };
        let range = format!("{from}-{}", from + more);
        c.statics.push(format!("udp {outside}:{range} -> {inside}:{range}").parse().unwrap());
    }
    (c, workers)
}

/// Seconds after which a freed port surely has rested.
const RESTED: u64 = 250;

struct Model {
    config: Config,
    workers: usize,
    live: HashMap<(Ipv4Addr, u16), Ipv4Addr>,
    freed: HashMap<(Ipv4Addr, u16), u64>,
}

impl Model {
    fn is_free(&self, end: (Ipv4Addr, u16), now: u64) -> bool {
        let is_static = |m: &plane::nat44::config::StaticMapping| {
            m.outside == end.0 && (m.outside_ports.first..=m.outside_ports.last).contains(&end.1)
        };
        let rests = |at: &u64| !self.config.port_reuse_delay.is_zero() && now < at + RESTED;
        !self.live.contains_key(&end)
            && !self.freed.get(&end).is_some_and(rests)
            && !self.config.statics.iter().any(is_static)
    }

    /// A port that a new customer could get at this worker.
    fn room(&self, worker: usize, now: u64) -> Option<(Ipv4Addr, u16)> {
        let owned: HashSet<(Ipv4Addr, u16)> = match self.config.blocks {
            Some(_) => self.live.keys().map(|(a, p)| (*a, p / 64)).collect(),
            None => HashSet::new(),
        };
        let ports = self.config.ports.first..=self.config.ports.last;
        let of_worker = ports.filter(|p| usize::from(p >> 6) % self.workers == worker);
        let addresses =
            self.config.pool.iter().flat_map(|r| (0..r.count).map(|i| Ipv4Addr::from(u32::from(r.first) + i)));
        let ends = addresses.flat_map(|a| of_worker.clone().map(move |p| (a, p)));
        ends.filter(|(a, p)| !owned.contains(&(*a, p / 64))).find(|end| self.is_free(*end, now))
    }

    fn has(&self, customer: Ipv4Addr) -> Option<Ipv4Addr> {
        self.live.iter().find(|(_, c)| **c == customer).map(|(end, _)| end.0)
    }
}

#[test]
fn rfc4787_req2_no_new_customer_is_refused_while_an_address_has_room() {
    let (mut refused, mut moved) = (0, HashSet::new());
    for seed in 0..300 {
        let mut draw = Draw(seed);
        let (config, workers) = some(&mut draw);
        let arbitrary = config.pooling == Pooling::Arbitrary;
        let mut g = with_workers(&config, workers);
        let mut m = Model { config, workers, live: HashMap::new(), freed: HashMap::new() };
        let customers = 1 + draw.below(60) as u32;
        for flow in 0..150u16 {
            if draw.below(60) == 0 {
                g.wait(301);
                g.idle(1);
                let now = g.now / SECOND;
                m.freed.extend(m.live.drain().map(|(end, _)| (end, now)));
            }
            g.wait(draw.below(3));
            let customer = Ipv4Addr::from(0x0a00_0000 + draw.below(customers.into()) as u32);
            // Both classes of ports (RFC 4787, REQ-3a).
            let port = if draw.often() { 100 } else { 3000 } + flow;
            let frame = udp((IpAddr::from(customer), port), (REMOTE, 80));
            let (worker, now) = (g.steered(Customer, &frame), g.now / SECOND);
            let before = g.count("no-port");
            let out = g.send(Customer, &frame);
            let old = m.has(customer).filter(|_| !arbitrary);
            if g.count("no-port") > before {
                refused += 1;
                let room = m.room(worker, now).filter(|_| old.is_none());
                assert_eq!(
                    room, None,
                    "seed {seed}, flow {flow}: {customer} refused by worker {worker}: {:?}",
                    m.config
                );
                continue;
            }
            let (IpAddr::V4(address), port) = judge(&out[0].1).from else { panic!("IPv4") };
            assert!(old.is_none_or(|old| old == address), "seed {seed}, flow {flow}: pooling is paired");
            assert_eq!(m.live.insert((address, port), customer), None, "seed {seed}: taken");
            moved.insert((seed, address));
        }
    }
    assert!(refused > 1000 && moved.len() > 500, "the test meets both: {refused}, {}", moved.len());
}

/// Each of 50 customers of two addresses, one of which has only static mappings (RFC 4787, REQ-2).
#[test]
fn addresses_without_ports_for_customers_are_passed_over() {
    for per_connection in [false, true] {
        let mut c = if per_connection { config().per_connection() } else { config() };
        c.pool = vec![AddrRange { first: POOL4, count: 40 }];
        c.statics =
            (0..39).map(|i| format!("udp 192.0.2.{}:1-65535 -> 10.9.9.{i}:1-65535", i + 1).parse().unwrap()).collect();
        let mut g = gateway(c);
        for host in 0..50 {
            assert_eq!(g.map(([10, 0, 0, host], 4000), (REMOTE, 80)).0, ip("192.0.2.40"));
        }
    }
}
