//! The report as plain text for a terminal. The short text fits one screen; the whole one has everything that the HTML page has in
//! words.

use super::{Format, Report, brief, facts, published, section, table, terms};
use crate::folder::natmeter_in_words;
use document::Section;
use document::text::{NARROWEST, Page, WIDEST, padded, right, width};

/// Plain text for a terminal or a mail.
pub(super) const FORMAT: Format =
    Format { name: "text", extension: "txt", about: "tables and bars for a terminal", render };

/// The screen on which a text report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its columns; used between [`Screen::NARROWEST`] and [`Screen::WIDEST`].
    pub columns: usize,
    /// Whether to print everything, or what fits one screen.
    pub verbose: bool,
}

impl Screen {
    /// Columns at least.
    pub const NARROWEST: usize = NARROWEST;
    /// Columns at most.
    pub const WIDEST: usize = WIDEST;
    /// Where the columns are not known, such as in a file.
    pub const USUAL: Screen = Screen { columns: 80, verbose: false };
}

fn render(report: &Report) -> String {
    print(report, Screen::USUAL)
}

/// The report on a screen.
pub(super) fn print(report: &Report, screen: Screen) -> String {
    let mut page = Page::new(screen.columns);
    page.sides(&report.run_name(), &format!("[{}]", report.conformance.label));
    if screen.verbose {
        whole(&mut page, report);
    } else {
        short(&mut page, report);
    }
    page.out
}

fn whole(page: &mut Page, report: &Report) {
    conditions_of_run(page, report);
    let tables = table::tables(report);
    for table in &tables {
        page.line("");
        page.table(table, false);
        page.charts(table);
    }
    tables_of(page, section::models(report).as_ref());
    tables_of(page, section::compared(report).as_ref());
    beside(page, report);
    page.pairs(&terms::of(&tables));
    page.pairs(&facts::conditions(report));
    page.pairs(&facts::limits(report));
    if report.judged.trials > 0 {
        page.heading("Judge");
        page.item("  ", &facts::judged_in_words(&report.judged));
    }
    if !report.doubts.is_empty() {
        page.heading("Doubts");
        doubts(page, report);
    }
    page.line("");
    for sentence in &report.sentences {
        page.item("", sentence);
    }
}

fn short(page: &mut Page, report: &Report) {
    for table in &brief::tables(report) {
        page.line("");
        page.table(table, true);
        if !table.same.is_empty() {
            page.item("all points: ", &table.same.join("; "));
        }
    }
    tables_of(page, section::compared(report).as_ref());
    page.line("");
    for sentence in report.said.short() {
        page.item("", &sentence);
    }
    doubts(page, report);
    page.item("", &natmeter_in_words(&report.header.version, report.facts.build()));
}

/// The tables of a section: models, and the published tables that the scenario names.
fn tables_of(page: &mut Page, section: Option<&Section>) {
    page.tables(section.map_or(&[], |section| &section.tables));
}

fn conditions_of_run(page: &mut Page, report: &Report) {
    let header = &report.header;
    page.item("", &header.scenario.about);
    page.line(&format!("natmeter {}, started {}", header.version, header.started));
    if let Some(build) = report.facts.build() {
        page.item("", &format!("Build: {build}"));
    }
    for departure in &report.conformance.departures {
        page.item("- ", departure);
    }
    for missing in facts::missing(report) {
        page.item("", &missing);
    }
}

fn doubts(page: &mut Page, report: &Report) {
    for doubt in &report.doubts {
        page.item("! ", doubt);
    }
}

/// The measured values beside the nearest published ones.
fn beside(page: &mut Page, report: &Report) {
    if report.beside.is_empty() {
        return;
    }
    page.heading("Compared with published results");
    page.item("  ", &published::common_conditions(report));
    for c in published::compared(&report.beside) {
        page.line("");
        page.item("  ", &c.table.title);
        page.item("    published  ", &format!("{} ({})", c.published, c.source));
        for note in c.notes {
            page.item("    note       ", note);
        }
        let rows = c.table.parameters.iter();
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
    for document in &published::documents(&report.beside) {
        page.item("  ", document);
    }
}
