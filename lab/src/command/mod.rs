//! The commands that do something: each turns arguments into a call of the library and its outcome into an
//! exit code. One file a command.

pub mod calibrate;
pub mod clean;
pub mod gateway;
pub mod report;
pub mod run;
pub mod selftest;

use crate::cli::{self, Global};
use crate::exit::Exit;
use crate::plan::Plan;
use crate::rig::{self, Process, RigError};
use crate::run::RunError;
use crate::scenario::{Dut, Scenario};
use crate::signals;
use dut::{DutError, MachineLock, RunDir};
use std::time::Duration;

/// A process that ends its trial on Ctrl-C and then undoes everything; a later Ctrl-C ends it at once.
///
/// # Errors
/// When signals cannot be handled.
fn process() -> std::io::Result<Process> {
    let process = Process::new();
    signals::end_on(&process.interrupted)?;
    Ok(process)
}

/// How often `--wait` asks whether the machine is free.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Take this machine to measure with, for as long as the command lasts: with `--wait` when it is free; with `--beside` at once,
/// and so as root, whom other users do not stop. Returns a doubt when another process measures meanwhile.
///
/// # Errors
/// The exit code, after the holder of the machine was named.
fn machine_lock(global: &Global) -> Result<(Option<MachineLock>, Option<String>), Exit> {
    let mut told = false;
    loop {
        let (lock, holder) = match MachineLock::take() {
            Ok(mut lock) => {
                let user = lock.disturbed_by();
                (Some(lock), user)
            }
            Err(DutError::Busy { holder, .. }) if global.beside || global.wait => (None, Some(holder)),
            Err(_) if global.beside => return Ok((None, None)),
            Err(error @ DutError::Busy { .. }) => {
                cli::err(&format!("error: {error}; or use --wait to start after it, --beside to measure beside it\n"));
                return Err(Exit::Failed);
            }
            Err(error) => return Err(fail(&RunError::Rig(error.into()))),
        };
        match holder {
            Some(holder) if global.wait => {
                if !std::mem::replace(&mut told, true) {
                    cli::err(&format!("waiting for {holder}, which measures on this machine\n"));
                }
                std::thread::sleep(ASK_AGAIN);
            }
            holder => return Ok((lock, holder.map(|h| format!("{h} measured on this machine at the same time")))),
        }
    }
}

/// Kernel devices: refuse while another run has the test bed, before this one disturbs it by testing itself; and without
/// root, become root of a namespace of our own, before the first thread is started.
fn privilege(scenario: &Scenario, plan: &Plan) -> Result<(), Exit> {
    let needs_namespace = scenario.duts.iter().any(|d| matches!(d, Dut::Kernel { .. }));
    if !needs_namespace {
        return Ok(());
    }
    let points: Vec<_> = plan.measurements.iter().map(|m| m.point.clone()).collect();
    rig::kernel::see_that_tools_are_there(scenario, &points).map_err(|e| fail(&RunError::Rig(e)))?;
    let root = rustix::process::geteuid().is_root();
    rig::kernel::see_that_they_can_be_had(scenario, &points, root).map_err(|e| fail(&RunError::Rig(e)))?;
    // One that measures beside us may be in it.
    dut::lock::see_that_bed_is_free(&RunDir::of_this_user()).map_err(|e| fail(&RunError::Rig(e.into())))?;
    if root {
        return Ok(());
    }
    port::netns::enter_user_namespace().map_err(|e| {
        cli::err(&format!("error: {e}\n"));
        Exit::Failed
    })
}

/// Say what went wrong and choose the exit code.
fn fail(error: &RunError) -> Exit {
    cli::err(&format!("error: {error}\n"));
    match error {
        RunError::Interrupted(_) => Exit::Interrupted,
        RunError::DutDead(_) | RunError::Rig(RigError::Dut(DutError::Dead(_))) => Exit::DutUnreachable,
        RunError::Rig(RigError::Dut(DutError::MissingTools(_) | DutError::Refused { .. }))
        | RunError::Trial { error: method::TrialError::Refused(_), .. } => Exit::Usage,
        RunError::Calibrate(_) => Exit::TesterLimit,
        _ => Exit::Failed,
    }
}
