//! Runs as folders, and everything that derives from them: plan, run folder, audit, searches repeated over recorded trials,
//! reports. This crate sends no packets and opens no ports.

// Tests prepare what `store::Dir` must refuse.
#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc, reason = "names and error messages document the items")]

pub mod audit;
pub mod compare;
pub mod doubt;
pub mod enough;
pub mod folder;
pub mod import;
pub mod merge;
pub mod plan;
pub mod printable;
pub mod published;
pub mod read;
pub mod report;
pub mod runs;
pub mod search;
pub mod size;
pub mod store;
pub mod trend;
pub mod versioned;
pub mod visit;
