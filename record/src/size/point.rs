//! The measured limits of a device at one point of a run.

use super::MeasuredValue;
use crate::folder::TABLE_MEMORY;
use crate::report::Report;
use crate::report::result::PointResult;
use document::{Bound, grouped_by};
use method::Count;
use procedure::Metric;
use procedure::metric::Gives;
use scenario::axis::{AXES, AxisValues};

// Remarks on results of a point.
pub(super) const UNLIKE_RATES: &str =
    "The rates of both directions differ: the throughput is that of the faster one, and the slower one had less.";
pub(super) const ONE_WAY: &str = "Measured in one direction: both directions at once were not measured.";
pub(super) const SHARES_CORE: &str = "Tester and device shared a core in some results.";
pub(super) const CLOSED_LOOP: &str = "Some rates contain the tester's time: the device may do more.";

#[derive(Clone, Debug)]
pub(super) struct PointLimits {
    pub name: String,
    pub cores: u32,
    pub known_cores: Option<u32>,
    pub connections: Count,
    pub axes: AxisValues,
    /// Subscribers, or inside addresses.
    pub subscribers: Count,
    /// Octets with FCS.
    pub frame_size: usize,
    pub throughput: Option<MeasuredValue>,
    pub set_up: Option<MeasuredValue>,
    /// Sessions: as many as were measured, or as fit into the table.
    pub table: MeasuredValue,
    /// Octets of a session.
    pub memory: Option<MeasuredValue>,
    /// Octets of a table that was loaded.
    pub table_memory: Option<MeasuredValue>,
    /// Remarks of the notes that apply to its results.
    pub remarks: Vec<&'static str>,
    pub simulated: bool,
}

pub(super) fn points(report: &Report, dut: usize) -> Vec<PointLimits> {
    let of_device = report.results.iter().filter(|result| result.dut == dut);
    grouped_by(of_device, |result| result.point()).into_iter().map(|(_, here)| limits(report, &here)).collect()
}

fn limits(report: &Report, here: &[&PointResult]) -> PointLimits {
    let first = here[0];
    let of = |is: &dyn Fn(&Metric) -> bool| here.iter().copied().find(|result| result.known.is_some_and(is));
    let throughput = of(&|metric| metric.gives == Some(Gives::Throughput) && metric.baseline_of.is_none());
    let set_up = |validated| of(&|m| m.gives == Some(Gives::SetUpRate) && m.validated == validated).and_then(measured);
    let scenario = report.header.scenario.at(first.dut, first.connections, &first.axes);
    let value = |what| of(&|metric| metric.gives == Some(what)).and_then(measured);
    let remarks = [
        (ONE_WAY, throughput.is_some_and(|result| result.directions == 1)),
        (UNLIKE_RATES, throughput.is_some_and(|result| result.direction_ratio.is_some())),
        (SHARES_CORE, here.iter().any(|result| result.shares_core)),
        (CLOSED_LOOP, here.iter().any(|result| result.in_closed_loop)),
    ];
    PointLimits {
        name: first.dut_name.clone(),
        cores: first.cores,
        known_cores: first.known_cores,
        connections: first.connections,
        axes: first.axes.clone(),
        subscribers: scenario.traffic.flows.hosts(),
        frame_size: scenario.traffic.frame_size,
        throughput: throughput.and_then(measured),
        set_up: set_up(true).or_else(|| set_up(false)),
        table: table(value(Gives::TableSize), first.connections),
        memory: value(Gives::MemoryOfConnection).or_else(|| memory_elsewhere(report, first)),
        table_memory: here.iter().find_map(|result| result.extra.get(TABLE_MEMORY)).map(|kib| {
            let octets = kib * 1024.0;
            MeasuredValue { value: octets, low: octets, high: octets, repetitions: 1, at_least: false }
        }),
        remarks: remarks.into_iter().filter(|(_, applies)| *applies).map(|(remark, _)| remark).collect(),
        simulated: report.header.scenario.is_simulated(first.dut),
    }
}

/// The median with its interval or range, if it is a value or a lower bound.
fn measured(result: &PointResult) -> Option<MeasuredValue> {
    let value = result.median().filter(|value| *value > 0.0)?;
    if result.nothing_passed() || result.bound_of(value) == Bound::LessThan {
        return None;
    }
    let (low, high) = result.interval.map_or((value, value), |interval| (interval.low, interval.high));
    let repetitions = result.summary.map_or(0, |summary| summary.n);
    Some(MeasuredValue { value, low, high, repetitions, at_least: result.at_least() })
}

/// The sessions with which the point was measured, or the capacity of its table if that is less.
fn table(capacity: Option<MeasuredValue>, connections: Count) -> MeasuredValue {
    capacity.filter(|capacity| capacity.low < connections as f64).unwrap_or(MeasuredValue::setting(connections))
}

/// The memory of a session at the device's point with the most connections, for points without a value of their own.
fn memory_elsewhere(report: &Report, first: &PointResult) -> Option<MeasuredValue> {
    let alike = |result: &&PointResult| {
        result.gives(Gives::MemoryOfConnection) && (result.dut, &result.axes) == (first.dut, &first.axes)
    };
    report.results.iter().filter(alike).max_by_key(|result| result.connections).and_then(measured)
}

/// The points by their further axes, without frame size and numbers of subscribers.
pub(super) fn by_axes(points: Vec<PointLimits>) -> Vec<(AxisValues, Vec<PointLimits>)> {
    let is_of_point = |name: &str| {
        name == FRAME_SIZE || AXES.iter().any(|axis| axis.name() == name && (axis.sets_subscribers || name == INSIDE))
    };
    grouped_by(points, |point| {
        let mut axes = point.axes.clone();
        axes.retain(|name, _| !is_of_point(name));
        axes
    })
}

const FRAME_SIZE: &str = "frame-size";
const INSIDE: &str = "inside-addresses";

/// The points of the smallest frame size that is no smaller than a mean frame; else those of the largest. Returns the size, too.
pub(super) fn of_frame(points: Vec<PointLimits>, frame: f64) -> (usize, Vec<PointLimits>) {
    let sizes = || points.iter().map(|point| point.frame_size);
    let size = sizes().filter(|&size| size as f64 >= frame).min().or(sizes().max()).unwrap_or(0);
    (size, points.into_iter().filter(|point| point.frame_size == size).collect())
}
