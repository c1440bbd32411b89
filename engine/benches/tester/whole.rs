//! The complete tester on a cable: a stateful set-up without translation, and a stateless one.

use crate::layouts::bed;
use crate::lists::{Figure, RUNS};
use engine::Lane;
use engine::phase::{Phase, PhaseOutcome};
use engine::stage::Stage;
use engine::store::StateTable;
use method::{Direction, Nanos, Order, Rate};
use plane::view::{forwarding, nat44};
use port::link::{Steer, link};
use port::{Clock, Pool, PoolConfig, Port};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::{FramePurpose, OuterRange, View};

/// Frames of a run of about a millisecond.
const FRAMES: u64 = 32_000;

pub(crate) fn print(clock: Clock, large: bool) {
    println!("\none thread sends, receives and judges; 64-byte frames, random order, ns a frame");
    println!("connections          Mfps        in all          send     hand over       receive         judge");
    let shapes: [(u16, u16); 5] = [(100, 100), (10_000, 100), (40_000, 100), (40_000, 1_600), (40_000, 6_400)];
    for &(ports, remotes) in &shapes[..if large { 5 } else { 4 }] {
        let bed = bed(1, ports, remotes);
        let n = bed.connections;
        let mut stage = match make_stage(clock, forwarding(&bed)) {
            Ok(s) => s,
            Err(e) => return println!("{n:>11}: {e}"),
        };
        row(&format!("{n:>11} static"), &mut stage, &data(n, Direction::Forward));
        let outer = OuterRange { addrs: bed.flows.inside(), ports: bed.flows.inside_ports() };
        let mut stage = match make_stage(clock, nat44(&bed, outer)) {
            Ok(s) => s,
            Err(e) => return println!("{n:>11}: {e}"),
        };
        let learned = run(&mut stage, &learn(n));
        line(&format!("{n:>11} phase 1"), &[(learned, n)]);
        row(&format!("{n:>11} judged by table"), &mut stage, &data(n, Direction::Forward));
        row(&format!("{n:>11} sent by table"), &mut stage, &data(n, Direction::Reverse));
    }
}

pub(crate) fn make_stage(clock: Clock, view: View) -> Result<Stage, String> {
    stage_on(clock, view, 256)
}

pub(crate) fn stage_on(clock: Clock, view: View, depth: usize) -> Result<Stage, String> {
    let pool = Pool::single(PoolConfig::compact(1, 2 * depth, view.longest())).map_err(|e| e.to_string())?;
    let (mut left, mut right) = link("cable", clock, depth, (1, Steer::First), (1, Steer::First));
    let (left, right): (Box<dyn Port>, Box<dyn Port>) = (Box::new(left.remove(0)), Box::new(right.remove(0)));
    let core = port::host::cores().first().copied();
    let lane = Lane { core, pool, left: Some(left), right: Some(right), companion: None, service: None };
    let store = view.stateful.then(|| StateTable::new(view.connections())).transpose().map_err(|e| e.to_string())?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut stage = Stage::new(clock, vec![lane], Arc::new(view), store, Nanos(0), 1, stop);
    stage.never_give_up();
    Ok(stage)
}

/// Test traffic at full speed.
pub(crate) fn data(connections: u64, direction: Direction) -> Phase {
    Phase {
        connections,
        direction,
        forward_order: Order::Random,
        reverse_order: Order::Random,
        drain: Nanos::from_millis(1),
        // Always behind schedule.
        ..Phase::of(FramePurpose::Data, Rate(1_000_000_000), FRAMES)
    }
}

/// Phase 1 at full speed.
pub(crate) fn learn(n: u64) -> Phase {
    Phase {
        kind: FramePurpose::Establish,
        frames: n,
        forward_order: Order::RoundRobin,
        learn: true,
        update: false,
        only_missing: false,
        ..data(n, Direction::Forward)
    }
}

fn run(stage: &mut Stage, phase: &Phase) -> PhaseOutcome {
    let out = stage.run(phase).expect("a cable loses nothing");
    let got = out.forward.received + out.reverse.received;
    assert_eq!(got, phase.frames, "every frame comes back right: {:?} {:?}", out.forward.faults, out.reverse.faults);
    out
}

pub(crate) fn row(name: &str, stage: &mut Stage, phase: &Phase) {
    run(stage, phase);
    let runs: Vec<_> = (0..4 * RUNS).map(|_| (run(stage, phase), phase.frames)).collect();
    line(name, &runs);
}

fn line(name: &str, runs: &[(PhaseOutcome, u64)]) {
    let of = |part: &dyn Fn(&PhaseOutcome) -> u64| {
        Figure::of(runs.iter().map(|(o, n)| part(o) as f64 / *n as f64).collect())
    };
    let all = of(&|o| o.forward.send_time.0.max(o.reverse.send_time.0));
    let parts =
        [of(&|o| o.cost.send.0), of(&|o| o.cost.transmit.0), of(&|o| o.cost.receive.0), of(&|o| o.cost.judge.0)];
    print!("{name:<27} {:>5.1} {all:>13}", 1e3 / all.median);
    for p in parts {
        print!(" {p:>13}");
    }
    println!();
}
