//! Predicted time between searches: to set devices up, to measure the null device, and to find the cost of a frame.

use super::rates::guess;
use crate::rig::null;
use method::{Count, Nanos, Rate};
use record::plan::Plan;
use scenario::{Dut, Null, Point, Scenario};

/// Assumed, without the null device: threads and tables of the embedded gateway; namespaces, rules
/// and cables of a kernel device.
pub(super) fn change(dut: &Dut, connections: Count) -> Nanos {
    if dut.is_in_process() { Nanos(50_000_000 + 200 * connections) } else { Nanos::from_secs(2) }
}

/// Time around a window: threads start, drain and pause.
const AROUND_WINDOW: u64 = 10_000_000;
/// Setting up, removing and measuring the cable of a kernel device.
const CABLE: u64 = 700_000_000;

pub(super) fn null(scenario: &Scenario, point: &Point) -> u64 {
    let (dut, window) = (&scenario.duts[point.dut], null::WINDOW.0 + AROUND_WINDOW);
    match dut.null_device(scenario) {
        Null::InPlace if !null::is_plain(scenario) => 0,
        Null::InPlace if dut.has_workers() => {
            null::WINDOWS as u64 * window + null::FILLS as u64 * fill(point, guess(scenario, dut).top)
        }
        Null::InPlace => CABLE,
        Null::T0 | Null::Nothing(_) => 0,
    }
}

/// Whether the null device is measured at a point of the plan.
pub(super) fn has_null_device(scenario: &Scenario, plan: &Plan) -> bool {
    plan.measurements.iter().any(|m| null(&m.point.of(scenario), &m.point) > 0)
}

/// Pairs of device and null device, then the device on the tester's thread.
pub(super) fn cost(scenario: &Scenario, point: &Point) -> u64 {
    let (dut, window) = (&scenario.duts[point.dut], null::WINDOW.0 + AROUND_WINDOW);
    if !dut.has_workers() || scenario.sends_queries() || !null::is_plain(scenario) {
        return 0;
    }
    (2 * null::PAIRS + null::ALONE) as u64 * window + 2 * fill(point, guess(scenario, dut).set_up.scaled(8, 10))
}

/// Time to open connections, without the waits of a trial.
fn fill(point: &Point, rate: Rate) -> u64 {
    if point.connections == 0 { 0 } else { rate.time_for(point.connections).0.saturating_add(AROUND_WINDOW) }
}
