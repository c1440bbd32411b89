//! TCP segments per second that one thread sends, receives and judges over a cable, beside UDP frames of the same view.

use crate::layouts::bed;
use crate::whole::{data, learn, stage_on};
use engine::phase::Phase;
use engine::stage::Stage;
use engine::tcp::{Course, TcpPhase};
use method::{Direction, Nanos, Rate};
use plane::view::nat44;
use port::Clock;
use wire::OuterRange;
use wire::tcp::Close;

const CONNECTIONS: u64 = 20_000;
/// Room of the cable each way.
const DEPTH: usize = 1_024;
/// Pairs of runs, whose median ratio counts.
const PAIRS: usize = 9;

pub(crate) fn print(clock: Clock) {
    println!("\nTCP connections and UDP frames in turn on one thread; 64-byte frames, millions a second");
    println!("connections                segments of each           TCP           UDP     TCP / UDP");
    let bed = bed(1, 40_000, 100);
    let outer = OuterRange { addrs: bed.flows.inside(), ports: bed.flows.inside_ports() };
    let mut stage = match stage_on(clock, nat44(&bed, outer), DEPTH) {
        Ok(stage) => stage,
        Err(e) => return println!("{e}"),
    };
    for (name, exchanges, close, segments) in [
        ("opened and closed by FIN", 0, Close::Fin, 6),
        ("opened and reset", 0, Close::Rst, 4),
        ("with ten exchanges", 10, Close::Fin, 26),
    ] {
        let mut pairs: Vec<(f64, f64)> =
            (0..PAIRS).filter_map(|_| Some((tcp(&mut stage, exchanges, close)?, udp(&mut stage)?))).collect();
        pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        match pairs.get(pairs.len() / 2) {
            Some((tcp, udp)) => {
                println!("{name:<26} {segments:>16} {tcp:>13.2} {udp:>13.2} {:>13.2}", tcp / udp);
            }
            None => println!("{name:<26} not measured: a run was not complete"),
        }
    }
}

/// Millions of segments per second.
fn tcp(stage: &mut Stage, exchanges: u16, close: Close) -> Option<f64> {
    let phase = TcpPhase {
        course: Course::Life { exchanges, close },
        rate: Rate(1_000_000_000),
        count: CONNECTIONS,
        first: 0,
        different: CONNECTIONS,
        hold: false,
        drain: Nanos::from_millis(1),
    };
    let out = stage.run_tcp(&phase).ok()?;
    let is_complete = out.begun.received == CONNECTIONS;
    is_complete.then(|| out.received as f64 * 1e3 / out.begun.send_time.0 as f64)
}

/// Millions of UDP frames per second, in random order, both directions together.
fn udp(stage: &mut Stage) -> Option<f64> {
    let frames = 3 * CONNECTIONS;
    stage.run(&learn(CONNECTIONS)).ok()?;
    let phase = Phase { frames, ..data(CONNECTIONS, Direction::Both) };
    let out = stage.run(&phase).ok()?;
    let both = out.forward.received + out.reverse.received;
    (both == 2 * frames).then(|| both as f64 * 1e3 / out.forward.send_time.max(out.reverse.send_time).0 as f64)
}
