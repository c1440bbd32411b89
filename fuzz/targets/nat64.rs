//! Sequences of frames into a NAT64 of one to four workers: see `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::nat64::{Config, Nat64};
use plane::translate::ZeroChecksum;

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    nat: Settings,
    customers: u8,
    mtu: [u8; 2],
    short_prefix: bool,
    inside: bool,
    drop_zero: bool,
    second_prefix: bool,
    statics: bool,
    steps: Vec<BenchStep>,
}

impl Input {
    fn config(&self) -> Config {
        let customer = side6(CUSTOMER, "2001:db8:9::1", self.mtu[1]);
        let internet = side4(INTERNET, [192, 0, 2, 254], self.mtu[0]);
        let pref64 = Prefix6 { addr: ip6("2001:db8:64::"), len: if self.short_prefix { 48 } else { 96 } };
        let mut c = Config::new(customer, internet, pref64, vec![AddrRange { first: [192, 0, 2, 0].into(), count: 4 }]);
        c.customers = 1 + u64::from(self.customers);
        if self.second_prefix {
            c.pref64.push(Prefix6 { addr: ip6("2001:db8:65::"), len: 96 });
        }
        if self.statics {
            let texts =
                ["udp 192.0.2.0:1030-1039 -> [2001:db8:1::2]:1024-1033", "icmp 192.0.2.2:1024 -> [2001:db8:1::]:0"];
            c.statics = texts.iter().map(|text| text.parse().expect("as it is written")).collect();
        }
        if self.inside {
            c.inside = vec![Prefix6 { addr: ip6("2001:db8:1::"), len: 48 }];
        }
        (c.reassembly.datagrams, c.reassembly.octets) = (1 + u32::from(self.nat.held), 11_000);
        c.headers.zero_udp_checksum = if self.drop_zero { ZeroChecksum::Drop } else { ZeroChecksum::Compute };
        self.nat.apply(&mut c.nat, false);
        c
    }
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), usize::from(input.workers % 4) + 1);
    // Customers, addresses behind the prefix (203.0.113.0 and 192.0.2.0 among them), the gateway's own.
    let mut known: Vec<u128> =
        ["2001:db8:1::", "2001:db8:1::2", "2001:db8:2::", "2001:db8:9::1"].map(|a| ip6(a).to_bits()).into();
    for pref64 in &config.pref64 {
        let pref64 = plane::translate::Pref64::new(*pref64, false).expect("a length of RFC 6052");
        known.extend([0xcb00_7100, 0xc000_0200, 0xc000_0202].map(|a| pref64.to_ipv6(a).expect("ordinary addresses")));
    }
    let make = move || (0..n).map(|w| Nat64::new(config.clone(), w, n, 7).expect("all these are valid")).collect();
    let limits = |w: &Nat64| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= MOST);
        assert!(u64::from(w.customers()) <= MOST);
        let (c, unsummed) = (w.half().config(), w.half().waiting_unsummed());
        assert!(c.fragments.allow(w.half().waiting()) && c.unsummed.is_some_and(|most| most.allow(unsummed)));
    };
    bench::run(&Setup::new(make, Some(Side::Customer), known, limits), &input.steps);
});
