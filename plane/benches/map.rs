//! CPU time a frame takes in MAP-T and MAP-E border relays, and a look-up in sets of rules, alone: no links, no other
//! core. Frames are of 64 octets over IPv4, in random order over all customers and ports, in groups that lie in the L2
//! cache as if a port had just received them. Only the work on the frames is timed, not their making.
//!
//! `cargo bench -p natmeter-plane --bench map -- [--runs N] [--frames N] [--rules N]`

#[path = "timing/mod.rs"]
mod timing;

use plane::map::{Domain, MapEBr, MapTBr, Rule};
use plane::translate::{self, Pref64, Translate};
use plane::tunnel::{self, Tunnel};
use plane::{Function, Input, NoSpare, Side, Side4, Side6, Verdict};
use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use testbed::packets::{raw, udp_with};
use timing::{BATCH, Frame, PAYLOAD, Words, cpu_time, macs, spread, timed};
use wire::{Prefix4, Prefix6};

fn sides() -> (Side4, Side6) {
    let [(mac4, hop4), (mac6, hop6)] = [Side::Internet, Side::Customer].map(macs);
    (
        Side4 { mac: mac4, next_hop: hop4, address: [198, 51, 100, 254].into(), mtu: 1500 },
        Side6 { mac: mac6, next_hop: hop6, address: six("2001:2:0:fffe::1"), mtu: 1600 },
    )
}

fn six(text: &str) -> Ipv6Addr {
    text.parse().expect("an IPv6 address")
}

/// Addresses of all rules together: at least 4,096, each shared by sixteen customers.
fn addresses(rules: u32) -> u32 {
    rules.max(4096)
}

/// As many rules as asked for (a power of two), side by side in 198.18.0.0/15.
fn domain(rules: u32) -> Domain {
    assert!(rules.is_power_of_two() && rules <= 1 << 16, "a power of two up to 65,536");
    let each = addresses(rules) / rules;
    let suffix = each.trailing_zeros() as u8;
    let ea = suffix + 4;
    let rules = (0..rules).map(|i| {
        let ipv6 = Ipv6Addr::from_bits(0x2001_0002_u128 << 96 | u128::from(i) << (64 + ea));
        let ipv4 = Prefix4 { addr: (0xc612_0000 + i * each).into(), len: 32 - suffix };
        Rule::new(Prefix6 { addr: ipv6, len: 64 - ea }, ipv4, ea)
    });
    Domain::new(rules.collect()).expect("rules that make sense")
}

#[derive(Clone, Copy)]
struct Pick {
    addr: u32,
    port: u16,
    remote_port: u16,
}

const REMOTE: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        plane::hash::splitmix(&mut self.0)
    }
    fn pick(&mut self, addresses: u32) -> Pick {
        let r = self.next();
        Pick {
            addr: 0xc612_0000 + ((r >> 32) as u32 & (addresses - 1)),
            port: 1024 + (r as u16 % 64_512),
            remote_port: 1 + (r >> 16) as u16 % 40_000,
        }
    }
}

type Make<'a> = &'a dyn Fn(Pick) -> Vec<u8>;

/// Time `count` frames through a function; nanoseconds a frame.
fn run(f: &mut impl Function, from: Side, count: u64, seed: u64, addresses: u32, make: Make) -> f64 {
    let (mut random, mut verdicts, mut clock) = (Random(seed), [Verdict::Drop; BATCH], 1 << 40);
    let make = |_: &mut _, _, frame: &mut Frame| frame.set(from, &make(random.pick(addresses)));
    timed(f, count, make, |f, batch| {
        clock += 4000;
        f.process(Input::new(clock, from, batch, &mut verdicts), &mut NoSpare);
        assert!(matches!(verdicts[batch.len() - 1], Verdict::Forward(_)), "every frame is forwarded");
    })
}

struct Options {
    runs: u64,
    frames: u64,
}

/// Both directions of MAP-T and MAP-E over one set of rules.
fn relays(domain: &Arc<Domain>, o: &Options) {
    let rules = domain.rules().len() as u32;
    let addresses = addresses(rules);
    let (v4, v6) = sides();
    let dmr = Pref64::new(Prefix6 { addr: six("2001:db8:64::"), len: 96 }, true).expect("a prefix of RFC 6052");
    let relay = six("2001:db8:ffff::1");
    let out = |p: Pick| udp_with((REMOTE, p.remote_port), (Ipv4Addr::from(p.addr), p.port), 64, &PAYLOAD);
    let back_t = |p: Pick| {
        let src = Ipv6Addr::from(domain.translated(p.addr, Some(p.port)).expect("a customer"));
        let dst = Ipv6Addr::from(dmr.embed(REMOTE.to_bits()));
        udp_with((src, p.port), (dst, p.remote_port), 64, &PAYLOAD)
    };
    let back_e = |p: Pick| {
        let src = Ipv6Addr::from(domain.tunnel_end(p.addr, Some(p.port)).expect("a customer"));
        let inner = udp_with((Ipv4Addr::from(p.addr), p.port), (REMOTE, p.remote_port), 64, &PAYLOAD);
        raw(src, relay, 64, 4, &inner[14..])
    };
    let config = translate::Config::new(Side::Customer, v4, v6);
    let mut t = Translate::new(config, MapTBr::new(domain.clone(), dmr).expect("apart")).expect("a translator");
    let config = tunnel::Config::new(Side::Customer, v4, v6);
    let softwires = MapEBr::new(domain.clone(), relay).expect("apart");
    let mut e = Tunnel::new(config, softwires, 0, 1, 1).expect("a tunnel end");
    let times = |what: &mut dyn FnMut(u64) -> f64| spread(&(0..o.runs).map(what).collect::<Vec<_>>());
    let t46 = times(&mut |r| run(&mut t, Side::Internet, o.frames, r, addresses, &out));
    let t64 = times(&mut |r| run(&mut t, Side::Customer, o.frames, r, addresses, &back_t));
    let e46 = times(&mut |r| run(&mut e, Side::Internet, o.frames, r, addresses, &out));
    let e64 = times(&mut |r| run(&mut e, Side::Customer, o.frames, r, addresses, &back_e));
    println!("{rules:>8}  {t46}  {t64}  {e46}  {e64}");
}

/// A look-up by IPv4 address and port, and one by IPv6 address.
fn look_ups(domain: &Domain, o: &Options) {
    let rules = domain.rules().len() as u32;
    let addresses = addresses(rules);
    let mut random = Random(7);
    let picks: Vec<Pick> = (0..1 << 16).map(|_| random.pick(addresses)).collect();
    let uppers: Vec<u64> =
        picks.iter().map(|p| (domain.translated(p.addr, Some(p.port)).expect("a customer") >> 64) as u64).collect();
    let time = |f: &dyn Fn(usize) -> u64| {
        let one = |_| {
            let start = cpu_time();
            let mut sum = 0u64;
            for k in 0..o.frames as usize {
                sum = sum.wrapping_add(f(k & 0xffff));
            }
            black_box(sum);
            (cpu_time() - start) as f64 / o.frames as f64
        };
        spread(&(0..o.runs).map(one).collect::<Vec<_>>())
    };
    let by4 = time(&|k| domain.translated(picks[k].addr, Some(picks[k].port)).map_or(0, |a| (a >> 64) as u64));
    let by6 = time(&|k| domain.by_ipv6(uppers[k]).map_or(0, |r| r as u64));
    println!("{rules:>8}  {by4}  {by6}");
}

fn main() {
    let words = Words::read();
    let o = Options { runs: words.value("--runs").unwrap_or(5), frames: words.value("--frames").unwrap_or(2_000_000) };
    let sizes: Vec<u32> = words.value("--rules").map_or(vec![1, 1024, 8192], |n| vec![n as u32]);
    println!(
        "CPU ns a frame (min, median, max of {} runs), plane alone, 64-byte IPv4 frames, 16 customers an address",
        o.runs
    );
    println!("{:>8}  {:^20}  {:^20}  {:^20}  {:^20}", "rules", "MAP-T 4 to 6", "6 to 4", "MAP-E in", "out");
    for &n in &sizes {
        relays(&Arc::new(domain(n)), &o);
    }
    println!("CPU ns a look-up");
    println!("{:>8}  {:^20}  {:^20}", "rules", "by IPv4 and port", "by IPv6");
    for &n in &sizes {
        look_ups(&domain(n), &o);
    }
}
