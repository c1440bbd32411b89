//! The plan of a run: the matrix as a list of measurements, whose keys name trials and results.

use method::Nanos;
use procedure::Sends;
use procedure::metric::Gives;
use scenario::axis;
use scenario::{Point, Scenario, Sequence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Separates the key of a measurement from the number of a later attempt.
const ATTEMPT: &str = "#";

/// The invalid trials of a measurement take at most this many times its predicted duration, …
pub const INVALID_TIMES_PREDICTED: u64 = 5;
/// … but always get this much time, because a short measurement on a busy host needs some repeats.
pub const INVALID_FLOOR: Nanos = Nanos::from_secs(10);

/// One search for one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// The point of the matrix.
    pub point: Point,
    /// The metric: a key of `procedure::metric`.
    pub metric: String,
    /// Number of the repetition, from 1.
    pub repetition: u32,
    /// Predicted duration; 0 without a forecast.
    pub predicted: Nanos,
}

impl Measurement {
    /// Returns the key of its trials and results, e.g. `nftables/n=1000000/cores=1/throughput/3`, and with further
    /// axes `lwaftr/n=0/cores=1/softwires=1000/throughput/3`.
    pub fn key(&self) -> String {
        let p = &self.point;
        let place = [format!("{}/n={}/cores={}", p.dut_name, p.connections, p.cores)].into_iter();
        let axes = axis::in_order(&p.axes).map(|(axis, n)| format!("{}={}", axis.name(), axis.plain(n)));
        let what = [format!("{}/{}", self.metric, self.repetition)];
        place.chain(axes).chain(what).collect::<Vec<_>>().join("/")
    }

    pub fn is_of_the_value_of(&self, other: &Measurement) -> bool {
        (&self.point, &self.metric) == (&other.point, &other.metric)
    }

    /// Returns the key of its value: the key without the number of the repetition.
    pub fn value_key(&self) -> String {
        let key = self.key();
        key.rsplit_once('/').map_or(key.clone(), |(value, _)| value.to_owned())
    }

    /// Returns the key of the trials of an attempt, counted from 1. A resumed run makes a further attempt if the device did not
    /// answer or phase 1 did not complete, and a repeated visit makes one of each measurement. Only the trials of the last
    /// attempt with a result belong to the result.
    pub fn attempt_key(&self, attempt: u32) -> String {
        if attempt <= 1 { self.key() } else { format!("{}{ATTEMPT}{attempt}", self.key()) }
    }

    /// Returns the last attempt with trials; 1 without any. `is_filed` says whether there are trials under a key.
    pub fn last_attempt(&self, is_filed: impl Fn(&str) -> bool) -> u32 {
        (2..u32::MAX).take_while(|&attempt| is_filed(&self.attempt_key(attempt))).last().unwrap_or(1)
    }

    /// Returns the total time of invalid trials after which natmeter repeats no more of them.
    pub fn invalid_at_most(&self) -> Nanos {
        Nanos(self.predicted.0.saturating_mul(INVALID_TIMES_PREDICTED)).max(INVALID_FLOOR)
    }
}

/// Returns the key of the measurement to which the trials with this key belong.
pub fn without_attempt(key: &str) -> &str {
    let number = |(_, n): &(&str, &str)| n.parse::<u32>().is_ok();
    key.rsplit_once(ATTEMPT).filter(number).map_or(key, |(key, _)| key)
}

/// All measurements of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The measurements in the order of execution.
    pub measurements: Vec<Measurement>,
    /// Their order.
    #[serde(default)]
    pub order: Sequence,
    /// Bytes that the tester will need at the largest point; 0 without a forecast.
    pub tester_memory: u64,
    /// Bytes that the DUT will need at the largest point, as far as can be said; 0 without a forecast.
    pub dut_memory: u64,
}

impl Plan {
    /// Lists the measurements of a scenario, without a forecast, in the scenario's order or else point by point.
    pub fn new(scenario: &Scenario) -> Plan {
        Plan::in_order(scenario, scenario.measure.order.unwrap_or_default())
    }

    /// Lists the measurements of a scenario, without a forecast: by DUT, cores, further axes, connections, metric and
    /// repetition; interleaved by DUT, metric and repetition first. Metrics are in the scenario's order, so that phase 2 knows
    /// the smallest establishment rate of its point.
    pub fn in_order(scenario: &Scenario, order: Sequence) -> Plan {
        let mut plan = Plan { order, ..Plan::default() };
        for point in scenario.points() {
            plan.add_point(scenario, &point);
        }
        if order == Sequence::Interleaved {
            let mut metrics: Vec<String> = Vec::new();
            plan.measurements
                .iter()
                .for_each(|m| metrics.extend((!metrics.contains(&m.metric)).then(|| m.metric.clone())));
            let place = |metric: &String| metrics.iter().position(|known| known == metric);
            plan.measurements.sort_by_key(|m| (m.point.dut, place(&m.metric), m.repetition));
        }
        plan
    }

    /// Returns the points in the order of their first measurements.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        let mut known = HashSet::new();
        self.measurements.iter().map(|m| &m.point).filter(move |point| known.insert(*point))
    }

    /// Sorts the measurements that are left of this plan: of each device and metric the first repetitions, then all further
    /// ones of a value after each other.
    pub fn finish_values(&self, left: &mut [Measurement]) {
        let places: HashMap<&Point, usize> = self.points().enumerate().map(|(place, point)| (point, place)).collect();
        for alike in left.chunk_by_mut(|a, b| (a.point.dut, &a.metric) == (b.point.dut, &b.metric)) {
            alike.sort_by_key(|m| (m.repetition > 1, places.get(&m.point).copied(), m.repetition));
        }
    }

    pub fn predicted(&self) -> Nanos {
        Nanos(self.measurements.iter().fold(0, |sum, measurement| sum.saturating_add(measurement.predicted.0)))
    }

    fn add_point(&mut self, scenario: &Scenario, point: &Point) {
        let scenario = &*point.of(scenario);
        let metrics = metrics_of(scenario, point.dut);
        for metric in metrics.into_iter().filter(|metric| scenario.has(point, metric)) {
            // One profile of a point is enough: it is no figure that is compared.
            let is_profile = scenario.procedures.of(metric).is_some_and(|procedure| procedure.profiles);
            let repetitions = if is_profile { 1 } else { scenario.measure.repetitions.most };
            self.measurements.extend((1..=repetitions).map(|repetition| Measurement {
                point: point.clone(),
                metric: metric.to_owned(),
                repetition,
                predicted: Nanos(0),
            }));
        }
    }
}

/// Returns the metrics of a scenario that apply to one DUT, in order. The throughput of a device that only forwards is the
/// baseline of the others; its key is the name that published tables use.
pub fn metrics_of(scenario: &Scenario, dut: usize) -> Vec<&'static str> {
    let (procedures, dut) = (&scenario.procedures, &scenario.duts[dut]);
    let forwards_only = dut.technology().is_none() && dut.forwarded_ipv6().is_none();
    let mut applicable: Vec<&str> = Vec::new();
    for key in &scenario.measure.metrics {
        let (Some(procedure), Some(metric)) = (procedures.of(key), procedures.metric(key)) else { continue };
        let needs_connections = procedure.stateful || procedure.sends == Sends::NewConnections;
        let baseline = || procedure.measured().find(|known| known.baseline_of == Some(metric.key));
        let metric = match (dut.is_stateful(), metric.baseline_of.is_some()) {
            _ if procedure.profiles && !dut.can_be_profiled(scenario) => continue,
            (is_stateful, true) if is_stateful || !forwards_only => continue,
            (false, false) if needs_connections => continue,
            (false, false) if forwards_only && metric.gives == Some(Gives::Throughput) => baseline().unwrap_or(metric),
            _ => metric,
        };
        if !applicable.contains(&metric.key) {
            applicable.push(metric.key);
        }
    }
    applicable
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};

    fn plan_of(text: &str) -> (Scenario, Plan) {
        let scenario = parse("test.toml", text, &Options::default(), tech::ALL).unwrap().scenario;
        let plan = Plan::new(&scenario);
        (scenario, plan)
    }

    /// Losses and delays need no connections.
    #[test]
    fn a_stateless_device_has_every_metric_that_needs_no_connections() {
        const ALL: [&str; 6] =
            ["throughput", "frame_loss_rate", "latency", "pdv", "back_to_back_frames", "system_recovery_time"];
        let siit = "[dut.embedded]\nplays = \"pe\"\n[technology.siit]\npref64 = \"2001:2:0:1000::/96\"\n\
            eam = [\"198.18.0.0/24 2001:2::/120\"]\n";
        for (device, first) in
            [("[dut.linux-forwarding]\n[link.veth]\n", "ipv4_forwarding_throughput"), (siit, "throughput")]
        {
            let (scenario, _) =
                plan_of(&format!("name = \"x\"\n{device}[measure]\nmetrics = {ALL:?}\nrepetitions = 1\n"));
            let found = metrics_of(&scenario, 0);
            assert_eq!(found, [&[first], &ALL[1..]].concat());
        }
    }

    const KERNEL: &str = include_str!("../../scenarios/kernel-nat44.toml");

    #[test]
    fn order_is_dut_cores_connections_metric_repetition() {
        let (_, plan) = plan_of(KERNEL);
        let keys: Vec<String> = plan.measurements.iter().map(Measurement::key).collect();
        assert_eq!(
            keys[..16],
            [
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/1",
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/2",
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/3",
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/4",
                "linux-forwarding/n=0/cores=1/ipv4_forwarding_throughput/5",
                "nftables/n=50000/cores=1/max_conn_est_rate/1",
                "nftables/n=50000/cores=1/max_conn_est_rate/2",
                "nftables/n=50000/cores=1/max_conn_est_rate/3",
                "nftables/n=50000/cores=1/max_conn_est_rate/4",
                "nftables/n=50000/cores=1/max_conn_est_rate/5",
                "nftables/n=50000/cores=1/throughput/1",
                "nftables/n=50000/cores=1/throughput/2",
                "nftables/n=50000/cores=1/throughput/3",
                "nftables/n=50000/cores=1/throughput/4",
                "nftables/n=50000/cores=1/throughput/5",
                "nftables/n=200000/cores=1/max_conn_est_rate/1",
            ]
        );
        assert_eq!(keys.len(), 5 + 3 * 2 * 2 * 5);
    }

    /// Repetitions alternate between the points, and a device is measured before the next one begins. All establishment rates
    /// precede phase 2.
    #[test]
    fn interleaved_repetitions_alternate_between_the_points() {
        let options = Options { full: false, set: vec!["measure.repetitions=2".to_owned()], ..Options::default() };
        let scenario = parse("test.toml", KERNEL, &options, tech::ALL).unwrap().scenario;
        let plan = Plan::in_order(&scenario, Sequence::Interleaved);
        let keys: Vec<String> = plan.measurements.iter().map(Measurement::key).collect();
        assert_eq!(
            keys[2..7],
            [
                "nftables/n=50000/cores=1/max_conn_est_rate/1",
                "nftables/n=200000/cores=1/max_conn_est_rate/1",
                "nftables/n=50000/cores=1/max_conn_est_rate/2",
                "nftables/n=200000/cores=1/max_conn_est_rate/2",
                "nftables/n=50000/cores=1/throughput/1",
            ]
        );
        assert_eq!(keys.len(), Plan::new(&scenario).measurements.len());
    }

    /// Of the first metric the first repetitions, then each value to its end; then the second metric.
    #[test]
    fn values_are_finished_one_after_the_other() {
        let options = Options { full: false, set: vec!["measure.repetitions=3".to_owned()], ..Options::default() };
        let scenario = parse("test.toml", KERNEL, &options, tech::ALL).unwrap().scenario;
        let plan = Plan::in_order(&scenario, Sequence::Interleaved);
        let mut left = plan.measurements[4..10].to_vec();
        plan.finish_values(&mut left);
        let found: Vec<(u64, u32)> = left.iter().map(|m| (m.point.connections, m.repetition)).collect();
        assert_eq!(found[..5], [(200_000, 1), (50_000, 2), (50_000, 3), (200_000, 2), (200_000, 3)]);
        assert_eq!(left[5], plan.measurements[9]);
    }

    /// Devices are measured at all combinations of the axes that apply to them, and keys name these axes.
    #[test]
    fn further_axes_are_part_of_points_and_keys() {
        let text = "name = \"x\"\n[dut.embedded]\npool = \"198.19.1.0/28\"\n[dut.simulated]\n[traffic]\n\
                    inside = \"198.18.0.2 - 198.18.0.9\"\n[sweep]\nconnections = \"100k\"\noutside-addresses = [2, 4]\n\
                    inside-addresses = [1, 3]\n[measure]\nmetrics = \"max_conn_est_rate\"\nrepetitions = 1\n";
        let (scenario, plan) = plan_of(text);
        let keys: Vec<String> = plan.measurements.iter().map(Measurement::key).collect();
        let embedded = |inside, outside| {
            format!(
                "embedded/n=100000/cores=1/inside-addresses={inside}/outside-addresses={outside}/max_conn_est_rate/1"
            )
        };
        let simulated = "simulated/n=100000/cores=1/max_conn_est_rate/1".to_owned();
        assert_eq!(keys, [embedded(1, 2), embedded(1, 4), embedded(3, 2), embedded(3, 4), simulated]);
        let there = plan.measurements[2].point.of(&scenario);
        let (_, nat44) = there.duts[0].technology().unwrap();
        assert_eq!((there.traffic.flows.inside.count, nat44.port_pool().unwrap().addresses), (3, 2));
    }

    #[test]
    fn keys_are_unique() {
        let (_, plan) = plan_of(KERNEL);
        let mut keys: Vec<String> = plan.measurements.iter().map(Measurement::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), plan.measurements.len());
    }
}
