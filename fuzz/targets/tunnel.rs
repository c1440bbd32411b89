//! Sequences of frames into an end of one tunnel, at the customer's edge or the provider's, with one to four workers:
//! encapsulation, cutting, reassembly, relayed errors. See `natmeter_fuzz::bench` for what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::tunnel::config::{Ecn, FlowLabel, Oversize, TrafficClass};
use plane::tunnel::{Config, OneTunnel, Tunnel};

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    ce: bool,
    mtu: [u8; 2],
    hop: bool,
    oversize: u8,
    class: Option<u8>,
    compatible: bool,
    label: Option<u16>,
    datagrams: u8,
    errors: u8,
    steps: Vec<BenchStep>,
}

impl Input {
    fn config(&self) -> Config {
        let (ipv6, v4, v6) = edge(self.ce, [10, 0, 0, 3], "2001:db8:9::1", self.mtu);
        let mut c = Config::new(ipv6, v4, v6);
        c.hop = self.hop;
        c.outer.oversize = [Oversize::Outer, Oversize::Inner, Oversize::OuterAlways][usize::from(self.oversize % 3)];
        c.outer.traffic_class = self.class.map_or(TrafficClass::Copy, |class| TrafficClass::Fixed(class & 63));
        c.outer.ecn = if self.compatible { Ecn::Compatibility } else { Ecn::Normal };
        c.outer.flow_label = self.label.map_or(FlowLabel::Hash, |label| FlowLabel::Fixed(label.into()));
        c.reassembly.datagrams = 1 + u32::from(self.datagrams);
        c.reassembly.octets = 11_000;
        c.icmp_errors_per_second = u32::from(self.errors) * 10;
        c
    }
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), u16::from(input.workers % 4) + 1);
    let (near, far) = (ip6("2001:db8:9::"), ip6("2001:db8:1::"));
    let ipv6 = vec![config.ipv6];
    let make = move || {
        let one = |w| Tunnel::new(config.clone(), OneTunnel::new(near, far), w, n, 7).expect("all these are valid");
        (0..n).map(one).collect()
    };
    let limits = |w: &Tunnel<OneTunnel>| {
        let [parts, fragments] = w.waiting();
        assert!(w.config().reassembly.allow(parts) && w.config().fragments.allow(fragments));
    };
    let known = vec![near.to_bits(), far.to_bits()];
    bench::run(&Setup::new(make, ipv6, known, limits), &input.steps);
});
