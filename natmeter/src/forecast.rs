//! Predicts time and memory of a plan before anything is known of the machine. The predictions use assumed rates, which
//! `natmeter plan` prints.

mod device;
mod dns;
mod earlier;
mod memory;
mod saved;
mod text;
mod timing;

pub use earlier::Earlier;
pub use memory::beyond;
pub use saved::refused;
pub use text::{text, total};

use crate::rig::{embedded, kernel, null, ports};
use method::search::mlr::Goal;
use method::{Count, Nanos, Precision, Rate};
use procedure::is_of_phase1;
use procedure::metric::{
    CHURN_RATE, CONN_TABLE_CAPACITY, FRAME_LOSS_RATE, MAX_TCP_CONN_RATE, OVERLOAD_SCALABILITY, is_throughput,
};
use record::plan::{Measurement, Plan};
use scenario::{Dut, Link, Measure, Plays, Point, Scenario, Sequence, VethIo};

/// Returns the plan of a scenario with predicted time and memory.
pub fn plan(scenario: &Scenario) -> Plan {
    let predicted = in_order(scenario, Sequence::PointByPoint);
    let order = scenario.measure.order.unwrap_or(if changing_is_cheap(scenario, &predicted) {
        Sequence::Interleaved
    } else {
        Sequence::PointByPoint
    });
    if order == predicted.order { predicted } else { in_order(scenario, order) }
}

fn in_order(scenario: &Scenario, order: Sequence) -> Plan {
    let mut plan = Plan::in_order(scenario, order);
    let (mut visited, mut costs): (Option<Point>, Vec<Point>) = (None, Vec::new());
    for m in &mut plan.measurements {
        let scenario = &*m.point.of(scenario);
        let dut = &scenario.duts[m.point.dut];
        m.predicted = saved::time(scenario, m, search_time(scenario, &m.point, &m.metric));
        if visited.as_ref() != Some(&m.point) {
            m.predicted.0 = m.predicted.0.saturating_add(2 * null_time(scenario, &m.point)).min(LONGEST.0);
            visited = Some(m.point.clone());
        }
        if is_throughput(&m.metric) && !costs.contains(&m.point) {
            m.predicted.0 = m.predicted.0.saturating_add(cost_time(scenario, &m.point)).min(LONGEST.0);
            costs.push(m.point.clone());
        }
        plan.tester_memory = plan.tester_memory.max(tester_memory(scenario, &m.point));
        plan.dut_memory = plan.dut_memory.max(dut_memory(dut, m.point.connections) + dns::of_programs(scenario, dut));
    }
    plan
}

/// Interleaving changes the point after every measurement; this must take less than this part of the measurement: 1/10.
const CHANGE_PART: u64 = 10;

/// Whether changing a point takes little time compared with its trials. A simulated device has no host whose noise would
/// spread over the points.
fn changing_is_cheap(scenario: &Scenario, plan: &Plan) -> bool {
    plan.measurements.iter().all(|m| {
        let scenario = &*m.point.of(scenario);
        let dut = &scenario.duts[m.point.dut];
        let change = change_time(dut, m.point.connections).0 + 2 * null_time(scenario, &m.point);
        let search = search_time(scenario, &m.point, &m.metric).0;
        !matches!(dut, Dut::Simulated { .. }) && change < search / CHANGE_PART
    })
}

/// Assumed time to set a device up at a point, without the null device: threads and tables of the embedded gateway; namespaces, rules and cables of a
/// kernel device.
fn change_time(dut: &Dut, connections: Count) -> Nanos {
    match dut {
        Dut::Kernel { .. } | Dut::Resolver | Dut::External { .. } => Nanos::from_secs(2),
        Dut::Gateway { .. } | Dut::Simulated { .. } => Nanos(50_000_000 + 200 * connections),
    }
}

/// What is predicted of measurements under a time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Their time.
    pub time: Nanos,
    /// How many of them the time limit skips or ends.
    pub skipped: usize,
}

/// Predicts the time of measurements, which are in the order of the plan, under the time limit of their scenario: a further
/// repetition begins only if it and the first repetitions of all other values fit into the limit, and nothing continues after
/// twice the limit ([`crate::run`]).
pub fn expected<'a>(measurements: impl Iterator<Item = &'a Measurement> + Clone, limit: Option<Nanos>) -> Expected {
    let Some(limit) = limit else {
        return Expected { time: sum(measurements), skipped: 0 };
    };
    let is_first = |m: &&Measurement| m.repetition <= 1;
    let mut first_left = sum(measurements.clone().filter(is_first)).0;
    let mut expected = Expected::default();
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

/// Assumed rates of a DUT on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Connections per second.
    pub set_up: Rate,
    /// Frames per second per direction, with both directions active.
    pub forward: Rate,
    /// Rate at which a search begins: the assumed tester ceiling, per direction.
    pub top: Rate,
}

/// Returns the assumed rates of one DUT, for one small core of a current processor.
pub fn guess(scenario: &Scenario, dut: &Dut) -> Guess {
    let thousands = |set_up: u64, forward: u64, top: u64| Guess {
        set_up: Rate(set_up * 1_000),
        forward: Rate(forward * 1_000),
        top: Rate(top * 1_000),
    };
    let guess = dns::guess(scenario, dut).unwrap_or_else(|| match (dut, &scenario.link) {
        (Dut::Simulated(device), _) => {
            let [set_up, forward] =
                [device.set_up_rate, device.capacity].map(|rate| Rate(rate.frames_per_second(scenario.widest_frame())));
            Guess { set_up, forward, top: Rate(15_000_000) }
        }
        (Dut::External { .. }, _) => of_ports(scenario),
        (Dut::Gateway { technology, .. }, _) if technology.overhead() > 0 => thousands(1_500, 4_000, 12_000),
        (Dut::Gateway { .. }, _) | (_, Link::InProcess { .. } | Link::Ports) => thousands(2_200, 4_000, 15_000),
        (Dut::Kernel { nat44: None, .. }, Link::Tap) => thousands(0, 250, 600),
        (Dut::Kernel { nat44: None, .. }, Link::Veth { io: VethIo::AfPacket }) => thousands(0, 170, 600),
        (Dut::Kernel { nat44: None, .. }, Link::Veth { .. }) => thousands(0, 220, 800),
        (Dut::Kernel { .. }, Link::Tap) => thousands(200, 170, 600),
        (Dut::Kernel { .. }, Link::Veth { io: VethIo::AfPacket }) => thousands(150, 120, 600),
        (Dut::Kernel { .. }, Link::Veth { .. }) => thousands(180, 150, 800),
        (Dut::Resolver, _) => thousands(0, 0, 0),
    });
    // The tester ceiling grows with the tester's workers; the rates of the device and of a link do not.
    let workers = if matches!(dut, Dut::External { .. }) { 1 } else { scenario.tester.workers };
    let top = Rate(guess.top.0 * u64::from(workers));
    let most = scenario.max_rate().map_or(top, |most| top.min(Rate(most)));
    Guess { set_up: guess.set_up.min(most), forward: guess.forward.min(most), top: most }
}

/// The assumed rates of a box: half the rate at which a search begins, which is the line rate of the slower port, or of 1 Gbit/s
/// if the bed does not say, and at most that of the scenario.
fn of_ports(scenario: &Scenario) -> Guess {
    let line = scenario.bed.as_ref().and_then(|bed| bed.line_rate(scenario.widest_frame())).unwrap_or(1_488_095);
    let top = Rate(scenario.max_rate().map_or(line, |most| line.min(most)));
    let half = top.scaled(1, 2);
    Guess { set_up: half, forward: half, top }
}

/// Maximum prediction of one month, so that sums over a plan cannot overflow.
const LONGEST: Nanos = Nanos::from_secs(30 * 86_400);

/// A box may be this many times slower than assumed.
pub const SLOWER: u64 = 100;

/// Predicted time of a plan for boxes, whose rates are not known: if every box passes the first rate of each search, and if it is
/// [`SLOWER`]. `None` for devices of this machine.
pub fn of_boxes(scenario: &Scenario, plan: &Plan) -> Option<[Nanos; 2]> {
    let is_box = |m: &&Measurement| matches!(scenario.duts[m.point.dut], Dut::External { .. });
    plan.measurements.iter().find(is_box)?;
    let ends = plan.measurements.iter().map(|m| {
        let scenario = &*m.point.of(scenario);
        let guess = guess(scenario, &scenario.duts[m.point.dut]);
        let [set_up, forward] = [guess.set_up, guess.forward].map(|rate| rate.scaled(1, SLOWER).max(Rate(1)));
        let slow = search_time_at(scenario, &m.point, &m.metric, &Guess { set_up, forward, ..guess });
        let (_, trials) = trials_of(scenario, &m.point, &m.metric, &guess);
        let all = search_time_at(scenario, &m.point, &m.metric, &guess).0;
        [m.predicted.0.saturating_sub(all) + all / u64::from(trials), m.predicted.0.max(slow.0)]
    });
    Some(ends.fold([0u64; 2], |sum, end| [0, 1].map(|i| sum[i].saturating_add(end[i]))).map(Nanos))
}

/// Predicted duration of one search at the assumed rates.
fn search_time(scenario: &Scenario, point: &Point, metric: &str) -> Nanos {
    search_time_at(scenario, point, metric, &guess(scenario, &scenario.duts[point.dut]))
}

/// Predicted duration of one search: its trials, each as long as near the assumed rate.
fn search_time_at(scenario: &Scenario, point: &Point, metric: &str, guess: &Guess) -> Nanos {
    let (trial, trials) = trials_of(scenario, point, metric, guess);
    let trial = trial.saturating_add(wait_for_box(scenario, point, metric, trial));
    // With a few flows and with all.
    let trials = if metric == OVERLOAD_SCALABILITY.key { 2 * trials } else { trials };
    Nanos(trial.saturating_mul(u64::from(trials)).min(LONGEST.0))
}

/// The wait before a trial of a search on a box whose table nothing empties, in nanoseconds. The search for a capacity has its own.
fn wait_for_box(scenario: &Scenario, point: &Point, metric: &str, trial: u64) -> u64 {
    let is_capacity = metric == CONN_TABLE_CAPACITY.key;
    if is_capacity { 0 } else { scenario.mean_wait(&scenario.duts[point.dut], point.connections, Nanos(trial)).0 }
}

/// Duration of the warm-up of a trial in nanoseconds, with the wait before it and its drain.
fn warm_up_time(m: &Measure) -> u64 {
    m.warm_up.map_or(0, |warm_up| m.start_delay.0 + warm_up.0 + m.phase1_drain.0)
}

/// Predicted duration of a trial of a search in nanoseconds, and the number of its trials.
fn trials_of(scenario: &Scenario, point: &Point, metric: &str, guess: &Guess) -> (u64, u32) {
    let (n, m) = (point.connections, &scenario.measure);
    if metric == CONN_TABLE_CAPACITY.key {
        return (capacity_time(scenario, point, guess.set_up).0, 1);
    }
    if let Some(of_device) = device::trials_of(scenario, point, metric, guess) {
        return of_device;
    }
    if let Some(trials) = dns::trials_of(scenario, metric, guess) {
        return trials;
    }
    let of_its_own = timing::trials_of(scenario, metric, guess);
    let length = of_its_own.map_or(m.duration, |(length, _)| length);
    // Of both searches, that with all flows has a ramp.
    let ramp = scenario.procedures.overload_scalability.ramp(n).filter(|_| metric == OVERLOAD_SCALABILITY.key);
    let ramp = ramp.map_or(0, |ramp| ramp.lasts().0 / 2);
    let phase2 = warm_up_time(m) + m.start_delay.0 + ramp + length.0 + m.drain.0 + m.settle.0;
    if metric == MAX_TCP_CONN_RATE.key {
        return tcp_trials(scenario, point, phase2, guess);
    }
    if metric == CHURN_RATE.key {
        return churn_trials(scenario, point, phase2, guess);
    }
    let (trial, around) = match metric {
        "max_conn_est_rate" => (phase1(scenario, n, guess.set_up), guess.set_up),
        "max_conn_est_rate_validated" => {
            let back = guess.set_up.scaled(u64::from(scenario.alpha_ppm().unwrap_or(1_000_000)), 1_000_000);
            (
                phase1(scenario, n, guess.set_up).saturating_add(back.time_for(n).0).saturating_add(m.drain.0),
                guess.set_up,
            )
        }
        "ipv4_forwarding_throughput" => (phase2, guess.forward),
        _ if n == 0 => (phase2, guess.forward),
        // Phase 1 at 0.8 of the rate found, and T once more before phase 2 (siitperf: D = N/R + 2T).
        _ => {
            let rate = scenario.phase1_rate().map_or(guess.set_up.scaled(8, 10), Rate);
            let before = phase1(scenario, n, rate) - m.settle.0;
            (before.saturating_add(m.phase1_drain.0).saturating_add(phase2), guess.forward)
        }
    };
    if metric == FRAME_LOSS_RATE.key {
        let loads = scenario.procedures.frame_loss.loads(guess.top, scenario.widest_frame());
        return (trial, loads.len() as u32);
    }
    if let Some((_, count)) = of_its_own {
        return (trial, count);
    }
    if is_of_phase1(metric) || scenario.goals().is_empty() {
        return (trial, trials(guess.top, around, scenario.precision()));
    }
    let before_each = trial.saturating_sub(m.duration.0);
    let goals = scenario.goals().into_iter().map(|goal| mlr_time(&goal, before_each));
    (goals.fold(0u64, u64::saturating_add), 1)
}

/// Predicted duration of a trial with churn whose phase 2 takes so long, and the number of trials.
fn churn_trials(scenario: &Scenario, point: &Point, phase2: u64, guess: &Guess) -> (u64, u32) {
    let (held, limits) = scenario.churn(&scenario.duts[point.dut], point.connections);
    let rate = scenario.phase1_rate().map_or(guess.set_up.scaled(8, 10), Rate);
    let m = &scenario.measure;
    let before = phase1(scenario, held, rate) - m.settle.0 + m.phase1_drain.0;
    let top = Rate(guess.top.0 / limits.frames.max(1)).min(limits.most_arrivals(m.duration));
    (before.saturating_add(phase2), trials(top, guess.set_up.min(top), scenario.precision()))
}

/// Predicted duration of a trial of TCP connections whose phase 2 takes so long, and the number of trials.
fn tcp_trials(scenario: &Scenario, point: &Point, phase2: u64, guess: &Guess) -> (u64, u32) {
    let (held, life) = scenario.tcp_life(point.connections);
    let rate = scenario.phase1_rate().map_or(guess.set_up.scaled(8, 10), Rate);
    let m = &scenario.measure;
    let before = phase1(scenario, held, rate) - m.settle.0 + m.phase1_drain.0;
    let top = Rate(guess.top.0 / life.of_initiator()).min(life.most_connections(m.duration));
    let around = Rate(guess.forward.0 / life.of_initiator()).min(guess.set_up).min(top);
    (before.saturating_add(phase2), trials(top, around, scenario.precision()))
}

/// Predicted time of the search for a capacity near half of the connections: four doublings, then halvings down to the error.
/// Each number of connections that is safe takes one trial at the last safe rate, and each that is not two at lower ones.
fn capacity_time(scenario: &Scenario, point: &Point, set_up: Rate) -> Nanos {
    const TRIALS: u64 = 2;
    const DOUBLINGS: u64 = 4;
    let (n, m) = (point.connections / 2, &scenario.measure);
    let back = set_up.scaled(u64::from(scenario.alpha_ppm().unwrap_or(1_000_000)), 1_000_000);
    let trial = phase1(scenario, n, set_up).saturating_add(back.time_for(n).0).saturating_add(m.drain.0);
    let trial = trial.saturating_add(scenario.mean_wait(&scenario.duts[point.dut], n, Nanos(trial)).0);
    let halvings = u64::from(u64::BITS - (n / m.capacity_error.max(1)).leading_zeros());
    Nanos(trial.saturating_mul(TRIALS * (DOUBLINGS + halvings)).min(LONGEST.0))
}

/// Predicted time of MLRsearch for one goal: at each of its three targets trials of twice the duration sum, and three at least.
fn mlr_time(goal: &Goal, before_each: u64) -> u64 {
    let of_target = |target: &Goal| {
        let trials = (2 * target.duration_sum.0.div_ceil(target.final_duration.0.max(1))).max(3);
        trials.saturating_mul(before_each.saturating_add(target.final_duration.0))
    };
    goal.targets().iter().map(of_target).fold(0, u64::saturating_add)
}

/// Threads start, drain and pause around each window.
const AROUND_WINDOW: u64 = 10_000_000;
/// Setting up and removing the cable of a kernel device, and measuring it.
const CABLE: u64 = 700_000_000;

/// One measurement of the null device.
fn null_time(scenario: &Scenario, point: &Point) -> u64 {
    let (dut, window) = (&scenario.duts[point.dut], null::WINDOW.0 + AROUND_WINDOW);
    match (dut, &scenario.link) {
        _ if scenario.sends_queries() || !null::is_plain(scenario) => 0,
        (Dut::Gateway { .. }, Link::InProcess { .. }) => {
            null::WINDOWS as u64 * window + null::FILLS as u64 * fill(point, guess(scenario, dut).top)
        }
        (Dut::Kernel { .. }, Link::Veth { .. }) => CABLE,
        _ => 0,
    }
}

/// Whether the null device is measured at a point of the plan.
fn has_null_device(scenario: &Scenario, plan: &Plan) -> bool {
    plan.measurements.iter().any(|m| null_time(&m.point.of(scenario), &m.point) > 0)
}

/// The windows that find the cost of a frame: pairs of device and null device, then the device on the tester's thread.
fn cost_time(scenario: &Scenario, point: &Point) -> u64 {
    let (dut, window) = (&scenario.duts[point.dut], null::WINDOW.0 + AROUND_WINDOW);
    match (dut, &scenario.link) {
        (Dut::Gateway { .. }, Link::InProcess { .. }) if null::is_plain(scenario) => {
            (2 * null::PAIRS + null::ALONE) as u64 * window + 2 * fill(point, guess(scenario, dut).set_up.scaled(8, 10))
        }
        _ => 0,
    }
}

/// A phase 1 without the waits of a trial.
fn fill(point: &Point, rate: Rate) -> u64 {
    if point.connections == 0 { 0 } else { rate.time_for(point.connections).0.saturating_add(AROUND_WINDOW) }
}

/// One phase 1 with its waits.
fn phase1(scenario: &Scenario, n: Count, rate: Rate) -> u64 {
    let m = &scenario.measure;
    rate.time_for(n).0.saturating_add(m.start_delay.0 + m.phase1_drain.0 + m.settle.0)
}

/// Trials of a binary search from `top` to the width of the interval at which it stops: ceil(log2(top / width)), and one
/// trial at the upper end.
fn trials(top: Rate, result: Rate, precision: Precision) -> u32 {
    let interval = precision.width(result).0;
    top.0.div_ceil(interval).next_power_of_two().ilog2() + 1
}

/// Bytes of the tester at a point: the Responder's store (8 B a connection), the bitmaps of sequence numbers
/// that tell a duplicate (a bit a frame), time stamps (16 B a frame), and the frame pools.
fn tester_memory(scenario: &Scenario, point: &Point) -> u64 {
    let guess = guess(scenario, &scenario.duts[point.dut]);
    let frames = scenario.traffic.direction.all_frames(guess.top.frames_in(scenario.measure.duration));
    let frames = frames.max(timing::frames(scenario, &guess));
    // IPv6 addresses of the subscribers, 16 B each.
    let rows =
        if scenario.traffic.flows.subscribers > 1 { 16 * u64::from(scenario.traffic.flows.subscribers) } else { 0 };
    // TCP connections have a stage each, of 8 B.
    let each = if scenario.has_tcp() { 16 } else { 8 };
    each * point.connections
        + frames.max(point.connections).div_ceil(8)
        + pools(scenario, point)
        + rows
        + timing::stamps(scenario, &guess)
        + dns::memory(scenario, scenario.measure.duration, &guess)
}

/// Bytes of the frame pools, one for each worker of this process, and of the rings by which workers return frames to each
/// other's pools.
fn pools(scenario: &Scenario, point: &Point) -> u64 {
    let slot = match scenario.link {
        Link::Veth { .. } | Link::Ports => 2048,
        // Headroom, and whole cache lines.
        Link::InProcess { .. } | Link::Tap => 64 + (scenario.traffic.frame_size as u64).next_multiple_of(64),
    };
    let (pools, frames) = match scenario.link {
        Link::InProcess { depth } => {
            let frames = embedded::pool_frames(depth, point.cores as usize);
            (u64::from(scenario.tester.workers + point.cores), frames as u64)
        }
        Link::Veth { .. } | Link::Tap => (1, kernel::FRAMES as u64),
        Link::Ports => (scenario.tester.workers.into(), ports::FRAMES as u64),
    };
    pools * frames * slot + 8 * pools * (pools - 1) * frames
}

/// Bytes of the DUT's tables with `connections` in them. A session of the embedded gateway takes 64 B in total. An entry of
/// the kernel takes 385 B, and a bucket 8 B, as measured; the default is one bucket for each entry.
fn dut_memory(dut: &Dut, connections: Count) -> u64 {
    match dut {
        Dut::Gateway { plays, technology, .. } => {
            let each = if technology.overhead() > 0 { 96 } else { 64 };
            let loaded = if *plays == Plays::Ce { 0 } else { technology.table_octets() };
            each * dut.table_size().unwrap_or(0) + loaded
        }
        Dut::Kernel { nat44: Some(nat44), .. } => 385 * connections + 8 * nat44.hash_size.unwrap_or(connections),
        // The memory of a box is not this machine's.
        Dut::Kernel { nat44: None, .. } | Dut::Resolver | Dut::External { .. } | Dut::Simulated { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};

    fn plan_of(text: &str) -> Plan {
        plan(&parse("test.toml", text, &Options::default(), tech::ALL).unwrap().scenario)
    }

    const KERNEL: &str = include_str!("../../scenarios/kernel-nat44.toml");

    #[test]
    fn trials_of_a_binary_search() {
        let share = |ppm| Precision::Relative(method::Ratio::from_ppm(ppm));
        // 16 M down to 10 k: 1,600 intervals, 11 halvings, and the upper end.
        assert_eq!(trials(Rate(16_000_000), Rate(1_000_000), share(10_000)), 12);
        // An interval as wide as the search: the upper end decides.
        assert_eq!(trials(Rate(100), Rate(100), share(1_000_000)), 1);
        assert_eq!(trials(Rate(u64::MAX >> 1), Rate(0), share(1)), 64);
    }

    /// Each worker has a pool, and rings on which the others return frames.
    #[test]
    fn every_worker_of_the_tester_takes_memory() {
        let quickstart = include_str!("../../scenarios/quickstart.toml");
        let text = quickstart.replace("[link.in-process]", "[link.in-process]\ndepth = 512");
        let memory = |n: u64| plan_of(&format!("{text}\n[tester]\nworkers = {n}\n")).tester_memory;
        let pool = 4096 * 128;
        let [one, two, four] = [1, 2, 4].map(memory);
        // More frames are offered, too.
        assert!(two > one + pool && four - two > 2 * (two - one), "{one} {two} {four}");
    }

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

    #[test]
    fn memory_is_that_of_the_largest_point() {
        let plan = plan_of(KERNEL);
        // 385 B a connection and 8 B a bucket, one bucket a connection.
        assert_eq!(plan.dut_memory, 200_000 * (385 + 8));
        assert!(plan.tester_memory > 8 * 200_000);
    }
}
