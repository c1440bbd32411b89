//! Notes on a sizing.

use super::Choice;
use super::demand::Demand;
use super::point::{CLOSED_LOOP, ONE_WAY, PointLimits, SHARES_CORE, UNLIKE_RATES};
use crate::report::Report;
use crate::report::number::{grouped, plural};

/// The notes on one device; `points` are those of one frame size.
pub(super) fn notes(demand: &Demand, report: &Report, points: &[PointLimits], chosen: Option<&Choice>) -> Vec<String> {
    let is_simulated = points.iter().any(|point| point.simulated);
    let mut notes = Vec::new();
    if is_simulated {
        notes.push("The device is simulated. This says nothing about a real one.".to_owned());
    } else {
        notes.extend(frames(demand, points));
        notes.extend(chosen.and_then(|choice| hosts(demand, choice)));
    }
    for remark in [ONE_WAY, UNLIKE_RATES, SHARES_CORE, CLOSED_LOOP] {
        if points.iter().any(|point| point.remarks.contains(&remark)) {
            notes.push(remark.to_owned());
        }
    }
    if !report.conformance.procedure_conforms {
        notes.push("The procedure of the run departs from the RFCs: see its report.".to_owned());
    }
    if chosen.is_some_and(|choice| choice.devices > 1) {
        notes.push("No number of cores that was measured suffices with one device.".to_owned());
    }
    notes
}

/// Frames that are smaller than the mean frame.
fn frames(demand: &Demand, points: &[PointLimits]) -> Option<String> {
    let measured = points.first().map(|point| point.frame_size).filter(|size| (*size as f64) < demand.frame())?;
    let mean = demand.frame();
    Some(format!(
        "Measured with frames of {measured} octets; the mean frame has {mean:.0}. Larger frames were not measured."
    ))
}

/// Fewer hosts than a device with sessions would have subscribers.
fn hosts(demand: &Demand, choice: &Choice) -> Option<String> {
    let needed = demand.subscribers / choice.devices as f64;
    let is_fewer = choice.connections > 0 && (choice.subscribers as f64) < needed;
    let measured = plural(choice.subscribers, "host");
    is_fewer.then(|| {
        format!("Measured with {measured} inside; a device would have {} subscribers.", grouped(needed.ceil() as u64))
    })
}
