//! The search of a measurement and its settings, which follow from scenario, calibration and earlier results. A run uses it
//! with new trials, an audit with recorded trials.

pub(crate) mod device;

use crate::folder::{Calibration, Outcome};
use crate::plan::Measurement;
use crate::visit::standing;
use device::DeviceJob;
use method::search::bottleneck::Limit;
use method::search::{Phase2, Progress, SearchResult, SearchSettings, ValidationCap, Verify, Warm};
use method::trial::{Queries, Sampler, Stamps};
use method::{Criteria, Direction, Nanos, Rate, Ratio, ResultKind, TrialError, TrialOptions, TrialRecord, Trials};
use procedure::back_to_back::{self, Bursts};
use procedure::delay::{self, Timed, Values};
use procedure::metric::{
    CONN_TABLE_CAPACITY, MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED, TCP_THROUGHPUT, is_establishment,
    is_of_queries, is_throughput,
};
use procedure::recovery::{self, Overload};
use procedure::{
    Procedure, capacity, capacity_known, churn, dns, establishment, frame_loss, is_of_phase1, of, overload, tcp,
    throughput, validation,
};
use scenario::{Point, Scenario, WarmStart};
use std::collections::BTreeMap;

/// Share of the calibrated ceiling up to which natmeter attributes a rate to the device (METHODOLOGY.md, the tester's own
/// ceiling), in tenths.
const USABLE_TENTHS: u64 = 9;

/// One measurement with the settings of its procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search<'a> {
    /// The measurement.
    pub measurement: &'a Measurement,
    /// Its settings.
    pub settings: SearchSettings,
    /// Frames that the path can buffer; 0 if that is not known.
    pub buffered: u64,
    /// Its procedure, with the parameters that only this one has.
    job: Job,
    /// Whether the rate of validation has a measured limit, and that limit if an earlier search measured it.
    cap: Cap,
    /// Rate of phase 1 before phase 2: that of the scenario, or a share of the establishment rate.
    phase1_rate: Option<Rate>,
    /// The throughput of the point: that of the scenario, or as measured.
    throughput: Option<Rate>,
    /// What limits that throughput.
    limit: Limit,
}

/// The limit on the rate of validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cap {
    /// None is measured.
    Off,
    /// It is measured before the search.
    Measured,
    /// An earlier search of the point measured it.
    Known(ValidationCap),
}

/// A procedure with its own parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Job {
    Throughput,
    Establishment { validate_at_most: Option<Rate> },
    Capacity(capacity::Limits),
    CapacityKnown(capacity_known::Policy, capacity::Limits),
    FrameLoss { loads: Vec<Rate> },
    Churn { held: u64, limits: churn::Limits },
    Tcp { held: u64, life: tcp::Life },
    TcpThroughput { payload: u64 },
    Delay { values: Values, duration: Nanos, stamps: Stamps },
    BackToBack { longest: Nanos },
    Recovery { overload: Nanos, after: Nanos },
    Device(DeviceJob),
    Overload { few: u64, interval: Option<Nanos> },
    Dns(Queries),
}

impl Job {
    /// Returns the job of a measurement. `settings` are those of all procedures.
    fn new(m: &Measurement, scenario: &Scenario, settings: &SearchSettings) -> Result<Job, TrialError> {
        Ok(match procedure(m)?.key {
            key if key == throughput::PROCEDURE.key => Job::Throughput,
            key if key == establishment::PROCEDURE.key => {
                Job::Establishment { validate_at_most: scenario.validate_at_most().map(Rate) }
            }
            key if key == capacity::PROCEDURE.key => match scenario.measure.policy {
                Some(policy) => Job::CapacityKnown(policy, limits(m, scenario)),
                None => Job::Capacity(limits(m, scenario)),
            },
            key if key == frame_loss::PROCEDURE.key => {
                Job::FrameLoss { loads: scenario.procedures.frame_loss.loads(settings.hi, scenario.widest_frame()) }
            }
            key if key == churn::PROCEDURE.key => {
                let dut = scenario.duts.get(m.point.dut);
                let dut =
                    dut.ok_or_else(|| TrialError::Refused(format!("the scenario has no device {}", m.point.dut)))?;
                let (held, limits) = scenario.churn(dut, m.point.connections);
                Job::Churn { held, limits }
            }
            key if key == tcp::PROCEDURE.key && m.metric == TCP_THROUGHPUT.key => {
                Job::TcpThroughput { payload: scenario.tcp_payload() }
            }
            key if key == tcp::PROCEDURE.key => {
                let (held, life) = scenario.tcp_life(m.point.connections);
                Job::Tcp { held, life }
            }
            key if key == overload::PROCEDURE.key => {
                let keys = &scenario.procedures.overload_scalability;
                Job::Overload { few: keys.flows, interval: keys.interval }
            }
            key if [dns::DNS64.key, dns::LOAD.key].contains(&key) => {
                Job::Dns(scenario.procedures.dns.queries(&m.metric))
            }
            key => match DeviceJob::new(key, m, scenario).map(Job::Device).or_else(|| at_throughput(key, scenario)) {
                Some(job) => job,
                None => return Err(TrialError::Refused(format!("this natmeter has no procedure `{key}`"))),
            },
        })
    }
}

/// The job of a procedure that runs at the throughput of the point.
fn at_throughput(procedure: &str, scenario: &Scenario) -> Option<Job> {
    let of = &scenario.procedures;
    let delay = |values, duration, stamps| Some(Job::Delay { values, duration, stamps });
    match procedure {
        key if key == delay::LATENCY.key => {
            let stamps = Stamps::Some { frames: of.latency.tags, from: of.latency.from };
            delay(Values::Latency, of.latency.duration, stamps)
        }
        key if key == delay::PDV.key => delay(Values::Pdv, of.pdv.duration, Stamps::All { timeout: of.pdv.timeout }),
        key if key == delay::IPDV.key => delay(Values::Ipdv, of.ipdv.duration, Stamps::All { timeout: None }),
        key if key == back_to_back::PROCEDURE.key => Some(Job::BackToBack { longest: of.back_to_back.longest }),
        key if key == recovery::PROCEDURE.key => {
            let of = &of.system_recovery;
            Some(Job::Recovery { overload: of.overload, after: of.after })
        }
        _ => None,
    }
}

/// The lower of two limits on the rate of validation.
fn lower(written: Option<Rate>, measured: Option<ValidationCap>) -> Option<Rate> {
    written.into_iter().chain(measured.map(|cap| cap.cap)).min()
}

/// The limit on the rate of validation of a measurement.
fn cap(m: &Measurement, scenario: &Scenario, known: &[Outcome]) -> Cap {
    if !scenario.alpha_is_auto() || !is_validated(&m.metric) {
        return Cap::Off;
    }
    let of = |o: &&Outcome| o.measurement.point == m.point;
    let earlier = known.iter().filter(of).find_map(|o| o.result.evidence.validation_cap);
    earlier.map_or(Cap::Measured, |cap| Cap::Known(cap.again()))
}

/// The bounds of an earlier search at which this one begins: of the last repetition, or of the last point of the device.
fn warm(m: &Measurement, scenario: &Scenario, known: &[Outcome]) -> Option<Warm> {
    let is_searched = is_throughput(&m.metric) || is_establishment(&m.metric);
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

/// Whether connections are validated.
fn is_validated(metric: &str) -> bool {
    [MAX_CONN_EST_RATE_VALIDATED.key, CONN_TABLE_CAPACITY.key].contains(&metric)
}

/// The procedure of a measurement.
fn procedure(m: &Measurement) -> Result<&'static Procedure, TrialError> {
    of(&m.metric).ok_or_else(|| TrialError::Refused(format!("this natmeter does not measure `{}`", m.metric)))
}

impl<'a> Search<'a> {
    /// Returns the search for a measurement, given the earlier results in `known`.
    ///
    /// # Errors
    /// [`TrialError::Tester`] if its point was not calibrated; [`TrialError::Refused`] if its procedure has no settings
    /// for it.
    pub fn new(
        measurement: &'a Measurement,
        scenario: &Scenario,
        calibration: &Calibration,
        known: &[Outcome],
    ) -> Result<Search<'a>, TrialError> {
        let scenario = &*measurement.point.of(scenario);
        let mut settings = settings(measurement, scenario, calibration)?;
        settings.warm = warm(measurement, scenario, known);
        Ok(Search {
            measurement,
            buffered: 0,
            job: Job::new(measurement, scenario, &settings)?,
            cap: cap(measurement, scenario, known),
            phase1_rate: scenario.phase1_rate().map(Rate).or_else(|| phase1_rate(known, &measurement.point, &settings)),
            limit: device::limit(measurement, scenario, calibration, &device::throughputs(&measurement.point, known)),
            throughput: given(measurement, scenario)
                .or_else(|| throughput_of(known, &measurement.point))
                .map(|rate| rate.min(settings.hi)),
            settings,
        })
    }

    /// The throughput at which its trials run.
    fn throughput(&self) -> Result<Rate, TrialError> {
        self.throughput.ok_or_else(|| {
            let metric = &self.measurement.metric;
            TrialError::NotMeasurable(format!(
                "{metric} is measured at the throughput, which has no result at this point"
            ))
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
        let (connections, buffered, settings) = (self.measurement.point.connections, self.buffered, &self.settings);
        let cap = self.measured_cap(trials, watch)?;
        match &self.job {
            Job::Throughput => throughput::measure(trials, settings, self.phase2()?, watch),
            Job::Establishment { validate_at_most } => {
                let validate_at_most = lower(*validate_at_most, cap);
                let phase1 = establishment::Phase1 { connections, buffered, validate_at_most };
                let result = establishment::measure(trials, settings, phase1, watch)?;
                let rate = result.rate;
                Ok(self.beside(cap, rate, result))
            }
            Job::Capacity(limits) => {
                let validate_at_most = lower(limits.validate_at_most, cap);
                let limits = capacity::Limits { buffered, validate_at_most, ..*limits };
                let result = capacity::measure(trials, settings, limits, watch)?;
                let safe = result.capacity.map_or(Rate(0), |rates| rates.safe);
                Ok(self.beside(cap, safe, result))
            }
            Job::CapacityKnown(policy, limits) => {
                let rate = self.phase1_rate()?;
                let validate_at_most = lower(limits.validate_at_most, cap);
                let known =
                    capacity_known::Known { connections, policy: *policy, rate, error: limits.error, validate_at_most };
                let result = capacity_known::measure(trials, settings, known, watch)?;
                Ok(self.beside(cap, rate, result))
            }
            Job::FrameLoss { loads } => frame_loss::measure(trials, settings, self.phase2()?, loads, watch),
            Job::Churn { held, limits } => match self.phase2()? {
                Some(phase2) => {
                    churn::measure(trials, settings, Phase2 { connections: *held, ..phase2 }, *limits, watch)
                }
                None => Err(TrialError::Refused("without connections there is no churn".to_owned())),
            },
            Job::Tcp { held, life } => tcp::measure(trials, settings, self.tcp_phase2(*held)?, *life, watch),
            Job::TcpThroughput { payload } => {
                tcp::measure_throughput(trials, settings, self.tcp_phase2(connections)?, *payload, watch)
            }
            Job::Overload { few, interval } => match self.phase2()? {
                Some(all) => {
                    let flows = overload::Flows { few: *few, all, interval: *interval };
                    overload::measure(trials, settings, flows, watch)
                }
                None => Err(TrialError::Refused("overload scalability needs connections".to_owned())),
            },
            Job::Delay { values, duration, stamps } => {
                let (values, duration, stamps) = (*values, *duration, *stamps);
                let timed = Timed { values, rate: self.throughput()?, duration, stamps };
                delay::measure(trials, settings, self.phase2()?, &timed, watch)
            }
            Job::BackToBack { longest } => {
                let bursts = Bursts { throughput: self.throughput()?, longest: *longest };
                back_to_back::measure(trials, settings, self.phase2()?, bursts, watch)
            }
            Job::Device(job) => self.run_device(*job, trials, watch),
            Job::Dns(queries) => dns::measure(trials, settings, *queries, watch),
            Job::Recovery { overload, after } => {
                let overload = Overload { throughput: self.throughput()?, overload: *overload, after: *after };
                recovery::measure(trials, settings, self.phase2()?, overload, watch)
            }
        }
    }

    /// Phase 2 of its trials; none for a stateless device.
    fn phase2(&self) -> Result<Option<Phase2>, TrialError> {
        let connections = self.measurement.point.connections;
        if connections == 0 {
            return Ok(None);
        }
        Ok(Some(Phase2 { connections, phase1_rate: self.phase1_rate()? }))
    }

    /// The same with so many TCP connections.
    fn tcp_phase2(&self, connections: u64) -> Result<Phase2, TrialError> {
        let phase2 = self.phase2()?.map(|phase2| Phase2 { connections, ..phase2 });
        phase2.ok_or_else(|| {
            TrialError::Refused("a TCP metric needs at least 1 connection; set `connections` in [sweep]".to_owned())
        })
    }

    fn phase1_rate(&self) -> Result<Rate, TrialError> {
        self.phase1_rate.ok_or_else(|| {
            let metric = MAX_CONN_EST_RATE.key;
            TrialError::Phase1(format!(
                "no rate for phase 1: phase 2 takes it from {metric}, which has no result at this point"
            ))
        })
    }

    /// The limit on the rate of validation, measured now if no earlier search did.
    fn measured_cap(
        &self,
        trials: &mut impl Trials,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Option<ValidationCap>, TrialError> {
        // The table surely holds the connections with which the search for its capacity begins.
        let connections = match &self.job {
            Job::Capacity(limits) | Job::CapacityKnown(_, limits) => limits.from,
            _ => self.measurement.point.connections,
        };
        match self.cap {
            Cap::Off => Ok(None),
            Cap::Known(cap) => Ok(Some(cap)),
            Cap::Measured => {
                let phase2 = Phase2 { connections, phase1_rate: self.phase1_rate()? };
                validation::measure(trials, &self.settings, phase2, watch).map(Some)
            }
        }
    }

    /// Files the limit with a result that was validated at alpha times `rate`, or at the limit.
    fn beside(&self, cap: Option<ValidationCap>, rate: Rate, mut result: SearchResult) -> SearchResult {
        if let (Some(cap), Some(alpha)) = (cap, self.settings.alpha) {
            result.evidence.validation_cap = Some(cap.beside(rate, alpha));
        }
        result
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

fn settings(m: &Measurement, scenario: &Scenario, calibration: &Calibration) -> Result<SearchSettings, TrialError> {
    let (measure, traffic) = (&scenario.measure, &scenario.traffic);
    let direction =
        if is_of_phase1(&m.metric) || is_of_queries(&m.metric) { Direction::Forward } else { traffic.direction };
    let validated = is_validated(&m.metric);
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
        alpha: scenario.alpha_ppm().filter(|_| validated).map(|a| Ratio::from_ppm(u64::from(a))),
        responder_order: traffic.responder_order,
        responder_table: traffic.responder_table,
        options: options(scenario),
        invalid_at_most: Some(m.invalid_at_most()),
    })
}

/// What every trial with data does beside what its procedure asks for.
fn options(scenario: &Scenario) -> TrialOptions {
    let interval = scenario.procedures.cpu_idle.interval;
    TrialOptions {
        warm_up: scenario.warm_up(),
        popularity: scenario.traffic.popularity,
        sampler: scenario.measure.cpu_in_trials.then_some(Sampler { interval, of: 0 }),
        ..TrialOptions::default()
    }
}

/// The search for the capacity begins, by default, at this part of the connections.
const CAPACITY_FROM_PART: u64 = 16;

fn limits(m: &Measurement, scenario: &Scenario) -> capacity::Limits {
    let (measure, most) = (&scenario.measure, m.point.connections);
    capacity::Limits {
        from: measure.capacity_from.unwrap_or((most / CAPACITY_FROM_PART).max(1)),
        most,
        beta: Ratio::from_ppm(measure.beta_ppm.into()),
        gamma: Ratio::from_ppm(measure.gamma_ppm.into()),
        error: measure.capacity_error,
        buffered: 0,
        validate_at_most: scenario.validate_at_most().map(Rate),
    }
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

/// Returns the rate that the scenario gives to the procedure of a measurement.
fn given(m: &Measurement, scenario: &Scenario) -> Option<Rate> {
    let rate = scenario.procedures.rate(of(&m.metric)?.key)?;
    Some(Rate(rate.frames_per_second(scenario.widest_frame())))
}

/// Returns the rate that the device forwards without loss: the smallest exact throughput of this point; without one the largest
/// lower bound, because the device reaches each of them.
fn throughput_of(outcomes: &[Outcome], point: &Point) -> Option<Rate> {
    let found = outcomes.iter().filter(|o| o.measurement.point == *point && is_throughput(&o.measurement.metric));
    let (exact, bounded): (Vec<&Outcome>, Vec<&Outcome>) =
        found.filter(|o| o.result.rate.0 > 0).partition(|o| o.result.kind == ResultKind::Exact);
    let exact = exact.into_iter().map(|o| o.result.rate).min();
    exact.or_else(|| bounded.into_iter().map(|o| o.result.rate).max())
}

/// Returns the highest rate of a search: the lower of the scenario's limit and the usable share of the tester ceiling at this
/// number of connections.
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
