//! `natmeter plan`: prints the measurements of a scenario with predicted time and memory, and changes nothing.

use super::load::{load, tell};
use crate::advice::{self, Machine};
use crate::cli::{Global, PlanArgs};
use crate::exit::Exit;
use crate::term::{self, err, out};
use crate::{forecast, steps};
use serde_json::json;

/// `natmeter plan [FILE]`.
pub(super) fn plan(args: &PlanArgs, global: &Global) -> Exit {
    let loaded = match load(args.file.as_deref(), global) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let plan = forecast::plan(&loaded.scenario);
    let advice = advice::advice(&loaded, &plan, Machine::here());
    if global.json {
        let event = json!({ "event": "planned", "plan": plan, "predicted_ns": plan.predicted(), "notes": advice });
        term::json(&event);
    } else {
        out(&forecast::text(&loaded.scenario, &plan));
    }
    tell(&advice, global);
    if args.steps {
        match steps::steps(&loaded.scenario, &plan) {
            Ok(text) => out(&text),
            Err(error) => {
                err(&format!("error: {error}\n"));
                return Exit::Usage;
            }
        }
    }
    Exit::Done
}
