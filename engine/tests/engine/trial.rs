//! Complete trials: a preparing phase 1 resends lost frames before phase 2.

use crate::common::{self, any_port, bed, lanes, of_inner, settings, trial_spec};
use engine::{Device, DeviceStalls, Engine};
use method::{
    Direction, Fault, Load, Nanos, Order, PhaseKind, Rate, ResponderTable, TrialError, TrialOutcome, TrialSpec, Trials,
};
use plane::view::nat44;
use port::link::{LinkPort, Steer};
use port::{Burst, Pool, Port, PortError, PortFacts, Sent};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

const N: u64 = 10_000;
const SWALLOWED: usize = 700;

struct Swallow<P> {
    inner: P,
    left: usize,
}

impl<P: Port> Port for Swallow<P> {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        if self.left == 0 {
            return self.inner.transmit(pool, burst);
        }
        let accepted = burst.len().min(self.left);
        self.left -= accepted;
        burst.drain(..accepted).for_each(|frame| pool.free(frame));
        Ok(Sent { accepted, refused: 0 })
    }
}

/// Its first receive call after a transmission takes this long and returns no frame.
struct Slow<P> {
    inner: P,
    sent: bool,
    takes: Duration,
}

impl<P: Port> Port for Slow<P> {
    of_inner!(counters facts);
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
}

/// Its first transmission takes this long.
struct Stuck<P> {
    inner: P,
    backend: &'static str,
    takes: Duration,
}

impl<P: Port> Port for Stuck<P> {
    of_inner!(receive counters);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let end = Instant::now() + std::mem::take(&mut self.takes);
        while Instant::now() < end {}
        self.inner.transmit(pool, burst)
    }
    fn facts(&self) -> PortFacts {
        PortFacts { backend: self.backend.to_owned(), ..self.inner.facts() }
    }
}

struct Stalled(Nanos);

impl Device for Stalled {
    fn clear(&mut self) -> Result<(), TrialError> {
        Ok(())
    }
    fn entries(&mut self) -> Result<Option<u64>, TrialError> {
        Ok(None)
    }
    fn away(&mut self) -> Result<DeviceStalls, TrialError> {
        Ok(DeviceStalls { stall: self.0, ..DeviceStalls::default() })
    }
}

/// A NAT that moves a connection to another outside port with its first frame after phase 1.
struct Remap<P> {
    inner: P,
    phase1: u64,
    /// Frames at the front that have passed before, and were not accepted.
    passed: usize,
    /// Inside port and destination port of moved connections.
    changed: HashSet<(u16, u16)>,
}

/// Distance of the new outside port.
const NEW: u16 = 2000;
/// Places of the UDP ports and checksum behind Ethernet and IPv4.
const SOURCE: usize = 34;
const DESTINATION: usize = 36;
const CHECKSUM: usize = 40;

fn word(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

/// RFC 1624; 0 would mean no checksum (RFC 768).
fn set_port(frame: &mut [u8], at: usize, port: u16) {
    let sum = u32::from(!word(frame, CHECKSUM)) + u32::from(!word(frame, at)) + u32::from(port);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = match !(((sum & 0xffff) + (sum >> 16)) as u16) {
        0 => 0xffff,
        sum => sum,
    };
    frame[at..at + 2].copy_from_slice(&port.to_be_bytes());
    frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

impl<P: Port> Port for Remap<P> {
    of_inner!(counters facts);
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let mut got = Burst::new();
        self.inner.receive(pool, &mut got)?;
        for mut frame in got.drain(..) {
            let (remote, outside) = (word(frame.bytes(), SOURCE), word(frame.bytes(), DESTINATION));
            let is_new = outside >= 1024 + NEW;
            let inside = if is_new { outside - NEW } else { outside };
            if self.changed.contains(&(inside, remote)) != is_new {
                pool.free(frame);
                continue;
            }
            set_port(frame.bytes_mut(), DESTINATION, inside);
            into.push(frame);
        }
        Ok(into.len())
    }
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        for frame in burst.iter_mut().skip(self.passed) {
            if self.phase1 > 0 {
                self.phase1 -= 1;
                continue;
            }
            let inside = word(frame.bytes(), SOURCE);
            self.changed.insert((inside, word(frame.bytes(), DESTINATION)));
            set_port(frame.bytes_mut(), SOURCE, inside + NEW);
        }
        let sent = self.inner.transmit(pool, burst);
        self.passed = burst.len();
        sent
    }
}

/// RFC 9693, section 4.7.
#[test]
fn a_table_that_is_updated_holds_the_latest_four_tuples() {
    for (responder_table, right) in [(ResponderTable::Update, 2000), (ResponderTable::Keep, 0)] {
        let device = |inner| Remap { inner, phase1: N, passed: 0, changed: HashSet::new() };
        let mut engine = engine(device, Nanos(0));
        let forward = TrialSpec { direction: Direction::Forward, responder_table, rate: Rate(100_000), ..spec() };
        let outcome = engine.run(&forward).unwrap();
        let wrong = outcome.forward.faults.get(Fault::WrongPort);
        assert_eq!((outcome.forward.received, wrong), (right, 2000 - right), "{outcome:?}");

        // One on each connection, so that every entry counts.
        let reverse = TrialSpec {
            direction: Direction::Reverse,
            load: Load::Frames(N),
            responder_order: Order::RoundRobin,
            keep_table: true,
            ..forward
        };
        let received = engine.run(&reverse).unwrap().reverse.received;
        match responder_table {
            ResponderTable::Update => assert_eq!(received, N),
            ResponderTable::Keep => assert!((N - 2000..N - 1500).contains(&received), "{received}"),
        }
    }
}

/// 4,000 held connections, 6,000 others with two frames each, and 100,000 frames in all.
fn churn() -> TrialSpec {
    let churn = method::Churn { arrivals: Rate(30_000), frames: 2, different: 6_000 };
    let options = method::TrialOptions { churn: Some(churn), ..method::TrialOptions::default() };
    let (rate, load) = (Rate(100_000), Load::Frames(10_000));
    TrialSpec { connections: 4_000, direction: Direction::Forward, rate, load, options, ..spec() }
}

#[test]
fn new_connections_come_while_others_are_held() {
    let mut engine = engine(|inner| inner, Nanos(0));
    let outcome = engine.run(&churn()).unwrap();
    assert_eq!((outcome.forward.received, outcome.forward.faults.total()), (10_000, 0), "{outcome:?}");
    assert_eq!(outcome.store.unwrap().learned, 4_000);
    // Right to Left the frames are on held connections.
    let both = engine.run(&TrialSpec { direction: Direction::Both, ..churn() }).unwrap();
    assert_eq!((both.forward.received, both.reverse.received, both.reverse.faults.total()), (10_000, 10_000, 0));
    assert_eq!(engine.run(&spec()).unwrap().forward.received, 2_000);
}

/// A device that moves held connections has forgotten them.
#[test]
fn a_held_connection_keeps_its_outside_port() {
    let device = |inner| Remap { inner, phase1: 4_000, passed: 0, changed: HashSet::new() };
    let outcome = engine(device, Nanos(0)).run(&churn()).unwrap();
    let wrong = outcome.forward.faults.get(Fault::WrongPort);
    // 6 of 10 frames are on new connections, without the second frames of those before the trial.
    assert_eq!((outcome.forward.received, wrong), (6_000 - 64, 4_000 + 64), "{outcome:?}");
}

fn engine<P: Port + 'static>(left: impl FnMut(LinkPort) -> P, stall: Nanos) -> Engine {
    let bed = bed(64);
    let lanes = lanes((1, 8192), 128, || Steer::First, left, |right| right);
    common::engine(Arc::new(nat44(&bed, any_port(&bed))), lanes, Stalled(stall), settings())
}

fn spec() -> TrialSpec {
    trial_spec(N)
}

fn trial(stall: Nanos) -> TrialOutcome {
    engine(|inner| Swallow { inner, left: SWALLOWED }, stall).run(&spec()).unwrap()
}

/// Frames are due in every round.
#[test]
fn time_lost_outside_the_ports_is_a_stall_also_in_a_busy_round() {
    let takes = Duration::from_millis(5);
    let (rate, load) = (Rate(1_000_000_000), Load::Frames(N));
    let spec = TrialSpec { kind: PhaseKind::Establish, rate, load, phase1_rate: None, ..spec() };
    let outcome = engine(|inner| Slow { inner, sent: false, takes }, Nanos(0)).run(&spec).unwrap();
    assert!(outcome.host.tester_stall >= Nanos::from_millis(4), "{:?}", outcome.host.tester_stall);
}

/// A device cannot work inside a call of an in-process link.
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
