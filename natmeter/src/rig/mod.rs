//! A rig joins device, links and engine for one point of the matrix. Each kind of device has one
//! module; all return the same type.

pub mod boxes;
mod cards;
pub(crate) mod ceiling;
pub(crate) mod checks;
mod commands;
pub mod configuration;
pub mod cores;
mod cpu;
pub(crate) mod dns;
pub mod embedded;
pub(crate) mod external;
pub mod files;
pub(crate) mod guest;
mod here;
pub(crate) mod known_truth;
pub(crate) mod loops;
pub(crate) mod machine;
pub(crate) mod management;
pub(crate) mod null;
pub(crate) mod place;
pub(crate) mod ports;
mod profile;
mod protocols;
pub(crate) mod silence;
pub(crate) mod simulated;
pub mod technology;
mod uncleared;
mod wires;

use cards::Cards;
pub use commands::Commands;
use null::NullPath;
use wires::Captures;

use dut::{DutError, Fact};
use engine::{Engine, Settings};
use method::simulated::SimulatedDut;
use method::{Loop, Nanos, TrialError, TrialOutcome, TrialSpec, Trials};
use plane::Hop;
use plane::view::{self, size};
use port::interface::wait_for_carrier;
use port::{Clock, Netns};
use record::folder::{FactTable, Figures};
use scenario::{Point, Scenario, Setup};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tech::{Flows, Plays, Ports, Setting};
use wire::{AddrRange, Background, FlowSpace, Foreground, Mac, OuterRange, PortRange, View};

#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A port, a pool or CPU pinning failed.
    #[error(transparent)]
    Port(#[from] port::PortError),
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    #[error(transparent)]
    Flow(#[from] wire::FlowError),
    #[error(
        "frames of {frame} octets with FCS need an MTU of {needed} on the {side} link, which has {mtu}: use smaller frames"
    )]
    Mtu {
        /// `left` or `right`.
        side: &'static str,
        /// Octets with FCS.
        frame: usize,
        needed: usize,
        mtu: usize,
    },
    #[error("the embedded gateway cannot be set up: {0}")]
    Gateway(String),
    #[error(transparent)]
    Neighbour(#[from] gateway::neighbour::NeighbourError),
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// A program that is the device ended by itself.
    #[error("the program that was started as the device {0}")]
    Ended(String),
    /// The test bed is unsuitable for test frames.
    #[error("{0}")]
    Bed(String),
    #[error(transparent)]
    Dut(#[from] dut::DutError),
}

/// The view with the scenario's settings of its traffic: Ethernet source addresses, frame sizes,
/// and native frames between these Ethernet addresses on the left and on the right. Fails if the
/// flows of the native frames are inconsistent.
pub(crate) fn with_traffic(view: View, hops: [Hop; 2], scenario: &Scenario) -> Result<View, RigError> {
    let traffic = &scenario.traffic;
    let sizes = traffic.frame_sizes.as_ref().map_or(&[][..], scenario::Imix::sizes);
    let with_sources = |view: View| view.from_source_macs(traffic.source_macs, traffic.seed).of_sizes(sizes);
    let background = match traffic.mixed_foreground().map(Foreground::of_ppm) {
        None => None,
        Some(foreground) => Some(Background { view: Box::new(with_sources(native(hops, scenario)?)), foreground }),
    };
    Ok(with_sources(view).beside(background))
}

/// One host on each side, and the ports of RFC 4814, section 4.5.
fn native(hops: [Hop; 2], scenario: &Scenario) -> Result<View, RigError> {
    let traffic = &scenario.traffic;
    let flows = Flows {
        inside: AddrRange { count: 1, ..traffic.flows.inside },
        networks: 1,
        subscribers: 1,
        source_ports: PortRange { first: 1024, last: 65_535 },
        remote: AddrRange { count: 1, ..traffic.flows.remote },
        destination_ports: PortRange { first: 1, last: 49_151 },
    };
    tech::ipv6_forwarding().view(Plays::Dual, &setting(scenario, hops, &flows, 0)).map_err(RigError::Gateway)
}

fn setting<'a>(scenario: &Scenario, [left, right]: [Hop; 2], flows: &'a Flows, connections: u64) -> Setting<'a> {
    let traffic = &scenario.traffic;
    let (frame_size, ttl, seed) = (traffic.frame_size, traffic.ttl, traffic.seed);
    Setting { flows, frame_size, ttl, connections, seed, left, right, open: &files::open }
}

/// MTU of links outside this process.
const MTU: usize = 1500;

/// Frames of both sides at a point. Fails if the flows are inconsistent, or the frames do not fit the links.
pub(crate) fn view_of(scenario: &Scenario, hops: [Hop; 2], point: &Point) -> Result<View, RigError> {
    let dut = &scenario.duts[point.dut];
    let ipv6 = dut.forwarded_ipv6();
    let technology = dut.technology().or(ipv6.as_deref().map(|ipv6| (Plays::Dual, ipv6)));
    let view = match (technology, dut.nat().map(|nat| (nat.outside.pool, nat.outside.ports))) {
        (Some((plays, technology)), _) => technology::view_between(hops, scenario, plays, technology, point)?,
        (None, Some((pool, Ports::Range(ports, _)))) if pool.len() == 1 => {
            let bed = cabled(scenario, hops, scenario.traffic.flows.space()?, point);
            view::nat44(&bed, OuterRange { addrs: pool[0].1, ports })
        }
        _ => view::forwarding(&cabled(scenario, hops, scenario.traffic.flows.space()?, point)),
    };
    let view = with_traffic(view, hops, scenario)?;
    check_frames_fit(&view, MTU)?;
    Ok(view)
}

/// IPv4 frames of these flows.
pub(crate) fn cabled(
    scenario: &Scenario,
    [left, right]: [Hop; 2],
    flows: FlowSpace,
    point: &Point,
) -> view::BedAddresses {
    view::BedAddresses {
        left,
        right,
        frame_size: scenario.traffic.frame_size,
        ttl: scenario.traffic.ttl,
        // A stateless test uses all flows.
        connections: if point.connections == 0 { flows.size() } else { point.connections },
        flows,
        seed: scenario.traffic.seed,
    }
}

/// Otherwise the device would fragment (METHODOLOGY.md, frames).
fn check_frames_fit(view: &View, mtu: usize) -> Result<(), RigError> {
    let sides = ["left", "right"].into_iter().zip(size::mtus(view)).zip(size::frame_sizes(view));
    let wide = sides.into_iter().find(|((_, needed), _)| *needed > mtu);
    wide.map_or(Ok(()), |((side, needed), frame)| Err(RigError::Mtu { side, frame, needed, mtu }))
}

#[derive(Clone)]
pub struct RunContext {
    pub clock: Clock,
    /// Set on Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// Commands of the devices, for the run folder.
    pub commands: Commands,
    /// Whether this is the check of a bed, whose frames may meet connections of an earlier one.
    pub is_check: bool,
    /// Whether the ports of an isolated bed were silent.
    pub silence_checked: Arc<AtomicBool>,
    /// Whether no loop was found in front of the box.
    pub loops_checked: Arc<AtomicBool>,
    /// What the ports of the user's cards need until the process ends.
    pub cards: Cards,
}

fn failed(error: &DutError) -> TrialError {
    let is_lost = error.is_lost_connection();
    let text = error.to_string();
    if is_lost { TrialError::Unreachable(text) } else { TrialError::Device(text) }
}

impl RunContext {
    /// A process with a calibrated clock, without signal handlers.
    pub fn new() -> RunContext {
        RunContext {
            clock: Clock::calibrated(),
            interrupted: Arc::default(),
            commands: Commands::default(),
            is_check: false,
            silence_checked: Arc::default(),
            loops_checked: Arc::default(),
            cards: Cards::default(),
        }
    }
}

impl Default for RunContext {
    fn default() -> RunContext {
        RunContext::new()
    }
}

/// Failures or doubts in words, which are known only at the end.
pub type Words = Box<dyn FnOnce() -> Vec<String>>;

/// Returns doubts about results from facts about a device.
fn doubts_of(facts: &[Fact]) -> Vec<String> {
    facts.iter().filter_map(|fact| fact.doubt.clone()).collect()
}

struct Price {
    /// Nanoseconds that the device spent on frames, and the number of frames, since the last call.
    read: Box<dyn Fn() -> Option<(u64, u64)>>,
    /// Shortest window that the device's clock resolves.
    window: Nanos,
}

impl Price {
    /// Nanoseconds for each frame since the last call; `None` without frames.
    fn of_a_frame(&self) -> Option<f64> {
        (self.read)().filter(|cost| cost.1 > 0).map(|(nanos, frames)| nanos as f64 / frames as f64)
    }
}

type ProgramEnd = Box<dyn FnMut() -> Option<String> + Send>;

/// Device, links and engine, ready for trials.
pub struct Rig {
    runner: TrialRunner,
    /// Null device on the path of the device.
    null: Option<NullPath>,
    /// Frames that the path can buffer; 0 if unknown.
    pub buffered: u64,
    pub facts: FactTable,
    /// Figures measured during set-up, by name with unit; they belong to this point, not to the device.
    pub figures: Figures,
    /// Doubts about results, one sentence each.
    pub doubts: Vec<String>,
    /// Tester and device share a core, or there are more threads than cores.
    pub shares_core: bool,
    /// Cost of a frame; `None` for devices that do not report it.
    price: Option<Price>,
    /// Doubts that are known only after the trials, one sentence each.
    pub afterwards: Option<Words>,
    pub captures: Captures,
    /// The user's interfaces, if they are the tester's ports.
    interfaces: Vec<String>,
    /// Whether one of them was without a link in the last trial.
    link_lost: bool,
    /// How the program that natmeter started as the device has ended, with its last lines; none while it runs.
    program_end: Option<ProgramEnd>,
    /// Restores everything that was set up; returns errors in words.
    teardown: Option<Words>,
}

impl Rig {
    /// Builds the rig for `point` of the scenario. If any part of it is not available, it restores everything set up
    /// until then.
    pub fn build(scenario: &Scenario, point: &Point, process: &RunContext) -> Result<Rig, RigError> {
        if let Some(between) = dns::between(scenario, point) {
            return dns::build(scenario, between, point, process);
        }
        match scenario.duts[point.dut].setup() {
            Setup::Gateway { plays, technology } => technology::build(scenario, plays, technology, point, process),
            Setup::Simulated(device) => {
                let device = simulated::device(device, scenario.widest_frame());
                Ok(Rig::of(TrialRunner::Simulation(Box::new(device))))
            }
            Setup::Boxes => {
                let bed = scenario.bed_with(&scenario.duts[point.dut]).expect("such a device has a bed");
                if scenario.sends_queries() {
                    return dns::build_over(scenario, &bed, point, process);
                }
                external::build(scenario, &bed, point, process)
            }
            Setup::Dns64 => unreachable!("it answers queries only"),
        }
    }

    /// Waits until the links are up again, else the next trial would be invalid, too.
    fn wait_for_links(&self) -> Result<(), TrialError> {
        let here = Netns::current().map_err(|error| TrialError::Tester(error.to_string()))?;
        let wait = |name: &String| wait_for_carrier(&here, name, ports::CARRIER);
        self.interfaces.iter().try_for_each(wait).map_err(|error| TrialError::Tester(error.to_string()))
    }

    /// Returns a rig with a runner of trials only: without facts, and with nothing to restore.
    fn of(runner: TrialRunner) -> Rig {
        Rig {
            runner,
            null: None,
            buffered: 0,
            facts: FactTable::new(),
            figures: Figures::new(),
            doubts: Vec::new(),
            shares_core: false,
            price: None,
            afterwards: None,
            program_end: None,
            captures: Captures::default(),
            interfaces: Vec::new(),
            link_lost: false,
            teardown: None,
        }
    }

    /// Nanoseconds that the device spent on frames, and the number of frames, since the last call:
    /// the embedded gateway's workers (link, plane, link), or the cores of a kernel device. `None`
    /// for devices that do not report it.
    pub fn price(&self) -> Option<(u64, u64)> {
        self.price.as_ref().and_then(|price| (price.read)())
    }

    /// How the program that natmeter started as the device has ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<String> {
        self.program_end.as_mut().and_then(|end| end())
    }

    /// Returns the settings that could not be restored, in words.
    pub fn teardown(mut self) -> Vec<String> {
        self.restore()
    }

    fn restore(&mut self) -> Vec<String> {
        // The settings around engine and ports can be restored only without them.
        self.runner = TrialRunner::Gone;
        self.teardown.take().map(|restore| restore()).unwrap_or_default()
    }

    /// The doubt about a device that this point's test frames cannot find to copy checksums.
    pub fn doubt_of_addresses(&self) -> Option<String> {
        let TrialRunner::Engine(engine) = &self.runner else { return None };
        let hides = engine.view().hides_copied_checksums();
        hides.then(|| {
            "A device that copies the UDP checksum unchanged is not found: the addresses of test frames have the same checksum on both \
             sides of it; change `inside` of [traffic], or the pool."
                .to_owned()
        })
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.restore();
    }
}

impl Trials for Rig {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        if std::mem::take(&mut self.link_lost) {
            self.wait_for_links()?;
        }
        let result = self.runner.run(spec);
        self.link_lost = result.as_ref().is_ok_and(|outcome| outcome.host.link_lost) && spec.options.action.is_none();
        self.captures.write().map_err(TrialError::Store)?;
        let has_loss =
            |outcome: &TrialOutcome| method::witness::legs(outcome).any(|(_, leg)| leg.received < leg.planned);
        if result.as_ref().map_or(true, has_loss)
            && let Some(ended) = self.ended()
        {
            return Err(TrialError::Device(ended));
        }
        result
    }

    fn begin(&mut self, series: &str, before: u64) {
        self.runner.begin(series, before);
    }
}

enum TrialRunner {
    Engine(Box<Engine>),
    /// A client of DNS queries.
    Client(Box<::dns::Tester<dns::BedDevice>>),
    /// A simulation, without frames.
    Simulation(Box<SimulatedDut>),
    /// Nothing: the rig has been torn down.
    Gone,
}

impl Trials for TrialRunner {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        match self {
            TrialRunner::Engine(engine) => engine.run(spec),
            TrialRunner::Client(tester) => tester.run(spec),
            TrialRunner::Simulation(device) => device.run(spec),
            TrialRunner::Gone => Err(TrialError::Tester("the rig has been torn down".into())),
        }
    }

    fn begin(&mut self, series: &str, before: u64) {
        match self {
            TrialRunner::Engine(engine) => engine.begin(series, before),
            TrialRunner::Simulation(device) => device.begin(series, before),
            TrialRunner::Client(_) | TrialRunner::Gone => {}
        }
    }
}

pub fn settings(scenario: &Scenario, dut_loop: Loop) -> Settings {
    let m = &scenario.measure;
    Settings {
        start_delay: m.start_delay,
        drain: m.drain,
        settle: m.settle,
        phase1_drain: m.phase1_drain,
        seed: scenario.traffic.seed,
        dut_loop,
    }
}

/// Locally administered: side 1 is Left, 2 is Right; host 1 is the DUT, 2 the tester.
pub fn mac(side: u8, host: u8) -> Mac {
    Mac([0x02, 0, 0, 0, side, host])
}
