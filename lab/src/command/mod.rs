//! The commands that do something: each turns arguments into a call of the library and its outcome into an
//! exit code. One file a command.

pub mod calibrate;
pub mod clean;
pub mod gateway;
pub mod man_pages;
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
use dut::{DutError, RunDir, Turn};

/// A process that ends its trial on Ctrl-C and then undoes everything; a later Ctrl-C ends it at once.
///
/// # Errors
/// When signals cannot be handled.
fn process() -> std::io::Result<Process> {
    let process = Process::new();
    signals::end_on(&process.interrupted)?;
    Ok(process)
}

/// Take this machine's turn to measure, for as long as the command lasts. With `--beside`, none, and who is disturbed.
///
/// # Errors
/// The exit code, after it was said who measures.
fn turn(global: &Global) -> Result<(Option<Turn>, Option<String>), Exit> {
    match Turn::take() {
        Ok(turn) => Ok((Some(turn), None)),
        Err(DutError::Busy { holder, .. }) if global.beside => {
            Ok((None, Some(format!("{holder} measured on this machine at the same time"))))
        }
        Err(_) if global.beside => Ok((None, None)),
        Err(error @ DutError::Busy { .. }) => {
            cli::err(&format!("error: {error}, or measure beside it with --beside\n"));
            Err(Exit::Failed)
        }
        Err(error) => Err(fail(&RunError::Rig(error.into()))),
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
