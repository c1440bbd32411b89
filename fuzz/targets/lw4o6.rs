//! Sequences of frames into a lwAFTR of one to four workers, with shared and whole addresses: see `natmeter_fuzz::bench` for
//! what must hold.

#![no_main]

use natmeter_fuzz::prelude::*;
use plane::lw4o6::{Bindings, Live};
use plane::tunnel::config::{InboundIcmp, Oversize};
use plane::tunnel::{Config, Tunnel};
use std::sync::{Arc, OnceLock};

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    mtu: [u8; 2],
    oversize: u8,
    hairpinning: bool,
    answer: [bool; 2],
    icmp: u8,
    datagrams: u8,
    few: bool,
    errors: u8,
    steps: Vec<BenchStep>,
}

const OWN: &str = "2001:db8:9::";
const TABLE: &str = "2001:db8:1:: 192.0.2.0 0/1\n2001:db8:1::1 192.0.2.0 1/1\n2001:db8:2:: 192.0.2.1 1/2@6\n2001:db8:3:: 192.0.2.2\n2001:db8:4:: 192.0.2.3 3/2 2001:db8:9::1\n";

/// The table of nearly all inputs: making one takes longer than most inputs do. Some have one of their own, and another one when
/// the configuration is read again.
static TABLES: OnceLock<Arc<Live>> = OnceLock::new();

fn table() -> Arc<Live> {
    Live::new(plane::lw4o6::read("table", ip6(OWN), TABLE.as_bytes()).expect("a right table"))
}

impl Input {
    fn config(&self) -> Config {
        let v6 = side6(CUSTOMER, "2001:db8:9::9", self.mtu[1]);
        let v4 = side4(INTERNET, [192, 0, 2, 254], self.mtu[0]);
        let mut c = Config::new(Side::Customer, v4, v6);
        c.outer.oversize = [Oversize::Outer, Oversize::Inner, Oversize::OuterAlways][usize::from(self.oversize % 3)];
        c.hairpinning = self.hairpinning;
        [c.answer_spoofed, c.answer_unknown] = self.answer;
        c.inbound_icmp = [InboundIcmp::All, InboundIcmp::Errors, InboundIcmp::Nothing][usize::from(self.icmp % 3)];
        c.reassembly.datagrams = 1 + u32::from(self.datagrams);
        c.reassembly.octets = 11_000;
        if self.few {
            (c.fragments.datagrams, c.fragments.octets) = (3, 11_000);
        }
        c.icmp_errors_per_second = u32::from(self.errors) * 10;
        c
    }
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), u16::from(input.workers % 4) + 1);
    let fresh = input.errors == 77;
    let make = move || {
        let live = if fresh { table() } else { TABLES.get_or_init(table).clone() };
        let one = |w| Tunnel::new(config.clone(), live.bindings(), w, n, 7).expect("all these are valid");
        (0..n).map(one).collect()
    };
    let limits = |w: &Tunnel<Bindings>| {
        let [parts, fragments] = w.waiting();
        assert!(w.config().reassembly.allow(parts) && w.config().fragments.allow(fragments));
    };
    let known = [OWN, "2001:db8:1::", "2001:db8:2::", "2001:db8:3::", "2001:db8:4::"].map(|a| ip6(a).to_bits()).into();
    bench::run(&Setup::new(make, Some(Side::Customer), known, limits), &input.steps);
});
