//! Points with many inside and outside addresses (METHODOLOGY.md, set-ups of the technologies): IPv4 and IPv6 customers use all
//! of these addresses and no others, and the judge finds a frame with a wrong one. A wrapper around the embedded gateway
//! records the addresses, and can misdirect frames.

use method::{Fault, Leg, Load, Loop, Nanos, Rate, TrialOutcome, TrialSpec, Trials};
use natmeter::rig::cores::Cores;
use natmeter::rig::embedded::assemble;
use natmeter::rig::files::open;
use natmeter::rig::{Rig, RunContext, settings, technology};
use plane::{DynFunction, Input, Packet, Side, Spare, Verdict, Wrapper};
use record::plan::Plan;
use scenario::{Options, Scenario, parse};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use tech::Job;
use wire::checksum::update16;

const NAT44: &str = "plays = \"pe\"\n[technology.nat44]\npool = \"198.19.0.101 - 198.19.0.108\"";
const NAT64: &str =
    "plays = \"pe\"\n[technology.nat64]\npref64 = \"2001:2:0:1000::/64\"\npool = \"198.19.0.101 - 198.19.0.108\"";
const NAT46: &str =
    "plays = \"pe\"\n[technology.nat46]\npref64 = \"2001:2:0:1000::/96\"\npool = \"2001:2:0:200::68/125\"";
const NAT66: &str = "plays = \"pe\"\n[technology.nat66]\npool = \"2001:2:0:200::68/125\"";

/// Connections, and frames of phase 2 in each direction.
const N: u64 = 12_000;
const FRAMES: u64 = 10_000;
/// One of this many frames is misdirected.
const EVERY: u64 = 97;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Astray {
    Nothing,
    /// From phase 2 on, frames to Right come from another outside address of the pool.
    Outside,
    /// From phase 2 on, frames to Left go to another customer.
    Inside,
    /// In phase 1, connections get the pool's address after the outside addresses of the point.
    BeyondPool,
}

#[derive(Default)]
struct Seen {
    inside: BTreeSet<IpAddr>,
    outside: BTreeSet<IpAddr>,
    forwarded: [u64; 2],
    astray: u64,
}

struct Witness {
    seen: Arc<Mutex<Seen>>,
    astray: Astray,
    inside: u64,
    outside: u64,
}

impl Witness {
    /// If this frame is to be misdirected: the new address, counted from its own, and the number of addresses.
    fn turn(&self, seen: &Seen, to: Side) -> Option<u64> {
        let phase1 = seen.forwarded[0] <= N;
        let n = seen.forwarded[usize::from(to == Side::Customer)];
        let this = match self.astray {
            Astray::Nothing => None,
            Astray::Outside => (to == Side::Internet && !phase1).then_some(self.outside),
            Astray::Inside => (to == Side::Customer).then_some(self.inside),
            Astray::BeyondPool => (to == Side::Internet && phase1).then_some(0),
        };
        this.filter(|_| n.is_multiple_of(EVERY))
    }
}

/// Offsets and length of a frame's source and destination, and offset of the UDP checksum.
fn places(f: &[u8]) -> (usize, usize, usize, usize) {
    if f[14] >> 4 == 4 { (26, 30, 4, 40) } else { (22, 38, 16, 60) }
}

fn address(f: &[u8], at: usize, len: usize) -> IpAddr {
    if len == 4 {
        <[u8; 4]>::try_from(&f[at..at + 4]).unwrap().into()
    } else {
        <[u8; 16]>::try_from(&f[at..at + 16]).unwrap().into()
    }
}

/// Changes the last octets of an address and corrects all checksums: to the next of `count` addresses from `first` on, or, with
/// `count` 0, to `first`.
fn lead_astray(f: &mut [u8], source: bool, first: u16, count: u64) {
    let (src, dst, len, udp) = places(f);
    let at = if source { src } else { dst } + len - 2;
    let old = u16::from_be_bytes([f[at], f[at + 1]]);
    let new = if count == 0 { first } else { first + (old - first + 1) % count as u16 };
    f[at..at + 2].copy_from_slice(&new.to_be_bytes());
    for sum in if len == 4 { vec![24, udp] } else { vec![udp] } {
        let moved = update16([f[sum], f[sum + 1]], old, new);
        f[sum..sum + 2].copy_from_slice(&moved);
    }
}

impl Wrapper for Witness {
    fn process<P: Packet>(&mut self, function: &mut dyn DynFunction<P>, mut input: Input<P>, spare: &mut dyn Spare<P>) {
        let seen = Arc::clone(&self.seen);
        let mut seen = seen.lock().unwrap();
        if input.from == Side::Customer {
            for p in input.packets.iter() {
                let (src, _, len, _) = places(p.bytes());
                seen.inside.insert(address(p.bytes(), src, len));
            }
        }
        function.process(input.part(0..input.packets.len()), spare);
        for (p, v) in input.packets.iter_mut().zip(input.verdicts) {
            let Verdict::Forward(to) = *v else { continue };
            let f = p.bytes_mut();
            let (src, _, len, _) = places(f);
            if to == Side::Internet {
                seen.outside.insert(address(f, src, len));
            }
            seen.forwarded[usize::from(to == Side::Customer)] += 1;
            let Some(count) = self.turn(&seen, to) else { continue };
            seen.astray += 1;
            match (to, count) {
                (Side::Internet, 0) => lead_astray(f, true, 1 + self.outside as u16, 0),
                (Side::Internet, n) => lead_astray(f, true, 1, n),
                (Side::Customer, n) => lead_astray(f, false, 2, n),
            }
        }
    }
}

/// Runs both phases at a point with this many inside and outside addresses, of eight each.
fn trial(table: &str, addresses: [u64; 2], astray: Astray) -> (TrialOutcome, Seen) {
    // One test at a time, because each needs a core of its own.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let [inside, outside] = addresses;
    let text = format!(
        "name = \"t\"\n[dut.embedded]\n{table}\n[traffic]\nframe-size = 128\ninside = \"198.18.0.2 - 198.18.0.9\"\n\
         source-ports = \"1024-2023\"\ndestination-ports = \"1-100\"\n[sweep]\nconnections = {N}\n\
         inside-addresses = {inside}\noutside-addresses = {outside}\n[measure]\nmetrics = [\"max_conn_est_rate\"]\n\
         phase1-drain = \"1 ms\"\ndrain = \"1 ms\"\nsettle = \"0 s\"\nstart-delay = \"1 ms\"\n"
    );
    let loaded =
        parse("t.toml", &text, &Options::default(), tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false)));
    let point = Plan::new(&loaded.scenario).measurements[0].point.clone();
    let scenario = point.of(&loaded.scenario);
    let phase1 = astray == Astray::BeyondPool;
    let spec = if phase1 {
        TrialSpec::establish(Rate(400_000), N)
    } else {
        TrialSpec::both_phases(Rate(400_000), Load::Frames(FRAMES), N)
    };
    // A thread that is descheduled for long gives up, or loses frames; that says nothing about the device.
    for _ in 0..20 {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut rig = device(&scenario, &point, &seen, astray, addresses);
        let outcome = rig.run(&spec).unwrap();
        assert!(rig.teardown().is_empty());
        // Phase 2 has frames only after a complete phase 1.
        let has_frames = phase1 || outcome.forward.planned > 0;
        if has_frames && outcome.host.tester_stall.max(outcome.host.dut_stall) <= Nanos::from_millis(50) {
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            return (outcome, seen);
        }
    }
    panic!("host noise invalidated every attempt");
}

fn device(
    scenario: &Scenario,
    point: &scenario::Point,
    seen: &Arc<Mutex<Seen>>,
    astray: Astray,
    addresses: [u64; 2],
) -> Rig {
    let (plays, technology) = scenario.duts[0].technology().unwrap();
    let view = technology::view(scenario, plays, technology, point).unwrap();
    let job =
        Job { plays, links: technology::links(), workers: 1, seed: scenario.traffic.seed, open: &open, live: None };
    let function = technology.build(&job).unwrap().functions.boxed().remove(0);
    let [inside, outside] = addresses;
    let witness = Witness { seen: Arc::clone(seen), astray, inside, outside };
    let functions = vec![witness.around(function)];
    let times = settings(scenario, Loop::Open);
    assemble(Arc::new(view), functions, 512, times, &Cores::one_thread(1), &RunContext::new()).unwrap()
}

/// The first addresses of a row that ends its octets with `first`.
fn row<A: Into<IpAddr>>(address: impl Fn(u16) -> A, first: u16, count: u64) -> BTreeSet<IpAddr> {
    (first..first + count as u16).map(|n| address(n).into()).collect()
}

#[test]
fn every_address_of_a_point_is_used_and_no_other() {
    let outside = |n: u16| IpAddr::from(Ipv4Addr::new(198, 19, 0, n as u8));
    let outside6 = |n: u16| IpAddr::from(Ipv6Addr::new(0x2001, 2, 0, 0x200, 0, 0, 0, n));
    let four = |n: u16| IpAddr::from(Ipv4Addr::new(198, 18, 0, n as u8));
    let six = |n: u16| IpAddr::from(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, n));
    for (table, over6, to6) in [(NAT44, false, false), (NAT64, true, false), (NAT46, false, true), (NAT66, true, true)]
    {
        // The outside addresses of a prefix are a power of two.
        let some = if to6 { 2 } else { 3 };
        for addresses in [[1, 1], [8, some], [3, 8], [8, 8]] {
            let (outcome, seen) = trial(table, addresses, Astray::Nothing);
            assert_eq!(
                seen.inside,
                row(|n| if over6 { six(n) } else { four(n) }, 2, addresses[0]),
                "{table} {addresses:?}"
            );
            // A customer's connections have one outside address (RFC 4787, REQ-2): fewer customers cannot use more.
            assert_eq!(seen.outside.len() as u64, addresses[0].min(addresses[1]), "{table} {addresses:?}");
            let all = if to6 { row(outside6, 0x68, addresses[1]) } else { row(outside, 101, addresses[1]) };
            assert!(seen.outside.is_subset(&all), "{table} {addresses:?}: {:?}", seen.outside);
            for leg in [&outcome.forward, &outcome.reverse] {
                assert_eq!((leg.received, leg.faults.total()), (FRAMES, 0), "{table} {addresses:?} {outcome:?}");
            }
            assert_eq!(outcome.store.map(|s| s.learned), Some(N));
        }
    }
}

/// Tables of technologies, and the number of outside addresses at their points.
const POOLS: [(&str, u64); 4] = [(NAT44, 3), (NAT64, 3), (NAT46, 4), (NAT66, 4)];

/// Checks that the misdirected frames of one direction are wrong, and no others. `legs` returns this direction, then
/// the other.
fn are_wrong(astray: Astray, legs: fn(&TrialOutcome) -> [&Leg; 2]) {
    for (table, outside) in POOLS {
        let (outcome, seen) = trial(table, [8, outside], astray);
        let [leg, other] = legs(&outcome);
        assert!(seen.astray >= FRAMES / EVERY - 1);
        assert_eq!((leg.received, leg.faults.get(Fault::WrongAddress)), (FRAMES - seen.astray, seen.astray));
        assert_eq!(leg.faults.total(), seen.astray, "{outcome:?}");
        assert_eq!((other.received, other.faults.total()), (FRAMES, 0));
    }
}

#[test]
fn another_outside_address_of_the_pool_is_wrong() {
    are_wrong(Astray::Outside, |outcome| [&outcome.forward, &outcome.reverse]);
}

#[test]
fn another_customer_is_wrong() {
    are_wrong(Astray::Inside, |outcome| [&outcome.reverse, &outcome.forward]);
}

#[test]
fn an_address_of_the_pool_that_the_point_has_not_is_never_learned() {
    for (table, outside) in POOLS {
        let (outcome, seen) = trial(table, [8, outside], Astray::BeyondPool);
        assert!(seen.astray >= N / EVERY - 1);
        let leg = &outcome.forward;
        assert_eq!((leg.received, leg.faults.get(Fault::OutsidePool)), (N - seen.astray, seen.astray), "{outcome:?}");
        assert_eq!(outcome.store.map(|s| s.learned), Some(N - seen.astray));
    }
}
