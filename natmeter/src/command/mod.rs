//! The commands. Each turns its arguments into a library call, and the outcome into an exit code.

mod calibrate;
mod check;
mod clean;
mod completions;
mod gateway;
mod list;
mod load;
mod man_pages;
mod plan;
mod report;
mod run;
mod schema;
mod selftest;

use crate::cli::{Cli, Command, Global};
use crate::exit::Exit;
use crate::rig::{self, Process, RigError};
use crate::run::RunError;
use crate::signals;
use crate::term::err;
use dut::{DutError, MachineLock, RunDir};
use record::plan::Plan;
use scenario::{Dut, Scenario};
use std::time::Duration;

/// Runs the command of the command line.
pub fn dispatch(cli: Cli) -> Exit {
    let global = &cli.global;
    let changes = if global.full { Some("--full") } else { global.set.first().map(|_| "--set") };
    if let (Some(command), Some(option)) = (&cli.command, changes)
        && !command.reads_scenario()
    {
        err(&format!("error: {option} changes a scenario, but this command reads none: leave it out\n"));
        return Exit::Usage;
    }
    match cli.command {
        Some(Command::Run(args)) => run::run(args.file.as_deref(), global),
        Some(Command::Resume(args)) => run::resume(&args.run, global),
        Some(Command::Report(args)) => {
            let usual = if global.json { "json" } else { "text" };
            report::report(&args.run, args.format.as_deref().unwrap_or(usual))
        }
        Some(Command::Calibrate(args)) => calibrate::calibrate(args.file.as_deref(), global),
        Some(Command::Selftest(args)) => selftest::selftest(&args, global),
        Some(Command::Clean) => clean::clean(),
        Some(Command::Gateway(args)) => gateway::gateway(&args, global),
        Some(Command::Check(args)) => check::check(args.file.as_deref(), global),
        Some(Command::Plan(args)) => plan::plan(&args, global),
        Some(Command::List(args)) => list::list(args.what.as_deref(), global),
        Some(Command::Schema(args)) => schema::schema(args.kind),
        Some(Command::Completions(args)) => completions::completions(args.shell),
        Some(Command::ManPages(args)) => man_pages::man_pages(&args.dir),
        None => run::run(None, global),
    }
}

/// A process that, on Ctrl-C, ends its trial and restores everything; a later Ctrl-C ends it at once.
///
/// # Errors
/// If signals cannot be handled.
fn process() -> std::io::Result<Process> {
    let process = Process::new();
    signals::end_on(&process.interrupted)?;
    Ok(process)
}

/// How often `--wait` asks whether the machine is free.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Locks this machine for measuring until the command ends. With `--wait`, waits until the machine is free. With `--beside`,
/// and for root if another user measures, continues without the lock. Returns a doubt if another process measures at the
/// same time.
///
/// # Errors
/// The exit code, after printing the holder of the lock.
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
                err(&format!(
                    "error: {error}; or use --wait to start after it, or --beside to measure at the same time\n"
                ));
                return Err(Exit::Failed);
            }
            Err(error) => return Err(fail(&RunError::Rig(error.into()))),
        };
        match holder {
            Some(holder) if global.wait => {
                if !std::mem::replace(&mut told, true) {
                    err(&format!("waiting for {holder}, which measures on this machine\n"));
                }
                std::thread::sleep(ASK_AGAIN);
            }
            holder => return Ok((lock, holder.map(|h| format!("{h} measured on this machine at the same time")))),
        }
    }
}

/// Prepares kernel devices. Refuses if another run uses the test bed, before the self-test could disturb that run. Without
/// root, enters a user namespace, before the first thread starts.
fn privilege(scenario: &Scenario, plan: &Plan) -> Result<(), Exit> {
    let needs_namespace = scenario.duts.iter().any(|d| matches!(d, Dut::Kernel { .. }));
    if !needs_namespace {
        return Ok(());
    }
    let points: Vec<_> = plan.measurements.iter().map(|m| m.point.clone()).collect();
    rig::kernel::check_tools(scenario, &points).map_err(|e| fail(&RunError::Rig(e)))?;
    let root = rustix::process::geteuid().is_root();
    rig::kernel::check_devices(scenario, &points, root).map_err(|e| fail(&RunError::Rig(e)))?;
    // A run with `--beside` may use the test bed.
    dut::lock::see_that_bed_is_free(&RunDir::of_this_user()).map_err(|e| fail(&RunError::Rig(e.into())))?;
    if root {
        return Ok(());
    }
    port::netns::enter_user_namespace().map_err(|e| {
        err(&format!("error: {e}\n"));
        Exit::Failed
    })
}

/// Prints the error and returns the exit code.
fn fail(error: &RunError) -> Exit {
    err(&format!("error: {error}\n"));
    match error {
        RunError::Interrupted(_) => Exit::Interrupted,
        RunError::DutDead(_) | RunError::Rig(RigError::Dut(DutError::Dead(_))) => Exit::DutUnreachable,
        RunError::Rig(RigError::Dut(DutError::MissingTools(_) | DutError::Refused { .. }))
        | RunError::Trial { error: method::TrialError::Refused(_), .. } => Exit::Usage,
        RunError::Calibrate(_) => Exit::TesterLimit,
        _ => Exit::Failed,
    }
}
