//! CPU time (of the thread, not of the wall) of the translator for a frame, the plane alone: IPv4 frames of 64 octets and
//! IPv6 frames of 84 with random addresses and ports, in groups that lie in the L2 cache as if a port had just received
//! them. Only the work on the frames is timed, not their making.
//!
//! `cargo bench -p natmeter-plane --bench translate -- [--runs N] [--frames N] [--only NAME]`

#[path = "timing/mod.rs"]
mod timing;

use plane::hash::splitmix;
use plane::translate::{Clat, Config, Eam, Hosts, Pair, Pref64, Siit, Translate};
use plane::{Addressing, End, Function, Input, NoSpare, Point4, Side, Side4, Side6, Verdict};
use std::net::{Ipv4Addr, Ipv6Addr};
use testbed::packets::udp_with;
use timing::{BATCH, Frame, PAYLOAD, Words, macs, spread, timed};
use wire::{Prefix4, Prefix6};

fn config(ipv6: Side) -> Config {
    let [(mac4, hop4), (mac6, hop6)] = [ipv6.other(), ipv6].map(macs);
    let v4 = Side4 { mac: mac4, next_hop: hop4, address: [198, 51, 100, 1].into(), mtu: 1500 };
    let v6 = Side6 { mac: mac6, next_hop: hop6, address: "2001:2::ffff".parse().unwrap(), mtu: 1500 };
    Config::new(ipv6, v4, v6)
}

/// One case: a translator, and the addresses that its packets have.
struct Case<A: Addressing> {
    engine: Translate<A>,
    /// The address of a customer and of a remote host, from a random number.
    pick: fn(u64) -> (u32, u32),
}

impl<A: Addressing> Case<A> {
    /// Write one frame over IPv4 or IPv6, from the side that the version is spoken on.
    fn make(&self, f: &mut Frame, over6: bool, random: u64) {
        let six = self.engine.config().ipv6;
        let (customer, remote) = (self.pick)(random);
        let from_customer = over6 == (six == Side::Customer);
        let (src, dst) = if from_customer { (customer, remote) } else { (remote, customer) };
        let (src_port, dst_port) = ((random >> 48) as u16 | 1024, (random >> 32) as u16 | 1);
        let (src_end, dst_end) =
            if from_customer { (End::Customer, End::Remote) } else { (End::Remote, End::Customer) };
        let to6 =
            |end, addr| Ipv6Addr::from(self.engine.addressing().to_ipv6(end, Point4 { addr, port: None }).unwrap());
        f.set(
            if over6 { six } else { six.other() },
            &if over6 {
                udp_with((to6(src_end, src), src_port), (to6(dst_end, dst), dst_port), 10, &PAYLOAD)
            } else {
                udp_with((Ipv4Addr::from(src), src_port), (Ipv4Addr::from(dst), dst_port), 10, &PAYLOAD)
            },
        );
    }

    /// Times `count` frames; nanoseconds a frame.
    fn run(&mut self, over6: bool, count: u64, seed: u64) -> f64 {
        let from = if over6 { self.engine.config().ipv6 } else { self.engine.config().ipv6.other() };
        let mut verdicts = [Verdict::Drop; BATCH];
        let (mut state, before) = (seed, self.forwarded());
        let make = |case: &mut Self, _, f: &mut Frame| case.make(f, over6, splitmix(&mut state));
        let nanoseconds = timed(self, count, make, |case, batch| {
            case.engine.process(Input::new(1 << 40, from, batch, &mut verdicts), &mut NoSpare);
        });
        assert_eq!(self.forwarded() - before, count, "every frame must have been translated");
        nanoseconds
    }

    fn forwarded(&self) -> u64 {
        self.engine.counters().iter().filter(|c| ["ipv4-to-ipv6", "ipv6-to-ipv4"].contains(&c.0)).map(|c| c.1).sum()
    }

    fn report(&mut self, name: &str, args: &Args) {
        if args.only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
            return;
        }
        let mut times = |over6| -> Vec<f64> { (0..args.runs).map(|r| self.run(over6, args.frames, r + 1)).collect() };
        println!("{name:>24}  {}  {}", spread(&times(false)), spread(&times(true)));
    }
}

struct Args {
    runs: u64,
    frames: u64,
    only: Option<String>,
}

fn pref64(text: &str) -> Pref64 {
    let (addr, len) = text.split_once('/').unwrap();
    Pref64::new(Prefix6 { addr: addr.parse().unwrap(), len: len.parse().unwrap() }, false).unwrap()
}

fn pair(four: [u8; 4], len: u8, six: &str, len6: u8) -> Pair {
    Pair { v4: Prefix4 { addr: four.into(), len }, v6: Prefix6 { addr: six.parse().unwrap(), len: len6 } }
}

/// Hosts of 198.18.0.0/24 and 198.19.0.0/24.
fn two_networks(r: u64) -> (u32, u32) {
    (0xc612_0002 + (r as u32 % 250), 0xc613_0002 + ((r >> 8) as u32 % 250))
}

/// One of a million hosts of 10.0.0.0/8, towards hosts of 198.19.0.0/16.
fn a_million(r: u64) -> (u32, u32) {
    (0x0a00_0000 | r as u32 & 0xf_ffff, 0xc613_0000 | (r >> 24) as u32 & 0xffff)
}

fn main() {
    let words = Words::read();
    let args = Args {
        runs: words.value("--runs").unwrap_or(7),
        frames: words.value("--frames").unwrap_or(2_000_000),
        only: words.text("--only").map(str::to_owned),
    };
    println!("CPU ns a frame (min, median, max of {} runs), plane alone, random flows", args.runs);
    println!("{:>24}  {:^20}  {:^20}", "addresses", "IPv4 to IPv6", "IPv6 to IPv4");
    let siit = |maps: Option<Eam>, prefix: Option<Pref64>, pick| Case {
        engine: Translate::new(config(Side::Customer), Siit::new(maps, prefix)).unwrap(),
        pick,
    };
    let own = || Some(pref64("2001:2:0:64::/96"));
    siit(None, own(), two_networks).report("prefix", &args);
    let two = [(1, pair([198, 18, 0, 0], 24, "2001:2::", 120)), (2, pair([198, 19, 0, 0], 24, "2001:2:0:1000::", 120))];
    siit(Some(Eam::new(&two, false).unwrap()), None, two_networks).report("two maps", &args);
    siit(Some(Eam::new(&two[..1], false).unwrap()), own(), two_networks).report("map and prefix", &args);
    let many: Vec<(usize, Pair)> = (0..1 << 20)
        .map(|i: u32| {
            let six = format!("2001:2:1:{:x}:{:x}::1", i >> 10, i & 0x3ff);
            (i as usize + 1, pair((0x0a00_0000 | i).to_be_bytes(), 32, &six, 128))
        })
        .collect();
    siit(Some(Eam::new(&many, false).unwrap()), own(), a_million).report("1 M maps and prefix", &args);
    let hosts = Hosts::Pair(pair([198, 18, 0, 0], 24, "2001:2:0:2::", 120));
    let clat = Clat::new(hosts, pref64("2001:2:0:64::/96")).unwrap();
    let engine = Translate::new(config(Side::Internet), clat).unwrap();
    Case { engine, pick: two_networks }.report("CLAT", &args);
}
