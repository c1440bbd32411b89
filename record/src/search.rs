//! The search of a measurement and its settings, which follow from scenario, calibration and earlier results. A run uses it
//! with new trials, an audit with recorded trials.

use crate::folder::{Calibration, Outcome};
use crate::plan::Measurement;
use crate::visit::standing;
use method::metric::{MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED, is_establishment};
use method::procedure::{Progress, SearchResult, SearchSettings, Verify, establishment, throughput};
use method::{Criteria, Direction, Rate, Ratio, ResultKind, TrialError, TrialRecord, Trials};
use scenario::{Dut, Point, Scenario};
use std::collections::BTreeMap;

/// Share of the calibrated ceiling up to which natmeter attributes a rate to the device (METHODOLOGY.md, the tester's own
/// ceiling), in tenths.
const USABLE_TENTHS: u64 = 9;

/// One search with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search<'a> {
    /// The measurement.
    pub measurement: &'a Measurement,
    /// Its settings.
    pub settings: SearchSettings,
    /// Frames that the path can buffer; 0 if that is not known.
    pub buffered: u64,
    /// Highest rate of the validation.
    validate_at_most: Option<Rate>,
    /// Rate of phase 1 before phase 2: that of the scenario, or a share of the establishment rate.
    phase1_rate: Option<Rate>,
}

impl<'a> Search<'a> {
    /// Returns the search for a measurement, given the earlier results in `known`.
    ///
    /// # Errors
    /// [`TrialError::Tester`] if its point was not calibrated.
    pub fn new(
        measurement: &'a Measurement,
        scenario: &Scenario,
        calibration: &Calibration,
        known: &[Outcome],
    ) -> Result<Search<'a>, TrialError> {
        let scenario = &*measurement.point.of(scenario);
        let settings = settings(measurement, scenario, calibration)?;
        Ok(Search {
            measurement,
            buffered: 0,
            validate_at_most: scenario.validate_at_most().map(Rate),
            phase1_rate: scenario.phase1_rate().map(Rate).or_else(|| phase1_rate(known, &measurement.point, &settings)),
            settings,
        })
    }

    /// The directions of its trials.
    pub fn direction(&self) -> Direction {
        self.settings.direction
    }

    /// Runs the search with these trials.
    ///
    /// # Errors
    /// Those of the procedure; [`TrialError::Phase1`] without a rate for phase 1.
    pub fn run(&self, trials: &mut impl Trials, watch: &mut dyn FnMut(&Progress)) -> Result<SearchResult, TrialError> {
        let connections = self.measurement.point.connections;
        if is_establishment(&self.measurement.metric) {
            let (buffered, validate_at_most) = (self.buffered, self.validate_at_most);
            let phase1 = establishment::Phase1 { connections, buffered, validate_at_most };
            return establishment::measure(trials, &self.settings, phase1, watch);
        }
        if connections == 0 {
            return throughput::stateless(trials, &self.settings, watch);
        }
        let rate = self.phase1_rate.ok_or_else(|| {
            let metric = MAX_CONN_EST_RATE.key;
            TrialError::Phase1(format!(
                "no rate for phase 1: phase 2 takes it from {metric}, which has no result at this point"
            ))
        })?;
        throughput::established(trials, &self.settings, connections, rate, watch)
    }
}

/// Returns the number of the last trial of each attempt, by the key under which it is filed.
pub fn last_trials(records: &[TrialRecord]) -> BTreeMap<&str, u64> {
    let mut last = BTreeMap::new();
    for record in records {
        let seq = last.entry(record.measurement.as_str()).or_insert(record.seq);
        *seq = record.seq.max(*seq);
    }
    last
}

/// Returns the results that stood before trial `first` of a search; those that stand now if it has no trial yet. A later
/// result would change the rate of its phase 1.
pub fn known_before(first: Option<u64>, outcomes: &[Outcome], last: &BTreeMap<&str, u64>) -> Vec<Outcome> {
    let of = |o: &Outcome| last.get(o.filed_under(|key| last.contains_key(key)).as_str()).copied();
    let before: Vec<Outcome> = outcomes.iter().filter(|o| first.is_none() || of(o) < first).cloned().collect();
    standing(&before).cloned().collect()
}

fn settings(m: &Measurement, scenario: &Scenario, calibration: &Calibration) -> Result<SearchSettings, TrialError> {
    let (measure, traffic) = (&scenario.measure, &scenario.traffic);
    let direction = if is_establishment(&m.metric) { Direction::Forward } else { traffic.direction };
    let validated = m.metric == MAX_CONN_EST_RATE_VALIDATED.key;
    let defaults = SearchSettings::default();
    Ok(SearchSettings {
        lo: Rate(scenario.min_rate().unwrap_or(0)),
        hi: upper_end(scenario, calibration, m)?,
        verify: measure.verify.map(|tries| Verify { tries }),
        phase1_share: measure.phase1_share_ppm.map_or(defaults.phase1_share, |ppm| Ratio::from_ppm(ppm.into())),
        precision: scenario.precision(),
        criteria: criteria(scenario),
        repetitions: measure.repetitions,
        duration: measure.duration,
        direction,
        alpha: measure.alpha_ppm.filter(|_| validated).map(|a| Ratio::from_ppm(u64::from(a))),
        responder_order: traffic.responder_order,
        responder_table: traffic.responder_table,
        invalid_at_most: Some(m.invalid_at_most()),
    })
}

/// Returns the acceptance criteria of a scenario's trials.
pub fn criteria(scenario: &Scenario) -> Criteria {
    Criteria {
        acceptance: Ratio::from_ppm(u64::from(scenario.measure.acceptance_ppm)),
        phase1_acceptance: Ratio::from_ppm(u64::from(scenario.measure.phase1_acceptance_ppm)),
    }
}

/// Returns the rate of phase 1 before phase 2: a safe share of
///
/// - the smallest exact establishment rate of this point;
/// - without one, the largest lower bound, because the device reaches each of them;
/// - at most the lowest rate that failed in a search in which no rate passed.
fn phase1_rate(outcomes: &[Outcome], point: &Point, settings: &SearchSettings) -> Option<Rate> {
    let found = outcomes.iter().filter(|o| o.measurement.point == *point && is_establishment(&o.measurement.metric));
    let (exact, bounded): (Vec<&Outcome>, Vec<&Outcome>) = found.partition(|o| o.result.kind == ResultKind::Exact);
    let rates = |of: Vec<&Outcome>| of.into_iter().map(|o| o.result.rate).filter(|r| r.0 > 0).collect::<Vec<_>>();
    let failed = bounded.iter().filter(|o| o.result.kind == ResultKind::Below).map(|o| o.result.error).min();
    let safe = rates(exact).into_iter().min().or_else(|| rates(bounded).into_iter().max());
    safe.map(|r| r.min(failed.unwrap_or(r))).map(|r| settings.phase1_share.of(r).max(Rate(1)))
}

/// Returns the highest rate of a search: the lower of the scenario's limit and the usable share of the tester ceiling at this
/// number of connections.
fn upper_end(scenario: &Scenario, calibration: &Calibration, m: &Measurement) -> Result<Rate, TrialError> {
    let connections = m.point.connections;
    let unknown = || TrialError::Tester(format!("the tester was not calibrated at {connections} connections"));
    let ceiling = match scenario.duts.get(m.point.dut) {
        // A simulated device has no frames, so the tester is no limit.
        Some(Dut::Simulated { .. }) => Rate(1_000_000_000),
        _ => calibration.at(connections, &m.point.axes).and_then(|c| c.of(&m.metric)).ok_or_else(unknown)?,
    };
    Ok(Rate(scenario.max_rate().unwrap_or(u64::MAX).min(usable(ceiling).0).max(1)))
}

/// Returns the usable share of a ceiling.
fn usable(ceiling: Rate) -> Rate {
    ceiling.scaled(USABLE_TENTHS, 10)
}

/// Whether the upper end of a search is that of the tester, and not the scenario's `max-rate`. Without a ceiling (simulated
/// device) it is, unless the scenario has a `max-rate`.
pub fn is_upper_end_the_testers(max_rate: Option<u64>, ceiling: Option<Rate>) -> bool {
    let usable = ceiling.map_or(Rate(u64::MAX), usable);
    max_rate.is_none_or(|max| max > usable.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_the_two_upper_ends_counts() {
        let ends = |max, ceiling: Option<u64>| is_upper_end_the_testers(max, ceiling.map(Rate));
        assert!(ends(None, Some(1_000)) && ends(Some(901), Some(1_000)) && ends(None, None));
        assert!(!ends(Some(900), Some(1_000)) && !ends(Some(1), None));
    }
}
