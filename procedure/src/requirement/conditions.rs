//! The conditions under which a metric is measured, as plain data: the settings, and what the record of the run shows. Requirements
//! are functions over them.

use crate::Keys;
use method::{Count, Nanos};

/// Settings and record of the measurements of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// The devices.
    pub device: Device,
    /// What stands between tester and device.
    pub path: Path,
    /// The trials.
    pub trial: Trial,
    /// The search.
    pub search: Search,
    /// How often the measurement is repeated.
    pub repetitions: Repetitions,
    /// The frames.
    pub traffic: Traffic,
    /// How connections are set up before and in the trials.
    pub phase1: Phase1,
    /// The keys of the procedures.
    pub keys: Keys,
    /// Whether the keys give the rate; otherwise it is the measured throughput.
    pub rate_is_given: bool,
    /// What the record shows; `None` before there is one.
    pub run: Option<Run>,
}

/// The devices of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Whether one keeps connections.
    pub stateful: bool,
    /// Whether one keeps none.
    pub stateless: bool,
    /// The least real one.
    pub nature: Nature,
}

/// How real a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nature {
    /// The device forwards frames as it can.
    Real,
    /// The device forwards frames with faults and limits that the scenario injects.
    Injected,
    /// Numbers stand for it.
    Simulated,
}

/// What stands between tester and device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// How frames are impaired on purpose.
    pub impaired: Option<String>,
    /// Whether frames are captured.
    pub captured: bool,
}

/// The trials of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Length of the trial that decides.
    pub length: Nanos,
    /// Whether the goal of the search gives this length.
    pub is_of_goal: bool,
    /// Wait before sending.
    pub start_delay: Nanos,
    /// How long frames may arrive after the last one was sent.
    pub drain: Nanos,
    /// Rest before the next trial.
    pub settle: Nanos,
    /// Traffic before a trial that is not counted.
    pub warm_up: Option<Nanos>,
    /// Frames that must arrive, in parts per million.
    pub acceptance_ppm: u32,
}

/// How a rate is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The goal of MLRsearch whose result is the figure.
    pub goal: Option<Goal>,
    /// Failed trials after which a rate has failed.
    pub tries: u32,
    /// Whether trials that have failed beyond doubt end before their full length.
    pub early_end: bool,
    /// Whether searches begin at the bounds of earlier ones.
    pub warm_start: bool,
}

/// A goal of MLRsearch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Name of the goal.
    pub name: String,
    /// Whether it tolerates neither lost frames nor bad trials.
    pub strict: bool,
}

/// How often a search is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repetitions {
    /// The fewest that are planned.
    pub least: u32,
    /// All that are planned, in words.
    pub words: String,
    /// The time after which no further one is begun.
    pub time_limit: Option<Nanos>,
}

/// The frames of phase 2, or of stateless trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Frame sizes that are measured one by one.
    pub sizes: usize,
    /// Sizes that are mixed in one trial.
    pub mix: Option<String>,
    /// Octets of the longest frames, FCS included.
    pub widest: usize,
    /// Ratios of the rates of the directions, if they differ.
    pub ratios: Vec<String>,
    /// Whether there are trials in one direction only.
    pub one_way: bool,
    /// Whether the Initiator sends.
    pub forward: bool,
    /// How connections are drawn, if not all alike.
    pub popularity: Option<String>,
    /// Networks on each side of a router.
    pub networks: u32,
    /// Whether source and destination ports have the whole ranges of RFC 4814, section 4.5.
    pub all_ports: bool,
    /// Source ports and destination ports, in words.
    pub ports: String,
}

/// How connections are set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase1 {
    /// Share of its frames that must arrive, in parts per million.
    pub acceptance_ppm: u32,
    /// Time between its last frame and the next phase.
    pub drain: Nanos,
    /// Numbers of connections that are part of the flows only, in words.
    pub subsets: Option<String>,
    /// Whether an establishment rate is measured before the connections are used.
    pub rate_is_measured: bool,
    /// Why the device's table is not empty.
    pub not_empty: Option<String>,
    /// Whether phase 2 updates the Responder's state table.
    pub updates_table: bool,
    /// The shortest time for which a device keeps an idle connection.
    pub timeout: Option<Nanos>,
    /// Whether each point has more source than destination ports.
    pub more_source_ports: bool,
    /// Numbers of connections that are measured.
    pub sizes: usize,
}

/// What the record of a run shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Trials of the run.
    pub trials: u64,
    /// Discarded trials, as invalid.
    pub discarded: u64,
    /// Connections that phase 1 opened again after losses in the host.
    pub resent: Count,
    /// Searches that ended before the requested precision.
    pub ended_early: u64,
    /// Whether the self-test of the tester failed.
    pub self_test_failed: bool,
    /// Whether tester and device share a core.
    pub shares_core: bool,
    /// The fewest repetitions of a point of the metric, if it has any.
    pub repetitions: Option<u32>,
    /// Whether a result of the metric is a lower bound.
    pub lower_bound: bool,
}
