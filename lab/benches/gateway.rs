//! What a frame costs the embedded gateway's worker: link receive, NAT44, link transmit, with the tester on another
//! core. One direction at a time, 64-byte frames in random order, offered faster than the worker can take them, so that its
//! bursts are full. Prints nanoseconds a frame (median of the runs) and 10^9 divided by them; judges nothing.
//!
//! `cargo bench -p natmeter --bench gateway [-- LARGEST]`: 100 k, 1 M, 4 M … sessions up to LARGEST (default 4 M).

use lab::plan::Point;
use lab::rig::{Process, Rig};
use lab::scenario::{Options, parse};
use method::{Direction, Load, Nanos, Order, PhaseKind, Rate, TrialSpec, Trials};

const RUNS: usize = 5;
/// Tries to fill the table completely.
const TRIES: usize = 40;

fn main() {
    let largest = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(4_000_000u64);
    let process = Process::new();
    let _raised = lab::priority::raise();
    println!("{:>12} {:<28} {:>22} {:>22} {:>22}", "sessions", "mapping", "new", "in to out", "out to in");
    for mapping in ["address-and-port-dependent", "endpoint-independent"] {
        for n in [100_000u64, 1_000_000, 4_000_000, 16_000_000, 64_000_000].into_iter().filter(|n| *n <= largest) {
            match row(&process, mapping, n) {
                Ok(row) => println!("{n:>12} {mapping:<28} {}", row.map(|c| format!("{c:>22}")).join(" ")),
                Err(e) => println!("{n:>12} {mapping:<28} {e}"),
            }
        }
    }
}

fn row(process: &Process, mapping: &str, n: u64) -> Result<[String; 3], String> {
    let text = format!(
        "name = \"bench\"\n[dut.embedded]\nmapping = \"{mapping}\"\ntable = {n}\n[traffic]\nsource-ports = \"1024-41023\"\n\
         destination-ports = \"1-1600\"\n[sweep]\nconnections = [{n}]\n[measure]\nmetrics = [\"max_conn_est_rate\"]\n\
         start-delay = \"5 ms\"\ndrain = \"20 ms\"\nsettle = \"0 s\"\nphase1-drain = \"20 ms\"\n"
    );
    let scenario = parse("bench.toml", &text, &Options::default()).map_err(|c| c.render(false))?.scenario;
    let point = Point { dut: 0, dut_name: "embedded".into(), connections: n, cores: 1, axes: Default::default() };
    let mut rig = Rig::build(&scenario, &point, process).map_err(|e| e.to_string())?;
    let establish = TrialSpec {
        kind: PhaseKind::Establish,
        rate: Rate(10_000_000),
        load: Load::Frames(n),
        direction: Direction::Forward,
        connections: n,
        phase1_rate: None,
        validate_rate: None,
        keep_table: false,
        responder_order: Order::Random,
    };
    let new = price(&mut rig, &establish)?;
    // A complete table, filled slowly, for the established directions.
    let slow = TrialSpec { rate: Rate(2_500_000), ..establish.clone() };
    let filled = (0..TRIES).any(|_| rig.run(&slow).is_ok_and(|o| o.forward.received == n));
    if !filled {
        return Err("phase 1 was disturbed again and again: the host is too busy".into());
    }
    let established = |direction| TrialSpec {
        kind: PhaseKind::Established,
        rate: Rate(14_000_000),
        load: Load::For(Nanos::from_millis(300)),
        direction,
        keep_table: true,
        ..establish.clone()
    };
    let out = price(&mut rig, &established(Direction::Forward))?;
    let back = price(&mut rig, &established(Direction::Reverse))?;
    Ok([new, out, back])
}

/// Median nanoseconds a frame over several runs of a trial, and what that makes a second.
fn price(rig: &mut Rig, spec: &TrialSpec) -> Result<String, String> {
    let mut ns = Vec::new();
    for _ in 0..RUNS {
        rig.price();
        rig.run(spec).map_err(|e| e.to_string())?;
        let (nanos, frames) = rig.price().ok_or("the gateway does not answer")?;
        ns.push(nanos as f64 / frames.max(1) as f64);
    }
    ns.sort_by(f64::total_cmp);
    let median = ns[RUNS / 2];
    Ok(format!("{median:.0} ns = {:.2} M/s", 1e3 / median))
}
