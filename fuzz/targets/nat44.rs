//! Sequences of frames into a NAT44 of one to four workers, in several configurations and with time going on. Nothing
//! panics, tables keep their limits, every frame is accounted for once, nothing goes round for ever, and what was right
//! when it came in is right when it goes out.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::build::{self, CUSTOMER, Damage, Draft, Host, INTERNET};
use natmeter_fuzz::checksum::Ipv4;
use natmeter_fuzz::packet::{Frame, Made};
use plane::function::BATCH;
use plane::nat44::Nat44;
use plane::nat44::config::{Blocks, Config, Exempt, Filtering, Pooling, Prefix, SideConfig};
use plane::{Function, Packet, Side, Verdict};
use std::collections::VecDeque;
use std::time::Duration;
use wire::{AddrRange, Mac, PortRange};

#[derive(Arbitrary, Debug)]
struct Input {
    setup: Setup,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
struct Setup {
    workers: u8,
    per_connection: bool,
    filtering: u8,
    arbitrary_pooling: bool,
    sessions: u8,
    few_ports: bool,
    mtu: [u8; 2],
    hairpinning: bool,
    keep_port: bool,
    keep_parity: bool,
    inbound_refresh: bool,
    blocks: bool,
    quota: Option<[u8; 2]>,
    exempt: Option<bool>,
    datagrams: u8,
    held: u8,
    errors: u8,
}

impl Setup {
    fn config(&self) -> Config {
        let side = |(mac, hop): ([u8; 6], [u8; 6]), address: [u8; 4], mtu: u8| SideConfig {
            mac: Mac(mac),
            next_hop: Mac(hop),
            address: address.into(),
            mtu: [1500, 576, 68, 9000][usize::from(mtu & 3)],
        };
        let mut c = Config::new(
            side(CUSTOMER, [10, 0, 0, 254], self.mtu[0]),
            side(INTERNET, [192, 0, 2, 254], self.mtu[1]),
            vec![Prefix { addr: [10, 0, 0, 0].into(), len: 8 }],
            vec![AddrRange::one([192, 0, 2, 1].into()), AddrRange { first: [192, 0, 2, 2].into(), count: 2 }],
        );
        c.sessions = 1 + u64::from(self.sessions);
        if self.few_ports {
            c.ports = PortRange { first: 1024, last: 1100 };
        }
        c.filtering = [Filtering::EndpointIndependent, Filtering::AddressDependent, Filtering::AddressAndPortDependent]
            [usize::from(self.filtering % 3)];
        c.hairpinning = self.hairpinning;
        c.preserve_port = self.keep_port;
        c.preserve_parity = self.keep_parity;
        c.inbound_refresh = self.inbound_refresh;
        c.quota.sessions = self.quota.map(|q| q[0].into());
        if self.per_connection {
            c = c.per_connection();
        } else {
            c.quota.ports = self.quota.map(|q| q[1].into());
            c.blocks = self.blocks.then_some(Blocks { size: 64, per_subscriber: 2 });
        }
        if self.arbitrary_pooling && c.blocks.is_none() {
            c.pooling = Pooling::Arbitrary;
        }
        c.untranslated.extend(self.exempt.map(|all| Exempt {
            remote: Prefix { addr: [198, 51, 100, 0].into(), len: 24 },
            ports: (!all).then_some(PortRange { first: 1, last: 1023 }),
        }));
        c.timeouts.udp_by_port = vec![(53, Duration::from_secs(10))];
        c.fragments.datagrams = 1 + u16::from(self.datagrams);
        c.fragments.held = self.held.into();
        c.icmp_errors_per_second = u32::from(self.errors) * 10;
        c
    }
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// Milliseconds go by, or many of them.
    Wait(u16, bool),
    /// Frames arrive together.
    Arrive { customer: bool, steered: bool, frames: Vec<Arrival> },
    /// Nothing to do.
    Idle,
    /// Somebody looks at the state table.
    Look(u8),
    /// No memory for further packets from here on, or again.
    Memory(Option<u8>),
    /// Forget everything.
    Clear,
}

#[derive(Arbitrary, Debug)]
enum Arrival {
    Any(Vec<u8>),
    Draft(Draft, Damage),
    /// Something that came out, sent back in at the same side, as it is.
    Again(u8, Damage),
    /// The answer to something that came out.
    Answer(u8, u8, Damage),
    /// An ICMP error about something that came out.
    Error(u8, Option<Host>, u8, u8, u16),
}

/// What happens to no frame, but beside them.
const BESIDE: &[&str] = &[
    "session-new",
    "session-expired",
    "mapping-new",
    "block-allocated",
    "block-released",
    "icmp-sent",
    "icmp-suppressed",
    "fragmented",
    "fragment-held",
];

struct Bench {
    workers: Vec<Nat44>,
    config: Config,
    now: u64,
    memory: usize,
    /// Frames given to a worker, hand-overs included.
    given: u64,
    /// What came out last.
    out: VecDeque<(Side, Vec<u8>)>,
    /// The books need not balance: waiting fragments were forgotten, or packets could not be made.
    uneven: bool,
}

impl Bench {
    fn new(setup: &Setup) -> Bench {
        let (config, n) = (setup.config(), usize::from(setup.workers % 4) + 1);
        let workers = (0..n).map(|w| Nat44::new(config.clone(), w, n, 7).expect("all these are valid")).collect();
        let (now, memory) = (1 << 40, usize::MAX);
        Bench { workers, config, now, memory, given: 0, out: VecDeque::new(), uneven: false }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Wait(n, long) => self.now += u64::from(*n) * if *long { 1_000_000_000 } else { 1_000_000 },
            Step::Arrive { customer, steered, frames } => self.arrive(*customer, *steered, frames),
            Step::Idle => self.workers.iter_mut().for_each(|w| w.idle(self.now)),
            Step::Look(most) => {
                let look = |w: &Nat44| w.sessions(self.now, usize::from(*most)).len();
                assert!(self.workers.iter().all(|w| look(w) <= usize::from(*most)));
            }
            Step::Memory(most) => {
                self.uneven |= most.is_some();
                self.memory = most.map_or(usize::MAX, usize::from);
            }
            Step::Clear => {
                self.workers.iter_mut().for_each(Nat44::clear);
                assert!(self.workers.iter().all(|w| w.entries() == Some((0, 0))));
                self.uneven = true;
            }
        }
    }

    fn arrive(&mut self, customer: bool, steered: bool, arrivals: &[Arrival]) {
        let from = if customer { Side::Customer } else { Side::Internet };
        let frames: Vec<(Side, Vec<u8>)> = arrivals.iter().take(BATCH).filter_map(|a| self.build(from, a)).collect();
        let steering = |side| if side == Side::Customer { Nat44::STEER_CUSTOMER } else { Nat44::STEER_INTERNET };
        let n = self.workers.len();
        // Batches by worker and side, in order.
        let mut inbox: VecDeque<(usize, Side, Vec<Vec<u8>>)> = VecDeque::new();
        for (side, f) in frames {
            let w = if steered { steering(side).worker(&f, n) } else { 0 };
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

    /// One batch; gives what is handed over.
    fn process(&mut self, w: usize, from: Side, frames: &[Vec<u8>]) -> Vec<(u16, Side, Vec<u8>)> {
        self.given += frames.len() as u64;
        let mut batch: Vec<Frame> = frames.iter().map(|f| Frame::new(f)).collect();
        let mut verdicts = vec![Verdict::Drop; batch.len()];
        let mut made = Made::with_memory(self.memory);
        self.workers[w].process(self.now, from, &mut batch, &mut verdicts, &mut made);
        self.memory = made.memory;
        let mut handed: Vec<_> = made.handed.iter().map(|(to, s, f)| (*to, *s, f.bytes().to_vec())).collect();
        for ((f, v), input) in batch.iter().zip(&verdicts).zip(frames) {
            match v {
                Verdict::Forward(side) => {
                    check_sent(*side, f.bytes());
                    check_kept(input, f.bytes(), &made);
                    self.remember(*side, f.bytes());
                }
                Verdict::HandOver(to) => handed.push((*to, from, f.bytes().to_vec())),
                Verdict::Drop | Verdict::Local => {}
            }
        }
        for (side, f) in &made.out {
            check_sent(*side, f.bytes());
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
        let (side, mut f, damage) = match arrival {
            Arrival::Any(bytes) => return Some((from, bytes.clone())),
            Arrival::Draft(draft, damage) => (from, draft.build(from == Side::Customer), damage),
            Arrival::Again(i, damage) => {
                let (_, f) = past(*i)?;
                let mut f = f.clone();
                f[..6].copy_from_slice(if from == Side::Customer { &CUSTOMER.0 } else { &INTERNET.0 });
                (from, f, damage)
            }
            Arrival::Answer(i, flags, damage) => {
                let (side, f) = past(*i)?;
                (*side, build::answer(f, *side == Side::Customer, *flags)?, damage)
            }
            Arrival::Error(i, by, kind, code, quoted) => {
                let (side, f) = past(*i)?;
                let f = build::error(f, *side == Side::Customer, *by, *kind, *code, *quoted)?;
                return Some((*side, f));
            }
        };
        damage.apply(&mut f);
        Some((side, f))
    }

    fn check_limits(&self) {
        for w in &self.workers {
            let (sessions, mappings) = w.entries().expect("a NAT keeps state");
            assert!(sessions <= self.config.sessions_per_worker(self.workers.len()));
            assert!(mappings <= sessions, "{mappings} mappings of {sessions} sessions");
        }
        let (settled, waiting) = (self.settled(), self.workers.len() as u64 * u64::from(self.config.fragments.held));
        assert!(self.uneven || settled <= self.given, "{settled} fates of {} frames", self.given);
        assert!(self.uneven || settled + waiting >= self.given, "{settled} fates of {} frames", self.given);
    }

    /// Frames of which the counters say what became of them.
    fn settled(&self) -> u64 {
        let counts = |w: &Nat44| w.counters().iter().filter(|c| !BESIDE.contains(&c.0)).map(|c| c.1).sum::<u64>();
        self.workers.iter().map(counts).sum()
    }

    /// When all that waits has had its time, every frame has had exactly one fate.
    fn finish(&mut self) {
        self.now += 3_600_000_000_000;
        for w in 0..self.workers.len() {
            self.process(w, Side::Customer, &[]);
        }
        assert!(self.uneven || self.settled() == self.given, "{} fates of {} frames", self.settled(), self.given);
    }
}

/// Whatever leaves is a frame that a link can carry.
fn check_sent(side: Side, f: &[u8]) {
    let (own, hop) = if side == Side::Customer { CUSTOMER } else { INTERNET };
    assert_eq!((&f[..6], &f[6..12]), (&hop[..], &own[..]), "Ethernet addresses");
    let packet = Ipv4::read(&f[14..]).expect("a right IPv4 header");
    assert!(packet.whole, "the frame is shorter than its packet");
    assert!(packet.header[8] > 0, "a packet without time to live");
    let end = packet.offset() + packet.header.len() + packet.payload.len();
    assert!(end <= 65_535, "a fragment that ends at {end}, behind the largest datagram");
}

/// What was right when it came in is right when it goes out.
fn check_kept(input: &[u8], f: &[u8], made: &Made) {
    let (Some(before), Some(after)) = (Ipv4::read(&input[14..]), Ipv4::read(&f[14..])) else {
        panic!("a packet with a wrong header was forwarded")
    };
    assert_eq!(after.header[8], before.header[8] - 1, "time to live");
    if before.transport_is_right() == Some(true) {
        let right =
            if after.more() { after.transport_sum_is_right(&joined(&after, made)) } else { after.transport_is_right() };
        assert_eq!(right, Some(true), "the checksum above IPv4");
    }
    // A quote that was cut is no longer whole.
    if let (Some(before), Some(after), false) = (before.quoted(), after.quoted(), after.more()) {
        let (before, after) = (Ipv4::read(before), Ipv4::read(after));
        assert_eq!(before.is_some(), after.is_some(), "the quoted header");
        let right = |q: Option<Ipv4>| q.and_then(|q| q.transport_is_right());
        assert!(
            right(before) != Some(true) || right(after) == Some(true),
            "the checksum in the quote: {before:02x?} became {after:02x?}"
        );
    }
}

/// The payload of a packet that was cut: its first piece, and those emitted behind it.
fn joined(first: &Ipv4, made: &Made) -> Vec<u8> {
    let mut payload = first.payload.to_vec();
    for (_, f) in &made.out {
        let Some(p) = Ipv4::read(&f.bytes()[14..]) else { continue };
        let same = p.header[12..20] == first.header[12..20] && p.header[4..6] == first.header[4..6];
        if same && p.header[9] == first.header[9] && p.offset() == payload.len() {
            payload.extend(p.payload);
            if !p.more() {
                break;
            }
        }
    }
    payload
}

fuzz_target!(|input: Input| {
    let mut bench = Bench::new(&input.setup);
    for step in input.steps.iter().take(64) {
        bench.step(step);
    }
    bench.finish();
});
