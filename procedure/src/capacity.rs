//! Connection tracking table capacity (RFC 9693 section 4.9). A full table, a rate that is too
//! high, and a validation that is too fast look the same from outside. So the procedure searches
//! for the validated establishment rate at every number of connections, and the table counts as
//! full where this rate breaks down.

use crate::Keys;
use crate::capacity_with_policy::{self, FullTablePolicy, PolicyKind};
use crate::establishment::trial;
use crate::known;
use crate::prelude::*;
use crate::validation::Validation;
use document::number;
use key::kind::{number, share};
use key::quantity::show_grouped;
use method::judged::probe_connections;
use method::search::{CapacityRates, Precision};
use method::simulated::WhenFull;
use method::trial::Claim;
use method::validity::Invalid;

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "capacity",
    summary: "exponential, then binary search for the most connections that can be set up and validated at a rate that does not break down",
    sends: Sends::NewConnections,
    stateful: true,
    tables: &[KeyTable::after::<Capacity>("alpha")],
    check,
    conditions,
    search,
    doubts: slow_testers,
    known: KNOWN,
    ..Procedure::of(&CONN_TABLE_CAPACITY)
};

/// Size of the connection tracking table, seen from outside.
pub const CONN_TABLE_CAPACITY: Metric = Metric {
    key: "conn_table_capacity",
    title: "Connection tracking table capacity",
    unit: Unit::Connections,
    reference: "RFC 9693 section 4.9",
    definition: "The most connections that can be set up and validated at a rate that does not break down against that \
                 of fewer connections.",
    gives: Some(Gives::TableSize),
    validated: true,
    trials: TrialKind::Phase1,
    ..Metric::USUAL
};

key::table! {
    /// How the capacity of a table is searched.
    pub struct Capacity {
        /// Connections that the table surely holds, where the search for its capacity begins (C0 of RFC 9693).
        from: Option<Count> = "capacity-from", maybe(number(1..=1 << 32)), computed("a sixteenth of the connections");
        /// Width of the interval at which the search for the capacity stops, in connections (E of RFC 9693).
        error: Count = "capacity-error", number(1..=1 << 32), or("1");
        /// The exponential search for the capacity ends below this share of the last safe rate (RFC 9693, section 4.9).
        beta_ppm: u32 = "beta", share(), or("20 %");
        /// In the binary search for the capacity, connections fail below this share of the last safe rate.
        gamma_ppm: u32 = "gamma", share(), or("40 %");
        /// What a full table does with a new connection, if that is known: then one trial of all connections shows the capacity.
        policy: Option<FullTablePolicy> = "policy", maybe(PolicyKind), computed("not known: the capacity is searched");
    }
}

/// The search begins, by default, at this part of the connections.
const FROM_PART: Count = 16;

fn conditions(keys: &Keys) -> Vec<(&'static str, String)> {
    let keys = keys.get::<Capacity>();
    let from = keys.from.map_or("a sixteenth of the".to_owned(), show_grouped);
    let [beta, gamma] = [keys.beta_ppm, keys.gamma_ppm].map(number::share);
    let error = number::plural(keys.error, "connection");
    vec![("Capacity", format!("from {from} connections; beta {beta}, gamma {gamma}, error {error}"))]
}

fn check(asked: &mut MeasureRequest<'_>) {
    let Capacity { from, policy, .. } = *asked.keys.get();
    let Some(at) = asked.metric_at(&CONN_TABLE_CAPACITY) else {
        if from.is_some() {
            let fault = Fault::new("no capacity is measured").at(asked.at("capacity-from"), "not used");
            asked.refuse(fault.instead("add \"conn_table_capacity\" to the metrics, or remove capacity-from"));
        }
        if policy.is_some() {
            let fault = Fault::new("`policy` has no effect").at(asked.at("policy"), "no capacity is measured");
            asked.refuse(fault.instead("add \"conn_table_capacity\" to the metrics, or remove policy"));
        }
        return;
    };
    if asked.is_stateful && !asked.has_alpha {
        let fault = Fault::new("the capacity needs alpha").at(at, "connections count if they are validated");
        let fault = fault.needs(asked.at("alpha"));
        asked.refuse(fault.instead("write alpha = \"50 %\" in [measure] (RFC 9693, section 4.9)"));
    }
    let fewest = asked.connections.iter().copied().min().unwrap_or(0);
    if let Some(from) = from.filter(|from| *from > fewest) {
        let fault = Fault::new("the search for the capacity begins above its upper end");
        let fault = fault.at(asked.at("capacity-from"), format!("{} connections", show_grouped(from)));
        let fault = fault.at("sweep.connections", "the most connections of the search");
        asked.refuse(fault.instead("write fewer, or remove capacity-from"));
    }
}

/// Searches for the capacity. Rate and error of the result are connections: the most that were
/// safe, and the distance to the fewest that were not.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let (keys, settings, most) = (context.keys.get::<Capacity>(), context.settings, context.connections);
    // The table must hold at least this many connections (C0 of RFC 9693).
    let from = keys.from.unwrap_or((most / FROM_PART).max(1));
    let validation = Validation::of(context, from, trials, watch)?;
    if let Some(policy) = keys.policy {
        let result = capacity_with_policy::search(context, (policy, keys.error), validation.at_most, trials, watch)?;
        return Ok(validation.beside(context, context.phase1_rate()?, result));
    }
    settings.check()?;
    has_no_buffered(from, context.buffered)?;
    let decider = Decider::new(trials, settings);
    let search = Search {
        decider,
        settings,
        from,
        most,
        beta: Ratio::from_ppm(keys.beta_ppm.into()),
        gamma: Ratio::from_ppm(keys.gamma_ppm.into()),
        error: keys.error,
        validate_at_most: validation.at_most,
        watch,
        result: SearchResult::empty(),
    };
    let result = search.run()?;
    let safe = result.capacity.map_or(Rate(0), |rates| rates.safe);
    Ok(validation.beside(context, safe, result))
}

/// Width of a search for a rate: 2.5 % of the rate that passed, as in published runs.
const RATE_ERROR: Precision = Precision::Relative(Ratio::from_ppm(25_000));
/// First search for a rate: its lower end, as a part of the upper end.
const LOWEST_PART: u64 = 4096;

/// The first number of connections is at least this many times the frames that the path can buffer. Buffers then raise the
/// first rate by at most a third, and a later rate without their effect is no break-down.
const BUFFERS: Count = 4;

/// Refuses a first number of connections so small that buffers would raise the measured rate.
fn has_no_buffered(from: Count, buffered: Count) -> Result<(), TrialError> {
    let least = buffered.saturating_mul(BUFFERS);
    if from >= least {
        return Ok(());
    }
    Err(TrialError::Refused(format!(
        "the search for the capacity begins with {from} connections, and the path can buffer {buffered} frames: write capacity-from = \
         {least} or more, or use shorter queues"
    )))
}

/// The search with its parameters, named as in RFC 9693.
struct Search<'a, 'w> {
    decider: Decider<'a>,
    settings: &'a SearchSettings,
    from: Count,
    most: Count,
    beta: Ratio,
    gamma: Ratio,
    error: Count,
    validate_at_most: Option<Rate>,
    watch: Watch<'w>,
    result: SearchResult,
}

/// A number of connections with the rate found.
#[derive(Clone, Copy)]
struct Pair {
    connections: Count,
    rate: Rate,
}

struct RateResult {
    /// The highest rate that passed.
    passed: Rate,
    /// That rate as the tester offered it.
    rate: Rate,
    /// Why higher rates are undecided.
    undecided: Option<Invalid>,
}

impl Search<'_, '_> {
    fn run(mut self) -> Result<SearchResult, TrialError> {
        let from = self.from;
        let first = self.rate(from, self.settings.hi, Rate(self.settings.hi.0 / LOWEST_PART))?;
        if first.passed.0 == 0 {
            let kind = if first.undecided.is_some() { ResultKind::NothingMeasured } else { ResultKind::NothingPassed };
            (self.result.kind, self.result.tester_limit) = (kind, first.undecided);
            return Ok(self.result);
        }
        let mut safe = Pair { connections: from, rate: first.rate };
        let mut rates = CapacityRates { from, first: first.rate, safe: first.rate, broken: None, doublings: 0 };
        let mut broken: Option<Pair> = None;
        let mut undecided = None;
        while undecided.is_none()
            && let Some((connections, share)) = self.next(safe, broken)
        {
            rates.doublings += u32::from(broken.is_none());
            let floor = share.of(safe.rate).max(Rate(1));
            let found = self.rate(connections, safe.rate, floor)?;
            let pair = Pair { connections, rate: found.rate };
            if found.passed >= floor {
                // A slow tester makes no table full, but a rate of its own is no reference for more connections.
                let slow = Some(found.rate).filter(|rate| *rate < floor);
                (rates.safe, self.result.evidence.slow_tester) = (found.rate, slow);
                safe = if slow.is_none() { pair } else { Pair { connections, ..safe } };
            } else if found.undecided.is_some() {
                undecided = found.undecided;
            } else {
                broken = Some(pair);
            }
        }
        rates.broken = broken.map(|pair| pair.rate);
        Ok(self.conclude(safe, broken, undecided, rates))
    }

    /// The next number of connections, with the share of the safe rate below which it fails; `None` at the end.
    fn next(&self, safe: Pair, broken: Option<Pair>) -> Option<(Count, Ratio)> {
        let Search { most, beta, gamma, error, .. } = *self;
        match broken {
            None => (safe.connections < most).then(|| (safe.connections.saturating_mul(2).min(most), beta)),
            Some(broken) if broken.connections - safe.connections > error => {
                Some((Rate(safe.connections).halfway(Rate(broken.connections)).0, gamma))
            }
            Some(_) => None,
        }
    }

    /// Searches for a rate: tries `top` first; ends below `floor`.
    fn rate(&mut self, connections: Count, top: Rate, floor: Rate) -> Result<RateResult, TrialError> {
        let (mut passed, mut passed_at, mut failed) = (Rate(0), Rate(0), None::<Rate>);
        let mut undecided = None;
        loop {
            let rate = match failed {
                None => top,
                Some(failed) if failed > floor && failed.0 - passed.0 > RATE_ERROR.width(passed).0 => {
                    passed.halfway(failed)
                }
                Some(_) => return Ok(RateResult { passed, rate: passed_at, undecided }),
            };
            let (decision, offered) = self.decide(connections, rate, (passed, failed.unwrap_or(top)))?;
            let offered = offered.min(rate);
            match decision {
                Decision::Pass if rate == top => return Ok(RateResult { passed: top, rate: offered, undecided }),
                Decision::Pass => (passed, passed_at) = (rate, offered),
                Decision::Fail(_) => (failed, undecided) = (Some(rate), None),
                Decision::TesterBound(reason) | Decision::HostBound(reason) => {
                    (failed, undecided) = (Some(rate), Some(reason));
                }
            }
        }
    }

    /// Decides about a rate, which it returns as the tester offered it.
    fn decide(
        &mut self,
        connections: Count,
        rate: Rate,
        (lo, hi): (Rate, Rate),
    ) -> Result<(Decision, Rate), TrialError> {
        (self.watch)(&Progress { lo, hi, rate, steps_left: RATE_ERROR.halvings(lo, hi).max(1) });
        let (alpha, at_most) = (self.settings.alpha, self.validate_at_most);
        let spec = TrialSpec { claim: Claim::State, ..trial(rate, connections, alpha, at_most) };
        let (few, slow) = probe_connections(connections, rate);
        let probe = trial(slow, few, alpha, at_most);
        let judgement = self.decider.decide(&spec, &probe, Patience::Repeat)?;
        self.result.note(rate, &judgement);
        if let Some(step) = self.result.trace.last_mut() {
            step.connections = Some(connections);
        }
        let forward = &judgement.last().outcome.forward;
        Ok((judgement.decision.clone(), Rate::at_least(forward.sent, forward.send_time)))
    }

    fn conclude(
        self,
        safe: Pair,
        broken: Option<Pair>,
        undecided: Option<Invalid>,
        rates: CapacityRates,
    ) -> SearchResult {
        SearchResult {
            rate: Rate(safe.connections),
            kind: ResultKind::of_ends(true, broken.is_some(), undecided.as_ref()),
            error: Rate(broken.map_or(0, |broken| broken.connections - safe.connections)),
            tester_limit: undecided,
            capacity: Some(rates),
            ..self.result
        }
    }
}

fn slow_testers(results: &Results<'_>) -> Vec<String> {
    let slowest = |result: &&MetricResult<'_>| {
        let rate = show_grouped(result.repetitions.iter().filter_map(|of| of.evidence.slow_tester).min()?.0);
        let of_tester = "so the rate with the capacity is a limit of the tester";
        Some(format!("The tester opened only {rate} connections/s ({}), {of_tester}.", result.place))
    };
    results.of(&[CONN_TABLE_CAPACITY.key]).iter().filter_map(slowest).collect()
}

fn known_point(when_full: WhenFull) -> KnownPoint {
    let keys = Capacity { from: Some(10_000), error: 1, beta_ppm: 200_000, gamma_ppm: 400_000, policy: None };
    let settings = SearchSettings { alpha: Some(Ratio::from_ppm(500_000)), ..known::forward() };
    let phase2 = Some(Phase2 { connections: 1_000_000, ..HELD });
    let device = Truth { table_size: 123_457, when_full, ..known::simulated() };
    KnownPoint { settings, phase2, ..KnownPoint::new(keys, device) }
}

/// What becomes of new connections must not matter.
const fn known(device: &'static str, point: fn() -> KnownPoint) -> KnownValue {
    KnownValue { metric: CONN_TABLE_CAPACITY.key, device, truth: Some(123_457), error: EXACT, point }
}

const KNOWN: &[KnownValue] = &[
    known("refuses new connections", || known_point(WhenFull::KeepOld)),
    known("replaces the oldest connection", || known_point(WhenFull::ReplaceOldest)),
    known("collects 64 connections", || known_point(WhenFull::Collect(64))),
];
