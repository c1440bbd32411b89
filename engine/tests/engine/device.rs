//! What a trial does to a device and reads from it, over a cable.

use crate::common::{self, any_port, bed, lanes, of_inner, settings, trial_spec};
use engine::{Clearing, ClockAt, CoreTime, CpuTimes, Device, Engine, MemoryNow};
use method::trial::{Action, Buckets, Disruption, Sampler, TearDown};
use method::{Direction, Load, Nanos, Rate, TrialError, TrialOptions, TrialSpec, Trials};
use plane::view::nat44;
use port::link::{LinkPort, Steer};
use port::{Burst, Pool, Port, PortError, Sent};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const N: u64 = 10_000;
const DARK: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Common {
    /// Whether the cable loses every frame from Left to Right.
    dark: AtomicBool,
    /// Whether connections get another outside port.
    moved: AtomicBool,
    entries: AtomicU64,
}

struct Through {
    inner: LinkPort,
    common: Arc<Common>,
}

impl Port for Through {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        if self.common.dark.load(Ordering::Relaxed) {
            let accepted = burst.len();
            pool.free_all(burst);
            return Ok(Sent { accepted, refused: 0 });
        }
        if self.common.moved.load(Ordering::Relaxed) {
            for frame in burst.iter_mut() {
                move_port(frame.bytes_mut());
            }
        }
        self.inner.transmit(pool, burst)
    }
}

/// Adds 2,000 to a source port below 10,000 (RFC 1624); a frame that was not accepted comes again.
fn move_port(frame: &mut [u8]) {
    const SOURCE: usize = 34;
    const CHECKSUM: usize = 40;
    let word = |frame: &[u8], at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let (port, sum) = (word(frame, SOURCE), word(frame, CHECKSUM));
    if port >= 3024 {
        return;
    }
    let sum = u32::from(!sum) + u32::from(!port) + u32::from(port + 2000);
    let sum = (sum & 0xffff) + (sum >> 16);
    frame[SOURCE..SOURCE + 2].copy_from_slice(&(port + 2000).to_be_bytes());
    frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!sum as u16).to_be_bytes());
}

struct Known {
    common: Arc<Common>,
    moves: bool,
}

const EACH: Duration = Duration::from_micros(2);
const EMPTY: Duration = Duration::from_millis(5);

impl Device for Known {
    fn clear(&mut self) -> Result<(), TrialError> {
        self.common.entries.store(N, Ordering::Relaxed);
        Ok(())
    }
    fn entries(&mut self) -> Result<Option<u64>, TrialError> {
        Ok(Some(self.common.entries.load(Ordering::Relaxed)))
    }
    fn clear_timed(&mut self) -> Result<Clearing, TrialError> {
        let entries = self.common.entries.swap(0, Ordering::Relaxed);
        let took = EMPTY + EACH * entries as u32;
        Ok(Clearing { took: took.into(), how: "known".to_owned(), clock: ClockAt::Device })
    }
    fn disrupt(&mut self, what: Disruption) -> Result<(), TrialError> {
        if what == Disruption::Reset {
            return Err(TrialError::Device("hook `reset`: no".to_owned()));
        }
        self.common.dark.store(true, Ordering::Relaxed);
        std::thread::sleep(DARK);
        self.common.moved.store(self.moves, Ordering::Relaxed);
        self.common.dark.store(false, Ordering::Relaxed);
        Ok(())
    }
    fn cpu_times(&mut self, of: u32) -> Result<Box<dyn CpuTimes>, TrialError> {
        assert_eq!(of, 1);
        Ok(Box::new(Quarter(0)))
    }
    fn memory(&mut self) -> Result<Option<MemoryNow>, TrialError> {
        let buckets = Some(Buckets { count: 1024, bytes: 8192 });
        Ok(Some(MemoryNow { used: 4 << 20, reserved_for: Some(2 * N), buckets, source: "known".to_owned() }))
    }
}

/// Its `clear` removes a part of the entries, which are those of others at first.
#[derive(Default)]
struct Uncleared {
    others: u64,
    left: u64,
    entries: u64,
    is_asked: bool,
    readings: usize,
    /// Readings without a count.
    silent: Range<usize>,
}

impl Device for Uncleared {
    fn clear(&mut self) -> Result<(), TrialError> {
        self.entries = self.entries.min(self.left);
        self.is_asked = false;
        Ok(())
    }
    fn clear_timed(&mut self) -> Result<Clearing, TrialError> {
        self.clear()?;
        Ok(Clearing { took: EMPTY.into(), how: "a part".to_owned(), clock: ClockAt::Device })
    }
    fn is_cleared_by_command(&self) -> bool {
        true
    }
    fn entries(&mut self) -> Result<Option<u64>, TrialError> {
        // The second reading after a `clear` is that after phase 1.
        self.readings += 1;
        if std::mem::replace(&mut self.is_asked, true) && self.entries <= self.others {
            self.entries += N;
        }
        Ok(Some(self.entries).filter(|_| !self.silent.contains(&self.readings)))
    }
}

#[test]
fn a_clear_that_leaves_entries_is_no_clear() {
    let run = |left, silent| {
        let mut engine = engine_of(Uncleared { others: 7, left, entries: 7, silent, ..Uncleared::default() });
        (0..3).try_for_each(|_| engine.run(&TrialSpec::establish(Rate(1_000_000), N)).map(drop))
    };
    run(7, 0..0).unwrap();
    for silent in [0..0, 4..5] {
        let error = run(u64::MAX, silent).unwrap_err().to_string();
        assert!(error.contains("`clear` left 10007 of 10007 entries"), "{error}");
    }
}

fn engine_of(device: impl Device + 'static) -> Engine {
    let bed = bed(64);
    let lanes = lanes((1, 8192), 128, || Steer::First, |left| left, |right| right);
    common::engine(Arc::new(nat44(&bed, any_port(&bed))), lanes, device, settings())
}

#[test]
fn a_tear_down_removes_nine_tenths_of_what_phase_1_added() {
    let run = |others, left| {
        let mut engine = engine_of(Uncleared { others, left, entries: others, ..Uncleared::default() });
        let options = TrialOptions { tear_down: Some(TearDown { empty: 1 }), ..TrialOptions::default() };
        engine.run(&TrialSpec { load: Load::For(Nanos::from_millis(10)), ..spec(options) })
    };
    run(50_000, 50_000).unwrap();
    run(0, N / 10).unwrap();
    let error = run(0, N / 10 + 1).unwrap_err().to_string();
    assert!(error.contains("`clear` left 1001 of 10000 entries"), "{error}");
}

#[test]
fn without_a_count_frames_show_that_a_clear_left_the_connections() {
    let tear_down = Some(TearDown { empty: 3 });
    let mut engine = engine_of(Uncleared { left: u64::MAX, silent: 0..usize::MAX, ..Uncleared::default() });
    let error = engine.run(&spec(TrialOptions { tear_down, ..TrialOptions::default() })).unwrap_err().to_string();
    assert!(error.contains("`clear` left 100 of 100 connections"), "{error}");
}

/// A core that idles for a quarter of the time between two readings, whenever the host makes them.
struct Quarter(u64);

impl CpuTimes for Quarter {
    fn read(&mut self) -> Result<Vec<CoreTime>, TrialError> {
        self.0 += 1;
        Ok(vec![CoreTime { name: "cpu7".to_owned(), idle: Nanos(self.0), all: Nanos(4 * self.0) }])
    }
}

fn engine(moves: bool) -> Engine {
    let bed = bed(64);
    let common = Arc::new(Common::default());
    let through = |inner| Through { inner, common: Arc::clone(&common) };
    let lanes = lanes((1, 8192), 128, || Steer::First, through, |right| right);
    common::engine(Arc::new(nat44(&bed, any_port(&bed))), lanes, Known { common, moves }, settings())
}

/// 30,000 frames in each direction in 1.5 s, much longer than a disruption.
fn spec(options: TrialOptions) -> TrialSpec {
    let load = Load::For(Nanos::from_millis(1_500));
    let responder_table = method::ResponderTable::Update;
    TrialSpec { rate: Rate(20_000), load, direction: Direction::Both, options, responder_table, ..trial_spec(N) }
}

fn acting(what: Disruption) -> TrialOptions {
    let action = Some(Action { what, at: Nanos::from_millis(100) });
    TrialOptions { action, ..TrialOptions::default() }
}

#[test]
fn a_disruption_in_mid_trial_has_its_losses_and_its_gap() {
    let outcome = engine(false).run(&spec(acting(Disruption::Failover))).unwrap();
    let acted = outcome.observed.action.unwrap();
    assert!(acted.began >= Nanos::from_millis(100), "{acted:?}");
    assert!(acted.took >= DARK.into(), "{acted:?}");
    let losses = outcome.observed.losses.forward.unwrap();
    assert_eq!(losses.frames, outcome.forward.lost());
    // A frame that was sent late was due before the disruption began.
    let sent = losses.first.0 + outcome.forward.timing.worst_late.0 + 20_000_000;
    assert!(sent >= acted.began.0, "{losses:?} {acted:?} {:?}", outcome.forward.timing);
    // 100 ms, and what a busy machine adds.
    assert!(losses.frames >= 1_800 && losses.longest_gap >= Nanos::from_millis(90), "{losses:?}");
    let reverse = outcome.observed.losses.reverse.unwrap();
    assert_eq!((reverse.frames, outcome.reverse.lost()), (0, 0));
}

#[test]
fn the_survey_tells_connections_that_stay_from_those_that_move() {
    for (moves, same, moved) in [(false, N, 0), (true, 0, N)] {
        let outcome = engine(moves).run(&spec(acting(Disruption::Failover))).unwrap();
        let found = outcome.observed.action.unwrap().connections.unwrap();
        assert_eq!((found.all, found.same, found.moved), (N, same, moved), "moves: {moves}");
    }
}

#[test]
fn a_disruption_that_fails_ends_the_trial_with_its_error() {
    let error = engine(false).run(&spec(acting(Disruption::Reset))).unwrap_err();
    assert_eq!(error.to_string(), "hook `reset`: no");
}

#[test]
fn cpu_times_are_sampled_in_both_phases() {
    let sampler = Some(Sampler { interval: Nanos::from_millis(50), of: 1 });
    let outcome = engine(false).run(&spec(TrialOptions { sampler, ..TrialOptions::default() })).unwrap();
    let [cpu] = &outcome.observed.cpu[..] else { panic!("{:?}", outcome.observed.cpu) };
    let (_, shares) = cpu.in_phase2().next().unwrap();
    assert!(!shares.is_empty() && shares.iter().all(|share| *share == 250_000), "{shares:?}");
    let [begins, ends] = cpu.phase2;
    assert!(cpu.phase1.unwrap()[1] <= begins && Nanos(ends.0 - begins.0) >= Nanos::from_millis(1_500), "{cpu:?}");
}

#[test]
fn the_table_is_emptied_full_and_then_empty() {
    let tear_down = Some(TearDown { empty: 3 });
    let outcome = engine(false).run(&spec(TrialOptions { tear_down, ..TrialOptions::default() })).unwrap();
    let emptied = outcome.observed.emptied.unwrap();
    assert_eq!((emptied.entries, emptied.full), (Some(N), Nanos::from_millis(25)));
    assert_eq!(emptied.empty, [Nanos::from_millis(5); 3]);
    assert_eq!((emptied.clock.as_str(), emptied.how.as_str()), ("device", "known"));
}

#[test]
fn reserved_memory_is_that_of_the_entries_it_is_for() {
    let outcome = engine(false).run(&spec(TrialOptions { memory: true, ..TrialOptions::default() })).unwrap();
    let memory = outcome.observed.memory.unwrap();
    assert_eq!((memory.filled, memory.emptied, memory.entries), (4 << 20, 0, 2 * N));
}
