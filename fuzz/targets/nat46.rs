//! Sequences of frames into a NAT46 of one to four workers: see `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::nat46::{Config, Nat46};
use plane::translate::Pair;

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    nat: Settings,
    mtu: [u8; 2],
    prefix: bool,
    steps: Vec<BenchStep>,
}

impl Input {
    fn config(&self) -> Config {
        let customer = side4(CUSTOMER, [10, 255, 255, 254], self.mtu[0]);
        let internet = side6(INTERNET, "2001:db8:9::1", self.mtu[1]);
        let pool = Pool6::new(Prefix6 { addr: ip6("2001:db8:64::"), len: 126 }).expect("four addresses");
        let four = |a: [u8; 4], len| Prefix4 { addr: a.into(), len };
        // In a larger prefix it would take long to see that there is no room for the numbers.
        let mut c = Config::new(customer, internet, vec![four([10, 0, 0, 0], 24)], pool);
        c.maps = vec![Pair { v4: four([203, 0, 113, 0], 24), v6: Prefix6 { addr: ip6("2001:db8:1::"), len: 120 } }];
        c.pref64 = self.prefix.then_some(Prefix6 { addr: ip6("2001:db8:65::"), len: 96 });
        self.nat.apply(&mut c.nat, false);
        c
    }
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), usize::from(input.workers % 4) + 1);
    // Remote hosts with a map and behind the prefix, outside addresses, the gateway's own.
    let known = ["2001:db8:1::", "2001:db8:1::2", "2001:db8:65::c000:200", "2001:db8:64::", "2001:db8:9::1"];
    let known = known.map(|a| ip6(a).to_bits()).into();
    let make = move || (0..n).map(|w| config.build(w, n, 7).expect("all these are valid")).collect();
    let limits = |w: &Nat46| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= MOST);
        assert!(w.internet.config().fragments.allow(w.internet.waiting()));
    };
    bench::run(&Setup::new(make, [Side::Internet], known, limits), &input.steps);
});
