//! The `natmeter` command: arguments in, exit code out.

#![forbid(unsafe_code)]

use natmeter::{cli, command, term};
use std::process::ExitCode;

fn main() -> ExitCode {
    port::processor::explain_illegal_instructions(natmeter::build_info::WRONG_PROCESSOR);
    term::ending(cli::arguments().map_or_else(|exit| exit, command::dispatch)).into()
}
