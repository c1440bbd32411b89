//! Sends sequences of frames into the workers of any plane function, or of a chain of functions. It checks the
//! properties that hold for all functions; a target only defines what is built and its limits.

use crate::build::{self, CUSTOMER, Damage, Draft, Host, INTERNET};
use crate::checksum::Ipv4;
use crate::six::{self, Draft6, Host6, Ipv6};
use arbitrary::Arbitrary;
use plane::function::BATCH;
use plane::{Function, Input, Packet, Side, Steering, Verdict};
use std::collections::VecDeque;
use testbed::{Frame, Outbox};

/// What happens next to the workers under test.
#[derive(Arbitrary, Debug)]
pub enum BenchStep {
    /// Milliseconds go by, or many of them.
    Wait(u16, bool),
    /// Frames arrive together, spread over workers or all at the first.
    Arrive {
        /// At the customers' side.
        customer: bool,
        /// Spread over the workers.
        spread: bool,
        /// What arrives.
        frames: Vec<Arrival>,
    },
    /// Nothing to do.
    Idle,
    /// The control side reads the state table.
    Look(u8),
    /// No memory for further packets from here on, or again.
    Memory(Option<u8>),
    /// Each worker clears its state.
    Clear,
    /// The configuration is read again.
    Adopt,
}

/// A frame that arrives, new or made from one that came out.
#[derive(Arbitrary, Debug)]
pub enum Arrival {
    /// These octets, valid or not.
    Any(Vec<u8>),
    /// An IPv4 packet.
    Four(Draft, Damage),
    /// An IPv6 packet.
    Six(Draft6, Damage),
    /// Something that came out, sent back in at either side, as it is.
    Again(u8, Damage),
    /// The answer to something that came out.
    Answer(u8, u8, Damage),
    /// An ICMP error about something that came out.
    Error(u8, Option<(Host, Host6)>, u8, u8, u16),
}

/// The workers under test, and the properties that they must keep.
pub struct Setup<F> {
    /// The workers, and how to make them again with other settings.
    pub make: Box<dyn Fn() -> Vec<F>>,
    /// Where IPv6 is spoken; nowhere for a pair of edges.
    pub ipv6: Vec<Side>,
    /// IPv6 addresses that the function under test translates, or that are its own.
    pub known: Vec<u128>,
    /// Asserts that the state of a worker keeps its limits.
    pub limits: Box<dyn Fn(&F)>,
    /// The rules by which the links of both sides spread frames over workers; where there are none, by their octets.
    pub steering: Option<[Steering; 2]>,
    /// Asserts that what was right of a frame when it came in is right when it goes out, with what was made beside it.
    pub kept: fn(&[u8], &[u8], &Outbox),
}

impl<F> Setup<F> {
    /// Workers spread by nothing, of which no more is asked than of any function.
    pub fn new(
        make: impl Fn() -> Vec<F> + 'static,
        ipv6: impl IntoIterator<Item = Side>,
        known: Vec<u128>,
        limits: impl Fn(&F) + 'static,
    ) -> Setup<F> {
        Setup {
            make: Box::new(make),
            ipv6: ipv6.into_iter().collect(),
            known,
            limits: Box::new(limits),
            steering: None,
            kept: check_kept,
        }
    }
}

/// What happens to no frame, but beside them.
const BESIDE: &[&str] = &[
    "session-new",
    "session-expired",
    "mapping-new",
    "block-allocated",
    "block-released",
    "parity-changed",
    "session-static",
    "icmp-sent",
    "icmp-suppressed",
    "fragmented",
    "reassembled",
    "fragment-held",
    "inner-handed-over",
    "inner-local",
];

struct Bench<'a, F> {
    setup: &'a Setup<F>,
    workers: Vec<F>,
    now: u64,
    memory: usize,
    /// Frames given to a worker, hand-overs included.
    given: i64,
    /// What came out last.
    out: VecDeque<(Side, Vec<u8>)>,
    /// The books need not balance: waiting parts were forgotten, or packets could not be made.
    uneven: bool,
}

/// Do all steps.
///
/// # Panics
/// When the function does what it must not.
pub fn run<F: Function>(setup: &Setup<F>, steps: &[BenchStep]) {
    let workers = (setup.make)();
    let (now, memory) = (1 << 40, usize::MAX);
    let mut bench = Bench { setup, workers, now, memory, given: 0, out: VecDeque::new(), uneven: false };
    for step in steps.iter().take(48) {
        bench.step(step);
    }
    bench.finish();
}

impl<F: Function> Bench<'_, F> {
    fn step(&mut self, step: &BenchStep) {
        match step {
            BenchStep::Wait(n, long) => self.now += u64::from(*n) * if *long { 1_000_000_000 } else { 1_000_000 },
            BenchStep::Arrive { customer, spread, frames } => self.arrive(*customer, *spread, frames),
            BenchStep::Idle => self.workers.iter_mut().for_each(|w| w.idle(self.now)),
            BenchStep::Look(most) => {
                let look = |w: &F| w.sessions(self.now, 0..u64::from(*most)).len();
                assert!(self.workers.iter().all(|w| look(w) <= usize::from(*most)));
            }
            BenchStep::Memory(most) => {
                self.check_books();
                self.uneven |= most.is_some();
                self.memory = most.map_or(usize::MAX, usize::from);
            }
            BenchStep::Clear => {
                self.check_books();
                self.workers.iter_mut().for_each(F::clear);
                assert!(self.workers.iter().all(|w| matches!(w.entries(), None | Some((0, 0)))));
                self.uneven = true;
            }
            BenchStep::Adopt => {
                let before: Vec<_> = self.workers.iter().map(|w| (w.counters(), w.entries())).collect();
                for (w, mut new) in self.workers.iter_mut().zip((self.setup.make)()) {
                    w.adopt(&mut new).expect("the same settings");
                }
                let after: Vec<_> = self.workers.iter().map(|w| (w.counters(), w.entries())).collect();
                assert_eq!(before, after, "nothing is lost when settings are read again");
            }
        }
    }

    fn arrive(&mut self, customer: bool, spread: bool, arrivals: &[Arrival]) {
        let from = if customer { Side::Customer } else { Side::Internet };
        let frames: Vec<(Side, Vec<u8>)> = arrivals.iter().take(BATCH).filter_map(|a| self.build(from, a)).collect();
        let n = self.workers.len();
        // Batches by worker and side, in order.
        let mut inbox: VecDeque<(usize, Side, Vec<Vec<u8>>)> = VecDeque::new();
        for (side, f) in frames {
            let w = if spread { self.worker(side, &f, n) } else { 0 };
            match inbox.back_mut() {
                Some((last, s, batch)) if *last == w && *s == side => batch.push(f),
                _ => inbox.push_back((w, side, vec![f])),
            }
        }
        let mut crossings = 0;
        while let Some((w, side, batch)) = inbox.pop_front() {
            for (to, side, f) in self.process(w, side, &batch) {
                assert_ne!(usize::from(to), w, "handed over to itself");
                crossings += 1;
                assert!(crossings <= 8 * (BATCH + 256), "frames go round for ever");
                inbox.push_back((to.into(), side, vec![f]));
            }
        }
    }

    /// The worker of `n` that a link brings a frame to.
    fn worker(&self, side: Side, f: &[u8], n: usize) -> usize {
        match self.setup.steering {
            Some(steering) => steering[usize::from(side == Side::Internet)].worker(f, n),
            None => f.iter().skip(22).take(20).map(|b| usize::from(*b)).sum::<usize>() % n,
        }
    }

    /// One batch; gives what is handed over.
    fn process(&mut self, w: usize, from: Side, frames: &[Vec<u8>]) -> Vec<(u16, Side, Vec<u8>)> {
        self.given += frames.len() as i64;
        let mut batch: Vec<Frame> = frames.iter().map(|f| Frame::new(f)).collect();
        let mut verdicts = vec![Verdict::Drop; batch.len()];
        let mut made = Outbox::new(self.memory, usize::MAX);
        self.workers[w].process(Input::new(self.now, from, &mut batch, &mut verdicts), &mut made);
        self.memory = made.memory;
        let mut handed: Vec<_> = made.handed.iter().map(|(to, s, f)| (*to, *s, f.bytes().to_vec())).collect();
        for ((f, v), input) in batch.iter().zip(&verdicts).zip(frames) {
            match v {
                Verdict::Forward(side) => {
                    self.check_sent(*side, f.bytes());
                    (self.setup.kept)(input, f.bytes(), &made);
                    self.remember(*side, f.bytes());
                }
                Verdict::HandOver(to) => handed.push((*to, from, f.bytes().to_vec())),
                Verdict::Drop | Verdict::Held | Verdict::Local => {}
            }
        }
        for (side, f) in &made.out {
            self.check_sent(*side, f.bytes());
            self.remember(*side, f.bytes());
        }
        self.check_limits();
        handed
    }

    fn remember(&mut self, side: Side, f: &[u8]) {
        self.out.push_front((side, f.to_vec()));
        self.out.truncate(16);
    }

    fn build(&self, from: Side, arrival: &Arrival) -> Option<(Side, Vec<u8>)> {
        let past = |i: u8| self.out.get(usize::from(i) % self.out.len().max(1));
        let known = &self.setup.known;
        let (side, mut f, damage) = match arrival {
            Arrival::Any(bytes) => return Some((from, bytes.clone())),
            Arrival::Four(draft, damage) => (from, draft.build(from == Side::Customer), damage),
            Arrival::Six(draft, damage) => (from, draft.build(from == Side::Customer, known), damage),
            Arrival::Again(i, damage) => {
                let mut f = past(*i)?.1.clone();
                f[..6].copy_from_slice(if from == Side::Customer { &CUSTOMER.0 } else { &INTERNET.0 });
                (from, f, damage)
            }
            Arrival::Answer(i, flags, damage) => {
                let (side, f) = past(*i)?;
                let customer = *side == Side::Customer;
                let f = if is_six(f) { six::answer(f, customer) } else { build::answer(f, customer, *flags) };
                (*side, f?, damage)
            }
            Arrival::Error(i, by, kind, code, quoted) => {
                let (side, f) = past(*i)?;
                let customer = *side == Side::Customer;
                let f = if is_six(f) {
                    six::error(f, customer, by.map(|b| b.1), known, (*kind, *code), *quoted)
                } else {
                    build::error(f, customer, by.map(|b| b.0), *kind, *code, *quoted)
                };
                return Some((*side, f?));
            }
        };
        damage.apply(&mut f);
        Some((side, f))
    }

    /// Whatever leaves is a frame that a link can carry, of the IP version that is spoken there.
    fn check_sent(&self, side: Side, f: &[u8]) {
        let (own, hop) = if side == Side::Customer { CUSTOMER } else { INTERNET };
        assert_eq!((&f[..6], &f[6..12]), (&hop[..], &own[..]), "Ethernet addresses");
        assert_eq!(is_six(f), self.setup.ipv6.contains(&side), "the IP version of this side");
        if is_six(f) {
            let packet = Ipv6::read(&f[14..]).expect("a right IPv6 packet, all there");
            assert!(f[21] > 0, "a packet without hops left");
            if packet.protocol == 4 && !packet.part {
                check_ipv4(packet.payload);
            }
        } else {
            assert_eq!(f[12..14], [8, 0], "the Ethernet type");
            check_ipv4(&f[14..]);
        }
    }

    fn check_limits(&self) {
        self.workers.iter().for_each(|w| (self.setup.limits)(w));
    }

    /// Whether the counters agree with what was given. Looked at before they may no longer, and at the end: reading all of them costs
    /// more than a packet does.
    fn check_books(&self) {
        let (settled, waiting) = self.books();
        assert!(self.uneven || settled <= self.given, "{settled} fates of {} frames", self.given);
        assert!(self.uneven || settled + waiting >= self.given, "{settled} fates of {} frames", self.given);
    }

    /// Frames whose fate the counters tell, where each crossing of an inner link counts as one more frame; and frames that
    /// once waited for others.
    fn books(&self) -> (i64, i64) {
        let (mut settled, mut waited) = (0, 0);
        for (name, n) in self.workers.iter().flat_map(F::counters) {
            let (n, bare) = (n as i64, name.rsplit('.').next().unwrap_or(name));
            match bare {
                "inner-link" => settled -= n,
                "fragment-held" => waited += n,
                _ if BESIDE.contains(&bare) => {}
                _ => settled += n,
            }
        }
        (settled, waited)
    }

    /// When all that waits has had its time, every frame has had exactly one fate; parts of a packet that was put together
    /// have had one together.
    fn finish(&mut self) {
        self.check_books();
        self.now += 3_600_000_000_000;
        for w in 0..self.workers.len() {
            for side in [Side::Customer, Side::Internet] {
                self.process(w, side, &[]);
            }
        }
        let (settled, _) = self.books();
        let whole = self.workers.iter().flat_map(F::counters).all(|(n, v)| !n.ends_with("reassembled") || v == 0);
        assert!(self.uneven || !whole || settled == self.given, "{settled} fates of {} frames", self.given);
    }
}

fn is_six(f: &[u8]) -> bool {
    f.get(12..14) == Some(&[0x86, 0xdd])
}

fn check_ipv4(b: &[u8]) {
    let packet = Ipv4::read(b).expect("a right IPv4 header");
    assert!(packet.whole, "the frame is shorter than its packet");
    assert!(packet.header[8] > 0, "a packet without time to live");
    let end = packet.offset() + packet.header.len() + packet.payload.len();
    assert!(end <= 65_535, "a fragment that ends at {end}, behind the largest datagram");
}

/// Whether the checksum above IP is right, where there is one and all of it.
fn is_right(f: &[u8]) -> Option<bool> {
    let packet = f.get(14..)?;
    if is_six(f) { Ipv6::read(packet)?.transport_is_right() } else { Ipv4::read(packet)?.transport_is_right() }
}

/// What was right when it came in is right when it goes out.
fn check_kept(input: &[u8], f: &[u8], _: &Outbox) {
    if is_right(input) == Some(true) {
        assert_ne!(is_right(f), Some(false), "the checksum above IP: {input:02x?} became {f:02x?}");
    }
}
