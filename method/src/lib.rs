//! What a number means: units, trials, validity, search procedures, metrics and statistics.
//!
//! Nothing here knows what a packet is, reads a clock or a file, or prints. A procedure asks a
//! [`Trials`] for one [`TrialOutcome`] after the other and turns them into a result; who carries the
//! trial out (the engine, a replay of a run folder, a simulated device) is not its business.
//!
//! From the inside out: [`validity::judge`] says what one trial is worth, [`Judged`] repeats those that
//! are worth nothing, a [`procedure`] chooses the rates, [`stats`] and [`scaling`] summarise, and
//! [`metric`] names what came out.

#![forbid(unsafe_code)]

pub mod judged;
pub mod metric;
pub mod procedure;
pub mod ratio;
pub mod record;
mod rules;
pub mod scaling;
pub mod simulated;
pub mod stats;
pub mod trial;
pub mod units;
pub mod validity;
mod verdict;

pub use judged::{Attempt, Decision, Judged, Judgement};
pub use procedure::{Precision, Progress, ResultKind, SearchResult, SearchSettings, SearchStep, StepVerdict};
pub use ratio::Ratio;
pub use record::{Replay, TrialRecord};
pub use rules::RULES;
pub use stats::Summary;
pub use trial::{
    Direction, Fault, FaultCounts, HostNoise, Leg, Load, Loop, Order, PhaseKind, StoreFacts, Timing, TrialError,
    TrialOutcome, TrialSpec, Trials,
};
pub use units::{Count, Nanos, Rate};
pub use validity::{Criteria, Failure, Invalid, Spoiler, Verdict, judge};
