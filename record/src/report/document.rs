//! A report as parts with tables, for formats of other documents: Markdown, LaTeX, xml2rfc and plain text of an RFC. These have
//! the same tables as text and HTML, and further tables of conditions, doubts and comparisons.

use super::table::{Row, Table, tables};
use super::{Report, facts, published, section, terms};
use crate::folder::FactTable;
use std::ops::Range;

/// A report of parts.
pub(super) struct Document {
    /// Name of the run.
    pub title: String,
    /// The label: whether the procedure conforms, and the test bed.
    pub label: String,
    /// Paragraphs before the first part.
    pub about: Vec<String>,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

/// A part with its heading.
pub(super) struct Part {
    /// Its heading.
    pub title: String,
    /// Paragraphs before its tables.
    pub paragraphs: Vec<String>,
    /// Its tables.
    pub tables: Vec<Table>,
}

impl Document {
    /// Returns the document of a report.
    pub(super) fn of(report: &Report) -> Document {
        let part = |title: &str, tables: Vec<Table>| Part { title: title.to_owned(), paragraphs: Vec::new(), tables };
        let results = tables(report);
        let terms = pairs("Terms of the tables", "term", "meaning", &terms::of(&results));
        let conditions = pairs("Conditions of all measurements", "condition", "value", &facts::conditions(report));
        let limits = pairs("Tester, calibrated before the run", "limit", "value", &facts::limits(report));
        let mut parts = vec![
            part("Doubts", numbered("Doubts about the results", "doubt", &report.doubts)),
            part(
                "Departures",
                numbered("Departures of the procedure from the RFCs", "departure", &report.conformance.departures),
            ),
            part("Results", results),
            part("Terms", terms),
        ];
        let sections = section::ALL.iter().filter_map(|of| of(report)).filter(|section| !section.tables.is_empty());
        parts.extend(sections.map(|section| Part {
            title: section.title,
            paragraphs: vec![section.about],
            tables: section.tables,
        }));
        parts.extend([
            beside(report),
            part("Conditions", [conditions, limits].concat()),
            part("Self-test", self_test(report)),
            part("Facts", fact_tables(report)),
        ]);
        parts.retain(|part| !part.tables.is_empty());
        Document { title: report.run_name(), label: report.conformance.label.clone(), about: about(report), parts }
    }

    /// Returns the document with every text changed by a function, such as one that leaves ASCII only.
    pub(super) fn map(self, change: fn(&str) -> String) -> Document {
        let all = |texts: Vec<String>| texts.iter().map(|text| change(text)).collect::<Vec<_>>();
        let part = |part: Part| Part {
            title: change(&part.title),
            paragraphs: all(part.paragraphs),
            tables: part.tables.into_iter().map(|table| changed(table, change)).collect(),
        };
        Document {
            title: change(&self.title),
            label: change(&self.label),
            about: all(self.about),
            parts: self.parts.into_iter().map(part).collect(),
        }
    }
}

fn changed(mut table: Table, change: fn(&str) -> String) -> Table {
    let row = |row: &mut Row| {
        row.label = change(&row.label);
        row.cells.iter_mut().for_each(|cell| *cell = change(cell));
    };
    table.title = change(&table.title);
    table.columns.iter_mut().chain(&mut table.notes).for_each(|text| *text = change(text));
    table.parameters.iter_mut().for_each(row);
    for group in &mut table.groups {
        group.title = change(&group.title);
        group.rows.iter_mut().for_each(row);
    }
    table
}

/// Scenario, tester and the results in sentences.
fn about(report: &Report) -> Vec<String> {
    let header = &report.header;
    let build = report.facts.build().map_or_else(String::new, |build| format!(" Build: {build}."));
    let mut about = vec![header.scenario.about.clone()];
    about.push(format!(
        "Measured with natmeter {}, started {}; {}.{build}",
        header.version, header.started, report.conformance.label
    ));
    about.extend(report.sentences.iter().cloned());
    about.retain(|text| !text.trim().is_empty());
    about
}

/// A table of texts; no table without rows.
fn listed(title: &str, axis: &'static str, columns: &[&str], rows: Vec<(String, Vec<String>)>) -> Vec<Table> {
    if rows.is_empty() {
        return Vec::new();
    }
    vec![Table {
        title: title.to_owned(),
        axis,
        columns: columns.iter().map(|&column| column.to_owned()).collect(),
        parameters: rows.into_iter().map(|(label, cells)| Row { label, cells, strong: false }).collect(),
        groups: Vec::new(),
        notes: Vec::new(),
        same: Vec::new(),
    }]
}

fn pairs(title: &str, axis: &'static str, column: &str, pairs: &[(&'static str, String)]) -> Vec<Table> {
    let rows = pairs.iter().map(|(name, value)| ((*name).to_owned(), vec![value.clone()]));
    listed(title, axis, &[column], rows.collect())
}

fn numbered(title: &str, column: &str, items: &[String]) -> Vec<Table> {
    let rows = items.iter().enumerate().map(|(i, item)| ((i + 1).to_string(), vec![item.clone()]));
    listed(title, "no.", &[column], rows.collect())
}

/// The measured values beside the nearest published ones.
fn beside(report: &Report) -> Part {
    let table = |compared: published::Compared| {
        let rows = compared.measured.into_iter().map(|[device, cells @ ..]| (device, cells.into()));
        let columns = ["measured", "measured / published", "conditions"];
        let mut tables = listed(compared.title, "device", &columns, rows.collect());
        for table in &mut tables {
            table.notes.push(format!("Published: {} ({}).", compared.published, compared.source));
            table.notes.extend(compared.notes.iter().map(|note| (*note).to_owned()));
        }
        tables
    };
    let mut paragraphs = vec![published::common_conditions(report)];
    paragraphs.extend(published::documents(&report.beside));
    Part {
        title: "Compared with published results".to_owned(),
        paragraphs,
        tables: published::compared(&report.beside).into_iter().flat_map(table).collect(),
    }
}

fn self_test(report: &Report) -> Vec<Table> {
    let checks = report.self_test.iter().flat_map(|test| &test.checks);
    let rows = checks.map(|check| {
        // Few checks have an error, which needs no column.
        let measured = check.error.iter().fold(check.measured.clone(), |all, error| format!("{all}, error {error}"));
        (check.name.clone(), vec![check.truth.clone(), measured, check.verdict().to_owned()])
    });
    listed("Self-test against known truth", "check", &["injected", "measured", "verdict"], rows.collect())
}

fn fact_tables(report: &Report) -> Vec<Table> {
    let table = |title: &str, facts: &FactTable| {
        let rows = facts.iter().map(|(name, value)| (name.clone(), vec![value.clone()]));
        listed(title, "fact", &["value"], rows.collect())
    };
    let devices = report.facts.duts.iter().flat_map(|(name, facts)| table(&format!("Device {name}"), facts));
    table("Tester", &report.facts.tester).into_iter().chain(devices).collect()
}

/// A line of a table below its head.
pub(super) enum Line<'a> {
    /// Title of a metric, over all columns.
    Group(&'a str),
    /// A row.
    Row(&'a Row),
}

/// Columns of a table that fit side by side, with their row heads.
pub(super) struct Block {
    /// Width of the row heads, in characters.
    pub label: usize,
    /// The columns.
    pub columns: Range<usize>,
    /// Width of each of them.
    pub widths: Vec<usize>,
}

/// Longer cells of words wrap before their table is split.
const NARROWEST_WORDS: usize = 15;
/// Longer cells of numbers do so.
const NARROWEST_NUMBERS: usize = 11;
/// A longer cell holds words, which are left-aligned; others hold numbers.
const LONGEST_NUMBER: usize = 30;

impl Block {
    /// Splits the columns of a table into blocks of at most `room` characters; each column takes `between` further ones.
    pub(super) fn split(table: &Table, room: usize, between: usize) -> Vec<Block> {
        let label = rows(table).map(|row| count(&row.label)).max().unwrap_or(0).max(count(table.axis)).min(room / 3);
        let rest = room - label - between;
        let within = |width: usize| width.min(rest - between);
        let widths = (0..table.columns.len()).map(|column| widths(table, column));
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
    pub(super) fn lines<'t>(&self, table: &'t Table) -> Vec<Line<'t>> {
        let whole = self.columns.len() == table.columns.len();
        let shown = |row: &&Row| {
            whole || row.cells[self.columns.clone()].iter().any(|cell| !["–", "-", ""].contains(&cell.as_str()))
        };
        let mut lines: Vec<Line> = table.parameters.iter().filter(shown).map(Line::Row).collect();
        for group in &table.groups {
            let rows: Vec<&Row> = group.rows.iter().filter(shown).collect();
            if !rows.is_empty() {
                lines.push(Line::Group(&group.title));
                lines.extend(rows.into_iter().map(Line::Row));
            }
        }
        lines
    }

    /// Returns the title of this block of a table, with the numbers of its columns unless it has all of them.
    pub(super) fn title(&self, table: &Table) -> String {
        let all = table.columns.len();
        match self.columns.len() {
            n if n == all => table.title.clone(),
            1 => format!("{} (column {} of {all})", table.title, self.columns.end),
            _ => format!("{} (columns {} to {} of {all})", table.title, self.columns.start + 1, self.columns.end),
        }
    }

    /// Whether it is the last one of its table.
    pub(super) fn is_last(&self, table: &Table) -> bool {
        self.columns.end == table.columns.len()
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// The least width of a column, at which its head and long cells wrap between their words, and the width at which nothing wraps.
fn widths(table: &Table, column: usize) -> (usize, usize) {
    let longest_word = |text: &str| text.split_whitespace().map(count).max().unwrap_or(0);
    let head = &table.columns[column];
    let longest = |of: &dyn Fn(&str) -> usize| rows(table).map(|row| of(&row.cells[column])).max().unwrap_or(0);
    let longest_cell = longest(&count);
    let narrowest = if is_words(table, column) { NARROWEST_WORDS } else { NARROWEST_NUMBERS };
    let word = longest(&longest_word).min(LONGEST_NUMBER);
    let least = longest_cell.min(narrowest).max(word).max(longest_word(head));
    (least, longest_cell.max(count(head)))
}

fn rows(table: &Table) -> impl Iterator<Item = &Row> {
    table.groups.iter().flat_map(|group| &group.rows).chain(&table.parameters)
}

/// Whether a column holds words instead of numbers.
pub(super) fn is_words(table: &Table, column: usize) -> bool {
    ["doubt", "departure", "value", "meaning", "conditions"].contains(&table.columns[column].as_str())
        || rows(table).any(|row| count(&row.cells[column]) > LONGEST_NUMBER)
}

/// The parts of a text between backticks, alternately outside and inside; the last one is outside. An unpaired backtick is text.
pub(super) fn spans(text: &str) -> Vec<(bool, &str)> {
    if text.matches('`').count() % 2 == 1 {
        return vec![(false, text)];
    }
    text.split('`').enumerate().map(|(i, part)| (i % 2 == 1, part)).collect()
}

/// A text on one line, with single blanks.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of each block, and their widths.
    fn split(columns: &[&str], cells: &[&str], room: usize) -> Vec<(Range<usize>, Vec<usize>)> {
        let cells = cells.iter().map(|&cell| cell.to_owned()).collect();
        let table = listed("t", "label", columns, vec![("label".to_owned(), cells)]).remove(0);
        Block::split(&table, room, 3).into_iter().map(|block| (block.columns, block.widths)).collect()
    }

    #[test]
    fn columns_that_fit_stay_together_and_long_cells_wrap_first() {
        assert_eq!(split(&["a", "b"], &["1,000", "2"], 30), [(0..2, vec![5, 1])]);
        // 5 + 3 for the row heads; each column takes 12 + 3.
        let digits = ["123456789012"; 3];
        assert_eq!(split(&["a", "b", "c"], &digits, 38), [(0..2, vec![12, 12]), (2..3, vec![12])]);
        // "14.7 M, 14.4 M" wraps at 11.
        assert_eq!(split(&["a", "b"], &["14.7 M, 14.4 M"; 2], 40), [(0..2, vec![14, 12])]);
        assert_eq!(split(&["a", "b"], &["14.7 M, 14.4 M"; 2], 35), [(0..1, vec![14]), (1..2, vec![14])]);
        // Words get the room that numbers leave, and a long word does not make a table wider than a page.
        let words = "some words that need more than one line";
        assert_eq!(split(&["n", "value"], &["1", words], 40), [(0..2, vec![1, 25])]);
        assert_eq!(split(&["value"], &[&"x".repeat(90)], 40), [(0..1, vec![29])]);
    }

    #[test]
    fn code_is_between_paired_backticks() {
        assert_eq!(spans("a `b` c"), [(false, "a "), (true, "b"), (false, " c")]);
        assert_eq!(spans("a ` b"), [(false, "a ` b")]);
    }
}
