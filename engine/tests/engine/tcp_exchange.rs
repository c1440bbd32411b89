//! Exchanges on open TCP connections, many in flight. A connection tracking holds every segment against the conditions
//! of G. van Rooij, "Real Stateful TCP Packet Filtering in IP Filter" (2001), section 4.

use crate::common::of_inner;
use crate::tcp::{counts, engine_with, exchange};
use method::{Fault, Nanos, Trials};
use port::link::LinkPort;
use port::{Burst, Frame, Pool, Port, PortError, Sent};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use wire::tcp::flag::{FIN, SYN};

const CONNECTIONS: u64 = 10;
const EACH: u64 = 300;
const IN_FLIGHT: usize = 40;
/// Calls without a frame after which those in flight arrive.
const IDLE: u32 = 200;
/// What the tracking saw of one side.
#[derive(Clone, Copy, Default)]
struct Window {
    end: u32,
    allowed: u32,
    largest: u32,
}

struct Read {
    key: [u8; 6],
    seq: u32,
    end: u32,
    ack: u32,
    window: u32,
    is_syn: bool,
    data: u32,
}

fn read(frame: &[u8], from_left: bool) -> Read {
    let (half, word) = (
        |at: usize| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]])),
        |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap()),
    );
    let (address, port) = if from_left { (26, 34) } else { (30, 36) };
    let mut key = [0; 6];
    key[..4].copy_from_slice(&frame[address..address + 4]);
    key[4..].copy_from_slice(&frame[port..port + 2]);
    let (flags, data) = (frame[47], half(16) - 40);
    let end = word(38).wrapping_add(data + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0));
    Read { key, seq: word(38), end, ack: word(42), window: half(48), is_syn: flags & SYN != 0, data }
}

fn in_order(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() >= 0
}

#[derive(Default)]
struct Tracking {
    sides: HashMap<[u8; 6], [Window; 2]>,
    /// The next octet that the Initiator of each lacks.
    arrived: HashMap<[u8; 6], u32>,
    unanswered: HashMap<[u8; 6], u64>,
    most_unanswered: u64,
    invalid: u64,
    early_acknowledgments: u64,
}

impl Tracking {
    fn track(&mut self, frame: &[u8], from_left: bool) {
        let s = read(frame, from_left);
        let sides = self.sides.entry(s.key).or_default();
        let (own, other) = (usize::from(!from_left), usize::from(from_left));
        if s.is_syn {
            sides[own] = Window { end: s.end, allowed: s.end.wrapping_add(s.window), largest: s.window };
        } else {
            let (sender, receiver) = (sides[own], sides[other]);
            let valid = in_order(s.seq, sender.allowed)
                && in_order(sender.end.wrapping_sub(receiver.largest), s.end)
                && in_order(s.ack, receiver.end)
                && in_order(receiver.end.wrapping_sub(66_000), s.ack);
            self.invalid += u64::from(!valid);
            if in_order(sender.end, s.end) {
                sides[own].end = s.end;
            }
        }
        let allowed = s.ack.wrapping_add(s.window);
        if in_order(sides[other].allowed, allowed) {
            sides[other].allowed = allowed;
        }
    }

    fn leaves(&mut self, frame: &[u8]) {
        let s = read(frame, true);
        if s.data > 0 {
            let unanswered = self.unanswered.entry(s.key).or_default();
            *unanswered += 1;
            self.most_unanswered = self.most_unanswered.max(*unanswered);
            self.early_acknowledgments += u64::from(!in_order(s.ack, self.arrived[&s.key]));
        }
    }

    fn arrives(&mut self, frame: &[u8]) {
        let s = read(frame, false);
        if s.is_syn {
            self.arrived.insert(s.key, s.end);
            self.unanswered.insert(s.key, 0);
        } else if self.arrived[&s.key] == s.seq {
            self.arrived.insert(s.key, s.end);
        }
        if s.data > 0 {
            *self.unanswered.get_mut(&s.key).unwrap() -= 1;
        }
    }
}

/// Has [`IN_FLIGHT`] frames in each direction, and loses each `lose`th request before the tracking.
struct Path {
    inner: LinkPort,
    to_right: VecDeque<Frame>,
    to_left: VecDeque<Frame>,
    tracking: Arc<Mutex<Tracking>>,
    lose: u64,
    requests: u64,
    idle: u32,
}

impl Path {
    fn due(queue: &VecDeque<Frame>, idle: u32) -> usize {
        if idle > IDLE { queue.len() } else { queue.len().saturating_sub(IN_FLIGHT) }
    }

    fn deliver(&mut self, pool: &mut Pool) -> Result<(), PortError> {
        let mut out = port::burst();
        for frame in self.to_right.drain(..Path::due(&self.to_right, self.idle)) {
            let is_request = read(frame.bytes(), true).data > 0;
            self.requests += u64::from(is_request);
            if is_request && self.requests.is_multiple_of(self.lose) {
                pool.free(frame);
                continue;
            }
            self.tracking.lock().unwrap().track(frame.bytes(), true);
            out.push(frame);
        }
        while !out.is_empty() {
            self.inner.transmit(pool, &mut out)?;
        }
        Ok(())
    }
}

impl Port for Path {
    of_inner!(counters facts);
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        self.idle += 1;
        self.deliver(pool)?;
        let mut got = port::burst();
        self.inner.receive(pool, &mut got)?;
        for frame in got.drain(..) {
            self.tracking.lock().unwrap().track(frame.bytes(), false);
            self.to_left.push_back(frame);
            self.idle = 0;
        }
        let due = Path::due(&self.to_left, self.idle).min(port::BATCH);
        into.extend(self.to_left.drain(..due));
        for frame in into.iter() {
            self.tracking.lock().unwrap().arrives(frame.bytes());
        }
        Ok(due)
    }
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let accepted = burst.len();
        self.idle = 0;
        for frame in burst.drain(..) {
            self.tracking.lock().unwrap().leaves(frame.bytes());
            self.to_right.push_back(frame);
        }
        self.deliver(pool)?;
        Ok(Sent { accepted, refused: 0 })
    }
}

/// Exchanges begun, completed and wrong, and the tracking.
fn over_a_path(lose: u64) -> ([u64; 3], Tracking) {
    let tracking = Arc::new(Mutex::new(Tracking::default()));
    let path = |inner| Path {
        inner,
        to_right: VecDeque::new(),
        to_left: VecDeque::new(),
        tracking: Arc::clone(&tracking),
        lose,
        requests: 0,
        idle: 0,
    };
    let mut spec = exchange(CONNECTIONS * EACH);
    spec.connections = CONNECTIONS;
    let outcome = engine_with(64, Nanos::from_millis(300), path).run(&spec).unwrap();
    assert_eq!(outcome.forward.faults.get(Fault::Duplicate), 0);
    let [begun, completed, .., faults] = counts(&outcome);
    ([begun, completed, faults], std::mem::take(&mut *tracking.lock().unwrap()))
}

/// A rate above connections / round trip.
#[test]
fn requests_do_not_wait_for_answers() {
    let (counted, tracking) = over_a_path(u64::MAX);
    assert_eq!(counted, [CONNECTIONS * EACH, CONNECTIONS * EACH, 0]);
    assert!(tracking.most_unanswered >= 4, "{}", tracking.most_unanswered);
    assert_eq!((tracking.invalid, tracking.early_acknowledgments), (0, 0));
}

#[test]
fn no_acknowledgment_covers_what_was_lost() {
    let (counted, tracking) = over_a_path(7);
    let lost = CONNECTIONS * EACH / 7;
    assert_eq!(counted, [CONNECTIONS * EACH, CONNECTIONS * EACH - lost, 0]);
    assert_eq!((tracking.invalid, tracking.early_acknowledgments), (0, 0));
}
