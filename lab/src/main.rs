//! The `natmeter` command: arguments in, exit code out.

#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    lab::cli::dispatch(lab::cli::Cli::parse()).into()
}
