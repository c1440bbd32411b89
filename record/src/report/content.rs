//! The document of a report, which the formats for readers print.

use super::figure::{COMPARISONS, DETAILS, FigureKind};
use super::{Report, facts, files, glance, number, published, section, table, terms};
use crate::folder::{CommandLine, FactTable, SelfTest};
use crate::printable::in_shell;
use document::report::{Command, PublishedValues, Verdict};
use document::{Document, Pairs, Section, Table, distinct, row};
use std::collections::BTreeSet;

pub(super) fn document(report: &Report) -> Document {
    let header = &report.header;
    let build = report.facts.build();
    let results = table::tables(report);
    Document {
        title: report.run_name(),
        scenario: header.scenario.name.clone(),
        label: report.conformance.label.clone(),
        version: header.version.clone(),
        build: build.map(str::to_owned),
        started: header.started.clone(),
        about: header.scenario.about.clone(),
        glance: glance::of(report),
        measured: measured(report),
        missing: facts::missing(report),
        sentences: report.said.clone(),
        doubts: report.doubts.clone(),
        departures: report.conformance.departures.clone(),
        terms: terms::of(&results),
        results,
        comparisons: galleries(report, COMPARISONS),
        sections: section::all(report),
        details: galleries(report, DETAILS),
        published: PublishedValues {
            conditions: published::common_conditions(report),
            values: published::compared(&report.beside),
            documents: published::documents(&report.beside),
        },
        run: Pairs::new("This run", FACTS, of_run(report)),
        conditions: facts::conditions(report),
        limits: facts::limits(report),
        judge_counts: (report.judged.trials > 0).then(|| facts::judged_in_words(&report.judged)),
        self_test: report.self_test.as_ref().filter(|test| !test.checks.is_empty()).map(self_test),
        facts: all_facts(report),
        commands: report.commands.iter().map(command).collect(),
    }
}

fn galleries(report: &Report, kinds: &[FigureKind]) -> Vec<Section> {
    let section = |FigureKind { heading, about, draw }: &FigureKind| {
        let (title, about) = ((*heading).to_owned(), (*about).to_owned());
        Section { title, about, figures: draw(report), ..Section::default() }
    };
    kinds.iter().map(section).filter(|section| !section.figures.is_empty()).collect()
}

fn measured(report: &Report) -> String {
    let all = number::plural(report.planned as u64, "measurement");
    let counted = format!("{} of {all} finished", number::grouped(report.measured as u64));
    let parts = [Some(counted), metrics(report), devices(report), points(report)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn metrics(report: &Report) -> Option<String> {
    let scenario = &report.header.scenario;
    let title = |metric: &String| {
        let known = scenario.procedures.metric(metric);
        known.map_or_else(|| metric.clone(), |known| number::uncapitalised(known.title))
    };
    let titles = distinct(scenario.measure.metrics.iter().map(title));
    (!titles.is_empty()).then(|| titles.join(", "))
}

fn devices(report: &Report) -> Option<String> {
    let names: Vec<&str> = report.header.scenario.duts.iter().map(|dut| dut.name()).collect();
    (!names.is_empty()).then(|| format!("{}: {}", if names.len() > 1 { "devices" } else { "device" }, names.join(", ")))
}

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

const FACTS: [&str; 2] = ["fact", "value"];

fn of_run(report: &Report) -> [(&'static str, String); 5] {
    let header = &report.header;
    let build = report.facts.build().map_or_else(String::new, |build| format!("; {build}"));
    let bed = header.options.bed.as_ref().map_or_else(String::new, |bed| format!("; file `{}`", bed.name));
    let rules = header.rules.map_or_else(|| "not recorded".to_owned(), |rules| rules.to_string());
    [
        ("Command line", format!("`{}`", command_line(report))),
        ("natmeter", format!("{}{build}", header.version)),
        ("Started", header.started.clone()),
        ("Test bed", format!("{}{bed}", report.conformance.test_bed_in_words())),
        ("Versions", format!("run folder {}, rules {rules}", header.record)),
    ]
}

/// The command that starts such a run again from the files of the page. The folder does not record options that change nothing
/// in the scenario.
fn command_line(report: &Report) -> String {
    let options = &report.header.options;
    let mut words = vec!["natmeter".to_owned(), "run".to_owned(), format!("{}.toml", report.header.scenario.name)];
    words.extend(options.full.then(|| "--full".to_owned()));
    words.extend(options.bed.iter().flat_map(|bed| ["--bed".to_owned(), bed.name.clone()]));
    words.extend(options.limits.iter().flat_map(|_| ["--limits".to_owned(), files::LIMITS.to_owned()]));
    words.extend(options.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
    words.iter().map(|word| in_shell(word)).collect::<Vec<_>>().join(" ")
}

fn self_test(test: &SelfTest) -> (Verdict, Table) {
    let verdict = match (test.passed, test.named("inconclusive").is_empty()) {
        (true, true) => Verdict::Passed,
        (true, false) => Verdict::Inconclusive,
        (false, _) => Verdict::Failed,
    };
    let rows = test.checks.iter().map(|check| {
        // Few checks have an error, which needs no column.
        let measured = check.error.iter().fold(check.measured.clone(), |all, error| format!("{all}, error {error}"));
        row(&check.name, [check.truth.as_str(), &measured, check.verdict()])
    });
    let table =
        Table::new("Self-test against known truth", "check", ["injected", "measured", "verdict"]).with_parameters(rows);
    (verdict, table)
}

fn all_facts(report: &Report) -> Vec<Pairs> {
    let of = |title: String, facts: &FactTable| Pairs::new(title, FACTS, facts.clone());
    let devices = report.facts.duts.iter().map(|(name, facts)| of(format!("Facts of the device {name}"), facts));
    [of("Facts of the tester".to_owned(), &report.facts.tester)].into_iter().chain(devices).collect()
}

fn command(line: &CommandLine) -> Command {
    let CommandLine { at, dut, why, .. } = line;
    let status = match line.status {
        Some(0) => String::new(),
        Some(n) => format!(" · status {n}"),
        None => " · no exit status".to_owned(),
    };
    let text = [line.command.trim_end(), line.output.trim_end()].join("\n");
    Command { head: format!("{at} · {dut} · {why}{status}"), text: text.trim_end().to_owned() }
}
