//! Sequences of IPv4 frames into customer edge and provider edge in a row, with one to three workers: chains in chains, as a
//! gateway has them (464XLAT, DS-Lite, MAP-E). See `natmeter_fuzz::bench` for what must hold.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::bench::{self, Setup, Step};
use natmeter_fuzz::build::{CUSTOMER, INTERNET};
use natmeter_fuzz::ip6;
use plane::aftr::{self, Aftr};
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::map::{Domain, MapEBr, MapECe};
use plane::nat44::{self, Nat44};
use plane::nat64::{self, Nat64};
use plane::translate::{self, Clat, Hosts, Pref64, Translate};
use plane::tunnel::{self, OneTunnel, Tunnel};
use plane::{Chain, Function, Prefix6, Side, Side4, Side6};
use std::sync::Arc;
use wire::{AddrRange, Mac, PortRange};

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Technology {
    Xlat464,
    DsLite,
    MapE,
}

#[derive(Arbitrary, Debug)]
struct Input {
    technology: Technology,
    workers: u8,
    sessions: u8,
    mtu: [u8; 2],
    steps: Vec<Step>,
}

/// The links of a pair of edges: outside ones, and both ends of the IPv6 link between them.
#[derive(Clone, Copy)]
struct Links {
    left: Side4,
    right: Side4,
    ce: Side6,
    pe: Side6,
    sessions: u64,
    workers: usize,
}

const SEED: u64 = 7;

impl Links {
    fn pool() -> Vec<AddrRange> {
        vec![AddrRange { first: [192, 0, 2, 0].into(), count: 2 }]
    }

    fn xlat464(self, w: usize) -> Chain<Translate<Clat>, Nat64> {
        let prefix = |text: &str| Prefix6 { addr: ip6(text), len: 96 };
        let known = |text| Pref64::new(prefix(text), true).expect("a length of RFC 6052");
        let clat = Clat::new(Hosts::Prefix(known("2001:2:0:2::")), known("2001:2:0:1000::")).expect("two prefixes");
        let config = translate::Config::new(Side::Internet, self.left, self.ce);
        let mut plat = nat64::Config::new(self.pe, self.right, prefix("2001:2:0:1000::"), Links::pool());
        plat.nat.sessions = self.sessions;
        plat.customers = 4;
        let plat = Nat64::new(plat, w, self.workers, SEED).expect("valid");
        Chain::new(("ce", Translate::new(config, clat).expect("valid")), ("pe", plat), self.workers, SEED)
    }

    fn ds_lite(self, w: usize) -> Chain<Tunnel<OneTunnel>, Aftr> {
        let (b4, end) = (ip6("2001:2:0:4000::1"), ip6("2001:2:0:100::2"));
        let config = tunnel::Config::new(Side::Internet, self.left, self.ce);
        let b4 = Tunnel::new(config, OneTunnel::new(b4, end), 0, 1, SEED).expect("valid");
        let mut config = aftr::Config::new(Side6 { address: end, ..self.pe }, self.right, Links::pool());
        config.nat.sessions = self.sessions;
        config.customers = 4;
        Chain::new(("ce", b4), ("pe", Aftr::new(config, w, self.workers, SEED).expect("valid")), self.workers, SEED)
    }

    fn map_e(self, w: usize) -> Chain<Chain<Nat44, Tunnel<MapECe>>, Tunnel<MapEBr>> {
        let (own, of) = (w as u16, self.workers as u16);
        let domain = Arc::new(Domain::parse("2001:2:1::/53 192.0.2.0/24 11 offset=0\n").expect("a right rule"));
        let (customer, relay) = (domain.mapping(0).nth(1), ip6("2001:2:0:100::2"));
        let alone = Arc::new(Domain::new(Vec::new()).expect("no rules"));
        let pool = customer.pool();
        let inner = |mac, next_hop, address| Side4 { mac, next_hop, address, mtu: self.ce.mtu - 40 };
        let mut nat = nat44::config::Config::new(
            self.left,
            inner(CUSTOMER_HALF, INTERNET_HALF, pool.first),
            vec![nat44::config::Prefix { addr: [10, 0, 0, 0].into(), len: 8 }],
            vec![pool],
        );
        nat.ports = PortRange { first: 1, last: 65_535 };
        nat.port_set = customer.ports;
        nat.sessions = self.sessions;
        let nat = Nat44::new(nat, w, self.workers, SEED).expect("valid");
        let near = inner(INTERNET_HALF, CUSTOMER_HALF, [10, 0, 0, 254].into());
        let config = tunnel::Config { hop: false, ..tunnel::Config::new(Side::Internet, near, self.ce) };
        let edge = MapECe::new(customer, relay, alone).expect("apart");
        let edge = Tunnel::new(config, edge, own, of, SEED).expect("valid");
        let ce = Chain::new(("nat44", nat), ("tunnel", edge), self.workers, SEED);
        let config = tunnel::Config::new(Side::Customer, self.right, self.pe);
        let br = Tunnel::new(config, MapEBr::new(domain, relay).expect("apart"), own, of, SEED).expect("valid");
        Chain::new(("ce", ce), ("pe", br), self.workers, SEED)
    }
}

fn run<F: Function + 'static>(links: Links, steps: &[Step], one: fn(Links, usize) -> F) {
    let make = move || (0..links.workers).map(|w| one(links, w)).collect();
    let limits = |w: &F| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= 256 + 1024 + 64);
    };
    bench::run(&Setup { make: Box::new(make), ipv6: None, known: vec![1], limits }, steps);
}

fuzz_target!(|input: Input| {
    let [left, right] = input.mtu.map(|m| [1500, 576, 1300, 9000][usize::from(m & 3)]);
    let outer =
        |(own, hop), address: [u8; 4], mtu| Side4 { mac: Mac(own), next_hop: Mac(hop), address: address.into(), mtu };
    let inner = |mac, next_hop, address| Side6 { mac, next_hop, address: ip6(address), mtu: 1500 };
    let links = Links {
        left: outer(CUSTOMER, [10, 0, 0, 254], left),
        right: outer(INTERNET, [198, 18, 0, 254], right),
        ce: inner(CUSTOMER_HALF, INTERNET_HALF, "2001:2:0:100::1"),
        pe: inner(INTERNET_HALF, CUSTOMER_HALF, "2001:2:0:100::3"),
        sessions: 1 + u64::from(input.sessions),
        workers: usize::from(input.workers % 3) + 1,
    };
    match input.technology {
        Technology::Xlat464 => run(links, &input.steps, Links::xlat464),
        Technology::DsLite => run(links, &input.steps, Links::ds_lite),
        Technology::MapE => run(links, &input.steps, Links::map_e),
    }
});
