//! The searches of a plan with simulated devices, on a simulated clock. Equal searches are carried out once.

use super::rates::{Guess, guess};
use crate::rig::simulated;
use method::simulated::{ControlTruth, DutClock, Largest, SimulatedDut, Truth, Waits};
use method::{Count, Nanos, Rate, Ratio, TrialError, TrialSpec, Trials};
use procedure::metric::{Unit, by_key};
use record::folder::{Calibration, Ceiling, Outcome};
use record::plan::Measurement;
use record::search::{Search, known_before};
use scenario::{Dut, Point, Scenario, Setup};
use std::collections::{BTreeMap, HashMap};

/// One month, so that sums over a plan cannot overflow.
pub(super) const LONGEST: Nanos = Nanos::from_secs(30 * 86_400);

pub(super) struct Searches<'a> {
    scenario: &'a Scenario,
    /// Function that changes the assumed rates.
    changed: fn(Guess) -> Guess,
    /// Known outcomes, one of equal results.
    known: Vec<Outcome>,
    /// By point and metric.
    done: HashMap<(Point, String), Vec<SearchCost>>,
    largest: HashMap<Point, Largest>,
}

struct SearchCost {
    used: Vec<Outcome>,
    time: Nanos,
}

impl<'a> Searches<'a> {
    pub(super) fn new(scenario: &'a Scenario, changed: fn(Guess) -> Guess) -> Self {
        Searches { scenario, changed, known: Vec::new(), done: HashMap::new(), largest: HashMap::new() }
    }

    /// Time of a measurement's search; measurements come in the order of the plan.
    pub(super) fn time(&mut self, m: &Measurement) -> Nanos {
        let used = known_before(m, self.scenario, None, &self.known, &BTreeMap::new());
        let value = (m.point.clone(), m.metric.clone());
        let done = self.done.entry(value).or_default();
        if let Some(done) = done.iter().find(|done| done.used == used) {
            return done.time;
        }
        let here = m.point.of(self.scenario);
        let dut = &here.duts[m.point.dut];
        let guess = (self.changed)(guess(&here, dut));
        let before = |spec: &TrialSpec, alone: Nanos| before(&here, dut, spec, alone);
        let mut trials = DutClock::new(device(&here, m, &guess), waits(&here), before, LONGEST);
        // As in a run, but the noise of all repetitions and points is the same.
        trials.begin(&m.metric, 0);
        let outcome = carried_out(m, self.scenario, &calibration(&here, &m.point, guess.top), &used, &mut trials);
        let largest = self.largest.entry(m.point.clone()).or_default();
        *largest = largest.max(trials.largest());
        let time = trials.elapsed();
        done.push(SearchCost { used, time });
        if let Ok(outcome) = outcome {
            self.learn(outcome);
        }
        time
    }

    pub(super) fn largest(&self, point: &Point) -> Largest {
        self.largest.get(point).copied().unwrap_or_default()
    }

    fn learn(&mut self, outcome: Outcome) {
        let is_same = |known: &Outcome| {
            known.measurement.is_of_the_value_of(&outcome.measurement) && known.result == outcome.result
        };
        if !self.known.iter().any(is_same) {
            self.known.push(outcome);
        }
    }
}

/// Outcomes without the steps, which no other search needs.
fn carried_out(
    m: &Measurement,
    scenario: &Scenario,
    calibration: &Calibration,
    used: &[Outcome],
    trials: &mut impl Trials,
) -> Result<Outcome, TrialError> {
    // The predicted time limits the invalid trials of a search.
    let m = Measurement { predicted: LONGEST, ..m.clone() };
    let search = Search::new(&m, scenario, calibration, used)?;
    let mut result = search.run(trials, &mut |_| ())?;
    result.trace.clear();
    Ok(Outcome::new(m.clone(), search.direction(), result))
}

/// A tester that does 90 % of its ceiling, which makes a search begin at `top`.
fn calibration(here: &Scenario, point: &Point, top: Rate) -> Calibration {
    let ceiling = Rate(top.0.saturating_mul(10).div_ceil(9));
    let ceiling = Ceiling {
        connections: point.connections,
        axes: point.axes.clone(),
        frame: here.own_frame(),
        frames: ceiling,
        set_up: Some(ceiling),
        ..Ceiling::default()
    };
    Calibration { ceilings: vec![ceiling], ..Calibration::default() }
}

fn waits(here: &Scenario) -> Waits {
    let measure = &here.measure;
    Waits {
        start_delay: measure.start_delay,
        drain: measure.drain,
        phase1_drain: measure.phase1_drain,
        settle: measure.settle,
    }
}

/// Time of a DNS server's start, or of clearing its cache.
const CLEAR: Nanos = Nanos::from_millis(300);

/// Time before a trial that takes `alone` without it.
fn before(here: &Scenario, dut: &Dut, spec: &TrialSpec, alone: Nanos) -> Nanos {
    match spec.opened_at() {
        _ if spec.options.queries.is_some() => CLEAR,
        Some(_) => here.mean_wait(dut, spec.connections, alone),
        None => Nanos(0),
    }
}

/// Frames; with few connections a part of these.
const QUEUE: u64 = 1_000;
const QUEUE_PART: u64 = 10;
/// Time of a command that empties a table.
const COMMAND: Nanos = Nanos::from_millis(50);
/// Change from trial to trial: a search that begins at the bounds of an earlier one needs more
/// trials than these two.
const JITTER: Ratio = Ratio::from_ppm(10_000);

/// That of the scenario, or one with these rates.
fn device(here: &Scenario, m: &Measurement, guess: &Guess) -> SimulatedDut {
    let dut = &here.duts[m.point.dut];
    if let Setup::Simulated(keys) = dut.setup() {
        return simulated::device(keys, here.widest_frame());
    }
    let n = m.point.connections;
    // Somewhere below the upper end of the search, the table is full.
    let fills_table = by_key(&m.metric).is_some_and(|metric| metric.unit == Unit::Connections);
    let truth = Truth {
        table_size: entries(dut).unwrap_or(if fills_table { n / 2 } else { u64::MAX }),
        jitter: JITTER,
        queue: if n == 0 { QUEUE } else { QUEUE.min(n / QUEUE_PART) },
        control: ControlTruth { tear_down_empty: COMMAND, ..ControlTruth::default() },
        ..Truth::new(guess.forward, guess.set_up)
    };
    SimulatedDut::new(truth, 0)
}

/// Table size where the scenario has it.
fn entries(dut: &Dut) -> Option<Count> {
    dut.table_sizes().map_or_else(|| dut.table_size(), |sizes| sizes.entries)
}
