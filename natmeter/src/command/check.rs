//! `natmeter check`: checks a scenario and summarises it.

use super::load::{load, name, planned, tell};
use crate::advice::{self, Machine};
use crate::cli::{Output, ScenarioArgs};
use crate::exit::Exit;
use crate::forecast;
use crate::term::{self, out};
use scenario::Summary;
use serde_json::json;

pub(super) fn check(args: &ScenarioArgs, output: Output) -> Result<Exit, Exit> {
    let loaded = load(args.file.as_deref(), &args.changes, output)?;
    let plan = planned(&loaded.scenario, output)?;
    let summary = Summary::new(&loaded.scenario);
    let advice = advice::advice(&loaded, &plan, Machine::here());
    if output.json {
        let expected = forecast::expected(plan.measurements.iter(), loaded.scenario.time_limit);
        let event = json!({
            "event": "checked",
            "scenario": loaded.scenario,
            "departures": summary.departures,
            "notes": advice,
            "measurements": plan.measurements.len(),
            "predicted_ns": expected.time,
            "skipped": expected.skipped,
        });
        term::json(&event);
    } else if !output.quiet {
        out(&format!(
            "{} is valid.\n{summary}{}\n",
            name(args.file.as_deref()),
            forecast::total(&loaded.scenario, &plan)
        ));
    }
    tell(&advice, output);
    Ok(Exit::Done)
}
