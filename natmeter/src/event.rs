//! Events of a run. Console, `--json` and run folder are listeners to the same events; nothing else prints.

use method::Rate;
use record::folder::{Ceiling, Outcome, SelfTest, SelfTestCheck};
use record::plan::Measurement;
use record::store::Repair;
use scenario::Point;
use scenario::axis::AxisValues;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The run has a folder.
    RunStarted {
        /// Path of the folder.
        folder: String,
        /// Measurements to be made.
        measurements: usize,
        /// Of these: finished before, in a resumed run.
        done: usize,
        /// Predicted seconds for those left.
        predicted_s: u64,
    },
    /// One check of the known-truth self-test has ended.
    SelfTesting {
        /// Its position, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// Its result.
        check: SelfTestCheck,
    },
    /// The known-truth self-test has ended.
    SelfTested(SelfTest),
    /// The tester was calibrated at a number of connections.
    Calibrated(Ceiling),
    /// A device is being brought into a known state.
    DutPreparing {
        /// Its name.
        dut: String,
        /// Connections (N).
        connections: u64,
        /// Cores.
        cores: u32,
        /// Values of further axes.
        #[serde(default, skip_serializing_if = "AxisValues::is_empty")]
        axes: AxisValues,
    },
    /// A doubt about the results.
    Doubt {
        /// One sentence.
        text: String,
    },
    /// A measurement is skipped because of the time limit; `resume` continues it.
    LeftOut {
        /// Its key.
        measurement: String,
    },
    /// The measurements of a visit to a point are repeated, because the null device changed. Their results replace the
    /// earlier ones.
    PointRepeated {
        /// The point.
        point: Point,
        /// The change of the null device, as a share: 0.33 is 33 %.
        change: f64,
    },
    /// A search begins.
    MeasurementStarted {
        /// Position in the plan, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// What is measured.
        measurement: Measurement,
    },
    /// A search is about to try a rate.
    Trying {
        /// Rate per direction.
        rate: Rate,
        /// Highest rate known to pass.
        lo: Rate,
        /// Lowest rate known not to pass.
        hi: Rate,
        /// Decisions still to come at most.
        steps_left: u32,
        /// Predicted seconds to the end of the run.
        eta_s: u64,
    },
    /// A trial has ended and is recorded.
    Trial {
        /// Its number in the run.
        seq: u64,
        /// Key of its measurement.
        measurement: String,
        /// Intended load per direction.
        rate: Rate,
        /// `pass`, `fail` or `invalid`.
        verdict: String,
        /// The reason in words; empty for a pass.
        reason: String,
        /// Frames sent, all directions.
        sent: u64,
        /// Frames received correctly, all directions.
        received: u64,
        /// Entries of the device's connection tracking table after the trial, or else the connections that the tester saw
        /// set up; absent without a table.
        #[serde(skip_serializing_if = "Option::is_none")]
        entries: Option<u64>,
        /// Mean CPU time that the device's cores were not idle in phase 2, in percent; absent unless the trial samples it.
        #[serde(skip_serializing_if = "Option::is_none")]
        cpu_percent: Option<f64>,
    },
    /// The null device was measured at a point.
    NullMeasured {
        /// Before the trials of the visit, else after them.
        before: bool,
        /// Frames per second per direction.
        frames: Rate,
        /// Connections per second of phase 1; absent without connections.
        #[serde(skip_serializing_if = "Option::is_none")]
        set_up: Option<Rate>,
    },
    /// A measurement has a result, which replaces an earlier result of it.
    MeasurementDone(Box<Outcome>),
    /// The run folder was repaired before the run continued.
    Repaired {
        /// What was done.
        text: String,
    },
    /// The run has ended.
    Finished {
        /// Path of the folder.
        folder: String,
        /// Duration of this part of the run, in seconds.
        seconds: u64,
        /// Measurements of the plan that were not needed, because the intervals of their values were narrow enough.
        not_needed: usize,
    },
}

/// A line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum EventLine {
    /// An event of the run.
    Event(Event),
    /// A repair of the folder before the run continued.
    Repair(Repair),
}

pub trait Listener {
    /// Hears events in order, from the thread of the run.
    fn on(&mut self, event: &Event);
}

impl Listener for () {
    fn on(&mut self, _event: &Event) {}
}
