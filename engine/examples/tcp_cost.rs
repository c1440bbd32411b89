//! The cost of TCP connections through this kernel's NAT44 on one thread: trials over TAPs, in turn with one write(2)
//! and one read(2) for each of the same segments, in CPU nanoseconds per segment.
//!
//! `cargo run --release -p natmeter-engine --example tcp_cost`, as root.

#[path = "../benches/tester/tcp_life.rs"]
mod tcp_life;

use engine::Lane;
use engine::stage::Stage;
use engine::store::StateTable;
use method::Nanos;
use plane::Hop;
use plane::view::{BedAddresses, nat44};
use port::backend::tap::{TapConfig, TapPort};
use port::netns::Sight;
use port::{BATCH, Clock, Netns, Pool, PoolConfig, Port, host};
use std::error::Error;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::header::Mac;
use wire::tcp::{Close, Ends, Numbers, Script, Segment, SegmentTemplate, Side};
use wire::{AddrRange, Batch, FlowSpace, OuterRange, PortRange, View, Words};

const PAIRS: usize = 15;
/// Ethernet addresses of DUT and tester, left and right.
const DUT: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x10], [2, 0, 0, 0, 0, 0x20]];
const OWN: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x11], [2, 0, 0, 0, 0, 0x21]];

use tcp_life::{CONNECTIONS, life};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let core = host::cores().first().copied().ok_or("no core")?;
    host::pin(core)?;
    let clock = Clock::calibrated();
    println!("{}; TCP through nftables NAT44 over TAPs, all on one core; CPU ns a segment", clock.describe());
    println!("median of {PAIRS} pairs (lowest to highest)");
    println!("{:<26} {:>24} {:>24} {:>22}", "connections", "tester", "bare system calls", "tester / bare");
    for (name, exchanges, close) in [
        ("opened and closed by FIN", 0, Close::Fin),
        ("opened and reset", 0, Close::Rst),
        ("with ten exchanges", 10, Close::Fin),
    ] {
        let (tester, bare) = (Rig::new(clock)?, Rig::new(clock)?);
        let view = Arc::new(view()?);
        let mut bare_run = Bare::new(&bare, &view, exchanges, close)?;
        let mut stage = stage(tester.ports, &view, clock)?;
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            tester.dut.forget()?;
            let ours = trial(&mut stage, exchanges, close)?;
            bare.dut.forget()?;
            pairs.push((ours, bare_run.run()?));
        }
        let column = |of: fn(&(f64, f64)) -> f64, digits| shown(pairs.iter().map(of).collect(), digits);
        println!("{name:<26} {:>24} {:>24} {:>22}", column(|p| p.0, 0), column(|p| p.1, 0), column(|p| p.0 / p.1, 3));
        println!("{:<26} {}", "", tester.dut.invalid()?);
    }
    Ok(())
}

/// Median, lowest and highest value.
fn shown(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    format!("{:.digits$} ({:.digits$} – {:.digits$})", values[n / 2], values[0], values[n - 1])
}

struct Dut(Netns);

struct Rig {
    dut: Dut,
    ports: [TapPort; 2],
}

impl Rig {
    fn new(clock: Clock) -> Outcome<Rig> {
        let dut = Dut(Netns::new()?);
        // Or the interfaces send frames of their own.
        let v6 = "net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1";
        dut.sh(&format!("sysctl -qw net.ipv4.ip_forward=1 {v6}"))?;
        let open = |side: usize| {
            let config = TapConfig { mac: Some(DUT[side]), ..TapConfig::named(["d0", "d1"][side]) };
            TapPort::open(&dut.0, &config, clock)
        };
        let ports = [open(0)?, open(1)?];
        for (side, mac) in OWN.into_iter().enumerate() {
            let mac = mac.map(|b| format!("{b:02x}")).join(":");
            dut.sh(&format!(
                "ip addr add 198.{0}.0.1/24 dev d{side}; ip link set d{side} up
                 ip neigh replace 198.{0}.0.2 lladdr {mac} nud permanent dev d{side}",
                18 + side
            ))?;
        }
        dut.sh("nft 'add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }'
             nft add rule ip nat out oifname d1 masquerade
             sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=0 net.netfilter.nf_conntrack_tcp_loose=0")?;
        Ok(Rig { dut, ports })
    }
}

impl Dut {
    fn sh(&self, line: &str) -> Outcome<String> {
        let output = self.0.command("sh", Sight::NetworkAndSysfs).args(["-ec", line]).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    fn forget(&self) -> Outcome<String> {
        self.sh("conntrack -F 2>/dev/null")
    }

    fn invalid(&self) -> Outcome<String> {
        let statistics = self.sh("conntrack -S")?;
        let counts =
            statistics.split_whitespace().filter_map(|word| word.strip_prefix("invalid=")?.parse::<u64>().ok());
        Ok(format!("{} segments outside a window", counts.sum::<u64>()))
    }
}

fn stage(ports: [TapPort; 2], view: &Arc<View>, clock: Clock) -> Outcome<Stage> {
    let [left, right] = ports.map(|port| Box::new(port) as Box<dyn Port>);
    let pool = Pool::single(PoolConfig::compact(1, 4096, view.longest()))?;
    let core = host::cores().first().copied();
    let lane = Lane { core, pool, left: Some(left), right: Some(right), companion: None, service: None };
    let store = Some(StateTable::new(view.connections())?);
    let mut stage =
        Stage::new(clock, vec![lane], Arc::clone(view), store, Nanos(0), 1, Arc::new(AtomicBool::new(false)));
    stage.never_give_up();
    Ok(stage)
}

fn view() -> Outcome<View> {
    let ports = |first, last| PortRange { first, last };
    let flows = FlowSpace::new(
        AddrRange::one([198, 18, 0, 2].into()),
        ports(1024, 41_023),
        AddrRange::one([198, 19, 0, 2].into()),
        ports(80, 80),
    )?;
    let [left, right] = [0, 1].map(|side| Hop { own: Mac(OWN[side]), next: Mac(DUT[side]) });
    let bed = BedAddresses { left, right, frame_size: 64, ttl: 10, connections: flows.size(), flows, seed: 1 };
    let addrs = AddrRange::one([198, 19, 0, 1].into());
    Ok(nat44(&bed, OuterRange { addrs, ports: ports(1024, 65_535) }))
}

/// CPU nanoseconds a segment of a trial at full speed, with start and drain.
fn trial(stage: &mut Stage, exchanges: u16, close: Close) -> Outcome<f64> {
    let before = process_cpu_nanos();
    let out = stage.run_tcp(&life(exchanges, close))?;
    if out.begun.received != CONNECTIONS {
        return Err(format!("{} of {CONNECTIONS} connections were completed", out.begun.received).into());
    }
    Ok((process_cpu_nanos() - before) as f64 / out.received as f64)
}

/// CPU time of all threads.
fn process_cpu_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Both sides without a tester.
struct Bare<'a> {
    fds: [BorrowedFd<'a>; 2],
    view: &'a View,
    segments: [SegmentTemplate; 2],
    script: Script,
}

impl<'a> Bare<'a> {
    fn new(rig: &'a Rig, view: &'a View, exchanges: u16, close: Close) -> Outcome<Bare<'a>> {
        let segments = [&view.left, &view.right].map(SegmentTemplate::new);
        let octets = u16::try_from(segments[0].payload().len())?;
        let script = Script::new(exchanges, octets, close).ok_or("too many octets")?;
        Ok(Bare { fds: rig.ports.each_ref().map(AsFd::as_fd), view, segments, script })
    }

    /// CPU nanoseconds a segment of the system calls.
    fn run(&mut self) -> Outcome<f64> {
        let mut spent = 0;
        for first in (0..CONNECTIONS as u32).step_by(BATCH) {
            spent += self.batch(first)?;
        }
        let segments = CONNECTIONS * u64::from(self.script.segments());
        Ok(spent as f64 / segments as f64)
    }

    fn batch(&self, first: u32) -> Outcome<u64> {
        let mut ends = self.ends(first);
        let (mut spent, mut n) = (0, 0);
        while n < self.script.segments() {
            let from = Script::from(n);
            let run = (n..self.script.segments()).take_while(|&n| Script::from(n) == from).count() as u16;
            let frames: Vec<Vec<u8>> = (0..BATCH)
                .flat_map(|j| (n..n + run).map(move |n| (j, n)))
                .map(|(j, n)| {
                    self.made(first + j as u32, &ends[usize::from(from == Side::Responder)][j], self.script.segment(n))
                })
                .collect();
            let (nanos, arrived) = self.pass(from, &frames)?;
            spent += nanos;
            if n == 0 {
                ends[1] = arrived.iter().map(|frame| self.answering(frame)).collect::<Outcome<_>>()?;
            }
            n += run;
        }
        Ok(spent)
    }

    fn ends(&self, first: u32) -> [Vec<Ends>; 2] {
        let (mut batch, mut words, mut flows) = (Batch::default(), Words::default(), [0; BATCH]);
        let indices: [u32; BATCH] = std::array::from_fn(|j| first + j as u32);
        self.view.order.fill(&indices, &mut flows);
        batch.set(&self.view.flows, &flows);
        self.view.left.words(&batch, &mut words);
        let of_left = (0..BATCH).map(|j| Ends::of(&words, j)).collect();
        [of_left, Vec::new()]
    }

    fn made(&self, index: u32, ends: &Ends, segment: Segment) -> Vec<u8> {
        let template = &self.segments[usize::from(segment.from == Side::Responder)];
        let mut frame = vec![0; template.len(segment.data)];
        let numbers = Numbers::new(1).of(index, &segment);
        template.write(&mut frame, ends, index, numbers, (segment.flags, segment.data));
        frame
    }

    fn answering(&self, frame: &[u8]) -> Outcome<Ends> {
        let (seq, ack, flags) = self.view.expect_right.segment(frame).ok_or("no TCP segment arrived")?;
        let (index, ..) = Numbers::new(1).read(Side::Initiator, (seq, ack, flags));
        let (mut batch, mut words, mut flows) = (Batch::default(), Words::default(), [0; BATCH]);
        self.view.order.fill(&[index; BATCH], &mut flows);
        batch.set(&self.view.flows, &flows);
        self.view.expect_right.words(&batch, &mut words);
        let mut ends = Ends::of(&words, 0);
        let wanted = self.segments[1].wanted((seq, ack), (flags, false));
        self.view.expect_right.check_segment(frame, &mut ends, &wanted, true).map_err(|e| format!("a SYN: {e:?}"))?;
        Ok(ends.swapped())
    }

    fn pass(&self, from: Side, frames: &[Vec<u8>]) -> Outcome<(u64, Vec<Vec<u8>>)> {
        let [out, into] = if from == Side::Initiator { self.fds } else { [self.fds[1], self.fds[0]] };
        let mut arrived: Vec<([u8; 256], usize)> = frames.iter().map(|_| ([0; 256], 0)).collect();
        let before = host::thread_cpu_nanos();
        for frame in frames {
            rustix::io::write(out, frame)?;
        }
        for (room, length) in &mut arrived {
            *length = rustix::io::read(into, room).map_err(|e| format!("a segment did not arrive: {e}"))?;
        }
        let spent = host::thread_cpu_nanos() - before;
        Ok((spent, arrived.into_iter().map(|(room, length)| room[..length].to_vec()).collect()))
    }
}
