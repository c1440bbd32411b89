//! Sequences of frames into a NAT44 of one to four workers, in several configurations: see `natmeter_fuzz::bench` for what must
//! hold. Of a NAT44 alone more can be said: exactly one hop is taken off, and checksums stay right across cutting and in quotes.

#![no_main]

use natmeter_fuzz::checksum::Ipv4;
use natmeter_fuzz::prelude::*;
use plane::Packet;
use plane::nat44::Nat44;
use plane::nat44::config::{Config, Exempt, Pooling};
use std::time::Duration;
use testbed::Outbox;
use wire::PortRange;

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    nat: Settings,
    arbitrary_pooling: bool,
    mtu: [u8; 2],
    keep_port: bool,
    keep_parity: bool,
    inbound_refresh: bool,
    blocks: bool,
    exempt: Option<bool>,
    statics: bool,
    datagrams: u8,
    steps: Vec<BenchStep>,
}

impl Input {
    fn config(&self) -> Config {
        let mut c = Config::new(
            side4(CUSTOMER, [10, 0, 0, 254], self.mtu[0]),
            side4(INTERNET, [192, 0, 2, 254], self.mtu[1]),
            vec![Prefix4 { addr: [10, 0, 0, 0].into(), len: 8 }],
            vec![AddrRange::one([192, 0, 2, 1].into()), AddrRange { first: [192, 0, 2, 2].into(), count: 2 }],
        );
        self.nat.apply(&mut c, self.blocks);
        c.preserve_port = self.keep_port;
        c.preserve_parity = self.keep_parity;
        c.inbound_refresh = self.inbound_refresh;
        if self.arbitrary_pooling && c.blocks.is_none() {
            c.pooling = Pooling::Arbitrary;
        }
        c.untranslated.extend(self.exempt.map(|all| Exempt {
            remote: Prefix4 { addr: [198, 51, 100, 0].into(), len: 24 },
            ports: (!all).then_some(PortRange { first: 1, last: 1023 }),
        }));
        if self.statics {
            c.statics = STATICS.iter().map(|text| text.parse().expect("as it is written")).collect();
        }
        c.timeouts.udp_by_port = vec![(53, Duration::from_secs(10))];
        c.fragments.datagrams = 1 + u16::from(self.datagrams);
        c
    }
}

/// Static mappings of all protocols, among ports that are given out and others.
const STATICS: [&str; 4] = [
    "udp 192.0.2.1:1030-1039 -> 10.0.0.2:1024-1033",
    "tcp 192.0.2.2:80 -> 10.0.0.1:1024",
    "udp 192.0.2.3:1024 -> 10.0.0.1:53",
    "icmp 192.0.2.1:1024 -> 10.0.0.1:0",
];

/// What was right when it came in is right when it goes out.
fn check_kept(input: &[u8], f: &[u8], made: &Outbox) {
    let (Some(before), Some(after)) = (Ipv4::read(&input[14..]), Ipv4::read(&f[14..])) else {
        panic!("a packet with a wrong header was forwarded")
    };
    assert_eq!(after.header[8], before.header[8] - 1, "time to live");
    if before.transport_is_right() == Some(true) {
        let right =
            if after.more() { after.transport_sum_is_right(&joined(&after, made)) } else { after.transport_is_right() };
        assert_eq!(right, Some(true), "the checksum above IPv4");
    }
    // A quote that was cut is no longer whole.
    if let (Some(before), Some(after), false) = (before.quoted(), after.quoted(), after.more()) {
        let (before, after) = (Ipv4::read(before), Ipv4::read(after));
        assert_eq!(before.is_some(), after.is_some(), "the quoted header");
        let right = |q: Option<Ipv4>| q.and_then(|q| q.transport_is_right());
        assert!(
            right(before) != Some(true) || right(after) == Some(true),
            "the checksum in the quote: {before:02x?} became {after:02x?}"
        );
    }
}

/// The payload of a packet that was cut: its first piece, and those emitted behind it.
fn joined(first: &Ipv4, made: &Outbox) -> Vec<u8> {
    let mut payload = first.payload.to_vec();
    for (_, f) in &made.out {
        let Some(p) = Ipv4::read(&f.bytes()[14..]) else { continue };
        let same = p.header[12..20] == first.header[12..20] && p.header[4..6] == first.header[4..6];
        if same && p.header[9] == first.header[9] && p.offset() == payload.len() {
            payload.extend(p.payload);
            if !p.more() {
                break;
            }
        }
    }
    payload
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), usize::from(input.workers % 4) + 1);
    let most = config.sessions_per_worker(n);
    let make = move || (0..n).map(|w| Nat44::new(config.clone(), w, n, 7).expect("all these are valid")).collect();
    let limits = move |w: &Nat44| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= most, "{mappings} mappings of {sessions} sessions");
    };
    let steering = Some([Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET]);
    let setup = bench::Setup { steering, kept: check_kept, ..bench::Setup::new(make, None, vec![1], limits) };
    bench::run(&setup, &input.steps);
});
