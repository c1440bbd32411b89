//! Overload scalability (RFC 8219 section 10.2): the throughput with a few flows, and with all flows, which begin at
//! once (10.2.1) or one after the other (10.2.2). The result is the degradation, in parts per million of the throughput
//! with a few flows.

use crate::metric::{OVERLOAD_ALL, OVERLOAD_DEGRADATION, OVERLOAD_FEW};
use crate::{Procedure, throughput};
use method::search::{Phase2, Progress, ResultKind, SearchResult, SearchSettings};
use method::trial::{Ramp, TrialError, TrialOptions, Trials};
use method::units::{Count, Nanos, Rate};
use std::collections::BTreeMap;

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "overload-scalability",
    title: "Overload scalability",
    reference: "RFC 8219 section 10.2",
    metrics: &["overload_scalability"],
    phase1: false,
    stateful: true,
    at_throughput: false,
    summary: "a search for the throughput with one flow, or with a few, and one with all flows",
};

/// The flows of both searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Connections of the first search.
    pub few: Count,
    /// Connections of the second search, and phase 1 of both.
    pub all: Phase2,
    /// Time between the beginnings of two flows of the second search; none: all begin at once.
    pub interval: Option<Nanos>,
}

/// Measures the throughput with a few connections and with all, in this order.
///
/// # Errors
/// As [`throughput::measure`]; [`TrialError::Refused`] unless `few` are less than all.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    Flows { few, all, interval }: Flows,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    if few == 0 || few >= all.connections {
        return Err(TrialError::Refused(format!(
            "overload scalability compares fewer flows with more: {few} are not fewer than {}",
            all.connections
        )));
    }
    let mut search = |connections: Count, ramp: Option<Ramp>| {
        let options = TrialOptions { ramp, ..settings.options.clone() };
        let settings = SearchSettings { options, ..settings.clone() };
        let mut found = throughput::measure(trials, &settings, Some(Phase2 { connections, ..all }), watch)?;
        found.trace.iter_mut().for_each(|step| step.connections = Some(connections));
        Ok(found)
    };
    let first = search(few, None)?;
    let ramp = interval.map(|interval| Ramp { flows: all.connections, interval });
    Ok(compare(first, search(all.connections, ramp)?))
}

/// The result of both searches. Only two exact rates have a degradation; one between bounds would not be that of the
/// device.
fn compare(first: SearchResult, second: SearchResult) -> SearchResult {
    let signed = |rate: Rate| i64::try_from(rate.0).unwrap_or(i64::MAX);
    let mut parts = BTreeMap::new();
    let is_exact = [&first, &second].iter().all(|found| found.kind == ResultKind::Exact);
    if is_exact {
        parts.insert(OVERLOAD_FEW.key.to_owned(), signed(first.rate));
        parts.insert(OVERLOAD_ALL.key.to_owned(), signed(second.rate));
        parts.insert(OVERLOAD_DEGRADATION.key.to_owned(), degradation_ppm(first.rate, second.rate));
    }
    let mut trace = first.trace;
    trace.extend(second.trace);
    SearchResult {
        kind: if is_exact { ResultKind::Observed } else { ResultKind::NothingMeasured },
        parts,
        trace,
        error: first.error.max(second.error),
        one_sided: first.one_sided || second.one_sided,
        closed_loop: first.closed_loop || second.closed_loop,
        trials: first.trials + second.trials,
        invalid_repeats: first.invalid_repeats + second.invalid_repeats,
        spoiled_by_host: first.spoiled_by_host + second.spoiled_by_host,
        phase1_lost: first.phase1_lost.saturating_add(second.phase1_lost),
        table_changes: first.table_changes + second.table_changes,
        tester_limit: first.tester_limit.or(second.tester_limit),
        strict: None,
        ..second
    }
}

/// Returns 100 × (X1 − Xn) / X1 of RFC 8219, section 10.2.1, in parts per million: above 0 if the device forwards less
/// with all flows.
fn degradation_ppm(few: Rate, all: Rate) -> i64 {
    let (few, all) = (i128::from(few.0.max(1)), i128::from(all.0));
    ((few - all) * 1_000_000 / few) as i64
}
