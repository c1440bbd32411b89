//! The cost of a service for the judge when every frame is a test frame. `-- service with` and `-- service without`
//! judge once, for counts of instructions (valgrind --tool=callgrind).

use crate::layouts;
use crate::lists::{Figure, RUNS};
use engine::expected::JudgePlan;
use engine::judge::{Arrivals, Judge};
use engine::{Service, ServiceVerdict};
use plane::view::forwarding;
use port::{BATCH, Burst, Clock, Counters, Frame, Pool, PoolConfig, Port, PortError, PortFacts, Sent};
use std::sync::Mutex;
use wire::{FramePurpose, Tag, Values, View};

const FRAMES: u64 = 100 * BATCH as u64;
const TRIAL: u16 = 7;

struct Arriving<'a> {
    view: &'a View,
    sequence: u64,
}

impl Port for Arriving<'_> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        for _ in 0..BATCH {
            let mut frame = pool.alloc(self.view.left.len()).expect("a frame for each of a burst");
            let index = self.sequence as u32;
            let stream = Tag::stream(FramePurpose::Data, false);
            let tag = Tag { trial: TRIAL, stream, sender: 0, sequence: self.sequence, index };
            let flow = self.view.flows.flow(self.view.order.get(index));
            self.view.left.write(frame.bytes_mut(), &Values::of(flow), &tag);
            into.push(frame);
            self.sequence += 1;
        }
        Ok(BATCH)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        pool.free_all(burst);
        Ok(Sent::default())
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn facts(&self) -> PortFacts {
        PortFacts::default()
    }
}

/// Nanoseconds a frame.
fn judged(clock: Clock, view: &View, with: bool) -> f64 {
    let foreign: Service = Box::new(|_, _: &mut Frame| ServiceVerdict::Foreign);
    let service = Mutex::new(foreign);
    let mut seen = [Arrivals::default()];
    seen[0].reset(FRAMES);
    let plan = JudgePlan::new(view, false, TRIAL, FramePurpose::Data);
    let mut judge = Judge::new(plan, clock, &mut seen);
    if with {
        judge = judge.beside(&service, false);
    }
    let mut pool = Pool::single(PoolConfig::compact(1, 2 * BATCH, 128)).expect("memory for a few frames");
    let mut port = Arriving { view, sequence: 0 };
    while port.sequence < FRAMES {
        judge.poll(0, &mut port, &mut pool).expect("this port never fails");
    }
    assert_eq!(judge.findings.received, FRAMES);
    clock.nanos(judge.findings.own) as f64 / FRAMES as f64
}

pub(super) fn print(clock: Clock, words: &[&String]) {
    let view = forwarding(&layouts::bed(1, 40_000, 100));
    let is = |word: &str| words.iter().any(|w| *w == word);
    if is("with") || is("without") {
        println!("judge, service {}: {FRAMES} frames", is("with"));
        judged(clock, &view, is("with"));
        return;
    }
    let runs = |with| Figure::of((0..RUNS).map(|_| judged(clock, &view, with)).collect());
    println!("\njudge, ns a frame: alone {}, beside a service {}", runs(false), runs(true));
}
