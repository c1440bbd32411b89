//! The `natmeter` command: arguments in, exit code out.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    port::processor::explain_illegal_instructions(lab::build_info::WRONG_PROCESSOR);
    lab::cli::arguments().map_or_else(|exit| exit, lab::cli::dispatch).into()
}
