//! DNS64 resolution performance (RFC 8219 section 9) and DNS load: the highest rate of queries at which all are
//! answered correctly and in time. Both use the binary search of the throughput; a frame is a query, Left to Right.

use crate::Procedure;
use method::judged::{Decision, Patience};
use method::search::{Decider, Progress, SearchResult, SearchSettings, binary, data_trial, probe};
use method::trial::{Direction, Load, Observed, Queries, TrialError, TrialOptions, TrialSpec, Trials};
use method::units::Rate;

/// Entry of DNS64 in the list of procedures.
pub const DNS64: Procedure = Procedure {
    key: "dns64",
    title: "DNS64 resolution performance",
    reference: "RFC 8219 section 9",
    metrics: &["dns64_resolution_rate"],
    phase1: false,
    stateful: false,
    at_throughput: false,
    summary: "search for the highest rate of AAAA queries that a DNS64 server answers right and in time",
};

/// Entry of DNS load in the list of procedures.
pub const LOAD: Procedure = Procedure {
    key: "dns-load",
    title: "DNS load",
    reference: "draft-lencse-v6ops-transition-scalability-05 section 5",
    metrics: &["dns_queries_resolved"],
    phase1: false,
    stateful: false,
    at_throughput: false,
    summary: "search for the highest rate of DNS queries through a device that are answered right and in time",
};

/// Measures the highest rate of queries, in queries per second. The observations of the result are the answers at the
/// lowest rate that failed, which show what limits the device; if none failed, those at the rate of the result.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Refused`] for a time-out of 0.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    queries: Queries,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    // Queries are sent on the left, and the answers return there.
    let settings = &SearchSettings { direction: Direction::Forward, ..settings.clone() };
    settings.check()?;
    if queries.timeout.0 == 0 {
        return Err(TrialError::Refused("no answer arrives within a time-out of 0; use 1 s".to_owned()));
    }
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
    let least = Rate(1_000_000_000u64.div_ceil(settings.duration.0.max(1)));
    let by = (settings.precision, &settings.criteria);
    let ends = (settings.lo, settings.hi);
    let result = binary::search_from(settings.warm, ends, (least, least), by, decide, watch)?;
    Ok(SearchResult { observed: shown.map(|(.., observed)| observed).unwrap_or_default(), ..result })
}
