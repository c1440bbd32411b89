//! Connection tear-down rate (RFC 9693 section 4.8) and memory of the connection tracking table. Both fill the table by
//! a phase 1, prove by frames in reverse on a sample that the connections exist, and empty the table. The time to empty
//! an empty table of the same size is subtracted: it is the time of the command and of the table's size.

use crate::Procedure;
use crate::metric::{CONN_TEAR_DOWN_RATE, MEMORY_PER_CONNTRACK_ENTRY};
use method::judged::{Decision, Patience};
use method::search::{
    BelowResolution, Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, data_trial, probe,
};
use method::stats::median;
use method::trial::{
    Direction, Emptied, Load, Observed, TableMemory, TearDown, TrialError, TrialOptions, TrialSpec, Trials,
};
use method::units::{Count, Nanos, Rate};
use std::collections::BTreeMap;

/// Entry of the tear-down rate in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "tear-down",
    title: CONN_TEAR_DOWN_RATE.title,
    reference: CONN_TEAR_DOWN_RATE.reference,
    metrics: &[CONN_TEAR_DOWN_RATE.key],
    phase1: false,
    stateful: true,
    at_throughput: false,
    summary: "time to empty the table with all connections, without that to empty an empty one",
};

/// Entry of the memory of a connection.
pub const MEMORY: Procedure = Procedure {
    key: "memory",
    title: MEMORY_PER_CONNTRACK_ENTRY.title,
    reference: MEMORY_PER_CONNTRACK_ENTRY.reference,
    metrics: &[MEMORY_PER_CONNTRACK_ENTRY.key],
    phase1: false,
    stateful: true,
    at_throughput: false,
    summary: "memory in use with all connections and without, divided by their number",
};

/// Connections of the sample that must answer in reverse.
const SAMPLE: Count = 10_000;
/// Rate of the sample; a device whose phase 1 is slower gets that rate.
const SAMPLE_RATE: Rate = Rate(10_000);
/// A net time below this many spreads of the empty table is not resolved.
const RESOLVED: u64 = 5;

/// Number of trials and of measurements in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emptying {
    /// How often the table is filled and emptied.
    pub fills: u32,
    /// How often the empty table is emptied after each.
    pub empty: u32,
}

/// Measures the tear-down rate once, in connections per second, with the medians of the times as parts. It is a lower bound if
/// the times are below resolution.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Phase1`] if a connection of the sample does not answer.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Phase2,
    emptying: Emptying,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let options = TrialOptions { tear_down: Some(TearDown { empty: emptying.empty }), ..TrialOptions::default() };
    let spec = emptied_trial(settings, phase2, options)?;
    let mut decider = Decider::new(trials, &without_tolerance(settings));
    let mut result = SearchResult::empty();
    let mut all: Vec<Emptied> = Vec::new();
    for left in (1..=emptying.fills.max(1)).rev() {
        watch(&Progress { lo: phase2.phase1_rate, hi: phase2.phase1_rate, rate: phase2.phase1_rate, steps_left: left });
        let observed = match filled(&mut decider, &spec, &mut result)? {
            Ok(observed) => observed,
            Err(invalid) => return Ok(result.nothing_measured(invalid)),
        };
        let emptied = observed.emptied.clone();
        result.observed = observed;
        all.push(emptied.ok_or_else(|| TrialError::Tester("the table was not emptied after the trial".to_owned()))?);
    }
    Ok(of_times(phase2.connections, &all, result))
}

/// The result of these times.
fn of_times(connections: Count, all: &[Emptied], mut result: SearchResult) -> SearchResult {
    let mut full: Vec<u64> = all.iter().map(|emptied| emptied.full.0).collect();
    let mut empty: Vec<u64> = all.iter().flat_map(|emptied| &emptied.empty).map(|time| time.0).collect();
    full.sort_unstable();
    empty.sort_unstable();
    let middle = |sorted: &[u64]| median(sorted).unwrap_or(0.0).round() as u64;
    let (of_full, of_empty) = (middle(&full), middle(&empty));
    let spread = empty.last().unwrap_or(&0) - empty.first().unwrap_or(&0);
    let net = of_full.saturating_sub(of_empty);
    let is_resolved = net > 0 && net >= spread.saturating_mul(RESOLVED);
    result.parts = BTreeMap::from([
        ("filled_table_deletion_time".to_owned(), of_full.cast_signed()),
        ("empty_table_deletion_time".to_owned(), of_empty.cast_signed()),
        ("net_deletion_time".to_owned(), of_full.cast_signed() - of_empty.cast_signed()),
    ]);
    // If it is not resolved, the net time is at most one spread longer.
    let at_most = if is_resolved { net } else { net.saturating_add(spread).max(1) };
    let rate = u128::from(connections) * u128::from(Nanos::SECOND.0) / u128::from(at_most);
    result.rate = Rate(u64::try_from(rate).unwrap_or(u64::MAX));
    result.kind = if is_resolved { ResultKind::Observed } else { ResultKind::AtUpperLimit };
    result.evidence.below_resolution =
        (!is_resolved).then_some(BelowResolution { net: Nanos(net), spread: Nanos(spread) });
    result
}

/// Measures the memory of one connection once, in bytes, with that of all connections, and of the hash table, as parts.
///
/// # Errors
/// As [`measure`]; [`TrialError::NotMeasurable`] if the memory in use did not grow.
pub fn memory(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Phase2,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let options = TrialOptions { memory: true, ..TrialOptions::default() };
    let spec = emptied_trial(settings, phase2, options)?;
    let mut result = SearchResult::empty();
    watch(&Progress { lo: phase2.phase1_rate, hi: phase2.phase1_rate, rate: phase2.phase1_rate, steps_left: 1 });
    let mut decider = Decider::new(trials, &without_tolerance(settings));
    let observed = match filled(&mut decider, &spec, &mut result)? {
        Ok(observed) => observed,
        Err(invalid) => return Ok(result.nothing_measured(invalid)),
    };
    let read = observed.memory.clone();
    let read = read.ok_or_else(|| TrialError::NotMeasurable("this device does not tell its memory".to_owned()))?;
    result.observed = observed;
    of_memory(&read, result)
}

/// The result of this memory.
fn of_memory(read: &TableMemory, result: SearchResult) -> Result<SearchResult, TrialError> {
    let of_all = read.filled.saturating_sub(read.emptied);
    if of_all == 0 || read.entries == 0 {
        return Err(TrialError::NotMeasurable(format!(
            "the memory in use ({}) is not larger with the connections than without: it may be that of the whole machine; \
             use more connections, or a quieter machine",
            read.source
        )));
    }
    let each = |bytes: u64, of: Count| bytes.saturating_add(of / 2) / of.max(1);
    let mut parts = BTreeMap::from([("memory_conntrack_entries".to_owned(), of_all.cast_signed())]);
    if let Some(buckets) = read.buckets {
        parts.insert("memory_hash_table".to_owned(), buckets.bytes.cast_signed());
        parts.insert("memory_per_hash_bucket".to_owned(), each(buckets.bytes, buckets.count).cast_signed());
    }
    Ok(SearchResult { rate: Rate(each(of_all, read.entries)), kind: ResultKind::Observed, parts, ..result })
}

/// Frames in reverse on a sample of the connections, after phase 1; then the actions of the options.
fn emptied_trial(settings: &SearchSettings, phase2: Phase2, options: TrialOptions) -> Result<TrialSpec, TrialError> {
    Ok(TrialSpec {
        rate: phase2.phase1_rate.min(SAMPLE_RATE),
        load: Load::Frames(phase2.connections.min(SAMPLE)),
        direction: Direction::Reverse,
        options,
        ..data_trial(settings, Some(phase2))?
    })
}

/// Every connection must exist, whatever the loss tolerance of the scenario.
fn without_tolerance(settings: &SearchSettings) -> SearchSettings {
    SearchSettings { verify: None, criteria: method::Criteria::default(), ..settings.clone() }
}

/// Runs the trial. Returns what it observed, or why it is invalid.
fn filled(
    decider: &mut Decider<'_>,
    spec: &TrialSpec,
    result: &mut SearchResult,
) -> Result<Result<Observed, method::Invalid>, TrialError> {
    let judgement = decider.decide(spec, &probe(spec), Patience::Repeat)?;
    result.note(spec.rate, &judgement);
    let outcome = &judgement.last().outcome;
    match judgement.decision {
        Decision::Pass => Ok(Ok(outcome.observed.clone())),
        Decision::TesterBound(reason) | Decision::HostBound(reason) => Ok(Err(reason)),
        Decision::Fail(_) => Err(TrialError::Phase1(format!(
            "{} of {} connections, a sample, do not answer in reverse after phase 1; lower phase1-rate",
            outcome.reverse.lost(),
            spec.frames()
        ))),
    }
}
