//! `natmeter plan`: prints the measurements of a scenario with predicted time and memory, and changes nothing.

use super::load::{load, planned, tell};
use crate::advice::{self, Machine};
use crate::cli::{Output, PlanArgs};
use crate::exit::Exit;
use crate::term::{self, err, out};
use crate::{forecast, steps};
use serde_json::json;

/// `natmeter plan [FILE]`.
pub(super) fn plan(args: &PlanArgs, output: Output) -> Result<Exit, Exit> {
    let loaded = load(args.file.as_deref(), &args.changes, output)?;
    let plan = planned(&loaded.scenario, output)?;
    let advice = advice::advice(&loaded, &plan, Machine::here());
    if output.json {
        let expected = forecast::expected(plan.measurements.iter(), loaded.scenario.time_limit);
        let event = json!({ "event": "planned", "plan": plan, "predicted_ns": expected.time, "skipped": expected.skipped, "notes": advice });
        term::json(&event);
    } else {
        // The description of the scenario knows nothing of these.
        if !args.changes.set.is_empty() {
            out(&format!("changed by --set: {}\n", args.changes.set.join("; ")));
        }
        out(&forecast::text(&loaded.scenario, &plan));
    }
    tell(&advice, output);
    if let Some(how) = args.steps {
        match steps::steps(&loaded.scenario, &plan, how) {
            Ok(text) => out(&text),
            Err(error) => {
                err(&format!("error: {error}\n"));
                return Err(Exit::Usage);
            }
        }
    }
    Ok(Exit::Done)
}
