//! A point of the matrix: one device with a value of each axis that it has.

use crate::Scenario;
use crate::axis::AxisValues;
use method::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One point of the matrix. Results are filed by it, also in run folders.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Which DUT of the scenario, by position.
    pub dut: usize,
    /// Name of that DUT, as results show it.
    pub dut_name: String,
    /// Connections (N); 0 when stateless.
    pub connections: Count,
    /// Number of cores that the DUT has; a gateway has a worker on each.
    pub cores: u32,
    /// A value of each further axis that is swept on this DUT.
    #[serde(default, skip_serializing_if = "AxisValues::is_empty")]
    pub axes: AxisValues,
}

impl Point {
    pub fn of<'a>(&self, scenario: &'a Scenario) -> Cow<'a, Scenario> {
        scenario.at(self.dut, self.connections, &self.axes)
    }
}

impl Scenario {
    /// Points of the matrix, or of its cell, with a measurement: by device, cores, further axes and connections.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let mut points = Vec::new();
        for (dut, device) in self.duts.iter().enumerate() {
            let stateless: &[Count] = &[0];
            let connections = if device.is_stateful() { &self.sweep.connections } else { stateless };
            for &cores in &self.sweep.cores.values {
                for axes in self.combinations(device) {
                    let point = |&connections: &Count| Point {
                        dut,
                        dut_name: device.name().to_owned(),
                        connections,
                        cores,
                        axes: axes.clone(),
                    };
                    points.extend(connections.iter().map(point));
                }
            }
        }
        points.retain(|point| self.measure.metrics.iter().any(|metric| self.has(point, metric)));
        let all = points.len();
        let is_here = move |at: usize| self.cell.is_none_or(|cell| cell.has(at, all));
        points.into_iter().enumerate().filter(move |(at, _)| is_here(*at)).map(|(_, point)| point)
    }

    /// Whether no exclusion leaves out a metric at a point.
    pub fn has(&self, point: &Point, metric: &str) -> bool {
        !self.sweep.exclude.iter().any(|exclusion| exclusion.leaves_out(point, metric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of runs that were made before there were further axes, and of runs that sweep none.
    #[test]
    fn a_point_without_further_axes_is_written_as_ever() {
        let old = r#"{"dut":0,"dut_name":"nftables","connections":1000000,"cores":1}"#;
        let point: Point = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&point).unwrap(), old);
    }
}
