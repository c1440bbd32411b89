//! What the benchmarks of NAT64, AFTR, NAT46 and NAT66 share: flows of many customers, and their frames.
#![allow(dead_code, reason = "each benchmark uses most of it")]

use crate::timing::{BATCH, Frame, Words, cpu_time, spread};
use plane::{Function, Input, NoSpare, Packet, Side, Side4, Side6, Verdict};
use std::net::Ipv6Addr;
use wire::checksum::Sum;
use wire::{AddrRange, Mac, Permutation};

const GROUP: usize = 2048;
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
    Side6 {
        mac: Mac([2, 0, 0, 0, 0, 1]),
        next_hop: Mac([2, 0, 0, 0, 0, 2]),
        address: Ipv6Addr::new(0x2001, 2, 0, 0xffff, 0, 0, 0, 1),
        mtu: 1500,
    }
}

pub(crate) fn side4() -> Side4 {
    Side4 {
        mac: Mac([2, 0, 0, 0, 1, 1]),
        next_hop: Mac([2, 0, 0, 0, 1, 2]),
        address: [198, 19, 255, 1].into(),
        mtu: 1500,
    }
}

/// Outside addresses: one, or under endpoint-independent mapping as many as the sessions need.
pub(crate) fn pool(sessions: u64, eim: bool) -> Vec<AddrRange> {
    let count = if eim { (sessions / 30_000 + 1) as u32 } else { 1 };
    vec![AddrRange { first: [198, 18, 0, 1].into(), count }]
}

pub(crate) fn ethernet(b: &mut [u8], to: Mac, from: Mac, kind: u16) {
    b[..6].copy_from_slice(&to.0);
    b[6..12].copy_from_slice(&from.0);
    b[12..14].copy_from_slice(&kind.to_be_bytes());
}

/// An IPv4 header for a UDP packet of 18 octets of payload.
pub(crate) fn ipv4(b: &mut [u8], at: usize, src: [u8; 4], dst: [u8; 4]) {
    b[at..at + 12].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]);
    b[at + 12..at + 16].copy_from_slice(&src);
    b[at + 16..at + 20].copy_from_slice(&dst);
    let sum = Sum::default().bytes(&b[at..at + 20]).checksum();
    b[at + 10..at + 12].copy_from_slice(&sum);
}

/// A UDP header with checksum; `src` and `dst` say where the addresses of the pseudo header begin, which end at each other.
pub(crate) fn udp(b: &mut [u8], at: usize, src: usize, _dst: usize, flow: Flow) {
    b[at..at + 2].copy_from_slice(&flow.port.to_be_bytes());
    b[at + 2..at + 4].copy_from_slice(&flow.remote_port.to_be_bytes());
    b[at + 4..at + 6].copy_from_slice(&26u16.to_be_bytes());
    let sum = Sum::default().bytes(&b[src..at]).bytes(&b[at..at + 26]).be16(17).be16(26).checksum();
    // A sum of zero is sent as all ones (RFC 768).
    b[at + 6..at + 8].copy_from_slice(if sum == [0, 0] { &[0xff, 0xff] } else { &sum });
}

/// The answer from the Internet to what a flow was mapped to.
pub(crate) fn reply(flow: Flow, addr: [u8; 4], port: u16) -> Vec<u8> {
    let mut b = vec![0u8; 60];
    ethernet(&mut b, side4().mac, side4().next_hop, 0x0800);
    ipv4(&mut b, 14, [198, 19, 0, 2], addr);
    udp(&mut b, 34, 26, 30, Flow { port: flow.remote_port, remote_port: port, ..flow });
    b
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
    frames: Vec<Frame>,
    clock: u64,
    order: Permutation,
    outer: Vec<([u8; 4], [u8; 2])>,
    shift: u64,
}

impl Bench {
    pub(crate) fn new(flows: u64, customers: u64) -> Bench {
        Bench {
            customers,
            frames: Frame::many(GROUP),
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

    /// Time `count` frames; nanoseconds a frame.
    pub(crate) fn run(
        &mut self,
        count: u64,
        make: impl Fn(Flow, ([u8; 4], [u8; 2])) -> Vec<u8>,
        mut work: impl FnMut(u64, &mut [Frame], &mut [Verdict]),
    ) -> f64 {
        let flows = self.outer.len() as u64;
        let (mut spent, mut done) = (0i64, 0u64);
        let mut verdicts = [Verdict::Drop; BATCH];
        while done < count {
            let group = (count - done).min(GROUP as u64) as usize;
            for k in 0..group {
                let i = u64::from(self.order.get(((self.shift + done + k as u64) % flows) as u32));
                let bytes = make(self.flow(i), self.outer[i as usize]);
                self.frames[k].set(&bytes);
            }
            let start = cpu_time();
            for batch in self.frames[..group].chunks_mut(BATCH) {
                self.clock += 4000;
                let n = batch.len();
                work(self.clock, batch, &mut verdicts[..n]);
            }
            spent += cpu_time() - start;
            done += group as u64;
        }
        self.shift += count;
        spent as f64 / count as f64
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
        one[0].set(&frame(b.flow(i)));
        let mut v = [Verdict::Drop];
        f.process(Input::new(b.clock, Side::Customer, &mut one, &mut v), &mut NoSpare);
        assert_eq!(v[0], Verdict::Forward(Side::Internet));
        b.outer[i as usize] = outside(one[0].bytes());
    }
    let (mut out, mut back) = (Vec::new(), Vec::new());
    let check = |from: Side, v: &[Verdict]| assert!(v.iter().all(|v| *v == Verdict::Forward(from.other())));
    for _ in 0..options.runs {
        out.push(b.run(
            options.frames,
            |flow, _| frame(flow),
            |now, batch, v| {
                f.process(Input::new(now, Side::Customer, batch, v), &mut NoSpare);
                check(Side::Customer, v);
            },
        ));
        let answer = |flow: Flow, (addr, port): ([u8; 4], [u8; 2])| answer(flow, addr, u16::from_be_bytes(port));
        back.push(b.run(options.frames, answer, |now, batch, v| {
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
