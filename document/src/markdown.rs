//! The report as Markdown (CommonMark with the tables of GitHub), for issues, wikis and pull requests.

use crate::report::Document;
use crate::split::{Block, Line, Sheet, Texts, one_line, spans};
use std::fmt::Write;

/// Returns a document as Markdown.
pub fn render(document: &Document) -> String {
    let mut out = format!("# {}\n\n**{}**\n", heading(&document.title), heading(&document.label));
    paragraphs(&mut out, &document.paragraphs());
    for part in document.parts() {
        let _ = write!(out, "\n## {}\n", heading(&part.title));
        paragraphs(&mut out, &part.paragraphs);
        for table in &part.tables {
            print(&mut out, &Sheet::of(table, one_line));
        }
    }
    out
}

fn heading(text: &str) -> String {
    escaped(&one_line(text))
}

fn paragraphs(out: &mut String, paragraphs: &[String]) {
    for paragraph in paragraphs {
        let _ = write!(out, "\n{}\n", prose(&one_line(paragraph)));
    }
}

fn print(out: &mut String, sheet: &Sheet) {
    let _ = write!(out, "\n### {}\n\n|", escaped(&sheet.title));
    for head in &sheet.head {
        let _ = write!(out, " {} |", escaped(head));
    }
    out.push_str("\n| :--- |");
    for &is_words in &sheet.is_words {
        out.push_str(if is_words { " :--- |" } else { " ---: |" });
    }
    out.push('\n');
    for line in Block::whole(sheet).lines(sheet) {
        match line {
            Line::Group(title) => {
                let _ = writeln!(out, "| **{}** |{}", escaped(title), " |".repeat(sheet.is_words.len()));
            }
            Line::Row(row) => print_row(out, row),
        }
    }
    if !sheet.notes.is_empty() {
        out.push('\n');
    }
    for (i, note) in sheet.notes.iter().enumerate() {
        let _ = writeln!(out, "- \\[{}\\] {}", i + 1, prose(note));
    }
}

fn print_row(out: &mut String, row: &Texts) {
    let strong = if row.is_main { "**" } else { "" };
    let _ = write!(out, "| {strong}{}{strong} |", escaped(&row.label));
    for cell in &row.cells {
        let shown = prose(cell);
        // Nothing is between the stars of an empty cell.
        let strong = if cell.is_empty() { "" } else { strong };
        let _ = write!(out, " {strong}{shown}{strong} |");
    }
    out.push('\n');
}

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
