//! Carry out exactly one trial, on time, and say so honestly.
//!
//! The engine gets frames, flows, times and expectations as data ([`wire::View`]) and ports to send and
//! receive on; it knows no technology by name, chooses no rate and prints nothing. Between the start and the
//! stop of a trial its threads allocate nothing, take no lock and make no system call but the back-end's.

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod engine;
pub mod judge;
pub mod lane;
pub mod phase;
pub mod schedule;
pub mod sender;
pub mod store;
mod window;

pub use engine::{Away, Device, Engine, EngineError, NoDevice, Settings};
pub use lane::Lane;
pub use store::StateTable;
