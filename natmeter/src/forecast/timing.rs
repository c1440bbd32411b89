//! Predicted time and memory of procedures that run at the throughput: latency, delay variations, bursts and recovery.

use super::{Guess, trials};
use method::{Count, Nanos, Rate};
use procedure::metric::{BACK_TO_BACK_FRAMES, IPDV, LATENCY, PDV, SYSTEM_RECOVERY_TIME};
use scenario::Scenario;

/// A burst of this part of the longest is the assumed result.
const BURST_PART: u64 = 1_000;
/// A time stamp of a sent frame and of a received one, in bytes.
const STAMPS: u64 = 16;

/// Returns the assumed length of the trials of a metric with lengths of its own, and their number.
pub(super) fn trials_of(scenario: &Scenario, metric: &str, guess: &Guess) -> Option<(Nanos, u32)> {
    if metric != BACK_TO_BACK_FRAMES.key {
        let longest = scenario.procedures.longest(metric);
        return longest.map(|length| (length, 1));
    }
    let longest = scenario.procedures.back_to_back.longest;
    let bursts = guess.top.frames_in(longest);
    let count = trials(Rate(bursts), Rate((bursts / BURST_PART).max(1)), scenario.precision());
    // Each burst is half as long as the one before, and the queue runs empty at the throughput.
    let all = guess.forward.max(Rate(1)).time_for(guess.top.frames_in(Nanos(2 * longest.0)));
    Some((Nanos(all.0 / u64::from(count)), count))
}

/// Bytes of the time stamps of the largest trial, in all directions.
pub(super) fn stamps(scenario: &Scenario, guess: &Guess) -> u64 {
    let metrics = &scenario.measure.metrics;
    let asked = |key: &str| metrics.iter().any(|metric| metric == key);
    let (of, directions) = (&scenario.procedures, scenario.traffic.direction.count());
    let tags = if asked(LATENCY.key) { of.latency.tags * directions } else { 0 };
    let all = [(PDV.key, of.pdv.duration), (IPDV.key, of.ipdv.duration)];
    let all = all.into_iter().filter(|(key, _)| asked(key)).map(|(key, duration)| {
        let given = procedure::of(key).and_then(|procedure| of.rate(procedure.key));
        let rate = given.map_or(guess.forward, |rate| Rate(rate.frames_per_second(scenario.widest_frame())));
        scenario.traffic.direction.all_frames(rate.frames_in(duration))
    });
    STAMPS * all.max().unwrap_or(0).max(tags)
}

/// Frames of the longest trial that a procedure with a length of its own sends at these rates, in all directions: each takes a bit
/// of a bitmap.
pub(super) fn frames(scenario: &Scenario, guess: &Guess) -> Count {
    let all = [LATENCY, PDV, IPDV, SYSTEM_RECOVERY_TIME].map(|metric| metric.key);
    let asked = all.into_iter().filter(|key| scenario.measure.metrics.iter().any(|metric| metric == key));
    let longest = asked.filter_map(|key| scenario.procedures.longest(key)).max().unwrap_or_default();
    let bursts = if scenario.measure.metrics.iter().any(|metric| metric == BACK_TO_BACK_FRAMES.key) {
        guess.top.frames_in(scenario.procedures.back_to_back.longest)
    } else {
        0
    };
    scenario.traffic.direction.all_frames(guess.forward.frames_in(longest).max(bursts))
}
