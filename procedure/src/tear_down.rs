//! Connection tear-down rate (RFC 9693 section 4.8) and memory of the connection tracking table.
//! Both fill the table by a phase 1, prove by frames in reverse on a sample that the connections
//! exist, and empty the table. The time to empty an empty table of the same size is subtracted: it
//! is that of the command.

use crate::known;
use crate::metric::TotalOf;
use crate::prelude::*;
use crate::results::Repetition;
use document::number;
use key::kind::number;
use method::search::keep::sample;
use method::{Criteria, witness};

use method::search::{BelowResolution, Leak, probe};
use method::stats::fills::Fills;
use method::stats::{Line, median};
use method::trial::{EmptyingTimes, Observed, TableMemory, TearDown};
use std::collections::BTreeMap;

/// Entry of the tear-down rate.
pub static PROCEDURE: Procedure = Procedure {
    key: "tear-down",
    summary: "time to empty the table with all connections, without that to empty an empty one",
    metrics: &[
        CONN_TEAR_DOWN_RATE,
        time(
            "filled_table_deletion_time",
            "Time to empty the full table",
            TotalOf::Connections,
            "The median of the times to empty the table with all connections.",
        ),
        time(
            "empty_table_deletion_time",
            "Time to empty the empty table",
            TotalOf::Buckets,
            "The median of the times to empty the empty table of the same size.",
        ),
        time("net_deletion_time", "Net time to empty the full table", TotalOf::Connections, "The difference of both."),
    ],
    sends: Sends::Samples,
    stateful: true,
    tables: &[KeyTable::of::<Emptying>("tear-down")],
    search,
    sections: &[section],
    known: &[KnownValue {
        metric: CONN_TEAR_DOWN_RATE.key,
        device: "removes 7,000,000 connections/s, and an empty table in 2 s",
        truth: Some(7_000_000),
        error: (70_000, 70_000),
        point: || {
            let control = ControlTruth {
                tear_down_rate: Rate(7_000_000),
                tear_down_empty: Nanos::from_secs(2),
                tear_down_spread: Nanos::from_millis(5),
                ..ControlTruth::default()
            };
            let phase2 = Some(Phase2 { connections: 7_000_000, ..HELD });
            KnownPoint { phase2, ..KnownPoint::new(Emptying { fills: 3, empty: 5 }, known::controlled(control)) }
        },
    }],
    ..Procedure::of(&CONN_TEAR_DOWN_RATE)
};

/// Rate at which a device removes connections; parts have the keys of published tables.
pub const CONN_TEAR_DOWN_RATE: Metric = Metric {
    key: "conn_tear_down_rate",
    title: "Connection tear-down rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 9693 section 4.8",
    definition: "The connections of a table, divided by the time to empty it beyond that to empty an empty table of the \
                 same size.",
    bounded_by: Some("the time to remove the connections is below resolution"),
    trials: TrialKind::Phase1,
    ..Metric::USUAL
};

const fn time(key: &'static str, title: &'static str, of: TotalOf, definition: &'static str) -> Metric {
    let part = CONN_TEAR_DOWN_RATE.part(key, title, Unit::Nanoseconds, definition);
    Metric { total_of: Some(of), observed: true, ..part }
}

key::table! {
    /// How often the table is filled and emptied (RFC 9693, section 4.8).
    pub struct Emptying {
        /// Times that the table is filled and emptied in one repetition.
        fills: u32 = "fills", number(1..=1_000), or("1");
        /// Times that the empty table is emptied after each; their spread is the resolution of the result.
        empty: u32 = "empty", number(2..=1_000), or("5");
    }
}

/// Entry of the memory of a connection.
pub static MEMORY_PROCEDURE: Procedure = Procedure {
    key: "memory",
    summary: "memory in use with all connections and without, divided by their number",
    metrics: &[
        MEMORY_PER_CONNTRACK_ENTRY,
        Metric {
            total_of: Some(TotalOf::Connections),
            ..MEMORY_PER_CONNTRACK_ENTRY.part(
                MEMORY_CONNTRACK_ENTRIES,
                "Memory of all connections",
                Unit::Bytes,
                "The memory in use with all connections beyond that after their removal.",
            )
        },
        Metric {
            total_of: Some(TotalOf::Buckets),
            ..MEMORY_PER_CONNTRACK_ENTRY.part(
                "memory_hash_table",
                "Memory of the hash table",
                Unit::Bytes,
                "The memory of all buckets.",
            )
        },
        MEMORY_PER_CONNTRACK_ENTRY.part(
            "memory_per_hash_bucket",
            "Memory of a bucket",
            Unit::Bytes,
            "The memory of a bucket of the hash table.",
        ),
    ],
    sends: Sends::Samples,
    stateful: true,
    tables: &[KeyTable::of::<Filling>("memory")],
    search: memory,
    sections: &[memory_section],
    doubts: leaks,
    known: &[KnownValue {
        metric: MEMORY_PER_CONNTRACK_ENTRY.key,
        device: "takes 385 octets a connection",
        truth: Some(385),
        error: EXACT,
        point: || {
            let control = ControlTruth { entry_bytes: 385, ..ControlTruth::default() };
            KnownPoint { phase2: Some(HELD), ..KnownPoint::new(Filling { fills: 3 }, known::controlled(control)) }
        },
    }],
    ..Procedure::of(&MEMORY_PER_CONNTRACK_ENTRY)
};

key::table! {
    /// How often the table is filled to tell the memory of connections from what fills leave behind.
    pub struct Filling {
        /// Times that the table is filled and emptied in one repetition.
        fills: u32 = "fills", number(2..=1_000), or("3");
    }
}

/// Key of the memory of all connections.
pub const MEMORY_CONNTRACK_ENTRIES: &str = "memory_conntrack_entries";

/// The memory of one connection.
pub const MEMORY_PER_CONNTRACK_ENTRY: Metric = Metric {
    key: "memory_per_conntrack_entry",
    title: "Memory of a connection",
    unit: Unit::Bytes,
    reference: "Lencse and Shima 2023, Table V",
    higher_is_better: false,
    definition: "The memory in use with all connections beyond that after their removal, divided by their number.",
    gives: Some(Gives::MemoryOfConnection),
    ..Metric::USUAL
};

/// A net time below this many spreads of the empty table is unresolved.
const RESOLVED: u64 = 5;

/// Measures the tear-down rate once, in connections per second, with medians of times as parts. It
/// is a lower bound if the times are below resolution.
///
/// # Errors
/// [`TrialError::Phase1`] if a connection of the sample does not answer.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let Emptying { fills, empty } = *context.keys.get();
    let options = TrialOptions { tear_down: Some(TearDown { empty }), ..TrialOptions::default() };
    let (mut result, observed) = filled(context, options, fills, trials, watch)?;
    let Some(last) = observed.last() else { return Ok(result) };
    result.observed = last.clone();
    let emptied: Option<Vec<EmptyingTimes>> = observed.into_iter().map(|observed| observed.emptied).collect();
    let emptied = emptied.ok_or_else(|| TrialError::Tester("the table was not emptied after the trial".to_owned()))?;
    of_times(context.connections, &emptied, result)
}

fn of_times(connections: Count, all: &[EmptyingTimes], mut result: SearchResult) -> Result<SearchResult, TrialError> {
    let mut full: Vec<u64> = all.iter().map(|emptied| emptied.full.0).collect();
    let mut empty: Vec<u64> = all.iter().flat_map(|emptied| &emptied.empty).map(|time| time.0).collect();
    full.sort_unstable();
    empty.sort_unstable();
    let middle = |sorted: &[u64]| median(sorted).unwrap_or(0.0).round() as u64;
    let (of_full, of_empty) = (middle(&full), middle(&empty));
    let spread = empty.last().unwrap_or(&0) - empty.first().unwrap_or(&0);
    let net = of_full.saturating_sub(of_empty);
    if of_full < of_empty || net + spread == 0 {
        return Err(TrialError::NotMeasurable(format!(
            "the full table took {} to empty, and the empty one {} ({} to {}): the connections took no measurable time; use more connections",
            number::duration(of_full),
            number::duration(of_empty),
            number::duration(*empty.first().unwrap_or(&0)),
            number::duration(*empty.last().unwrap_or(&0)),
        )));
    }
    let is_resolved = net > 0 && net >= spread.saturating_mul(RESOLVED);
    result.parts = BTreeMap::from([
        ("filled_table_deletion_time".to_owned(), of_full.cast_signed()),
        ("empty_table_deletion_time".to_owned(), of_empty.cast_signed()),
        ("net_deletion_time".to_owned(), of_full.cast_signed() - of_empty.cast_signed()),
    ]);
    // An unresolved net time is at most one spread longer.
    let at_most = if is_resolved { net } else { net.saturating_add(spread) };
    result.rate = Rate::of(connections, Nanos(at_most));
    result.kind = if is_resolved { ResultKind::Observed } else { ResultKind::AtUpperLimit };
    result.evidence.below_resolution =
        (!is_resolved).then_some(BelowResolution { net: Nanos(net), spread: Nanos(spread) });
    Ok(result)
}

/// Measures the memory of one connection once, in bytes, with that of all connections and of the hash table as parts.
///
/// # Errors
/// The errors of [`search`]; [`TrialError::NotMeasurable`] if the fills show no memory that emptying frees.
fn memory(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let options = TrialOptions { memory: true, ..TrialOptions::default() };
    let (result, mut observed) = filled(context, options, context.keys.get::<Filling>().fills, trials, watch)?;
    let read: Option<Vec<TableMemory>> = observed.iter().map(|observed| observed.memory.clone()).collect();
    let Some(observed) = observed.pop() else { return Ok(result) };
    let read = read.ok_or_else(|| TrialError::NotMeasurable("this device does not report its memory".to_owned()))?;
    of_memory(&read, SearchResult { observed, ..result })
}

fn of_memory(read: &[TableMemory], mut result: SearchResult) -> Result<SearchResult, TrialError> {
    let readings: Vec<[u64; 2]> = read.iter().map(|read| [read.filled, read.emptied]).collect();
    let (Some(Fills { used, growth }), Some(last)) = (Fills::of(&readings), read.last()) else {
        return Err(TrialError::Tester("the memory of a connection needs at least two fills".to_owned()));
    };
    let [least, most] = growth.ends().map(|bytes| bytes.round() as u64);
    let (fills, entries) = (read.len() as u64, last.entries);
    let leak = Leak { bytes: growth.value.round() as u64, least, most, fills, entries };
    let leak = growth.is_positive().then_some(leak);
    if !used.is_positive() || entries == 0 {
        let seen = if let Some(leak) = leak {
            format!("{}, and did not fall after `clear`", in_words(&leak))
        } else {
            let [least, most] = used.ends().map(number::grouped_f64);
            let fills = format!("{fills} fills of {}", number::plural(entries, "connection"));
            format!(
                "does not separate the connections from other memory: {fills} show {least} to {most} bytes; use more \
                 connections, and let nothing else change that memory"
            )
        };
        return Err(TrialError::NotMeasurable(format!("the memory in use ({}) {seen}", last.source)));
    }
    let of_all = used.value.round() as u64;
    let each = |bytes: u64, of: Count| bytes.saturating_add(of / 2) / of.max(1);
    let mut parts = BTreeMap::from([("memory_conntrack_entries".to_owned(), of_all.cast_signed())]);
    if let Some(buckets) = last.buckets {
        parts.insert("memory_hash_table".to_owned(), buckets.bytes.cast_signed());
        parts.insert("memory_per_hash_bucket".to_owned(), each(buckets.bytes, buckets.count).cast_signed());
    }
    result.evidence.leak = leak;
    Ok(SearchResult { rate: Rate(each(of_all, entries)), kind: ResultKind::Observed, parts, ..result })
}

fn in_words(leak: &Leak) -> String {
    let [bytes, least, most, each] =
        [leak.bytes, leak.least, leak.most, leak.bytes / leak.entries.max(1)].map(number::grouped);
    format!("grew by {bytes} bytes ({least} to {most}) with each of {} fills, {each} bytes a connection", leak.fills)
}

fn leak_of_most<'a>(repetitions: &[Repetition<'a>]) -> Option<&'a Leak> {
    let leaks: Vec<&Leak> = repetitions.iter().filter_map(|of| of.evidence.leak.as_ref()).collect();
    leaks.iter().max_by_key(|leak| leak.bytes).filter(|_| leaks.len() * 2 > repetitions.len()).copied()
}

/// Memory that the removal of connections did not free.
fn leaks(results: &Results<'_>) -> Vec<String> {
    let largest = |result: &&MetricResult<'_>| {
        let leak = in_words(leak_of_most(&result.repetitions)?);
        Some(format!("The memory in use of the device ({}) {leak}, which `clear` does not free.", result.place))
    };
    results.of(&[MEMORY_PER_CONNTRACK_ENTRY.key]).iter().filter_map(largest).collect()
}

/// Fills the table `times` times; each trial then sends reverse frames on a sample and performs the actions of
/// `options`. Returns the result, and the observations of each trial; none if tester or host invalidated a trial.
fn filled(
    context: &Context<'_>,
    options: TrialOptions,
    times: u32,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<(SearchResult, Vec<Observed>), TrialError> {
    let phase2 = context.connected("without connections there is nothing to remove")?;
    // Tolerate no loss: every connection must exist.
    let settings = SearchSettings { verify: None, criteria: Criteria::default(), ..context.settings.clone() };
    let spec = TrialSpec { options, ..sample(&data_trial(&settings, Some(phase2))?) };
    let rate = phase2.phase1_rate;
    let mut decider = Decider::new(trials, &settings);
    let (mut result, mut observed) = (SearchResult::empty(), Vec::new());
    for left in (1..=times).rev() {
        watch(&Progress { lo: rate, hi: rate, rate, steps_left: left });
        let judgement = decider.decide(&spec, &probe(&spec), Patience::Repeat)?;
        result.note(spec.rate, &judgement);
        let outcome = &judgement.last().outcome;
        match judgement.decision {
            Decision::Pass => observed.push(outcome.observed.clone()),
            Decision::TesterBound(reason) | Decision::HostBound(reason) => {
                return Ok((result.nothing_measured(reason), Vec::new()));
            }
            Decision::Fail(_) => {
                return Err(TrialError::Phase1(witness::unanswered(&spec, outcome, "lower phase1-rate")));
            }
        }
    }
    Ok((result, observed))
}

fn section(results: &Results<'_>) -> Option<Section> {
    let results = results.of(&[CONN_TEAR_DOWN_RATE.key]);
    let rows = [
        line("table is emptied by", &results, |r| last(r).map(|emptied| emptied.how.clone())),
        line("times are of the clock of the", &results, |r| last(r).map(|emptied| emptied.clock.clone())),
        line("entries, last repetition", &results, |r| last(r)?.entries.map(Quantity::count)),
        line("times of the empty table, all repetitions", &results, empty_times),
        line("below resolution", &results, below_resolution),
    ];
    section_of(
        &results,
        CONN_TEAR_DOWN_RATE.title,
        "The net time is that to empty the full table without that to empty an empty one of the same size. It is resolved if it \
                is at least five times the spread of the latter; otherwise the rate is a lower bound. Rates are comparable only \
                between equal commands.",
        |named| Section {
            tables: vec![Table::new("Times to empty the table", "tear-down", names(&results)).with_parameters(rows)],
            ..named
        },
    )
}

fn last<'a>(result: &MetricResult<'a>) -> Option<&'a EmptyingTimes> {
    result.observed(|observed| observed.emptied.as_ref()).next_back()
}

fn empty_times(result: &MetricResult<'_>) -> Option<String> {
    let all: Vec<Nanos> =
        result.observed(|observed| observed.emptied.as_ref()).flat_map(|emptied| &emptied.empty).copied().collect();
    let (least, most) = (all.iter().min()?, all.iter().max()?);
    Some(format!("{} to {}", number::duration(least.0), number::duration(most.0)))
}

fn below_resolution(result: &MetricResult<'_>) -> String {
    let below = result.repetitions.iter().filter(|r| r.evidence.below_resolution.is_some()).count();
    if below == 0 { "no".to_owned() } else { format!("in {below} of {} repetitions", result.repetitions.len()) }
}

/// One device, whose points differ in their connections only, and the line through the medians.
struct Fit<'a> {
    series: &'a str,
    numbers: Vec<u64>,
    line: Line,
}

/// The section of all devices with two numbers of connections or more.
fn memory_section(results: &Results<'_>) -> Option<Section> {
    let fits = fits(results);
    section_of(
        &fits,
        "Memory of a connection by regression",
        "The least squares line through the medians of the memory of all connections, over their numbers. Its slope is \
                the memory of a further connection; R² is 1 if all points are on the line.",
        |named| Section { tables: vec![regression(&fits)], ..named },
    )
}

fn fits<'a>(results: &'a Results<'_>) -> Vec<Fit<'a>> {
    let is_known = |found: &&MetricResult| found.metric == MEMORY_CONNTRACK_ENTRIES && found.median.is_some();
    let all = results.all.iter().filter(is_known);
    let fit = |(_, alike): (_, Vec<&'a MetricResult>)| {
        let points: Vec<(f64, f64)> =
            alike.iter().filter_map(|found| Some((found.connections as f64, found.median?))).collect();
        let numbers = alike.iter().map(|found| found.connections).collect();
        Some(Fit { series: &alike[0].series_name, numbers, line: Line::through(&points)? })
    };
    document::grouped_by(all, |found| found.series).into_iter().filter_map(fit).collect()
}

fn regression(fits: &[Fit<'_>]) -> Table {
    let numbers = |fit: &Fit<'_>| fit.numbers.iter().map(|n| number::grouped(*n)).collect::<Vec<_>>().join("; ");
    let line = |label: &str, form: Form, of: fn(&Line) -> f64| {
        row(label, fits.iter().map(|fit| Quantity::new(of(&fit.line), form)))
    };
    Table::new("Memory of a further connection", "device", fits.iter().map(|fit| fit.series)).with_parameters([
        row("connections", fits.iter().map(numbers)),
        line("slope, bytes per connection", Form::Digits(4, ""), |line| line.slope),
        line("intercept, bytes", Form::Digits(4, ""), |line| line.intercept),
        line("R²", Form::Decimals(4, ""), |line| line.r_squared),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::search::Evidence;

    #[test]
    fn a_leak_is_one_of_most_repetitions() {
        let leak = Leak { bytes: 8_000_000, least: 7_000_000, most: 9_000_000, fills: 3, entries: 100_000 };
        let [some, none] = [Some(leak), None].map(|leak| Evidence { leak, ..Evidence::default() });
        let observed = &Observed::default();
        for (leaking, of, is_said) in [(0, 1, false), (2, 4, false), (2, 5, false), (1, 1, true), (3, 5, true)] {
            let of = (0..of).map(|at| if at < leaking { &some } else { &none });
            let all: Vec<_> = of.map(|evidence| Repetition { observed, evidence, trace: &[] }).collect();
            assert_eq!(leak_of_most(&all).is_some(), is_said, "{leaking} of {}", all.len());
        }
    }

    /// Microseconds of a table with 1,000 connections and of empty ones, and connections per second.
    #[test]
    fn no_time_of_the_connections_is_no_rate() {
        let table = [
            (3_000, [3_250, 3_310], None, "below zero"),
            (3_000, [3_000, 3_000], None, "no time at all"),
            (3_100, [2_900, 3_100], Some((3_333_333, ResultKind::AtUpperLimit)), "below resolution"),
            (4_000, [2_900, 3_100], Some((1_000_000, ResultKind::Observed)), "resolved"),
        ];
        for (full, empty, expected, name) in table {
            let times = EmptyingTimes {
                full: Nanos(full * 1_000),
                empty: empty.map(|time| Nanos(time * 1_000)).to_vec(),
                ..EmptyingTimes::default()
            };
            let found = of_times(1_000, &[times], SearchResult::empty());
            assert_eq!(found.ok().map(|result| (result.rate.0, result.kind)), expected, "{name}");
        }
    }
}
