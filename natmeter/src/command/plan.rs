//! `natmeter plan`: prints the measurements of a scenario with predicted time and memory.

use super::load::{load, planned, tell};
use super::usage;
use crate::advice::{self, Machine};
use crate::cells::Cells;
use crate::cli::{Changes, Output, PlanArgs, ScenarioArgs};
use crate::exit::Exit;
use crate::forecast::EarlierRuns;
use crate::installed::QUICKSTART_WORD;
use crate::listing::RUNS;
use crate::term::{self, out};
use crate::{forecast, steps};
use serde_json::json;
use std::path::{Path, PathBuf};

pub(super) fn plan(args: &PlanArgs, output: Output) -> Result<Exit, Exit> {
    let PlanArgs { scenario: ScenarioArgs { file, changes }, .. } = args;
    // The scenario of a box needs a bed: the first one of `--beds`.
    let bed = changes.bed.clone().or_else(|| args.beds.first().map(|bed| file_of(bed)));
    let loaded = load(file.as_deref(), &Changes { bed, ..changes.clone() }, output)?;
    let mut plan = planned(&loaded.scenario, output)?;
    let runs = args.runs.as_deref().unwrap_or(Path::new(RUNS));
    let corrected = EarlierRuns::below(runs, &loaded.scenario, &loaded.options).correct(&mut plan);
    if let Some(format) = args.cells {
        let file = file.as_deref().unwrap_or(Path::new(QUICKSTART_WORD));
        let cells = Cells { file, changes, beds: &args.beds, scenario: &loaded.scenario, plan: &plan };
        out(&cells.text(format));
        return Ok(Exit::Done);
    }
    let advice = advice::advice(&loaded, &plan, Machine::here());
    if output.json {
        let expected = forecast::expected(plan.measurements.iter(), loaded.scenario.time_limit);
        let event = json!({ "event": "planned", "plan": plan, "predicted_ns": expected.time, "skipped": expected.skipped, "notes": advice });
        term::json(&event);
    } else {
        // The description of the scenario does not have these.
        if !changes.set.is_empty() {
            out(&format!("changed by --set: {}\n", changes.set.join("; ")));
        }
        out(&forecast::text(&loaded.scenario, &plan));
        if let Some(sentence) = corrected {
            out(&format!("{sentence}\n"));
        }
    }
    tell(&advice, output);
    if let Some(how) = args.steps {
        out(&steps::steps(&loaded.scenario, &plan, how).map_err(usage)?);
    }
    Ok(Exit::Done)
}

/// The bed may be written with its host: `HOST:FILE`.
fn file_of(bed: &str) -> PathBuf {
    bed.split_once(':').map_or(bed, |(_, file)| file).into()
}
