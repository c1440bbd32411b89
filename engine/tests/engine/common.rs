//! Small views, phases, and ports whose other end is the test or a hub.

use engine::phase::Phase;
use engine::stage::Stage;
use engine::{Device, Engine, Lane, NoDevice, Settings, StateTable};
use method::{Direction, Load, Loop, Nanos, Order, PhaseKind, Rate, TrialSpec};
use plane::view::{BedAddresses, forwarding};
use port::link::{LinkPort, Steer, link};
use port::{BATCH, Burst, Clock, Counters, Pool, PoolConfig, Port, PortError, PortFacts, Sent, Ticks};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use wire::{AddrRange, FlowSpace, FramePurpose, OuterRange, PortRange, View};

/// Ten thousand flows.
pub(crate) fn bed(frame_size: usize) -> BedAddresses {
    let flows = FlowSpace::new(
        AddrRange::one([198, 18, 0, 2].into()),
        PortRange { first: 1024, last: 2023 },
        AddrRange::one([198, 19, 0, 2].into()),
        PortRange { first: 1, last: 10 },
    )
    .expect("these ranges fit");
    let hop = plane::Hop::default();
    BedAddresses { left: hop, right: hop, frame_size, ttl: 10, connections: flows.size(), flows, seed: 5 }
}

pub(crate) fn outer() -> OuterRange {
    OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1024, last: 65_535 } }
}

pub(crate) fn pool() -> Pool {
    Pool::single(PoolConfig::compact(1, 256, 1600)).expect("a little memory")
}

/// 2,000 frames at 1 Mfps, in both directions, after phase 1.
pub(crate) fn trial_spec(connections: u64) -> TrialSpec {
    TrialSpec {
        kind: PhaseKind::Established,
        connections,
        phase1_rate: Some(Rate(1_000_000)),
        ..TrialSpec::stateless(Rate(1_000_000), Load::Frames(2000))
    }
}

pub(crate) fn stateless(frames: u64) -> TrialSpec {
    TrialSpec::stateless(Rate(100_000), Load::Frames(frames))
}

/// Returns the inside addresses and ports as the outside ones: the range of a NAT44 that changes nothing, such as a
/// cable.
pub(crate) fn unchanged(bed: &BedAddresses) -> OuterRange {
    OuterRange { addrs: bed.flows.inside(), ports: bed.flows.inside_ports() }
}

/// Returns the range of [`unchanged`] with ports 1024 to 65535, to which the device may map connections.
pub(crate) fn any_port(bed: &BedAddresses) -> OuterRange {
    OuterRange { ports: PortRange { first: 1024, last: 65_535 }, ..unchanged(bed) }
}

/// Implements methods of a port by calls of the same methods of its field `inner`.
macro_rules! of_inner {
    ($($method:ident)+) => {$(
        crate::common::of_inner!(@ $method);
    )+};
    (@ receive) => {
        fn receive(&mut self, pool: &mut port::Pool, into: &mut port::Burst) -> Result<usize, port::PortError> {
            self.inner.receive(pool, into)
        }
    };
    (@ transmit) => {
        fn transmit(&mut self, pool: &mut port::Pool, burst: &mut port::Burst) -> Result<port::Sent, port::PortError> {
            self.inner.transmit(pool, burst)
        }
    };
    (@ counters) => {
        fn counters(&mut self) -> port::Counters {
            self.inner.counters()
        }
    };
    (@ facts) => {
        fn facts(&self) -> port::PortFacts {
            self.inner.facts()
        }
    };
}
pub(crate) use of_inner;

pub(crate) fn lane(pool: Pool, left: impl Port + 'static, right: impl Port + 'static) -> Lane {
    Lane { core: None, pool, left: Some(Box::new(left)), right: Some(Box::new(right)), companion: None, service: None }
}

pub(crate) fn lanes<L: Port + 'static, R: Port + 'static>(
    (count, depth): (usize, usize),
    longest: usize,
    steer: impl Fn() -> Steer,
    mut left: impl FnMut(LinkPort) -> L,
    mut right: impl FnMut(LinkPort) -> R,
) -> Vec<Lane> {
    let (lefts, rights) = link("cable", Clock::system(), depth, (count, steer()), (count, steer()));
    let pools = Pool::for_workers(PoolConfig::compact(count, 2 * depth, longest)).expect("a little memory");
    let ends = lefts.into_iter().zip(rights).zip(pools);
    ends.map(|((l, r), pool)| lane(pool, left(l), right(r))).collect()
}

/// Returns a stage that ignores late frames, because test machines are busy.
pub(crate) fn stage(view: View, lanes: Vec<Lane>) -> Stage {
    let store = view.stateful.then(|| StateTable::new(view.connections()).expect("a little memory"));
    let mut stage = Stage::new(Clock::system(), lanes, Arc::new(view), store, Nanos(0), 3, Arc::default());
    stage.never_give_up();
    stage
}

pub(crate) fn on_a_cable<L: Port + 'static, R: Port + 'static>(
    lanes: usize,
    left: impl FnMut(LinkPort) -> L,
    right: impl FnMut(LinkPort) -> R,
) -> Engine {
    cabled(forwarding(&bed(64)), lanes, left, right)
}

pub(crate) fn cabled<L: Port + 'static, R: Port + 'static>(
    view: View,
    count: usize,
    left: impl FnMut(LinkPort) -> L,
    right: impl FnMut(LinkPort) -> R,
) -> Engine {
    let lanes = lanes((count, 8192), view.longest(), || Steer::First, left, right);
    engine(Arc::new(view), lanes, NoDevice, settings())
}

/// Returns settings whose only waits are those for frames in flight.
pub(crate) fn settings() -> Settings {
    let drain = Nanos::from_millis(20);
    Settings { start_delay: Nanos(0), drain, settle: Nanos(0), phase1_drain: drain, seed: 1, dut_loop: Loop::Open }
}

pub(crate) fn engine(view: Arc<View>, lanes: Vec<Lane>, device: impl Device + 'static, settings: Settings) -> Engine {
    Engine::new(Clock::system(), lanes, view, Box::new(device), settings, Arc::default()).expect("both ends are there")
}

#[derive(Default)]
pub(crate) struct Hand {
    /// Frames to receive, one burst per call.
    pub bursts: VecDeque<Vec<Vec<u8>>>,
    /// Transmitted frames.
    pub sent: Vec<Vec<u8>>,
    /// System time at which each was transmitted.
    pub times: Vec<Ticks>,
    /// Frames to accept per call, and then to refuse; `None`: accept all.
    pub limits: Option<(usize, usize)>,
}

impl Port for Hand {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let frames = self.bursts.pop_front().unwrap_or_default();
        assert!(frames.len() <= BATCH);
        for bytes in &frames {
            let mut frame = pool.alloc(bytes.len()).expect("the pool is large enough");
            frame.bytes_mut().copy_from_slice(bytes);
            into.push(frame);
        }
        Ok(frames.len())
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let now = Clock::system().now();
        let (accept, refuse) = self.limits.unwrap_or((usize::MAX, 0));
        let mut sent = Sent::default();
        let taken: Vec<_> = burst.drain(..burst.len().min(accept.saturating_add(refuse))).collect();
        for frame in taken {
            if sent.accepted < accept {
                self.sent.push(frame.bytes().to_vec());
                self.times.push(now);
                sent.accepted += 1;
            } else {
                sent.refused += 1;
            }
            pool.free(frame);
        }
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn facts(&self) -> PortFacts {
        PortFacts::default()
    }
}

pub(crate) fn phase(frames: u64, direction: Direction) -> Phase {
    Phase {
        connections: 10_000,
        direction,
        forward_order: Order::Random,
        drain: Nanos::from_millis(20),
        ..Phase::of(FramePurpose::Data, Rate(1_000_000), frames)
    }
}

pub(crate) fn learning() -> Phase {
    Phase {
        kind: FramePurpose::Establish,
        forward_order: Order::RoundRobin,
        learn: true,
        ..phase(10_000, Direction::Forward)
    }
}

pub(crate) type Queue = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// Forwards each frame to all other ports.
pub(crate) struct Hub {
    pub(crate) own: Queue,
    pub(crate) others: Vec<Queue>,
    pub(crate) facts: PortFacts,
}

impl Port for Hub {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let mut queue = self.own.lock().unwrap();
        let n = queue.len().min(BATCH);
        for bytes in queue.drain(..n) {
            let mut frame = pool.alloc(bytes.len()).expect("the pool is large enough");
            frame.bytes_mut().copy_from_slice(&bytes);
            into.push(frame);
        }
        Ok(n)
    }
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let accepted = burst.len();
        for other in &self.others {
            other.lock().unwrap().extend(burst.iter().map(|f| f.bytes().to_vec()));
        }
        pool.free_all(burst);
        Ok(Sent { accepted, refused: 0 })
    }
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
    fn facts(&self) -> PortFacts {
        self.facts.clone()
    }
}
