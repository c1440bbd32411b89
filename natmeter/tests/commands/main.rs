//! Tests of the binary: its commands, `natmeter serve` over real sockets and in a browser, and the live view of a run on a pseudo
//! terminal.

mod browser;
mod command_line;
mod garbage;
mod live;
mod pages;
#[path = "../common/program.rs"]
#[allow(dead_code, reason = "the other test programs use more of it")]
mod program;
mod server;
mod terminal;
mod token;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time, because a command that measures, even with `--beside`, takes the machine's lock if it is free.
fn the_machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}
