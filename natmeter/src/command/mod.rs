//! The commands. Each turns its arguments into a library call, and the outcome into an exit code.

mod about;
mod bed;
mod calibrate;
mod check;
mod clean;
mod compare;
mod doctor;
mod earlier;
mod gateway;
mod guest;
mod guest_run;
mod import;
mod load;
mod merge;
mod plan;
mod published;
mod report;
mod run;
mod selftest;
mod serve;
mod size;
mod trend;
mod try_box;
mod turn;

use crate::cli::{Cli, Command, Output};
use crate::exit::Exit;
use crate::rig::{self, RigError};
use crate::run::RunError;
use crate::term::{self, err, out};
use dut::{DutError, RunDir};
use record::plan::Plan;
use scenario::bed::Bed;
use scenario::{Scenario, TestBed};
use serde::Serialize;
use std::fmt::Display;
use turn::MyTurn;

pub(crate) fn dispatch(cli: Cli) -> Exit {
    run_command(cli).unwrap_or_else(|exit| exit)
}

/// The exit code of a command that came to its end, or that stopped early and has printed why.
fn run_command(cli: Cli) -> Result<Exit, Exit> {
    let output = cli.output;
    match cli.command {
        Some(Command::Run { file, options }) => run::run(file.as_deref(), &options, output),
        Some(Command::Resume { run, turn }) => run::resume(&run, turn, output),
        Some(Command::Report(args)) => report::report(&args, output),
        Some(Command::Merge(args)) => merge::merge(&args, output),
        Some(Command::Size(args)) => size::size(&args, output),
        Some(Command::Compare(args)) => compare::compare_runs(&args, output),
        Some(Command::Trend(args)) => trend::trend_of(&args, output),
        Some(Command::Calibrate { scenario, turn }) => calibrate::calibrate(&scenario, turn, output),
        Some(Command::Selftest(args)) => selftest::selftest(&args, output),
        Some(Command::Clean) => clean::clean(),
        Some(Command::Doctor(args)) => doctor::doctor(&args, output),
        Some(Command::Bed(command)) => bed::bed(&command, output),
        Some(Command::TryBox { folder, turn }) => try_box::try_box(&folder, turn, output),
        Some(Command::Guest(args)) => guest::guest(&args, output).map_err(failed),
        Some(Command::Gateway(args)) => gateway::gateway(&args, output),
        Some(Command::Check(scenario)) => check::check(&scenario, output),
        Some(Command::Plan(args)) => plan::plan(&args, output),
        Some(Command::List { what }) => Ok(about::list(what.as_deref(), output)),
        Some(Command::Published(command)) => published::published(&command, output),
        Some(Command::Serve(args)) => serve::serve(&args, output),
        Some(Command::Schema { kind }) => Ok(about::schema(kind)),
        Some(Command::Completions { shell }) => Ok(about::completions(shell)),
        Some(Command::ManPages { dir }) => Ok(about::man_pages(&dir)),
        None => run::run(None, &cli.quickstart, output),
    }
}

/// Refuses if another run uses natmeter's own test bed, before the self-test could disturb that run, or waits
/// until it is free. Without root, enters a user namespace if natmeter makes links, before the first thread
/// starts.
fn privilege(scenario: &Scenario, plan: &Plan, turn: &mut MyTurn) -> Result<(), Exit> {
    let is_own = scenario.bed.is_none() && TestBed::all(scenario).contains(&TestBed::SameMachine);
    if !(is_own || scenario.bed.as_ref().is_some_and(Bed::makes_links)) {
        return Ok(());
    }
    let points: Vec<_> = plan.points().cloned().collect();
    let root = rustix::process::geteuid().is_root();
    let checked = rig::checks::check_tools(scenario, &points);
    let checked = checked.and_then(|()| rig::checks::check_devices(scenario, &points, root));
    checked.map_err(fail)?;
    if is_own {
        // A run with `--beside` may use the test bed.
        turn.wait_for(|| dut::lock::see_that_bed_is_free(&RunDir::of_this_user()))?;
    }
    if root {
        return Ok(());
    }
    port::netns::enter_user_namespace().map_err(failed)
}

fn show(output: Output, result: &impl Serialize, text: impl FnOnce() -> String) {
    if output.json {
        term::json(result);
    } else {
        out(&text());
    }
}

/// Prints an error when nothing is known but that the command failed.
fn failed(error: impl Display) -> Exit {
    err(&format!("error: {error}\n"));
    Exit::Failed
}

/// Prints what is wrong with the arguments, and returns the exit code.
fn usage(why: impl Display) -> Exit {
    err(&format!("error: {why}\n"));
    Exit::Usage
}

/// Prints why a run ended, and returns the exit code.
fn fail(error: impl Into<RunError>) -> Exit {
    let error = error.into();
    err(&format!("error: {error}\n"));
    match error {
        RunError::Interrupted(_) => Exit::Interrupted,
        // A host that cannot be reached may come back: the run goes on then.
        RunError::HostTooBusy(_) | RunError::Trial { error: method::TrialError::Unreachable(_), .. } => {
            Exit::Incomplete
        }
        RunError::Rig(RigError::Dut(error)) if error.is_lost_connection() => Exit::Incomplete,
        RunError::DutDead(_) | RunError::Rig(RigError::Dut(DutError::Dead(_)) | RigError::Neighbour(_)) => {
            Exit::DutUnreachable
        }
        RunError::Rig(RigError::Bed(_) | RigError::Dut(DutError::MissingTools(_) | DutError::Refused { .. }))
        | RunError::Trial { error: method::TrialError::Refused(_), .. } => Exit::Usage,
        RunError::Calibrate(_) => Exit::TesterLimit,
        _ => Exit::Failed,
    }
}
