//! CPU time (of the thread, not of the wall) of NAT44 for a frame, the plane alone: frames of 64 octets in random order, in groups that lie in the
//! L2 cache as if a port had just received them. Only the work on the frames is timed, not their making.
//!
//! `cargo bench -p natmeter-plane --bench nat44 -- [--large] [--only N] [--runs N] [--frames N]
//! [--eim | --per-connection]`

#[path = "timing/mod.rs"]
mod timing;

use plane::nat44::Nat44;
use plane::nat44::config::{Config, SideConfig};
use plane::{Function, Input, NoSpare, Packet, Side, Verdict};
use timing::{BATCH, Frame, Words, macs, spread, timed};
use wire::Source::{InsideAddr, InsidePort, OuterAddr, OuterPort, RemoteAddr, RemotePort};
use wire::{AddrRange, Flow, FlowSpace, FramePurpose, Permutation, PortRange, Prefix4, Tag, Template, Values};

const REMOTE_PORTS: u32 = 2000;

struct Bench {
    nat: Nat44,
    flows: FlowSpace,
    order: Permutation,
    out: Template,
    back: Template,
    verdicts: [Verdict; BATCH],
    /// What each connection was mapped to, by connection index.
    outer: Vec<u16>,
    n: u64,
    clock: u64,
}

fn side(k: u8) -> SideConfig {
    let (mac, next_hop) = macs(if k == 0 { Side::Customer } else { Side::Internet });
    SideConfig { mac, next_hop, address: [198, 18 + k, 0, 1].into(), mtu: 1500 }
}

impl Bench {
    fn new(n: u64, eim: bool) -> Bench {
        let ports = n.div_ceil(u64::from(REMOTE_PORTS)).clamp(40, 60_000) as u32;
        let remote_ports = n.div_ceil(u64::from(ports)) as u16;
        let inside = AddrRange::one([198, 18, 0, 2].into());
        let flows = FlowSpace::new(
            inside,
            PortRange { first: 1024, last: 1023 + ports as u16 },
            AddrRange::one([198, 19, 0, 2].into()),
            PortRange { first: 1, last: remote_ports },
        )
        .unwrap();
        let mut config = Config::new(
            side(0),
            side(1),
            vec![Prefix4 { addr: [198, 18, 0, 0].into(), len: 24 }],
            vec![AddrRange::one([198, 19, 0, 1].into())],
        );
        config.sessions = n;
        if !eim {
            config = config.per_connection();
        }
        let frame = |to, from, src, src_port, dst, dst_port| {
            Template::udp_v4(&wire::template::UdpFrame {
                to,
                from,
                size: 64,
                ttl: 10,
                fields: wire::Fields { src, src_port, dst, dst_port },
            })
        };
        Bench {
            nat: Nat44::new(config, 0, 1, 1).unwrap(),
            flows,
            order: Permutation::new(n, 1),
            out: frame(side(0).mac, side(0).next_hop, InsideAddr, InsidePort, RemoteAddr, RemotePort),
            back: frame(side(1).mac, side(1).next_hop, RemoteAddr, RemotePort, OuterAddr, OuterPort),
            verdicts: [Verdict::Drop; BATCH],
            outer: vec![0; n as usize],
            n,
            clock: 1 << 40,
        }
    }

    fn flow(&self, i: u32) -> Flow {
        self.flows.flow(self.order.get(i))
    }

    fn write(&self, i: u32, out: bool, frame: &mut Frame) {
        let values = Values::of(self.flow(i)).learned(0xc613_0001, self.outer[i as usize]);
        let stream = Tag::stream(FramePurpose::Data, !out);
        let template = if out { &self.out } else { &self.back };
        let tag = Tag { trial: 1, stream, sender: 0, sequence: 0, index: i };
        template.write(frame.reset(60), &values, &tag);
    }

    /// Times `count` frames of the connections that `pick` names; nanoseconds a frame.
    fn run(&mut self, out: bool, count: u64, pick: impl Fn(u64) -> u32) -> f64 {
        let from = if out { Side::Customer } else { Side::Internet };
        let make = |bench: &mut Bench, k, frame: &mut Frame| bench.write(pick(k), out, frame);
        timed(self, count, make, |bench, batch| {
            bench.clock += 4000;
            bench.nat.process(Input::new(bench.clock, from, batch, &mut bench.verdicts), &mut NoSpare);
        })
    }

    fn learn(&mut self) {
        let mut one = Frame::many(1);
        for i in 0..self.n as u32 {
            self.write(i, true, &mut one[0]);
            self.nat.process(Input::new(self.clock, Side::Customer, &mut one, &mut self.verdicts), &mut NoSpare);
            self.outer[i as usize] = u16::from_be_bytes([one[0].bytes()[34], one[0].bytes()[35]]);
        }
    }
}

fn main() {
    let words = Words::read();
    let runs = words.value("--runs").unwrap_or(5);
    let mut sizes = vec![1_000, 64_000, 1_000_000, 4_000_000];
    if words.has("--large") {
        sizes.push(64_000_000);
    }
    if let Some(n) = words.value("--only") {
        sizes = vec![n];
    }
    println!("CPU ns a frame (min, median, max of {runs} runs), plane alone, 64-byte frames in random order");
    println!("{:>12} {:>9}  {:^20}  {:^20}  {:^20}", "sessions", "mapping", "new", "in to out", "out to in");
    for eim in [false, true] {
        if words.has("--eim") && !eim || words.has("--per-connection") && eim {
            continue;
        }
        for &n in &sizes {
            let mut b = Bench::new(n, eim);
            // New sessions: at least a million in all, so that a small table is filled several times.
            let new: Vec<f64> = (0..runs)
                .map(|_| {
                    let fills = (words.value("--frames").unwrap_or(1_000_000) / n).max(1);
                    let each: Vec<f64> = (0..fills)
                        .map(|_| {
                            b.nat.clear();
                            b.run(true, n, |k| k as u32)
                        })
                        .collect();
                    each.iter().sum::<f64>() / fills as f64
                })
                .collect();
            assert_eq!(b.nat.entries().unwrap().0, n, "every connection must have a session");
            b.learn();
            let count = words.value("--frames").unwrap_or(4_000_000);
            let mut established = |out: bool| -> Vec<f64> {
                let shuffled = Permutation::new(b.n, 99);
                (0..runs).map(|r| b.run(out, count, |k| shuffled.get(((k + r * count) % n) as u32))).collect()
            };
            let (out, back) = (established(true), established(false));
            let sent: u64 = b.nat.counters().iter().filter(|c| c.0 == "out2in").map(|c| c.1).sum();
            assert_eq!(sent, runs * count, "every frame must have been translated");
            let name = if eim { "endpoint" } else { "4-tuple" };
            println!("{n:>12} {name:>9}  {}  {}  {}", spread(&new), spread(&out), spread(&back));
        }
    }
}
