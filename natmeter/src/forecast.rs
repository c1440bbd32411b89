//! Predicts time and memory of a plan: carries out the searches with assumed rates on a simulated clock.

mod earlier;
mod memory;
mod rates;
mod saved;
mod searches;
mod set_up;
mod text;

pub use earlier::EarlierRuns;
pub use memory::beyond;
pub use rates::{Guess, guess};
pub use saved::refused;
pub use text::{text, total};

use method::{Nanos, Rate};
use procedure::metric::{Gives, gives};
use record::plan::{Measurement, Plan};
use scenario::{Point, Scenario, Sequence};
use searches::{LONGEST, Searches};

/// The plan with predicted time and memory.
pub fn plan(scenario: &Scenario) -> Plan {
    let TimedPlan { plan, searches, .. } = in_order(scenario, Sequence::PointByPoint);
    let order = scenario.measure.order.unwrap_or(if changing_is_cheap(scenario, &plan, &searches) {
        Sequence::Interleaved
    } else {
        Sequence::PointByPoint
    });
    if order == plan.order { plan } else { in_order(scenario, order).plan }
}

struct TimedPlan {
    plan: Plan,
    /// Times of the search of each measurement.
    searches: Vec<Nanos>,
    /// Octets that tester and device need at each point.
    needed: Vec<(Point, [u64; 2])>,
}

fn in_order(scenario: &Scenario, order: Sequence) -> TimedPlan {
    let mut plan = Plan::in_order(scenario, order);
    let mut searches = Searches::new(scenario, |guess| guess);
    let times: Vec<Nanos> = plan.measurements.iter().map(|m| searches.time(m)).collect();
    let needed = |point: &Point| {
        let tester = memory::of_tester(scenario, point, searches.largest(point));
        (point.clone(), [tester, memory::of_device(scenario, point)])
    };
    let needed: Vec<(Point, [u64; 2])> = plan.points().map(needed).collect();
    let most = |at: usize| needed.iter().map(|(_, octets)| octets[at]).max().unwrap_or(0);
    (plan.tester_memory, plan.dut_memory) = (most(0), most(1));
    let (mut visited, mut costs): (Option<Point>, Vec<Point>) = (None, Vec::new());
    for (m, time) in plan.measurements.iter_mut().zip(&times) {
        let here = &*m.point.of(scenario);
        let mut around = 0;
        if visited.as_ref() != Some(&m.point) {
            around += 2 * set_up::null(here, &m.point);
            visited = Some(m.point.clone());
        }
        if gives(&m.metric, Gives::Throughput) && !costs.contains(&m.point) {
            around += set_up::cost(here, &m.point);
            costs.push(m.point.clone());
        }
        m.predicted = Nanos(time.0.saturating_add(around).min(LONGEST.0));
    }
    TimedPlan { plan, searches: times, needed }
}

/// Part of a measurement: interleaving changes the point after each.
const CHANGE_PART: u64 = 10;

/// Compared with a point's trials. A simulated device has no host whose noise would spread over the points.
fn changing_is_cheap(scenario: &Scenario, plan: &Plan, searches: &[Nanos]) -> bool {
    plan.measurements.iter().zip(searches).all(|(m, search)| {
        let scenario = &*m.point.of(scenario);
        let dut = &scenario.duts[m.point.dut];
        let change = set_up::change(dut, m.point.connections).0 + 2 * set_up::null(scenario, &m.point);
        !scenario.is_simulated(m.point.dut) && change < search.0 / CHANGE_PART
    })
}

/// Predicted for measurements under a time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedTime {
    pub time: Nanos,
    /// Skipped or ended by the time limit.
    pub skipped: usize,
}

/// Measurements are in the order of the plan: a further repetition begins only if it and the first
/// repetitions of all other values fit into the limit, and nothing continues after twice the limit
/// ([`crate::run`]).
pub fn expected<'a>(measurements: impl Iterator<Item = &'a Measurement> + Clone, limit: Option<Nanos>) -> ExpectedTime {
    let Some(limit) = limit else {
        return ExpectedTime { time: sum(measurements), skipped: 0 };
    };
    let is_first = |m: &&Measurement| m.repetition <= 1;
    let mut first_left = sum(measurements.clone().filter(is_first)).0;
    let mut expected = ExpectedTime::default();
    for m in measurements {
        if is_first(&m) {
            first_left = first_left.saturating_sub(m.predicted.0);
        } else if expected.time.0.saturating_add(m.predicted.0).saturating_add(first_left) > limit.0 {
            expected.skipped += 1;
            continue;
        }
        let (end, last) = (expected.time.0.saturating_add(m.predicted.0), limit.0.saturating_mul(2));
        expected.skipped += usize::from(end > last);
        expected.time = Nanos(end.min(last));
    }
    expected
}

fn sum<'a>(measurements: impl Iterator<Item = &'a Measurement>) -> Nanos {
    Nanos(measurements.fold(0, |sum, measurement| sum.saturating_add(measurement.predicted.0)))
}

/// Per cent of the assumed time above which a search is slower than assumed.
pub const SLOWER: u64 = 100;

/// The time if every box passes the first rate of each search, and if it is [`SLOWER`]. `None` for
/// devices of this machine.
pub fn of_boxes(scenario: &Scenario, plan: &Plan) -> Option<[Nanos; 2]> {
    let is_box = |m: &&Measurement| scenario.bed_of(&scenario.duts[m.point.dut]).is_some();
    plan.measurements.iter().find(is_box)?;
    let times = |changed: fn(Guess) -> Guess| {
        let mut searches = Searches::new(scenario, changed);
        plan.measurements.iter().map(|m| searches.time(m).0).collect::<Vec<u64>>()
    };
    let assumed = times(|guess| guess);
    let fast = times(|guess| Guess { set_up: guess.top.scaled(2, 1), forward: guess.top.scaled(2, 1), ..guess });
    let slow = times(|guess| {
        let slower = |rate: Rate| rate.scaled(1, SLOWER).max(Rate(1));
        Guess { set_up: slower(guess.set_up), forward: slower(guess.forward), ..guess }
    });
    let mut ends = [0u64; 2];
    for (at, m) in plan.measurements.iter().enumerate() {
        let of_fast = m.predicted.0.saturating_sub(assumed[at]).saturating_add(fast[at]);
        for (end, time) in ends.iter_mut().zip([of_fast, m.predicted.0.max(slow[at])]) {
            *end = end.saturating_add(time);
        }
    }
    Some(ends.map(Nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};

    fn plan_of(text: &str) -> Plan {
        plan(&parse("test.toml", text, &Options::default(), tech::ALL).unwrap().scenario)
    }

    const KERNEL: &str = include_str!("../../scenarios/kernel-nat44.toml");

    /// Predicted times in seconds, as value and repetition.
    fn measurements(of: &[(u64, u32, u64)]) -> Vec<Measurement> {
        let plan = plan_of(KERNEL);
        let measurement = |&(value, repetition, seconds): &(u64, u32, u64)| {
            let mut m = plan.measurements[0].clone();
            (m.point.connections, m.repetition, m.predicted) = (value, repetition, Nanos::from_secs(seconds));
            m
        };
        of.iter().map(measurement).collect()
    }

    /// A table that is smaller than the number of connections shows at three rates; a device that opens one connection in
    /// a second needs all.
    #[test]
    fn a_search_in_which_nothing_passes_is_as_long_as_its_run_and_bounded() {
        let predicted = |keys: &str, connections: &str| {
            let device = format!("[dut.simulated]\n{keys}\n[sweep]\nconnections = \"{connections}\"\n");
            let measure = "[measure]\nmetrics = \"max_conn_est_rate\"\nrepetitions = 2\nerror = \"1 %\"\n";
            let plan = plan_of(&format!("name = \"x\"\n{device}{measure}"));
            plan.measurements.iter().map(|m| m.predicted).collect::<Vec<_>>()
        };
        let small = predicted("table = \"29k\"", "30k")[0].as_secs_f64();
        assert!((60.0..150.0).contains(&small), "{small} s");
        assert_eq!(predicted("set-up-rate = \"1 cps\"", "30M"), [LONGEST; 2]);
    }

    #[test]
    fn the_time_limit_bounds_the_prediction() {
        let all = measurements(&[(1, 1, 10), (1, 2, 10), (1, 3, 10), (2, 1, 10), (2, 2, 10), (2, 3, 10)]);
        let under = |limit: Option<u64>| {
            let expected = expected(all.iter(), limit.map(Nanos::from_secs));
            (expected.time.as_secs_f64(), expected.skipped)
        };
        assert_eq!(under(None), (60.0, 0));
        assert_eq!(under(Some(60)), (60.0, 0));
        // One further repetition of the first value leaves room for the first of the second.
        assert_eq!(under(Some(35)), (30.0, 3));
        // First repetitions may exceed the limit, …
        assert_eq!(under(Some(15)), (20.0, 4));
        // … up to twice the limit, which ends the last one.
        assert_eq!(under(Some(8)), (16.0, 5));
    }
}
