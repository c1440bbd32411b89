//! `natmeter merge`: joins runs of one scenario in a new folder, and prints its report.

use super::{report, usage};
use crate::cli::{MergeArgs, Output};
use crate::exit::Exit;
use crate::term::err;
use record::merge;

pub(super) fn merge(args: &MergeArgs, output: Output) -> Result<Exit, Exit> {
    for run in &args.runs {
        super::load::is_run(run)?;
    }
    merge::merge(&args.runs, args.alike, &args.into, tech::ALL).map_err(usage)?;
    if !output.quiet && !output.json {
        err(&format!("merged {} runs in {}\n", args.runs.len(), args.into.display()));
    }
    report::of_run(&args.into, None, output)
}
