//! Visits of a run to a point of the matrix: what it does there between two measurements of the null device. If that changed,
//! the results are doubtful, and natmeter may repeat the visit once. Only the null device decides, never a trial.

use crate::folder::{NullDevice, Outcome};
use crate::plan::Measurement;
use method::Rate;
use method::stats;
use scenario::Point;
use std::collections::HashSet;

/// Change of the null device above which results are doubtful.
pub const CHANGE: f64 = 0.15;

#[derive(Clone, Debug, PartialEq)]
pub struct DoubtfulVisit {
    pub point: Point,
    pub change: f64,
    pub measurements: Vec<Measurement>,
}

/// Returns the visits to be repeated, the largest change of the null device first: those at which it changed by more than
/// [`CHANGE`], without measurements that were repeated before. `has_later` says of a result whether a later attempt at its
/// measurement has trials.
pub fn doubtful(
    nulls: &[NullDevice],
    outcomes: &[Outcome],
    has_later: impl Fn(&Outcome) -> bool,
) -> Vec<DoubtfulVisit> {
    let left = outcomes.iter().filter(|o| is_only(o, outcomes) && !has_later(o));
    let doubt = |(visit, outcomes): (Option<u32>, Vec<&Outcome>)| {
        let visit = visit?;
        let measurements: Vec<Measurement> = outcomes.iter().map(|o| o.measurement.clone()).collect();
        let change = measurements.iter().map(|m| change(nulls, visit, m)).fold(0.0, f64::max);
        Some(DoubtfulVisit { point: measurements[0].point.clone(), change, measurements })
    };
    let visits = document::grouped_by(left, |o| o.visit).into_iter();
    let mut doubtful: Vec<DoubtfulVisit> = visits.filter_map(doubt).filter(|d| d.change > CHANGE).collect();
    doubtful.sort_by(|a, b| b.change.total_cmp(&a.change));
    doubtful
}

/// Returns what is left of the repetition of a visit: the measurement with this result, whose repetition has begun, then those
/// that were not repeated. `has_later` is that of [`doubtful`].
pub fn rest_of(begun: &Outcome, outcomes: &[Outcome], has_later: impl Fn(&Outcome) -> bool) -> Vec<Measurement> {
    let is_left = |o: &&Outcome| o.visit == begun.visit && o.visit.is_some() && is_only(o, outcomes) && !has_later(o);
    let left = outcomes.iter().filter(is_left);
    [begun].into_iter().chain(left).map(|o| o.measurement.clone()).collect()
}

/// Returns the results that stand: the last one of each measurement.
pub fn standing(outcomes: &[Outcome]) -> impl Iterator<Item = &Outcome> {
    let mut later = HashSet::new();
    let mut standing: Vec<&Outcome> = outcomes.iter().rev().filter(|o| later.insert(&o.measurement)).collect();
    standing.reverse();
    standing.into_iter()
}

/// Returns the measurements of the null device that belong to standing results: all but those of visits of which every result
/// was replaced.
pub fn evidence<'a>(nulls: &'a [NullDevice], outcomes: &[Outcome]) -> impl Iterator<Item = &'a NullDevice> {
    let visits = |of: &mut dyn Iterator<Item = &Outcome>| of.filter_map(|o| o.visit).collect::<Vec<u32>>();
    let (all, standing) = (visits(&mut outcomes.iter()), visits(&mut standing(outcomes)));
    let is_replaced = move |visit: u32| all.contains(&visit) && !standing.contains(&visit);
    nulls.iter().filter(move |null| !null.visit.is_some_and(&is_replaced))
}

/// Returns the number of points with a result that was replaced.
pub fn repeated_points(outcomes: &[Outcome]) -> usize {
    let mut seen = HashSet::new();
    let again = outcomes.iter().filter(|o| !seen.insert(&o.measurement));
    again.map(|o| &o.measurement.point).collect::<HashSet<_>>().len()
}

fn is_only(one: &Outcome, outcomes: &[Outcome]) -> bool {
    outcomes.iter().filter(|o| o.measurement == one.measurement).count() == 1
}

/// The change of the null device at a visit, for the metric of a measurement: between its measurements there, and against
/// the median of its measurements at this point in the whole run. 0 without a measurement.
fn change(nulls: &[NullDevice], visit: u32, m: &Measurement) -> f64 {
    let rates = |of: &dyn Fn(&NullDevice) -> bool| -> Vec<f64> {
        let rates = nulls.iter().filter(|null| of(null)).filter_map(|null| null.of(&m.metric));
        rates.filter(|rate| *rate > Rate(0)).map(|rate| rate.0 as f64).collect()
    };
    let own = rates(&|null| null.visit == Some(visit));
    let mut all = rates(&|null| null.point == m.point);
    all.sort_by(f64::total_cmp);
    let references = own.iter().copied().chain(stats::median_of(&all));
    references.filter_map(|reference| largest_factor(&own, reference)).fold(1.0, f64::max) - 1.0
}

/// Returns the largest factor between a reference and any of these rates, in either direction.
pub(crate) fn largest_factor(rates: &[f64], reference: f64) -> Option<f64> {
    rates.iter().map(|rate| rate.max(reference) / rate.min(reference)).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::{Direction, Nanos, SearchResult};
    use serde_json::json;

    fn point(connections: u64) -> Point {
        serde_json::from_value(json!({ "dut": 0, "dut_name": "x", "connections": connections, "cores": 1 })).unwrap()
    }

    /// A result of throughput.
    fn outcome(connections: u64, repetition: u32, attempt: u32, visit: u32) -> Outcome {
        let measurement =
            Measurement { point: point(connections), metric: "throughput".to_owned(), repetition, predicted: Nanos(0) };
        let outcome = Outcome::new(measurement, Direction::Both, SearchResult::empty());
        Outcome { attempt: Some(attempt), visit: Some(visit), ..outcome }
    }

    /// The null device before and after a visit.
    fn nulls(connections: u64, visit: u32, frames: [u64; 2]) -> [NullDevice; 2] {
        [(true, frames[0]), (false, frames[1])].map(|(before, frames)| NullDevice {
            point: point(connections),
            visit: Some(visit),
            before,
            after_s: 0.0,
            frames: Rate(frames),
            set_up: Some(Rate(7)),
        })
    }

    /// Connections, change in percent and repetitions of each doubtful visit.
    fn found(nulls: &[NullDevice], outcomes: &[Outcome]) -> Vec<(u64, u32, Vec<u32>)> {
        let found = doubtful(nulls, outcomes, |_| false).into_iter();
        found
            .map(|d| {
                let repetitions = d.measurements.iter().map(|m| m.repetition).collect();
                (d.point.connections, (d.change * 100.0).round() as u32, repetitions)
            })
            .collect()
    }

    #[test]
    fn the_largest_change_comes_first_and_15_percent_is_none() {
        let outcomes = [outcome(1, 1, 1, 1), outcome(1, 2, 1, 1), outcome(2, 1, 1, 2), outcome(3, 1, 1, 3)];
        let nulls = [nulls(1, 1, [100, 120]), nulls(2, 2, [115, 100]), nulls(3, 3, [150, 100])].concat();
        assert_eq!(found(&nulls, &outcomes), [(3, 50, vec![1]), (1, 20, vec![1, 2])]);
    }

    /// Steady before and after, but not at the rate of the other visits to the point.
    #[test]
    fn a_visit_is_compared_with_the_median_of_its_point() {
        let outcomes = [outcome(1, 1, 1, 1), outcome(1, 2, 1, 2), outcome(1, 3, 1, 3), outcome(2, 1, 1, 4)];
        let of_point = [nulls(1, 1, [100, 101]), nulls(1, 2, [60, 60]), nulls(1, 3, [99, 100])];
        let nulls = [of_point.concat(), nulls(2, 4, [20, 20]).into()].concat();
        assert_eq!(found(&nulls, &outcomes), [(1, 66, vec![2])]);
    }

    /// The null device changed for frames; connections of phase 1 were as fast as before.
    #[test]
    fn only_the_rate_of_the_metric_counts() {
        let mut of_phase_1 = outcome(1, 1, 1, 1);
        of_phase_1.measurement.metric = "max_conn_est_rate".to_owned();
        let nulls = nulls(1, 1, [100, 200]);
        assert_eq!(found(&nulls, &[of_phase_1.clone()]), []);
        assert_eq!(found(&nulls, &[of_phase_1, outcome(1, 2, 1, 1)]), [(1, 100, vec![1, 2])]);
    }

    #[test]
    fn nothing_is_repeated_twice() {
        let nulls = [nulls(1, 1, [100, 200]), nulls(1, 2, [100, 300])].concat();
        let outcomes = [outcome(1, 1, 1, 1), outcome(1, 2, 1, 1), outcome(1, 1, 2, 2)];
        assert_eq!(found(&nulls, &outcomes), [(1, 100, vec![2])]);
        let of_second = |o: &Outcome| o.measurement.repetition == 2;
        assert_eq!(doubtful(&nulls, &outcomes, of_second), []);
        let rest = rest_of(&outcomes[1], &outcomes, of_second);
        assert_eq!(rest, [outcomes[1].measurement.clone()]);
    }

    #[test]
    fn folders_without_visits_repeat_nothing() {
        let without = |o: Outcome| Outcome { visit: None, attempt: None, ..o };
        let nulls = nulls(1, 1, [100, 200]).map(|null| NullDevice { visit: None, ..null });
        assert_eq!(found(&nulls, &[without(outcome(1, 1, 1, 1))]), []);
        assert_eq!(evidence(&nulls, &[without(outcome(1, 1, 1, 1))]).count(), 2);
    }

    #[test]
    fn replaced_results_take_their_null_devices_with_them() {
        let nulls = [nulls(1, 1, [100, 200]), nulls(1, 2, [100, 101]), nulls(1, 3, [90, 91])].concat();
        let first = [outcome(1, 1, 1, 1), outcome(1, 2, 1, 1)];
        let visits = |outcomes: &[Outcome]| evidence(&nulls, outcomes).filter_map(|n| n.visit).collect::<Vec<_>>();
        let half = [first.to_vec(), vec![outcome(1, 1, 2, 2)]].concat();
        assert_eq!(visits(&half), [1, 1, 2, 2, 3, 3], "a result of visit 1 stands, and none of visit 3 ended");
        let whole = [half, vec![outcome(1, 2, 2, 2)]].concat();
        assert_eq!(visits(&whole), [2, 2, 3, 3]);
        let stand: Vec<Option<u32>> = standing(&whole).map(|o| o.attempt).collect();
        assert_eq!(stand, [Some(2), Some(2)]);
        assert_eq!((repeated_points(&first), repeated_points(&whole)), (0, 1));
    }
}
