//! The summary of a page: what was measured, the finding with its range, doubts, and departures from the RFCs.

use super::{Page, e, heading};
use crate::report::{Report, number};
use document::Finding;
use document::html::{list, paragraph};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Largest number of sentences about single points in the summary. More of them stand beside their figures only.
const POINTS: usize = 3;

/// Writes the summary.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    let report = page.report;
    measured(out, report);
    found(out, page);
    if !report.doubts.is_empty() {
        out.push_str("<div class=\"doubts\">\n<h3>Doubts</h3>\n");
        list(out, "", &report.doubts);
        out.push_str("</div>\n");
    }
    if !report.conformance.departures.is_empty() {
        heading(out, "Departures of the procedure from the RFCs");
        list(out, "", &report.conformance.departures);
    }
}

fn measured(out: &mut String, report: &Report) {
    let header = &report.header;
    heading(out, "What was measured");
    if !header.scenario.about.is_empty() {
        paragraph(out, "", &header.scenario.about);
    }
    let counted = format!(
        "{} of {} finished",
        number::grouped(report.measured as u64),
        number::plural(report.planned as u64, "measurement")
    );
    let parts: Vec<String> =
        [Some(counted), metrics(report), devices(report), points(report)].into_iter().flatten().collect();
    let _ = writeln!(out, "<p>{}.</p>", e(&parts.join("; ")));
    let _ = writeln!(out, "<p class=\"meta\">natmeter {}, started {}</p>", e(&header.version), e(&header.started));
    if let Some(build) = report.facts.build() {
        let _ = writeln!(out, "<p class=\"meta\">Build: {}</p>", e(build));
    }
}

/// Titles of the metrics, each once.
fn metrics(report: &Report) -> Option<String> {
    let mut titles: Vec<String> = Vec::new();
    for metric in &report.header.scenario.measure.metrics {
        let known = report.header.scenario.procedures.metric(metric);
        let title = known.map_or_else(|| metric.clone(), |known| number::uncapitalised(known.title));
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    (!titles.is_empty()).then(|| titles.join(", "))
}

fn devices(report: &Report) -> Option<String> {
    let names: Vec<&str> = report.header.scenario.duts.iter().map(|dut| dut.name()).collect();
    (!names.is_empty()).then(|| format!("{}: {}", if names.len() > 1 { "devices" } else { "device" }, names.join(", ")))
}

/// Cores and connections of the plan.
fn points(report: &Report) -> Option<String> {
    let plan = &report.header.plan.measurements;
    let connections: BTreeSet<u64> = plan.iter().map(|m| m.point.connections).filter(|&n| n > 0).collect();
    let each: Vec<String> = connections.into_iter().map(|n| number::si(n as f64, 3)).collect();
    let connections = (!each.is_empty()).then(|| format!("at {} connections", each.join(", ")));
    let cores: BTreeSet<u32> = report.results.iter().filter_map(|c| c.known_cores).collect();
    let each: Vec<String> = cores.iter().map(u32::to_string).collect();
    let word = if cores.len() == 1 && cores.contains(&1) { "core" } else { "cores" };
    let cores = (!each.is_empty()).then(|| format!("on {} {word}", each.join(", ")));
    let both: Vec<String> = [connections, cores].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(", "))
}

fn found(out: &mut String, page: &Page<'_>) {
    let report = page.report;
    let in_sections: Vec<&Finding> = page.sections.iter().flat_map(|section| &section.findings).collect();
    out.push_str("<div class=\"short\">\n");
    heading(out, "Finding");
    let few = in_sections.len() <= POINTS;
    for sentence in report.said.without(if few { &[] } else { &in_sections }) {
        paragraph(out, "", &sentence);
    }
    if !few {
        let count = number::plural(in_sections.len() as u64, "sentence");
        let text = format!("{count} about bottlenecks and profiles of single points stand beside their figures.");
        paragraph(out, "", &text);
    }
    out.push_str("</div>\n");
}
