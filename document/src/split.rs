//! A table as texts, and its columns in blocks that fit a page.

use crate::table::{Cell, Row, Table};
use std::ops::Range;

pub(crate) struct Sheet {
    pub(crate) title: String,
    /// Name of the axis, then the columns.
    pub(crate) head: Vec<String>,
    /// Whether each column has words and no numbers.
    pub(crate) is_words: Vec<bool>,
    pub(crate) lines: Vec<Line>,
    pub(crate) notes: Vec<String>,
}

/// A line of a table below its head.
pub(crate) enum Line {
    /// Title of a group, over all columns.
    Group(String),
    Row(Texts),
}

pub(crate) struct Texts {
    pub(crate) label: String,
    pub(crate) cells: Vec<String>,
    is_blank: Vec<bool>,
    pub(crate) is_main: bool,
}

/// A longer cell holds words, which are left-aligned; others hold numbers.
const LONGEST_NUMBER: usize = 30;

impl Sheet {
    /// The texts of a table, each changed by a function, such as one that leaves ASCII only.
    pub(crate) fn of(table: &Table, change: fn(&str) -> String) -> Sheet {
        let row = |row: &Row| {
            Line::Row(Texts {
                label: change(&row.label),
                cells: row.cells.iter().map(|cell| change(&cell.to_string())).collect(),
                is_blank: row.cells.iter().map(Cell::is_blank).collect(),
                is_main: row.is_main(),
            })
        };
        let mut lines: Vec<Line> = table.parameters.iter().map(row).collect();
        for group in &table.groups {
            lines.push(Line::Group(change(&group.title)));
            lines.extend(group.rows.iter().map(row));
        }
        let names = table.columns.iter().map(|column| column.name.as_str());
        let mut sheet = Sheet {
            title: change(&table.title),
            head: std::iter::once(table.axis).chain(names).map(change).collect(),
            is_words: Vec::new(),
            notes: table.notes.iter().map(|note| change(note)).collect(),
            lines,
        };
        let is_long = |at: usize| sheet.rows().any(|row| count(&row.cells[at]) > LONGEST_NUMBER);
        sheet.is_words = table.columns.iter().enumerate().map(|(at, column)| column.is_words || is_long(at)).collect();
        sheet
    }

    fn rows(&self) -> impl Iterator<Item = &Texts> {
        self.lines.iter().filter_map(|line| if let Line::Row(row) = line { Some(row) } else { None })
    }

    fn columns(&self) -> usize {
        self.head.len() - 1
    }

    /// The least width of a column, at which its head and long cells wrap between their words, and the width at which nothing
    /// wraps.
    fn widths(&self, column: usize) -> (usize, usize) {
        let longest_word = |text: &str| text.split_whitespace().map(count).max().unwrap_or(0);
        let head = &self.head[column + 1];
        let longest = |of: &dyn Fn(&str) -> usize| self.rows().map(|row| of(&row.cells[column])).max().unwrap_or(0);
        let longest_cell = longest(&count);
        let narrowest = if self.is_words[column] { NARROWEST_WORDS } else { NARROWEST_NUMBERS };
        let word = longest(&longest_word).min(LONGEST_NUMBER);
        let least = longest_cell.min(narrowest).max(word).max(longest_word(head));
        (least, longest_cell.max(count(head)))
    }
}

/// Columns of a table that fit side by side, with their row heads.
pub(crate) struct Block {
    pub(crate) label: usize,
    pub(crate) columns: Range<usize>,
    pub(crate) widths: Vec<usize>,
}

/// Longer cells of words wrap before their table is split.
const NARROWEST_WORDS: usize = 15;
/// Longer cells of numbers do so.
const NARROWEST_NUMBERS: usize = 11;

impl Block {
    pub(crate) fn whole(sheet: &Sheet) -> Block {
        Block { label: 0, columns: 0..sheet.columns(), widths: Vec::new() }
    }

    /// Splits the columns of a table into blocks of at most `room` characters; each column takes `between` further ones.
    pub(crate) fn split(sheet: &Sheet, room: usize, between: usize) -> Vec<Block> {
        let label =
            sheet.rows().map(|row| count(&row.label)).max().unwrap_or(0).max(count(&sheet.head[0])).min(room / 3);
        let rest = room - label - between;
        let within = |width: usize| width.min(rest - between);
        let widths = (0..sheet.columns()).map(|column| sheet.widths(column));
        let widths: Vec<(usize, usize)> = widths.map(|(least, whole)| (within(least), within(whole))).collect();
        let mut blocks = Vec::new();
        let mut first = 0;
        while first < widths.len() {
            let (mut used, mut end) = (0, first);
            while end < widths.len() && (end == first || used + widths[end].0 + between <= rest) {
                used += widths[end].0 + between;
                end += 1;
            }
            let mut spare = rest.saturating_sub(used);
            let given = widths[first..end].iter().map(|(least, whole)| {
                let more = spare.min(whole - least);
                spare -= more;
                least + more
            });
            blocks.push(Block { label, columns: first..end, widths: given.collect() });
            first = end;
        }
        blocks
    }

    /// Returns the lines of a table that have a value in these columns.
    pub(crate) fn lines<'s>(&self, sheet: &'s Sheet) -> Vec<&'s Line> {
        let whole = self.columns.len() == sheet.columns();
        let is_shown = |line: &&Line| match line {
            Line::Group(_) => true,
            Line::Row(row) => whole || row.is_blank[self.columns.clone()].contains(&false),
        };
        let mut lines: Vec<&Line> = Vec::new();
        for line in sheet.lines.iter().filter(is_shown) {
            // A group without a row is left out.
            if let (Line::Group(_), Some(Line::Group(_))) = (line, lines.last()) {
                lines.pop();
            }
            lines.push(line);
        }
        if let Some(Line::Group(_)) = lines.last() {
            lines.pop();
        }
        lines
    }

    /// Returns the title of this block of a table, with the numbers of its columns unless it has all of them.
    pub(crate) fn title(&self, sheet: &Sheet) -> String {
        let all = sheet.columns();
        match self.columns.len() {
            n if n == all => sheet.title.clone(),
            1 => format!("{} (column {} of {all})", sheet.title, self.columns.end),
            _ => format!("{} (columns {} to {} of {all})", sheet.title, self.columns.start + 1, self.columns.end),
        }
    }

    pub(crate) fn is_last(&self, sheet: &Sheet) -> bool {
        self.columns.end == sheet.columns()
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// The parts of a text between backticks, alternately outside and inside; the last one is outside. An unpaired backtick is text.
pub(crate) fn spans(text: &str) -> Vec<(bool, &str)> {
    if text.matches('`').count() % 2 == 1 {
        return vec![(false, text)];
    }
    text.split('`').enumerate().map(|(i, part)| (i % 2 == 1, part)).collect()
}

/// A text whose code and other parts are changed, each by its own function.
pub(crate) fn with_code(text: &str, code: fn(&str) -> String, plain: fn(&str) -> String) -> String {
    spans(text).into_iter().map(|(is_code, part)| if is_code { code(part) } else { plain(part) }).collect()
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, row};

    /// The columns of each block, and their widths.
    fn split(columns: Vec<Column>, cells: &[&str], room: usize) -> Vec<(Range<usize>, Vec<usize>)> {
        let table = Table::new("t", "label", columns).with_parameters([row("label", cells.iter().copied())]);
        let blocks = Block::split(&Sheet::of(&table, str::to_owned), room, 3);
        blocks.into_iter().map(|block| (block.columns, block.widths)).collect()
    }

    #[test]
    fn columns_that_fit_stay_together_and_long_cells_wrap_first() {
        let numbers = |names: &[&str]| names.iter().map(|&name| Column::from(name)).collect::<Vec<_>>();
        assert_eq!(split(numbers(&["a", "b"]), &["1,000", "2"], 30), [(0..2, vec![5, 1])]);
        // 5 + 3 for the row heads; each column takes 12 + 3.
        let digits = ["123456789012"; 3];
        assert_eq!(split(numbers(&["a", "b", "c"]), &digits, 38), [(0..2, vec![12, 12]), (2..3, vec![12])]);
        // "14.7 M, 14.4 M" wraps at 11.
        let rates = ["14.7 M, 14.4 M"; 2];
        assert_eq!(split(numbers(&["a", "b"]), &rates, 40), [(0..2, vec![14, 12])]);
        assert_eq!(split(numbers(&["a", "b"]), &rates, 35), [(0..1, vec![14]), (1..2, vec![14])]);
        // Words get the room that numbers leave, and a long word does not make a table wider than a page.
        let words = "some words that need more than one line";
        assert_eq!(split(vec!["n".into(), Column::of_words("value")], &["1", words], 40), [(0..2, vec![1, 25])]);
        assert_eq!(split(vec![Column::of_words("value")], &[&"x".repeat(90)], 40), [(0..1, vec![29])]);
    }

    #[test]
    fn code_is_between_paired_backticks() {
        assert_eq!(spans("a `b` c"), [(false, "a "), (true, "b"), (false, " c")]);
        assert_eq!(spans("a ` b"), [(false, "a ` b")]);
    }
}
