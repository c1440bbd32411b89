//! The plan of a run: the matrix as a list of measurements, each with a key that never changes, so that
//! a resumed run finds its place and a report finds its rows. How long it will take and how much memory it
//! needs is predicted in `forecast`.

mod forecast;
mod steps;
mod text;

pub use steps::steps;
pub use text::{text, total};

use crate::scenario::{Dut, Scenario};
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

/// What stands between the key of a measurement and the number of an attempt after the first.
const ATTEMPT: &str = "#";

impl Measurement {
    /// The key under which the trials of an attempt are filed, counted from 1. There is a further one when the device did
    /// not answer, or phase 1 did not complete, and the run is resumed: trials that led nowhere are no part of a result.
    pub fn attempt_key(&self, attempt: u32) -> String {
        if attempt <= 1 { self.key() } else { format!("{}{ATTEMPT}{attempt}", self.key()) }
    }
}

/// The key of the measurement to which trials filed under this key belong.
pub fn without_attempt(key: &str) -> &str {
    let number = |(_, n): &(&str, &str)| n.parse::<u32>().is_ok();
    key.rsplit_once(ATTEMPT).filter(number).map_or(key, |(key, _)| key)
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

impl Plan {
    /// The measurements of a scenario: for each DUT, number of cores and number of connections the metrics in
    /// the scenario's order, each with all its repetitions, so that phase 2 knows the smallest set-up rate of
    /// its own point.
    pub fn new(scenario: &Scenario) -> Plan {
        let mut plan = Plan::default();
        for (dut, device) in scenario.duts.iter().enumerate() {
            for &cores in &scenario.sweep.cores {
                for connections in connections_of(device, scenario) {
                    let point = Point { dut, dut_name: device.name().to_owned(), connections, cores };
                    plan.add_point(scenario, &point);
                    plan.tester_memory = plan.tester_memory.max(forecast::tester_memory(scenario, &point));
                    plan.dut_memory = plan.dut_memory.max(forecast::dut_memory(device, connections));
                }
            }
        }
        plan
    }

    /// The predicted duration of all measurements.
    pub fn predicted(&self) -> Nanos {
        Nanos(self.measurements.iter().fold(0, |sum, measurement| sum.saturating_add(measurement.predicted.0)))
    }

    fn add_point(&mut self, scenario: &Scenario, point: &Point) {
        for metric in metrics_of(&scenario.duts[point.dut], &scenario.measure.metrics) {
            let predicted = forecast::search_time(scenario, point, metric);
            self.measurements.extend((1..=scenario.measure.repetitions).map(|repetition| Measurement {
                point: point.clone(),
                metric: metric.to_owned(),
                repetition,
                predicted,
            }));
        }
    }
}

/// The metrics of a scenario that are measured on one DUT, in order. The throughput of a device that only
/// forwards is the baseline of the others and filed under the name that it has in published tables.
pub fn metrics_of<'a>(dut: &Dut, metrics: &'a [String]) -> Vec<&'a str> {
    const BASELINE: &str = "ipv4_forwarding_throughput";
    let mut applicable: Vec<&str> = Vec::new();
    for metric in metrics {
        let metric = match (dut.is_stateful(), metric.as_str()) {
            (true, BASELINE) => continue,
            (true, other) => other,
            (false, "throughput") if matches!(dut, Dut::Technology { .. }) => "throughput",
            (false, BASELINE) if matches!(dut, Dut::Technology { .. }) => continue,
            (false, "throughput" | BASELINE) => BASELINE,
            (false, _) => continue,
        };
        if !applicable.contains(&metric) {
            applicable.push(metric);
        }
    }
    applicable
}

/// The numbers of connections at which a DUT is measured.
fn connections_of(dut: &Dut, scenario: &Scenario) -> Vec<Count> {
    if dut.is_stateful() { scenario.sweep.connections.clone() } else { vec![0] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Options, parse};

    fn plan_of(text: &str) -> (Scenario, Plan) {
        let scenario = parse("test.toml", text, &Options::default()).unwrap().scenario;
        let plan = Plan::new(&scenario);
        (scenario, plan)
    }

    const KERNEL: &str = include_str!("../../scenarios/kernel-nat44.toml");

    #[test]
    fn order_is_dut_cores_connections_metric_repetition() {
        let (_, plan) = plan_of(KERNEL);
        let keys: Vec<String> = plan.measurements.iter().map(Measurement::key).collect();
        assert_eq!(
            keys[..10],
            [
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/1",
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/2",
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/3",
                "nftables/n=50000/cores=1/max_conn_est_rate/1",
                "nftables/n=50000/cores=1/max_conn_est_rate/2",
                "nftables/n=50000/cores=1/max_conn_est_rate/3",
                "nftables/n=50000/cores=1/throughput/1",
                "nftables/n=50000/cores=1/throughput/2",
                "nftables/n=50000/cores=1/throughput/3",
                "nftables/n=200000/cores=1/max_conn_est_rate/1",
            ]
        );
        assert_eq!(keys.len(), 3 + 3 * 2 * 2 * 3);
    }

    #[test]
    fn keys_are_unique() {
        let (_, plan) = plan_of(KERNEL);
        let mut keys: Vec<String> = plan.measurements.iter().map(Measurement::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), plan.measurements.len());
    }

    #[test]
    fn memory_is_that_of_the_largest_point() {
        let (scenario, plan) = plan_of(KERNEL);
        // 385 B a connection and 8 B a bucket (methodology 3.16).
        assert_eq!(plan.dut_memory, 200_000 * (385 + 8));
        assert!(plan.tester_memory > 8 * 200_000);
        assert_eq!(scenario.sweep.connections, [50_000, 200_000]);
    }
}
