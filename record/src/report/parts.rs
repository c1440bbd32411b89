//! Metrics with parts, such as latency in two directions: each part becomes a metric of its own, so that tables, CSV and
//! figures need not know about parts.

use crate::folder::Outcome;
use crate::plan::{Measurement, Plan};
use method::ResultKind;
use procedure::metric::{Unit, by_key};

/// Returns plan and outcomes with a measurement for each part. A metric without a value of its own is left out.
pub(super) fn spread(plan: &Plan, outcomes: &[Outcome]) -> (Vec<Measurement>, Vec<Outcome>) {
    let with_parts: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.result.parts.is_empty()).collect();
    let planned = plan.measurements.iter().flat_map(|m| {
        let keys = own(&m.metric).into_iter().chain(parts(m, &with_parts));
        keys.map(|metric| Measurement { metric, ..m.clone() })
    });
    let found = outcomes.iter().flat_map(|outcome| {
        let keys = own(&outcome.measurement.metric).into_iter().chain(outcome.result.parts.keys().cloned());
        keys.map(|metric| {
            // The strict result is a value of the metric that is searched, and of no part.
            let strict = outcome.result.strict.filter(|_| metric == outcome.measurement.metric);
            let kind = if is_exact(&metric) { ResultKind::Observed } else { outcome.result.kind };
            let result = method::SearchResult { strict, kind, ..outcome.result.clone() };
            let measurement = Measurement { metric, ..outcome.measurement.clone() };
            Outcome { measurement, result, ..outcome.clone() }
        })
    });
    (planned.collect(), found.collect())
}

/// The value of an outcome in the unit of its metric: that of its part, or else of the search.
pub(super) fn value(outcome: &Outcome) -> i64 {
    let of_search = || i64::try_from(outcome.result.rate.0).unwrap_or(i64::MAX);
    outcome.result.parts.get(&outcome.measurement.metric).copied().unwrap_or_else(of_search)
}

/// Whether a part was observed even where its metric is a lower bound: the times behind a tear-down rate, and the connections
/// that survived.
fn is_exact(metric: &str) -> bool {
    by_key(metric).is_some_and(|metric| metric.observed)
}

/// The metric that is measured: for a part, that of which it is a part.
pub(super) fn measured(metric: &str) -> &str {
    if let Some(known) = by_key(metric) { known.whole() } else { metric }
}

/// Whether a metric is searched, so that the error of a search is one of its value; not a part of another metric.
pub(crate) fn is_searched(metric: &str) -> bool {
    measured(metric) == metric
}

pub(super) fn place(metric: &str) -> usize {
    procedure::metrics(procedure::ALL).position(|known| known.key == metric).unwrap_or(usize::MAX)
}

fn own(metric: &str) -> Option<String> {
    by_key(metric).is_none_or(|known| known.unit != Unit::Parts).then(|| metric.to_owned())
}

/// The parts of a measurement: those of its outcomes, or all of its metric before there is one. `outcomes` are those with parts.
fn parts(m: &Measurement, outcomes: &[&Outcome]) -> Vec<String> {
    let mut found: Vec<String> = outcomes
        .iter()
        .filter(|outcome| outcome.measurement.is_of_the_value_of(m))
        .flat_map(|outcome| outcome.result.parts.keys().cloned())
        .collect();
    if found.is_empty() && own(&m.metric).is_none() {
        let all = procedure::metrics(procedure::ALL)
            .map(|known| known.key)
            .filter(|key| *key != m.metric && measured(key) == m.metric);
        found = all.map(str::to_owned).collect();
    }
    found.sort();
    found.dedup();
    found
}
