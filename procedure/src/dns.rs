//! DNS64 resolution performance (RFC 8219 section 9) and DNS load: the highest rate of queries at
//! which all are answered correctly and in time. A frame is a query, Left to Right.

use crate::prelude::*;
use document::{Row, number};
use key::kind::{number, share_or_none};
use method::search::probe;
use method::trial::{Answers, Direction, Observed, Queries};

/// Entry of DNS64.
pub static DNS64_PROCEDURE: Procedure = Procedure {
    key: "dns64",
    summary: "search for the highest rate of AAAA queries that a DNS64 server answers right and in time",
    sends: Sends::Queries,
    tables: &[TABLE],
    search: |context, trials, watch| search(context, context.keys.get::<Dns>().cached_ppm, trials, watch),
    sections: &[section],
    known: &[KnownValue {
        metric: DNS64_RESOLUTION_RATE.key,
        device: "answers 12,345 queries/s",
        truth: Some(12_345),
        error: of_search(12_345),
        point: || KnownPoint::new(KNOWN_KEYS, Truth::new(Rate(12_345), Rate(1))),
    }],
    ..Procedure::of(&DNS64_RESOLUTION_RATE)
};

/// Resolution performance of a DNS64 server.
pub const DNS64_RESOLUTION_RATE: Metric = Metric {
    key: "dns64_resolution_rate",
    title: "DNS64 resolution performance",
    unit: Unit::QueriesPerSecond,
    reference: "RFC 8219 section 9",
    origin: Origin::Measured { repetitions: 20 },
    definition: "The highest rate of AAAA queries at which the DNS64 server answers every query right within the time-out of \
                 its own query.",
    ..Metric::USUAL
};

/// Entry of DNS load.
pub static LOAD_PROCEDURE: Procedure = Procedure {
    key: "dns-load",
    title: "DNS load",
    reference: "draft-lencse-v6ops-transition-scalability-05 section 5",
    summary: "search for the highest rate of DNS queries through a device that are answered right and in time",
    sends: Sends::Queries,
    tables: &[TABLE],
    // An authoritative server has no cache.
    search: |context, trials, watch| search(context, 0, trials, watch),
    known: &[KnownValue {
        metric: DNS_QUERIES_RESOLVED.key,
        device: "lets 54,321 queries/s pass",
        truth: Some(54_321),
        error: of_search(54_321),
        point: || KnownPoint::new(KNOWN_KEYS, Truth::new(Rate(54_321), Rate(1))),
    }],
    ..Procedure::of(&DNS_QUERIES_RESOLVED)
};

/// DNS queries through a device.
pub const DNS_QUERIES_RESOLVED: Metric = Metric {
    key: "dns_queries_resolved",
    title: "DNS load: queries resolved",
    unit: Unit::QueriesPerSecond,
    reference: "draft-lencse-v6ops-transition-scalability-05, section 5",
    definition: "The highest rate of AAAA queries through the device to an authoritative server at which every query has a right \
                 answer within its time-out. It mixes establishment rate and throughput: it is no throughput of RFC 8219.",
    ..Metric::USUAL
};

const TABLE: KeyTable = KeyTable::of::<Dns>("dns");

/// Source ports of each thread by default, as in published measurements.
const PORTS: u32 = 100;
/// Most names that are resolved before a trial with cached queries.
pub const WARM_NAMES: u32 = 1_000;
/// Most source ports of all threads together.
pub const MOST_QUERY_PORTS: u32 = 50_000;
/// Most names of a zone.
pub const MOST_NAMES: u32 = (1 << 24) - 1;

key::table! {
    /// DNS queries in place of test frames: for the DNS64 resolution performance (RFC 8219, section 9) and for DNS load. The metrics of
    /// other tables are measured in another scenario.
    pub struct Dns {
        /// Thread pairs of the client; one of a pair sends, the other receives.
        threads: u32 = "threads", number(1..=256), or("1");
        /// Source ports of each thread pair.
        ports: Option<u32> = "ports", maybe(number(1..=50_000)), computed("`connections` / `threads` of a device that keeps connections, otherwise 100");
        /// An answer counts if it arrives this long after its own query, or earlier; RFC 8219 allows at most 1 s.
        timeout: Nanos = "timeout", duration(Nanos::from_millis(1)..=Nanos::from_secs(10)), or("1 s").conforms();
        /// Names of the zone. Each is asked for once in a trial of a DNS64 server, so they limit its rate.
        names: u32 = "names", number(2..=16_777_215), or("1M");
        /// Share of the queries for names that the DNS64 server has in its cache (RFC 8219, section 9.2.3).
        cached_ppm: u32 = "cached", share_or_none(), or("0").conforms();
        /// Share of the names that have an AAAA record of their own, so that the DNS64 server need not synthesise one (RFC 8219,
        /// section 9.2.3).
        existing_ppm: u32 = "existing-aaaa", share_or_none(), or("0").conforms();
    }
}

impl Dns {
    /// Source ports of each thread pair at a point; 0 without connections.
    pub fn ports(&self, connections: Count) -> u32 {
        let of_connections = || (connections / u64::from(self.threads)) as u32;
        self.ports.unwrap_or_else(|| if connections == 0 { PORTS } else { of_connections() })
    }

    /// Share of the names with an AAAA record, in parts per million: all, unless a DNS64 server
    /// synthesises the others.
    pub fn existing_ppm(&self, is_dns64: bool) -> u32 {
        if is_dns64 { self.existing_ppm } else { 1_000_000 }
    }

    /// Queries for which a zone has enough names.
    pub fn queries_at_most(&self) -> Count {
        let warm = if self.cached_ppm == 0 { 0 } else { WARM_NAMES.min(self.names / 2) };
        let fresh = u64::from(self.names - warm);
        match 1_000_000 - self.cached_ppm {
            0 => Count::MAX,
            ppm => fresh.saturating_mul(1_000_000) / u64::from(ppm),
        }
    }
}

/// Measures the highest rate of queries, in queries per second. The result has the answers at the
/// lowest rate that failed, which show what limits the device; if none failed, at the rate of the
/// result.
fn search(
    context: &Context<'_>,
    cached_ppm: u32,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<SearchResult, TrialError> {
    // Answers return on the left.
    let settings = &SearchSettings { direction: Direction::Forward, ..context.settings.clone() };
    settings.check()?;
    let queries = Queries { timeout: context.keys.get::<Dns>().timeout, cached: Ratio::from_ppm(cached_ppm.into()) };
    let options = TrialOptions { queries: Some(queries), ..TrialOptions::default() };
    let trial = TrialSpec { options: options.clone(), ..data_trial(settings, None)? };
    let mut decider = Decider::new(trials, settings);
    let mut shown: Option<(Rate, bool, Observed)> = None;
    let decide = |rate: Rate, patience: Patience| {
        let spec = TrialSpec { rate, load: Load::For(settings.duration), ..trial.clone() };
        let probe = TrialSpec { options: options.clone(), ..probe(&spec) };
        let judgement = decider.decide(&spec, &probe, patience)?;
        let failed = matches!(judgement.decision, Decision::Fail(_));
        let is_better = shown.as_ref().is_none_or(|(shown, has_failed, _)| match (failed, has_failed) {
            (true, true) => rate < *shown,
            (false, false) => judgement.decision.passed() && rate > *shown,
            (failed, _) => failed,
        });
        let is_decided = failed || judgement.decision.passed();
        if is_decided && is_better {
            shown = Some((rate, failed, judgement.last().outcome.observed.clone()));
        }
        Ok(judgement)
    };
    let least = Rate::at_least(1, settings.duration);
    let ends = (settings.lo, settings.hi);
    let result =
        binary::search(settings.warm, ends, (least, least), (settings.precision, binary::never), decide, watch)?;
    Ok(SearchResult { observed: shown.map(|(.., observed)| observed).unwrap_or_default(), ..result })
}

fn section(results: &Results<'_>) -> Option<Section> {
    let all = results.of(&[DNS64_RESOLUTION_RATE.key, DNS_QUERIES_RESOLVED.key]);
    section_of(
        &all,
        "DNS",
        "Answers in the trials at the lowest rate that failed, over all repetitions. An answer is valid if it has the right AAAA \
                record and arrives within the time-out of its own query.",
        |named| Section { tables: vec![table(results.keys.get(), &all)], ..named },
    )
}

fn table(dns: &Dns, results: &[&MetricResult<'_>]) -> Table {
    let share = |ppm: u32| Quantity::new(f64::from(ppm) / 10_000.0, Form::Digits(4, " %")).to_string();
    let of_dns64 = |r: &MetricResult<'_>, ppm: u32, other: &str| {
        if r.metric == DNS64_RESOLUTION_RATE.key { share(ppm) } else { other.to_owned() }
    };
    let count = |label: &str, of: fn(&Answers) -> Count| -> Row {
        line(label, results, |r| Quantity::count(answers(r).map(|a| of(&a)).sum()))
    };
    Table::new("DNS queries", "points", names(results)).with_parameters([
        line("thread pairs × source ports", results, |r| format!("{} × {}", dns.threads, dns.ports(r.connections))),
        line("time-out of a query", results, |_| number::duration(dns.timeout.0)),
        line("names of the zone", results, |_| Quantity::count(dns.names.into())),
        line("cached names", results, |r| of_dns64(r, dns.cached_ppm, "no cache")),
        line("names with an AAAA record", results, |r| of_dns64(r, dns.existing_ppm, "100 %")),
        count("valid answers", |a| a.valid),
        count("late", |a| a.late),
        count("none", |a| a.unanswered),
        count("response code other than NOERROR", |a| a.error_codes),
        count("no AAAA record", |a| a.without_record),
        count("wrong address", |a| a.wrong_address),
        count("malformed", |a| a.malformed),
        count("duplicates", |a| a.duplicates),
        line("slowest valid answer", results, slowest),
    ])
}

fn answers(result: &MetricResult<'_>) -> impl Iterator<Item = Answers> {
    result.observed(|observed| observed.answers)
}

fn slowest(result: &MetricResult<'_>) -> Option<String> {
    answers(result).map(|a| a.slowest.0).max().map(number::duration)
}

const KNOWN_KEYS: Dns =
    Dns { threads: 1, ports: None, timeout: Nanos::SECOND, names: MOST_NAMES, cached_ppm: 0, existing_ppm: 0 };
