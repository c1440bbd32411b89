//! What other than the device bounded its rates, in sentences. Apart from the other sentences, because each kind of bound is one
//! line here, and who reads a report looks for exactly these.

use super::number::{self, plural, si};
use super::result::PointResult;
use super::{Report, facts};
use method::ResultKind;
use method::metric;
use scenario::axis::more_in_words;

/// A sentence about the results of a device with this bound; what it says after the places where they are.
struct Sentence {
    bound: ResultKind,
    subject: &'static str,
    rest: &'static str,
}

const SENTENCES: [Sentence; 3] = [
    Sentence {
        bound: ResultKind::TesterLimit,
        subject: "The tester was the limit",
        rest: "the device can do at least this",
    },
    Sentence {
        bound: ResultKind::HostLimit,
        subject: "The host was too busy to try more",
        rest: "the device can do at least this",
    },
    Sentence {
        bound: ResultKind::Between,
        subject: "Searches ended early, because trials were spoiled",
        rest: "the device can do at least this, and less than the rates that failed",
    },
];

/// As above, where nothing is known: what follows is what to do about it.
const UNKNOWN: [(ResultKind, &str); 2] = [
    (ResultKind::NothingMeasured, "Not in every repetition was a single trial worth anything"),
    (ResultKind::Below, "Below the lowest rate that failed every trial was spoiled"),
];

/// What bounded the results of a device, one sentence a kind; empty if the device itself did everywhere. `said`: what the
/// figures before have said already.
pub fn of(report: &Report, results: &[&PointResult], said: &[&PointResult]) -> Vec<String> {
    let with =
        |bound: ResultKind| -> Vec<&PointResult> { results.iter().filter(|c| c.count(bound) > 0).copied().collect() };
    let mut sentences = Vec::new();
    let mut say = |some: &[&PointResult], subject: &str, rest: &str| {
        if !some.is_empty() {
            sentences.push(format!("{subject}{}{rest}.", places(some, results)));
        }
    };
    for Sentence { bound, subject, rest } in SENTENCES {
        say(&with(bound), subject, &format!(": {rest}"));
    }
    for (bound, subject) in UNKNOWN {
        let some = with(bound);
        let advice = some.iter().find_map(|c| c.advice(bound)).unwrap_or("measure again");
        say(&some, subject, &format!(": {advice}"));
    }
    let upper = with(ResultKind::AtUpperLimit);
    if let Some(first) = upper.first() {
        let end = number::capitalised(facts::upper_end(report, first));
        say(&upper, &format!("{end} passed"), ": the device can do at least this");
    }
    let already = |c: &&&PointResult| c.nothing_passed() && said.iter().any(|s| std::ptr::eq(*s, **c));
    let nothing: Vec<&PointResult> = with(ResultKind::NothingPassed).iter().filter(|c| !already(c)).copied().collect();
    say(&nothing, "Not in every repetition did a rate pass", "");
    let closed: Vec<&PointResult> = results.iter().filter(|c| c.closed_loop > 0).copied().collect();
    say(&closed, "Device and tester worked in one closed loop", ": the rate is that of both");
    let free = |c: &&PointResult| c.bound == ResultKind::Exact && c.closed_loop == 0;
    if !sentences.is_empty() && results.iter().any(free) {
        sentences.push("Elsewhere the device was the limit.".to_owned());
    }
    sentences
}

/// Where some of the results are: nothing if that is everywhere.
fn places(some: &[&PointResult], all: &[&PointResult]) -> String {
    if some.len() == all.len() {
        return String::new();
    }
    match some {
        few @ ([_] | [_, _]) => format!(" ({})", few.iter().map(|c| place(c)).collect::<Vec<_>>().join("; ")),
        many => format!(" ({} of {} results)", many.len(), all.len()),
    }
}

fn place(result: &PointResult) -> String {
    let metric = metric::by_key(&result.metric).map_or(result.metric.clone(), |m| number::uncapitalised(m.title));
    let cores = plural(result.cores.into(), "core");
    let further = more_in_words(&result.axes);
    match result.connections {
        0 => format!("{metric} on {cores}{further}"),
        n => format!("{metric} at {} on {cores}{further}", si(n as f64, 3)),
    }
}
