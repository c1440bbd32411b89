//! The content of a run folder's files, from which alone a report derives. [`crate::store`] has their names.

use crate::doubt::Doubt;
use crate::plan::{Measurement, Plan};
use method::{Count, Direction, DirectionRatio, Rate, SearchResult, TrialRecord};
use procedure::Sends;
use procedure::metric::{Gives, gives};
use scenario::axis::AxisValues;
use scenario::{Link, Options, Point, RecordedDefaults, Scenario, Sequence, VethIo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the run folder that this natmeter writes.
pub const RECORD: u32 = 3;
/// The last version whose runs have fixed port ranges.
const WITH_FIXED_RANGES: u32 = 2;
/// Version of a run folder that does not name its version.
pub const RECORD_WITHOUT_VERSION: u32 = 1;

/// The last version of the rules whose runs had the address of the tester's left port as `inside`.
const WITH_INSIDE_OF_PORT: u32 = 4;

/// The defaults of a run, by the versions of its folder and of its rules.
pub fn recorded_defaults(record: u32, rules: Option<u32>) -> RecordedDefaults {
    RecordedDefaults {
        has_fixed_ranges: record <= WITH_FIXED_RANGES,
        inside_is_port: rules.is_none_or(|rules| rules <= WITH_INSIDE_OF_PORT),
    }
}

/// The first document of a run folder. [`crate::read::header`] reads it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Header {
    /// Version of the run folder.
    pub record: u32,
    /// Version of natmeter.
    pub version: String,
    /// Commit of natmeter; `None`: not recorded, or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Version of the rules ([`method::RULES`]) by which trials were judged and results found; `None`: not recorded.
    pub rules: Option<u32>,
    /// Order of the trials: the name of a [`scenario::Sequence`] of measurements, each search without interruption by others.
    pub order: String,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// Options of the command line that change the scenario.
    pub options: Options,
    /// The scenario in words. A reader parses the scenario's text instead.
    pub scenario: Scenario,
    /// The plan.
    pub plan: Plan,
}

impl Header {
    /// The header of a run that this natmeter starts, without its commit, which only the program knows.
    pub fn new(started: String, scenario: Scenario, options: Options, plan: Plan) -> Header {
        Header {
            record: RECORD,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: None,
            rules: Some(method::RULES),
            order: plan.order.name().to_owned(),
            started,
            options,
            scenario,
            plan,
        }
    }

    /// The order of the measurements, if this natmeter knows it.
    pub fn sequence(&self) -> Option<Sequence> {
        [Sequence::PointByPoint, Sequence::Interleaved].into_iter().find(|known| known.name() == self.order)
    }

    /// Whether this natmeter judges by the rules of the run, so that verdicts and results can be derived again.
    pub fn has_known_rules(&self) -> bool {
        self.rules == Some(method::RULES)
    }
}

pub type FactTable = BTreeMap<String, String>;

/// Name with unit → number, of one point of the matrix.
pub type Figures = BTreeMap<String, f64>;

/// Figures of a table that a device loads before it is measured: softwires, or mapping rules.
pub const TABLE_ENTRIES: &str = "table entries";
/// Time from parameters, or file, to a usable table.
pub const TABLE_LOAD_TIME: &str = "table load time, ms";
pub const TABLE_MEMORY: &str = "table memory, KiB";

/// Name of the fact that [`Facts::build`] returns.
pub const BUILD: &str = "build";

/// Name of the fact of a device that works on cores of the tester: these cores.
pub const SHARED_CORES: &str = "cores shared with the tester";
pub const HASH_TABLE_SIZE: &str = "hash table size";
pub const CONNTRACK_TABLE_SIZE: &str = "conntrack table size";

/// Facts of the machine and the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// Kernel, CPU, governor, mitigations, memory, clock, …
    pub tester: FactTable,
    /// Build of natmeter; absent in folders of earlier versions, which record it as one line in `tester`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natmeter: Option<Build>,
    /// The same for each DUT, by name.
    pub duts: BTreeMap<String, FactTable>,
    /// Doubts about the results, one sentence each.
    #[schemars(with = "Vec<String>")]
    pub doubts: Vec<Doubt>,
}

/// The tester's own limits for this scenario's frames and flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The clock in words.
    pub clock: String,
    /// One reading of the clock, picoseconds.
    pub clock_read_ps: u64,
    /// Departure error of a paced sender: median, nanoseconds.
    pub departure_p50_ns: u64,
    /// Departure error: 99th percentile, nanoseconds.
    pub departure_p99_ns: u64,
    /// Median time of single frames from hand-over to receipt, nanoseconds.
    pub latency_floor_ns: u64,
    /// The tester ceiling at each number of connections measured so far.
    pub ceilings: Vec<Ceiling>,
    /// The null device of each point that has one, before the first search there, which tries no higher rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nulls: Vec<NullDevice>,
}

impl Facts {
    /// Returns the build of natmeter in one line; `None` in folders of versions before 0.2.
    pub fn build(&self) -> Option<&str> {
        self.tester.get(BUILD).map(String::as_str)
    }

    /// Returns the build of natmeter, as far as it is recorded.
    pub(crate) fn natmeter(&self) -> Build {
        self.natmeter.clone().or_else(|| self.build().map(Build::of_line)).unwrap_or_default()
    }

    pub fn without_result(&self) -> usize {
        self.doubts.iter().filter(|doubt| matches!(doubt, Doubt::NoResult(..))).count()
    }
}

/// Build of natmeter: the facts that decide its speed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// Commit; absent if built outside a repository, or not recorded.
    pub commit: Option<String>,
    /// Target CPU of the build.
    pub target_cpu: Option<String>,
    /// Compiler flags.
    pub flags: Option<String>,
}

impl Build {
    /// Parses the build from the line that earlier versions recorded.
    fn of_line(line: &str) -> Build {
        let part = |name: &str| line.split(", ").find_map(|part| part.strip_prefix(name)).map(str::to_owned);
        let commit = part("commit ").filter(|commit| commit != "unknown");
        Build { commit, target_cpu: part("target CPU "), flags: part("flags ") }
    }

    /// Returns version, commit, target CPU and flags in one line.
    pub(crate) fn in_words(&self, version: &str) -> String {
        let parts = [("commit", &self.commit), ("target CPU", &self.target_cpu), ("flags", &self.flags)];
        let parts = parts.into_iter().filter_map(|(name, part)| Some(format!(", {name} {}", part.as_ref()?)));
        format!("natmeter {version}{}", parts.collect::<String>())
    }
}

/// Version and commit of a natmeter, where builds of one version must be told apart.
pub(crate) fn version_in_words(version: &str, commit: Option<&str>) -> String {
    commit.map_or_else(|| version.to_owned(), |commit| format!("{version} (commit {commit})"))
}

/// The natmeter that wrote a folder which this one does not know. Builds of one version may write different folders.
pub(crate) fn writer_in_words(version: &str, commit: Option<&str>) -> String {
    let later = if version == env!("CARGO_PKG_VERSION") { "a later build of " } else { "" };
    format!("{later}natmeter {}", version_in_words(version, commit))
}

impl SelfTestCheck {
    pub fn verdict(&self) -> &'static str {
        match (self.passed, self.inconclusive) {
            (true, _) => "passed",
            (false, true) => "inconclusive",
            (false, false) => "failed",
        }
    }
}

impl SelfTest {
    pub fn named(&self, verdict: &str) -> Vec<&str> {
        self.checks.iter().filter(|c| c.verdict() == verdict).map(|c| c.name.as_str()).collect()
    }
}

impl Calibration {
    /// The ceiling at a point of this number of connections and values of further axes, if it is known; `here` is the scenario at
    /// the point.
    pub fn at(&self, here: &Scenario, connections: Count, axes: &AxisValues) -> Option<&Ceiling> {
        let frame = here.own_frame();
        self.ceilings.iter().find(|c| c.connections == connections && c.axes == *axes && c.frame == frame)
    }

    /// What the null device reaches in trials of a metric, at the point of which `is_here` is true.
    pub fn null_of(&self, metric: &str, is_here: impl Fn(&Point) -> bool) -> Option<Rate> {
        let null = self.nulls.iter().find(|null| is_here(&null.point))?;
        if opens_connections(metric) { null.set_up } else { Some(null.frames) }
    }
}

method::worded! {
    /// The link between the tester's two ports during calibration.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Over: words {
        /// The in-process link, without a back-end of the kernel.
        #[default]
        #[serde(rename = "in-process link")]
        Process = "in-process link",
        /// A veth pair and AF_PACKET sockets.
        #[serde(rename = "veth, af-packet")]
        AfPacket = "veth, af-packet",
        /// A veth pair and AF_XDP sockets in generic mode.
        #[serde(rename = "veth, af-xdp generic")]
        AfXdpGeneric = "veth, af-xdp generic",
        /// A veth pair and AF_XDP sockets in native mode.
        #[serde(rename = "veth, af-xdp native")]
        AfXdpNative = "veth, af-xdp native",
        /// The ports of a test bed, send only: no cable leads from one to the other.
        #[serde(rename = "ports, send only")]
        Ports = "ports, send only",
        /// DNS queries of the client to the authoritative server, over a veth pair without a device.
        #[serde(rename = "veth, DNS client to server")]
        Dns = "veth, DNS client to server",
    }
}

impl Over {
    /// The link of the calibration of a scenario: of the same kind as the scenario's link, if it can exist without a device.
    /// A TAP cannot, because its other end is the kernel.
    pub fn of(link: &Link) -> Over {
        match link {
            Link::InProcess { .. } | Link::Tap => Over::Process,
            Link::Ports => Over::Ports,
            Link::Veth { io: VethIo::AfPacket } => Over::AfPacket,
            Link::Veth { io: VethIo::AfXdpGeneric } => Over::AfXdpGeneric,
            Link::Veth { io: VethIo::AfXdpNative } => Over::AfXdpNative,
        }
    }
}

/// The tester ceiling without a device, in the directions of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Connections (N) in the state table; 0: stateless, no table.
    pub connections: Count,
    /// Values of further axes, which may change the flows.
    #[serde(default, skip_serializing_if = "AxisValues::is_empty")]
    pub axes: AxisValues,
    /// Octets of the longest frames, if the devices of a bed have frames of different lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<usize>,
    /// The link over which it was measured.
    #[serde(default)]
    pub over: Over,
    /// Threads of the tester.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub workers: u32,
    /// The rates of both directions as a ratio, if they differ: its rates are those of the faster direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction_ratio: Option<DirectionRatio>,
    /// Frames per second per direction that it sends, receives and judges, on connections in random order.
    pub frames: Rate,
    /// Connections per second that it opens and receives in phase 1; `None` without a table.
    pub set_up: Option<Rate>,
    /// Time to send a frame, back-end excluded, picoseconds.
    pub send_ps: u64,
    /// Time to receive and judge a frame, back-end excluded, picoseconds.
    pub receive_ps: u64,
    /// Latency of single frames over that link, nanoseconds; `None` where it is the in-process link, or no cable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_floor_ns: Option<u64>,
}

/// Default for run folders of versions whose tester had one thread.
fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_one(workers: &u32) -> bool {
    *workers == 1
}

impl Calibration {
    /// Returns the latency of single frames over the link of the scenario, nanoseconds: the least of all ceilings, or else that of
    /// the in-process link.
    pub fn latency_floor(&self) -> (u64, Over) {
        let of_cables = self.ceilings.iter().filter_map(|c| Some((c.latency_floor_ns?, c.over)));
        of_cables.min_by_key(|(floor, _)| *floor).unwrap_or((self.latency_floor_ns, Over::Process))
    }
}

fn opens_connections(metric: &str) -> bool {
    procedure::of(procedure::ALL, metric).is_some_and(|of| of.sends == Sends::NewConnections)
}

impl Ceiling {
    /// Returns the ceiling of a metric's trials: connections per second of phase 1, else frames per second.
    pub fn of_trials(&self, metric: &str) -> Option<Rate> {
        if opens_connections(metric) { self.set_up } else { Some(self.frames) }
    }

    pub fn of(&self, metric: &str) -> Option<Rate> {
        self.of_trials(metric).filter(|_| gives(metric, Gives::SetUpRate) || gives(metric, Gives::Throughput))
    }
}

/// One measurement of the null device, which forwards every frame unchanged on the links, threads and cores of the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NullDevice {
    /// The point of the matrix.
    pub point: Point,
    /// Number of the visit to the point ([`crate::visit`]), from 1; `None` in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u32>,
    /// Before the trials of the visit, else after them.
    pub before: bool,
    /// Seconds after the start of the run, without interruptions between its parts.
    pub after_s: f64,
    /// Frames per second per direction that it forwards while the offered load exceeds its capacity: median of several windows.
    pub frames: Rate,
    /// Connections per second of phase 1 through it; `None` for stateless points.
    pub set_up: Option<Rate>,
}

impl NullDevice {
    /// Returns its rate for a metric: connections per second for establishment rates, frames per second for throughputs; none
    /// for any other metric.
    pub fn of(&self, metric: &str) -> Option<Rate> {
        match metric {
            _ if gives(metric, Gives::SetUpRate) => self.set_up,
            _ if gives(metric, Gives::Throughput) => Some(self.frames),
            _ => None,
        }
    }
}

/// A median with the interval of its order statistics, over windows or pairs of windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The least value.
    pub least: f64,
    /// Number of values.
    pub n: u32,
}

/// What a frame costs the device while the offered load exceeds its capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Nanoseconds of the device's workers for each frame, without the rounds in which they find no frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_frame: Option<Spread>,
    /// Forwarding rate of the device divided by that of the null device, in alternating windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired_ratio: Option<Spread>,
    /// Nanoseconds of the device's work for each frame if tester and device share one thread, so that nothing crosses cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_thread_ns_per_frame: Option<Spread>,
}

/// Verdict of the known-truth self-test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// No check failed; some may be inconclusive.
    pub passed: bool,
    /// The checks.
    pub checks: Vec<SelfTestCheck>,
}

/// One check of the self-test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestCheck {
    /// What is checked.
    pub name: String,
    /// The injected truth in words with unit.
    pub truth: String,
    /// The measured value in words with unit.
    pub measured: String,
    /// The measured value minus the truth, in words with unit, where both are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether they agree within the stated error.
    pub passed: bool,
    /// They do not agree, but the host disturbed the check, so there is no verdict.
    #[serde(default)]
    pub inconclusive: bool,
    /// If they do not agree, the trial that contradicts the truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<Box<TrialRecord>>,
}

/// One command that was run on a device or on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandLine {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// The DUT for which it was run, by name.
    pub dut: String,
    /// Its purpose.
    pub why: String,
    /// The command line.
    pub command: String,
    /// Exit status; `None` if the command did not exit by itself.
    pub status: Option<i32>,
    /// Its output, stderr included.
    pub output: String,
}

/// Result of one measurement. The fields of the search result are in the same JSON object. A later line of the same
/// measurement, with a later attempt, replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// What was measured.
    pub measurement: Measurement,
    /// Directions that were active (1 or 2).
    pub directions: u32,
    /// The rates of both directions as a ratio, if they differ: its rate is that of the faster direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction_ratio: Option<DirectionRatio>,
    /// Tester and DUT shared a core, or there were more threads than cores: S_CPU is not a scaling result.
    pub shares_core: bool,
    /// The attempt whose trials gave the result ([`Measurement::attempt_key`]); `None` in folders of earlier versions: the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Number of the visit to the point ([`crate::visit`]), from 1; `None` in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u32>,
    /// Figures measured while the device was set up.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub figures: Figures,
    /// Seconds after the start of the run at which the search ended, without interruptions between its parts; `None` in
    /// folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
    /// What a frame costs the device, and its forwarding rate in relation to the null device; measured once at a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Result of the search, rates per direction.
    #[serde(flatten)]
    pub result: SearchResult,
}

impl Outcome {
    /// Returns the result of a measurement, with nothing that was seen beside its search.
    pub fn new(measurement: Measurement, direction: Direction, result: SearchResult) -> Outcome {
        Outcome {
            measurement,
            directions: direction.count() as u32,
            direction_ratio: direction.ratio(),
            shares_core: false,
            attempt: None,
            visit: None,
            figures: Figures::new(),
            after_s: None,
            cost: None,
            result,
        }
    }

    /// Returns the key under which its trials are filed. `is_filed` says whether there are trials under a key.
    pub fn filed_under(&self, is_filed: impl Fn(&str) -> bool) -> String {
        self.measurement.attempt_key(self.attempt.unwrap_or_else(|| self.measurement.last_attempt(is_filed)))
    }
}
