//! `natmeter run` and `natmeter resume`: from a scenario to a run folder with a report.

use super::earlier::{latest, missing};
use super::load::{fits, is_run, load, planned, tell};
use super::selftest::deciding;
use super::turn::MyTurn;
use super::{fail, failed, privilege, report, usage};
use crate::advice::{self, Machine};
use crate::cli::{Output, RunOptions, Turn};
use crate::console::{Console, JsonLines};
use crate::event::{Event, Listener};
use crate::exit::Exit;
use crate::installed::QUICKSTART_WORD;
use crate::rig::RunContext;
use crate::run::{Run, RunError};
use crate::term::{err, out};
use crate::{build_info, facts, selftest};
use record::doubt::Doubt;
use record::folder::{Calibration, Header, Outcome, SelfTest};
use record::merge;
use record::plan::Measurement;
use record::read::header;
use record::report::Report;
use record::search::is_upper_end_the_testers;
use record::store::date::rfc3339;
use record::store::{self, Dir, PAGE, Repair, RunFolder, StoreError, TRIALS};
use scenario::limits::Limits;
use std::path::Path;
use std::time::SystemTime;

pub(super) fn run(file: Option<&Path>, options: &RunOptions, output: Output) -> Result<Exit, Exit> {
    let RunOptions { changes, turn, folder: runs, limits } = options;
    let mut loaded = load(file, changes, output)?;
    if let Some(file) = limits {
        let (limits, text) = report::limits(file, output)?;
        (loaded.scenario.limits, loaded.options.limits) = (limits, Some(text));
    }
    let limits = Some(loaded.scenario.limits.clone());
    if let Some((run, is_complete)) = runs.go_on.then(|| latest(runs.path(), &loaded)).flatten() {
        return if is_complete {
            report::of_run(&run, limits.as_ref(), output)
        } else {
            go_on(&run, *turn, runs.skip_self_test, limits.as_ref(), output)
        };
    }
    let plan = planned(&loaded.scenario, output)?;
    fits(&loaded.scenario, &plan, output)?;
    // Before any change, and before entering a network namespace, from which other runs are not visible.
    let testing = SelfTesting { is_skipped: runs.skip_self_test, is_advisory: turn.beside };
    let mut turn = MyTurn::at_ports(*turn, &loaded.scenario)?;
    privilege(&loaded.scenario, &plan, &mut turn)?;
    tell(&advice::advice(&loaded, &plan, Machine::here()), output);
    let now = SystemTime::now();
    let header =
        Header { commit: build_info::commit(), ..Header::new(rfc3339(now), loaded.scenario, loaded.options, plan) };
    measure(&header, &mut turn, &testing, limits.as_ref(), output, || {
        Ok((RunFolder::create(runs.path(), &header.scenario.name, now, &loaded.text, &header)?, Vec::new()))
    })
}

pub(super) fn resume(run: &Path, turn: Turn, output: Output) -> Result<Exit, Exit> {
    go_on(run, turn, false, None, output)
}

fn go_on(path: &Path, turn: Turn, skip_self_test: bool, limits: Option<&Limits>, output: Output) -> Result<Exit, Exit> {
    // Before the lock: waiting for another run would be in vain.
    is_run(path)?;
    if merge::is_merged(path) {
        let path = path.display();
        return Err(usage(format_args!("{path} joins several runs: resume one of them, and merge again")));
    }
    let testing = SelfTesting { is_skipped: skip_self_test, is_advisory: turn.beside };
    let header = header(path, tech::ALL).map_err(fail)?;
    let mut turn = MyTurn::at_ports(turn, &header.scenario)?;
    privilege(&header.scenario, &header.plan, &mut turn)?;
    measure(&header, &mut turn, &testing, limits, output, || RunFolder::open_for_resume(path))
}

fn measure(
    header: &Header,
    turn: &mut MyTurn,
    testing: &SelfTesting,
    limits: Option<&Limits>,
    output: Output,
    open: impl FnOnce() -> Result<(RunFolder, Vec<Repair>), StoreError>,
) -> Result<Exit, Exit> {
    // From the folder's creation on, a signal must end the run in order.
    let process = turn.process()?;
    let (folder, repairs) = open().map_err(fail)?;
    let path = folder.path().to_path_buf();
    let mut listener = listener(output);
    for repair in repairs {
        let text = format!("removed an incomplete line of {} bytes from {}", repair.bytes, repair.file);
        listener.on(&Event::Repaired { text });
    }
    let run = Run::open(header, folder, process.clone(), &mut *listener);
    let ended = run.and_then(|run| carry_out(run, turn.beside.take(), testing, &process));
    drop(listener);
    let outcomes = ended.map_err(|error| {
        let has_trials =
            || Dir::open(&path).is_ok_and(|folder| folder.attributes(TRIALS).is_some_and(|of| of.st_size > 0));
        if error.is_of_measuring() && has_trials() {
            // What was measured until then, with the cause as its first doubt; the error below counts.
            let _ = show(&path, limits, output);
        }
        fail(error)
    })?;
    conclude(&path, &outcomes, limits, output)
}

struct SelfTesting {
    /// The run has no self-test (`--skip-self-test`).
    is_skipped: bool,
    /// The run starts even on a host that is too busy (`--beside`).
    is_advisory: bool,
}

/// `beside` is the doubt about another process that measures.
fn carry_out(
    mut run: Run,
    beside: Option<String>,
    testing: &SelfTesting,
    process: &RunContext,
) -> Result<Vec<Outcome>, RunError> {
    let mut facts = facts::of_this_machine();
    facts.doubts.extend(beside.map(Doubt::Other));
    let tested = if !run.sends_frames() || run.is_tested_on(&facts)? {
        None
    } else if testing.is_skipped {
        facts.doubts.push(Doubt::SelfTestSkipped);
        None
    } else {
        run.announce()?;
        let Some(tested) = selftest::quick(process, &mut run) else { return Err(run.interrupted()) };
        if selftest::is_host_too_busy(&tested.verdict) && !testing.is_advisory {
            return Err(run.host_too_busy());
        }
        Some(tested)
    };
    run.complete(facts, tested)
}

fn listener(output: Output) -> Box<dyn Listener> {
    if output.json { Box::new(JsonLines) } else { Box::new(Console::new(output)) }
}

/// What a user may do after a run, one command a line with its purpose.
fn next(run: &Path, scenario: &str) -> String {
    let more = [
        ("natmeter run kernel-nat44", "this kernel's NAT"),
        ("natmeter try-box", "a router of your own, step by step"),
    ];
    let more = more.into_iter().filter(|_| scenario == QUICKSTART_WORD).map(|(line, what)| (line.to_owned(), what));
    let all = (format!("natmeter report --verbose {}", run.display()), "every number");
    let lines = [all].into_iter().chain(more).enumerate();
    let line = |(at, (line, what)): (usize, (String, &str))| {
        format!("{:10}{line:<28}  {what}\n", if at == 0 { "Next" } else { "" })
    };
    lines.map(line).collect()
}

/// Prints the report and writes it into the folder.
fn show(path: &Path, limits: Option<&Limits>, output: Output) -> Result<Report, Exit> {
    let report = report::read(path, limits)?;
    let folder = Dir::open(path).map_err(failed)?;
    folder.replace(PAGE, &report.render("html").map_err(failed)?).map_err(failed)?;
    if !output.json {
        let next = next(path, &report.header.scenario.name);
        let page = folder.path_of(PAGE);
        let text = report.text(report::screen(output.verbose));
        out(&format!(
            "{text}{}
Report    {}
{next}",
            report::lines(&report),
            page.display()
        ));
    }
    Ok(report)
}

/// Prints the results, and returns what they and the self-test say of the run.
fn conclude(path: &Path, outcomes: &[Outcome], limits: Option<&Limits>, output: Output) -> Result<Exit, Exit> {
    let report = show(path, limits, output)?;
    let folder = Dir::open(path).map_err(failed)?;
    if report::verdict(path, &report.audit.findings) != Exit::Done {
        return Err(Exit::Failed);
    }
    let tested = folder.document::<SelfTest>(store::SELF_TEST).ok().flatten();
    if let Some(test) = tested.filter(|test| !test.passed) {
        err("error: the self-test failed: do not use the results of this run; see `natmeter selftest`\n");
        for check in test.checks.iter().filter(|check| check.verdict() == "failed") {
            err(&format!("  {}: truth {}; measured {}\n", check.name, check.truth, check.measured));
            err(&deciding(check, "    "));
        }
        err(&format!("  trials of these checks: {}\n", folder.path_of(store::SELF_TEST_TRIALS).display()));
        return Err(Exit::Failed);
    }
    let of_limits = report::of_limits(&report);
    if of_limits == Some(Exit::LimitMissed) {
        return Ok(Exit::LimitMissed);
    }
    let header = header(path, tech::ALL).ok();
    let (missing, without) = header.as_ref().map(|header| missing(header, outcomes)).unwrap_or_default();
    let resume = format!("`natmeter resume {}`", path.display());
    if !missing.is_empty() {
        let fails = report.facts.doubts.iter().any(|doubt| matches!(doubt, Doubt::NoResult(..)));
        let mend = if fails { "the doubts say what to mend first; " } else { "" };
        err(&format!("error: no result for {}; {mend}{resume} continues the run\n", missing.join(", ")));
        return Err(Exit::Incomplete);
    }
    if !without.is_empty() {
        err(&format!("note: no result for the repetitions {}; {resume} repeats them\n", without.join(", ")));
    }
    if let Some(of_limits) = of_limits {
        return Ok(of_limits);
    }
    let calibration = folder.document::<Calibration>(store::CALIBRATION).ok().flatten();
    Ok(Exit::of_results(outcomes, |o| {
        let Measurement { point, metric, .. } = &o.measurement;
        let here = header.as_ref().map(|header| point.of(&header.scenario));
        let known = calibration.as_ref().zip(here.as_deref());
        let ceiling = known.and_then(|(c, here)| c.at(here, point.connections, &point.axes)?.of(metric));
        let max_rate = here.as_deref().and_then(scenario::Scenario::max_rate);
        let null = known.and_then(|(c, _)| c.null_of(metric, |at| at == point));
        is_upper_end_the_testers(max_rate, ceiling, null)
    }))
}
