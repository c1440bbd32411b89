//! Command line, runs, test beds, self-test and the gateway program.

#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc, reason = "names and error messages document the items")]

mod advice;
pub mod bed;
mod build_info;
mod cells;
mod cli;
mod command;
mod console;
mod did_you_mean;
pub mod event;
mod exit;
mod facts;
pub mod forecast;
pub mod gateway;
mod installed;
mod listing;
pub mod priority;
pub mod rig;
pub mod run;
pub mod selftest;
mod serve;
mod signals;
pub mod steps;
mod term;
mod until;

use std::process::ExitCode;

/// Runs natmeter with the arguments of the process, and returns the exit code.
pub fn main() -> ExitCode {
    port::processor::explain_illegal_instructions(build_info::WRONG_PROCESSOR);
    term::ending(cli::arguments().map_or_else(|exit| exit, command::dispatch)).into()
}
