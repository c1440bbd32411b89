//! What still fits into the time limit of a scenario (METHODOLOGY.md, repetitions and statistics).

use super::repeat::Round;
use super::{Run, RunError};
use crate::event::Event;
use crate::until::is_over;
use record::folder::Outcome;
use record::plan::Measurement;
use std::collections::HashSet;
use std::time::{Duration, Instant};

impl Run<'_> {
    /// Reports skipped measurements, without those of the plan that have a result.
    pub(super) fn leave_out(&mut self, measurements: &[Measurement], round: Round) -> Result<(), RunError> {
        let left: HashSet<&Measurement> = self.left().collect();
        let is_left = |m: &&Measurement| round == Round::Repeated || left.contains(m);
        let left: Vec<String> = measurements.iter().filter(is_left).map(Measurement::key).collect();
        self.skipped |= round == Round::Planned && !left.is_empty();
        left.into_iter().try_for_each(|measurement| self.tell(&Event::LeftOut { measurement }))
    }

    /// A first repetition may begin until the end. A further repetition may begin only if the first
    /// repetitions of all other measurements still fit into the scenario's limit, at the speed so
    /// far.
    pub(super) fn has_time_for(&self, m: &Measurement) -> bool {
        if is_over(self.end) {
            return false;
        }
        let Some(limit) = self.scenario.time_limit.map(Duration::from) else { return true };
        let known = |o: &&Outcome| (&o.measurement.point, &o.measurement.metric) == (&m.point, &m.metric);
        let done = self.outcomes.iter().any(|o| o.measurement == *m);
        if done || m.repetition <= 1 || !self.outcomes.iter().any(|o| known(&o)) {
            return true;
        }
        let needed = [m].into_iter().chain(self.left().filter(|m| m.repetition <= 1));
        fits(self.began.elapsed(), self.pace().max(1.0), needed, limit)
    }

    /// If what is left does not fit into the scenario's limit, at the speed so far, finishes one value after the other: so some
    /// have all their repetitions, instead of all having few.
    pub(super) fn order_by_time(&self, left: &mut [Measurement]) {
        let limit = self.scenario.time_limit.map(Duration::from);
        if limit.is_some_and(|limit| !fits(self.began.elapsed(), self.pace().max(1.0), self.left(), limit)) {
            self.plan.finish_values(left);
        }
    }

    /// Whether time is left to repeat; nothing is repeated without a time limit, nor after it.
    pub(super) fn has_time_to_repeat(&self, measurements: &[Measurement]) -> bool {
        let limit = self.scenario.time_limit.map(Duration::from);
        limit.is_some_and(|limit| fits(self.began.elapsed(), self.pace(), measurements.iter(), limit))
    }

    /// Time spent in relation to its prediction; 1 before the first measurement.
    fn pace(&self) -> f64 {
        let predicted = predicted_s(self.made.iter());
        if predicted > 0.0 { self.spent.as_secs_f64() / predicted } else { 1.0 }
    }

    pub(super) fn count_time(&mut self) {
        let now = Instant::now();
        self.spent += now - self.lap;
        self.lap = now;
    }
}

/// The measurements that fit at this pace.
fn fits<'m>(
    elapsed: Duration,
    pace: f64,
    measurements: impl Iterator<Item = &'m Measurement>,
    limit: Duration,
) -> bool {
    elapsed.as_secs_f64() + pace * predicted_s(measurements) <= limit.as_secs_f64()
}

fn predicted_s<'m>(measurements: impl Iterator<Item = &'m Measurement>) -> f64 {
    measurements.map(|m| m.predicted.as_secs_f64()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};

    #[test]
    fn what_is_predicted_at_the_pace_so_far_must_end_before_the_limit() {
        let text = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"100k\"\n[measure]\nrepetitions = 2\n";
        let scenario = parse("x.toml", text, &Options::default(), tech::ALL).unwrap().scenario;
        let mut measurements = record::plan::Plan::new(&scenario).measurements;
        measurements.truncate(2);
        for m in &mut measurements {
            m.predicted = method::Nanos::from_secs(2);
        }
        let seconds = Duration::from_secs;
        let fits = |elapsed, pace| fits(seconds(elapsed), pace, measurements.iter(), seconds(60));
        assert!(fits(56, 1.0) && !fits(57, 1.0));
        assert!(fits(52, 2.0) && !fits(53, 2.0));
        assert!(!fits(60, 1.0));
    }
}
