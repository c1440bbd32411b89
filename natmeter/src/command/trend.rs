//! `natmeter trend`: the series of each value over many runs of a scenario, and where its level changed.

use super::compare::COLUMNS;
use super::usage;
use crate::cli::{Output, TrendArgs};
use crate::exit::Exit;
use crate::term::{err, folded, json, out};
use record::compare::{Run, run_folders};
use record::trend::{of_one_scenario, page, text, trend};

pub(super) fn trend_of(args: &TrendArgs, output: Output) -> Result<Exit, Exit> {
    let folders = run_folders(&args.dir).map_err(usage)?;
    let mut runs = Vec::new();
    for folder in folders {
        // One damaged folder does not hide the others.
        match Run::read(&folder, tech::ALL) {
            Ok(run) if run.report.audit.findings.is_empty() => runs.push(run),
            Ok(run) => skipped(&format!("{}: {}", folder.display(), run.report.audit.findings[0])),
            Err(error) => skipped(&error.to_string()),
        }
    }
    let runs = of_one_scenario(runs, args.scenario.as_deref())
        .map_err(|error| usage(format_args!("{}: {error}", args.dir.display())))?;
    let trend = trend(&runs);
    match args.format.as_deref().unwrap_or(output.format()) {
        "json" => json(&trend),
        "html" => out(&page(&trend)),
        _ => out(&format!("{}\n", folded(&text(&trend), COLUMNS))),
    }
    Ok(Exit::Done)
}

fn skipped(why: &str) {
    err(&format!("note: a run is left out: {why}\n"));
}
