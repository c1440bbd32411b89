//! Measures the null device before and after each point, and what a frame costs the device. Nothing here is a trial: no search
//! uses these figures, and a run without them is complete.

use super::calibrate::{cable, kernel_cable};
use super::{Run, RunError};
use crate::rig::embedded::Cores;
use crate::rig::null::NullRates;
use crate::rig::{Process, Rig, technology};
use engine::overload::Offered;
use method::stats::Interval;
use method::{Nanos, Rate, TrialError};
use record::folder::{Cost, NullDevice, Outcome, Spread};
use scenario::{Dut, Point, Scenario};

/// One window. The speed of a transfer between cores may change several times a second, so pairs must be shorter.
pub(crate) const WINDOW: Nanos = Nanos::from_millis(50);
/// Windows of one measurement of the null device.
pub(crate) const WINDOWS: usize = 5;
/// Pairs of windows of device and null device.
pub(crate) const PAIRS: usize = 20;

impl Run<'_> {
    /// Measures the null device at a point and records it. A failure is a doubt, because the trials do not need it.
    pub(super) fn note_null(&mut self, point: &Point, rig: &mut Rig, before: bool) -> Result<(), RunError> {
        let scenario = point.of(&self.scenario).into_owned();
        match null_device(&scenario, point, rig) {
            Ok(Some(rates)) => self.keep_null(point, before, rates.frames, rates.set_up),
            Ok(None) => Ok(()),
            Err(error) => self.no_null(point, error),
        }
    }

    /// The same for a kernel device over veth: its cable, before the device is set up, or after its teardown.
    pub(super) fn note_cable(&mut self, point: &Point, before: bool) -> Result<(), RunError> {
        let scenario = point.of(&self.scenario).into_owned();
        if !is_plain(&scenario) {
            return Ok(());
        }
        let found = kernel_cable(&scenario, point, &self.process);
        self.note_commands()?;
        found?.map_or(Ok(()), |found| self.keep_null(point, before, found.frames, found.set_up))
    }

    fn keep_null(&mut self, point: &Point, before: bool, frames: Rate, set_up: Option<Rate>) -> Result<(), RunError> {
        let after_s = self.began.elapsed().as_secs_f64();
        let null = NullDevice { point: point.clone(), before, after_s, frames, set_up };
        Ok(self.folder.append_null(&null)?)
    }

    fn no_null(&mut self, point: &Point, error: RunError) -> Result<(), RunError> {
        match error {
            RunError::Trial { error: TrialError::Interrupted, .. } => Err(self.interrupted()),
            error => self.doubt(format!("{}: the null device was not measured: {error}", point.dut_name)),
        }
    }

    /// Adds the cost of a frame to the first result of throughput at a point.
    pub(super) fn add_cost(&mut self, outcome: &mut Outcome, rig: &mut Rig) -> Result<(), RunError> {
        let measurement = &outcome.measurement;
        let known = |o: &Outcome| o.measurement.point == measurement.point && o.cost.is_some();
        let is_throughput = !method::metric::is_establishment(&measurement.metric);
        if !is_throughput || self.outcomes.iter().any(known) {
            return Ok(());
        }
        let point = measurement.point.clone();
        let scenario = point.of(&self.scenario).into_owned();
        match cost(&scenario, &point, rig, outcome.result.phase1_rate, &self.process) {
            Ok(cost) => outcome.cost = cost,
            Err(error) => self.no_null(&point, error)?,
        }
        Ok(())
    }
}

/// Whether frames pass the path unchanged: an impairment would be taken for the null device's.
fn is_plain(scenario: &Scenario) -> bool {
    scenario.impair.is_none() && scenario.capture.is_none()
}

fn offered(scenario: &Scenario, point: &Point, stateful: bool) -> Result<Offered, RunError> {
    let traffic = &scenario.traffic;
    let view = cable(scenario, point, stateful)?;
    Ok(Offered { view, direction: traffic.direction, responder_order: traffic.responder_order })
}

fn failed(error: TrialError) -> RunError {
    RunError::Trial { measurement: "null device".to_owned(), error }
}

fn null_device(scenario: &Scenario, point: &Point, rig: &mut Rig) -> Result<Option<NullRates>, RunError> {
    if !is_plain(scenario) {
        return Ok(None);
    }
    let cable = offered(scenario, point, point.connections > 0)?;
    rig.measure_null(&cable, WINDOWS, WINDOW).map_err(failed)
}

fn cost(
    scenario: &Scenario,
    point: &Point,
    rig: &mut Rig,
    phase1_rate: Option<Rate>,
    process: &Process,
) -> Result<Option<Cost>, RunError> {
    if !is_plain(scenario) {
        return Ok(None);
    }
    let cable = offered(scenario, point, false)?;
    let Some(pairs) = rig.measure_pairs(&cable, phase1_rate, PAIRS, WINDOW).map_err(failed)? else { return Ok(None) };
    let mut one_core = None;
    if let Dut::Gateway { plays, technology, .. } = &scenario.duts[point.dut] {
        let cores = Cores::one_thread(point.cores as usize);
        let mut alone = technology::build_on(scenario, *plays, technology.as_ref(), point, process, &cores)?;
        one_core = spread(&alone.measure_price(&cable, phase1_rate, PAIRS, WINDOW).map_err(failed)?);
    }
    Ok(Some(Cost {
        cpu_ns_per_frame: spread(&pairs.nanos),
        paired_ratio: spread(&pairs.ratios),
        one_thread_ns_per_frame: one_core,
    }))
}

/// Returns the median with the interval of its order statistics; `None` without values.
fn spread(values: &[f64]) -> Option<Spread> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Interval { low, high, .. } = Interval::of(&sorted)?;
    let n = sorted.len();
    Some(Spread { median: f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]), low, high, n: n as u32 })
}
