//! One measurement: which procedure a metric needs, with which settings, and what of its result is filed.

use super::record::Record;
use super::until::Until;
use crate::event::{Event, Listener};
use crate::folder::{Calibration, Outcome};
use crate::plan::{Measurement, Point};
use crate::rig::Rig;
use crate::scenario::{Dut, Scenario};
use crate::store::RunFolder;
use method::metric::{MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED, is_establishment};
use method::procedure::{Precision, Progress, SearchResult, SearchSettings, Verify, establishment, throughput};
use method::ratio::Ratio;
use method::validity::Criteria;
use method::{Direction, Nanos, Rate, Replay, ResultKind, TrialError, TrialRecord, Trials};
use std::time::Instant;

/// Maximum connection establishment rate, without validation (RFC 9693, section 4.5).
const ESTABLISHMENT: &str = MAX_CONN_EST_RATE.key;
/// The same with validation (section 4.6).
const VALIDATED: &str = MAX_CONN_EST_RATE_VALIDATED.key;

/// Share of the calibrated ceiling up to which a rate is believed (METHODOLOGY.md, the tester's own ceiling), in tenths.
const BELIEVED_TENTHS: u64 = 9;

/// What one search needs.
pub struct Searcher<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The tester's limits.
    pub calibration: &'a Calibration,
    /// What has been found so far.
    pub outcomes: &'a [Outcome],
    /// When no further trial is begun.
    pub end: Option<Instant>,
    /// Where trials are written.
    pub folder: &'a mut RunFolder,
    /// Who is told.
    pub listener: &'a mut dyn Listener,
    /// Predicted time of this measurement.
    pub predicted: Nanos,
    /// Predicted seconds of all measurements after this one.
    pub after: u64,
    /// Number of the next trial.
    pub next_seq: u64,
    /// Trials recorded by this search.
    pub new_records: Vec<TrialRecord>,
}

impl Searcher<'_> {
    /// Search, with the trials of an interrupted attempt first; new ones are filed under the same key.
    ///
    /// # Errors
    /// As the procedure.
    pub fn search(
        &mut self,
        m: &Measurement,
        filed_under: String,
        recorded: Vec<TrialRecord>,
        rig: &mut Rig,
    ) -> Result<Outcome, TrialError> {
        let settings = self.settings(m)?;
        // Every attempt has the same noise: what a device does must not depend on how often it was asked.
        rig.begin(&m.key(), recorded.len() as u64);
        rig.captures.belong_to(self.folder.path(), &filed_under, self.next_seq);
        let (buffered, shares_core, figures) = (rig.buffered, rig.shares_core, rig.figures.clone());
        // The procedure's `watch` and the recorder both tell the listener, one after the other, never at once.
        let listener: &mut dyn Listener = &mut *self.listener;
        let listener = std::cell::RefCell::new(listener);
        let began = Instant::now();
        let (predicted, after) = (self.predicted, self.after);
        let mut watch = |p: &Progress| {
            let spent = began.elapsed().as_secs();
            let eta_s = (predicted.0 / 1_000_000_000).saturating_sub(spent) + after;
            let event = Event::Trying { rate: p.rate, lo: p.lo, hi: p.hi, steps_left: p.steps_left, eta_s };
            listener.borrow_mut().on(&event);
        };
        let mut tell = Tell(&listener);
        let record = Record {
            inner: Until { inner: rig, end: self.end },
            measurement: filed_under,
            criteria: settings.criteria,
            next_seq: self.next_seq,
            folder: self.folder,
            listener: &mut tell,
            made: &mut self.new_records,
        };
        let mut trials = Replay::new(recorded, record)?;
        let phase1_rate = phase1_rate(self.outcomes, &m.point, &settings);
        let phase1 = establishment::Phase1 {
            connections: m.point.connections,
            buffered,
            validate_at_most: self.scenario.measure.validate_at_most.map(Rate),
        };
        let result = procedure(m, &settings, phase1, phase1_rate, &mut trials, &mut watch)?;
        let directions = settings.direction.count() as u32;
        Ok(Outcome { measurement: m.clone(), directions, shares_core, figures, result })
    }

    fn settings(&self, m: &Measurement) -> Result<SearchSettings, TrialError> {
        let (measure, traffic) = (&self.scenario.measure, &self.scenario.traffic);
        let direction = if is_establishment(&m.metric) { Direction::Forward } else { traffic.direction };
        let alpha = measure.alpha_ppm.filter(|_| m.metric == VALIDATED).map(|a| Ratio::from_ppm(u64::from(a)));
        let defaults = SearchSettings::default();
        Ok(SearchSettings {
            lo: Rate(measure.min_rate.unwrap_or(0)),
            hi: upper_end(self.scenario, self.calibration, m)?,
            verify: measure.verify.map(|tries| Verify { tries }),
            phase1_share: measure.phase1_share_ppm.map_or(defaults.phase1_share, |ppm| Ratio::from_ppm(ppm.into())),
            precision: Precision::Relative(Ratio::from_ppm(u64::from(measure.error_ppm))),
            criteria: criteria(self.scenario),
            repetitions: measure.repetitions,
            duration: measure.duration,
            direction,
            alpha,
            responder_order: traffic.responder_order,
            invalid_at_most: Some(m.invalid_at_most()),
        })
    }
}

/// What counts as a pass in every trial of a scenario.
pub fn criteria(scenario: &Scenario) -> Criteria {
    Criteria {
        acceptance: Ratio::from_ppm(u64::from(scenario.measure.acceptance_ppm)),
        phase1_acceptance: Ratio::from_ppm(u64::from(scenario.measure.phase1_acceptance_ppm)),
    }
}

/// A listener behind a cell, so that two parts of one search can use it in turn.
struct Tell<'c, 'l>(&'c std::cell::RefCell<&'l mut dyn Listener>);

impl Listener for Tell<'_, '_> {
    fn on(&mut self, event: &Event) {
        self.0.borrow_mut().on(event);
    }
}

fn procedure(
    m: &Measurement,
    settings: &SearchSettings,
    phase1: establishment::Phase1,
    phase1_rate: Option<Rate>,
    trials: &mut impl Trials,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let connections = m.point.connections;
    match m.metric.as_str() {
        ESTABLISHMENT | VALIDATED => establishment::measure(trials, settings, phase1, watch),
        _ if connections == 0 => throughput::stateless(trials, settings, watch),
        _ => {
            let rate = phase1_rate.ok_or_else(|| {
                TrialError::Phase1(format!(
                    "phase 2 needs a rate for its phase 1, and no {ESTABLISHMENT} was found at the same point"
                ))
            })?;
            throughput::established(trials, settings, connections, rate, watch)
        }
    }
}

/// The rate of preparing phases: a safe share of the smallest establishment rate found at this point. Where the tester or
/// its host was the limit of every search, of the largest: each is one that the device can do. Never above a share of a rate
/// that failed in a search that knows no more than this.
fn phase1_rate(outcomes: &[Outcome], point: &Point, settings: &SearchSettings) -> Option<Rate> {
    let found = outcomes.iter().filter(|o| o.measurement.point == *point && is_establishment(&o.measurement.metric));
    let (exact, bounded): (Vec<&Outcome>, Vec<&Outcome>) = found.partition(|o| o.result.kind == ResultKind::Exact);
    let rates = |of: Vec<&Outcome>| of.into_iter().map(|o| o.result.rate).filter(|r| r.0 > 0).collect::<Vec<_>>();
    let failed = bounded.iter().filter(|o| o.result.kind == ResultKind::Below).map(|o| o.result.error).min();
    let safe = rates(exact).into_iter().min().or_else(|| rates(bounded).into_iter().max());
    safe.map(|r| r.min(failed.unwrap_or(r))).map(|r| settings.phase1_share.of(r).max(Rate(1)))
}

/// The highest rate worth trying: the scenario's own limit, and what the tester can be believed at, at this number of
/// connections.
fn upper_end(scenario: &Scenario, calibration: &Calibration, m: &Measurement) -> Result<Rate, TrialError> {
    let connections = m.point.connections;
    let unknown = || TrialError::Tester(format!("it was not calibrated at {connections} connections"));
    let ceiling = match scenario.duts[m.point.dut] {
        // It has no frames, so no tester either that could be at its end.
        Dut::Simulated { .. } => Rate(1_000_000_000),
        _ => calibration.at(connections, &m.point.axes).and_then(|c| c.of(&m.metric)).ok_or_else(unknown)?,
    };
    Ok(Rate(scenario.measure.max_rate.unwrap_or(u64::MAX).min(ceiling.0 * BELIEVED_TENTHS / 10).max(1)))
}

/// Whether the tester, and not the scenario's `max-rate`, is the upper end of a search. Without a ceiling (a simulated device
/// has no tester) it is, unless the scenario says where to end.
pub fn is_upper_end_the_testers(max_rate: Option<u64>, ceiling: Option<Rate>) -> bool {
    let believed = ceiling.map_or(u64::MAX, |c| c.0 * BELIEVED_TENTHS / 10);
    max_rate.is_none_or(|max| max > believed)
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
