//! The report as a document of parts with tables, for Markdown, LaTeX, xml2rfc and plain text of an RFC: the tables that text and
//! HTML have, and further ones of conditions, doubts and comparisons.

use super::{Report, facts, published, section, table, terms};
use crate::folder::FactTable;
use document::{Document, Pairs, Part, Section, Table, row};

/// Returns the document of a report.
pub(super) fn document(report: &Report) -> Document {
    let numbered = |title: &str, head, items: &[String]| Pairs::numbered(title, head, items).table();
    let results = table::tables(report);
    let terms = Pairs { title: "Terms of the tables".to_owned(), ..terms::of(&results) };
    let departures = &report.conformance.departures;
    let mut parts = vec![
        Part::new("Doubts", numbered("Doubts about the results", "doubt", &report.doubts)),
        Part::new("Departures", numbered("Departures of the procedure from the RFCs", "departure", departures)),
        Part::new("Results", results),
        Part::new("Terms", terms.table()),
    ];
    parts.extend(section::all(report).into_iter().map(part));
    let conditions = Pairs { title: "Conditions of all measurements".to_owned(), ..facts::conditions(report) };
    parts.extend([
        beside(report),
        Part::new("Conditions", conditions.table().into_iter().chain(facts::limits(report).table())),
        Part::new("Self-test", self_test(report)),
        Part::new("Facts", all_facts(report)),
    ]);
    parts.retain(|part| !part.tables.is_empty());
    let header = &report.header;
    Document {
        title: report.run_name(),
        scenario: header.scenario.name.clone(),
        label: report.conformance.label.clone(),
        version: header.version.clone(),
        started: header.started.clone(),
        about: about(report),
        parts,
    }
}

fn part(section: Section) -> Part {
    Part { paragraphs: vec![section.paragraph()], title: section.title, tables: section.tables }
}

/// Scenario, tester and the results in sentences.
fn about(report: &Report) -> Vec<String> {
    let header = &report.header;
    let build = report.facts.build().map_or_else(String::new, |build| format!(" Build: {build}."));
    let mut about = vec![header.scenario.about.clone()];
    about.push(format!(
        "Measured with natmeter {}, started {}; {}.{build}",
        header.version, header.started, report.conformance.label
    ));
    about.extend(report.sentences.iter().cloned());
    about.retain(|text| !text.trim().is_empty());
    about
}

/// The measured values beside the nearest published ones.
fn beside(report: &Report) -> Part {
    let table = |compared: published::Compared| {
        let published = format!("Published: {} ({}).", compared.published, compared.source);
        let notes = compared.notes.into_iter().map(str::to_owned);
        Table { notes: [published].into_iter().chain(notes).collect(), ..compared.table }
    };
    let mut paragraphs = vec![published::common_conditions(report)];
    paragraphs.extend(published::documents(&report.beside));
    let tables = published::compared(&report.beside).into_iter().map(table);
    Part { paragraphs, ..Part::new("Compared with published results", tables) }
}

fn self_test(report: &Report) -> Option<Table> {
    let checks = report.self_test.iter().flat_map(|test| &test.checks);
    let rows = checks.map(|check| {
        // Few checks have an error, which needs no column.
        let measured = check.error.iter().fold(check.measured.clone(), |all, error| format!("{all}, error {error}"));
        row(&check.name, [check.truth.as_str(), &measured, check.verdict()])
    });
    let table = Table::new("Self-test against known truth", "check", ["injected", "measured", "verdict"]).rows(rows);
    Some(table).filter(|table| !table.parameters.is_empty())
}

fn all_facts(report: &Report) -> impl Iterator<Item = Table> {
    let table = |title: String, facts: &FactTable| Pairs::new(title, ["fact", "value"], facts.clone()).table();
    let devices = report.facts.duts.iter().map(move |(name, facts)| table(format!("Device {name}"), facts));
    [table("Tester".to_owned(), &report.facts.tester)].into_iter().chain(devices).flatten()
}
