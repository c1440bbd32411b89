//! The instrument measures itself first: what the tester's own code can do with these frames and flows when
//! there is no device at all (topology T0), so that a device is never blamed for the tester's limits.

use crate::engine::EngineError;
use crate::lane::Lane;
use crate::phase::{Phase, PhaseOutcome, Stage};
use crate::store::StateTable;
use method::{Direction, Leg, Nanos, Order, Rate, TrialError};
use port::link::{Steer, link};
use port::{Clock, Pool, PoolConfig, Port};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::{Kind, View};

/// The tester's own figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// One reading of the clock, picoseconds.
    pub clock_read_ps: u64,
    /// Departure error of the pacing loop at 1 Mfps: median, nanoseconds.
    pub departure_p50_ns: u64,
    /// The same: 99th percentile.
    pub departure_p99_ns: u64,
    /// Frames per second that one thread sends, receives and judges, **both directions added**.
    pub one_thread: Rate,
    /// The sender's own time a frame, picoseconds, back-end excluded.
    pub send_ps: u64,
    /// The judge's own time a frame, picoseconds, back-end excluded.
    pub receive_ps: u64,
    /// From hand-over to receipt on the in-process link, nanoseconds.
    pub latency_floor_ns: u64,
}

/// Measure the tester itself with the frames and flows of `view`, on `core`; takes about `per_run` × 4.
///
/// The view must be stateless in what it expects, i.e. made for a plain cable: frames come back as sent.
///
/// # Errors
/// No memory, or an interrupt.
pub fn tester(clock: Clock, core: Option<usize>, view: &Arc<View>, per_run: Nanos) -> Result<Limits, CalibrateError> {
    let (departure_p50_ns, departure_p99_ns) = departure_error(clock, core)?;
    let mut limits = Limits {
        clock_read_ps: clock_read(clock),
        departure_p50_ns,
        departure_p99_ns,
        latency_floor_ns: latency_floor(clock, view)?,
        ..Limits::default()
    };
    let mut runs = Vec::new();
    // A first run guesses how many frames fill the time, three more are the measurement.
    let mut frames = 200_000;
    for run in 0..4 {
        let out = loop_once(clock, core, view, frames)?;
        let per_second = (frames as u128 * 1_000_000_000 / u128::from(out.forward.send_time.0.max(1))) as u64;
        if run == 0 {
            frames = Rate(per_second).frames_in(per_run).max(10_000);
        } else {
            runs.push((per_second, out.cost));
        }
    }
    runs.sort_by_key(|r| r.0);
    let (rate, cost) = runs[runs.len() / 2];
    limits.one_thread = Rate(rate);
    limits.send_ps = cost.send.0 * 1000 / frames;
    limits.receive_ps = cost.judge.0 * 1000 / frames;
    Ok(limits)
}

/// Send `frames` frames as fast as one thread can over a cable from Left to Right and judge them all.
///
/// # Errors
/// As [`tester`].
pub fn loop_once(
    clock: Clock,
    core: Option<usize>,
    view: &Arc<View>,
    frames: u64,
) -> Result<PhaseOutcome, CalibrateError> {
    let pool = Pool::single(PoolConfig::compact(1, 512, view.longest()))?;
    let (mut left, mut right) = link("loop", clock, 256, (1, Steer::First), (1, Steer::First));
    let (left, right): (Box<dyn Port>, Box<dyn Port>) = (Box::new(left.remove(0)), Box::new(right.remove(0)));
    let lane = Lane { core, pool, left: Some(left), right: Some(right), companion: None };
    let store =
        if view.stateful { Some(StateTable::new(view.connections()).map_err(EngineError::from)?) } else { None };
    let mut stage =
        Stage::new(clock, vec![lane], Arc::clone(view), store, Nanos(0), 1, Arc::new(AtomicBool::new(false)));
    stage.never_give_up();
    let out = stage.run(&Phase {
        kind: Kind::Data,
        // Always behind schedule: the loop runs as fast as it can.
        rate: Rate(1_000_000_000),
        frames,
        connections: view.connections(),
        direction: Direction::Forward,
        forward_order: Order::Random,
        reverse_order: Order::Random,
        learn: false,
        drain: Nanos::from_millis(1),
    })?;
    if out.forward.received != frames {
        let Leg { sent, received, faults, .. } = out.forward;
        return Err(CalibrateError::Loop { sent, received, faults });
    }
    Ok(out)
}

/// Picoseconds of one reading of the clock.
fn clock_read(clock: Clock) -> u64 {
    const READS: u64 = 10_000;
    let mut best = u64::MAX;
    for _ in 0..5 {
        let start = clock.now();
        for _ in 0..READS {
            std::hint::black_box(clock.now());
        }
        best = best.min(clock.nanos(clock.now() - start) * 1000 / READS);
    }
    best
}

/// Median and 99th percentile of how late a loop that waits for the clock leaves, at one departure a microsecond.
fn departure_error(clock: Clock, core: Option<usize>) -> Result<(u64, u64), CalibrateError> {
    const DEPARTURES: usize = 20_000;
    let measure = move || -> Result<(u64, u64), port::PortError> {
        if let Some(core) = core {
            port::host::pin(core)?;
        }
        let mut late: Vec<u64> = Vec::with_capacity(DEPARTURES);
        let step = clock.ticks(1_000);
        let mut due = clock.now() + step;
        for _ in 0..DEPARTURES {
            let mut now = clock.now();
            while now < due {
                now = clock.now();
            }
            late.push(now - due);
            // After a stall go on from now: the error of one departure is wanted, not of a backlog.
            due = (due + step).max(now);
        }
        late.sort_unstable();
        Ok((clock.nanos(late[DEPARTURES / 2]), clock.nanos(late[DEPARTURES * 99 / 100])))
    };
    Ok(std::thread::scope(|s| s.spawn(measure).join().expect("the pacing loop does not panic"))?)
}

/// Median time of one frame over the in-process link and back to the same thread.
fn latency_floor(clock: Clock, view: &View) -> Result<u64, CalibrateError> {
    let mut pool = Pool::single(PoolConfig::compact(1, 8, view.left.len()))?;
    let (mut left, mut right) = link("loop", clock, 4, (1, Steer::First), (1, Steer::First));
    let mut burst = port::burst();
    let mut times = Vec::new();
    for _ in 0..1001 {
        burst.extend(pool.alloc(view.left.len()));
        let start = clock.now();
        left[0].transmit(&mut pool, &mut burst)?;
        right[0].receive(&mut pool, &mut burst)?;
        times.push(clock.now() - start);
        pool.free_all(&mut burst);
    }
    times.sort_unstable();
    Ok(clock.nanos(times[times.len() / 2]))
}

/// Why the tester could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// No memory for pools.
    #[error(transparent)]
    Port(#[from] port::PortError),
    /// The loop itself failed.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The stage could not be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Frames were lost or wrong on a cable: something is wrong with the tester itself.
    #[error(
        "the tester's own loop gave back {received} right frames of {sent}: it cannot be trusted here ({faults:?})"
    )]
    Loop {
        /// Frames sent.
        sent: u64,
        /// Right frames received.
        received: u64,
        /// What was wrong with the others.
        faults: method::FaultCounts,
    },
}
