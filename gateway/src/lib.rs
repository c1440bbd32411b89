//! Plane functions on ports, one shared-nothing worker a core: the embedded device under test, and
//! the known-truth device that tests the tester.

#![forbid(unsafe_code)]

pub mod control;
pub mod control_queue;
pub mod embedded;
pub mod file;
mod icmp6;
pub mod neighbour;
pub mod null;
pub mod own;
pub mod privileges;
pub mod steer;
pub mod truth;
#[cfg(test)]
mod wired;
pub mod worker;

pub use control_queue::ControlQueue;
pub use embedded::{EmbeddedConfig, EmbeddedError, EmbeddedGateway, WorkerStalls};
pub use null::Switch;
pub use own::{Own, Owns};
pub use steer::steer;
pub use truth::{FAULTS, Faulty, KnownFault, Truth, TruthConfig, WhenFull};
pub use worker::Worker;
