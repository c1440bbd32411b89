//! A point of the matrix that a scenario spans: one device with a value of each axis that it has. Its own file because
//! plans, test beds and reports all name points, and none of them needs more of a scenario than this.

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
    /// The scenario as it is here.
    pub fn of<'a>(&self, scenario: &'a Scenario) -> Cow<'a, Scenario> {
        scenario.at(self.dut, self.connections, &self.axes)
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
