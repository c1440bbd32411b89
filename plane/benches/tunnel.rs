//! CPU time (of the thread, not of the wall) of tunnel ends for a frame, the plane alone: frames of 64 octets IPv4 of random
//! softwires and ports, in groups that lie in the L2 cache as if a port had just received them. Only the work on the
//! frames is timed, not their making. One tunnel (B4), then an lwAFTR with binding tables of several sizes; and the
//! loading of a table from text.
//!
//! `cargo bench -p natmeter-plane --bench tunnel -- [--only N] [--large] [--runs N] [--frames N] [--load N]`

#[path = "timing/mod.rs"]
mod timing;

use plane::hash::splitmix;
use plane::lw4o6::{BindingTableBuilder, Live, Softwire, read};
use plane::tunnel::{Config, OneTunnel, Tunnel};
use plane::{Function, Input, NoSpare, Side, Side4, Side6, Softwires, Verdict};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use testbed::packets::{raw, udp_with};
use timing::{BATCH, Frame, PAYLOAD, Words, cpu_time, macs, spread, timed};
use wire::PortSet;

/// PSID length of the softwires.
const BITS: u8 = 6;
const FIRST_ADDRESS: u32 = 0x6440_0000;
const FIRST_B4: u128 = 0x2001_0002_0000_0100 << 64;
const OWN: u128 = FIRST_B4 | 0xffff << 48;

fn softwire(i: u64) -> Softwire {
    let ports = PortSet { offset: 0, len: BITS, psid: (i & ((1 << BITS) - 1)) as u16 };
    let ipv4 = Ipv4Addr::from_bits(FIRST_ADDRESS + (i >> BITS) as u32);
    Softwire { b4: Ipv6Addr::from_bits(b4(i)), ipv4, ports, own: None }
}

fn b4(i: u64) -> u128 {
    FIRST_B4 | u128::from(i) << 16 | 0xb4
}

fn config(ipv6: Side) -> Config {
    let [(mac4, hop4), (mac6, hop6)] = [ipv6.other(), ipv6].map(macs);
    let v4 = Side4 { mac: mac4, next_hop: hop4, address: [198, 19, 0, 1].into(), mtu: 1500 };
    let v6 = Side6 { mac: mac6, next_hop: hop6, address: Ipv6Addr::from_bits(OWN | 1), mtu: 1540 };
    Config::new(ipv6, v4, v6)
}

/// Nanoseconds a frame for `count` frames of random softwires, from one side.
fn run<S: Softwires>(end: &mut Tunnel<S>, n: u64, into: bool, count: u64, seed: u64) -> f64 {
    let v6 = end.config().ipv6;
    let from = if into { v6.other() } else { v6 };
    let mut verdicts = [Verdict::Drop; BATCH];
    let mut random = seed;
    let make = |_: &mut _, _, f: &mut Frame| {
        let r = splitmix(&mut random);
        let i = ((u128::from(r) * u128::from(n)) >> 64) as u64;
        let s = softwire(i);
        let (customer, remote) = ((s.ipv4, s.ports.nth(r as u32 & 1023)), (Ipv4Addr::new(198, 19, 0, 2), 80));
        let to_customer = into == (v6 == Side::Customer);
        let (src, dst) = if to_customer { (remote, customer) } else { (customer, remote) };
        let packet = udp_with(src, dst, 10, &PAYLOAD);
        let (end, other) = if v6 == Side::Customer { (b4(i), OWN) } else { (OWN, FIRST_B4 | 0xb4) };
        let [end, other] = [end, other].map(Ipv6Addr::from_bits);
        f.set(from, &if into { packet } else { raw(end, other, 64, 4, &packet[14..]) });
    };
    timed(end, count, make, |end, batch| end.process(Input::new(1 << 40, from, batch, &mut verdicts), &mut NoSpare))
}

fn measure<S: Softwires>(name: &str, n: u64, mut end: Tunnel<S>, runs: u64, count: u64) {
    let mut both = |into: bool| -> Vec<f64> { (0..runs).map(|r| run(&mut end, n, into, count, r << 32 | 1)).collect() };
    let (into, out) = (both(true), both(false));
    for name in ["ipv4-to-ipv6", "ipv6-to-ipv4"] {
        let sent: u64 = end.counters().iter().filter(|c| c.0 == name).map(|c| c.1).sum();
        assert!(sent >= runs * count, "every frame must have been forwarded: {name} {sent}");
    }
    println!("{name:>8} {n:>12}  {}  {}", spread(&into), spread(&out));
}

fn lwaftr(n: u64) -> Tunnel<plane::lw4o6::Bindings> {
    let mut b = BindingTableBuilder::new("bench", Ipv6Addr::from_bits(OWN));
    (0..n).for_each(|i| b.add(&softwire(i)).unwrap());
    let live = Live::new(b.build().unwrap());
    Tunnel::new(config(Side::Customer), live.bindings(), 0, 1, 1).unwrap()
}

/// Time of loading `n` softwires from text, and the memory that they take.
fn load(n: u64) {
    let mut text = String::new();
    for i in 0..n {
        let s = softwire(i);
        writeln!(text, "{} {} {}/{}", s.b4, s.ipv4, s.ports.psid, s.ports.len).unwrap();
    }
    let start = cpu_time();
    let table = read("bench", Ipv6Addr::from_bits(OWN), text.as_bytes()).unwrap();
    let spent = (cpu_time() - start) as f64 / 1e9;
    assert_eq!(table.len(), n);
    let (octets, megabytes) = (table.bytes() as f64, text.len() as f64 / 1e6);
    println!("load {n} softwires ({megabytes:.0} MB of text): {spent:.2} s; {:.1} octets each", octets / n as f64);
}

fn main() {
    let words = Words::read();
    if let Some(n) = words.value("--load") {
        return load(n);
    }
    let (runs, count) = (words.value("--runs").unwrap_or(5), words.value("--frames").unwrap_or(2_000_000));
    let mut sizes = vec![1_000, 64_000, 1_000_000];
    if words.has("--large") {
        sizes.push(10_000_000);
    }
    if let Some(n) = words.value("--only") {
        sizes = vec![n];
    }
    println!("CPU ns a frame (min, median, max of {runs} runs), plane alone, 64-byte IPv4 frames in random order");
    println!("{:>8} {:>12}  {:^20}  {:^20}", "", "softwires", "encapsulate", "decapsulate");
    let one = OneTunnel::new(Ipv6Addr::from_bits(FIRST_B4 | 0xb4), Ipv6Addr::from_bits(OWN));
    measure("b4", 1, Tunnel::new(config(Side::Internet), one, 0, 1, 1).unwrap(), runs, count);
    for n in sizes {
        measure("lwaftr", n, lwaftr(n), runs, count);
    }
}
