//! The run folder: append-only, the only truth. Names of its files, and the types of what stands in them
//! one JSON document a line. Every report derives from these and nothing else.
//!
//! | file | content |
//! | --- | --- |
//! | `scenario.toml` | the scenario as it was read, verbatim |
//! | `run.json` | [`Header`]: resolved scenario, plan, version, seed, time |
//! | `facts.json` | [`Facts`] of tester and DUTs |
//! | `calibration.json` | [`Calibration`]: the tester's own limits |
//! | `selftest.json` | [`SelfTest`]: verdict of the known-truth self-test |
//! | `commands.jsonl` | [`CommandLine`]: every DUT command with its output |
//! | `events.jsonl` | what happened, in order |
//! | `trials.jsonl` | `method::TrialRecord` lines, each written before the search sees the result |
//! | `results.jsonl` | [`Outcome`] lines, one a finished measurement |

use crate::plan::{Measurement, Plan};
use crate::scenario::Scenario;
use method::{Count, Rate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// First thing in a run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of natmeter.
    pub version: String,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// The scenario with all defaults and overrides.
    pub scenario: Scenario,
    /// The plan.
    pub plan: Plan,
}

/// Name → value, for people and for `diff`.
pub type FactTable = BTreeMap<String, String>;

/// What is known about the machine and the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Kernel, CPU, governor, mitigations, memory, clock, …
    pub tester: FactTable,
    /// The same for each DUT, by name.
    pub duts: BTreeMap<String, FactTable>,
    /// What may spoil the result: one sentence each.
    pub doubts: Vec<String>,
}

/// The tester's own limits for this scenario's frames, flows and back-end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// The clock in words.
    pub clock: String,
    /// One reading of the clock, picoseconds.
    pub clock_read_ps: u64,
    /// Departure error of a paced sender: median and 99th percentile, nanoseconds.
    pub departure_p50_ns: u64,
    /// As above.
    pub departure_p99_ns: u64,
    /// Frames per second per direction that the tester sends, receives and judges with no DUT in between
    /// (both directions at once).
    pub ceiling: Rate,
    /// CPU picoseconds a frame of sending.
    pub send_ps: u64,
    /// CPU picoseconds a frame of receiving and judging.
    pub receive_ps: u64,
    /// Shortest time from hand-over to receipt, nanoseconds.
    pub latency_floor_ns: u64,
    /// Tester and DUT share a core, or there are more threads than cores: scaling figures say nothing.
    pub shares_core: bool,
}

/// Verdict of the known-truth self-test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    /// All checks passed.
    pub passed: bool,
    /// Each check: name, injected truth, measured value, passed.
    pub checks: Vec<SelfTestCheck>,
}

/// One check of the self-test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTestCheck {
    /// What is checked.
    pub name: String,
    /// The injected truth in words with unit.
    pub truth: String,
    /// The measured value in words with unit.
    pub measured: String,
    /// Whether they agree within the stated error.
    pub passed: bool,
    /// They do not agree, but the host disturbed the check: no verdict.
    #[serde(default)]
    pub inconclusive: bool,
}

/// One command that was run on a device or on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// The DUT for which it was run, by name.
    pub dut: String,
    /// What it was good for.
    pub why: String,
    /// The command as one would type it.
    pub command: String,
    /// Exit status; `None` if it did not end by itself.
    pub status: Option<i32>,
    /// What it printed, errors included.
    pub output: String,
}

/// How far a value can be trusted as the DUT's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The DUT's value within the error.
    #[default]
    Exact,
    /// The tester could not go higher: the value is "≥".
    TesterLimit,
    /// The upper end of the search passed: the value is "≥".
    UpperLimit,
    /// No rate passed.
    NothingPassed,
}

/// Result of one measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What was measured.
    pub measurement: Measurement,
    /// Highest rate that passed, per direction.
    pub rate: Rate,
    /// Directions that were active (1 or 2): the total is `rate` times this.
    pub directions: u32,
    /// What the value is.
    pub bound: Bound,
    /// Width of the interval at which the search stopped, per direction.
    pub error: Rate,
    /// The last eight verdicts of the search were all equal.
    pub one_sided: bool,
    /// A late sender was counted as a FAIL because the DUT works inside the sender's calls.
    pub closed_loop: bool,
    /// Trials, and how many of them were invalid and repeated.
    pub trials: u32,
    /// As above.
    pub invalid: u32,
    /// Frames that phase 1 lost in all preparing phases.
    pub phase1_lost: Count,
    /// The search: offered rate and verdict of each step, for the figure.
    pub trace: Vec<(Rate, Step)>,
    /// Extra figures by name (declared burst, DUT entries, CPU ns a frame, …).
    #[serde(default)]
    pub extra: BTreeMap<String, f64>,
}

/// Verdict of one step of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Passed.
    Pass,
    /// Failed.
    Fail,
    /// The tester could not.
    TesterBound,
}
