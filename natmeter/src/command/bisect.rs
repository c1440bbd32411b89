//! `natmeter bisect`: finds the first revision of a device whose values meet a condition.
//!
//! The folder of a bisection holds `bisect.json` (its settings), `steps.jsonl` (one verdict a line) and the run folders.
//! An interrupted bisection continues with the next revision without a verdict.

use super::compare::read;
use super::{failed, load};
use crate::cli::{BisectArgs, Output};
use crate::exit::Exit;
use crate::signals;
use crate::term::{self, err, out};
use record::bisect::{Next, Search, Verdict};
use record::compare::threshold::{Meets, Threshold};
use record::compare::{Run, run_folders, scenario_id};
use record::report::number::plural;
use record::store::{Appender, Dir, read_document, write_whole};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The file of settings. A command line with other settings is another bisection.
const SETTINGS: &str = "bisect.json";
/// The file of verdicts.
const STEPS: &str = "steps.jsonl";
/// Exit code of the command if a revision cannot be tested, as in `git bisect run`.
const CANNOT_BE_TESTED: i32 = 125;
/// Interval at which natmeter checks whether a process has ended.
const POLL: Duration = Duration::from_millis(20);
/// Environment variable of the command with the revision.
const REVISION: &str = "NATMETER_REVISION";

/// The content of `bisect.json`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Settings {
    revisions: Vec<String>,
    conditions: Vec<String>,
    scenario: PathBuf,
    options: Vec<String>,
    command: Vec<String>,
    tries: u32,
    /// What identifies the texts of scenario and bed since the last call of the command, which may write them; `None` if there
    /// is no valid scenario.
    scenario_id: Option<String>,
}

/// The folder of a bisection.
struct Folder<'a> {
    args: &'a BisectArgs,
    settings: Settings,
    log: Appender,
}

/// A line of `steps.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tried {
    revision: String,
    verdict: Verdict,
    /// Its values, one sentence each, and the reason for the verdict.
    reasons: Vec<String>,
    /// Its runs.
    runs: Vec<PathBuf>,
}

/// `natmeter bisect --good REV --bad REV … SCENARIO -- CMD`.
pub(super) fn bisect(args: &BisectArgs, output: Output) -> Result<Exit, Exit> {
    let revisions = revisions(args)?;
    let (mut folder, steps) = Folder::open(args, &revisions)?;
    let stop = Arc::new(AtomicBool::new(false));
    signals::end_on(&stop).map_err(failed)?;
    let mut search = Search::among(revisions.len());
    let mut known: Vec<Tried> = Vec::new();
    for step in steps {
        note(&mut search, &revisions, &step);
        known.push(step);
    }
    loop {
        match search.next() {
            Next::Test(at) => {
                let testing = Testing { args, output, stop: &stop, revision: &revisions[at], number: at };
                let is_installed = testing.install();
                folder.note_texts()?;
                let step = testing.step(is_installed?)?;
                folder.check_texts()?;
                folder.log.append(&step).and_then(|()| folder.log.sync()).map_err(failed)?;
                tell(&step, output);
                note(&mut search, &revisions, &step);
                known.push(step);
            }
            end => return Ok(conclude(&end, &revisions, &known, output)),
        }
    }
}

fn note(search: &mut Search, revisions: &[String], step: &Tried) {
    if let Some(at) = revisions.iter().position(|revision| *revision == step.revision) {
        search.note(at, step.verdict);
    }
}

fn usage(text: &str) -> Exit {
    err(&format!("error: {text}\n"));
    Exit::Usage
}

/// The revisions from the good one to the bad one.
fn revisions(args: &BisectArgs) -> Result<Vec<String>, Exit> {
    let BisectArgs { good, bad, .. } = args;
    if let Some(repository) = &args.git {
        return commits(repository, good, bad);
    }
    let is_again = |(at, revision): &(usize, &String)| args.revisions[..*at].contains(revision);
    if let Some((_, revision)) = args.revisions.iter().enumerate().find(is_again) {
        return Err(usage(&format!("`{revision}` stands twice in --revisions: list each revision once")));
    }
    let at = |revision: &String, option: &str| {
        let missing = || usage(&format!("`{revision}` of {option} is not among --revisions: list it"));
        args.revisions.iter().position(|listed| listed == revision).ok_or_else(missing)
    };
    let (from, to) = (at(good, "--good")?, at(bad, "--bad")?);
    if from >= to {
        return Err(usage(&format!("`{bad}` is not after `{good}` in --revisions: list them from old to new")));
    }
    Ok(args.revisions[from..=to].to_vec())
}

/// The commits from the good one to the bad one: each is the first parent of the next.
fn commits(repository: &Path, good: &str, bad: &str) -> Result<Vec<String>, Exit> {
    let commit = |revision: &str| git(repository, &["rev-parse", "--verify", &format!("{revision}^{{commit}}")]);
    let (from, to) = (commit(good)?, commit(bad)?);
    if from == to {
        return Err(usage(&format!("`{good}` and `{bad}` are the same commit: name a later one with --bad")));
    }
    // Empty if every commit that the good one has is also one of the bad one.
    if !git(repository, &["rev-list", "--max-count=1", &format!("{to}..{from}")])?.is_empty() {
        return Err(usage(&format!(
            "`{good}` is not an ancestor of `{bad}`: exchange --good and --bad, or name the commit that `git merge-base \
             {good} {bad}` prints"
        )));
    }
    let listed = git(repository, &["rev-list", "--reverse", "--first-parent", "--parents", &format!("{from}..{to}")])?;
    // Each line has a commit, then its parents.
    if listed.split_whitespace().nth(1) != Some(&*from) {
        return Err(usage(&format!(
            "`{good}` came to `{bad}` by a merge, and is no first parent: name a commit of `git rev-list --first-parent \
             {bad}`, or list the commits with --revisions"
        )));
    }
    let later = listed.lines().filter_map(|line| line.split_whitespace().next());
    Ok([&*from].into_iter().chain(later).map(str::to_owned).collect())
}

fn git(repository: &Path, words: &[&str]) -> Result<String, Exit> {
    let command = Command::new("git").arg("-C").arg(repository).args(words).output();
    let output = command.map_err(|e| usage(&format!("git cannot be started: {e}; install it, or use --revisions")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(usage(&format!("git {}: {}", words.join(" "), said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns what identifies the texts of scenario and bed; `None` if there is no valid scenario.
fn texts(args: &BisectArgs) -> Option<String> {
    let loaded = load::read(Some(&args.scenario), &args.changes).ok()?;
    Some(scenario_id(&loaded.text, &loaded.options))
}

impl<'a> Folder<'a> {
    /// Opens the folder of a new or interrupted bisection, and returns its steps.
    fn open(args: &'a BisectArgs, revisions: &[String]) -> Result<(Folder<'a>, Vec<Tried>), Exit> {
        let mut settings = Settings {
            revisions: revisions.to_vec(),
            conditions: args.fail_under.iter().map(|threshold| threshold.text.clone()).collect(),
            scenario: args.scenario.clone(),
            options: args.changes.arguments(),
            command: args.command.clone(),
            tries: args.tries,
            scenario_id: texts(args),
        };
        std::fs::create_dir_all(&args.folder).map_err(failed)?;
        let known = read_document::<Settings>(&args.folder.join(SETTINGS)).map_err(failed)?;
        let is_new = known.is_none();
        if let Some(known) = known {
            // Texts that differ have an error of their own.
            settings.scenario_id.clone_from(&known.scenario_id);
            if known != settings {
                let folder = args.folder.display();
                return Err(usage(&format!("{folder} holds another bisection: name another folder with --folder")));
            }
        }
        let path = args.folder.join(STEPS);
        let (log, _) = Appender::open(&Dir::open(&args.folder).map_err(failed)?, STEPS, true).map_err(failed)?;
        let folder = Folder { args, settings, log };
        if is_new {
            folder.write()?;
        }
        folder.check_texts()?;
        let steps = record::store::read_lines(&path).map_err(failed)?.values;
        Ok((folder, steps))
    }

    fn write(&self) -> Result<(), Exit> {
        let text = serde_json::to_string_pretty(&self.settings).map_err(failed)?;
        write_whole(&self.args.folder.join(SETTINGS), &format!("{text}\n")).map_err(failed)
    }

    /// Notes the texts that the command has written.
    fn note_texts(&mut self) -> Result<(), Exit> {
        let texts = texts(self.args);
        if self.settings.scenario_id == texts {
            return Ok(());
        }
        self.settings.scenario_id = texts;
        self.write()
    }

    /// Refuses a scenario or bed that changed otherwise: its values are those of another bisection.
    fn check_texts(&self) -> Result<(), Exit> {
        if self.settings.scenario_id == texts(self.args) {
            return Ok(());
        }
        let (scenario, folder) = (self.args.scenario.display(), self.args.folder.display());
        Err(usage(&format!(
            "{scenario} or its test bed changed during the bisection in {folder}: restore the file, or name another folder \
             with --folder"
        )))
    }
}

/// The test of one revision.
struct Testing<'a> {
    args: &'a BisectArgs,
    output: Output,
    stop: &'a AtomicBool,
    revision: &'a str,
    number: usize,
}

impl Testing<'_> {
    /// Runs the scenario until there is a verdict.
    fn step(&self, is_installed: bool) -> Result<Tried, Exit> {
        let step = |verdict, reasons, runs| Tried { revision: self.revision.to_owned(), verdict, reasons, runs };
        if !is_installed {
            return Ok(step(Verdict::Skipped, vec!["the command cannot install it".to_owned()], Vec::new()));
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut judged: Vec<Judged> = Vec::new();
        for number in 1..=self.args.tries {
            let Some(run) = self.run(number)? else { continue };
            judged.push(judge(&self.args.fail_under, &run)?);
            runs.push(run);
            if judged.last().is_some_and(Judged::is_clear) {
                break;
            }
        }
        let folders = runs.iter().map(|run| run.folder.clone()).collect();
        let (verdict, reasons) = verdict(&judged, self.args.tries);
        Ok(step(verdict, reasons, folders))
    }

    /// Calls the command; `false` if the revision cannot be tested.
    fn install(&self) -> Result<bool, Exit> {
        let words = self.args.command.join(" ");
        if !self.output.quiet && !self.output.json {
            err(&format!("{}: {words} {}\n", self.revision, self.revision));
        }
        let (program, rest) = self.args.command.split_first().ok_or(Exit::Usage)?;
        let mut command = Command::new(program);
        command.args(rest).arg(self.revision).env(REVISION, self.revision).stdin(Stdio::null());
        // The standard output is that of natmeter.
        let status = self.wait_for(command.stdout(std::io::stderr()));
        let status = status.map_err(|e| usage(&format!("`{program}` cannot be started: {e}")))?;
        self.interrupted()?;
        match status.code() {
            Some(0) => Ok(true),
            Some(CANNOT_BE_TESTED) => Ok(false),
            _ => {
                err(&format!(
                    "error: `{words} {}` ended with {status}: let it exit with 0 if the revision is installed, with \
                     {CANNOT_BE_TESTED} if it cannot be tested\n",
                    self.revision
                ));
                Err(Exit::Failed)
            }
        }
    }

    /// Runs a process to its end. Forwards a request to stop to the process, which restores the settings that it changed.
    fn wait_for(&self, command: &mut Command) -> io::Result<ExitStatus> {
        let mut child = command.spawn()?;
        let mut is_told = false;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if !is_told && self.stop.load(Ordering::Relaxed) {
                is_told = true;
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // Fails if the process has just ended.
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
            std::thread::sleep(POLL);
        }
    }

    fn interrupted(&self) -> Result<(), Exit> {
        if self.stop.load(Ordering::Relaxed) {
            err("interrupted: the same command line continues the bisection\n");
            return Err(Exit::Interrupted);
        }
        Ok(())
    }

    /// Runs the scenario in a process of its own; `None` if the run has no report.
    fn run(&self, number: u32) -> Result<Option<Run>, Exit> {
        let BisectArgs { folder, scenario, changes, turn, .. } = self.args;
        let parent = folder.join(format!("revision-{:04}", self.number)).join(format!("run-{number}"));
        let before = run_folders(&parent).unwrap_or_default();
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("run").arg(scenario).arg("--quiet").arg("--runs").arg(&parent);
        command.args(changes.arguments());
        let given = [(turn.beside, "--beside"), (turn.wait, "--wait")];
        command.args(given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option));
        let status = self.wait_for(command.stdin(Stdio::null()).stdout(Stdio::null())).map_err(failed)?;
        self.interrupted()?;
        let code = status.code();
        let is = |exit: Exit| code == Some(i32::from(exit as u8));
        if ![Exit::Done, Exit::TesterLimit, Exit::Incomplete].into_iter().any(is) {
            err(&format!("error: revision {}: the run ended with {status}; its message is above\n", self.revision));
            let known = Exit::ALL.into_iter().find(|exit| is(*exit));
            return Err(known.unwrap_or(Exit::Failed));
        }
        let created = run_folders(&parent).map_err(failed)?.into_iter().find(|path| !before.contains(path));
        created.map(|path| read(&path)).transpose()
    }
}

/// The verdict of one run on a revision.
struct Judged {
    /// `None`: a value is a bound or missing, so the run has no verdict.
    is_bad: Option<bool>,
    /// The interval of a value contains the limit of a condition, or a value has no interval.
    is_near: bool,
    sentences: Vec<String>,
}

impl Judged {
    fn is_clear(&self) -> bool {
        self.is_bad.is_some() && !self.is_near
    }
}

fn judge(thresholds: &[Threshold], run: &Run) -> Result<Judged, Exit> {
    let (mut met, mut undecided, mut is_near, mut sentences) = (false, false, false, Vec::new());
    for threshold in thresholds {
        let results: Vec<_> = run.report.results.iter().filter(|result| threshold.is_about(result)).collect();
        if results.is_empty() {
            return Err(usage(&format!("the scenario has no value for `{}`: add its metric", threshold.text)));
        }
        for result in results {
            let meets = threshold.judge(result);
            met |= meets == Meets::Yes;
            undecided |= matches!(meets, Meets::Bounded | Meets::NoValue);
            is_near |= threshold.is_near(result);
            sentences.push(threshold.sentence(meets, result).unwrap_or_else(|| Threshold::value(result)));
        }
    }
    // A single value that meets a condition makes a revision bad.
    let is_bad = if met { Some(true) } else { (!undecided).then_some(false) };
    Ok(Judged { is_bad, is_near, sentences })
}

/// The verdict on a revision: that of a clear run, or else of most valid runs.
fn verdict(judged: &[Judged], tries: u32) -> (Verdict, Vec<String>) {
    let of = |is_bad: bool| if is_bad { Verdict::Bad } else { Verdict::Good };
    if let Some(clear) = judged.iter().rev().find(|run| run.is_clear()) {
        return (of(clear.is_bad == Some(true)), clear.sentences.clone());
    }
    let valid: Vec<bool> = judged.iter().filter_map(|run| run.is_bad).collect();
    let bad = valid.iter().filter(|is_bad| **is_bad).count();
    let last = judged.last().map(|run| run.sentences.clone()).unwrap_or_default();
    if valid.is_empty() || bad * 2 == valid.len() {
        let runs = plural(tries.into(), "run");
        return (Verdict::Skipped, [vec![format!("no verdict in {runs}")], last].concat());
    }
    let of_runs = plural(valid.len() as u64, "run");
    let near = format!("bad in {bad} of {of_runs}: an interval contains the limit, or repetitions are too few for one");
    (of(bad * 2 > valid.len()), [vec![near], last].concat())
}

fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Bad => "bad",
        Verdict::Skipped => "skipped",
    }
}

fn tell(step: &Tried, output: Output) {
    if output.json {
        term::json(&json!({ "event": "revision", "step": step }));
    } else {
        let reasons = step.reasons.join("; ");
        out(&format!("{}: {}; {reasons}\n", step.revision, in_words(step.verdict)));
    }
}

/// Prints the end of the search, and returns the exit code.
fn conclude(end: &Next, revisions: &[String], steps: &[Tried], output: Output) -> Exit {
    let reasons = |revision: &String| {
        let step = steps.iter().find(|step| step.revision == *revision);
        step.map(|step| format!("  {}\n", step.reasons.join("\n  "))).unwrap_or_default()
    };
    let (candidates, text, exit) = match end {
        Next::Found(at) => {
            let (bad, good) = (&revisions[*at], &revisions[at - 1]);
            (vec![bad], format!("first bad revision: {bad}\n{}last good revision: {good}\n", reasons(bad)), Exit::Done)
        }
        Next::OneOf(all) => {
            let all: Vec<&String> = all.iter().map(|at| &revisions[*at]).collect();
            let names = all.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            (all, format!("the first bad revision is one of {names}: the others were skipped\n"), Exit::Incomplete)
        }
        Next::Nothing(at, verdict) => {
            let (revision, needed) = (&revisions[*at], if *at == 0 { "good" } else { "bad" });
            let exit = if *verdict == Verdict::Skipped { Exit::Incomplete } else { Exit::Failed };
            err(&format!(
                "error: {revision} should be {needed}, and is {}: name another revision with --{needed}\n{}",
                in_words(*verdict),
                reasons(revision)
            ));
            (Vec::new(), String::new(), exit)
        }
        Next::Test(_) => (Vec::new(), String::new(), Exit::Done),
    };
    if output.json {
        term::json(&json!({ "event": "bisected", "first_bad": candidates, "exit": exit.name() }));
    } else {
        out(&text);
    }
    exit
}
