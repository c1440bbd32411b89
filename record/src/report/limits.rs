//! Sentences about the bounds of results: tester, host, upper end of the search. `evidence` says what limited an exact result.

use super::number::{self, si};
use super::result::PointResult;
use super::{Report, facts, no_rate, saved};
use method::ResultKind;
use procedure::metric;
use scenario::axis::in_words;

/// For each kind of bound with a rate: the subject of its sentence, and the words after the places of the results.
const SENTENCES: [(ResultKind, &str, &str); 4] = [
    (ResultKind::TesterLimit, "The tester was the limit", ": the rate is a lower bound"),
    (ResultKind::HostLimit, "Host noise invalidated every trial at a higher rate", ": the rate is a lower bound"),
    (
        ResultKind::Strict,
        "The host was too busy for validity",
        ": the rate is the strict result of RFC 2544, in which every lost frame counts as the device's",
    ),
    (
        ResultKind::Between,
        "Searches ended early because of invalid trials",
        ": the rate is a lower bound, and the lowest rate that failed is the upper bound",
    ),
];

/// Bounds without a rate, with the subject of their sentence; it ends with advice.
const UNKNOWN: [(ResultKind, &str); 2] = [
    (ResultKind::NothingMeasured, "Some repetitions have no valid trial"),
    (ResultKind::Below, "Every trial below the lowest rate that failed was invalid"),
];

/// The sentences about the results of one device, one for each kind of bound; none if all are exact.
/// Results in `said` are in the sentences before.
pub(super) fn of(report: &Report, results: &[&PointResult], said: &[&PointResult]) -> Vec<String> {
    let with = |bound: ResultKind| -> Vec<&PointResult> {
        // The remarks say why a table that was not kept gives a lower bound.
        let other = |c: &&PointResult| if bound == ResultKind::TesterLimit { saved::not_kept(c) } else { 0 };
        results.iter().copied().filter(|c| c.count(bound) > other(c)).collect()
    };
    let mut sentences = Vec::new();
    let mut say = |some: &[&PointResult], subject: &str, rest: &str| {
        if !some.is_empty() {
            sentences.push(format!("{subject}{}{rest}.", places(some, results)));
        }
    };
    for (bound, subject, rest) in SENTENCES {
        say(&with(bound), subject, rest);
    }
    for (bound, subject) in UNKNOWN {
        let some = with(bound);
        let advice = some.iter().find_map(|c| c.advice(bound)).unwrap_or("measure again");
        say(&some, subject, &format!(": {advice}"));
    }
    let upper = with(ResultKind::AtUpperLimit);
    for (why, some) in document::grouped_by(upper, |result| facts::lower_bound(report, result)) {
        let what = if some.iter().all(|result| is_time(result)) { "time" } else { "rate" };
        say(&some, &number::capitalised(&why), &format!(": the {what} is a lower bound"));
    }
    let already = |c: &&&PointResult| c.nothing_passed() && said.iter().any(|s| std::ptr::eq(*s, **c));
    let nothing: Vec<&PointResult> = with(ResultKind::NothingPassed).iter().filter(|c| !already(c)).copied().collect();
    say(&nothing, "In some repetitions no rate passed", "");
    for result in with(ResultKind::NoRate) {
        for sentence in no_rate::sentences(result) {
            say(&[result], &number::capitalised(&sentence), "");
        }
    }
    let closed: Vec<&PointResult> = results.iter().filter(|c| c.closed_loop > 0).copied().collect();
    say(
        &closed,
        "Device and tester ran in a closed loop on one thread",
        ": the rate is that of tester and device together",
    );
    sentences
}

fn is_time(result: &PointResult) -> bool {
    result.known.is_some_and(|metric| metric.unit == metric::Unit::Nanoseconds)
}

/// The places of some results in parentheses; empty if these are all results. A point of which all results are meant is named
/// without its metrics.
pub(super) fn places(some: &[&PointResult], all: &[&PointResult]) -> String {
    if some.len() == all.len() {
        return String::new();
    }
    let varies = PlaceNames::of(all);
    let place = |result: &&PointResult| {
        let at = |of: &[&PointResult]| of.iter().filter(|c| c.is_beside(result)).count();
        varies.place(result, at(some) == at(all))
    };
    let names = document::distinct(some.iter().map(place));
    if names.len() > 2 {
        format!(" ({} of {} results)", some.len(), all.len())
    } else {
        format!(" ({})", names.join("; "))
    }
}

/// The parts in the names of results: those that differ between results.
struct PlaceNames {
    device: bool,
    cores: bool,
}

impl PlaceNames {
    fn of(all: &[&PointResult]) -> PlaceNames {
        let differs = |of: fn(&PointResult) -> u64| all.iter().any(|c| of(c) != of(all[0]));
        PlaceNames { device: differs(|c| c.dut as u64), cores: differs(|c| c.cores.into()) }
    }

    /// A result in words, or its point if `whole`.
    fn place(&self, result: &PointResult, whole: bool) -> String {
        let metric = result.known.map_or(result.metric.clone(), |m| number::uncapitalised(m.title));
        let device = self.device.then(|| result.dut_name.clone());
        let cores = self.cores.then(|| format!("on {}", result.cores_in_words()));
        let swept = (!result.axes.is_empty()).then(|| in_words(&result.axes));
        let named = device.as_ref().map(|name| format!("{name},"));
        let head = match (result.connections, whole) {
            (0, true) if self.device || self.cores || swept.is_some() => [device, None],
            (0, _) => [named, Some(metric)],
            (n, true) => [named, Some(format!("at {} connections", si(n as f64, 3)))],
            (n, false) => [named, Some(format!("{metric} at {}", si(n as f64, 3)))],
        };
        let point = head.into_iter().chain([cores]).flatten().collect::<Vec<_>>().join(" ");
        [Some(point).filter(|point| !point.is_empty()), swept].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
