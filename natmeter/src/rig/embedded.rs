//! The embedded gateway as device: in-process links, one core for each worker, isolated cores for the tester.

use super::cores::Cores;
use super::cpu::OfWorkers;
use super::null::NullPath;
use super::ports::boxed;
use super::wires::Wires;
use super::{Price, Rig, RigError, RunContext, TrialRunner, mac};
use engine::lane::{Companion, back_to_sender};
use engine::{Clearing, CpuTimes, Device, DeviceStalls, Engine, Lane, Settings};
use gateway::{EmbeddedConfig, EmbeddedGateway, Switch, steer};
use method::{Loop, Nanos, TrialError};
use plane::nat44::Nat44;
use plane::nat44::config::{Config, SideConfig};
use plane::{AnyFunction, NativeIpv6, Steering, Wrapper};
use port::link::link;
use port::{Frame, Pool, PoolConfig};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wire::{AddrRange, OuterRange, View};

/// MTU of the gateway's links: large enough for the largest frames, also in a tunnel (RFC 8219, section 4.1).
pub(super) const MTU: u16 = 9_216 + 40;

/// Frames that may be inside the DUT beyond its queues.
const SLACK: usize = 512;

/// Longest stall of a worker that the run tolerates. A host may preempt a worker for seconds; the trial is then judged by that
/// stall.
const PATIENCE: Duration = Duration::from_secs(60);

/// Frames in the pool of each worker of tester and gateway: the content of all rings between one worker of the tester and
/// `workers` of the gateway, in both directions on both sides.
pub fn pool_frames(depth: usize, workers: usize) -> usize {
    4 * depth * workers + SLACK
}

/// Builds a rig with the tester's threads and one worker for each function, on these cores, with in-process links of this
/// depth.
pub fn assemble(
    view: Arc<View>,
    functions: Vec<AnyFunction<Frame>>,
    depth: usize,
    settings: Settings,
    cores: &Cores,
    process: &RunContext,
) -> Result<Rig, RigError> {
    let path = Path { depth, wires: Wires::bare(process.clock), steering: STEERING, beside: &|| None };
    wired(view, functions, path, settings, cores, process)
}

/// Steering of a NAT44's packets to its workers.
const STEERING: [Steering; 2] = [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET];

/// The path between the tester and the functions.
pub(super) struct Path<'a> {
    /// Frames that a ring of a link holds.
    pub depth: usize,
    pub wires: Wires,
    /// Steering of packets to the workers, from the left and from the right.
    pub steering: [Steering; 2],
    /// Returns the router for native packets that is added to a function; `None` without native traffic.
    pub beside: &'a dyn Fn() -> Option<NativeIpv6>,
}

/// Like [`assemble`], on this path.
pub(super) fn wired(
    view: Arc<View>,
    functions: Vec<AnyFunction<Frame>>,
    Path { depth, mut wires, steering, beside }: Path<'_>,
    mut settings: Settings,
    cores: &Cores,
    process: &RunContext,
) -> Result<Rig, RigError> {
    let (workers, switch) = (functions.len(), Switch::default());
    let wrapped = |function| {
        let function = match beside() {
            Some(beside) => beside.around(function),
            None => function,
        };
        switch.clone().around(function)
    };
    let functions = functions.into_iter().map(wrapped).collect();
    let testers = cores.testers.len();
    let clock = process.clock;
    let frames = pool_frames(depth, workers) + wires.frames();
    let mut own = Pool::for_workers(PoolConfig::compact(testers + workers, frames, view.longest()))?;
    let pools = own.split_off(testers);
    let to_tester = [&view.expect_left, &view.expect_right].map(|expect| (testers, back_to_sender(expect)));
    let null_steers = (testers > 1).then(|| to_tester.each_ref().map(|(_, steer)| steer.clone()));
    let to_gateway = steering.map(|rule| (workers, steer(rule)));
    let ([to_left, to_right], [to_customer, to_internet]) = (to_tester, to_gateway);
    let (left, customer) = link("left", clock, depth, to_left, to_customer);
    let (right, internet) = link("right", clock, depth, to_right, to_internet);
    let ports = boxed(customer).into_iter().zip(boxed(internet)).collect();
    let config = EmbeddedConfig::in_process(ports, pools, cores.workers.clone());
    let (embedded, mut companion): (_, Option<Companion>) = if cores.only_one {
        // One core: the tester's thread polls the gateway, and an excessive rate shows as a late sender.
        settings.dut_loop = Loop::Inline;
        let (embedded, mut rounds) = EmbeddedGateway::polled(clock, config, functions);
        (embedded, Some(Box::new(move || rounds.iter_mut().for_each(|round| round()))))
    } else {
        let embedded = EmbeddedGateway::start(clock, config, functions).0.patient(PATIENCE);
        embedded.rest();
        cores.keep_off_workers()?;
        (embedded, None)
    };
    // With a companion there is one lane.
    let lanes = cores.testers.iter().zip(own).zip(left.into_iter().zip(right));
    let lanes: Vec<Lane> = lanes
        .map(|((&core, pool), (left, right))| Lane {
            core,
            pool,
            left: Some(wires.wrap("left", Box::new(left))),
            right: Some(wires.wrap("right", Box::new(right))),
            companion: companion.take(),
            service: None,
        })
        .collect();
    let running = Arc::new(Mutex::new(Some(embedded)));
    let device = Box::new(Gateway { running: Arc::clone(&running) });
    let engine = Engine::new(clock, lanes, view, device, settings, Arc::clone(&process.interrupted))?;
    let mut rig = Rig::of(TrialRunner::Engine(Box::new(engine)));
    let switched = move |null| {
        switch.set_null(null);
        Ok(())
    };
    let mut null = NullPath::new(switched);
    null.to_tester = null_steers;
    null.received = Some(Box::new(received(&running)));
    rig.null = Some(null);
    // Every worker of the gateway has a ring from each of the tester's.
    rig.buffered = (depth * workers * testers) as u64;
    rig.facts.extend([
        ("queue".to_owned(), format!("{depth} frames a ring (in-process link)")),
        ("workers".to_owned(), workers.to_string()),
        ("tester workers".to_owned(), testers.to_string()),
        ("cores".to_owned(), cores.in_words()),
    ]);
    rig.doubts = wires.doubts().into_iter().chain(cores.doubt()).collect();
    rig.shares_core = cores.shared;
    rig.captures = wires.into_captures();
    let busy = Arc::clone(&running);
    let read = Box::new(move || busy.lock().expect("no panic while held").as_ref().and_then(|e| e.busy().ok()));
    rig.price = Some(Price { window: Nanos(0), read });
    rig.teardown = Some(Box::new(move || {
        let taken = running.lock().expect("no panic while held").take();
        taken.and_then(|e| e.stop().err()).map(|e| e.to_string()).into_iter().collect()
    }));
    Ok(rig)
}

/// Returns a NAT44 with one worker for the self-test, with a mapping for each connection.
pub(crate) fn plain_nat44(outer: &OuterRange, sessions: u64) -> Result<Nat44, RigError> {
    let side = |n: u8, address: Ipv4Addr| SideConfig { mac: mac(n, 1), next_hop: mac(n, 2), address, mtu: MTU };
    // Host .1 of the tester's network (RFC 2544, appendix C.2.2.1).
    let customer = side(1, Ipv4Addr::new(198, 18, 0, 1));
    let inside = AddrRange::one(Ipv4Addr::new(198, 18, 0, 2)).covering();
    let mut config = Config::new(customer, side(2, outer.addrs.first), vec![inside], vec![outer.addrs]);
    config.ports = outer.ports;
    config = config.per_connection();
    config.sessions = sessions;
    config.timeouts.udp = Duration::from_secs(10_000);
    Nat44::new(config, 0, 1, 1).map_err(|e| RigError::Gateway(e.to_string()))
}

type SharedGateway = Arc<Mutex<Option<EmbeddedGateway>>>;

fn received(running: &SharedGateway) -> impl Fn() -> Option<Vec<u64>> + use<> {
    let running = Arc::clone(running);
    move || {
        let running = running.lock().expect("no panic while held");
        let counters = running.as_ref()?.counters().ok()?;
        Some(counters.into_iter().map(|(worker, _)| worker.received).collect())
    }
}

/// The engine's handle of the running gateway.
struct Gateway {
    running: SharedGateway,
}

impl Gateway {
    fn with<T>(&self, f: impl FnOnce(&EmbeddedGateway) -> Result<T, gateway::EmbeddedError>) -> Result<T, TrialError> {
        let running = self.running.lock().expect("no panic while held");
        let gateway = running.as_ref().ok_or("the embedded gateway has been stopped".to_owned());
        gateway.and_then(|gateway| f(gateway).map_err(|e| e.to_string())).map_err(TrialError::Device)
    }
}

impl Device for Gateway {
    fn clear(&mut self) -> Result<(), TrialError> {
        self.with(EmbeddedGateway::clear)
    }
    fn entries(&mut self) -> Result<Option<u64>, TrialError> {
        self.with(|e| Ok(Some(e.entries()?.0)))
    }
    fn away(&mut self) -> Result<DeviceStalls, TrialError> {
        let away = self.with(EmbeddedGateway::away)?;
        Ok(DeviceStalls { stall: Nanos(away.stall), stalled: Nanos(away.stalled), run_delay: None })
    }
    fn clear_timed(&mut self) -> Result<Clearing, TrialError> {
        Err(TrialError::NotMeasurable(
            "the embedded gateway marks its whole table as empty in constant time, so it has no tear-down rate"
                .to_owned(),
        ))
    }
    fn cpu_times(&mut self, _of: u32) -> Result<Box<dyn CpuTimes>, TrialError> {
        if self.with(|e| Ok(e.is_polled()))? {
            return Err(TrialError::NotMeasurable(
                "tester and embedded gateway share the only core of this machine, whose idle time shows nothing"
                    .to_owned(),
            ));
        }
        let running = Arc::clone(&self.running);
        let busy = move || {
            let running = running.lock().expect("no panic while held");
            let each = running.as_ref().map_or(Ok(Vec::new()), EmbeddedGateway::busy_each)?;
            Ok(each.into_iter().map(|(nanos, _)| nanos).collect())
        };
        Ok(Box::new(OfWorkers::new(Box::new(busy))))
    }
    fn wake(&mut self, lasts: Nanos) {
        // The next request reports a stopped gateway.
        let _ = self.with(|e| {
            e.wake(lasts.into());
            Ok(())
        });
    }
    fn rest(&mut self) {
        let _ = self.with(|e| {
            e.rest();
            Ok(())
        });
    }
}
