//! `natmeter report`: prints the report of a run folder, in any format.

use crate::exit::Exit;
use crate::term::{err, out};
use record::audit::Finding;
use record::report::Report;
use std::path::Path;

/// `natmeter report RUN --format FORMAT`.
pub(super) fn report(path: &Path, format: &str) -> Exit {
    if let Err(exit) = super::run::is_run(path) {
        return exit;
    }
    let report = match Report::from_folder(path, tech::ALL) {
        Ok(report) => report,
        Err(error) => return failed(&error),
    };
    match report.render(format) {
        Ok(text) => out(&text),
        Err(error) => return failed(&error),
    }
    verdict(path, &report.audit.findings)
}

fn failed(error: &dyn std::error::Error) -> Exit {
    err(&format!("error: {error}\n"));
    Exit::Failed
}

/// Prints the errors in the record of a reported run, and returns the exit code.
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
