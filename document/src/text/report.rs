//! A report as plain text: in short, which fits one screen, or all that the page in HTML has in words.

use super::{Page, padded, right, width};
use crate::report::{Document, PublishedValues};

/// Columns of a line that is easy to read.
const READABLE: usize = 100;

/// Returns a document on a screen of so many columns. `verbose`: everything, or what fits one screen.
pub fn render(document: &Document, columns: usize, verbose: bool) -> String {
    let mut page = Page::new(if verbose { columns } else { columns.min(READABLE) });
    if verbose {
        page.justified(&document.title, &format!("[{}]", document.label));
        whole(&mut page, document);
    } else {
        super::glance::write(&mut page, &document.glance);
        let asked = document.sections.iter().filter(|section| section.is_asked);
        asked.for_each(|section| page.tables(&section.tables));
    }
    page.out
}

fn whole(page: &mut Page, document: &Document) {
    page.paragraph("", &document.about);
    page.line(&format!("natmeter {}, started {}", document.version, document.started));
    if let Some(build) = &document.build {
        page.paragraph("", &format!("Build: {build}"));
    }
    page.paragraphs("- ", &document.departures);
    page.paragraphs("", &document.missing);
    for table in &document.results {
        page.line("");
        page.table(table, false);
        page.charts(table);
    }
    for section in document.sections.iter().filter(|section| !section.tables.is_empty()) {
        page.heading(&section.title);
        page.paragraph("  ", &section.about);
        page.tables(&section.tables);
    }
    published(page, &document.published);
    page.name_values(&document.terms);
    page.name_values(&document.conditions);
    page.name_values(&document.limits);
    if let Some(judge_counts) = &document.judge_counts {
        page.heading("Judge");
        page.paragraph("  ", judge_counts);
    }
    if !document.doubts.is_empty() {
        page.heading("Doubts");
        page.paragraphs("! ", &document.doubts);
    }
    page.line("");
    page.paragraphs("", &document.sentences.all());
}

fn published(page: &mut Page, PublishedValues { conditions, values, documents }: &PublishedValues) {
    if values.is_empty() {
        return;
    }
    page.heading(PublishedValues::TITLE);
    page.paragraph("  ", conditions);
    for compared in values {
        page.line("");
        page.paragraph("  ", &compared.table.title);
        page.paragraph("    published  ", &format!("{} ({})", compared.published, compared.source));
        page.paragraphs("    note       ", &compared.notes);
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
                page.paragraph(&format!("{mark}{head}"), &row[3]);
            } else {
                page.paragraph(mark, &row.join(" "));
            }
        }
    }
    page.line("");
    page.paragraphs("  ", documents);
}
