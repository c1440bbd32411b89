//! The report as plain text for a terminal of 60 to 200 columns, readable without colours. The short text fits one screen;
//! the whole one has everything that the HTML page has in words.

use super::facts::{conditions, limits};
use super::section::{self, Section};
use super::table::{Bar, Row, Table, tables};
use super::{Format, Report, brief, facts, published, terms};
use crate::folder::natmeter_in_words;
use std::fmt::Write;

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
    pub const NARROWEST: usize = 60;
    /// Columns at most.
    pub const WIDEST: usize = 200;
    /// Where the columns are not known, such as in a file.
    pub const USUAL: Screen = Screen { columns: 80, verbose: false };
}

fn render(report: &Report) -> String {
    print(report, Screen::USUAL)
}

/// The report on a screen.
pub(super) fn print(report: &Report, screen: Screen) -> String {
    let columns = screen.columns.clamp(Screen::NARROWEST, Screen::WIDEST);
    let mut page = Page { out: String::new(), columns };
    if screen.verbose {
        page.whole(report);
    } else {
        page.short(report);
    }
    page.out
}

/// Paragraphs and tables without a report, such as those of a sizing.
pub(super) fn tables_only(paragraphs: &[String], tables: &[Table], columns: usize) -> String {
    let columns = columns.clamp(Screen::NARROWEST, Screen::WIDEST);
    let mut page = Page { out: String::new(), columns };
    for paragraph in paragraphs {
        page.item("", paragraph);
    }
    for table in tables {
        page.line("");
        page.table(table, false);
    }
    page.out
}

/// Columns of a table that fit side by side.
struct Block<'a> {
    /// Width of the labels.
    label: usize,
    /// Width of each column.
    columns: &'a [usize],
    /// The first of them.
    first: usize,
}

impl Block<'_> {
    fn cells<'r>(&self, row: &'r Row) -> impl Iterator<Item = &'r String> {
        row.cells[self.first..self.first + self.columns.len()].iter()
    }

    fn has_value(&self, row: &Row) -> bool {
        self.cells(row).any(|cell| cell != "–")
    }
}

/// A text under construction.
struct Page {
    out: String,
    /// Maximum length of a line.
    columns: usize,
}

impl Page {
    fn whole(&mut self, report: &Report) {
        self.head(report);
        self.conditions_of_run(report);
        let tables = tables(report);
        for table in &tables {
            self.line("");
            self.table(table, false);
            self.charts(table);
        }
        self.tables_of(section::models(report).as_ref());
        self.tables_of(section::compared(report).as_ref());
        self.beside(report);
        self.section("Terms", &terms::of(&tables));
        self.section("Conditions", &conditions(report));
        self.section("Tester, calibrated before the run", &limits(report));
        self.judged(report);
        if !report.doubts.is_empty() {
            self.heading("Doubts");
            self.doubts(report);
        }
        self.line("");
        for sentence in &report.sentences {
            self.item("", sentence);
        }
    }

    fn short(&mut self, report: &Report) {
        self.head(report);
        for table in &brief::tables(report) {
            self.line("");
            self.table(table, true);
            if !table.same.is_empty() {
                self.item("all points: ", &table.same.join("; "));
            }
        }
        self.tables_of(section::compared(report).as_ref());
        self.line("");
        for sentence in &report.short {
            self.item("", sentence);
        }
        self.doubts(report);
        self.item("", &natmeter_in_words(&report.header.version, report.facts.build()));
    }

    /// The tables of a section: models, and the published tables that the scenario names.
    fn tables_of(&mut self, section: Option<&Section>) {
        for table in section.iter().flat_map(|section| &section.tables) {
            self.line("");
            self.table(table, false);
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", text.trim_end());
    }

    fn head(&mut self, report: &Report) {
        let (name, label) = (report.run_name(), format!("[{}]", report.conformance.label));
        let used = width(&name) + width(&label);
        if used < self.columns {
            let gap = self.columns - used;
            self.line(&format!("{name}{:gap$}{label}", ""));
        } else {
            self.line(&name);
            self.item("", &label);
        }
    }

    fn conditions_of_run(&mut self, report: &Report) {
        let header = &report.header;
        self.item("", &header.scenario.about);
        self.line(&format!("natmeter {}, started {}", header.version, header.started));
        if let Some(build) = report.facts.build() {
            self.item("", &format!("Build: {build}"));
        }
        for departure in &report.conformance.departures {
            self.item("- ", departure);
        }
        for missing in facts::missing(report) {
            self.item("", &missing);
        }
    }

    fn doubts(&mut self, report: &Report) {
        for doubt in &report.doubts {
            self.item("! ", doubt);
        }
    }

    /// Prints a table. `charts`: with the bars of each metric below its rows.
    fn table(&mut self, table: &Table, charts: bool) {
        self.item("", &table.title);
        let (label, columns) = self.widths(table);
        let mut first = 0;
        while first < columns.len() {
            // Columns that do not fit go into a further block.
            let mut used = label + columns[first];
            let mut end = first + 1;
            while end < columns.len() && used + columns[end] <= self.columns {
                used += columns[end];
                end += 1;
            }
            let block = Block { label, columns: &columns[first..end], first };
            let whole = block.columns.len() == columns.len();
            self.row(&Row { label: table.axis.to_owned(), cells: table.columns.clone(), strong: true }, &block);
            for row in &table.parameters {
                self.row(row, &block);
            }
            self.line(&"─".repeat(used.min(self.columns)));
            for group in &table.groups {
                let rows: Vec<&Row> = group.rows.iter().filter(|row| whole || block.has_value(row)).collect();
                if rows.is_empty() {
                    continue;
                }
                self.item("", &group.title);
                for row in rows {
                    self.row(&Row { label: format!("  {}", row.label), ..row.clone() }, &block);
                }
                if charts && whole {
                    self.bars(&group.bars);
                }
            }
            first = end;
            if charts && !whole && first == columns.len() {
                self.charts(table);
            }
        }
        for (i, note) in table.notes.iter().enumerate() {
            self.item(&format!("[{}] ", i + 1), note);
        }
    }

    /// The bars below a table.
    fn charts(&mut self, table: &Table) {
        for group in table.groups.iter().filter(|g| !g.bars.is_empty()) {
            self.line("");
            self.item("", &group.title);
            self.bars(&group.bars);
        }
    }

    fn row(&mut self, row: &Row, block: &Block) {
        let mut text = padded(&row.label, block.label);
        for (cell, width) in block.cells(row).zip(block.columns) {
            text.push_str(&right(cell, *width));
        }
        self.line(&text);
    }

    /// Widths of the labels and of each column, blanks between them included.
    fn widths(&self, table: &Table) -> (usize, Vec<usize>) {
        let rows = || table.groups.iter().flat_map(|g| &g.rows).chain(&table.parameters);
        let label = rows().map(|row| width(&row.label) + 2).max().unwrap_or(0).max(width(table.axis));
        let label = label.clamp(20, 40.min(self.columns / 2));
        let widest = |i: usize| rows().map(|row| width(&row.cells[i])).max().unwrap_or(0).max(width(&table.columns[i]));
        let column = |i: usize| (widest(i) + 2).clamp(11, 30.min(self.columns - label));
        (label, (0..table.columns.len()).map(column).collect())
    }

    fn bars(&mut self, bars: &[Bar]) {
        let label = bars.iter().map(|b| width(&b.label)).max().unwrap_or(0).min(30.min(self.columns / 3));
        let value = bars.iter().map(|b| width(&b.value)).max().unwrap_or(0);
        let full = self.columns.saturating_sub(label + value + 5).clamp(8, LONGEST_BAR);
        for bar in bars {
            let drawn = bar.share.map_or_else(String::new, |share| blocks(share, full));
            let gap = if drawn.is_empty() { "" } else { " " };
            self.item(&format!("  {}  {drawn}{gap}", right(&bar.label, label)), &bar.value);
        }
    }

    fn beside(&mut self, report: &Report) {
        if report.beside.is_empty() {
            return;
        }
        self.heading("Compared with published results");
        self.item("  ", &published::common_conditions(report));
        for c in published::compared(&report.beside) {
            self.line("");
            self.item("  ", c.title);
            self.item("    published  ", &format!("{} ({})", c.published, c.source));
            for note in c.notes {
                self.item("    note       ", note);
            }
            let widest = |i: usize| c.measured.iter().map(|m| width(&m[i])).max().unwrap_or(0);
            let (dut, value, ratio) = (widest(0), widest(1), widest(2));
            for [name, rate, times, conditions] in &c.measured {
                let head = format!("{}  {}  {}  ", padded(name, dut), right(rate, value), right(times, ratio));
                let mark = "    measured   ";
                if width(mark) + width(&head) < self.columns * 3 / 4 {
                    self.item(&format!("{mark}{head}"), conditions);
                } else {
                    self.item(mark, &format!("{name} {rate} {times} {conditions}"));
                }
            }
        }
        self.line("");
        for d in &published::documents(&report.beside) {
            self.item("  ", d);
        }
    }

    fn judged(&mut self, report: &Report) {
        let j = &report.judged;
        if j.trials == 0 {
            return;
        }
        self.heading("Judge");
        self.item("  ", &facts::judged_in_words(j));
    }

    fn section(&mut self, title: &str, pairs: &[(&'static str, String)]) {
        if pairs.is_empty() {
            return;
        }
        self.heading(title);
        let widest = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        for (name, value) in pairs {
            self.item(&format!("  {}  ", padded(name, widest)), value);
        }
    }

    fn heading(&mut self, title: &str) {
        self.line(&format!("\n{title}\n{}", "─".repeat(width(title))));
    }

    /// A paragraph after a mark, wrapped at spaces and indented to its first word.
    fn item(&mut self, mark: &str, text: &str) {
        // A long mark stands alone, so that the text keeps a readable width.
        let indent = width(mark).min(self.columns / 3);
        let mut line = mark.to_owned();
        let mut empty = true;
        for word in words(text) {
            if !empty && width(&line) + 1 + width(&word) > self.columns
                || empty && width(&line) + width(&word) > self.columns && line.trim() != ""
            {
                self.line(&line);
                // A word that is longer than the rest of a line begins further left.
                line = " ".repeat(indent.min(self.columns.saturating_sub(width(&word))));
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word);
            empty = false;
        }
        if !empty {
            self.line(&line);
        }
    }
}

/// The words of a text; a unit stays with its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.starts_with('%') || ["k", "M", "G", "T", "ms", "s", "ns", "Mfps", "kfps"].contains(&word);
        match words.last_mut() {
            Some(last) if unit && last.ends_with(|c: char| c.is_ascii_digit() || c == ')') => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Length of a bar at most.
const LONGEST_BAR: usize = 44;

/// A bar of eighths of a character.
fn blocks(share: f64, full: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share.clamp(0.0, 1.0) * full as f64 * 8.0).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Columns on a terminal: every character that is printed here is one column wide.
fn width(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, to: usize) -> String {
    let cut: String = text.chars().take(to).collect();
    format!("{cut}{}", " ".repeat(to - width(&cut)))
}

/// Right-aligned in a column, truncated so that one space stays before it.
fn right(text: &str, to: usize) -> String {
    let cut: String = if width(text) > to {
        text.chars().take(to.saturating_sub(2)).chain(['…']).collect()
    } else {
        text.to_owned()
    };
    format!("{}{cut}", " ".repeat(to - width(&cut)))
}
