//! What the benchmarks of NAT64, AFTR, NAT46 and NAT66 share: flows of many customers, and their frames.
#![allow(dead_code, reason = "each benchmark uses most of it")]

use crate::timing::{BATCH, Frame, PAYLOAD, Words, macs, spread, timed};
use plane::{Function, Input, NoSpare, Packet, Side, Side4, Side6, Verdict};
use std::net::Ipv6Addr;
use testbed::packets::udp_with;
use wire::{AddrRange, Permutation};

/// One flow: a customer and its port; the remote port tells further flows of the two apart.
#[derive(Clone, Copy)]
pub(crate) struct Flow {
    pub customer: u32,
    pub port: u16,
    pub remote_port: u16,
}

/// Address of a customer (RFC 5180: 2001:2::/48).
pub(crate) fn inside(customer: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(0x2001_0002u128 << 96 | u128::from(customer) << 16 | 2)
}

pub(crate) fn side6() -> Side6 {
    let (mac, next_hop) = macs(Side::Customer);
    Side6 { mac, next_hop, address: Ipv6Addr::new(0x2001, 2, 0, 0xffff, 0, 0, 0, 1), mtu: 1500 }
}

pub(crate) fn side4() -> Side4 {
    let (mac, next_hop) = macs(Side::Internet);
    Side4 { mac, next_hop, address: [198, 19, 255, 1].into(), mtu: 1500 }
}

/// Outside addresses: one, or under endpoint-independent mapping as many as the sessions need.
pub(crate) fn pool(sessions: u64, eim: bool) -> Vec<AddrRange> {
    let count = if eim { (sessions / 30_000 + 1) as u32 } else { 1 };
    vec![AddrRange { first: [198, 18, 0, 1].into(), count }]
}

/// The answer from the Internet to what a flow was mapped to.
pub(crate) fn reply(flow: Flow, addr: [u8; 4], port: u16) -> Vec<u8> {
    udp_with(([198, 19, 0, 2], flow.remote_port), (addr, port), 64, &PAYLOAD)
}

pub(crate) struct Options {
    runs: u64,
    frames: u64,
    only: Option<u64>,
    customers: Option<u64>,
    pub eim: bool,
}

impl Options {
    pub(crate) fn read() -> Options {
        let words = Words::read();
        Options {
            runs: words.value("--runs").unwrap_or(5),
            frames: words.value("--frames").unwrap_or(4_000_000),
            only: words.value("--only"),
            customers: words.value("--customers"),
            eim: words.has("--eim"),
        }
    }

    pub(crate) fn sizes(&self) -> Vec<(u64, u64)> {
        let sizes = self.only.map_or(vec![64_000, 1_000_000], |n| vec![n]);
        let customers = |n: u64| self.customers.map_or(vec![64, n / 16, n], |c| vec![c]);
        sizes.into_iter().flat_map(|n| customers(n).into_iter().map(move |c| (n, c.min(n)))).collect()
    }
}

pub(crate) struct Bench {
    customers: u64,
    clock: u64,
    order: Permutation,
    outer: Vec<Outside>,
    shift: u64,
}

impl Bench {
    pub(crate) fn new(flows: u64, customers: u64) -> Bench {
        Bench {
            customers,
            clock: 1 << 40,
            order: Permutation::new(flows, 99),
            outer: vec![([0; 4], [0; 2]); flows as usize],
            shift: 0,
        }
    }

    fn flow(&self, i: u64) -> Flow {
        let within = i / self.customers;
        let (port, further) = (1024 + (within % 60_000) as u16, (within / 60_000) as u16);
        Flow { customer: (i % self.customers) as u32, port, remote_port: 80 + further + (i % 1000) as u16 }
    }

    /// Times `count` frames; nanoseconds a frame.
    pub(crate) fn run(
        &mut self,
        from: Side,
        count: u64,
        make: impl Fn(Flow, Outside) -> Vec<u8>,
        mut work: impl FnMut(u64, &mut [Frame], &mut [Verdict]),
    ) -> f64 {
        let mut verdicts = [Verdict::Drop; BATCH];
        let one = |bench: &mut Bench, i: u64, frame: &mut Frame| {
            let i = bench.order.get(((bench.shift + i) % bench.order.len()) as u32);
            frame.set(from, &make(bench.flow(i.into()), bench.outer[i as usize]));
        };
        let nanoseconds = timed(self, count, one, |bench, batch| {
            bench.clock += 4000;
            work(bench.clock, batch, &mut verdicts[..batch.len()]);
        });
        self.shift += count;
        nanoseconds
    }
}

/// Last four octets of an outside address, and an outside port.
pub(crate) type Outside = ([u8; 4], [u8; 2]);

#[derive(Clone, Copy)]
pub(crate) struct Frames {
    /// From a customer.
    pub out: fn(Flow) -> Vec<u8>,
    /// What stands for the customer in a frame to the Internet.
    pub outside: fn(&[u8]) -> Outside,
    /// The answer to these.
    pub back: fn(Flow, [u8; 4], u16) -> Vec<u8>,
}

/// Those where the Internet speaks IPv4.
pub(crate) fn to_ipv4(out: fn(Flow) -> Vec<u8>) -> Frames {
    Frames { out, outside: |b| ([b[26], b[27], b[28], b[29]], [b[34], b[35]]), back: reply }
}

/// New flows, then both directions of known ones.
pub(crate) fn measure<F: Function>(name: &str, mut f: F, n: u64, customers: u64, options: &Options, frames: Frames) {
    let Frames { out: frame, outside, back: answer } = frames;
    let mut b = Bench::new(n, customers);
    let mut new = Vec::new();
    for _ in 0..options.runs {
        let fills = (1_000_000 / n).max(1);
        let mut total = 0.0;
        for _ in 0..fills {
            f.clear();
            total += b.run(
                Side::Customer,
                n,
                |flow, _| frame(flow),
                |now, batch, v| f.process(Input::new(now, Side::Customer, batch, v), &mut NoSpare),
            );
        }
        new.push(total / fills as f64);
    }
    assert_eq!(f.entries().unwrap().0, n, "every flow must have a session: {:?}", used(&f));
    // What each flow became, by sending it once more.
    let mut one = Frame::many(1);
    for i in 0..n {
        one[0].set(Side::Customer, &frame(b.flow(i)));
        let mut v = [Verdict::Drop];
        f.process(Input::new(b.clock, Side::Customer, &mut one, &mut v), &mut NoSpare);
        assert_eq!(v[0], Verdict::Forward(Side::Internet));
        b.outer[i as usize] = outside(one[0].bytes());
    }
    let (mut out, mut back) = (Vec::new(), Vec::new());
    let check = |from: Side, v: &[Verdict]| assert!(v.iter().all(|v| *v == Verdict::Forward(from.other())));
    for _ in 0..options.runs {
        out.push(b.run(
            Side::Customer,
            options.frames,
            |flow, _| frame(flow),
            |now, batch, v| {
                f.process(Input::new(now, Side::Customer, batch, v), &mut NoSpare);
                check(Side::Customer, v);
            },
        ));
        let answer = |flow: Flow, (addr, port): Outside| answer(flow, addr, u16::from_be_bytes(port));
        back.push(b.run(Side::Internet, options.frames, answer, |now, batch, v| {
            f.process(Input::new(now, Side::Internet, batch, v), &mut NoSpare);
            check(Side::Internet, v);
        }));
    }
    println!(
        "{name} {n:>9} sessions {customers:>9} customers   new {}   to the Internet {}   to customers {}",
        spread(&new),
        spread(&out),
        spread(&back)
    );
}

fn used<F: Function>(f: &F) -> Vec<(&'static str, u64)> {
    f.counters().into_iter().filter(|c| c.1 > 0).collect()
}
