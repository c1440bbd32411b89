//! The report as plain text of an RFC: ASCII, 72 columns, tables as xml2rfc draws them. A wide table is split by columns, and each
//! part repeats the row heads.

use crate::ascii::ascii;
use crate::report::Document;
use crate::split::{Block, Line, Sheet};
use std::fmt::Write;

/// Columns of a line (RFC 7994, section 4.3).
const COLUMNS: usize = 72;
const INDENT: &str = "   ";

/// Returns a document as plain text of an RFC.
pub fn render(document: &Document) -> String {
    let mut page = Page::default();
    page.wrap("", &ascii(&document.title));
    for paragraph in document.paragraphs() {
        page.paragraph(&paragraph);
    }
    let mut tables = 0;
    for (i, part) in document.parts().iter().enumerate() {
        page.line("");
        page.wrap("", &format!("{}. {}", i + 1, ascii(&part.title)));
        for paragraph in &part.paragraphs {
            page.paragraph(paragraph);
        }
        for sheet in part.tables.iter().map(|table| Sheet::of(table, ascii)) {
            for block in Block::split(&sheet, COLUMNS - INDENT.len() - 1, BORDER) {
                tables += 1;
                page.table(&sheet, &block, tables);
            }
        }
    }
    page.out
}

/// What a column takes beside its text: a border and two blanks.
pub(crate) const BORDER: usize = 3;

#[derive(Default)]
struct Page {
    out: String,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn paragraph(&mut self, text: &str) {
        self.line("");
        self.wrap(INDENT, &ascii(text));
    }

    /// A text after a mark, wrapped and indented to its first word.
    fn wrap(&mut self, mark: &str, text: &str) {
        let blanks = " ".repeat(mark.len());
        for (i, line) in wrapped(text, COLUMNS - mark.len()).iter().enumerate() {
            let mark = if i == 0 { mark } else { &blanks };
            self.line(&format!("{mark}{line}"));
        }
    }

    fn table(&mut self, sheet: &Sheet, block: &Block, number: usize) {
        self.line("");
        self.rule(block, '=');
        self.row(sheet, block, &sheet.head[0], &sheet.head[1..]);
        self.rule(block, '=');
        for line in block.lines(sheet) {
            match line {
                Line::Row(row) => self.row(sheet, block, &row.label, &row.cells),
                Line::Group(title) => {
                    self.rule(block, '-');
                    let width = block.widths.iter().map(|width| width + BORDER).sum::<usize>() + block.label;
                    for text in wrapped(title, width) {
                        self.line(&format!("{INDENT}| {text:width$} |"));
                    }
                    self.rule(block, '-');
                }
            }
        }
        self.rule(block, '-');
        self.line("");
        self.wrap(INDENT, &format!("Table {number}: {}", block.title(sheet)));
        if block.is_last(sheet) && !sheet.notes.is_empty() {
            self.line("");
            for (i, note) in sheet.notes.iter().enumerate() {
                self.wrap(&format!("{INDENT}[{}] ", i + 1), note);
            }
        }
    }

    fn rule(&mut self, block: &Block, sign: char) {
        let widths = std::iter::once(&block.label).chain(&block.widths);
        let columns: Vec<String> = widths.map(|width| sign.to_string().repeat(width + 2)).collect();
        self.line(&format!("{INDENT}+{}+", columns.join("+")));
    }

    fn row(&mut self, sheet: &Sheet, block: &Block, label: &str, cells: &[String]) {
        let label = wrapped(label, block.label);
        let cells = block
            .columns
            .clone()
            .zip(&block.widths)
            .map(|(column, width)| (sheet.is_words[column], *width, wrapped(&cells[column], *width)));
        let cells: Vec<(bool, usize, Vec<String>)> = cells.collect();
        let lines = cells.iter().map(|(_, _, lines)| lines.len()).chain([label.len()]).max().unwrap_or(1).max(1);
        for i in 0..lines {
            let text = |lines: &[String]| lines.get(i).cloned().unwrap_or_default();
            let mut line = format!("{INDENT}| {:width$} |", text(&label), width = block.label);
            for (is_words, width, lines) in &cells {
                let text = text(lines);
                let _ = if *is_words { write!(line, " {text:width$} |") } else { write!(line, " {text:>width$} |") };
            }
            self.line(&line);
        }
    }
}

/// The lines of a text of at most `columns` characters. A longer word continues on the next line.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let mut rest = word;
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= columns => {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            _ => {}
        }
        while rest.len() > columns {
            let (head, tail) = rest.split_at(columns);
            lines.push(head.to_owned());
            rest = tail;
        }
        lines.push(rest.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_and_long_ones_continue() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a 1234567890 b", 4), ["a", "1234", "5678", "90 b"]);
        assert_eq!(wrapped("  ", 4), Vec::<String>::new());
    }
}
