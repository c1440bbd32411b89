//! Sequences of frames into a NAT66 of one to four workers: see `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::nat66::{Config, Nat66};

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    nat: Settings,
    customers: u8,
    remotes: u8,
    mtu: [u8; 2],
    inside: bool,
    datagrams: u8,
    steps: Vec<BenchStep>,
}

impl Input {
    fn config(&self) -> Config {
        let customer = side6(CUSTOMER, "2001:db8:9::1", self.mtu[0]);
        let internet = side6(INTERNET, "2001:db8:8::1", self.mtu[1]);
        let pool = Pool6::new(Prefix6 { addr: ip6("2001:db8:64::"), len: 126 }).expect("four addresses");
        let mut c = Config::new(customer, internet, pool);
        (c.customers, c.remotes) = (1 + u64::from(self.customers), 1 + u64::from(self.remotes));
        if self.inside {
            c.inside = vec![Prefix6 { addr: ip6("2001:db8:1::"), len: 48 }];
        }
        c.fragments.datagrams = 1 + u32::from(self.datagrams);
        self.nat.apply(&mut c.nat, false);
        c
    }
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), usize::from(input.workers % 4) + 1);
    // Customers, remote hosts, outside addresses, the gateway's own.
    let known = ["2001:db8:1::", "2001:db8:1::2", "2001:db8:7::7", "2001:db8:64::", "2001:db8:64::1", "2001:db8:9::1"];
    let known = known.map(|a| ip6(a).to_bits()).into();
    let make = move || (0..n).map(|w| Nat66::new(config.clone(), w, n, 7).expect("all these are valid")).collect();
    let limits = |w: &Nat66| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= MOST);
        assert!(w.known().iter().all(|n| u64::from(*n) <= MOST));
        assert!(w.config().fragments.allow(w.waiting()));
    };
    let ipv6 = vec![Side::Customer, Side::Internet];
    bench::run(&Setup::new(make, ipv6, known, limits), &input.steps);
});
