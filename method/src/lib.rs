//! What a number means: units, trials, validity, search procedures, metrics and statistics.
//!
//! Nothing here knows what a packet is, reads a clock or a file, or prints. A procedure asks a
//! [`Trials`] for one [`TrialOutcome`] after the other and turns them into a result; who carries the
//! trial out (the engine, a replay of a run folder, a simulated device) is not its business.

#![forbid(unsafe_code)]

pub mod trial;
pub mod units;

pub use trial::{
    Direction, Fault, FaultCounts, HostNoise, Leg, Load, Loop, Order, PhaseKind, StoreFacts, Timing, TrialError,
    TrialOutcome, TrialSpec, Trials,
};
pub use units::{Count, Nanos, Rate};
