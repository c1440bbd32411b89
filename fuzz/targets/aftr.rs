//! Sequences of frames into an AFTR of one to four workers: see `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::aftr::{Aftr, Config};
use plane::tunnel::config::Oversize;

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    nat: Settings,
    customers: u8,
    mtu: [u8; 2],
    oversize: u8,
    softwires: bool,
    blocks: bool,
    datagrams: u8,
    steps: Vec<BenchStep>,
}

impl Input {
    fn config(&self) -> Config {
        let customer = side6(CUSTOMER, "2001:db8:9::", self.mtu[1]);
        let internet = side4(INTERNET, [192, 0, 2, 254], self.mtu[0]);
        let mut c = Config::new(customer, internet, vec![AddrRange { first: [192, 0, 2, 0].into(), count: 4 }]);
        c.customers = 1 + u64::from(self.customers);
        c.outer.oversize = [Oversize::Outer, Oversize::Inner, Oversize::OuterAlways][usize::from(self.oversize % 3)];
        if self.softwires {
            c.softwires = vec![Prefix6 { addr: ip6("2001:db8:1::"), len: 48 }];
        }
        c.reassembly.datagrams = 1 + u32::from(self.datagrams);
        c.reassembly.octets = 11_000;
        // So few ports make no block for each worker.
        self.nat.apply(&mut c.nat, self.blocks && !self.nat.few_ports);
        c
    }
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), usize::from(input.workers % 4) + 1);
    let known = ["2001:db8:9::", "2001:db8:1::1", "2001:db8:1::3", "2001:db8:2::1"].map(|a| ip6(a).to_bits()).into();
    let make = move || (0..n).map(|w| Aftr::new(config.clone(), w, n, 7).expect("all these are valid")).collect();
    let limits = |w: &Aftr| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= MOST);
        assert!(u64::from(w.customers()) <= MOST);
        let (config, [parts, fragments]) = (w.half().config(), w.half().waiting());
        assert!(config.reassembly.allow(parts) && config.fragments.allow(fragments));
    };
    bench::run(&Setup::new(make, Some(Side::Customer), known, limits), &input.steps);
});
