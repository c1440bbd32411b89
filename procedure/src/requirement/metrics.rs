//! Lists of metrics with equal requirements.

use crate::Metric;
use crate::back_to_back::BACK_TO_BACK_FRAMES;
use crate::capacity::CONN_TABLE_CAPACITY;
use crate::churn::CHURN_RATE;
use crate::delay::{IPDV, LATENCY, PDV};
use crate::disruption::{FAILOVER, RESET};
use crate::dns::{DNS_QUERIES_RESOLVED, DNS64_RESOLUTION_RATE};
use crate::establishment::{MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED};
use crate::frame_loss::FRAME_LOSS_RATE;
use crate::overload::OVERLOAD_SCALABILITY;
use crate::recovery::SYSTEM_RECOVERY_TIME;
use crate::tcp::{MAX_TCP_CONN_RATE, TCP_THROUGHPUT};
use crate::tear_down::{CONN_TEAR_DOWN_RATE, MEMORY_PER_CONNTRACK_ENTRY};
use crate::throughput::{IPV4_FORWARDING_THROUGHPUT, THROUGHPUT};

/// The metrics of which RFCs report the average (RFC 2544, sections 26.2, 26.4 and 26.5; RFC 6201, section 1.4; RFC 9004, section
/// 6.4).
pub const AVERAGED: &[Metric] = &[LATENCY, BACK_TO_BACK_FRAMES, SYSTEM_RECOVERY_TIME, RESET];

/// Every metric, also those of procedures that these lists do not know.
pub(super) const EVERY: &[Metric] = &[Metric::USUAL];

pub(super) const LOSS: &[Metric] = &[FRAME_LOSS_RATE];
pub(super) const DELAY: &[Metric] = &[LATENCY];
pub(super) const PDVS: &[Metric] = &[PDV];
pub(super) const IPDVS: &[Metric] = &[IPDV];
pub(super) const VARIATIONS: &[Metric] = &[PDV, IPDV];
pub(super) const DELAYS: &[Metric] = &[LATENCY, PDV, IPDV];
pub(super) const BURSTS: &[Metric] = &[BACK_TO_BACK_FRAMES];
pub(super) const RECOVERY: &[Metric] = &[SYSTEM_RECOVERY_TIME];
pub(super) const RESETS: &[Metric] = &[RESET];
pub(super) const OVERLOAD: &[Metric] = &[OVERLOAD_SCALABILITY];
pub(super) const DNS64: &[Metric] = &[DNS64_RESOLUTION_RATE];
pub(super) const ESTABLISHMENT: &[Metric] = &[MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED];
pub(super) const VALIDATED: &[Metric] = &[MAX_CONN_EST_RATE_VALIDATED, CONN_TABLE_CAPACITY];
pub(super) const CAPACITY: &[Metric] = &[CONN_TABLE_CAPACITY];
pub(super) const TEAR_DOWN: &[Metric] = &[CONN_TEAR_DOWN_RATE];

pub(super) const SEARCHED: &[Metric] = &[THROUGHPUT, IPV4_FORWARDING_THROUGHPUT, OVERLOAD_SCALABILITY];
/// Throughputs and the loss at given loads.
pub(super) const AT_LOADS: &[Metric] = &concat::<4>(SEARCHED, LOSS);
/// Whatever is measured at several frame sizes.
pub(super) const AT_SIZES: &[Metric] =
    &concat::<9>(AT_LOADS, &[LATENCY, PDV, IPDV, BACK_TO_BACK_FRAMES, SYSTEM_RECOVERY_TIME]);
/// The metrics of RFC 2544, with those that later RFCs define for the same trials: in phase 2 or stateless.
pub(super) const OF_DATA: &[Metric] = &concat::<10>(AT_SIZES, RESETS);
/// Metrics of phase 1.
pub(super) const OF_PHASE1: &[Metric] =
    &[MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED, CONN_TABLE_CAPACITY, CONN_TEAR_DOWN_RATE];
/// Whatever has trials as of RFC 2544, section 23.
pub(super) const TRIALS: &[Metric] = &concat::<14>(OF_DATA, OF_PHASE1);
/// Metrics of phase 2 whose trials leave the table to the scenario. The others update it.
pub(super) const OF_TABLE: &[Metric] =
    &[THROUGHPUT, OVERLOAD_SCALABILITY, FRAME_LOSS_RATE, LATENCY, PDV, IPDV, BACK_TO_BACK_FRAMES, SYSTEM_RECOVERY_TIME];
/// Metrics of either phase.
pub(super) const OF_CONNECTIONS: &[Metric] = &concat::<13>(&concat::<12>(OF_PHASE1, OF_TABLE), RESETS);
/// The metrics that are measured ten times.
#[rustfmt::skip]
pub(super) const TEN_TIMES: &[Metric] = &[
    THROUGHPUT, IPV4_FORWARDING_THROUGHPUT, MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED, CONN_TABLE_CAPACITY, FRAME_LOSS_RATE,
    CHURN_RATE, MAX_TCP_CONN_RATE, TCP_THROUGHPUT, SYSTEM_RECOVERY_TIME, CONN_TEAR_DOWN_RATE, MEMORY_PER_CONNTRACK_ENTRY, RESET,
    FAILOVER, OVERLOAD_SCALABILITY, DNS_QUERIES_RESOLVED,
];

/// Joins two lists with N metrics in sum.
const fn concat<const N: usize>(first: &[Metric], second: &[Metric]) -> [Metric; N] {
    assert!(first.len() + second.len() == N);
    let mut all = [Metric::USUAL; N];
    let mut n = 0;
    while n < N {
        all[n] = if n < first.len() { first[n] } else { second[n - first.len()] };
        n += 1;
    }
    all
}
