//! The report as JUnit XML, for continuous integration: one test case a metric and point, one a check of the self-test, and one for
//! the record.
//!
//! | test case | outcome |
//! | --- | --- |
//! | the value is the device's, or the highest rate of the scenario passed | passed |
//! | no rate passed, or no rate causes the loss | `failure` |
//! | the value is a bound because of tester or host | `skipped`, with the reason |
//! | there is no value | `error` |
//! | a limit is missed | `failure` |
//! | a limit is undecided | `skipped`, with the reason |
//!
//! The names of elements and attributes are those that Ant, Jenkins and GitLab read.

use super::judged::{JudgedLimit, LimitVerdict};
use super::remarks::remarks;
use super::result::PointResult;
use super::{Format, Report, facts, value};
use crate::folder::SelfTestCheck;
use document::xml::escaped as e;
use method::ResultKind;
use std::fmt::Write;

pub(super) const FORMAT: Format =
    Format { name: "junit", extension: "xml", about: "a test case a value, for continuous integration", render };

/// What stands in the test case of a value that did not pass: an element and its type.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Element(&'static str, Option<&'static str>);

const FAILURE: Element = Element("failure", Some("nothing-passed"));
const MISSED: Element = Element("failure", Some("limit-missed"));
const ERROR: Element = Element("error", Some("no-result"));
const SKIPPED: Element = Element("skipped", None);

struct Case {
    class: String,
    name: String,
    /// Seconds; `None` if not known.
    seconds: Option<f64>,
    /// Why the value did not pass, and how.
    outcome: Option<(Element, String)>,
    /// Value and remarks, one a line.
    out: Vec<String>,
}

struct Suite {
    name: &'static str,
    cases: Vec<Case>,
}

fn attributes(suites: &[&Suite]) -> String {
    let cases = || suites.iter().flat_map(|suite| &suite.cases);
    let count = |of: Element| cases().filter(|case| case.outcome.as_ref().is_some_and(|(is, _)| *is == of)).count();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\"",
        cases().count(),
        count(FAILURE) + count(MISSED),
        count(ERROR),
        seconds(cases().filter_map(|case| case.seconds).sum())
    )
}

/// The attribute `skipped`, which the schema of Jenkins' xUnit plugin has for a suite, but not for all suites.
fn skipped(suite: &Suite) -> String {
    let is_skipped = |case: &&Case| case.outcome.as_ref().is_some_and(|(is, _)| *is == SKIPPED);
    format!(" skipped=\"{}\"", suite.cases.iter().filter(is_skipped).count())
}

/// Not negative, as an empty sum is.
fn seconds(seconds: f64) -> String {
    format!("{:.3}", seconds.abs())
}

fn render(report: &Report) -> String {
    let name = report.run_name();
    let suites = [of_results(report), of_limits(report), of_self_test(report), of_record(report)];
    let suites: Vec<&Suite> = suites.iter().filter(|suite| !suite.cases.is_empty()).collect();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
        e(&name),
        attributes(&suites)
    );
    // Without its zone, because the schemas of Ant and Jenkins have none.
    let timestamp = report.header.started.trim_end_matches('Z');
    for suite in suites {
        let _ = write!(
            out,
            "<testsuite name=\"{}\" timestamp=\"{}\" {}{}>\n{}",
            suite.name,
            e(timestamp),
            attributes(&[suite]),
            skipped(suite),
            properties(report)
        );
        suite.cases.iter().for_each(|case| print(&mut out, case));
        out.push_str("</testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn properties(report: &Report) -> String {
    let header = &report.header;
    let mut properties = vec![
        ("scenario".to_owned(), header.scenario.name.clone()),
        ("natmeter".to_owned(), header.version.clone()),
        ("conformance".to_owned(), report.conformance.label.clone()),
    ];
    properties.extend(report.facts.build().map(|build| ("build".to_owned(), build.to_owned())));
    properties.extend(report.doubts.iter().enumerate().map(|(i, doubt)| (format!("doubt {}", i + 1), doubt.clone())));
    let each =
        properties.iter().map(|(name, value)| format!("<property name=\"{}\" value=\"{}\"/>\n", e(name), e(value)));
    format!("<properties>\n{}</properties>\n", each.collect::<String>())
}

fn print(out: &mut String, case: &Case) {
    let time = case.seconds.map_or_else(String::new, |seconds| format!(" time=\"{}\"", self::seconds(seconds)));
    let _ = writeln!(out, "<testcase classname=\"{}\" name=\"{}\"{time}>", e(&case.class), e(&case.name));
    if let Some((Element(name, of), why)) = &case.outcome {
        let why = e(why);
        let _ = match of {
            Some(of) => writeln!(out, "<{name} type=\"{of}\" message=\"{why}\">{why}</{name}>"),
            None => writeln!(out, "<{name} message=\"{why}\"/>"),
        };
    }
    if !case.out.is_empty() {
        let _ = writeln!(out, "<system-out>{}</system-out>", e(&case.out.join("\n")));
    }
    out.push_str("</testcase>\n");
}

/// The class of test cases: the scenario as a package, and a name in it. Dots separate packages.
fn class(report: &Report, name: &str) -> String {
    [&report.header.scenario.name, name].map(|part| part.replace('.', "_")).join(".")
}

fn of_results(report: &Report) -> Suite {
    let case = |result: &PointResult| {
        let median = result.median().filter(|_| !result.nothing_passed());
        let median = median.map(|median| format!("median: {}", value::short(result, median, 3)));
        let out = median.into_iter().chain(remarks(report, result)).collect();
        Case {
            class: class(report, &result.dut_name),
            name: format!("{}: {}", result.metric, facts::device_at(result)),
            seconds: Some(result.sending_s),
            outcome: of_result(report, result),
            out,
        }
    };
    Suite { name: "results", cases: report.results.iter().map(case).collect() }
}

/// The outcome of a result; `None` if the value is the device's.
fn of_result(report: &Report, result: &PointResult) -> Option<(Element, String)> {
    let reason = || remarks(report, result).into_iter().next().unwrap_or_else(|| result.bound.name().to_owned());
    if result.repetitions.is_empty() {
        return Some((ERROR, "no result: the measurement is not finished, or the doubts say why".to_owned()));
    }
    match result.bound {
        ResultKind::Exact | ResultKind::Observed => None,
        ResultKind::AtUpperLimit if facts::is_scenarios_limit(report, result) => None,
        ResultKind::NothingPassed | ResultKind::NoRate => Some((FAILURE, reason())),
        ResultKind::NothingMeasured => Some((ERROR, reason())),
        ResultKind::AtUpperLimit
        | ResultKind::TesterLimit
        | ResultKind::HostLimit
        | ResultKind::Strict
        | ResultKind::Between
        | ResultKind::Below => Some((SKIPPED, reason())),
    }
}

fn of_limits(report: &Report) -> Suite {
    let case = |judged: &JudgedLimit| {
        let why = || judged.why.clone().unwrap_or_else(|| judged.value.clone());
        let outcome = match judged.verdict {
            LimitVerdict::Met => None,
            LimitVerdict::Missed => Some((MISSED, why())),
            LimitVerdict::Undecided => Some((SKIPPED, why())),
        };
        let name = [format!("{} {}", judged.metric, judged.limit), judged.place.clone()].join(": ");
        Case { class: class(report, "limits"), name, seconds: None, outcome, out: vec![judged.line()] }
    };
    Suite { name: "limits", cases: report.limits.iter().map(case).collect() }
}

fn of_self_test(report: &Report) -> Suite {
    let case = |check: &SelfTestCheck| {
        let said = format!("injected {}, measured {}", check.truth, check.measured);
        let outcome = match (check.passed, check.inconclusive) {
            (true, _) => None,
            (false, true) => Some((SKIPPED, format!("the host was too busy: {said}"))),
            (false, false) => Some((ERROR, format!("the tester's self-test failed: {said}"))),
        };
        Case { class: class(report, "self-test"), name: check.name.clone(), seconds: None, outcome, out: vec![said] }
    };
    Suite { name: "self-test", cases: report.self_test.iter().flat_map(|test| &test.checks).map(case).collect() }
}

fn of_record(report: &Report) -> Suite {
    let findings: Vec<String> = report.audit.findings.iter().map(ToString::to_string).collect();
    let outcome = (!findings.is_empty()).then(|| (ERROR, format!("the record is damaged: {}", findings.join("; "))));
    let name = "the record of the run is intact".to_owned();
    let case = Case { class: class(report, "record"), name, seconds: None, outcome, out: Vec::new() };
    Suite { name: "record", cases: vec![case] }
}
