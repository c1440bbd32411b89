//! `natmeter report`: prints the report of a run folder, in any format.

use super::{failed, import};
use crate::cli::{Output, ReportArgs};
use crate::exit::Exit;
use crate::term::{columns_of, err, out};
use record::audit::Finding;
use record::report::{Report, Screen};
use std::path::Path;

/// That of the terminal, or the usual one.
pub(super) fn screen(verbose: bool) -> Screen {
    Screen { columns: columns_of(std::io::stdout()).unwrap_or(Screen::USUAL.columns), verbose }
}

pub(super) fn report(args: &ReportArgs, output: Output) -> Result<Exit, Exit> {
    let format = args.format.as_deref().unwrap_or(output.format());
    super::load::is_run(&args.run)?;
    let imported = import::read(&args.compare_with)?;
    let mut report = Report::from_folder(&args.run, tech::ALL).map_err(failed)?;
    report.imported = imported;
    let text =
        if format == "text" { report.text(screen(args.verbose)) } else { report.render(format).map_err(failed)? };
    out(&text);
    Ok(verdict(&args.run, &report.audit.findings))
}

/// Prints the report for a command that ends with a report.
pub(super) fn of_run(run: &Path, output: Output) -> Result<Exit, Exit> {
    report(&ReportArgs { run: run.to_path_buf(), ..ReportArgs::default() }, output)
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
