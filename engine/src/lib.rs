//! Carries out exactly one trial on time, and reports every deviation from the schedule.
//!
//! It knows frames, flows, times and expectations as data ([`wire::View`]), and ports, but no
//! technology. During a trial its threads allocate no memory, take no lock and make no system calls
//! except the back-end's.

#![forbid(unsafe_code)]

mod after;
mod beside;
pub mod calibrate;
pub mod churn;
mod clear_proof;
mod cleared;
pub mod device;
mod distinct;
pub mod early;
pub mod engine;
mod example;
pub mod expected;
pub mod findings;
mod first_wrong;
pub mod indices;
pub mod judge;
pub mod lane;
pub mod native;
pub mod observe;
pub mod overload;
mod pacer;
pub mod phase;
mod pieces;
pub mod popularity;
mod random;
mod rounds;
pub mod schedule;
mod seen;
pub mod sender;
pub mod service;
pub mod stage;
pub mod store;
mod tasks;
pub mod tcp;
mod window;

pub use device::{Clearing, ClockAt, CoreTime, CpuTimes, Device, DeviceStalls, MemoryNow, NoDevice, ProfileRun};
pub use engine::{Engine, EngineError, Settings};
pub use lane::Lane;
pub use service::{Service, ServiceVerdict};
pub use store::StateTable;
