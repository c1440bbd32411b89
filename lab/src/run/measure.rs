//! One measurement: which procedure a metric needs, with which settings, and what of its result is filed.

use super::record::Record;
use crate::event::{Event, Listener};
use crate::folder::{Bound, Calibration, Outcome, Step};
use crate::plan::{Measurement, Point};
use crate::rig::{self, Process, Rig};
use crate::scenario::{Dut, Scenario};
use crate::store::RunFolder;
use method::procedure::{
    Precision, Progress, ResultKind, SearchResult, SearchSettings, StepVerdict, establishment, throughput,
};
use method::ratio::Ratio;
use method::validity::Criteria;
use method::{Direction, Nanos, Rate, Replay, TrialError, TrialRecord, Trials};
use plane::Hop;
use plane::view::{self, Bed};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Maximum connection establishment rate, without validation (RFC 9693, section 4.5).
pub const ESTABLISHMENT: &str = "max_conn_est_rate";
/// The same with validation (section 4.6).
pub const VALIDATED: &str = "max_conn_est_rate_validated";

/// Share of the calibrated ceiling up to which a rate is believed (methodology 3.0 and 3.21), in tenths.
const BELIEVED_TENTHS: u64 = 9;

/// What one search needs.
pub struct Searcher<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The tester's limits.
    pub calibration: &'a Calibration,
    /// What has been found so far.
    pub outcomes: &'a [Outcome],
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
        let settings = self.settings(m);
        rig.captures.belong_to(self.folder.path(), &filed_under, self.next_seq);
        let buffered = rig.buffered;
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
            inner: rig,
            measurement: filed_under,
            criteria: settings.criteria,
            next_seq: self.next_seq,
            folder: self.folder,
            listener: &mut tell,
            made: &mut self.new_records,
        };
        let mut trials = Replay::new(recorded, record)?;
        let phase1_rate = phase1_rate(self.outcomes, &m.point, &settings);
        let result = procedure(m, &settings, buffered, phase1_rate, &mut trials, &mut watch)?;
        Ok(outcome(m, &settings, &result))
    }

    fn settings(&self, m: &Measurement) -> SearchSettings {
        let (measure, traffic) = (&self.scenario.measure, &self.scenario.traffic);
        let direction = if is_establishment(&m.metric) { Direction::Forward } else { traffic.direction };
        let alpha = measure.alpha_ppm.filter(|_| m.metric == VALIDATED).map(|a| Ratio::from_ppm(u64::from(a)));
        SearchSettings {
            hi: upper_end(self.scenario, self.calibration, direction),
            precision: Precision::Relative(Ratio::from_ppm(u64::from(measure.error_ppm))),
            criteria: Criteria {
                acceptance: Ratio::from_ppm(u64::from(measure.acceptance_ppm)),
                phase1_acceptance: Ratio::from_ppm(u64::from(measure.phase1_acceptance_ppm)),
            },
            repetitions: measure.repetitions,
            duration: measure.duration,
            direction,
            alpha,
            responder_order: traffic.responder_order,
            ..SearchSettings::default()
        }
    }
}

/// Whether a metric counts connections set up a second.
pub fn is_establishment(metric: &str) -> bool {
    [ESTABLISHMENT, VALIDATED].contains(&metric)
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
    buffered: u64,
    phase1_rate: Option<Rate>,
    trials: &mut impl Trials,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let connections = m.point.connections;
    match m.metric.as_str() {
        ESTABLISHMENT | VALIDATED => {
            let phase1 = establishment::Phase1 { connections, buffered, validate_at_most: None };
            establishment::measure(trials, settings, phase1, watch)
        }
        _ if connections == 0 => throughput::stateless(trials, settings, watch),
        _ => {
            let rate = phase1_rate.ok_or_else(|| {
                TrialError::Refused(format!(
                    "phase 2 needs a rate for its phase 1: measure {ESTABLISHMENT} first at the same point"
                ))
            })?;
            throughput::established(trials, settings, connections, rate, watch)
        }
    }
}

/// The rate of preparing phases: a safe share of the smallest establishment rate found at this point.
fn phase1_rate(outcomes: &[Outcome], point: &Point, settings: &SearchSettings) -> Option<Rate> {
    let found = outcomes.iter().filter(|o| o.measurement.point == *point && is_establishment(&o.measurement.metric));
    found.map(|o| o.rate).min().filter(|r| r.0 > 0).map(|r| settings.phase1_share.of(r).max(Rate(1)))
}

/// The highest rate worth trying: the scenario's own limit, and what the tester can be believed at.
fn upper_end(scenario: &Scenario, calibration: &Calibration, direction: Direction) -> Rate {
    let ceiling = calibration.ceiling.0 * 2 / direction.count() * BELIEVED_TENTHS / 10;
    Rate(scenario.measure.max_rate.unwrap_or(u64::MAX).min(ceiling).max(1))
}

fn outcome(m: &Measurement, settings: &SearchSettings, result: &SearchResult) -> Outcome {
    let step = |v: StepVerdict| match v {
        StepVerdict::Pass => Step::Pass,
        StepVerdict::Fail => Step::Fail,
        StepVerdict::TesterBound => Step::TesterBound,
    };
    let mut extra = BTreeMap::new();
    if let Some(rate) = result.phase1_rate {
        extra.insert("phase 1 rate".to_owned(), rate.0 as f64);
    }
    if result.table_changes > 0 {
        extra.insert("trials after which the table had changed".to_owned(), result.table_changes as f64);
    }
    Outcome {
        measurement: m.clone(),
        rate: result.rate,
        directions: settings.direction.count() as u32,
        bound: match result.kind {
            ResultKind::Exact => Bound::Exact,
            ResultKind::AtUpperLimit => Bound::UpperLimit,
            ResultKind::TesterLimit => Bound::TesterLimit,
            ResultKind::NothingPassed => Bound::NothingPassed,
        },
        error: result.error,
        one_sided: result.one_sided,
        closed_loop: result.closed_loop,
        trials: result.trials as u32,
        invalid: result.invalid_repeats as u32,
        phase1_lost: result.phase1_lost,
        trace: result.trace.iter().map(|s| (s.rate, step(s.verdict))).collect(),
        extra,
    }
}

/// Measure the tester itself with the scenario's frames and flows.
///
/// # Errors
/// When the tester's own loop does not work.
pub fn calibrate(
    scenario: &Scenario,
    point: &Point,
    process: &Process,
) -> Result<Calibration, engine::calibrate::CalibrateError> {
    if let Dut::Simulated { .. } = scenario.duts[point.dut] {
        // There are no frames: the simulated device brings its own tester along.
        return Ok(Calibration { ceiling: Rate(1_000_000_000), clock: "simulated".into(), ..Calibration::default() });
    }
    let flows = rig::flow_space(scenario).map_err(|e| TrialError::Refused(e.to_string()))?;
    let bed = Bed {
        left: Hop::default(),
        right: Hop::default(),
        frame_size: scenario.traffic.frame_size,
        ttl: scenario.traffic.ttl,
        connections: rig::connections(&flows, point),
        flows,
        seed: scenario.traffic.seed,
    };
    let view = Arc::new(view::forwarding(&bed));
    let core = port::host::cores().first().copied();
    let limits = engine::calibrate::tester(process.clock, core, &view, Nanos::from_millis(200))?;
    Ok(Calibration {
        clock: process.clock.describe(),
        clock_read_ps: limits.clock_read_ps,
        departure_p50_ns: limits.departure_p50_ns,
        departure_p99_ns: limits.departure_p99_ns,
        // One thread sends and judges each frame once: with both directions at once each gets half.
        ceiling: Rate(limits.one_thread.0 / 2),
        send_ps: limits.send_ps,
        receive_ps: limits.receive_ps,
        latency_floor_ns: limits.latency_floor_ns,
        shares_core: false,
    })
}
