//! The `natmeter` command: arguments in, exit code out.

#![forbid(unsafe_code)]

use lab::{cli, command, term};
use std::process::ExitCode;

fn main() -> ExitCode {
    term::ending(cli::arguments().map_or_else(|exit| exit, command::dispatch)).into()
}
