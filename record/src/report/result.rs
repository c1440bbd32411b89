//! The results of a run, grouped: one result is one metric at one point of the matrix with all its repetitions. Statistics
//! are computed here, once for all formats.

mod relate;
mod sureness;

pub(crate) use relate::drift;
pub(super) use relate::ratio;
use relate::relate;
pub use sureness::{Sure, SureWord};

use crate::folder::{Cost, NullDevice, Outcome};
use crate::plan::{Measurement, Plan, without_attempt};
use crate::report::ways::{self, WayCounts, WrongFrames};
use crate::report::{number, parts};
use document::Bound;
use method::search::{CapacityRates, Evidence, GoalResult, StrictMedian};
use method::stats::{self, Interval, Summary};
use method::trial::{Leg, Observed, TrialOutcome};
use method::validity::Stream;
use method::{
    Count, Direction, DirectionRatio, Invalid, Loop, Nanos, Rate, ResultKind, SearchResult, SearchStep, StepVerdict,
    Strict, TrialRecord, Verdict,
};
use procedure::Metric;
use procedure::metric::Gives;
use scenario::axis::{AxisValues, in_order};
use scenario::{Point, Scenario};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One metric at one point of the matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PointResult {
    /// Position of the DUT in the scenario.
    pub dut: usize,
    /// Its name.
    pub dut_name: String,
    /// Key of the metric.
    pub metric: String,
    /// The metric; none if this natmeter does not know it.
    #[serde(skip)]
    pub known: Option<&'static Metric>,
    /// Connections; 0 when stateless.
    pub connections: Count,
    /// Cores of the DUT.
    pub cores: u32,
    /// The same if it is known: the scenario may leave the cores of boxes as they are.
    pub known_cores: Option<u32>,
    /// Values of further axes.
    #[serde(skip_serializing_if = "AxisValues::is_empty")]
    pub axes: AxisValues,
    /// Active directions.
    pub directions: u32,
    /// The rates of both directions as a ratio, if they differ. Each rate here is that of the faster direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction_ratio: Option<DirectionRatio>,
    /// Repetitions that the plan asks for.
    pub planned: usize,
    /// The repetition with which they ended, because the interval was narrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_narrow: Option<u32>,
    /// Statistics over the repetitions, per direction; `None` if nothing is finished.
    pub summary: Option<Summary>,
    /// The strict results of the repetitions that have a result, per direction; none if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<StrictMedian>,
    /// Interval of the median; with fewer than five repetitions their range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The weakest bound of the repetitions.
    pub bound: ResultKind,
    /// Statistics below this rate are upper bounds, because some repetitions know only a rate that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub less_below: Option<Rate>,
    /// Largest error of a repetition, per direction.
    pub error: Rate,
    /// Repetitions whose search ended before the requested precision, but near enough for an exact result.
    pub ended_early: usize,
    /// Repetitions that were one-sided.
    pub one_sided: usize,
    /// Repetitions whose rate is that of DUT and tester together.
    pub closed_loop: usize,
    /// The device works inside the tester's calls or on its thread, so that every rate contains the tester's time.
    pub in_closed_loop: bool,
    /// Repetitions that the validation limits, with all connections set up.
    pub validation_failed: usize,
    /// Tester and DUT shared a core: S_CPU is not a scaling result.
    pub shares_core: bool,
    /// Trials of all repetitions.
    pub trials: u64,
    /// Of these: invalid, and repeated.
    pub invalid: u64,
    /// Frames lost in phases 1 before phase 2.
    pub phase1_lost: Count,
    /// P(n) / P(smallest n) over connections.
    pub s_c: Option<f64>,
    /// Interval of `s_c`, widened by the drift of the null device between the two points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_c_interval: Option<Interval>,
    /// P(n) / (n × P(1)) over cores.
    pub s_cpu: Option<f64>,
    /// Interval of `s_cpu`, as that of `s_c`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_cpu_interval: Option<Interval>,
    /// Median in percent of plain forwarding by the same device.
    pub forwarding_percent: Option<f64>,
    /// Keys of ratios that are withheld, because both of their rates are those of a closed loop.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<&'static str>,
    /// Interval of the ratio to plain forwarding, as that of `s_c`; a ratio, not percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarding_interval: Option<Interval>,
    /// A ratio to another point is withheld, because one of both has fewer than five repetitions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub too_few_to_compare: bool,
    /// Medians of further figures, by name with unit.
    pub extra: BTreeMap<String, f64>,
    /// How sure it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how_sure: Option<Sure>,
    /// The repetitions in order.
    pub repetitions: Vec<Repetition>,
    /// Queue depth in front of the DUT, frames per direction; `None` if unknown or if the DUT runs on the sender's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<Count>,
    /// Measurements of the null device at this point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub null: Vec<NullDevice>,
    /// What a frame costs the device; of throughput only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Frames that arrived wrong at rates that passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongFrames>,
    /// The only direction of two that lost frames at the lowest rates that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited: Option<Stream>,
    /// Every trial: offered rate and loss.
    pub loss: Vec<LossPoint>,
    /// Seconds for which its trials sent frames.
    #[serde(skip)]
    pub sending_s: f64,
}

/// One repetition of a search.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Repetition {
    /// Its number, from 1.
    pub repetition: u32,
    /// Highest rate that passed, per direction.
    pub rate: Rate,
    /// The value in the unit of the metric; of a rate, the same.
    pub value: i64,
    /// What bounds it.
    pub bound: ResultKind,
    /// Width of the final interval.
    pub error: Rate,
    /// Why the rates above are undecided, if not because of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Invalid>,
    /// The last eight verdicts were equal.
    pub one_sided: bool,
    /// The strict result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<Strict>,
    /// Trials of its search.
    pub trials: u64,
    /// Of these: invalid, and repeated.
    pub invalid: u64,
    /// Seconds after the start of the run at which the search ended; `None` if not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
    /// What MLRsearch found for each goal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalResult>,
    /// The rates behind a capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRates>,
    /// What the search did beside its steps.
    #[serde(skip_serializing_if = "method::is_default")]
    pub evidence: Evidence,
    /// The search.
    pub trace: Vec<SearchStep>,
    /// Delays and losses of its trial; the run folder has them.
    #[serde(skip)]
    pub observed: Observed,
}

/// A trial as a point of the loss curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LossPoint {
    /// Intended rate per direction, frames per second; in phase 1, connections per second.
    pub rate: Rate,
    /// Offered rate per direction, frames per second.
    pub offered: f64,
    /// Frames sent in all directions.
    pub sent: Count,
    /// Of these: not received correctly.
    pub lost: Count,
    /// The same left to right, and right to left.
    pub ways: [WayCounts; 2],
    /// The verdict.
    pub verdict: Worth,
}

/// A verdict without its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Worth {
    /// Passed.
    Pass,
    /// Failed.
    Fail,
    /// Invalid.
    Invalid,
}

/// What the valid trials of a result show if none of them passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailedRates {
    /// The lowest rate that failed.
    pub lowest: Rate,
    /// Smallest loss of a trial, as a share of the frames sent.
    pub least: f64,
    /// Largest loss of a trial.
    pub most: f64,
    /// The direction of this loss, if the other one lost nothing.
    pub way: Option<Stream>,
    /// Whether every trial was valid.
    pub all_valid: bool,
}

impl Repetition {
    /// Its strict result, unless that is unknown.
    pub fn known_strict(&self) -> Option<Strict> {
        self.strict.filter(|strict| !strict.is_unknown(self.rate))
    }
}

impl FailedRates {
    /// The loss in words: `0.1 % at every rate tried`, `0.1–0.13 % in every valid trial`.
    pub fn in_words(&self) -> String {
        let [least, most] = [self.least, self.most].map(|share| number::significant(share * 100.0, 2));
        let loss = if least == most { most } else { format!("{least}–{most}") };
        let at = if self.all_valid { "at every rate tried" } else { "in every valid trial" };
        let way = self.way.map_or_else(String::new, |stream| format!("{} ", ways::way(stream)));
        format!("{loss} % {way}{at}")
    }
}

impl PointResult {
    /// The direction of its rates.
    pub fn direction(&self) -> Direction {
        match self.direction_ratio {
            Some(ratio) => Direction::Mixed(ratio),
            None if self.directions == 2 => Direction::Both,
            None => Direction::Forward,
        }
    }

    /// Returns the sum over all directions of a rate.
    pub fn total(&self, rate: f64) -> f64 {
        rate * self.direction().total()
    }

    /// Returns what the valid trials show if there are some and none of them passed.
    pub fn failing(&self) -> Option<FailedRates> {
        let valid = || self.loss.iter().filter(|trial| trial.verdict != Worth::Invalid);
        if self.has_no_rate() || valid().any(|trial| trial.verdict == Worth::Pass) {
            return None;
        }
        let sum = |of: fn(&WayCounts) -> Count| [0, 1].map(|at| valid().map(|trial| of(&trial.ways[at])).sum());
        let way = ways::only(sum(|way| way.lost), sum(|way| way.sent));
        let share = |trial: &LossPoint| {
            let own = way.map(|stream| trial.ways[usize::from(stream != Stream::Forward)]);
            let (lost, sent) = own.map_or((trial.lost, trial.sent), |own| (own.lost, own.sent));
            lost as f64 / sent.max(1) as f64
        };
        let shares = || valid().map(share);
        // A search that ended because no frame came back right has no bound.
        if self.repetitions.is_empty() && shares().all(|lost| lost >= 1.0) {
            return None;
        }
        Some(FailedRates {
            lowest: valid().map(|trial| trial.rate).min()?,
            least: shares().min_by(f64::total_cmp)?,
            most: shares().max_by(f64::total_cmp)?,
            way,
            all_valid: valid().count() == self.loss.len(),
        })
    }

    /// Returns the upper bound of the rate if no rate passed: the lowest rate that failed.
    pub fn upper(&self) -> Option<Rate> {
        if self.has_no_rate() {
            return None;
        }
        let none = self.nothing_passed() || !self.repetitions.iter().any(|r| r.bound.has_rate());
        let steps = || self.repetitions.iter().flat_map(|r| &r.trace).filter(|step| step.verdict == StepVerdict::Fail);
        let failed = || self.below().or_else(|| self.failing().map(|failing| failing.lowest));
        match none {
            true if self.nothing_passed() => failed().or_else(|| steps().map(|step| step.rate).min()),
            true => failed(),
            false => None,
        }
    }

    /// Whether there are enough repetitions for an interval; with fewer, `interval` is a range.
    pub fn has_interval(&self) -> bool {
        self.summary.is_some_and(|s| s.n >= Interval::LEAST_VALUES)
    }

    /// The rates of the null device at this point, for this metric.
    pub fn null_rates(&self) -> impl Iterator<Item = f64> {
        self.null.iter().filter_map(|null| null.of(&self.metric)).filter(|rate| rate.0 > 0).map(|rate| rate.0 as f64)
    }

    /// The median per direction.
    pub fn median(&self) -> Option<f64> {
        self.summary.map(|s| s.median)
    }

    /// Whether the printed values are lower bounds.
    pub fn at_least(&self) -> bool {
        self.bound.at_least()
    }

    /// Returns what bounds a value of it.
    pub fn bound_of(&self, value: f64) -> Bound {
        match self.less_below {
            Some(rate) if value < rate.0 as f64 => Bound::LessThan,
            _ if self.at_least() => Bound::AtLeast,
            _ if self.bound == ResultKind::Strict => Bound::Strict,
            _ => Bound::Exact,
        }
    }

    /// Whether no rate passed in any repetition, so that there is no rate to print.
    pub fn nothing_passed(&self) -> bool {
        let passed = self.repetitions.iter().filter(|r| r.bound.has_rate()).count();
        passed > 0 && self.count(ResultKind::NothingPassed) == passed
    }

    /// Returns the lowest rate that failed in any repetition, if no repetition has a rate.
    pub fn below(&self) -> Option<Rate> {
        let none = !self.repetitions.iter().any(|r| r.bound.has_rate());
        let failed = self.repetitions.iter().filter(|r| none && r.bound == ResultKind::Below);
        failed.map(|r| r.error).min()
    }

    /// Whether there were repetitions, and all their trials were invalid.
    pub fn nothing_measured(&self) -> bool {
        !self.repetitions.is_empty() && self.count(ResultKind::NothingMeasured) == self.repetitions.len()
    }

    /// Whether at least half of the repetitions found that no rate causes the loss.
    pub fn has_no_rate(&self) -> bool {
        self.bound == ResultKind::NoRate
    }

    /// Returns, of the repetitions that ended early, the lowest rate that passed and the highest that failed.
    pub fn between(&self) -> Option<(Rate, Rate)> {
        let ended = || self.repetitions.iter().filter(|r| r.bound == ResultKind::Between);
        Some((ended().map(|r| r.rate).min()?, ended().map(|r| Rate(r.rate.0 + r.error.0)).max()?))
    }

    /// Returns advice for the repetitions with this bound, by the reason that left them undecided.
    pub fn advice(&self, bound: ResultKind) -> Option<&'static str> {
        let reason = self.repetitions.iter().filter(|r| r.bound == bound).find_map(|r| r.undecided);
        reason.map(|reason| reason.advice())
    }

    /// The highest rate that passed, 0 without one.
    fn passed(&self) -> Rate {
        self.repetitions.iter().filter(|r| r.bound.has_rate()).map(|r| r.rate).max().unwrap_or_default()
    }

    /// The lowest rate above the result that failed, of each repetition.
    fn failed(&self) -> Vec<Rate> {
        let lowest = |r: &Repetition| {
            let above = r.trace.iter().filter(|step| step.verdict == StepVerdict::Fail && step.rate > r.rate);
            above.map(|step| step.rate).min()
        };
        self.repetitions.iter().filter_map(lowest).collect()
    }

    /// Repetitions with this bound.
    pub fn count(&self, bound: ResultKind) -> usize {
        self.repetitions.iter().filter(|r| r.bound == bound).count()
    }

    /// Returns the frames per second by which a throughput may be too high: queues can absorb frames above the DUT's capacity
    /// until the drain. `None` if they hold at most 1 % of a trial.
    pub fn queued_excess(&self, trial: Nanos) -> Option<f64> {
        let (queued, seconds) = (self.queued? as f64, trial.as_secs_f64());
        let rate = self.median().filter(|_| self.gives(Gives::Throughput) && !self.nothing_passed())?;
        (queued * 100.0 > rate * seconds).then_some(queued / seconds)
    }

    /// The repetition nearest to the median: the one whose search is shown.
    pub fn typical(&self) -> Option<&Repetition> {
        let median = self.median()?;
        let distance = |r: &&Repetition| (r.value as f64 - median).abs();
        self.repetitions.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Its cores, as reports name them.
    pub fn cores_in_words(&self) -> String {
        self.known_cores.map_or_else(|| "cores as found".to_owned(), |cores| number::plural(cores.into(), "core"))
    }

    /// Whether its metric gives this.
    pub fn gives(&self, what: Gives) -> bool {
        self.known.is_some_and(|metric| metric.gives == Some(what))
    }

    /// Whether both are results of one point.
    pub fn is_beside(&self, other: &PointResult) -> bool {
        self.point() == other.point()
    }

    pub(crate) fn point(&self) -> (usize, Count, u32, &AxisValues) {
        (self.dut, self.connections, self.cores, &self.axes)
    }

    /// Returns the point of the result without the connections.
    pub(super) fn series(&self) -> (usize, u32, &AxisValues) {
        (self.dut, self.cores, &self.axes)
    }

    pub(super) fn is_at(&self, point: &Point) -> bool {
        self.point() == (point.dut, point.connections, point.cores, &point.axes)
    }

    fn key(&self) -> Key<'_> {
        (self.dut, self.connections, self.cores, &self.axes, &self.metric)
    }
}

type Key<'a> = (usize, Count, u32, &'a AxisValues, &'a str);

fn key(m: &Measurement) -> Key<'_> {
    (m.point.dut, m.point.connections, m.point.cores, &m.point.axes, &m.metric)
}

/// The metric with this key, as these results know it.
pub(super) fn known<'a>(metric: &str, results: impl IntoIterator<Item = &'a PointResult>) -> Option<&'static Metric> {
    let of_results = results.into_iter().find(|result| result.metric == metric).and_then(|result| result.known);
    of_results.or_else(|| procedure::metric::by_key(metric))
}

/// Groups standing outcomes and trials by DUT, point and metric, in the order of DUTs, cores, further axes, connections and metrics.
pub fn group(
    scenario: &Scenario,
    plan: &Plan,
    outcomes: &[Outcome],
    trials: &[TrialRecord],
    nulls: &[NullDevice],
) -> Vec<PointResult> {
    let mut results: Vec<PointResult> = Vec::new();
    let (planned, outcomes) = parts::spread(plan, outcomes);
    let mut known = BTreeSet::new();
    for m in planned.iter().chain(outcomes.iter().map(|o| &o.measurement)) {
        if known.insert(key(m)) {
            results.push(PointResult { known: scenario.procedures.metric(&m.metric), ..empty(m) });
        }
    }
    let is_box = |result: &PointResult| scenario.duts.get(result.dut).is_some_and(|dut| dut.boxes(scenario).is_some());
    if scenario.sweep.cores.is_default() {
        for result in results.iter_mut().filter(|result| is_box(result)) {
            result.known_cores = None;
        }
    }
    let metrics = &scenario.measure.metrics;
    let rank = |metric: &str| {
        let measured = parts::measured(metric);
        (metrics.iter().position(|m| m == measured).unwrap_or(metrics.len()), parts::place(metric))
    };
    results.sort_by(|a, b| {
        let place =
            |c: &PointResult| (c.dut, c.cores, in_order(&c.axes).map(|(_, n)| n).collect::<Vec<_>>(), c.connections);
        (place(a), rank(&a.metric), &a.metric).cmp(&(place(b), rank(&b.metric), &b.metric))
    });
    let trials = trials_of(&results, plan, &outcomes, trials);
    for (result, own) in results.iter_mut().zip(trials) {
        result.planned = planned.iter().filter(|m| key(m) == result.key()).count();
        let mut searches: Vec<&Outcome> = outcomes.iter().filter(|o| key(&o.measurement) == result.key()).collect();
        searches.sort_by_key(|o| o.measurement.repetition);
        fill(result, &searches);
        result.null = nulls.iter().filter(|null| result.is_at(&null.point)).cloned().collect();
        let own = || own.iter().copied();
        let queued =
            own().filter(|t| t.outcome.dut_loop != Loop::Inline).filter_map(|t| t.outcome.host.dut_queue).max();
        // Every core has queues of its own, from each worker of the tester.
        let queues = u64::from(result.cores) * u64::from(scenario.tester.workers);
        let in_closed_loop = result.closed_loop > 0 || own().any(|t| t.outcome.dut_loop.is_closed());
        let (queued, loss) = (queued.map(|q| q * queues), own().filter_map(loss_point).collect());
        (result.queued, result.loss, result.in_closed_loop) = (queued, loss, in_closed_loop);
        result.sending_s = own().map(|t| sending(&t.outcome)).sum();
        let own: Vec<&TrialRecord> = own().collect();
        if result.known.is_some_and(|metric| metric.gives.is_some()) {
            (result.wrong, result.limited) =
                (ways::wrong(result.passed(), &own), ways::limiting(&result.failed(), &own));
        }
        if result.repetitions.is_empty() {
            // Trials of a search that has not ended.
            result.trials = result.loss.len() as u64;
            result.invalid = result.loss.iter().filter(|trial| trial.verdict == Worth::Invalid).count() as u64;
        }
    }
    relate(&mut results, scenario);
    results
}

/// The trials of each result, in the order of both. Trials of other attempts than the one that gave the result do not belong to it.
fn trials_of<'t>(
    results: &[PointResult],
    plan: &Plan,
    outcomes: &[Outcome],
    trials: &'t [TrialRecord],
) -> Vec<Vec<&'t TrialRecord>> {
    let places: BTreeMap<Key, usize> = results.iter().enumerate().map(|(at, result)| (result.key(), at)).collect();
    let place = |m: &Measurement| Some((m.key(), *places.get(&key(m))?));
    let measured: BTreeMap<String, usize> = plan.measurements.iter().filter_map(place).collect();
    let given = |o: &Outcome| Some((o.measurement.key(), o.measurement.attempt_key(o.attempt?)));
    let given: BTreeMap<String, String> = outcomes.iter().filter_map(given).collect();
    let mut all = vec![Vec::new(); results.len()];
    for trial in trials {
        let measurement = without_attempt(&trial.measurement);
        let Some(&place) = measured.get(measurement) else { continue };
        if given.get(measurement).is_none_or(|filed| *filed == trial.measurement) {
            all[place].push(trial);
        }
    }
    all
}

/// Notes that the repetitions of a value ended with this one.
pub(super) fn end(results: &mut [PointResult], last: &Measurement) {
    let is_of = |r: &&mut PointResult| r.is_at(&last.point) && parts::measured(&r.metric) == last.metric;
    results.iter_mut().filter(is_of).for_each(|result| result.ended_narrow = Some(last.repetition));
}

fn sending(outcome: &TrialOutcome) -> f64 {
    let phase2 = [&outcome.forward, &outcome.reverse].map(|leg| leg.send_time.as_secs_f64());
    phase2.into_iter().fold(0.0, f64::max) + outcome.validation.as_ref().map_or(0.0, |leg| leg.send_time.as_secs_f64())
}

fn empty(m: &Measurement) -> PointResult {
    PointResult {
        dut: m.point.dut,
        dut_name: m.point.dut_name.clone(),
        metric: m.metric.clone(),
        connections: m.point.connections,
        cores: m.point.cores,
        known_cores: Some(m.point.cores),
        axes: m.point.axes.clone(),
        directions: 1,
        ..PointResult::default()
    }
}

fn fill(result: &mut PointResult, outcomes: &[&Outcome]) {
    let searches: Vec<&SearchResult> = outcomes.iter().map(|o| &o.result).collect();
    // - A search in which no rate passed counts as the 0 that it stored.
    // - A search without a valid trial does not count.
    // - A search that knows only a rate that failed counts with that rate, an upper bound, if it is less than all others.
    // - If half of the searches found that no rate causes the loss, the rates of the others are chance.
    let without = searches.iter().filter(|r| r.kind == ResultKind::NoRate).count();
    let is_rate = |kind: ResultKind| kind.has_rate() && without * 2 < searches.len();
    let measured: Vec<&SearchResult> = searches.iter().copied().filter(|r| is_rate(r.kind)).collect();
    let has_rate = |o: &&&Outcome| is_rate(o.result.kind);
    let mut rates: Vec<i64> = outcomes.iter().filter(has_rate).map(|o| parts::value(o)).collect();
    let lowest = rates.iter().copied().min().unwrap_or(0).unsigned_abs();
    let less =
        searches.iter().filter(|r| r.kind == ResultKind::Below && r.error.0 < lowest).map(|r| r.error.0.cast_signed());
    rates.extend(less);
    result.less_below = (rates.len() > measured.len()).then_some(Rate(lowest));
    result.summary = Summary::of(&rates);
    rates.sort_unstable();
    result.interval = Interval::of(&rates.iter().map(|&rate| rate as f64).collect::<Vec<_>>());
    result.cost = outcomes.iter().find_map(|o| o.cost);
    result.directions = outcomes.iter().map(|o| o.directions).max().unwrap_or(1);
    result.direction_ratio = outcomes.iter().find_map(|o| o.direction_ratio);
    result.shares_core = outcomes.iter().any(|o| o.shares_core);
    // Searches without a rate decide the bound only if no search has a rate.
    let telling = if measured.is_empty() { &searches } else { &measured };
    let weakest = ResultKind::WEAKEST_FIRST.into_iter().find(|kind| telling.iter().any(|r| r.kind == *kind));
    let no_rate = Some(ResultKind::NoRate).filter(|_| without > 0 && without * 2 >= searches.len());
    result.bound = no_rate.or(weakest).unwrap_or(ResultKind::NothingMeasured);
    result.error = measured.iter().map(|r| r.error).max().unwrap_or_default();
    result.ended_early = searches.iter().filter(|r| r.kind == ResultKind::Exact && r.tester_limit.is_some()).count();
    result.one_sided = searches.iter().filter(|r| r.one_sided).count();
    result.closed_loop = searches.iter().filter(|r| r.closed_loop).count();
    result.validation_failed = searches.iter().filter(|r| r.validation_failed).count();
    result.trials = searches.iter().map(|r| r.trials).sum();
    result.invalid = searches.iter().map(|r| r.invalid_repeats).sum();
    result.phase1_lost = searches.iter().map(|r| r.phase1_lost).sum();
    let mut extra: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in searches.iter().flat_map(|r| further(r)) {
        extra.entry(name.to_owned()).or_default().push(value);
    }
    for (name, &value) in outcomes.iter().flat_map(|o| &o.figures) {
        extra.entry(name.clone()).or_default().push(value);
    }
    result.extra = extra.into_iter().map(|(name, values)| (name, median_of(values))).collect();
    let repetition = |o: &&Outcome| Repetition {
        repetition: o.measurement.repetition,
        rate: o.result.rate,
        value: parts::value(o),
        bound: o.result.kind,
        error: o.result.error,
        undecided: o.result.tester_limit,
        one_sided: o.result.one_sided,
        strict: o.result.strict,
        trials: o.result.trials,
        invalid: o.result.invalid_repeats,
        after_s: o.after_s,
        goals: o.result.goals.clone(),
        capacity: o.result.capacity,
        evidence: o.result.evidence.clone(),
        trace: o.result.trace.clone(),
        observed: o.result.observed.clone(),
    };
    result.repetitions = outcomes.iter().map(repetition).collect();
    let with_result = searches.iter().filter(|r| is_rate(r.kind) || r.kind == ResultKind::Below);
    result.strict =
        StrictMedian::of(with_result.filter_map(|r| Some((r.strict?, r.rate)))).filter(|_| !result.has_no_rate());
}

/// Name of the further figure that is the rate of phase 1.
pub(crate) const PHASE1_RATE: &str = "phase 1 rate";

/// Further figures of a result, by name.
fn further(result: &SearchResult) -> impl Iterator<Item = (&'static str, f64)> {
    let phase1 = result.phase1_rate.map(|rate| (PHASE1_RATE, rate.0 as f64));
    let changes = result.table_changes;
    let changed = (changes > 0).then_some(("trials after which the table had changed", changes as f64));
    phase1.into_iter().chain(changed)
}

fn median_of(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    stats::median_of(&values).unwrap_or_default()
}

/// Offered rate and loss of a trial; `None` if it sent nothing.
fn loss_point(record: &TrialRecord) -> Option<LossPoint> {
    let outcome = &record.outcome;
    let legs: Vec<&Leg> = [&outcome.forward, &outcome.reverse].into_iter().filter(|leg| leg.sent > 0).collect();
    let validation = outcome.validation.as_ref();
    let sent: Count = legs.iter().map(|leg| leg.sent).sum();
    let seconds: f64 = legs.iter().map(|leg| leg.send_time.as_secs_f64()).sum();
    if sent == 0 || seconds <= 0.0 {
        return None;
    }
    let lost = legs.iter().map(|leg| leg.lost()).sum::<Count>() + validation.map_or(0, Leg::lost);
    Some(LossPoint {
        rate: record.spec.rate,
        // All directions last equally long.
        offered: sent as f64 / seconds * legs.len() as f64 / record.spec.direction.total(),
        sent: sent + validation.map_or(0, |leg| leg.sent),
        lost,
        ways: ways::of_trial(outcome),
        verdict: match record.verdict {
            Verdict::Pass => Worth::Pass,
            Verdict::Fail(_) => Worth::Fail,
            Verdict::Invalid(_) => Worth::Invalid,
        },
    })
}
