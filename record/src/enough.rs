//! Repetitions that are not needed, because the interval of the median is already as narrow as the scenario requires. Only the
//! results before a repetition decide, so that a resumed run and a report decide alike.

use crate::folder::Outcome;
use crate::plan::Measurement;
use crate::visit::standing;
use method::ResultKind;
use method::stats::{Interval, median_of};
use scenario::Scenario;

/// Whether the results of the earlier repetitions of a value are enough, so that this repetition is not needed. A repetition without a figure
/// has no place in an interval: then all are made.
pub fn is_enough(scenario: &Scenario, outcomes: &[Outcome], m: &Measurement) -> bool {
    let Some(until) = scenario.measure.repetitions.until.filter(|until| m.repetition > until.least) else {
        return false;
    };
    let earlier = |o: &&Outcome| o.measurement.is_of_the_value_of(m) && o.measurement.repetition < m.repetition;
    let earlier: Vec<&Outcome> = standing(outcomes).filter(earlier).collect();
    // A value whose repetitions ended earlier needs none of the later ones.
    let made = earlier.iter().map(|o| o.measurement.repetition).max().unwrap_or(0);
    let is_exact = |o: &&Outcome| o.result.kind == ResultKind::Exact;
    if made < until.least || earlier.len() < made as usize || !earlier.iter().all(is_exact) {
        return false;
    }
    let mut rates: Vec<f64> = earlier.iter().map(|o| o.result.rate.0 as f64).collect();
    rates.sort_by(f64::total_cmp);
    let (Some(interval), Some(median)) = (Interval::of(&rates), median_of(&rates)) else { return false };
    (interval.high - interval.low) * 1e6 <= f64::from(until.width_ppm) * median
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};
    use serde_json::json;

    const TEXT: &str = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"10k\"\n[measure]\n\
                        metrics = [\"max_conn_est_rate\"]\nrepetitions = { min = 5, max = 9, until-width = \"2 %\" }\n";

    fn outcome(m: &Measurement, rate: u64, kind: &str) -> Outcome {
        let outcome = json!({
            "measurement": m, "directions": 2, "shares_core": false, "rate": rate, "kind": kind,
            "error": 10, "one_sided": false, "closed_loop": false, "trace": [], "trials": 1, "invalid_repeats": 0,
            "phase1_lost": 0, "phase1_rate": null, "table_changes": 0, "lost_at_rate": 0,
        });
        serde_json::from_value(outcome).unwrap()
    }

    /// For these rates: which repetitions, counted from 1, are not needed.
    fn not_needed(rates: &[u64], kind: &str) -> Vec<u32> {
        let scenario = parse("x.toml", TEXT, &Options::default(), tech::ALL).unwrap().scenario;
        let plan = crate::plan::Plan::new(&scenario).measurements;
        assert_eq!(plan.len(), 9);
        let outcomes: Vec<Outcome> = plan.iter().zip(rates).map(|(m, &rate)| outcome(m, rate, kind)).collect();
        plan.iter().filter(|m| is_enough(&scenario, &outcomes, m)).map(|m| m.repetition).collect()
    }

    #[test]
    fn repetitions_end_when_the_interval_is_narrow() {
        assert_eq!(not_needed(&[1000, 1005, 1010, 1002, 1001], "exact"), [6, 7, 8, 9]);
        assert_eq!(not_needed(&[1000, 1005, 1050, 1002, 1001], "exact"), [0u32; 0]);
        // Of six values the interval is still minimum to maximum, of eight it leaves out both.
        assert_eq!(not_needed(&[1000, 1005, 1050, 1002, 1001, 1003, 1004, 1001], "exact"), [9]);
    }

    #[test]
    fn fewer_than_min_or_bounds_are_never_enough() {
        assert_eq!(not_needed(&[1000, 1000, 1000, 1000], "exact"), [0u32; 0]);
        assert_eq!(not_needed(&[1000; 5], "tester-limit"), [0u32; 0]);
    }
}
