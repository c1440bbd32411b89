//! The plan of a run: the matrix as a list of measurements, each with a key that never changes, so that
//! a resumed run finds its place and a report finds its rows.

use method::{Count, Nanos};
use serde::{Deserialize, Serialize};

/// One point of the matrix.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Point {
    /// Which DUT of the scenario, by position.
    pub dut: usize,
    /// Its name.
    pub dut_name: String,
    /// Connections (N); 0 when stateless.
    pub connections: Count,
    /// Cores of the DUT.
    pub cores: u32,
}

/// One search for one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// Where.
    pub point: Point,
    /// What: a key of `method::metric`.
    pub metric: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Predicted duration.
    pub predicted: Nanos,
}

impl Measurement {
    /// The key under which trials and results are filed, e.g. `nftables/n=1000000/cores=1/throughput/3`.
    pub fn key(&self) -> String {
        let p = &self.point;
        format!("{}/n={}/cores={}/{}/{}", p.dut_name, p.connections, p.cores, self.metric, self.repetition)
    }
}

/// All measurements of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order in which they are carried out.
    pub measurements: Vec<Measurement>,
    /// Bytes that the tester will need at the largest point.
    pub tester_memory: u64,
    /// Bytes that the DUT will need at the largest point, as far as can be said.
    pub dut_memory: u64,
}
