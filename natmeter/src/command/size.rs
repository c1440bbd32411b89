//! `natmeter size`: sizes measured gateways for the demand of an operator.

use super::report::verdict;
use super::{failed, usage};
use crate::cli::{Output, SizeArgs};
use crate::exit::Exit;
use crate::term::{columns, out};
use record::report::Report;
use record::report::sizing::SIZING_FORMATS;
use record::size::Sizing;
use record::size::demand::{Demand, DemandValues};
use std::path::Path;

pub(super) fn size(args: &SizeArgs, output: Output) -> Result<Exit, Exit> {
    let demand = demand(args)?;
    let mut reports = Vec::new();
    for run in &args.runs {
        super::load::is_run(run)?;
        reports.push(Report::from_folder(run, tech::ALL).map_err(failed)?);
    }
    let name = args.format.as_deref().unwrap_or(output.format());
    let format = SIZING_FORMATS.iter().find(|format| format.name == name).expect("the command line knows the formats");
    let sizing = Sizing::of(demand, &reports);
    if sizing.devices.is_empty() {
        return Err(usage(
            "these runs have no results of a device other than plain forwarding: name runs of a gateway",
        ));
    }
    out(&format.render(&sizing, columns()));
    let verdicts: Vec<Exit> =
        args.runs.iter().zip(&reports).map(|(run, report)| verdict(run, &report.audit.findings)).collect();
    Ok(verdicts.into_iter().find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done))
}

/// Options take precedence over the file.
fn demand(args: &SizeArgs) -> Result<Demand, Exit> {
    let wrong = |file: Option<&Path>, error: &dyn std::fmt::Display| {
        let file = file.map_or_else(String::new, |file| format!("{}: ", file.display()));
        usage(format_args!("{file}{error}"))
    };
    let file = match &args.demand {
        None => DemandValues::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| wrong(Some(path), &error))?;
            DemandValues::parse(&text).map_err(|error| wrong(Some(path), &error))?
        }
    };
    let options = DemandValues {
        subscribers: args.subscribers,
        sessions: args.sessions,
        new_sessions: args.new_sessions,
        mbit: args.mbit,
        packet_size: args.packet_size,
        headroom: args.headroom,
    };
    options.or(file).whole().map_err(|error| wrong(None, &error))
}
