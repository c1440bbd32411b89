//! `natmeter compare`: the differences between runs, and conditions that values must not meet.

use super::{failed, report, show, usage};
use crate::cli::{CompareArgs, Output};
use crate::exit::Exit;
use crate::term::{err_lines, folded};
use record::compare::threshold::{Meets, is_about, judge, sentence};
use record::compare::{ComparedValue, Comparison, Difference, Finding, Run, compare, text};
use record::report::number::significant;
use std::path::Path;

/// Width of comparisons and series in columns, whatever the terminal.
pub(super) const COLUMNS: usize = 80;

pub(super) fn compare_runs(args: &CompareArgs, output: Output) -> Result<Exit, Exit> {
    match checked(args, output) {
        exit @ Ok(Exit::Done | Exit::Failed) => exit,
        // `git bisect run` takes every other code up to 127 for a bad revision.
        _ if args.bisect => Ok(Exit::Undecided),
        exit => exit,
    }
}

/// Returns the exit code after printing an error, also if a run is damaged.
fn checked(args: &CompareArgs, output: Output) -> Result<Exit, Exit> {
    if args.runs.len() < 2 && args.fail_under.is_empty() {
        return Err(usage("a single run cannot be compared: name two or more runs, or give --fail-under CONDITION"));
    }
    if args.runs.len() < 2 && args.fail_if_slower.is_some() {
        return Err(usage("--fail-if-slower needs a reference: name two or more runs, the reference first"));
    }
    let runs = args.runs.iter().map(|path| read(path)).collect::<Result<Vec<Run>, Exit>>()?;
    let comparison = compare(&runs);
    show(output, &comparison, || format!("{}\n", folded(&text(&comparison), COLUMNS)));
    let mut checks = under(args, &runs)?;
    checks.extend(args.fail_if_slower.iter().flat_map(|ppm| slower(&comparison, *ppm)));
    let damaged = runs.iter().map(|run| report::verdict(&run.folder, &run.report.audit.findings));
    if damaged.fold(false, |any, exit| any | (exit != Exit::Done)) { Err(Exit::Failed) } else { Ok(conclude(&checks)) }
}

fn read(path: &Path) -> Result<Run, Exit> {
    super::load::is_run(path)?;
    Run::read(path, tech::ALL).map_err(failed)
}

/// A check that fails or leaves the condition undecided.
struct ConditionCheck {
    exit: Exit,
    sentence: String,
}

/// Checks of all runs except the reference.
fn under(args: &CompareArgs, runs: &[Run]) -> Result<Vec<ConditionCheck>, Exit> {
    let judged = if runs.len() > 1 { &runs[1..] } else { runs };
    let mut checks = Vec::new();
    for threshold in &args.fail_under {
        for run in judged {
            let folder = run.folder.display();
            let mut results = run.report.results.iter().filter(|result| is_about(threshold, result)).peekable();
            if results.peek().is_none() {
                let what = &threshold.text;
                return Err(usage(format_args!("{folder} has no value for `{what}`: name a metric of its report")));
            }
            for result in results {
                let check = |exit, sentence| ConditionCheck { exit, sentence: format!("{sentence} ({folder})") };
                let meets = match judge(threshold, result, None) {
                    Meets::Yes | Meets::No if args.bisect && !result.has_interval() => Meets::Near,
                    meets => meets,
                };
                checks.extend(sentence(threshold, meets, result).map(|sentence| check(exit_of(meets), sentence)));
            }
        }
    }
    Ok(checks)
}

/// The value meets a condition, or can meet it.
fn exit_of(meets: Meets) -> Exit {
    match meets {
        Meets::Yes => Exit::Failed,
        Meets::No => Exit::Done,
        Meets::Bounded => Exit::TesterLimit,
        Meets::Near | Meets::NoValue => Exit::Incomplete,
    }
}

/// Rates slower by more than `ppm`, and those without a judgement.
fn slower(comparison: &Comparison, ppm: u32) -> Vec<ConditionCheck> {
    let percent = f64::from(ppm) / 10_000.0;
    let limit = significant(percent, 3);
    let mut checks = Vec::new();
    for point in &comparison.points {
        for ComparedValue { run, difference, .. } in &point.values {
            let Some(difference) = difference else { continue };
            let place = &point.place;
            let (exit, sentence) = match difference.finding {
                _ if difference.is_worse_by(percent, &point.metric) => {
                    (Exit::Failed, format!("{place} is worse in run {run} by more than {limit} %"))
                }
                finding if finding.is_judged() => continue,
                finding => (exit_of_finding(finding), format!("{place} in run {run}: {}", finding.in_words())),
            };
            checks.push(ConditionCheck { exit, sentence: with_figures(sentence, difference) });
        }
    }
    checks
}

fn exit_of_finding(finding: Finding) -> Exit {
    if finding == Finding::Bounded { Exit::TesterLimit } else { Exit::Incomplete }
}

fn with_figures(sentence: String, difference: &Difference) -> String {
    let words = |value: f64| significant(value, 3);
    match (difference.low, difference.high) {
        (Some(low), Some(high)) => format!("{sentence}: {} to {} %", words(low), words(high)),
        _ => sentence,
    }
}

/// A failure takes precedence over a bound, and a bound over a missing value.
fn conclude(checks: &[ConditionCheck]) -> Exit {
    for check in checks {
        let kind = if check.exit == Exit::Failed { "error" } else { "note" };
        err_lines(&format!("{kind}: {}", check.sentence));
    }
    let first = |exit: &Exit| checks.iter().any(|check| check.exit == *exit);
    [Exit::Failed, Exit::TesterLimit, Exit::Incomplete].into_iter().find(first).unwrap_or(Exit::Done)
}
