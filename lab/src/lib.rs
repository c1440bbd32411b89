//! Everything a person touches: scenarios, plan, run and resume, run folder, report, command line.
//! No packet loop and no search algorithm lives here.

#![forbid(unsafe_code)]

pub mod build_info;
pub mod cli;
pub mod command;
pub mod console;
pub mod event;
pub mod exit;
pub mod facts;
pub mod folder;
pub mod gateway;
pub mod guess;
pub mod installed;
pub mod listing;
pub mod notes;
pub mod plan;
pub mod priority;
pub mod report;
pub mod rig;
pub mod run;
pub mod scenario;
pub mod selftest;
pub mod signals;
pub mod store;
pub mod technology;
