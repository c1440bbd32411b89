//! Sequences of frames into a stateless translator (SIIT with a prefix, with explicit maps, or a CLAT): see
//! `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::Addressing;
use plane::translate::config::{ClassRule, Config, Hairpinning, ZeroChecksum};
use plane::translate::{Clat, Eam, Hosts, Pair, Pref64, Siit, Translate};

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Kind {
    Prefix(u8),
    Maps { prefix: bool },
    Clat,
}

#[derive(Arbitrary, Debug)]
struct Input {
    kind: Kind,
    ipv6_left: bool,
    mtu4: u8,
    mtu6: u8,
    lowest: bool,
    hop: bool,
    hairpinning: u8,
    drop_zero: bool,
    fixed_class: Option<u8>,
    sources: bool,
    errors: u8,
    steps: Vec<BenchStep>,
}

const GATEWAY: &str = "2001:db8:9::1";

fn prefix6(text: &str, len: u8) -> Prefix6 {
    Prefix6 { addr: ip6(text), len }
}

impl Input {
    fn config(&self) -> Config {
        let (ipv6, v4, v6) = edge(!self.ipv6_left, [198, 18, 0, 254], GATEWAY, [self.mtu4, self.mtu6]);
        let mut c = Config::new(ipv6, v4, v6);
        c.hop = self.hop;
        c.headers.lowest_ipv6_mtu = if self.lowest { 1280 } else { 1500 };
        c.hairpinning =
            [Hairpinning::Off, Hairpinning::Simple, Hairpinning::Intrinsic][usize::from(self.hairpinning % 3)];
        c.headers.zero_udp_checksum = if self.drop_zero { ZeroChecksum::Drop } else { ZeroChecksum::Compute };
        if let Some(class) = self.fixed_class {
            (c.headers.traffic_class, c.headers.tos) = (ClassRule::Fixed(class), ClassRule::Fixed(class));
        }
        if self.sources {
            c.icmp_sources = vec![AddrRange { first: [198, 18, 1, 0].into(), count: 5 }];
        }
        c.icmp_errors_per_second = u32::from(self.errors) * 10;
        c
    }

    fn run<A: Addressing>(&self, known: Vec<u128>, addressing: impl Fn() -> A + 'static) {
        let (config, limits) = (self.config(), |t: &Translate<A>| {
            assert!(t.config().fragments.allow(t.waiting()));
        });
        let ipv6 = vec![config.ipv6];
        let make = move || vec![Translate::new(config.clone(), addressing()).expect("all these are valid")];
        bench::run(&Setup::new(make, ipv6, known, limits), &self.steps);
    }
}

fuzz_target!(|input: Input| {
    // Addresses of 10.0.0.0 and 203.0.113.0 behind each prefix, and the gateway's.
    let behind = |p: Pref64| [0x0a00_0000, 0xcb00_7100].map(|a| p.to_ipv6(a).expect("ordinary addresses"));
    let pref64 = |len: u8| Pref64::new(prefix6("2001:db8::", len), false).expect("a length of RFC 6052");
    let own = ip6(GATEWAY).to_bits();
    match input.kind {
        Kind::Prefix(n) => {
            let p = pref64([32, 40, 48, 56, 64, 96][usize::from(n % 6)]);
            input.run([&behind(p)[..], &[own]].concat(), move || Siit::prefix(p));
        }
        Kind::Maps { prefix } => {
            let p = pref64(96);
            let map = |v4: [u8; 4], v4len, v6: &str, v6len| Pair {
                v4: Prefix4 { addr: v4.into(), len: v4len },
                v6: prefix6(v6, v6len),
            };
            let pairs = move || {
                [
                    map([10, 0, 0, 0], 24, "2001:db8:1::", 120),
                    map([192, 0, 2, 1], 32, "2001:db8:2::1", 128),
                    map([203, 0, 113, 0], 25, "2001:db8:3::", 64),
                ]
                .into_iter()
                .enumerate()
                .collect::<Vec<_>>()
            };
            let known =
                ["2001:db8:1::", "2001:db8:2::1", "2001:db8:3::", "2001:db8:3:0:0:2::"].map(|a| ip6(a).to_bits());
            input.run([&behind(p)[..], &known, &[own]].concat(), move || {
                Siit::new(Some(Eam::new(&pairs(), true).expect("maps apart")), prefix.then_some(p))
            });
        }
        Kind::Clat => {
            let hosts = Pref64::new(prefix6("2001:db8:aa::", 96), true).expect("a length of RFC 6052");
            let p = pref64(96);
            input.run([&behind(p)[..], &behind(hosts), &[own]].concat(), move || {
                Clat::new(Hosts::Prefix(hosts), p).expect("two prefixes")
            });
        }
    }
});
