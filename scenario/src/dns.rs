//! The rates at which trials of DNS queries have enough names and IDs.

use crate::Scenario;
use method::{Count, Nanos};
use procedure::Sends;
use procedure::dns::Dns;

impl Scenario {
    pub fn sends(&self, what: Sends) -> bool {
        self.measure.metrics.iter().any(|key| self.sent(key) == Some(what))
    }

    pub(crate) fn sent(&self, metric: &str) -> Option<Sends> {
        self.procedures.of(metric).map(|procedure| procedure.sends)
    }

    /// Whether trials of a metric are test frames, with warm-up and popularity.
    pub(crate) fn sends_data(&self, metric: &str) -> bool {
        self.sent(metric).is_none_or(Sends::is_data)
    }

    pub fn is_profiled(&self) -> bool {
        self.measure.metrics.iter().any(|key| self.procedures.of(key).is_some_and(|procedure| procedure.profiles))
    }

    /// Whether DNS queries are sent in place of test frames.
    pub fn sends_queries(&self) -> bool {
        self.sends(Sends::Queries)
    }

    /// Highest rate at which the zone has a name for each query; `None` if names may be asked for again.
    pub(crate) fn rate_of_names(&self) -> Option<Count> {
        if !self.sends_queries() || self.duts.iter().all(|dut| dut.gets_frames()) {
            return None;
        }
        let queries = self.procedures.get::<Dns>().queries_at_most();
        let rate = u128::from(queries) * u128::from(Nanos::SECOND.0) / u128::from(self.measure.duration.0);
        Some(Count::try_from(rate).unwrap_or(Count::MAX))
    }

    /// Highest rate at which no source port uses an ID again before the query that had it timed
    /// out; `None` without queries.
    pub(crate) fn rate_of_ids(&self) -> Option<Count> {
        if !self.sends_queries() {
            return None;
        }
        let dns = self.procedures.get::<Dns>();
        let keeps = self.is_stateful();
        let least = self.sweep.connections.iter().copied().min().filter(|_| keeps).unwrap_or(0);
        let ids = u128::from(dns.ports(least)) * u128::from(dns.threads) * (1 << u16::BITS);
        let rate = ids * u128::from(Nanos::SECOND.0) / u128::from(dns.timeout.0.max(1));
        Some(Count::try_from(rate).unwrap_or(Count::MAX).max(1))
    }
}
