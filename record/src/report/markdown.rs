//! The report as Markdown (CommonMark with the tables of GitHub), for issues, wikis and pull requests.

use super::document::{Document, Line, is_words, one_line, spans};
use super::table::{Row, Table};
use super::{Format, Report};
use std::fmt::Write;

/// Markdown with tables.
pub(super) const FORMAT: Format =
    Format { name: "markdown", extension: "md", about: "tables for an issue, a wiki or a pull request", render };

fn render(report: &Report) -> String {
    let document = Document::of(report).map(one_line);
    let mut out = format!("# {}\n\n**{}**\n", escaped(&document.title), escaped(&document.label));
    paragraphs(&mut out, &document.about);
    for part in &document.parts {
        let _ = write!(out, "\n## {}\n", escaped(&part.title));
        paragraphs(&mut out, &part.paragraphs);
        for table in &part.tables {
            print(&mut out, table);
        }
    }
    out
}

fn paragraphs(out: &mut String, paragraphs: &[String]) {
    for paragraph in paragraphs {
        let _ = write!(out, "\n{}\n", prose(paragraph));
    }
}

fn print(out: &mut String, table: &Table) {
    let _ = write!(out, "\n### {}\n\n| {} |", escaped(&table.title), escaped(table.axis));
    for column in &table.columns {
        let _ = write!(out, " {} |", escaped(column));
    }
    out.push_str("\n| :--- |");
    for column in 0..table.columns.len() {
        out.push_str(if is_words(table, column) { " :--- |" } else { " ---: |" });
    }
    out.push('\n');
    let groups = table.groups.iter().flat_map(|group| {
        let rows = group.rows.iter().map(Line::Row);
        [Line::Group(&group.title)].into_iter().chain(rows)
    });
    for line in table.parameters.iter().map(Line::Row).chain(groups) {
        match line {
            Line::Group(title) => {
                let _ = writeln!(out, "| **{}** |{}", escaped(title), " |".repeat(table.columns.len()));
            }
            Line::Row(row) => print_row(out, row),
        }
    }
    if !table.notes.is_empty() {
        out.push('\n');
    }
    for (i, note) in table.notes.iter().enumerate() {
        let _ = writeln!(out, "- \\[{}\\] {}", i + 1, prose(note));
    }
}

fn print_row(out: &mut String, row: &Row) {
    let strong = if row.strong { "**" } else { "" };
    let _ = write!(out, "| {strong}{}{strong} |", escaped(&row.label));
    for cell in &row.cells {
        let shown = prose(cell);
        // Nothing is between the stars of an empty cell.
        let strong = if cell.is_empty() { "" } else { strong };
        let _ = write!(out, " {strong}{shown}{strong} |");
    }
    out.push('\n');
}

/// A text with its code spans.
fn prose(text: &str) -> String {
    let plain = |code: &str| code.trim().is_empty() || code.contains(['|', '\\']);
    if spans(text).iter().any(|(is_code, part)| *is_code && plain(part)) {
        return escaped(text);
    }
    spans(text).into_iter().map(|(is_code, part)| if is_code { format!("`{part}`") } else { escaped(part) }).collect()
}

/// A text whose characters mean nothing to Markdown. Digits and signs that begin a list do so only at the start of a line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let number = text.chars().take_while(char::is_ascii_digit).count();
    for (at, c) in text.char_indices() {
        let begins_list = at == 0 && "+-=".contains(c) || at == number && at > 0 && ".)".contains(c);
        if begins_list || "\\`*_[]<>|&~#!$@".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
