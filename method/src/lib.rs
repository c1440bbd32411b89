//! Defines what results mean: units, trials, validity, search algorithms and statistics.
//!
//! A procedure requests one [`TrialOutcome`] after the other from a [`Trials`]. This crate handles
//! no packets, reads no clock or file, and prints nothing.
//!
//! [`validity::judge`] gives the verdict on one trial, [`TrialJudge`] repeats invalid trials, a
//! [`search`] chooses the rates, [`stats`], [`scaling`] and [`model`] work on results.

#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc, reason = "names and error messages document the items")]

pub mod judged;
pub mod model;
mod random;
pub mod ratio;
pub mod record;
mod rules;
pub mod scaling;
pub mod search;
pub mod simulated;
pub mod stats;
mod text;
pub mod trial;
pub mod units;
pub mod validity;
mod verdict;
pub mod witness;

pub use judged::{Attempt, Decision, Judgement, Patience, TrialJudge};
pub use ratio::Ratio;
pub use record::{Replay, TrialRecord};
pub use rules::RULES;
pub use search::{Precision, Progress, ResultKind, SearchResult, SearchSettings, SearchStep, StepVerdict, Strict};
pub use stats::Summary;
pub use trial::{
    Churn, Delays, Direction, DirectionRatio, Example, Fault, FaultCounts, HostNoise, Leg, Load, Loop, NativeFrames,
    Order, Pace, PhaseKind, Popularity, ResponderTable, StoreFacts, Timing, TrialError, TrialOptions, TrialOutcome,
    TrialSpec, Trials, starved_queue,
};
pub use units::{Count, Nanos, Rate};
pub use validity::{Criteria, Failure, Invalid, Spoiler, Verdict, judge, lost_any};

/// Whether a value is the default, which files need not have.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
