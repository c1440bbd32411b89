//! `natmeter completions`: completions for a shell.

use crate::cli::Cli;
use crate::exit::Exit;
use crate::term::out;
use clap::CommandFactory;
use clap_complete::Shell;

pub(super) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "natmeter", &mut script);
    out(&String::from_utf8_lossy(&script));
    Exit::Done
}
