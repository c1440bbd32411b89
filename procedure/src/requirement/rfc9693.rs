//! RFC 9693, of stateful NATs. What it says of phase 2 concerns all metrics that are measured on connections.

use super::Check::{If, Met, Named};
use super::check::{Finding, all, departure, met_if, never, repeated, stateful};
use super::metrics::{CAPACITY, ESTABLISHMENT, OF_CONNECTIONS, OF_DATA, OF_PHASE1, OF_TABLE, TEAR_DOWN, VALIDATED};
use super::{Conditions, Document, defines, must, rfc, should};
use crate::capacity::Capacity;
use key::quantity::show_duration;
use method::Nanos;

fn all_flows(c: &Conditions) -> Finding {
    let subsets = c.phase1.subsets.as_ref();
    let words = subsets.map(|n| format!("the connections are a part of the flows that the ranges give: {n}"));
    stateful(c, departure(words))
}

fn connections_outlive_trials(c: &Conditions) -> Finding {
    let Some(timeout) = c.phase1.timeout else { return Finding::NotApplicable };
    let trial = Nanos(c.phase1.drain.0 + c.trial.start_delay.0 + c.trial.length.0);
    let [timeout_in_words, trial_in_words] = [timeout, trial].map(show_duration);
    let words =
        format!("connections time out after {timeout_in_words}, and a trial lasts {trial_in_words} after phase 1");
    stateful(c, met_if!(timeout > trial, "{words}"))
}

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 9693", "Benchmarking Methodology for Stateful NATxy Gateways", &[
    should("4.1", OF_CONNECTIONS, "Ranges of ports are restricted.", Met("to as many flows as connections")),
    should("4.1", OF_CONNECTIONS, "Source ports are many, destination ports are few.",
        If(|c| stateful(c, met_if!(c.phase1.more_source_ports, "there are more destination ports than source ports")))),
    defines("4.1", OF_DATA, "Phase 1 enumerates all flows of the ranges.", If(all_flows)),
    must("4.2", OF_DATA, "Phase 1 comes before phase 2.", Met("before each trial")),
    should("4.2", OF_DATA, "Its rate is safely below the maximum establishment rate.", Met("0.7 of it")),
    must("4.2", OF_DATA, "The maximum connection establishment rate is measured first.",
        If(|c| stateful(c, met_if!(c.phase1.rate_is_measured, "the rate of phase 1 is given, and no establishment rate is measured before phase 2")))),
    must("4.3", OF_CONNECTIONS, "No connection times out in a trial (section 4.4).", If(connections_outlive_trials)),
    defines("4.4", OF_CONNECTIONS, "Each experiment begins with an empty table.", If(|c| stateful(c, departure(c.phase1.not_empty.clone())))),
    must("4.4", OF_CONNECTIONS, "Port numbers are pseudo-random.", Met("all flows are enumerated in pseudo-random order")),
    should("4.4", ESTABLISHMENT, "Phase 1 enumerates all flows of the ranges.", If(all_flows)),
    defines("4.5", OF_CONNECTIONS, "A rate passes if each frame of phase 1 arrives.",
        If(|c| stateful(c, all("the acceptance of phase 1", c.phase1.acceptance_ppm)))),
    should("4.5", ESTABLISHMENT, "The search is binary.", Met("always")),
    must("4.6", VALIDATED, "Validation uses all four-tuples.", Met("one frame on each")),
    defines("4.7", OF_TABLE, "The Responder updates its state table with what it receives in phase 2.",
        If(|c| stateful(c, met_if!(c.phase1.updates_table || !c.traffic.forward, "phase 2 leaves the Responder's state table as phase 1 filled it")))),
    should("4.7", OF_DATA, "The procedures are those of RFC 8219, section 7.", Met("see there")),
    should("4.8", TEAR_DOWN, "Several numbers of connections are measured.",
        If(|c| stateful(c, met_if!(c.phase1.sizes > 1, "the tear-down has one number of connections")))),
    defines("4.8", TEAR_DOWN, "The connections, divided by the time to empty the table.",
        If(|_| never("the time to empty the empty table is subtracted; both times are reported"))),
    defines("4.9", CAPACITY, "The capacity is searched with validated establishment rates.",
        If(|c| met_if!(c.keys.get::<Capacity>().policy.is_none(), "the capacity is the count of one trial, because the policy of the table is given"))),
    should("4.10", OF_DATA, "The state table is written round robin.", Named("a received frame overwrites the entry of its own connection, whose number is in its tag")),
    should("4.10", OF_DATA, "The state table is read in pseudo-random order; round robin is cheaper.", Met("`responder-order`")),
    should("5", OF_CONNECTIONS, "Series over parameters are measured.", Met("`[sweep]`")),
    should("5.1", OF_CONNECTIONS, "Source ports fixed, destination ports follow from the flows.", Met("the defaults")),
    should("5.2", OF_CONNECTIONS, "1, 2, 4, 8 … cores.", Met("`cores` of `[sweep]`")),
    must("6", OF_CONNECTIONS, "Measurements are executed several times.", If(|c| stateful(c, repeated(c, 2)))),
    must("6", OF_CONNECTIONS, "The number of repetitions is reported.", Met("a row of each table")),
    should("6", OF_CONNECTIONS, "Median, 1st and 99th percentile.", Met("rows of each table")),
    must("6", OF_CONNECTIONS, "All settings that may influence the device are reported.", Met("facts and scenario")),
    should("6", OF_PHASE1, "Computer, CPU, cores, memory type, size and speed, card, cables.", Named("computer type and memory type are not read: write them into `about` of the bed")),
    should("6", OF_CONNECTIONS, "Versions of operating system, kernel and NAT.", Met("facts of the device")),
]);
