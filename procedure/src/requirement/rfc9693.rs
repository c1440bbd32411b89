//! RFC 9693, of stateful NATs. What it says of phase 2 concerns all metrics that are measured on connections.

use super::Check::{If, Met, Named};
use super::{Conditions, Document, Finding, OF_DATA, defines, must, should};
use crate::Metric;
use crate::back_to_back::BACK_TO_BACK_FRAMES;
use crate::capacity::CONN_TABLE_CAPACITY;
use crate::delay::{IPDV, LATENCY, PDV};
use crate::disruption::RESET;
use crate::establishment::{MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED};
use crate::frame_loss::FRAME_LOSS_RATE;
use crate::overload::OVERLOAD_SCALABILITY;
use crate::recovery::SYSTEM_RECOVERY_TIME;
use crate::tear_down::CONN_TEAR_DOWN_RATE;
use crate::throughput::THROUGHPUT;
use key::quantity::{show_duration, show_share};
use method::Nanos;

const ESTABLISHMENT: &[Metric] = &[MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED];
const VALIDATED: &[Metric] = &[MAX_CONN_EST_RATE_VALIDATED, CONN_TABLE_CAPACITY];
const CAPACITY: &[Metric] = &[CONN_TABLE_CAPACITY];
const TEAR_DOWN: &[Metric] = &[CONN_TEAR_DOWN_RATE];
/// Metrics of phase 1.
const OF_PHASE1: &[Metric] =
    &[MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED, CONN_TABLE_CAPACITY, CONN_TEAR_DOWN_RATE];
/// Metrics of phase 2 whose trials leave the table to the scenario. The others update it.
const OF_TABLE: &[Metric] =
    &[THROUGHPUT, OVERLOAD_SCALABILITY, FRAME_LOSS_RATE, LATENCY, PDV, IPDV, BACK_TO_BACK_FRAMES, SYSTEM_RECOVERY_TIME];
/// Metrics of either phase.
const OF_CONNECTIONS: &[Metric] = &[
    MAX_CONN_EST_RATE,
    MAX_CONN_EST_RATE_VALIDATED,
    CONN_TABLE_CAPACITY,
    CONN_TEAR_DOWN_RATE,
    THROUGHPUT,
    OVERLOAD_SCALABILITY,
    FRAME_LOSS_RATE,
    LATENCY,
    PDV,
    IPDV,
    BACK_TO_BACK_FRAMES,
    SYSTEM_RECOVERY_TIME,
    RESET,
];

fn stateful(c: &Conditions, met: bool, words: impl FnOnce() -> String) -> Finding {
    Finding::where_it_applies(c.device.stateful, met, words)
}

fn enumerated(c: &Conditions) -> Finding {
    let subsets = c.phase1.subsets.as_ref();
    stateful(c, subsets.is_none(), || {
        format!(
            "the connections are a part of the flows that the ranges give: {}",
            subsets.cloned().unwrap_or_default()
        )
    })
}

/// The RFC.
#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = Document {
    name: "RFC 9693",
    title: "Benchmarking Methodology for Stateful NATxy Gateways",
    is_rfc: true,
    requirements: &[
        should("4.1", OF_CONNECTIONS, "Ranges of ports are restricted.", Met("to as many flows as connections")),
        should(
            "4.1",
            OF_CONNECTIONS,
            "Source ports are many, destination ports are few.",
            If(|c| {
                stateful(c, c.phase1.more_source_ports, || {
                    "there are more destination ports than source ports".to_owned()
                })
            }),
        ),
        defines("4.1", OF_DATA, "Phase 1 enumerates all flows of the ranges.", If(enumerated)),
        must("4.2", OF_DATA, "Phase 1 comes before phase 2.", Met("before each trial")),
        should("4.2", OF_DATA, "Its rate is safely below the maximum establishment rate.", Met("0.7 of it")),
        must(
            "4.2",
            OF_DATA,
            "The maximum connection establishment rate is measured first.",
            If(|c| {
                stateful(c, c.phase1.rate_is_measured, || {
                    "the rate of phase 1 is given, and no establishment rate is measured before phase 2".to_owned()
                })
            }),
        ),
        must(
            "4.3",
            OF_CONNECTIONS,
            "No connection times out in a trial (section 4.4).",
            If(|c| {
                let Some(timeout) = c.phase1.timeout else { return Finding::NotApplicable };
                let trial = Nanos(c.phase1.drain.0 + c.trial.start_delay.0 + c.trial.length.0);
                stateful(c, timeout > trial, || {
                    format!(
                        "connections time out after {}, and a trial lasts {} after phase 1",
                        show_duration(timeout),
                        show_duration(trial)
                    )
                })
            }),
        ),
        defines(
            "4.4",
            OF_CONNECTIONS,
            "Each experiment begins with an empty table.",
            If(|c| {
                Finding::where_it_applies(c.device.stateful, c.phase1.not_empty.is_none(), || {
                    c.phase1.not_empty.clone().unwrap_or_default()
                })
            }),
        ),
        must("4.4", OF_CONNECTIONS, "Port numbers are pseudo-random.", Met("all flows are enumerated in pseudo-random order")),
        should("4.4", ESTABLISHMENT, "Phase 1 enumerates all flows of the ranges.", If(enumerated)),
        defines(
            "4.5",
            OF_CONNECTIONS,
            "A rate passes if each frame of phase 1 arrives.",
            If(|c| {
                let share = c.phase1.acceptance_ppm;
                stateful(c, share >= 1_000_000, || {
                    format!("the acceptance of phase 1 is {}, below 100 %", show_share(share))
                })
            }),
        ),
        should("4.5", ESTABLISHMENT, "The search is binary.", Met("always")),
        must("4.6", VALIDATED, "Validation uses all four-tuples.", Met("one frame on each")),
        defines(
            "4.7",
            OF_TABLE,
            "The Responder updates its state table with what it receives in phase 2.",
            If(|c| {
                stateful(c, c.phase1.updates_table || !c.traffic.forward, || {
                    "phase 2 leaves the Responder's state table as phase 1 filled it".to_owned()
                })
            }),
        ),
        should("4.7", OF_DATA, "The procedures are those of RFC 8219, section 7.", Met("see there")),
        should(
            "4.8",
            TEAR_DOWN,
            "Several numbers of connections are measured.",
            If(|c| stateful(c, c.phase1.sizes > 1, || "the tear-down has one number of connections".to_owned())),
        ),
        defines(
            "4.8",
            TEAR_DOWN,
            "The connections, divided by the time to empty the table.",
            If(|_| {
                Finding::NotMet("the time to empty the empty table is subtracted; both times are reported".to_owned())
            }),
        ),
        defines(
            "4.9",
            CAPACITY,
            "The capacity is searched with validated establishment rates.",
            If(|c| {
                Finding::met_if(!c.specifics.policy_is_given, || {
                    "the capacity is the count of one trial, because the policy of the table is given".to_owned()
                })
            }),
        ),
        should("4.10", OF_DATA, "The state table is written round robin.", Named("a received frame overwrites the entry of its own connection, whose number is in its tag")),
        should("4.10", OF_DATA, "The state table is read in pseudo-random order; round robin is cheaper.", Met("`responder-order`")),
        should("5", OF_CONNECTIONS, "Series over parameters are measured.", Met("`[sweep]`")),
        should("5.1", OF_CONNECTIONS, "Source ports fixed, destination ports follow from the flows.", Met("the defaults")),
        should("5.2", OF_CONNECTIONS, "1, 2, 4, 8 … cores.", Met("`cores` of `[sweep]`")),
        must(
            "6",
            OF_CONNECTIONS,
            "Measurements are executed several times.",
            If(|c| {
                let fewer = c.fewer_than(2);
                stateful(c, fewer.is_none(), || fewer.unwrap_or_default())
            }),
        ),
        must("6", OF_CONNECTIONS, "The number of repetitions is reported.", Met("a row of each table")),
        should("6", OF_CONNECTIONS, "Median, 1st and 99th percentile.", Met("rows of each table")),
        must("6", OF_CONNECTIONS, "All settings that may influence the device are reported.", Met("facts and scenario")),
        should("6", OF_PHASE1, "Computer, CPU, cores, memory type, size and speed, card, cables.", Named("computer type and memory type are not read: write them into `about` of the bed")),
        should("6", OF_CONNECTIONS, "Versions of operating system, kernel and NAT.", Met("facts of the device")),
    ],
};
