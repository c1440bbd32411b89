//! DNS: what the client asked, and how the device answered at the lowest rate that failed, which shows what limits it.

use super::{line, places};
use crate::report::result::PointResult;
use crate::report::{Report, number};
use document::{Form, Quantity, Row, Section, Table};
use method::Count;
use method::trial::Answers;
use procedure::dns::{DNS_QUERIES_RESOLVED, DNS64_RESOLUTION_RATE, Dns};

/// The section of all points with DNS queries.
pub(super) fn section(report: &Report) -> Option<Section> {
    let results: Vec<&PointResult> = report
        .results
        .iter()
        .filter(|r| {
            [DNS64_RESOLUTION_RATE.key, DNS_QUERIES_RESOLVED.key].contains(&r.metric.as_str())
                && !r.repetitions.is_empty()
        })
        .collect();
    if results.is_empty() {
        return None;
    }
    Some(Section {
        title: "DNS".to_owned(),
        about: "Answers in the trials at the lowest rate that failed, over all repetitions. An answer is valid if it has the right AAAA \
                record and arrives within the time-out of its own query."
            .to_owned(),
        tables: vec![table(report, &results)],
        ..Section::default()
    })
}

fn table(report: &Report, results: &[&PointResult]) -> Table {
    let dns = report.header.scenario.procedures.get::<Dns>();
    let share = |ppm: u32| Quantity::new(f64::from(ppm) / 10_000.0, Form::Digits(4, " %")).to_string();
    let of_dns64 = |r: &PointResult, ppm: u32, other: &str| {
        if r.metric == DNS64_RESOLUTION_RATE.key { share(ppm) } else { other.to_owned() }
    };
    let count = |label: &str, of: fn(&Answers) -> Count| -> Row {
        line(label, results, |r| Quantity::count(answers(r).map(|a| of(&a)).sum()))
    };
    Table::new("DNS queries", "points", places(results)).rows([
        line("thread pairs × source ports", results, |r| format!("{} × {}", dns.threads, dns.ports(r.connections))),
        line("time-out of a query", results, |_| number::duration(dns.timeout.0)),
        line("names of the zone", results, |_| Quantity::count(dns.names.into())),
        line("cached names", results, |r| of_dns64(r, dns.cached_ppm, "no cache")),
        line("names with an AAAA record", results, |r| of_dns64(r, dns.existing_ppm, "100 %")),
        count("valid answers", |a| a.valid),
        count("late", |a| a.late),
        count("none", |a| a.unanswered),
        count("response code other than NOERROR", |a| a.error_codes),
        count("no AAAA record", |a| a.without_record),
        count("wrong address", |a| a.wrong_address),
        count("malformed", |a| a.malformed),
        count("duplicates", |a| a.duplicates),
        line("slowest valid answer", results, slowest),
    ])
}

/// The answers of each repetition.
fn answers(result: &PointResult) -> impl Iterator<Item = Answers> {
    result.repetitions.iter().filter_map(|repetition| repetition.observed.answers)
}

fn slowest(result: &PointResult) -> Option<String> {
    answers(result).map(|a| a.slowest.0).max().map(number::duration)
}
