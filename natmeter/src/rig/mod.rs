//! A rig: device, links and engine joined for one point of the matrix. One file a kind of device; each
//! gives back the same thing, so that a run does not care.

mod commands;
pub mod embedded;
pub mod files;
pub mod kernel;
pub mod technology;
pub mod wires;

pub use commands::Commands;
use wires::Captures;

use engine::Settings;
use method::simulated::{SimulatedDut, Truth};
use method::{Loop, Rate, Ratio, TrialError, TrialOutcome, TrialSpec, Trials};
use plane::view::size;
use port::Clock;
use record::folder::{FactTable, Figures};
use scenario::{Dut, Point, Scenario, Simulated};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::{FlowSpace, Mac, View};

/// Why a rig cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A port, pool or pin.
    #[error(transparent)]
    Port(#[from] port::PortError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// Flow ranges.
    #[error(transparent)]
    Flow(#[from] wire::FlowError),
    /// A link that is too narrow.
    #[error(
        "frames of {frame} octets with FCS need an MTU of {needed} on the {side} link, which has {mtu}: use smaller frames"
    )]
    Mtu {
        /// left or right.
        side: &'static str,
        /// Octets with FCS on that link.
        frame: usize,
        /// The MTU that they need.
        needed: usize,
        /// The MTU of the link.
        mtu: usize,
    },
    /// The embedded gateway.
    #[error("the embedded gateway cannot be set up: {0}")]
    Gateway(String),
    /// A device under test of another kind.
    #[error(transparent)]
    Dut(#[from] dut::DutError),
}

/// See that the frames of both sides fit links of this MTU: or the device would fragment, and something else be measured
/// (METHODOLOGY.md, frames).
///
/// # Errors
/// [`RigError::Mtu`].
fn see_that_frames_fit(view: &View, mtu: usize) -> Result<(), RigError> {
    let sides = ["left", "right"].into_iter().zip(size::mtus(view)).zip(size::frame_sizes(view));
    let wide = sides.into_iter().find(|((_, needed), _)| *needed > mtu);
    wide.map_or(Ok(()), |((side, needed), frame)| Err(RigError::Mtu { side, frame, needed, mtu }))
}

/// What is needed of the process to build a rig.
#[derive(Clone)]
pub struct Process {
    /// The clock.
    pub clock: Clock,
    /// Set on Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// What devices were told to do, for the run folder.
    pub commands: Commands,
}

impl Process {
    /// A process with a calibrated clock that nothing interrupts yet.
    pub fn new() -> Process {
        Process { clock: Clock::calibrated(), interrupted: Arc::default(), commands: Commands::default() }
    }
}

impl Default for Process {
    fn default() -> Process {
        Process::new()
    }
}

/// A simulated device varies by at most so much from trial to trial, and its host spoils so many trials: enough that a
/// resumed run which is not the run that was begun shows.
const SIMULATED_JITTER_PPM: u64 = 5_000;
const SIMULATED_STALLS_PPM: u64 = 50_000;

/// Nanoseconds that a device spent on frames, and frames, since the last call.
type Price = Box<dyn Fn() -> Option<(u64, u64)>>;

/// Device, links and engine, ready for trials.
pub struct Rig {
    trials: Box<dyn Trials>,
    /// Frames that the path can buffer; 0 if unknown.
    pub buffered: u64,
    /// What is known about device and ports.
    pub facts: FactTable,
    /// What was measured when it was set up, by name with unit: of this point, and not of the device.
    pub figures: Figures,
    /// What may spoil results on this device: one sentence each.
    pub doubts: Vec<String>,
    /// Tester and device share a core, or there are more threads than cores.
    pub shares_core: bool,
    /// Nanoseconds that embedded workers spent on frames, and frames, since the last time; `None` for other devices.
    price: Option<Price>,
    /// Captures of its ports.
    pub captures: Captures,
    /// Undoes everything that was set up; errors in words.
    teardown: Option<Box<dyn FnOnce() -> Vec<String>>>,
}

impl Rig {
    /// Put together what `point` of the scenario needs.
    ///
    /// # Errors
    /// When anything of it cannot be had; what was set up until then is undone.
    pub fn build(scenario: &Scenario, point: &Point, process: &Process) -> Result<Rig, RigError> {
        match &scenario.duts[point.dut] {
            Dut::Gateway { plays, technology, .. } => {
                technology::build(scenario, *plays, technology.as_ref(), point, process)
            }
            Dut::Simulated(Simulated { capacity, set_up_rate, seed }) => {
                let [capacity, set_up_rate] =
                    [capacity, set_up_rate].map(|rate| Rate(rate.frames_per_second(scenario.widest_frame())));
                let truth = Truth {
                    jitter: Ratio::from_ppm(SIMULATED_JITTER_PPM),
                    host_stalls: Ratio::from_ppm(SIMULATED_STALLS_PPM),
                    ..Truth::new(capacity, set_up_rate)
                };
                Ok(Rig::of(SimulatedDut::new(truth, *seed)))
            }
            Dut::Kernel { software, nat44 } => kernel::build(scenario, software, nat44.as_ref(), point, process),
        }
    }

    fn of(trials: impl Trials + 'static) -> Rig {
        Rig {
            trials: Box::new(trials),
            buffered: 0,
            facts: FactTable::new(),
            figures: Figures::new(),
            doubts: Vec::new(),
            shares_core: false,
            price: None,
            captures: Captures::default(),
            teardown: None,
        }
    }

    /// Nanoseconds that the embedded gateway's workers spent on frames (link, plane, link), and how many frames, since
    /// the last call; `None` for devices whose time is not ours to look at.
    pub fn price(&self) -> Option<(u64, u64)> {
        self.price.as_ref().and_then(|f| f())
    }

    /// Undo everything; what could not be undone, in words.
    pub fn teardown(mut self) -> Vec<String> {
        // Engine and ports first: what is set up around them can only go when they are gone.
        self.trials = Box::new(Gone);
        self.teardown.take().map(|f| f()).unwrap_or_default()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.trials = Box::new(Gone);
        if let Some(teardown) = self.teardown.take() {
            teardown();
        }
    }
}

impl Trials for Rig {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let result = self.trials.run(spec);
        self.captures.write().map_err(TrialError::Store)?;
        result
    }

    fn begin(&mut self, series: &str, before: u64) {
        self.trials.begin(series, before);
    }
}

/// In place of an engine that has been taken apart.
struct Gone;

impl Trials for Gone {
    fn run(&mut self, _spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        Err(TrialError::Tester("the rig has been torn down".into()))
    }
}

/// The flows of a scenario.
///
/// # Errors
/// When the ranges do not fit; scenarios are checked when they are read, so only for hand-made ones.
pub fn flow_space(scenario: &Scenario) -> Result<FlowSpace, wire::FlowError> {
    let t = &scenario.traffic;
    FlowSpace::new(t.flows.inside, t.flows.source_ports, t.flows.remote, t.flows.destination_ports)
}

/// Connections of the view at a point: all flows when the test is stateless.
pub fn connections(flows: &FlowSpace, point: &Point) -> u64 {
    if point.connections == 0 { flows.size() } else { point.connections }
}

/// The engine's settings.
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

/// Locally administered addresses of the test bed: side 1 is Left, 2 is Right; host 1 is the DUT, 2 the tester.
pub fn mac(side: u8, host: u8) -> Mac {
    Mac([0x02, 0, 0, 0, side, host])
}
