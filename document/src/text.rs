//! Plain text for a terminal of 60 to 200 columns, readable without colours: paragraphs, tables, bars.

mod glance;
mod report;

use crate::section::Pairs;
use crate::table::{Cell, MedianBar, Row, Table};
use std::fmt::Write;

pub use report::render;

/// Columns of a page at least.
pub const NARROWEST: usize = 60;
/// Columns at most.
pub const WIDEST: usize = 200;

/// Paragraphs and tables without a report, such as those of a sizing.
pub fn tables_only(paragraphs: &[String], tables: &[Table], columns: usize) -> String {
    let mut page = Page::new(columns);
    for paragraph in paragraphs {
        page.paragraph("", paragraph);
    }
    page.tables(tables);
    page.out
}

struct Block<'a> {
    label: usize,
    columns: &'a [usize],
    first: usize,
}

impl Block<'_> {
    fn cells<'r>(&self, row: &'r Row) -> impl Iterator<Item = &'r Cell> + use<'r> {
        row.cells[self.first..self.first + self.columns.len()].iter()
    }

    fn texts<'r>(&self, row: &'r Row) -> impl Iterator<Item = String> + use<'r> {
        self.cells(row).map(Cell::to_string)
    }
}

struct Page {
    out: String,
    columns: usize,
}

impl Page {
    fn new(columns: usize) -> Page {
        Page { out: String::new(), columns: columns.clamp(NARROWEST, WIDEST) }
    }

    fn tables(&mut self, tables: &[Table]) {
        for table in tables {
            self.line("");
            self.table(table, false);
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", text.trim_end());
    }

    /// A text at the left margin, and another one at the right, or below it if both do not fit.
    fn justified(&mut self, left: &str, right: &str) {
        let used = width(left) + width(right);
        if used < self.columns {
            let gap = self.columns - used;
            self.line(&format!("{left}{:gap$}{right}", ""));
        } else {
            self.paragraph("", left);
            self.paragraph("", right);
        }
    }

    /// Prints a table. `charts`: with the bars of each metric below its rows.
    fn table(&mut self, table: &Table, charts: bool) {
        self.paragraph("", &table.title);
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
            let names = table.columns[first..end].iter().map(|column| column.name.clone());
            self.row(table.axis, names, &block);
            for row in &table.parameters {
                self.row(&row.label, block.texts(row), &block);
            }
            self.line(&"─".repeat(used.min(self.columns)));
            for group in &table.groups {
                let rows: Vec<&Row> =
                    group.rows.iter().filter(|row| whole || block.cells(row).any(|cell| !cell.is_missing())).collect();
                if rows.is_empty() {
                    continue;
                }
                self.paragraph("", &group.title);
                for row in rows {
                    self.row(&format!("  {}", row.label), block.texts(row), &block);
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
            self.paragraph(&format!("[{}] ", i + 1), note);
        }
    }

    fn charts(&mut self, table: &Table) {
        for group in table.groups.iter().filter(|g| !g.bars.is_empty()) {
            self.line("");
            self.paragraph("", &group.title);
            self.bars(&group.bars);
        }
    }

    fn row(&mut self, label: &str, cells: impl Iterator<Item = String>, block: &Block) {
        let mut text = padded(label, block.label);
        for (cell, width) in cells.zip(block.columns) {
            text.push_str(&right(&cell, *width));
        }
        self.line(&text);
    }

    /// Widths of the labels and of each column, blanks between them included.
    fn widths(&self, table: &Table) -> (usize, Vec<usize>) {
        let rows = || table.all_rows();
        let label = rows().map(|row| width(&row.label) + 2).max().unwrap_or(0).max(width(table.axis));
        let label = label.clamp(20, 40.min(self.columns / 2));
        let cell = |row: &Row, i: usize| width(&row.cells[i].to_string());
        let widest = |i: usize| rows().map(|row| cell(row, i)).max().unwrap_or(0).max(width(&table.columns[i].name));
        // Few columns may be wide.
        let room = self.columns - label;
        let most = 30.min(room).max(room / table.columns.len().max(1));
        let column = |i: usize| (widest(i) + 2).clamp(11, most);
        (label, (0..table.columns.len()).map(column).collect())
    }

    fn bars(&mut self, bars: &[MedianBar]) {
        let label = bars.iter().map(|b| width(&b.label)).max().unwrap_or(0).min(30.min(self.columns / 3));
        let value = bars.iter().map(|b| width(&b.value.to_string())).max().unwrap_or(0);
        let full = self.columns.saturating_sub(label + value + 5).clamp(8, LONGEST_BAR);
        for bar in bars {
            let drawn = bar.share.map_or_else(String::new, |share| blocks(share, full));
            let gap = if drawn.is_empty() { "" } else { " " };
            self.paragraph(&format!("  {}  {drawn}{gap}", right(&bar.label, label)), &bar.value.to_string());
        }
    }

    /// Names with values below a heading; nothing without pairs.
    fn name_values(&mut self, Pairs { title, pairs, .. }: &Pairs) {
        if pairs.is_empty() {
            return;
        }
        self.heading(title);
        let widest = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        for (name, value) in pairs {
            self.paragraph(&format!("  {}  ", padded(name, widest)), value);
        }
    }

    /// An underlined heading after an empty line.
    fn heading(&mut self, title: &str) {
        self.line(&format!("\n{title}\n{}", "─".repeat(width(title))));
    }

    fn paragraphs(&mut self, mark: &str, texts: &[String]) {
        for text in texts {
            self.paragraph(mark, text);
        }
    }

    /// A paragraph after a mark, wrapped at spaces and indented to its first word.
    fn paragraph(&mut self, mark: &str, text: &str) {
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
