//! `natmeter run` and `natmeter resume`: from a scenario to a run folder with a report.

use super::load::{load, tell};
use super::selftest::deciding;
use super::{fail, machine_lock, privilege, process, report};
use crate::advice::{self, Machine};
use crate::cli::Global;
use crate::console::{Console, JsonLines};
use crate::event::{Event, Listener};
use crate::exit::Exit;
use crate::rig::Process;
use crate::run::{Run, RunError};
use crate::term::{err, out};
use crate::{facts, forecast, priority, selftest};
use method::ResultKind;
use record::folder::{Calibration, Facts, Header, Outcome, SelfTest};
use record::plan::Measurement;
use record::read::header;
use record::report::Report;
use record::search::is_upper_end_the_testers;
use record::store::date::rfc3339;
use record::store::{self, RunFolder};
use std::path::Path;
use std::time::SystemTime;

/// `natmeter run [FILE]`.
pub(super) fn run(file: Option<&Path>, global: &Global) -> Exit {
    let loaded = match load(file, global) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let plan = forecast::plan(&loaded.scenario);
    // Before any change, and before entering a network namespace, from which other runs are not visible.
    let (_lock, beside) = match machine_lock(global) {
        Ok(lock) => lock,
        Err(exit) => return exit,
    };
    if let Err(exit) = privilege(&loaded.scenario, &plan) {
        return exit;
    }
    tell(&advice::advice(&loaded, &plan, Machine::here()), global);
    let now = SystemTime::now();
    let header = Header::new(rfc3339(now), loaded.scenario, global.options(), plan);
    let mut listener = listener(global);
    let begin = || {
        // Before the folder exists: from then on a signal must end the run in order.
        let process = process().map_err(RunError::Signals)?;
        let folder = RunFolder::create(&global.runs, &header.scenario.name, now, &loaded.text, &header)?;
        let path = folder.path().to_path_buf();
        let run = Run::begin(&header, folder, process.clone(), &mut *listener);
        Ok((path, carry_out(run, beside, &process)?))
    };
    let ended = begin();
    conclude(ended, global, listener)
}

/// `natmeter resume RUN`.
pub(super) fn resume(path: &Path, global: &Global) -> Exit {
    let (_lock, beside) = match machine_lock(global) {
        Ok(lock) => lock,
        Err(exit) => return exit,
    };
    let opened = RunFolder::open_for_resume(path).map_err(RunError::from);
    let mut listener = listener(global);
    let ended = opened.and_then(|(folder, repairs)| {
        let header = header(path, tech::ALL)?;
        if let Err(exit) = privilege(&header.scenario, &header.plan) {
            return Ok(Err(exit));
        }
        for repair in repairs {
            let text = format!("removed an incomplete line of {} bytes from {}", repair.bytes, repair.file);
            listener.on(&Event::Repaired { text });
        }
        let process = process().map_err(RunError::Signals)?;
        let run = Run::resume(&header, folder, process.clone(), &mut *listener)?;
        Ok(Ok((path.to_path_buf(), carry_out(run, beside, &process)?)))
    });
    match ended {
        Ok(Ok(done)) => conclude(Ok(done), global, listener),
        Ok(Err(exit)) => exit,
        Err(error) => conclude(Err(error), global, listener),
    }
}

fn carry_out(mut run: Run, beside: Option<String>, process: &Process) -> Result<Vec<Outcome>, RunError> {
    // Raised for the self-test, too.
    let _raised = priority::raise();
    let mut facts = facts::of_this_machine();
    facts.doubts.extend(beside);
    let tested = if run.is_tested_on(&facts)? {
        None
    } else {
        run.announce()?;
        let Some(verdict) = selftest::quick(process, &mut run) else { return Err(run.interrupted()) };
        Some(verdict)
    };
    run.complete(facts, tested)
}

fn listener(global: &Global) -> Box<dyn Listener> {
    if global.json { Box::new(JsonLines) } else { Box::new(Console::new(global.quiet)) }
}

/// Prints the report, writes it into the folder and returns the exit code.
fn conclude(
    ended: Result<(std::path::PathBuf, Vec<Outcome>), RunError>,
    global: &Global,
    listener: Box<dyn Listener>,
) -> Exit {
    drop(listener);
    let (path, outcomes) = match ended {
        Ok(done) => done,
        Err(error) => return fail(&error),
    };
    let written = Report::from_folder(&path, tech::ALL).and_then(|report| {
        let html = report.render("html")?;
        Ok((report.render("text")?, html, report.audit.findings))
    });
    let (text, html, findings) = match written {
        Ok(all) => all,
        Err(error) => {
            err(&format!("error: {error}\n"));
            return Exit::Failed;
        }
    };
    let page = path.join("report.html");
    if let Err(error) = store::write_whole(&page, &html) {
        err(&format!("error: {error}\n"));
        return Exit::Failed;
    }
    if !global.json {
        out(&format!("\n{text}\nReport: {}\n", page.display()));
    }
    if report::verdict(&path, &findings) != Exit::Done {
        return Exit::Failed;
    }
    let tested = store::read_document::<SelfTest>(&path.join(store::SELF_TEST)).ok().flatten();
    if let Some(test) = tested.filter(|test| !test.passed) {
        err("error: the self-test failed: do not use the results of this run; see `natmeter selftest`\n");
        for check in test.checks.iter().filter(|check| check.verdict() == "failed") {
            err(&format!("  {}: truth {}; measured {}\n", check.name, check.truth, check.measured));
            err(&deciding(check, "    "));
        }
        err(&format!("  trials of these checks: {}\n", path.join(store::SELF_TEST_TRIALS).display()));
        return Exit::Failed;
    }
    let header = header(&path, tech::ALL).ok();
    let missing = header.as_ref().map(|header| missing(header, &outcomes)).unwrap_or_default();
    if !missing.is_empty() {
        err(&format!(
            "error: no result for {}; `natmeter resume {}` continues the run\n",
            missing.join(", "),
            path.display()
        ));
        return Exit::Incomplete;
    }
    let calibration = store::read_document::<Calibration>(&path.join(store::CALIBRATION)).ok().flatten();
    let max_rate = header.and_then(|header| header.scenario.max_rate());
    let facts = store::read_document::<Facts>(&path.join(store::FACTS)).ok().flatten();
    let limited = outcomes.iter().any(|o| is_limited(o, max_rate, calibration.as_ref()))
        || facts.is_some_and(|f| f.without_result() > 0);
    if limited { Exit::TesterLimit } else { Exit::Done }
}

/// Whether a result is a bound set by the tester or its host, and not the device's rate. A search that passed up to the usable
/// share of the tester ceiling is such a bound; a search that passed up to the scenario's `max-rate` is not.
fn is_limited(outcome: &Outcome, max_rate: Option<u64>, calibration: Option<&Calibration>) -> bool {
    let Measurement { point, metric, .. } = &outcome.measurement;
    match outcome.result.kind {
        ResultKind::Exact => false,
        ResultKind::AtUpperLimit => {
            let ceiling = calibration.and_then(|c| c.at(point.connections, &point.axes)).and_then(|c| c.of(metric));
            is_upper_end_the_testers(max_rate, ceiling)
        }
        _ => true,
    }
}

/// Keys of the measurements without a result. With a time limit, only first repetitions count, because the scenario allows
/// natmeter to skip the others.
fn missing(header: &Header, outcomes: &[Outcome]) -> Vec<String> {
    let limit = header.scenario.time_limit;
    let due = |m: &&Measurement| m.repetition <= 1 || limit.is_none();
    let missing = |m: &&Measurement| !outcomes.iter().any(|o| o.measurement == **m);
    header.plan.measurements.iter().filter(due).filter(missing).map(Measurement::key).collect()
}
