//! A report as plain text: in short, which fits one screen, or all that the page in HTML has in words.

use super::{Page, padded, right, width};
use crate::report::{Document, Published};
use crate::section::Section;

/// Returns a document on a screen of so many columns. `verbose`: everything, or what fits one screen.
pub fn render(document: &Document, columns: usize, verbose: bool) -> String {
    let mut page = Page::new(columns);
    page.sides(&document.title, &format!("[{}]", document.label));
    if verbose {
        whole(&mut page, document);
    } else {
        short(&mut page, document);
    }
    page.out
}

fn whole(page: &mut Page, document: &Document) {
    page.item("", &document.about);
    page.line(&format!("natmeter {}, started {}", document.version, document.started));
    if let Some(build) = &document.build {
        page.item("", &format!("Build: {build}"));
    }
    page.items("- ", &document.departures);
    page.items("", &document.missing);
    for table in &document.results {
        page.line("");
        page.table(table, false);
        page.charts(table);
    }
    for section in document.sections.iter().filter(|section| !section.tables.is_empty()) {
        page.heading(&section.title);
        page.item("  ", &section.about);
        page.tables(&section.tables);
    }
    published(page, &document.published);
    page.pairs(&document.terms);
    page.pairs(&document.conditions);
    page.pairs(&document.limits);
    if let Some(judged) = &document.judged {
        page.heading("Judge");
        page.item("  ", judged);
    }
    if !document.doubts.is_empty() {
        page.heading("Doubts");
        page.items("! ", &document.doubts);
    }
    page.line("");
    page.items("", &document.sentences.all());
}

fn short(page: &mut Page, document: &Document) {
    for table in &document.short {
        page.line("");
        page.table(table, true);
        if !table.same.is_empty() {
            page.item("all points: ", &table.same.join("; "));
        }
    }
    let asked = document.sections.iter().filter(|section| section.is_asked);
    asked.for_each(|Section { tables, .. }| page.tables(tables));
    page.line("");
    page.items("", &document.sentences.short());
    page.items("! ", &document.doubts);
    page.item("", &document.natmeter);
}

fn published(page: &mut Page, Published { conditions, values, documents }: &Published) {
    if values.is_empty() {
        return;
    }
    page.heading(Published::TITLE);
    page.item("  ", conditions);
    for compared in values {
        page.line("");
        page.item("  ", &compared.table.title);
        page.item("    published  ", &format!("{} ({})", compared.published, compared.source));
        page.items("    note       ", &compared.notes);
        let rows = compared.table.parameters.iter();
        let rows: Vec<Vec<String>> = rows
            .map(|row| [row.label.clone()].into_iter().chain(row.cells.iter().map(ToString::to_string)).collect())
            .collect();
        let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
        let (dut, value, ratio) = (widest(0), widest(1), widest(2));
        for row in &rows {
            let head = format!("{}  {}  {}  ", padded(&row[0], dut), right(&row[1], value), right(&row[2], ratio));
            let mark = "    measured   ";
            if width(mark) + width(&head) < page.columns * 3 / 4 {
                page.item(&format!("{mark}{head}"), &row[3]);
            } else {
                page.item(mark, &row.join(" "));
            }
        }
    }
    page.line("");
    page.items("  ", documents);
}
