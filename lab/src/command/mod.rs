//! The commands that do something: each turns arguments into a call of the library and its outcome into an
//! exit code. One file a command.

pub mod calibrate;
pub mod clean;
pub mod gateway;
pub mod report;
pub mod run;
pub mod selftest;

use crate::exit::Exit;
use crate::rig::{Process, RigError};
use crate::run::RunError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;

/// A process that ends its trial on Ctrl-C and then undoes everything; a second Ctrl-C ends it at once.
///
/// # Errors
/// When signals cannot be handled.
fn process() -> std::io::Result<Process> {
    let process = Process::new();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(Exit::Interrupted as u8),
            Arc::clone(&process.interrupted),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&process.interrupted))?;
    }
    Ok(process)
}

/// Say what went wrong and choose the exit code.
fn fail(error: &RunError) -> Exit {
    crate::cli::err(&format!("error: {error}\n"));
    match error {
        RunError::Interrupted(_) => Exit::Interrupted,
        RunError::DutDead(_) | RunError::Rig(RigError::Dut(dut::DutError::Dead(_))) => Exit::DutUnreachable,
        RunError::Rig(RigError::Dut(dut::DutError::MissingTools(_) | dut::DutError::Refused { .. }))
        | RunError::Trial { error: method::TrialError::Refused(_), .. } => Exit::Usage,
        RunError::Calibrate(_) => Exit::TesterLimit,
        _ => Exit::Failed,
    }
}
