//! The report as plain text of at most 100 columns, readable without colours.

use super::facts::{conditions, limits};
use super::table::{Bar, Row, Table, tables};
use super::{Format, Report, facts, published, terms};
use std::fmt::Write;

/// Plain text for a terminal or a mail.
pub(super) const FORMAT: Format =
    Format { name: "text", extension: "txt", about: "tables and bars for a terminal", render };

/// Maximum length of a line.
pub(super) const WIDTH: usize = 100;
const BAR: usize = 44;

/// The whole report.
fn render(report: &Report) -> String {
    let mut out = String::new();
    head(&mut out, report);
    let tables = tables(report);
    for table in &tables {
        out.push('\n');
        print(&mut out, table);
    }
    beside(&mut out, report);
    section(&mut out, "Terms", &terms::of(&tables));
    section(&mut out, "Conditions", &conditions(report));
    section(&mut out, "Tester, calibrated before the run", &limits(report));
    judged(&mut out, report);
    if !report.doubts.is_empty() {
        heading(&mut out, "Doubts");
        for doubt in &report.doubts {
            item(&mut out, "! ", doubt);
        }
    }
    out.push('\n');
    for sentence in &report.sentences {
        item(&mut out, "", sentence);
    }
    out
}

fn head(out: &mut String, report: &Report) {
    let header = &report.header;
    let label = format!("[{}]", report.conformance.label);
    let name = report.run_name();
    let gap = WIDTH.saturating_sub(width(&name) + width(&label)).max(1);
    let _ = writeln!(out, "{name}{:gap$}{label}", "");
    item(out, "", &header.scenario.about);
    let _ = writeln!(out, "natmeter {}, started {}", header.version, header.started);
    if let Some(build) = report.facts.build() {
        item(out, "", &format!("Build: {build}"));
    }
    for departure in &report.conformance.departures {
        item(out, "- ", departure);
    }
    for missing in facts::missing(report) {
        item(out, "", &missing);
    }
}

fn print(out: &mut String, table: &Table) {
    let _ = writeln!(out, "{}\n{}", table.title, "═".repeat(width(&table.title).min(WIDTH)));
    let (label, column) = widths(table);
    // Columns that do not fit go into a second block.
    let fit = (WIDTH - label) / column;
    for first in (0..table.columns.len()).step_by(fit) {
        let range = first..table.columns.len().min(first + fit);
        let rule = "─".repeat(label + column * range.len());
        let line = |out: &mut String, row: &Row| {
            let _ = write!(out, "{}", padded(&row.label, label));
            for cell in &row.cells[range.clone()] {
                let _ = write!(out, "{}", right(cell, column));
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        };
        line(out, &Row { label: table.axis.to_owned(), cells: table.columns.clone(), strong: true });
        for row in &table.parameters {
            line(out, row);
        }
        for group in &table.groups {
            let _ = writeln!(out, "{rule}\n{}", group.title);
            for row in &group.rows {
                line(out, &Row { label: format!("  {}", row.label), ..row.clone() });
            }
        }
        let _ = writeln!(out, "{rule}");
    }
    for (i, note) in table.notes.iter().enumerate() {
        item(out, &format!("[{}] ", i + 1), note);
    }
    for group in table.groups.iter().filter(|g| !g.bars.is_empty()) {
        let _ = writeln!(out, "\n{}", group.title);
        for bar in &group.bars {
            bar_line(out, bar, &group.bars);
        }
    }
}

/// Widths of the labels and of each column, blanks between them included.
fn widths(table: &Table) -> (usize, usize) {
    let rows = || table.groups.iter().flat_map(|g| &g.rows).chain(&table.parameters);
    let label = rows().map(|row| width(&row.label) + 2).max().unwrap_or(0).max(width(table.axis));
    let cells = rows().flat_map(|row| &row.cells).chain(&table.columns);
    let column = cells.map(|cell| width(cell)).max().unwrap_or(0);
    (label.clamp(20, 40), (column + 2).clamp(11, 30))
}

fn bar_line(out: &mut String, bar: &Bar, all: &[Bar]) {
    let label = all.iter().map(|b| width(&b.label)).max().unwrap_or(0).min(30);
    let drawn = bar.share.map_or_else(String::new, |share| blocks(share, BAR));
    let gap = if drawn.is_empty() { "" } else { " " };
    let _ = writeln!(out, "  {}  {drawn}{gap}{}", right(&bar.label, label), bar.value);
}

/// A bar of eighths of a character.
fn blocks(share: f64, full: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share.clamp(0.0, 1.0) * full as f64 * 8.0).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn beside(out: &mut String, report: &Report) {
    if report.beside.is_empty() {
        return;
    }
    heading(out, "Compared with published results");
    item(out, "  ", &published::common_conditions(report));
    for c in published::compared(&report.beside) {
        let _ = writeln!(out, "\n  {}", c.title);
        item(out, "    published  ", &format!("{} ({})", c.published, c.source));
        for note in c.notes {
            item(out, "    note       ", note);
        }
        let widest = |i: usize| c.measured.iter().map(|m| width(&m[i])).max().unwrap_or(0);
        let (dut, value, ratio) = (widest(0), widest(1), widest(2));
        for [name, rate, times, conditions] in &c.measured {
            let head = format!("{}  {}  {}  ", padded(name, dut), right(rate, value), right(times, ratio));
            item(out, &format!("    measured   {head}"), conditions);
        }
    }
    out.push('\n');
    for d in &published::documents(&report.beside) {
        item(out, "  ", d);
    }
}

fn judged(out: &mut String, report: &Report) {
    let j = &report.judged;
    if j.trials == 0 {
        return;
    }
    heading(out, "Judge");
    item(out, "  ", &facts::judged_in_words(j));
}

fn section(out: &mut String, title: &str, pairs: &[(&'static str, String)]) {
    if pairs.is_empty() {
        return;
    }
    heading(out, title);
    let widest = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    for (name, value) in pairs {
        item(out, &format!("  {}  ", padded(name, widest)), value);
    }
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{title}\n{}", "─".repeat(width(title)));
}

/// A paragraph after a mark, wrapped at spaces and indented to its first word.
fn item(out: &mut String, mark: &str, text: &str) {
    let indent = " ".repeat(width(mark));
    let mut line = mark.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && width(&line) + 1 + width(word) > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line.clone_from(&indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    if !empty {
        let _ = writeln!(out, "{}", line.trim_end());
    }
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
