//! Everything that a person touches: command line, runs, test beds, self-test, the gateway program. No packet loop, search
//! algorithm or report format lives here.

#![forbid(unsafe_code)]

pub mod advice;
pub mod build_info;
pub mod cli;
pub mod command;
pub mod console;
pub mod did_you_mean;
pub mod event;
pub mod exit;
pub mod facts;
pub mod forecast;
pub mod gateway;
pub mod installed;
pub mod listing;
pub mod priority;
pub mod rig;
pub mod run;
pub mod selftest;
pub mod signals;
pub mod steps;
pub mod term;
