//! Sequences of frames into the roles of MAP (E and T, border relay and customer's edge, mesh or hub and spoke): see
//! `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::fragment::PartLimits;
use plane::map::{Domain, MapEBr, MapECe, MapTBr, MapTCe};
use plane::translate::{self, Pref64, Translate};
use plane::tunnel::{self, Tunnel};
use plane::{Addressing, Softwires};
use std::sync::Arc;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Role {
    EBr,
    ECe,
    TBr,
    TCe,
}

#[derive(Arbitrary, Debug)]
struct Input {
    role: Role,
    mesh: bool,
    workers: u8,
    mtu: [u8; 2],
    few: bool,
    errors: u8,
    steps: Vec<BenchStep>,
}

/// 192.0.2.0/30 is shared, 10.0.0.0/30 whole, 203.0.113.0/30 shared by two in mesh.
const RULES: &str = "2001:db8:1000::/40 192.0.2.0/30 10\n2001:db8:2000::/40 10.0.0.0/24 8\n2001:db8:3000::/48 203.0.113.0/30 3 offset=0\n";
const RELAY: &str = "2001:db8:9::";

impl Input {
    fn fragments(&self) -> PartLimits {
        PartLimits { datagrams: 3, octets: 11_000, ..PartLimits::FRAGMENTS }
    }

    fn tunnel<S: Softwires>(&self, ce: bool, known: Vec<u128>, softwires: impl Fn() -> S + 'static) {
        let (ipv6, v4, v6) = edge(ce, [198, 18, 0, 254], "2001:db8:8::1", self.mtu);
        let mut c = tunnel::Config::new(ipv6, v4, v6);
        c.icmp_errors_per_second = u32::from(self.errors) * 10;
        if self.few {
            (c.fragments, c.reassembly) = (self.fragments(), self.fragments());
        }
        let n = u16::from(self.workers % 4) + 1;
        let make = move || {
            (0..n).map(|w| Tunnel::new(c.clone(), softwires(), w, n, 7).expect("all these are valid")).collect()
        };
        let limits = |w: &Tunnel<S>| {
            let [parts, fragments] = w.waiting();
            assert!(w.config().reassembly.allow(parts) && w.config().fragments.allow(fragments));
        };
        bench::run(&Setup::new(make, Some(ipv6), known, limits), &self.steps);
    }

    fn translate<A: Addressing>(&self, ce: bool, known: Vec<u128>, addressing: impl Fn() -> A + 'static) {
        let (ipv6, v4, v6) = edge(ce, [198, 18, 0, 254], "2001:db8:8::1", self.mtu);
        let mut c = translate::Config::new(ipv6, v4, v6);
        c.icmp_errors_per_second = u32::from(self.errors) * 10;
        if self.few {
            c.fragments = self.fragments();
        }
        let n = u16::from(self.workers % 4) + 1;
        let make = move || {
            let one = |w| Translate::new(c.clone(), addressing()).expect("all these are valid").on_worker(w, n);
            (0..n).map(one).collect()
        };
        let limits = |w: &Translate<A>| assert!(w.config().fragments.allow(w.waiting()));
        bench::run(&Setup::new(make, Some(ipv6), known, limits), &self.steps);
    }
}

fuzz_target!(|input: Input| {
    let domain = Arc::new(Domain::parse(RULES).expect("right rules"));
    let mapping = domain.mapping(0);
    let customers: Vec<_> = [0u64, 1, 2, 77, 300].into_iter().map(|i| mapping.nth(i)).collect();
    let customer = customers[1];
    let mesh = if input.mesh { Arc::clone(&domain) } else { Arc::new(Domain::new(Vec::new()).expect("no rules")) };
    let dmr = Pref64::new(Prefix6 { addr: ip6(RELAY), len: 64 }, false).expect("a length of RFC 6052");
    let mut known: Vec<u128> = customers.iter().map(|c| c.address.to_bits()).collect();
    known.extend([1, 2].map(|rule| domain.mapping(rule).nth(1).address.to_bits()));
    known.push(ip6(RELAY).to_bits());
    // Others, and customers as they look by the default rule.
    known.extend(
        [0xcb00_7100, 0x0a00_0000]
            .into_iter()
            .chain(customers.iter().map(|c| c.pool().first.into()))
            .map(|a| dmr.to_ipv6(a).expect("ordinary addresses")),
    );
    match input.role {
        Role::EBr => input.tunnel(false, known, move || MapEBr::new(Arc::clone(&domain), ip6(RELAY)).expect("apart")),
        Role::ECe => {
            input.tunnel(true, known, move || MapECe::new(customer, ip6(RELAY), Arc::clone(&mesh)).expect("apart"))
        }
        Role::TBr => input.translate(false, known, move || MapTBr::new(Arc::clone(&domain), dmr).expect("apart")),
        Role::TCe => {
            input.translate(true, known, move || MapTCe::new(customer, dmr, Arc::clone(&mesh)).expect("apart"))
        }
    }
});
