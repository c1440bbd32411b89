//! DNS: what the client asked, and how the device answered at the lowest rate that failed, which shows what limits it.

use super::Section;
use crate::report::result::PointResult;
use crate::report::table::{Table, row};
use crate::report::{Report, facts, number};
use method::Count;
use method::trial::Answers;
use procedure::metric::{DNS64_RESOLUTION_RATE, is_of_queries};

/// The section of all points with DNS queries.
pub(super) fn section(report: &Report) -> Option<Section> {
    let results: Vec<&PointResult> =
        report.results.iter().filter(|r| is_of_queries(&r.metric) && !r.repetitions.is_empty()).collect();
    if results.is_empty() {
        return None;
    }
    Some(Section {
        title: "DNS".to_owned(),
        about: "Answers in the trials at the lowest rate that failed, over all repetitions. An answer is valid if it has the right AAAA \
                record and arrives within the time-out of its own query."
            .to_owned(),
        tables: vec![table(report, &results)],
        figures: Vec::new(),
    })
}

fn table(report: &Report, results: &[&PointResult]) -> Table {
    let dns = &report.header.scenario.procedures.dns;
    let cells = |of: &dyn Fn(&PointResult) -> String| results.iter().map(|r| Some(of(r))).collect::<Vec<_>>();
    let share = |ppm: u32| format!("{} %", number::significant(f64::from(ppm) / 10_000.0, 4));
    let of_dns64 = |r: &PointResult, ppm: u32, other: &str| {
        if r.metric == DNS64_RESOLUTION_RATE.key { share(ppm) } else { other.to_owned() }
    };
    let count = |of: fn(&Answers) -> Count| cells(&move |r| number::grouped(answers(r).map(|a| of(&a)).sum()));
    let parameters = vec![
        row("thread pairs × source ports", cells(&|r| format!("{} × {}", dns.threads, dns.ports(r.connections)))),
        row("time-out of a query", cells(&|_| number::duration(dns.timeout.0))),
        row("names of the zone", cells(&|_| number::grouped(dns.names.into()))),
        row("cached names", cells(&|r| of_dns64(r, dns.cached_ppm, "no cache"))),
        row("names with an AAAA record", cells(&|r| of_dns64(r, dns.existing_ppm, "100 %"))),
        row("valid answers", count(|a| a.valid)),
        row("late", count(|a| a.late)),
        row("none", count(|a| a.unanswered)),
        row("response code other than NOERROR", count(|a| a.error_codes)),
        row("no AAAA record", count(|a| a.without_record)),
        row("wrong address", count(|a| a.wrong_address)),
        row("malformed", count(|a| a.malformed)),
        row("duplicates", count(|a| a.duplicates)),
        row("slowest valid answer", cells(&slowest)),
    ];
    Table {
        title: "DNS queries".to_owned(),
        axis: "points",
        columns: results.iter().map(|r| facts::place(r)).collect(),
        parameters,
        groups: Vec::new(),
        notes: Vec::new(),
        same: Vec::new(),
    }
}

/// The answers of each repetition.
fn answers(result: &PointResult) -> impl Iterator<Item = Answers> {
    result.repetitions.iter().filter_map(|repetition| repetition.observed.answers)
}

fn slowest(result: &PointResult) -> String {
    answers(result).map(|a| a.slowest.0).max().map_or_else(|| "–".to_owned(), number::duration)
}
