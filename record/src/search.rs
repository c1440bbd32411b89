//! The search of a measurement and its settings, which follow from scenario, calibration and earlier results. A run uses it
//! with new trials, an audit with recorded trials.

use crate::folder::{Calibration, Outcome};
use crate::plan::Measurement;
use crate::visit::standing;
use method::search::bottleneck::Limit;
use method::search::{Progress, SearchResult, SearchSettings, Verify, Warm};
use method::trial::Sampler;
use method::{Criteria, Direction, Rate, Ratio, ResultKind, TrialError, TrialOptions, TrialRecord, Trials};
use procedure::metric::Gives;
use procedure::{Cap, Context, Metric, Procedure, Sends};
use scenario::{Point, Scenario, WarmStart};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Share of the calibrated ceiling, and of the rate of the null device, up to which natmeter attributes a rate to the device
/// (METHODOLOGY.md, the tester's own ceiling), in tenths.
const USABLE_TENTHS: u64 = 9;

/// One measurement with the settings of its procedure.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    pub measurement: &'a Measurement,
    pub settings: SearchSettings,
    /// Frames that the path can buffer; 0 if that is not known.
    pub buffered: u64,
    scenario: Cow<'a, Scenario>,
    procedure: &'static Procedure,
    metric: &'static Metric,
    cap: Cap,
    phase1_rate: Option<Rate>,
    throughput: Option<Rate>,
    limit: Limit,
}

/// The limit on the rate of validation of a measurement.
fn cap(m: &Measurement, metric: &Metric, scenario: &Scenario, known: &[Outcome]) -> Cap {
    if !scenario.alpha_is_auto() || !metric.validated {
        return Cap::Off;
    }
    let of = |o: &&Outcome| o.measurement.point == m.point;
    let earlier = known.iter().filter(of).find_map(|o| o.result.evidence.validation_cap);
    earlier.map_or(Cap::Measured, |cap| Cap::Known(cap.again()))
}

/// The bounds of an earlier search at which this one begins: of the last repetition, or of the last point of the device.
fn warm(m: &Measurement, metric: &Metric, scenario: &Scenario, known: &[Outcome]) -> Option<Warm> {
    let is_searched = matches!(metric.gives, Some(Gives::Throughput | Gives::SetUpRate));
    if scenario.measure.warm_start == WarmStart::Off || !is_searched {
        return None;
    }
    let exact = |o: &&Outcome| o.measurement.metric == m.metric && o.result.kind == ResultKind::Exact;
    let here = known.iter().filter(exact).rfind(|o| o.measurement.point == m.point);
    let near =
        |o: &&Outcome| scenario.measure.warm_start == WarmStart::Points && o.measurement.point.dut == m.point.dut;
    let from = here.or_else(|| known.iter().filter(exact).rfind(near))?;
    Some(Warm { passed: from.result.rate, failed: Rate(from.result.rate.0.saturating_add(from.result.error.0)) })
}

/// Returns the results at a point whose metric gives `what`.
fn giving<'a>(what: Gives, point: &Point, scenario: &Scenario, known: &'a [Outcome]) -> Vec<&'a Outcome> {
    let gives = |o: &&Outcome| {
        let metric = scenario.procedures.metric(&o.measurement.metric);
        o.measurement.point == *point && metric.is_some_and(|metric| metric.gives == Some(what))
    };
    known.iter().filter(gives).collect()
}

impl<'a> Search<'a> {
    /// Returns the search for a measurement, given the earlier results in `known`.
    ///
    /// # Errors
    /// [`TrialError::Tester`] if its point was not calibrated; [`TrialError::Refused`] if its procedure has no settings
    /// for it.
    pub fn new(
        measurement: &'a Measurement,
        scenario: &'a Scenario,
        calibration: &Calibration,
        known: &[Outcome],
    ) -> Result<Search<'a>, TrialError> {
        let scenario = measurement.point.of(scenario);
        let (keys, key) = (&scenario.procedures, &measurement.metric);
        let (Some(procedure), Some(metric)) = (keys.of(key), keys.metric(key)) else {
            return Err(TrialError::Refused(format!("this natmeter does not measure `{key}`")));
        };
        let mut settings = settings(measurement, (procedure, metric), &scenario, calibration)?;
        settings.warm = warm(measurement, metric, &scenario, known);
        let point = &measurement.point;
        let throughputs = giving(Gives::Throughput, point, &scenario, known);
        let kinds: Vec<ResultKind> = throughputs.iter().map(|o| o.result.kind).collect();
        let set_up = giving(Gives::SetUpRate, point, &scenario, known);
        Ok(Search {
            measurement,
            buffered: 0,
            procedure,
            metric,
            cap: cap(measurement, metric, &scenario, known),
            phase1_rate: scenario.phase1_rate().map(Rate).or_else(|| phase1_rate(&set_up, &settings)),
            limit: limit(measurement, &scenario, calibration, &kinds),
            throughput: given(measurement, &scenario)
                .or_else(|| safe_rate(&throughputs))
                .map(|rate| rate.min(settings.hi)),
            settings,
            scenario,
        })
    }

    pub fn direction(&self) -> Direction {
        self.settings.direction
    }

    /// Runs the search with these trials.
    ///
    /// # Errors
    /// Those of the procedure; [`TrialError::Phase1`] without a rate for phase 1.
    pub fn run(&self, trials: &mut impl Trials, watch: &mut dyn FnMut(&Progress)) -> Result<SearchResult, TrialError> {
        let (scenario, point) = (&*self.scenario, &self.measurement.point);
        let dut = scenario.duts.get(point.dut);
        let dut = dut.ok_or_else(|| TrialError::Refused(format!("the scenario has no device {}", point.dut)))?;
        let context = Context {
            metric: self.metric,
            keys: &scenario.procedures,
            device: &scenario.able(dut),
            settings: &self.settings,
            connections: point.connections,
            buffered: self.buffered,
            frame: [scenario.traffic.frame_size, scenario.widest_frame()],
            phase1_rate: self.phase1_rate,
            throughput: self.throughput,
            limit: self.limit,
            cap: self.cap,
            validate_at_most: scenario.validate_at_most().map(Rate),
        };
        (self.procedure.search)(&context, trials, watch)
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

/// Returns the results that a search of this measurement uses and that stood before its trial `first`; those that stand now if
/// it has no trial yet. A later result would change the rate of its phase 1.
pub fn known_before(
    m: &Measurement,
    scenario: &Scenario,
    first: Option<u64>,
    outcomes: &[Outcome],
    last: &BTreeMap<&str, u64>,
) -> Vec<Outcome> {
    let of = |o: &Outcome| last.get(o.filed_under(|key| last.contains_key(key)).as_str()).copied();
    let elsewhere = scenario.measure.warm_start == WarmStart::Points;
    let is_used = |o: &&Outcome| {
        let (own, other) = (m, &o.measurement);
        own.point == other.point || elsewhere && own.point.dut == other.point.dut && own.metric == other.metric
    };
    let used = outcomes.iter().filter(is_used);
    let before: Vec<Outcome> = used.filter(|o| first.is_none() || of(o) < first).cloned().collect();
    standing(&before).cloned().collect()
}

fn settings(
    m: &Measurement,
    (procedure, metric): (&Procedure, &Metric),
    scenario: &Scenario,
    calibration: &Calibration,
) -> Result<SearchSettings, TrialError> {
    let (measure, traffic) = (&scenario.measure, &scenario.traffic);
    let is_forward = matches!(procedure.sends, Sends::NewConnections | Sends::Queries);
    let direction = if is_forward { Direction::Forward } else { traffic.direction };
    let defaults = SearchSettings::default();
    Ok(SearchSettings {
        lo: Rate(scenario.min_rate().unwrap_or(0)),
        hi: upper_end(scenario, calibration, m)?,
        verify: scenario.tries().map(|tries| Verify { tries, at_most: scenario.measure.verify_at_most }),
        warm: None,
        early_end: scenario.measure.early_end && scenario.goals().is_empty(),
        keep_table: scenario.measure.keep_table,
        goals: scenario.goals(),
        phase1_share: measure.phase1_share_ppm.map_or(defaults.phase1_share, |ppm| Ratio::from_ppm(ppm.into())),
        precision: scenario.precision(),
        criteria: criteria(scenario),
        repetitions: measure.repetitions.most,
        duration: measure.duration,
        direction,
        alpha: scenario.alpha_ppm().filter(|_| metric.validated).map(|a| Ratio::from_ppm(u64::from(a))),
        responder_order: traffic.responder_order,
        responder_table: traffic.responder_table,
        options: options(scenario),
        invalid_at_most: Some(m.invalid_at_most()),
    })
}

/// What every trial with data does beside what its procedure asks for.
fn options(scenario: &Scenario) -> TrialOptions {
    let keys = &scenario.procedures;
    let interval = keys.list().iter().find_map(|procedure| (procedure.interval)(keys));
    TrialOptions {
        warm_up: scenario.warm_up(),
        popularity: scenario.traffic.popularity,
        sampler: interval.filter(|_| scenario.measure.cpu_in_trials).map(|interval| Sampler { interval, of: 0 }),
        ..TrialOptions::default()
    }
}

pub fn criteria(scenario: &Scenario) -> Criteria {
    Criteria {
        acceptance: Ratio::from_ppm(u64::from(scenario.measure.acceptance_ppm)),
        phase1_acceptance: Ratio::from_ppm(u64::from(scenario.measure.phase1_acceptance_ppm)),
    }
}

/// Returns the rate of phase 1 before phase 2: a share of the known set-up rate of this point. It is at most the lowest
/// failed rate of any search in which no rate passed.
fn phase1_rate(found: &[&Outcome], settings: &SearchSettings) -> Option<Rate> {
    let failed = found.iter().filter(|o| o.result.kind == ResultKind::Below).map(|o| o.result.error).min();
    let rate = safe_rate(found)?;
    Some(settings.phase1_share.of(rate.min(failed.unwrap_or(rate))).max(Rate(1)))
}

/// Returns the rate that a device reaches according to the results of one point: the smallest exact rate, or without
/// one the largest lower bound, because the device reaches every lower bound. Where half of the
/// searches for a metric found that no rate causes the loss, the rates of the others are chance.
fn safe_rate(found: &[&Outcome]) -> Option<Rate> {
    let is_chance = |one: &Outcome| {
        let same = || found.iter().filter(|o| o.measurement.metric == one.measurement.metric);
        same().filter(|o| o.result.kind == ResultKind::NoRate).count() * 2 >= same().count()
    };
    let (exact, bounds): (Vec<&Outcome>, Vec<&Outcome>) =
        found.iter().filter(|o| o.result.rate.0 > 0 && !is_chance(o)).partition(|o| o.result.kind == ResultKind::Exact);
    let exact = exact.iter().map(|o| o.result.rate).min();
    exact.or_else(|| bounds.iter().map(|o| o.result.rate).max())
}

/// Returns the rate that the scenario gives to the procedure of a measurement.
fn given(m: &Measurement, scenario: &Scenario) -> Option<Rate> {
    let rate = scenario.procedures.of(&m.metric)?.given_rate(&scenario.procedures)?;
    Some(Rate(rate.frames_per_second(scenario.widest_frame())))
}

/// Returns the rate that the scenario gives for a measurement, and the rate of its trials, if `max-rate` or the tester
/// lowers it; otherwise `None`.
pub(crate) fn lowered(m: &Measurement, scenario: &Scenario, calibration: &Calibration) -> Option<(Rate, Rate)> {
    let here = m.point.of(scenario);
    let (given, most) = (given(m, &here)?, upper_end(&here, calibration, m).ok()?);
    (most < given).then_some((given, most))
}

/// What limits the throughput at which the trials of a measurement run, by the kinds of the throughputs of its point: nothing is
/// known of a rate that the scenario gives.
pub(crate) fn limit(m: &Measurement, scenario: &Scenario, calibration: &Calibration, kinds: &[ResultKind]) -> Limit {
    if given(m, scenario).is_some() {
        return Limit::Unknown;
    }
    let ceiling = || {
        calibration.at(&m.point.of(scenario), m.point.connections, &m.point.axes).and_then(|c| c.of_trials(&m.metric))
    };
    if kinds.contains(&ResultKind::Exact) {
        Limit::Device
    } else if kinds.contains(&ResultKind::TesterLimit)
        || kinds.contains(&ResultKind::AtUpperLimit)
            && is_upper_end_the_testers(scenario.max_rate(), ceiling(), null(calibration, m))
    {
        Limit::Tester
    } else {
        Limit::Unknown
    }
}

fn null(calibration: &Calibration, m: &Measurement) -> Option<Rate> {
    calibration.null_of(&m.metric, |point| *point == m.point)
}

/// Returns the highest rate of a search: the lower of the scenario's limit and the usable share of the tester ceiling at this
/// number of connections, or of what the null device on the path of the device reaches.
fn upper_end(scenario: &Scenario, calibration: &Calibration, m: &Measurement) -> Result<Rate, TrialError> {
    let connections = m.point.connections;
    let unknown = || TrialError::Tester(format!("the tester was not calibrated at {connections} connections"));
    let ceiling = if scenario.is_simulated(m.point.dut) {
        // It has no frames, so the tester is no limit.
        Rate(1_000_000_000)
    } else {
        let at_point = calibration.at(&m.point.of(scenario), connections, &m.point.axes);
        at_point.and_then(|c| c.of_trials(&m.metric)).ok_or_else(unknown)?
    };
    let least = ceiling.min(null(calibration, m).unwrap_or(ceiling));
    Ok(Rate(scenario.max_rate().unwrap_or(u64::MAX).min(usable(least).0).max(1)))
}

fn usable(ceiling: Rate) -> Rate {
    ceiling.scaled(USABLE_TENTHS, 10)
}

/// Whether the upper end of a search is that of the tester or of the null device, and not the scenario's `max-rate`. Without a
/// ceiling (simulated device) it is, unless the scenario has a `max-rate`.
pub fn is_upper_end_the_testers(max_rate: Option<u64>, ceiling: Option<Rate>, null: Option<Rate>) -> bool {
    let least = ceiling.into_iter().chain(null).min();
    max_rate.is_none_or(|max| least.is_some_and(|least| max > usable(least).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_the_two_upper_ends_counts() {
        let ends = |max, ceiling: Option<u64>| is_upper_end_the_testers(max, ceiling.map(Rate), None);
        assert!(ends(None, Some(1_000)) && ends(Some(901), Some(1_000)) && ends(None, None));
        assert!(!ends(Some(900), Some(1_000)) && !ends(Some(1), None));
        let with_null = |null| is_upper_end_the_testers(Some(900), Some(Rate(2_000)), Some(Rate(null)));
        assert!(with_null(999) && !with_null(1_000));
    }
}
