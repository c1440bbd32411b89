//! Frames of a trial in any order, damaged, repeated, or made of any bytes, into the judge: each is counted exactly once,
//! none that is wrong as right, and none twice.

#![no_main]

use arbitrary::Arbitrary;
use engine::StateTable;
use engine::expected::JudgePlan;
use engine::judge::{Arrivals, Judge};
use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::checksum::Ipv4;
use plane::Hop;
use plane::view::{BedAddresses, nat44};
use port::{BATCH, Burst, Clock, Counters, Pool, PoolConfig, Port, PortError, PortFacts, Sent};
use std::collections::{BTreeSet, VecDeque};
use wire::{AddrRange, FlowSpace, FramePurpose, OuterRange, PortRange, StreamId, Tag, Values, View};

#[derive(Arbitrary, Debug)]
struct Input {
    learn: bool,
    burst: u8,
    hop_limit: u8,
    arrivals: Vec<Arrival>,
}

#[derive(Arbitrary, Debug)]
enum Arrival {
    /// So many in a row from this sequence number on, as they were sent.
    Row(u8, u8),
    One {
        sequence: u8,
        index: u8,
        sender: u8,
        late: bool,
        hop_limit: Option<u8>,
        outer: (u8, u16),
        changes: Vec<(u8, u8)>,
    },
    Any(Vec<u8>),
}

const CONNECTIONS: u64 = 200;
const FRAMES: u64 = 250;
const TRIAL: u16 = 7;
const STREAM: u8 = Tag::stream(FramePurpose::Establish, false);

/// A port from which these frames come.
struct Script {
    frames: VecDeque<Vec<u8>>,
    burst: usize,
}

impl Port for Script {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let n = self.frames.len().min(self.burst);
        for bytes in self.frames.drain(..n) {
            let mut frame = pool.alloc(bytes.len()).expect("a frame for each of a burst");
            frame.bytes_mut().copy_from_slice(&bytes);
            into.push(frame);
        }
        Ok(n)
    }
    fn transmit(&mut self, _: &mut Pool, _: &mut Burst) -> Result<Sent, PortError> {
        unreachable!("a judge sends nothing")
    }
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
    fn facts(&self) -> PortFacts {
        PortFacts::default()
    }
}

fn view() -> View {
    let range = |first: [u8; 4]| AddrRange { first: first.into(), count: 4 };
    let ports = PortRange { first: 1024, last: 1123 };
    let flows = FlowSpace::new(range([10, 0, 0, 0]), ports, range([203, 0, 113, 0]), ports).expect("a flow space");
    let (left, right) = (Hop::default(), Hop::default());
    let bed = BedAddresses { left, right, frame_size: 80, ttl: 10, flows, connections: CONNECTIONS, seed: 3 };
    nat44(&bed, OuterRange { addrs: range([192, 0, 2, 0]), ports })
}

/// What a flow looks like outside.
fn outer(index: u32) -> (u32, u16) {
    (0xc000_0200 + index % 4, 1024 + (index / 4) as u16)
}

/// The frame as it arrives at Right, behind the NAT.
fn frame(view: &View, tag: &Tag, outer: (u32, u16), hop_limit: u8) -> Vec<u8> {
    let values = Values::of(view.flows.flow(view.order.get(tag.index))).learned(outer.0, outer.1);
    // Right's own frames with both ends exchanged: the same fields, sent the other way.
    let mut f = vec![0; view.left.len()];
    view.left.write(&mut f, &values, tag);
    let fields = [(26, outer.0.to_be_bytes().to_vec()), (34, outer.1.to_be_bytes().to_vec()), (22, vec![hop_limit])];
    for (at, bytes) in fields {
        f[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    seal(&mut f);
    f
}

fn seal(f: &mut [u8]) {
    f[24..26].fill(0);
    let sum = natmeter_fuzz::checksum::of(&[&f[14..34]]);
    f[24..26].copy_from_slice(&sum);
    f[40..42].fill(0);
    let sum = natmeter_fuzz::checksum::of(&[&natmeter_fuzz::checksum::pseudo(&f[14..34], f.len() - 34), &f[34..]]);
    f[40..42].copy_from_slice(if sum == [0, 0] { &[0xff, 0xff] } else { &sum });
}

fn frames(input: &Input, view: &View) -> VecDeque<Vec<u8>> {
    let tag = |sequence: u64, index: u32| Tag { trial: TRIAL, stream: STREAM, sender: 0, sequence, index };
    let index = |n: u64| (n % CONNECTIONS) as u32;
    let mut all = VecDeque::new();
    for arrival in input.arrivals.iter().take(64) {
        match arrival {
            Arrival::Row(first, n) => {
                for s in u64::from(*first)..u64::from(*first) + u64::from(n % 64) {
                    all.push_back(frame(view, &tag(s, index(s)), outer(index(s)), input.hop_limit));
                }
            }
            Arrival::One { sequence, index: i, sender, late, hop_limit, outer, changes } => {
                let i = index((*i).into());
                let mut tag = tag((*sequence).into(), i);
                tag.sender = sender & 1;
                tag.trial -= u16::from(*late);
                let outer = (0xc000_0200 + u32::from(outer.0), outer.1);
                let mut f = frame(view, &tag, outer, hop_limit.unwrap_or(input.hop_limit));
                let n = f.len();
                changes.iter().for_each(|(at, value)| f[usize::from(*at) % n] = *value);
                all.push_back(f);
            }
            Arrival::Any(bytes) => all.push_back(bytes[..bytes.len().min(200)].to_vec()),
        }
    }
    all
}

fuzz_target!(|input: Input| {
    let view = view();
    let frames = frames(&input, &view);
    let store = StateTable::new(CONNECTIONS).expect("memory for a small table");
    for i in 0..CONNECTIONS as u32 {
        if !input.learn {
            store.learn(i, 1, outer(i).0, outer(i).1);
        }
    }
    let plan = JudgePlan {
        view: &view,
        expect: &view.expect_right,
        learn: input.learn,
        store: Some((&store, if input.learn { TRIAL } else { 1 })),
        trial: TRIAL,
        id: StreamId::new(TRIAL, STREAM),
        connections: CONNECTIONS,
    };
    let mut seen = [Arrivals::default()];
    seen[0].reset(FRAMES);
    let mut judge = Judge::new(plan, Clock::system(), &mut seen);
    let mut pool = Pool::single(PoolConfig::compact(1, BATCH, 256)).expect("memory for a few frames");
    let mut port = Script { frames: frames.clone(), burst: 1 + usize::from(input.burst) % BATCH };
    while judge.poll(0, &mut port, &mut pool).expect("the port is whole").0 > 0 {}

    let found = &judge.findings;
    assert_eq!(found.received + found.faults.total(), frames.len() as u64, "each frame counts once");
    // Right frames by an independent reading: checksums, length, tag, a sequence number that was planned.
    let right: BTreeSet<u64> = frames
        .iter()
        .filter(|f| f.len() == view.left.len())
        .filter(|f| Ipv4::read(&f[14..]).is_some_and(|p| p.transport_is_right() == Some(true)))
        .filter_map(|f| Tag::read(f, 42))
        .filter(|t| (t.trial, t.stream, t.sender) == (TRIAL, STREAM, 0) && t.sequence < FRAMES)
        .map(|t| t.sequence)
        .collect();
    assert!(found.received <= right.len() as u64, "more right frames than there can be");
    assert!(found.learned <= found.received && found.reordered <= found.received);
    assert_eq!(store.learned(TRIAL), if input.learn { found.learned } else { 0 });
});
