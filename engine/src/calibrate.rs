//! Measures the tester ceiling: the highest rates with these frames and flows without a device.
//! Over the in-process link it is that of the tester's code; over a kernel cable it includes the
//! back-end.

use crate::engine::EngineError;
use crate::lane::Lane;
use crate::observe::Extra;
use crate::phase::{Phase, PhaseOutcome};
use crate::stage::Stage;
use crate::store::StateTable;
use crate::window;
use method::{Direction, FaultCounts, Leg, Nanos, Order, Popularity, Rate, ResponderTable, TrialError};
use port::link::{Steer, link};
use port::{Clock, Pool, PoolConfig, Port};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::{FramePurpose, Tag, Values, View};

/// Independent of frames and flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basics {
    /// One clock reading, picoseconds.
    pub clock_read_ps: u64,
    /// Departure error at 1 Mfps: median, nanoseconds.
    pub departure_p50_ns: u64,
    /// 99th percentile, nanoseconds.
    pub departure_p99_ns: u64,
    /// Latency of the in-process link, nanoseconds.
    pub latency_floor_ns: u64,
}

/// Configuration of the calibration.
#[derive(Clone, Debug)]
pub struct CalibrationSettings {
    /// The clock.
    pub clock: Clock,
    /// Cores of the lanes, at least one lane; `None`: not pinned.
    pub cores: Vec<Option<usize>>,
    /// Directions of phase 2.
    pub direction: Direction,
    /// Order in which the Responder uses its state table.
    pub responder_order: Order,
    /// What the Responder does with its state table.
    pub responder_table: ResponderTable,
    /// How often connections are drawn at random.
    pub popularity: Popularity,
    /// Approximate duration of each run.
    pub per_run: Nanos,
    /// Ends the calibration when set.
    pub interrupted: Arc<AtomicBool>,
}

/// Both ends of a kernel cable.
pub struct Ends {
    /// Frames for both ends.
    pub pool: Pool,
    /// Port on the Initiator's side.
    pub left: Box<dyn Port>,
    /// Port on the Responder's side.
    pub right: Box<dyn Port>,
}

/// Ceiling of all threads, for the frames and flows of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// Frames per second per direction; of different rates, the faster one.
    pub frames: Rate,
    /// Connections per second, if the view is stateful.
    pub set_up: Option<Rate>,
    /// Sender's wall time per frame in the fastest run, without the back-end, picoseconds.
    pub send_ps: u64,
    /// Judge's wall time per frame in that run, without the back-end, picoseconds.
    pub receive_ps: u64,
}

/// The fastest gives the ceiling: host noise only makes runs slower.
const RUNS: usize = 5;
/// Number of phases 1 that are timed.
const FILLS: usize = 9;

/// Measures on `core` what does not depend on frames and flows, in about 30 ms.
///
/// # Errors
/// Memory is exhausted, or the process may not use the core.
pub fn basics(clock: Clock, core: Option<usize>, view: &View) -> Result<Basics, CalibrateError> {
    let (departure_p50_ns, departure_p99_ns) = departure_error(clock, core)?;
    let mut pool = Pool::single(PoolConfig::compact(1, 8, view.left.len()))?;
    let (mut left, mut right) = link("loop", clock, 4, (1, Steer::First), (1, Steer::First));
    let floor = latency(clock, view, (&mut left[0], &mut right[0]), &mut pool, &mut || {})?;
    let (clock_read_ps, latency_floor_ns) = (clock_read(clock), floor.median);
    Ok(Basics { clock_read_ps, departure_p50_ns, departure_p99_ns, latency_floor_ns })
}

/// Measures the tester ceiling without a device: each thread over its own in-process link, or one
/// thread `over` these ends.
///
/// A cable translates nothing, so a stateful view must expect what the Initiator sends. Over the
/// in-process link, a phase 1 with all connections fills the table before phase 2; over a kernel
/// cable, the ceiling of phase 1 comes from as many connections as the time allows.
///
/// # Errors
/// Memory is exhausted, on an interrupt, or a cable loses or changes frames.
pub fn ceiling(how: &CalibrationSettings, view: &Arc<View>, over: Option<Ends>) -> Result<Ceiling, CalibrateError> {
    let mut cable = Cable::new(how, view)?;
    let set_up = match over {
        None => cable.fill(how.per_run)?,
        Some(ends) => {
            let within = cable.exchange(over_kernel(how, ends), KERNEL);
            let set_up = cable.open_some(how.per_run)?;
            let kernels = cable.exchange(within, PROCESS);
            cable.fill(Nanos(0))?;
            cable.exchange(kernels, KERNEL);
            set_up
        }
    };
    let mut ceiling = Ceiling { set_up, ..Ceiling::default() };
    let (mut runs, mut frames) = (Vec::with_capacity(RUNS), cable.first_guess());
    // The first run estimates how many frames fill the time.
    for run in 0..=RUNS {
        let extra = Extra { popularity: how.popularity, ..Extra::default() };
        let phase = Phase {
            kind: FramePurpose::Data,
            frames,
            direction: how.direction,
            forward_order: Order::Random,
            reverse_order: how.responder_order,
            update: how.responder_table == ResponderTable::Update,
            ..cable.phase1()
        };
        let out = cable.run_with(&phase, &extra)?;
        let rate = pace(&out, frames);
        if run == 0 {
            frames = rate.frames_in(how.per_run).max(10_000);
        } else {
            runs.push((rate, out.cost));
        }
    }
    let (rate, cost) = runs.into_iter().max_by_key(|r| r.0).unwrap_or_default();
    let all = how.direction.all_frames(frames);
    (ceiling.frames, ceiling.send_ps, ceiling.receive_ps) = (rate, cost.send.0 * 1000 / all, cost.judge.0 * 1000 / all);
    Ok(ceiling)
}

/// `frames` in each direction, or in the faster one.
fn pace(out: &PhaseOutcome, frames: u64) -> Rate {
    let time = out.forward.send_time.max(out.reverse.send_time).0.max(1);
    Rate((u128::from(frames) * 1_000_000_000 / u128::from(time)) as u64)
}

#[derive(Clone, Copy)]
struct Cabling {
    /// Upper estimate, in nanoseconds.
    slow_frame: u64,
    /// First guess of the first run of one lane.
    first_guess: u64,
    drain: Nanos,
}

const PROCESS: Cabling = Cabling { slow_frame: 60, first_guess: 20_000, drain: Nanos::from_millis(1) };
/// Frames may wait a few ticks for a kernel thread.
const KERNEL: Cabling = Cabling { slow_frame: 5_000, first_guess: 5_000, drain: Nanos::from_millis(10) };

fn over_kernel(how: &CalibrationSettings, ends: Ends) -> Vec<Lane> {
    let Ends { pool, left, right } = ends;
    let (left, right) = window::ends(how.clock, left, right);
    let core = how.cores.first().copied().flatten();
    vec![Lane { core, pool, left: Some(left), right: Some(right), companion: None, service: None }]
}

/// Each lane has its own link, whose ring no preempted lane can fill.
fn within_process(how: &CalibrationSettings, view: &View) -> Result<Vec<Lane>, CalibrateError> {
    let lane = |&core| {
        let pool = Pool::single(PoolConfig::compact(1, 512, view.longest()))?;
        let (mut left, mut right) = link("loop", how.clock, 256, (1, Steer::First), (1, Steer::First));
        let (left, right): (Box<dyn Port>, Box<dyn Port>) = (Box::new(left.remove(0)), Box::new(right.remove(0)));
        Ok(Lane { core, pool, left: Some(left), right: Some(right), companion: None, service: None })
    };
    how.cores.iter().map(lane).collect()
}

struct Cable {
    stage: Stage,
    lanes: u64,
    stateful: bool,
    link: Cabling,
}

impl Cable {
    fn new(how: &CalibrationSettings, view: &Arc<View>) -> Result<Cable, CalibrateError> {
        let lanes = within_process(how, view)?;
        let count = lanes.len() as u64;
        let store =
            view.stateful.then(|| StateTable::new(view.connections())).transpose().map_err(EngineError::from)?;
        let interrupted = Arc::clone(&how.interrupted);
        let mut stage = Stage::new(how.clock, lanes, Arc::clone(view), store, Nanos(0), 1, interrupted);
        stage.never_give_up();
        Ok(Cable { stage, lanes: count, stateful: view.stateful, link: PROCESS })
    }

    fn exchange(&mut self, lanes: Vec<Lane>, link: Cabling) -> Vec<Lane> {
        self.link = link;
        self.stage.exchange(lanes)
    }

    fn first_guess(&self) -> u64 {
        self.link.first_guess * self.lanes
    }

    fn phase1(&self) -> Phase {
        Phase {
            drain: self.link.drain,
            // The sender runs as fast as it can.
            ..Phase::of(FramePurpose::Establish, Rate(1_000_000_000 * self.lanes), self.stage.connections())
        }
    }

    fn fill(&mut self, time: Nanos) -> Result<Option<Rate>, CalibrateError> {
        if !self.stateful {
            return Ok(None);
        }
        let began = Instant::now();
        let phase = Phase { learn: true, ..self.phase1() };
        let mut rates = Vec::with_capacity(FILLS);
        while rates.is_empty() || rates.len() < FILLS && began.elapsed() < time.into() {
            let out = self.run(&phase)?;
            if out.learned != phase.frames {
                return Err(CalibrateError::Table { learned: out.learned, connections: phase.frames });
            }
            rates.push(pace(&out, phase.frames));
        }
        Ok(rates.into_iter().max())
    }

    /// Opens TCP connections in about `time`, several times; returns connections per second.
    fn open_some(&mut self, time: Nanos) -> Result<Option<Rate>, CalibrateError> {
        if !self.stateful {
            return Ok(None);
        }
        let (mut rates, mut frames) = (Vec::with_capacity(RUNS), self.first_guess());
        for run in 0..=RUNS {
            frames = frames.min(self.stage.connections());
            let out = self.run(&Phase { learn: true, frames, ..self.phase1() })?;
            if out.learned != frames {
                return Err(CalibrateError::Table { learned: out.learned, connections: frames });
            }
            let rate = pace(&out, frames);
            if run == 0 {
                frames = rate.frames_in(time).max(10_000);
            } else {
                rates.push(rate);
            }
        }
        Ok(rates.into_iter().max())
    }

    /// Every frame must arrive without a fault.
    fn run(&mut self, phase: &Phase) -> Result<PhaseOutcome, CalibrateError> {
        self.run_with(phase, &Extra::default())
    }

    fn run_with(&mut self, phase: &Phase, extra: &Extra) -> Result<PhaseOutcome, CalibrateError> {
        // The rate is known only afterwards.
        self.stage.expect(Nanos(phase.frames * self.link.slow_frame));
        let out = self.stage.run_with(phase, extra)?;
        for leg in [&out.forward, &out.reverse] {
            if leg.received != leg.planned {
                let Leg { sent, received, faults, .. } = *leg;
                return Err(CalibrateError::Loop { sent, received, faults: faults.into() });
            }
        }
        Ok(out)
    }
}

const PROBES: usize = 301;
const PROBE_LOST: Duration = Duration::from_secs(1);

/// The latency from transmit to receive call, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Minimum, as host noise only lengthens a time.
    pub least: u64,
    /// The median.
    pub median: u64,
}

/// Measures single frames from Left to Right, polling a device with `work`.
///
/// # Errors
/// A port fails, or a frame does not arrive.
pub fn latency(
    clock: Clock,
    view: &View,
    (left, right): (&mut dyn Port, &mut dyn Port),
    pool: &mut Pool,
    work: &mut dyn FnMut(),
) -> Result<Latency, CalibrateError> {
    let (mut burst, mut times) = (port::burst(), Vec::with_capacity(PROBES));
    let values = Values::of(view.flows.flow(view.order.get(0)));
    for sequence in 0..PROBES as u64 {
        let tag = Tag { trial: 0, stream: Tag::stream(FramePurpose::Data, false), sender: 0, sequence, index: 0 };
        burst.extend(pool.alloc(view.left.len()));
        for frame in &mut burst {
            view.left.write(frame.bytes_mut(), &values, &tag);
        }
        let start = clock.now();
        left.transmit(pool, &mut burst)?;
        let mut got = 0;
        while got == 0 {
            work();
            got = right.receive(pool, &mut burst)?;
            if got == 0 && clock.nanos(clock.now() - start) > PROBE_LOST.as_nanos() as u64 {
                return Err(CalibrateError::Loop { sent: 1, received: 0, faults: Box::default() });
            }
        }
        times.push(clock.now() - start);
        pool.free_all(&mut burst);
    }
    times.sort_unstable();
    Ok(Latency { least: clock.nanos(times[0]), median: clock.nanos(times[PROBES / 2]) })
}

/// Cost of reading the clock, in picoseconds.
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

/// One frame per microsecond, when waiting for the clock: median and 99th percentile.
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
            // A stall counts for one departure only.
            due = (due + step).max(now);
        }
        late.sort_unstable();
        Ok((clock.nanos(late[DEPARTURES / 2]), clock.nanos(late[DEPARTURES * 99 / 100])))
    };
    Ok(std::thread::scope(|s| port::host::spawn_in(s, measure)?.join().expect("the pacing loop does not panic"))?)
}

/// Why the tester could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// No memory for frame pools.
    #[error(transparent)]
    Port(#[from] port::PortError),
    /// A phase failed.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The stage could not be created.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The tester's own state table lacks connections.
    #[error(
        "calibration opened {connections} connections without a device, but the state table holds {learned}: results on this machine would be wrong; please report this"
    )]
    Table {
        /// Four-tuples in the table.
        learned: u64,
        /// Connections opened.
        connections: u64,
    },
    /// The tester itself lost or changed frames.
    #[error(
        "calibration without a device received only {received} of {sent} frames without a fault ({faults:?}): results on this machine would be wrong; please report this"
    )]
    Loop {
        /// Frames sent.
        sent: u64,
        /// Right frames received.
        received: u64,
        /// Faults of the others.
        faults: Box<FaultCounts>,
    },
}
