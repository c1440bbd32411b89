//! What a frame costs a worker before any technology has looked at it: two in-process links, a tester's thread that sends and
//! receives without looking, and functions that do almost nothing. The yardstick for the figures of
//! `cargo bench -p natmeter --bench gateway`.
//!
//! `cargo bench -p natmeter-gateway --bench link`: nanoseconds a frame of the worker's time, medians
//! and the best in parentheses.

use gateway::{EmbeddedConfig, EmbeddedGateway};
use plane::{Function, Input, Packet, Spare, Verdict};
use port::link::{Steer, link};
use port::{Clock, Pool, PoolConfig, Port};
use std::time::{Duration, Instant};

const RUNS: usize = 15;
const TRIAL: Duration = Duration::from_millis(70);
const DEPTH: usize = 4096;

#[derive(Clone, Copy, PartialEq)]
enum Work {
    /// It is not looked at.
    Nothing,
    /// Its addresses are exchanged: the first line is read and written.
    Write,
    /// The same after prefetching the lines of the whole batch.
    Prefetched,
    /// It gets 20 bytes in front, in another cache line, and they are written.
    Grow,
    /// 20 bytes are taken off its front.
    Shrink,
}

struct Doing(Work);

impl Function for Doing {
    fn process<P: Packet>(&mut self, input: Input<P>, _: &mut dyn Spare<P>) {
        if self.0 != Work::Nothing && self.0 != Work::Write {
            for p in input.packets.iter() {
                arena::prefetch_to_write(&p.bytes()[0]);
                if self.0 == Work::Grow {
                    arena::prefetch_beside(&p.bytes()[0], -20);
                }
            }
        }
        for (p, v) in input.packets.iter_mut().zip(input.verdicts) {
            match self.0 {
                Work::Nothing => {}
                Work::Write | Work::Prefetched => swap(p),
                Work::Grow => {
                    p.grow_front(20);
                    swap(p);
                }
                Work::Shrink => {
                    p.shrink_front(20);
                    swap(p);
                }
            }
            *v = Verdict::Forward(input.from.other());
        }
    }
    testbed::nothing_to_adopt!(Doing);
}

fn swap<P: Packet>(p: &mut P) {
    if let Some(head) = p.bytes_mut().first_chunk_mut::<12>() {
        head.rotate_left(6);
    }
}

fn main() {
    println!("{:<12} {:>14} {:>14} {:>14}   ns a frame", "work", "60 B", "80 B", "100 B");
    let rows = [
        ("nothing", Work::Nothing),
        ("write", Work::Write),
        ("prefetched", Work::Prefetched),
        ("grow", Work::Grow),
        ("shrink", Work::Shrink),
    ];
    for (name, work) in rows {
        let cells = [60, 80, 100].map(|len| format!("{:>14}", price(work, len)));
        println!("{name:<12} {}", cells.join(" "));
    }
}

fn price(work: Work, len: usize) -> String {
    let clock = Clock::calibrated();
    let cores = port::host::cores();
    let mut pools = Pool::for_workers(PoolConfig::compact(2, 4 * DEPTH, len + 40)).expect("memory");
    let mut pool = pools.remove(0);
    let (mut left, mut customer) = link("left", clock, DEPTH, (1, Steer::First), (1, Steer::First));
    let (mut right, mut internet) = link("right", clock, DEPTH, (1, Steer::First), (1, Steer::First));
    let ports: (Box<dyn Port>, Box<dyn Port>) = (Box::new(customer.remove(0)), Box::new(internet.remove(0)));
    let config = EmbeddedConfig::in_process(vec![ports], pools, vec![cores.get(1).copied()]);
    let (embedded, _queue) = EmbeddedGateway::start(clock, config, vec![Box::new(Doing(work))]);
    let (mut out, mut back) = (port::burst(), port::burst());
    let mut ns: Vec<f64> = (0..RUNS)
        .map(|_| {
            embedded.wake(TRIAL);
            let end = Instant::now() + TRIAL;
            while Instant::now() < end {
                pool.alloc_burst(port::BATCH, len, &mut out);
                // The tester writes every byte, and reads none: judging would take as long as the worker.
                for f in &mut out {
                    f.bytes_mut().fill(7);
                }
                left[0].transmit(&mut pool, &mut out).expect("a link cannot break");
                right[0].receive(&mut pool, &mut back).expect("a link cannot break");
                pool.free_all(&mut back);
            }
            embedded.rest();
            let (nanos, frames) = embedded.busy().expect("the worker answers");
            std::thread::sleep(TRIAL / 10);
            nanos as f64 / frames.max(1) as f64
        })
        .collect();
    ns.sort_by(f64::total_cmp);
    format!("{:.1} ({:.1})", ns[RUNS / 2], ns[0])
}
