//! `natmeter report`: prints the report of a run folder, in any format.

use super::load::{is_run, unusable};
use super::{failed, import};
use crate::cli::{Output, ReportArgs};
use crate::exit::Exit;
use crate::term::{columns_of, err, folded, out};
use record::audit::Finding;
use record::report::judged::LimitVerdict;
use record::report::{Report, Screen};
use scenario::limits::Limits;
use std::path::Path;

/// That of the terminal, or the usual one.
pub(super) fn screen(verbose: bool) -> Screen {
    Screen { columns: columns_of(std::io::stdout()).unwrap_or(Screen::USUAL.columns), verbose }
}

pub(super) fn report(args: &ReportArgs, output: Output) -> Result<Exit, Exit> {
    let limits = args.limits.as_deref().map(|file| limits(file, output)).transpose()?;
    print(args, limits.map(|(limits, _)| limits).as_ref(), output)
}

fn print(args: &ReportArgs, limits: Option<&Limits>, output: Output) -> Result<Exit, Exit> {
    let format = args.format.as_deref().unwrap_or(output.format());
    is_run(&args.run)?;
    let imported = import::read(&args.compare_with)?;
    let mut report = read(&args.run, limits)?;
    report.imported = imported;
    let text =
        if format == "text" { report.text(screen(output.verbose)) } else { report.render(format).map_err(failed)? };
    out(&text);
    if format == "text" && !output.verbose {
        out(&lines(&report));
    }
    match verdict(&args.run, &report.audit.findings) {
        Exit::Done => Ok(of_limits(&report).unwrap_or(Exit::Done)),
        damaged => Ok(damaged),
    }
}

pub(super) fn of_run(run: &Path, limits: Option<&Limits>, output: Output) -> Result<Exit, Exit> {
    print(&ReportArgs { run: run.to_path_buf(), ..ReportArgs::default() }, limits, output)
}

/// Reads the limits of a file, and its text.
pub(super) fn limits(file: &Path, output: Output) -> Result<(Limits, String), Exit> {
    scenario::limits::read(file).map_err(|error| unusable(&error, output))
}

pub(super) fn read(run: &Path, limits: Option<&Limits>) -> Result<Report, Exit> {
    let mut report = Report::from_folder(run, tech::ALL).map_err(failed)?;
    let limits = limits.unwrap_or(&report.header.scenario.limits).clone();
    let baseline = limits.baseline.as_deref().and_then(|baseline| {
        let read = Report::from_folder(baseline, tech::ALL);
        read.inspect_err(|error| err(&format!("note: no baseline for the limits: {error}\n"))).ok()
    });
    report.judge(&limits, baseline.as_ref());
    Ok(report)
}

/// The judged limits, a line each.
pub(super) fn lines(report: &Report) -> String {
    report.limits.iter().map(|judged| folded(&judged.line(), Screen::USUAL.columns) + "\n").collect()
}

/// The exit code of the limits; none without limits.
pub(super) fn of_limits(report: &Report) -> Option<Exit> {
    let has = |verdict| report.limits.iter().any(|judged| judged.verdict == verdict);
    match () {
        () if report.limits.is_empty() => None,
        () if has(LimitVerdict::Missed) => Some(Exit::LimitMissed),
        () if has(LimitVerdict::Undecided) => Some(Exit::LimitUndecided),
        () => Some(Exit::Done),
    }
}

/// Prints the errors in the record.
pub(super) fn verdict(path: &Path, findings: &[Finding]) -> Exit {
    if findings.is_empty() {
        return Exit::Done;
    }
    err(&format!("error: {}: the record of this run is damaged:\n", path.display()));
    for finding in findings {
        err(&format!("  {finding}\n"));
    }
    Exit::Failed
}
