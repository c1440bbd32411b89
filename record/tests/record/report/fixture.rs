//! Deterministic records of runs, built by code for the report tests. Searches are plain bisections on a device that loses frames
//! above its capacity, so that traces and loss curves look real.

use method::trial::{Fault, FaultCounts, Leg, Load, PhaseKind, TrialOutcome, TrialSpec};
use method::validity::{FailReason, Failure, Stream};
use method::{
    Direction, Invalid, Nanos, Rate, ResultKind, SearchResult, SearchStep, StepVerdict, TrialRecord, Verdict,
};
use record::folder::{
    Calibration, Ceiling, CommandLine, Facts, Header, NullDevice, Outcome, Over, SelfTest, SelfTestCheck,
};
use record::plan::{Measurement, Plan};
use record::read::Record;
use scenario::{Options, Scenario, Sweep, parse};
use std::collections::BTreeMap;

/// A run under construction.
#[derive(Clone)]
pub(super) struct Run {
    pub header: Header,
    pub facts: Facts,
    pub calibration: Calibration,
    pub self_test: SelfTest,
    pub outcomes: Vec<Outcome>,
    pub trials: Vec<TrialRecord>,
    pub nulls: Vec<NullDevice>,
    pub commands: Vec<CommandLine>,
    state: u64,
}

/// Behaviour of a device at a point.
pub(super) struct Truth {
    pub capacity: u64,
    /// Highest rate that can be tried; reaching it is a tester limit.
    pub tester: u64,
    /// Repetitions differ by up to this many parts in a thousand.
    pub noise: u64,
}

impl Truth {
    /// A device of this capacity, whose repetitions are alike, and a tester that is faster.
    pub(super) fn steady(capacity: u64) -> Truth {
        Truth { capacity, tester: 40_000_000, noise: 0 }
    }
}

impl Run {
    pub(super) fn new(scenario: Scenario) -> Run {
        let plan = Plan::new(&scenario);
        let header = Header::new("2026-01-12T10:15:30Z".into(), scenario, Options::default(), plan);
        // A release changes no snapshot.
        let header = Header { version: "0.1.0".to_owned(), ..header };
        Run {
            facts: facts(),
            calibration: calibration(&header),
            nulls: nulls(&header),
            header,
            self_test: self_test(),
            outcomes: vec![],
            trials: vec![],
            commands: vec![],
            state: 42,
        }
    }

    /// Draws the differences between repetitions from another seed.
    pub(super) fn seeded(mut self, seed: u64) -> Run {
        self.state = seed;
        self
    }

    /// Runs all planned measurements.
    pub(super) fn measure(mut self, truth: impl Fn(&Measurement) -> Truth) -> Run {
        for m in self.header.plan.measurements.clone() {
            self.search(&m, &truth(&m));
        }
        self
    }

    pub(super) fn search(&mut self, m: &Measurement, truth: &Truth) {
        let spread = truth.capacity * truth.noise / 1_000;
        let capacity = truth.capacity - spread / 2 + self.random() % (spread + 1);
        let (mut low, mut high, mut kind) = (0, 20_000_000.min(truth.capacity * 5), ResultKind::AtUpperLimit);
        let (mut trace, mut invalid) = (vec![], 0);
        while high - low > (low / 100).max(truth.capacity / 200).max(1) {
            let rate = low.midpoint(high);
            let step = if rate > truth.tester {
                invalid += 3;
                StepVerdict::TesterBound
            } else if rate > capacity {
                StepVerdict::Fail
            } else {
                StepVerdict::Pass
            };
            match step {
                StepVerdict::Pass => low = rate,
                StepVerdict::Fail => (high, kind) = (rate, ResultKind::Exact),
                StepVerdict::TesterBound => (high, kind) = (rate, ResultKind::TesterLimit),
                StepVerdict::HostBound => (high, kind) = (rate, ResultKind::HostLimit),
            }
            trace.push(step_of(rate, step));
            self.trial(m, rate, capacity, step);
        }
        let direction = if m.metric == "max_conn_est_rate" { Direction::Forward } else { Direction::Both };
        let result = SearchResult {
            rate: Rate(low),
            kind: if low == 0 { ResultKind::NothingPassed } else { kind },
            error: Rate(high - low),
            trials: trace.len() as u64 + invalid,
            invalid_repeats: invalid,
            phase1_rate: (direction == Direction::Both).then_some(Rate(2_345_678)),
            trace,
            ..SearchResult::empty()
        };
        let after_s = Some(12.5 + 2.0 * self.outcomes.len() as f64);
        self.outcomes.push(Outcome { after_s, ..Outcome::new(m.clone(), direction, result) });
    }

    fn trial(&mut self, m: &Measurement, rate: u64, capacity: u64, step: StepVerdict) {
        let duration = self.header.scenario.measure.duration;
        let frames = Rate(rate).frames_in(duration);
        let lost = if rate > capacity { frames * (rate - capacity) / rate } else { 0 };
        let leg = Leg { planned: frames, sent: frames, received: frames - lost, send_time: duration, ..Leg::default() };
        let establish = m.metric == "max_conn_est_rate";
        let verdict = match step {
            StepVerdict::Pass => Verdict::Pass,
            StepVerdict::Fail => fail(frames, frames - lost),
            StepVerdict::HostBound => {
                Verdict::Invalid(Invalid::HostStall { of_dut: true, stall: Nanos(4_000_000), queue_lasts: None })
            }
            StepVerdict::TesterBound => Verdict::Invalid(Invalid::SenderLate {
                stream: Stream::Forward,
                late: Nanos(400_000),
                limit: Nanos(100_000),
            }),
        };
        self.trials.push(TrialRecord {
            seq: self.trials.len() as u64,
            measurement: m.key(),
            spec: TrialSpec {
                kind: if establish { PhaseKind::Establish } else { PhaseKind::Established },
                direction: if establish { Direction::Forward } else { Direction::Both },
                connections: m.point.connections,
                ..TrialSpec::stateless(Rate(rate), Load::For(duration))
            },
            outcome: TrialOutcome {
                reverse: if establish { Leg::default() } else { leg.clone() },
                forward: leg,
                ..TrialOutcome::default()
            },
            verdict,
        });
    }

    /// A small random generator with a fixed seed, so that repetitions differ deterministically.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.state >> 33
    }

    /// Sets the tester ceiling for every number of connections.
    pub(super) fn ceiling(&mut self, rate: Rate) {
        for c in &mut self.calibration.ceilings {
            (c.frames, c.set_up) = (rate, c.set_up.map(|_| rate));
        }
    }

    /// Multiplies the rates of the null device after the trials.
    pub(super) fn null_after(&mut self, factor: f64) {
        for null in self.nulls.iter_mut().filter(|null| !null.before) {
            let scaled = |rate: Rate| Rate((rate.0 as f64 * factor) as u64);
            (null.frames, null.set_up) = (scaled(null.frames), null.set_up.map(scaled));
        }
    }

    /// Ends each search of these measurements in this way.
    pub(super) fn end(&mut self, which: impl Fn(&Measurement) -> bool, kind: ResultKind, rate: u64, error: u64) {
        for outcome in self.outcomes.iter_mut().filter(|outcome| which(&outcome.measurement)) {
            let result = &mut outcome.result;
            (result.kind, result.rate, result.error) = (kind, Rate(rate), Rate(error));
        }
    }

    /// Adds frames with this fault to the first trial.
    pub(super) fn inject(&mut self, fault: Fault, frames: u64) {
        let mut faults = FaultCounts::default();
        (0..frames).for_each(|_| faults.add(fault));
        self.trials[0].outcome.reverse.faults.merge(&faults);
    }

    /// Returns the record that its folder would hold.
    pub(super) fn record(&self) -> Record {
        let run = self.clone();
        Record {
            scenario_text: format!("name = \"{}\"\n", run.header.scenario.name),
            header: run.header,
            facts: run.facts,
            calibration: Some(run.calibration),
            self_test: Some(run.self_test),
            outcomes: run.outcomes,
            trials: run.trials,
            nulls: run.nulls,
            commands: run.commands,
            torn: Vec::new(),
            missing: Vec::new(),
        }
    }
}

/// The verdict on a trial that received these frames of the forward stream.
pub(super) fn fail(sent: u64, received: u64) -> Verdict {
    let reason = FailReason::Loss { stream: Stream::Forward, sent, received, needed: sent };
    Verdict::Fail(Failure { reason, closed_loop: false })
}

/// A step of a search that was decided by one trial.
pub(super) fn step_of(rate: u64, verdict: StepVerdict) -> SearchStep {
    SearchStep { rate: Rate(rate), verdict, trials: 1, ..SearchStep::default() }
}

/// Embedded gateway, three connection counts, two metrics, three repetitions.
pub(super) fn quickstart() -> Run {
    Run::new(quickstart_scenario()).measure(|m| {
        let capacity = match (m.metric.as_str(), m.point.connections) {
            ("max_conn_est_rate", 100_000) => 3_900_000,
            ("max_conn_est_rate", 1_000_000) => 3_400_000,
            ("max_conn_est_rate", _) => 2_900_000,
            (_, 100_000) => 7_600_000,
            (_, 1_000_000) => 5_500_000,
            _ => 4_600_000,
        };
        Truth { capacity, tester: 14_000_000, noise: 30 }
    })
}

/// This kernel: forwarding and three NAT44, one core shared with the tester.
pub(super) fn kernel() -> Run {
    let mut run = Run::new(scenario(&format!("{KERNEL}{MEASURED}"), &[])).measure(|m| {
        let capacity = match (m.point.dut, m.metric.as_str()) {
            (0, _) => 640_000,
            (1, "throughput") => 297_000,
            (2, "throughput") => 305_000,
            (3, "throughput") => 281_000,
            (1, _) => 204_000,
            (2, _) => 209_000,
            _ => 194_000,
        };
        Truth { capacity, tester: 3_000_000, noise: 60 }
    });
    run.outcomes.iter_mut().for_each(|o| o.shares_core = true);
    run.ceiling(Rate(2_400_000));
    run.commands = commands();
    let forwarding = BTreeMap::from([("kernel".into(), "6.12.0".into()), ("queues".into(), "1".into())]);
    run.facts.duts = BTreeMap::from([("linux-forwarding".into(), forwarding)]);
    run
}

/// The gateway at one connection count and one to four cores.
pub(super) fn cores() -> Run {
    let mut scenario = quickstart_scenario();
    scenario.name = "cores".into();
    scenario.sweep = Sweep { connections: vec![1_000_000], cores: vec![1, 2, 4].into(), exclude: Vec::new() };
    Run::new(scenario).measure(|m| {
        let one = if m.metric == "throughput" { 3_100_000 } else { 1_900_000 };
        let cores = u64::from(m.point.cores);
        Truth { capacity: one * cores * (100 - 4 * (cores - 1)) / 100, tester: 14_000_000, noise: 20 }
    })
}

/// The traffic and the searches of all these runs.
const MEASURED: &str = r#"
[traffic]
source-ports = "1024-41023"
destination-ports = "1-100"
seed = 42
[measure]
metrics = ["max_conn_est_rate", "throughput"]
repetitions = 5
duration = "250 ms"
start-delay = "20 ms"
drain = "50 ms"
settle = "10 ms"
phase1-drain = "50 ms"
error = "1 %"
"#;

const QUICKSTART: &str = r#"
name = "quickstart"
about = "The embedded gateway as stateful NAT44 over an in-process link: no root, no NIC, two minutes."
[dut.embedded]
mapping = "address-and-port-dependent"
table = 8388608
[link.in-process]
depth = 512
[sweep]
connections = ["100k", "1M", "4M"]
"#;

const KERNEL: &str = r#"
name = "kernel-nat44"
about = "This kernel in a namespace: plain forwarding, then NAT44 by nftables and by iptables."
[dut.linux-forwarding]
[dut.nftables]
[dut.iptables-legacy]
[dut.iptables-nft]
[link.veth]
io = "af-packet"
[sweep]
connections = "1M"
"#;

const SIMULATED: &str = r#"
name = "quickstart"
about = "A device of known truth."
[dut.simulated]
[sweep]
connections = ["100k", "1M", "4M"]
"#;

pub(super) fn scenario(text: &str, set: &[&str]) -> Scenario {
    let options = Options { set: set.iter().map(|&set| set.to_owned()).collect(), ..Options::default() };
    let loaded = parse("fixture.toml", text, &options, tech::ALL);
    loaded.unwrap_or_else(|complaints| panic!("{}", complaints.render(false))).scenario
}

pub(super) fn quickstart_scenario() -> Scenario {
    scenario(&format!("{QUICKSTART}{MEASURED}"), &[])
}

pub(super) fn simulated_scenario() -> Scenario {
    scenario(&format!("{SIMULATED}{MEASURED}"), &[])
}

fn facts() -> Facts {
    let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Facts {
        tester: BTreeMap::from([
            fact("kernel", "6.12.0"),
            fact("cpu", "Example CPU, 2 cores"),
            fact("governor", "unknown"),
            fact("memory", "24 GiB"),
        ]),
        natmeter: None,
        duts: BTreeMap::new(),
        doubts: vec!["No huge pages are reserved: large tables are slower (`vm.nr_hugepages`).".to_owned().into()],
    }
}

/// The tester of these runs slows down with its state table.
fn calibration(header: &Header) -> Calibration {
    let mut ceilings: Vec<Ceiling> = Vec::new();
    for point in header.plan.measurements.iter().map(|m| &m.point) {
        let n = point.connections;
        if ceilings.iter().all(|c| c.connections != n || c.axes != point.axes) {
            ceilings.push(Ceiling {
                over: Over::of(&header.scenario.link),
                workers: header.scenario.tester.workers,
                direction_ratio: header.scenario.traffic.direction.ratio(),
                connections: n,
                axes: point.axes.clone(),
                frames: Rate(15_600_000 - n.min(4_000_000)),
                set_up: (n > 0).then_some(Rate(21_000_000 - n.min(4_000_000))),
                send_ps: 14_200 + n / 1_000,
                receive_ps: 18_900 + n / 1_000,
                ..Ceiling::default()
            });
        }
    }
    Calibration {
        clock: "TSC, 2.6 GHz".into(),
        clock_read_ps: 9_300,
        departure_p50_ns: 40,
        departure_p99_ns: 310,
        latency_floor_ns: 850,
        ceilings,
        nulls: Vec::new(),
    }
}

/// The null device of these runs reaches 95 % of the tester ceiling before the trials of a point, and 93 % after them. A
/// simulated device has none.
fn nulls(header: &Header) -> Vec<NullDevice> {
    let ceilings = calibration(header).ceilings;
    let mut nulls: Vec<NullDevice> = Vec::new();
    for point in header.plan.measurements.iter().map(|m| &m.point) {
        let simulated = header.scenario.is_simulated(point.dut);
        if simulated || nulls.iter().any(|null| null.point == *point) {
            continue;
        }
        let ceiling = ceilings.iter().find(|c| c.connections == point.connections && c.axes == point.axes).unwrap();
        nulls.extend([(true, 95), (false, 93)].map(|(before, percent)| NullDevice {
            point: point.clone(),
            visit: None,
            before,
            after_s: nulls.len() as f64,
            frames: ceiling.frames.scaled(percent, 100),
            set_up: ceiling.set_up.map(|rate| rate.scaled(percent, 100)),
        }));
    }
    nulls
}

fn self_test() -> SelfTest {
    let check = |name: &str, truth: &str, measured: &str| SelfTestCheck {
        name: name.into(),
        truth: truth.into(),
        measured: measured.into(),
        passed: true,
        ..SelfTestCheck::default()
    };
    SelfTest {
        passed: true,
        checks: vec![
            check("forwarding capacity", "1,000,000 frames/s", "998,046 frames/s"),
            check("wrong port, one in a million", "2 frames", "2 frames"),
        ],
    }
}

fn commands() -> Vec<CommandLine> {
    let run = |at: &str, why: &str, command: &str, output: &str| CommandLine {
        at: at.into(),
        dut: "nftables".into(),
        why: why.into(),
        command: command.into(),
        status: Some(0),
        output: output.into(),
    };
    let rule = "nft add rule ip nat post oifname right masquerade";
    let rules = "table ip nat {\n\tchain post {\n\t\toifname \"right\" masquerade # <handle 2> & more\n\t}\n}\n";
    vec![
        run("2026-01-12T10:15:31Z", "to translate what leaves on the outside", rule, ""),
        run("2026-01-12T10:15:32Z", "to see the rules", "nft list ruleset", rules),
    ]
}
