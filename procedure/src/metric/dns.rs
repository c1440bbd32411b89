//! Metrics of DNS.

use super::{Metric, Origin, Unit};

/// Resolution performance of a DNS64 server.
pub const DNS64_RESOLUTION_RATE: Metric = Metric {
    key: "dns64_resolution_rate",
    title: "DNS64 resolution performance",
    unit: Unit::QueriesPerSecond,
    reference: "RFC 8219 section 9",
    origin: Origin::Measured { repetitions: 20 },
    higher_is_better: true,
    definition: "The highest rate of AAAA queries at which the DNS64 server answers every query right within the time-out of \
                 its own query.",
};

/// DNS queries through a device.
pub const DNS_QUERIES_RESOLVED: Metric = Metric {
    key: "dns_queries_resolved",
    title: "DNS load: queries resolved",
    unit: Unit::QueriesPerSecond,
    reference: "draft-lencse-v6ops-transition-scalability-05, section 5",
    origin: Origin::Measured { repetitions: 10 },
    higher_is_better: true,
    definition: "The highest rate of AAAA queries through the device to an authoritative server at which every query has a right \
                 answer within its time-out. It mixes establishment rate and throughput: it is no throughput of RFC 8219.",
};

/// Whether the metric with this key is measured with DNS queries in place of test frames.
pub fn is_of_queries(key: &str) -> bool {
    [DNS64_RESOLUTION_RATE.key, DNS_QUERIES_RESOLVED.key].contains(&key)
}
