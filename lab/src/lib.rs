//! Everything a person touches: scenarios, plan, run and resume, run folder, report, command line.
//! No packet loop and no search algorithm lives here.

#![forbid(unsafe_code)]

pub mod advice;
pub mod audit;
pub mod build_info;
pub mod cli;
pub mod command;
pub mod console;
pub mod did_you_mean;
pub mod event;
pub mod exit;
pub mod facts;
pub mod folder;
pub mod forecast;
pub mod gateway;
pub mod installed;
pub mod listing;
pub mod plan;
pub mod printable;
pub mod priority;
pub mod record;
pub mod report;
pub mod rig;
pub mod run;
pub mod search;
pub mod selftest;
pub mod signals;
pub mod steps;
pub mod store;
pub mod term;
