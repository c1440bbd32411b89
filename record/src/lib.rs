//! Runs as folders, and everything that derives from them: plan, run folder, audit, searches repeated over recorded trials,
//! reports. This crate sends no packets and opens no ports.

#![forbid(unsafe_code)]

pub mod audit;
pub mod folder;
pub mod plan;
pub mod printable;
pub mod published;
pub mod read;
pub mod report;
pub mod runs;
pub mod search;
pub mod side;
pub mod store;
pub mod versioned;
pub mod visit;
