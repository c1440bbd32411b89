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
use std::net::Ipv6Addr;
use std::sync::Arc;
use timing::{BATCH, Frame, Words, cpu_time, spread};
use wire::checksum::Sum;
use wire::{Mac, Prefix4, Prefix6};

const GROUP: usize = 512;

const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const HOP: Mac = Mac([2, 0, 0, 0, 0, 2]);

fn sides() -> (Side4, Side6) {
    (
        Side4 { mac: MAC, next_hop: HOP, address: [198, 51, 100, 254].into(), mtu: 1500 },
        Side6 { mac: MAC, next_hop: HOP, address: six("2001:2:0:fffe::1"), mtu: 1600 },
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

const REMOTE: u32 = 0xc613_0002;
const PAYLOAD: usize = 18;

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

/// A UDP header and payload whose checksum is right for these pseudo header words.
fn udp(src: u16, dst: u16, pseudo: Sum) -> [u8; 8 + PAYLOAD] {
    let mut b = [0x5a; 8 + PAYLOAD];
    let len = b.len() as u16;
    b[..2].copy_from_slice(&src.to_be_bytes());
    b[2..4].copy_from_slice(&dst.to_be_bytes());
    b[4..6].copy_from_slice(&len.to_be_bytes());
    b[6..8].fill(0);
    let sum = pseudo.be16(17).be16(len).bytes(&b).checksum();
    // A sum of zero is sent as all ones (RFC 768).
    b[6..8].copy_from_slice(&if sum == [0, 0] { [0xff; 2] } else { sum });
    b
}

/// An IPv4 packet with UDP.
fn packet4(src: u32, dst: u32, src_port: u16, dst_port: u16) -> Vec<u8> {
    let mut h = [0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    h[2..4].copy_from_slice(&(20 + 8 + PAYLOAD as u16).to_be_bytes());
    h[12..16].copy_from_slice(&src.to_be_bytes());
    h[16..20].copy_from_slice(&dst.to_be_bytes());
    let sum = Sum::default().bytes(&h).checksum();
    h[10..12].copy_from_slice(&sum);
    [&h[..], &udp(src_port, dst_port, Sum::default().bytes(&h[12..]))].concat()
}

/// An IPv6 header in front of a payload.
fn packet6(src: u128, dst: u128, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut h = [0; 40];
    h[0] = 0x60;
    h[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    (h[6], h[7]) = (protocol, 64);
    h[8..24].copy_from_slice(&src.to_be_bytes());
    h[24..].copy_from_slice(&dst.to_be_bytes());
    [&h[..], payload].concat()
}

fn put(f: &mut Frame, kind: u16, packet: &[u8]) {
    let b = f.reset(14 + packet.len());
    b[..6].copy_from_slice(&MAC.0);
    b[6..12].copy_from_slice(&HOP.0);
    b[12..14].copy_from_slice(&kind.to_be_bytes());
    b[14..].copy_from_slice(packet);
}

type Make<'a> = &'a dyn Fn(Pick, &mut Frame);

/// Time `count` frames through a function; nanoseconds a frame.
fn run(f: &mut impl Function, from: Side, count: u64, seed: u64, addresses: u32, make: Make) -> f64 {
    let mut frames = Frame::many(GROUP);
    let (mut random, mut verdicts) = (Random(seed), [Verdict::Drop; BATCH]);
    let (mut spent, mut done, mut clock) = (0i64, 0u64, 1u64 << 40);
    while done < count {
        for f in &mut frames {
            make(random.pick(addresses), f);
        }
        let start = cpu_time();
        for batch in frames.chunks_mut(BATCH) {
            clock += 4000;
            f.process(Input::new(clock, from, batch, &mut verdicts), &mut NoSpare);
            assert!(matches!(verdicts[BATCH - 1], Verdict::Forward(_)), "every frame is forwarded");
        }
        spent += cpu_time() - start;
        done += GROUP as u64;
    }
    spent as f64 / done as f64
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
    let out = |p: Pick, f: &mut Frame| put(f, 0x0800, &packet4(REMOTE, p.addr, p.remote_port, p.port));
    let back_t = |p: Pick, f: &mut Frame| {
        let src = domain.translated(p.addr, Some(p.port)).expect("a customer");
        let dst = dmr.embed(REMOTE);
        let pseudo = Sum::default().bytes(&src.to_be_bytes()).bytes(&dst.to_be_bytes());
        put(f, 0x86dd, &packet6(src, dst, 17, &udp(p.port, p.remote_port, pseudo)));
    };
    let back_e = |p: Pick, f: &mut Frame| {
        let src = domain.tunnel_end(p.addr, Some(p.port)).expect("a customer");
        let inner = packet4(p.addr, REMOTE, p.port, p.remote_port);
        put(f, 0x86dd, &packet6(src, relay.to_bits(), 4, &inner));
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
