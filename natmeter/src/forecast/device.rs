//! Predicted time of procedures that look at the device or act on it.

use super::{Guess, phase1};
use method::{Nanos, Rate};
use procedure::metric::{CONN_TEAR_DOWN_RATE, CPU_IDLE, FAILOVER, LOCK_WAIT, MEMORY_PER_CONNTRACK_ENTRY, RESET};
use scenario::{Dut, Point, Scenario};

/// Connections that a device is assumed to remove per second.
const TEAR_DOWN: Rate = Rate(1_000_000);
/// Assumed time of a command that empties a table.
const COMMAND: u64 = 50_000_000;
/// Connections of the sample that answers in reverse, and its rate.
const SAMPLE: Rate = Rate(10_000);
/// Rate of the frames that show which connections survived.
const SURVEY: Rate = Rate(100_000);

/// Returns the assumed length of the trials of such a metric in nanoseconds, and their number.
pub(super) fn trials_of(scenario: &Scenario, point: &Point, metric: &str, guess: &Guess) -> Option<(u64, u32)> {
    let (n, m) = (point.connections, &scenario.measure);
    let around = m.start_delay.0 + m.drain.0 + m.settle.0;
    let rate = scenario.phase1_rate().map_or(guess.set_up.scaled(8, 10), Rate).max(Rate(1));
    let before = if n == 0 { 0 } else { phase1(scenario, n, rate) - m.settle.0 + m.phase1_drain.0 };
    let sample = rate.min(SAMPLE).time_for(n.min(SAMPLE.0)).0;
    let of = |parts: &[u64]| parts.iter().fold(before.saturating_add(around), |sum, part| sum.saturating_add(*part));
    let longest = scenario.procedures.longest(metric).unwrap_or_default().0;
    if metric == CONN_TEAR_DOWN_RATE.key {
        let of_tear_down = &scenario.procedures.tear_down;
        let commands = COMMAND * (1 + u64::from(of_tear_down.empty));
        return Some((of(&[sample, commands, TEAR_DOWN.time_for(n).0]), of_tear_down.fills));
    }
    if metric == MEMORY_PER_CONNTRACK_ENTRY.key {
        return Some((of(&[sample, COMMAND, TEAR_DOWN.time_for(n).0, Nanos::SECOND.0]), 1));
    }
    if metric == CPU_IDLE.key {
        return Some((of(&[longest]), boxes(scenario, point)));
    }
    if metric == LOCK_WAIT.key {
        return Some((of(&[longest]), 1));
    }
    let is_disruption = [RESET.key, FAILOVER.key].contains(&metric);
    is_disruption.then(|| (of(&[longest, rate.min(SURVEY).time_for(n).0]), 1))
}

fn boxes(scenario: &Scenario, point: &Point) -> u32 {
    match (&scenario.duts[point.dut], &scenario.bed) {
        (Dut::External { .. }, Some(bed)) => bed.boxes.len() as u32,
        _ => 1,
    }
}
