//! `natmeter check`: checks a scenario and summarises it.

use super::load::{load, name, tell};
use crate::advice::{self, Machine};
use crate::cli::Global;
use crate::exit::Exit;
use crate::forecast;
use crate::term::{self, out};
use scenario::Summary;
use serde_json::json;
use std::path::Path;

/// `natmeter check [FILE]`.
pub(super) fn check(file: Option<&Path>, global: &Global) -> Exit {
    let loaded = match load(file, global) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let plan = forecast::plan(&loaded.scenario);
    let summary = Summary::new(&loaded.scenario);
    let advice = advice::advice(&loaded, &plan, Machine::here());
    if global.json {
        let event = json!({
            "event": "checked",
            "scenario": loaded.scenario,
            "departures": summary.departures,
            "notes": advice,
            "measurements": plan.measurements.len(),
            "predicted_ns": plan.predicted(),
        });
        term::json(&event);
    } else if !global.quiet {
        out(&format!("{} is valid.\n{summary}{}\n", name(file), forecast::total(&plan)));
    }
    tell(&advice, global);
    Exit::Done
}
