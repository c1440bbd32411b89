//! Checks that each point of a run names a device of its scenario, because natmeter takes the number of the device as an index.

use crate::folder::{NullDevice, Outcome};
use crate::plan::Plan;
use crate::store::{self, Dir, HEADER, Lines, StoreError};
use scenario::{Point, Scenario};
use std::path::PathBuf;

/// What every point in `run.json` has.
const DUT: &str = "\"dut\":";

fn is_of(point: &Point, scenario: &Scenario) -> bool {
    scenario.duts.get(point.dut).is_some_and(|dut| dut.name() == point.dut_name)
}

fn unknown_device(path: PathBuf, line: usize, point: &Point) -> StoreError {
    StoreError::Device { path, line, number: point.dut, name: point.dut_name.clone() }
}

pub(super) fn check_plan(folder: &Dir, plan: &Plan, scenario: &Scenario) -> Result<(), StoreError> {
    let Some(at) = plan.measurements.iter().position(|m| !is_of(&m.point, scenario)) else { return Ok(()) };
    let text = folder.text(HEADER)?.unwrap_or_default();
    let line = text.match_indices(DUT).nth(at).map_or(1, |(place, _)| text[..place].matches('\n').count() + 1);
    Err(unknown_device(folder.path_of(HEADER), line, &plan.measurements[at].point))
}

fn lines<T: serde::de::DeserializeOwned>(
    folder: &Dir,
    name: &str,
    scenario: &Scenario,
    point: impl Fn(&T) -> &Point,
) -> Result<Lines<T>, StoreError> {
    let lines = folder.lines::<T>(name)?;
    match lines.values.iter().position(|value| !is_of(point(value), scenario)) {
        Some(at) => Err(unknown_device(folder.path_of(name), at + 1, point(&lines.values[at]))),
        None => Ok(lines),
    }
}

pub(crate) fn outcomes(folder: &Dir, scenario: &Scenario) -> Result<Lines<Outcome>, StoreError> {
    lines(folder, store::RESULTS, scenario, |outcome: &Outcome| &outcome.measurement.point)
}

pub(super) fn nulls(folder: &Dir, scenario: &Scenario) -> Result<Lines<NullDevice>, StoreError> {
    lines(folder, store::NULLS, scenario, |null: &NullDevice| &null.point)
}
