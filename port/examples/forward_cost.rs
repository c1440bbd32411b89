//! What each back-end costs: CPU time a frame for sending, the kernel's IPv4 forwarding and receiving, all in
//! one thread on one core, so that the DUT's work is inside. Builds its own namespaces, which vanish with it.
//!
//! `cargo run --release -p natmeter-port --example forward_cost [SECONDS]`, as root.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{DUT_MAC, forward, quiet_namespace, sh, udp_frame};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Select, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::{BURST, Clock, Netns, Pool, PoolConfig, Port, PortError, burst, host};
use std::time::{Duration, Instant};

const RUNS: usize = 5;

/// Which way frames go in and come out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Tap,
    Packet,
    Xdp(XdpMode),
}

fn main() -> Result<(), PortError> {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(0.5);
    let core = host::cores()[0];
    host::pin(core)?;
    println!("64-byte frames, IPv4 forwarding in one namespace, everything on core {core}, {RUNS} runs of {seconds} s");
    println!(
        "{:<36} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "sent by -> received by", "min ns/f", "median", "max", "kfps*", "loss, own"
    );
    let generic = Way::Xdp(XdpMode::Generic);
    for (name, send, receive) in [
        ("TAP write -> TAP read", Way::Tap, Way::Tap),
        ("sendmmsg -> TPACKET_V2 ring", Way::Packet, Way::Packet),
        ("AF_XDP -> TPACKET_V2 ring", generic, Way::Packet),
        ("AF_XDP -> AF_XDP generic", generic, generic),
        ("AF_XDP -> AF_XDP native", generic, Way::Xdp(XdpMode::Native)),
    ] {
        let mut results = Vec::new();
        for _ in 0..RUNS {
            results.push(measure(send, receive, Duration::from_secs_f64(seconds))?);
        }
        results.sort_by(|a, b| a.0.total_cmp(&b.0));
        let median = results[RUNS / 2].0;
        let (lost, own) = results.iter().fold((0, 0), |sum, r| (sum.0 + r.1, sum.1 + r.2));
        println!(
            "{name:<36} {:>9.0} {median:>9.0} {:>9.0} {:>9.0} {:>12}",
            results[0].0,
            results[RUNS - 1].0,
            1e6 / median,
            format!("{lost}, {own}")
        );
    }
    println!("* one core could carry: 1e6 / median");
    Ok(())
}

/// CPU nanoseconds a frame, frames lost, and drops of our own.
fn measure(send: Way, receive: Way, time: Duration) -> Result<(f64, u64, u64), PortError> {
    let clock = Clock::calibrated();
    let mut pool = Pool::single(PoolConfig::umem(1, 8192))?;
    let (mut left, mut right, _namespaces) =
        if send == Way::Tap { taps(clock)? } else { cables(send, receive, clock, &mut pool)? };
    let template = udp_frame(0, 60);
    let (mut out, mut back) = (burst(), burst());
    let (mut sent, mut received) = (0u64, 0u64);
    let mut round = |sending: bool| -> Result<u64, PortError> {
        while sending && out.len() < BURST {
            let Some(mut frame) = pool.alloc(60) else { break };
            frame.bytes_mut().copy_from_slice(&template);
            out.push(frame);
        }
        let done = left.transmit(&mut pool, &mut out)?;
        sent += (done.accepted + done.refused) as u64;
        let got = right.receive(&mut pool, &mut back)? as u64;
        received += got;
        pool.free_all(&mut back);
        Ok(got)
    };
    for _ in 0..200 {
        round(true)?;
    }
    let (start, cpu) = (Instant::now(), host::thread_cpu_nanos());
    let mut frames = 0;
    while start.elapsed() < time {
        for _ in 0..20 {
            frames += round(true)?;
        }
    }
    let spent = host::thread_cpu_nanos() - cpu;
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_millis(20) {
        if round(false)? > 0 {
            last = Instant::now();
        }
    }
    Ok((spent as f64 / frames as f64, sent - received, right.counters().own_drops))
}

/// Two ports, and the namespaces that must stay as long as they are used.
type Rig = (Box<dyn Port>, Box<dyn Port>, Vec<Netns>);

fn taps(clock: Clock) -> Result<Rig, PortError> {
    let dut = quiet_namespace();
    let open = |side: usize| -> Result<Box<dyn Port>, PortError> {
        let config = TapConfig { mac: Some(DUT_MAC[side]), ..TapConfig::named(["d0", "d1"][side]) };
        Ok(Box::new(TapPort::open(&dut, &config, clock)?))
    };
    let (left, right) = (open(0)?, open(1)?);
    forward(&dut, "d0", "d1");
    Ok((left, right, vec![dut]))
}

/// Two cables between a namespace of the tester and one of the DUT.
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
    // The tester's own stack need not look at what comes back.
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
