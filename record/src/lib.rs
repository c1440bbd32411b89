//! A run as a folder, and everything that derives from it: plan, run folder, audit, the searches repeated over recorded
//! trials, reports. It sends nothing, opens no port and names no packet.

#![forbid(unsafe_code)]

pub mod audit;
pub mod folder;
pub mod plan;
pub mod printable;
pub mod read;
pub mod report;
pub mod search;
pub mod store;
