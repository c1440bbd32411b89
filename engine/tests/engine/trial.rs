//! Tests of complete trials: a preparing phase 1 resends frames that were lost before phase 2.

use crate::common::bed;
use engine::{Away, Device, Engine, Lane, Settings};
use method::{Direction, Load, Loop, Nanos, Order, PhaseKind, Rate, TrialOutcome, TrialSpec, Trials};
use plane::view::nat44;
use port::link::{LinkPort, Steer, link};
use port::{Burst, Clock, Counters, Pool, PoolConfig, Port, PortError, PortFacts, Sent};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::OuterRange;

const N: u64 = 10_000;
const SWALLOWED: usize = 700;

/// A port that drops the first frames.
struct Swallow<P> {
    inner: P,
    left: usize,
}

impl<P: Port> Port for Swallow<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        self.inner.receive(pool, into)
    }
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        if self.left == 0 {
            return self.inner.transmit(pool, burst);
        }
        let accepted = burst.len().min(self.left);
        self.left -= accepted;
        burst.drain(..accepted).for_each(|frame| pool.free(frame));
        Ok(Sent { accepted, refused: 0 })
    }
    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }
    fn facts(&self) -> PortFacts {
        self.inner.facts()
    }
}

/// A port whose first receive call after a transmission takes this long and returns no frame.
struct Slow<P> {
    inner: P,
    sent: bool,
    takes: Duration,
}

impl<P: Port> Port for Slow<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        if self.sent && !self.takes.is_zero() {
            let end = Instant::now() + std::mem::take(&mut self.takes);
            while Instant::now() < end {}
            return Ok(0);
        }
        self.inner.receive(pool, into)
    }
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        self.sent = true;
        self.inner.transmit(pool, burst)
    }
    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }
    fn facts(&self) -> PortFacts {
        self.inner.facts()
    }
}

/// A port with this name, whose first transmission takes this long.
struct Stuck<P> {
    inner: P,
    backend: &'static str,
    takes: Duration,
}

impl<P: Port> Port for Stuck<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        self.inner.receive(pool, into)
    }
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let end = Instant::now() + std::mem::take(&mut self.takes);
        while Instant::now() < end {}
        self.inner.transmit(pool, burst)
    }
    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }
    fn facts(&self) -> PortFacts {
        PortFacts { backend: self.backend.to_owned(), ..self.inner.facts() }
    }
}

/// A device that reports this stall.
struct Stalled(Nanos);

impl Device for Stalled {
    fn clear(&mut self) -> Result<(), String> {
        Ok(())
    }
    fn entries(&mut self) -> Result<Option<u64>, String> {
        Ok(None)
    }
    fn away(&mut self) -> Result<Away, String> {
        Ok(Away { stall: self.0, ..Away::default() })
    }
}

/// An engine over a cable with this port at its left end, on a device with this stall.
fn engine<P: Port + 'static>(left: impl FnOnce(LinkPort) -> P, stall: Nanos) -> Engine {
    let bed = bed(64);
    let outer = OuterRange { addrs: bed.flows.inside(), ports: bed.flows.inside_ports() };
    let clock = Clock::system();
    let (mut ends, right) = link("cable", clock, 8192, (1, Steer::First), (1, Steer::First));
    let lane = Lane {
        core: None,
        pool: Pool::single(PoolConfig::compact(1, 8192, 128)).unwrap(),
        left: Some(Box::new(left(ends.remove(0)))),
        right: Some(Box::new(right.into_iter().next().unwrap())),
        companion: None,
        service: None,
    };
    let drain = Nanos::from_millis(20);
    let settings =
        Settings { start_delay: Nanos(0), drain, settle: Nanos(0), phase1_drain: drain, seed: 1, dut_loop: Loop::Open };
    let stopped = Arc::new(AtomicBool::new(false));
    let device = Box::new(Stalled(stall));
    Engine::new(clock, vec![lane], Arc::new(nat44(&bed, outer)), device, settings, stopped).unwrap()
}

/// A trial of phase 2.
fn spec() -> TrialSpec {
    TrialSpec {
        kind: PhaseKind::Established,
        rate: Rate(1_000_000),
        load: Load::Frames(2000),
        direction: Direction::Both,
        connections: N,
        phase1_rate: Some(Rate(1_000_000)),
        validate_rate: None,
        keep_table: false,
        responder_order: Order::Random,
    }
}

/// Runs one trial of phase 2 over a cable that drops the first frames.
fn trial(stall: Nanos) -> TrialOutcome {
    engine(|inner| Swallow { inner, left: SWALLOWED }, stall).run(&spec()).unwrap()
}

/// At this rate frames are due in every round, so stalls in rounds with transmissions must count.
#[test]
fn time_lost_outside_the_ports_is_a_stall_also_in_a_busy_round() {
    let takes = Duration::from_millis(5);
    let (rate, load) = (Rate(1_000_000_000), Load::Frames(N));
    let spec = TrialSpec { kind: PhaseKind::Establish, rate, load, phase1_rate: None, ..spec() };
    let outcome = engine(|inner| Slow { inner, sent: false, takes }, Nanos(0)).run(&spec).unwrap();
    assert!(outcome.host.tester_stall >= Nanos::from_millis(4), "{:?}", outcome.host.tester_stall);
}

/// A device may work inside a call of a kernel port. It cannot inside a call of an in-process link, so a long call is
/// host noise.
#[test]
fn time_lost_inside_an_in_process_link_is_a_stall() {
    let takes = Duration::from_millis(300);
    let spec = TrialSpec { kind: PhaseKind::Establish, load: Load::Frames(N), phase1_rate: None, ..spec() };
    let stall = |backend| {
        let mut engine = engine(|inner| Stuck { inner, backend, takes }, Nanos(0));
        engine.run(&spec).unwrap().host.tester_stall
    };
    assert!(stall("link") >= takes.into(), "{:?}", stall("link"));
    assert!(stall("tap") < takes.into(), "{:?}", stall("tap"));
}

#[test]
fn a_kept_table_is_known_by_what_it_holds() {
    let mut engine = engine(|inner| inner, Nanos(0));
    let kept = TrialSpec { keep_table: true, ..spec() };
    let learned = |outcome: TrialOutcome| (outcome.store.unwrap().learned, outcome.forward.planned);
    assert_eq!(learned(engine.run(&kept).unwrap()), (0, 0), "nothing was learned yet, and nothing can be sent");
    engine.run(&spec()).unwrap();
    assert_eq!(learned(engine.run(&kept).unwrap()), (N, 2000));
}

#[test]
fn frames_lost_to_host_noise_in_a_preparing_phase_1_are_resent() {
    let outcome = trial(Nanos::from_millis(50));
    let store = outcome.store.unwrap();
    assert_eq!((store.learned, store.phase1_lost, store.phase1_resent), (N, SWALLOWED as u64, SWALLOWED as u64));
    assert_eq!((store.phase1_attempts, outcome.forward.received, outcome.reverse.received), (2, 2000, 2000));
}
