//! Measures the cost of each back-end: CPU time per frame for sending, the kernel's IPv4 forwarding or NAT44, and
//! receiving. One thread on one core does it all, so the result includes the DUT's work. It makes its own namespaces,
//! which vanish with the process.
//!
//! `cargo run --release -p natmeter-port --example forward_cost [SECONDS] [nat]`, as root. With `nat` the DUT is
//! nftables masquerade with 200,000 connections; the rows show the cost of a new connection, and of a frame of an
//! existing one, from left to right in random order. The first row uses only write(2) and read(2), without port and
//! pool: it is the cost of this kernel for any program.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{DUT_MAC, forward, quiet_namespace, sh, udp_frame};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Select, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::{BATCH, Clock, Netns, Pool, PoolConfig, Port, PortError, burst, host};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

const RUNS: usize = 5;

/// The interface over which frames enter and leave the DUT.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A TAP, used directly by system calls.
    Calls,
    Tap,
    Packet,
    Xdp(XdpMode),
}

/// The kernel's work on a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Forward,
    /// NAT44; each frame opens a new connection.
    New,
    /// NAT44; all connections exist.
    Standing,
}

impl Work {
    fn suffix(self) -> &'static str {
        match self {
            Work::Forward => "",
            Work::New => ", new",
            Work::Standing => ", standing",
        }
    }
}

/// Connections of the NAT44: fewer than the default limit of the kernel's table.
const CONNECTIONS: u64 = 200_000;

/// Turns a template into frame number `n`. Successive frames cycle through all connections in a random order.
fn connect(frame: &mut [u8], n: u64) {
    // The factor is coprime to the number of connections, and no small multiple of it is close to that number.
    let at = (n % CONNECTIONS) * 123_457 % CONNECTIONS;
    let (source, destination) = (1024 + (at % 40_000) as u16, 1 + (at / 40_000) as u16);
    frame[34..36].copy_from_slice(&source.to_be_bytes());
    frame[36..38].copy_from_slice(&destination.to_be_bytes());
    frame[40..42].fill(0);
    let words =
        |b: &[u8]| b.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0))).sum::<u32>();
    let length = (frame.len() - 34) as u32;
    let mut sum = words(&frame[26..]) + 17 + length;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[40..42].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn main() -> Result<(), PortError> {
    let seconds = std::env::args_os().nth(1).and_then(|s| s.to_string_lossy().parse().ok()).unwrap_or(0.5);
    let nat = std::env::args_os().nth(2).is_some_and(|word| word == "nat");
    let core = host::cores()[0];
    host::pin(core)?;
    let does = if nat { "nftables NAT44" } else { "IPv4 forwarding" };
    println!("64-byte frames, {does} in one namespace, everything on core {core}, {RUNS} runs of {seconds} s");
    println!(
        "{:<42} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "sent by -> received by", "min ns/f", "median", "max", "kfps*", "loss, own"
    );
    let works = if nat { vec![Work::New, Work::Standing] } else { vec![Work::Forward] };
    let generic = Way::Xdp(XdpMode::Generic);
    let ways = [
        ("write(2) -> read(2), TAP", Way::Calls, Way::Calls),
        ("TAP write -> TAP read", Way::Tap, Way::Tap),
        ("sendmmsg -> TPACKET_V2 ring", Way::Packet, Way::Packet),
        ("AF_XDP -> TPACKET_V2 ring", generic, Way::Packet),
        ("AF_XDP -> AF_XDP generic", generic, generic),
        ("AF_XDP -> AF_XDP native", generic, Way::Xdp(XdpMode::Native)),
    ];
    let rows: Vec<_> = ways.iter().flat_map(|way| works.iter().map(move |work| (way, *work))).collect();
    let mut results = vec![Vec::new(); rows.len()];
    // The runs alternate, so that a slow period of the machine affects all back-ends.
    for _ in 0..RUNS {
        for (&(&(_, send, receive), work), of_row) in rows.iter().zip(&mut results) {
            of_row.push(measure(send, receive, work, Duration::from_secs_f64(seconds))?);
        }
    }
    for ((&(name, ..), work), mut of_row) in rows.into_iter().zip(results) {
        of_row.sort_by(|a, b| a.0.total_cmp(&b.0));
        let median = of_row[RUNS / 2].0;
        let (lost, own) = of_row.iter().fold((0, 0), |sum, r| (sum.0 + r.1, sum.1 + r.2));
        println!(
            "{:<42} {:>9.0} {median:>9.0} {:>9.0} {:>9.0} {:>12}",
            format!("{name}{}", work.suffix()),
            of_row[0].0,
            of_row[RUNS - 1].0,
            1e6 / median,
            format!("{lost}, {own}")
        );
    }
    println!("* one core could carry: 1e6 / median");
    Ok(())
}

/// Number of frames sent, and received, in a round of one burst.
type Round = (u64, u64);

/// Returns CPU nanoseconds per frame, frames lost, and the tester's own drops.
fn measure(send: Way, receive: Way, work: Work, time: Duration) -> Result<(f64, u64, u64), PortError> {
    let clock = Clock::calibrated();
    if send == Way::Calls {
        let (left, right, dut) = taps(clock)?;
        let (spent, lost) = timed(&dut, work, time, by_calls(left.as_fd(), right.as_fd(), work))?;
        return Ok((spent, lost, 0));
    }
    let mut pool = Pool::single(PoolConfig::umem(1, 8192))?;
    let (mut left, mut right, namespaces): Rig = if send == Way::Tap {
        let (left, right, dut) = taps(clock)?;
        (Box::new(left), Box::new(right), vec![dut])
    } else {
        cables(send, receive, clock, &mut pool)?
    };
    let dut = namespaces.last().expect("the DUT's is the last");
    let (spent, lost) = timed(dut, work, time, by_ports(&mut *left, &mut *right, &mut pool, work))?;
    Ok((spent, lost, right.counters().own_drops))
}

/// Returns CPU nanoseconds per received frame, and the number of lost frames. A round sends a burst only if its
/// argument says so.
fn timed(
    dut: &Netns,
    work: Work,
    time: Duration,
    mut round: impl FnMut(bool) -> Result<Round, PortError>,
) -> Result<(f64, u64), PortError> {
    if work != Work::Forward {
        sh(dut, "nft 'add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }'");
        sh(dut, "nft add rule ip nat out oifname d1 masquerade");
    }
    let (mut sent, mut received) = (0, 0);
    let mut counted = |sending: bool| -> Result<u64, PortError> {
        let (out, back) = round(sending)?;
        sent += out;
        received += back;
        Ok(back)
    };
    let before = if work == Work::Standing { CONNECTIONS / BATCH as u64 + 1 } else { 200 };
    for _ in 0..before {
        counted(true)?;
    }
    let (start, cpu) = (Instant::now(), host::thread_cpu_nanos());
    let (mut frames, mut rounds) = (0, before);
    // With new connections, the measurement ends after the last connection.
    let all = if work == Work::New { CONNECTIONS / BATCH as u64 } else { u64::MAX };
    while start.elapsed() < time && rounds + 20 < all {
        for _ in 0..20 {
            frames += counted(true)?;
        }
        rounds += 20;
    }
    let spent = host::thread_cpu_nanos() - cpu;
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_millis(20) {
        if counted(false)? > 0 {
            last = Instant::now();
        }
    }
    if work != Work::Forward {
        // Otherwise the kernel frees them in the background during the next measurement.
        sh(dut, "conntrack -F 2>/dev/null");
    }
    Ok((spent as f64 / frames as f64, sent - received))
}

/// Returns rounds over ports, as in the tester.
fn by_ports<'a>(
    left: &'a mut dyn Port,
    right: &'a mut dyn Port,
    pool: &'a mut Pool,
    work: Work,
) -> impl FnMut(bool) -> Result<Round, PortError> + 'a {
    let template = udp_frame(0, 60);
    let mut number = 0;
    let (mut out, mut back) = (burst(), burst());
    move |sending| {
        while sending && out.len() < BATCH {
            let Some(mut frame) = pool.alloc(60) else { break };
            frame.bytes_mut().copy_from_slice(&template);
            if work != Work::Forward {
                connect(frame.bytes_mut(), number);
            }
            number += 1;
            out.push(frame);
        }
        let done = left.transmit(pool, &mut out)?;
        let got = right.receive(pool, &mut back)?;
        pool.free_all(&mut back);
        Ok(((done.accepted + done.refused) as u64, got as u64))
    }
}

/// Returns rounds of one write and one read per frame.
fn by_calls<'a>(
    left: BorrowedFd<'a>,
    right: BorrowedFd<'a>,
    work: Work,
) -> impl FnMut(bool) -> Result<Round, PortError> + 'a {
    let (mut frame, mut read) = (udp_frame(0, 60), [0; 2048]);
    let mut number = 0;
    move |sending| {
        let (mut out, mut back) = (0, 0);
        while sending && out < BATCH as u64 {
            if work != Work::Forward {
                connect(&mut frame, number);
            }
            number += 1;
            out += u64::from(rustix::io::write(left, &frame).is_ok());
        }
        while back < BATCH as u64 && rustix::io::read(right, &mut read).is_ok() {
            back += 1;
        }
        Ok((out, back))
    }
}

/// Two ports, and the namespaces that must exist as long as the ports are used; the last is the DUT's.
type Rig = (Box<dyn Port>, Box<dyn Port>, Vec<Netns>);

/// Makes two TAPs, and their namespace, which must exist as long as they are used.
fn taps(clock: Clock) -> Result<(TapPort, TapPort, Netns), PortError> {
    let dut = quiet_namespace();
    let open = |side: usize| {
        let config = TapConfig { mac: Some(DUT_MAC[side]), ..TapConfig::named(["d0", "d1"][side]) };
        TapPort::open(&dut, &config, clock)
    };
    let (left, right) = (open(0)?, open(1)?);
    forward(&dut, "d0", "d1");
    Ok((left, right, dut))
}

/// Makes two cables between a namespace of the tester and one of the DUT; both must exist as long as the ports are
/// used.
fn cables(send: Way, receive: Way, clock: Clock, pool: &mut Pool) -> Result<Rig, PortError> {
    let (tester, dut) = (quiet_namespace(), quiet_namespace());
    for (side, mac) in DUT_MAC.into_iter().enumerate() {
        let mac = mac.map(|b| format!("{b:02x}")).join(":");
        let there = dut.path();
        let there = there.display();
        sh(&tester, &format!("ip link add t{side} type veth peer name d{side} address {mac} netns {there}"));
        sh(&tester, &format!("ip link set t{side} up"));
    }
    forward(&dut, "d0", "d1");
    // Received frames need not pass the tester's own stack.
    sh(
        &tester,
        "nft 'add table netdev quiet; add chain netdev quiet t1 { type filter hook ingress device t1 priority 0; policy drop; }'",
    );
    let mut open = |way: Way, name: &str, select: Select| -> Result<Box<dyn Port>, PortError> {
        Ok(match way {
            Way::Xdp(mode) => {
                let config = AfXdpConfig { mode, ..AfXdpConfig::named(name, select) };
                Box::new(AfXdpPort::open(&tester, &config, clock, std::slice::from_mut(pool))?.remove(0))
            }
            _ => Box::new(AfPacketPort::open(&tester, &AfPacketConfig::named(name), clock)?),
        })
    };
    let (left, right) = (open(send, "t0", Select::default())?, open(receive, "t1", Select::everything())?);
    Ok((left, right, vec![tester, dut]))
}
