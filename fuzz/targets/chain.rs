//! Sequences of IPv4 frames into customer edge and provider edge in a row, with one to three workers: chains in chains, as a
//! gateway has them (464XLAT, DS-Lite, MAP-E, lw4o6, MAP-T). See `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::aftr::{self, Aftr};
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::lw4o6::{Bindings, Live};
use plane::map::{Customer, Domain, MapEBr, MapECe, MapTBr, MapTCe};
use plane::nat44::{self, Nat44};
use plane::nat64::{self, Nat64};
use plane::translate::{self, Clat, Hosts, Pref64, Translate};
use plane::tunnel::{self, OneTunnel, Tunnel};
use plane::{Addressing, Chain, Side4, Side6, Softwires};
use std::sync::{Arc, OnceLock};
use wire::{Mac, PortRange, PortSet};

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Technology {
    Xlat464,
    DsLite,
    MapE,
    Lw4o6,
    MapT,
}

#[derive(Arbitrary, Debug)]
struct Input {
    technology: Technology,
    workers: u8,
    sessions: u8,
    mtu: [u8; 2],
    steps: Vec<BenchStep>,
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
        self.keep_small(&mut plat.nat);
        plat.customers = 4;
        let plat = Nat64::new(plat, w, self.workers, SEED).expect("valid");
        Chain::new(("ce", Translate::new(config, clat).expect("valid")), ("pe", plat), self.workers, SEED)
    }

    fn ds_lite(self, w: usize) -> Chain<Tunnel<OneTunnel>, Aftr> {
        let (b4, end) = (ip6("2001:2:0:4000::1"), ip6("2001:2:0:100::2"));
        let config = tunnel::Config::new(Side::Internet, self.left, self.ce);
        let b4 = Tunnel::new(config, OneTunnel::new(b4, end), 0, 1, SEED).expect("valid");
        let mut config = aftr::Config::new(Side6 { address: end, ..self.pe }, self.right, Links::pool());
        self.keep_small(&mut config.nat);
        config.customers = 4;
        Chain::new(("ce", b4), ("pe", Aftr::new(config, w, self.workers, SEED).expect("valid")), self.workers, SEED)
    }

    fn lw4o6(self, w: usize) -> Chain<Chain<Nat44, Tunnel<OneTunnel>>, Tunnel<Bindings>> {
        let relay = ip6("2001:2:0:100::2");
        let table = "2001:db8:1:: 192.0.2.0 0/1\n2001:db8:1::1 192.0.2.0 1/1\n2001:db8:2:: 192.0.2.1\n";
        // Made once: it takes longer than most inputs do.
        static LIVE: OnceLock<Arc<Live>> = OnceLock::new();
        let read = || Live::new(plane::lw4o6::read("table", relay, table.as_bytes()).expect("a right table"));
        let live = LIVE.get_or_init(read);
        let table = live.current();
        let own = table.iter().nth(1).expect("three softwires");
        let edge = self.tunnel(OneTunnel::new(own.b4, relay), Side::Internet, self.near(), self.ce, w);
        let ce = self.behind_nat(AddrRange::one(own.ipv4), own.ports, 40, w, edge);
        let br = self.tunnel(live.bindings(), Side::Customer, self.right, self.pe, w);
        Chain::new(("ce", ce), ("pe", br), self.workers, SEED)
    }

    fn map_e(self, w: usize) -> Chain<Chain<Nat44, Tunnel<MapECe>>, Tunnel<MapEBr>> {
        let (domain, customer, relay) = (Links::domain(), Links::customer(), ip6("2001:2:0:100::2"));
        let edge = MapECe::new(customer, relay, Links::no_rules()).expect("apart");
        let edge = self.tunnel(edge, Side::Internet, self.near(), self.ce, w);
        let ce = self.behind_nat(customer.pool(), customer.ports, 40, w, edge);
        let br = MapEBr::new(domain, relay).expect("apart");
        let br = self.tunnel(br, Side::Customer, self.right, self.pe, w);
        Chain::new(("ce", ce), ("pe", br), self.workers, SEED)
    }

    fn map_t(self, w: usize) -> Chain<Chain<Nat44, Translate<MapTCe>>, Translate<MapTBr>> {
        let (domain, customer) = (Links::domain(), Links::customer());
        let dmr = Pref64::new(Prefix6 { addr: ip6("2001:2:0:1000::"), len: 96 }, true).expect("a length of RFC 6052");
        let edge = MapTCe::new(customer, dmr, Links::no_rules()).expect("apart");
        let edge = self.translate(edge, Side::Internet, self.near(), self.ce, w);
        let ce = self.behind_nat(customer.pool(), customer.ports, 20, w, edge);
        let br = MapTBr::new(domain, dmr).expect("apart");
        let br = self.translate(br, Side::Customer, self.right, self.pe, w);
        Chain::new(("ce", ce), ("pe", br), self.workers, SEED)
    }

    fn domain() -> Arc<Domain> {
        static DOMAIN: OnceLock<Arc<Domain>> = OnceLock::new();
        let parse = || Domain::parse("2001:db8:1::/53 192.0.2.0/24 11 offset=0\n").expect("a right rule");
        DOMAIN.get_or_init(|| Arc::new(parse())).clone()
    }

    fn customer() -> Customer {
        Links::domain().mapping(0).nth(1)
    }

    fn no_rules() -> Arc<Domain> {
        static EMPTY: OnceLock<Arc<Domain>> = OnceLock::new();
        EMPTY.get_or_init(|| Arc::new(Domain::new(Vec::new()).expect("no rules"))).clone()
    }

    /// The inner link of an edge, as its half with IPv6 sees it.
    fn near(self) -> Side4 {
        let address = [10, 0, 0, 254].into();
        Side4 { mac: INTERNET_HALF, next_hop: CUSTOMER_HALF, address, mtu: self.ce.mtu - 40 }
    }

    fn tunnel<S: Softwires>(self, softwires: S, ipv6: Side, v4: Side4, v6: Side6, w: usize) -> Tunnel<S> {
        let config = tunnel::Config { hop: ipv6 == Side::Customer, ..tunnel::Config::new(ipv6, v4, v6) };
        Tunnel::new(config, softwires, w as u16, self.workers as u16, SEED).expect("valid")
    }

    fn translate<A: Addressing>(self, addressing: A, ipv6: Side, v4: Side4, v6: Side6, w: usize) -> Translate<A> {
        let config = translate::Config { hop: ipv6 == Side::Customer, ..translate::Config::new(ipv6, v4, v6) };
        Translate::new(config, addressing).expect("valid").on_worker(w as u16, self.workers as u16)
    }

    /// Tables that are made fast, as there are new ones for every input.
    fn keep_small(self, nat: &mut nat44::config::Config) {
        nat.sessions = self.sessions;
        nat.ports = PortRange { first: 1024, last: 5119 };
        nat.fragments.datagrams = 64;
    }

    /// An edge that keeps state, with what speaks IPv6 behind it.
    fn behind_nat<F: Function>(self, pool: AddrRange, ports: PortSet, less: u16, w: usize, half: F) -> Chain<Nat44, F> {
        let mtu = self.ce.mtu - less;
        let mut nat = nat44::config::Config::new(
            self.left,
            Side4 { mac: CUSTOMER_HALF, next_hop: INTERNET_HALF, address: pool.first, mtu },
            vec![wire::Prefix4 { addr: [10, 0, 0, 0].into(), len: 8 }],
            vec![pool],
        );
        self.keep_small(&mut nat);
        nat.ports = PortRange { first: 1, last: 65_535 };
        nat.port_set = ports;
        let nat = Nat44::new(nat, w, self.workers, SEED).expect("valid");
        Chain::new(("nat44", nat), ("behind", half), self.workers, SEED)
    }
}

fn run<F: Function + 'static>(links: Links, steps: &[BenchStep], one: fn(Links, usize) -> F) {
    let make = move || (0..links.workers).map(|w| one(links, w)).collect();
    let limits = |w: &F| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= MOST);
    };
    bench::run(&Setup::new(make, None, vec![1], limits), steps);
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
        Technology::Lw4o6 => run(links, &input.steps, Links::lw4o6),
        Technology::MapT => run(links, &input.steps, Links::map_t),
    }
});
