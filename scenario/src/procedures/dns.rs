//! Parameters of trials of DNS queries (RFC 8219, section 9; DNS load).

use crate::Scenario;
use key::kind::{duration, maybe, number, share_or_none};
use key::quantity::show_duration;
use key::{computed, or};
use method::trial::Queries;
use method::{Count, Nanos, Ratio};
use procedure::metric::{DNS64_RESOLUTION_RATE, is_of_queries};

/// Source ports of each thread, where neither the file nor the number of connections gives them: those of published measurements.
const PORTS: u32 = 100;
/// Names that are resolved before a trial with cached queries, at most.
pub const WARM_NAMES: u32 = 1_000;
/// The most source ports of all threads together.
pub const MOST_QUERY_PORTS: u32 = 50_000;
/// The most names of a zone.
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
    /// Returns the source ports of each thread pair at a point with so many connections; 0 for a device that keeps none.
    pub fn ports(&self, connections: Count) -> u32 {
        let of_connections = || (connections / u64::from(self.threads)) as u32;
        self.ports.unwrap_or_else(|| if connections == 0 { PORTS } else { of_connections() })
    }

    /// Returns what the queries of a metric's trials are.
    pub fn queries(&self, metric: &str) -> Queries {
        // An authoritative server has no cache.
        let cached = if metric == DNS64_RESOLUTION_RATE.key { self.cached_ppm } else { 0 };
        Queries { timeout: self.timeout, cached: Ratio::from_ppm(cached.into()) }
    }

    /// Returns the share of the names with an AAAA record, in parts per million: all of them, unless a DNS64 server synthesises the
    /// others.
    pub fn existing_ppm(&self, is_dns64: bool) -> u32 {
        if is_dns64 { self.existing_ppm } else { 1_000_000 }
    }

    /// Queries of a trial for which a zone has enough names.
    fn queries_at_most(&self) -> Count {
        let warm = if self.cached_ppm == 0 { 0 } else { WARM_NAMES.min(self.names / 2) };
        let fresh = u64::from(self.names - warm);
        match 1_000_000 - self.cached_ppm {
            0 => Count::MAX,
            ppm => fresh.saturating_mul(1_000_000) / u64::from(ppm),
        }
    }
}

impl Scenario {
    /// Whether DNS queries are sent in place of test frames.
    pub fn sends_queries(&self) -> bool {
        self.measure.metrics.iter().any(|key| is_of_queries(key))
    }

    /// The highest rate at which the zone has a name for each query of a trial; `None` if names may be asked for again.
    pub(crate) fn rate_of_names(&self) -> Option<Count> {
        let resolves = self.measure.metrics.iter().any(|key| key == DNS64_RESOLUTION_RATE.key);
        if !resolves || self.duts.iter().all(|dut| dut.gets_frames()) {
            return None;
        }
        let rate = u128::from(self.procedures.dns.queries_at_most()) * u128::from(Nanos::SECOND.0)
            / u128::from(self.measure.duration.0);
        Some(Count::try_from(rate).unwrap_or(Count::MAX))
    }

    /// The highest rate at which no source port uses an ID again before the query that had it timed out; `None` without queries.
    pub(crate) fn rate_of_ids(&self) -> Option<Count> {
        let dns = &self.procedures.dns;
        let keeps = self.is_stateful();
        let least = self.sweep.connections.iter().copied().min().filter(|_| keeps).unwrap_or(0);
        let ids = u128::from(dns.ports(least)) * u128::from(dns.threads) * (1 << u16::BITS);
        let rate = ids * u128::from(Nanos::SECOND.0) / u128::from(dns.timeout.0.max(1));
        self.sends_queries().then(|| Count::try_from(rate).unwrap_or(Count::MAX).max(1))
    }
}

/// Departures of trials of DNS queries from RFC 8219, one sentence each.
pub(crate) fn departures(scenario: &Scenario) -> Vec<String> {
    let dns = &scenario.procedures.dns;
    let mut departures = Vec::new();
    if scenario.sends_queries() && dns.timeout > Nanos::from_secs(1) {
        let timeout = show_duration(dns.timeout);
        departures.push(format!("answers may take {timeout}, above 1 s (RFC 8219, section 9.2)"));
    }
    departures
}
