//! The tables of a page: results, terms, published values, and those of single procedures.

use super::{Page, about, e, list, pairs};
use crate::report::table::{Row, Table, tables};
use crate::report::{Report, published, terms};
use std::fmt::Write;

/// Writes all tables.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    let report = page.report;
    let tables = tables(report);
    if !tables.is_empty() {
        out.push_str("<h3>Results</h3>\n");
        of_results(out, &tables);
    }
    pairs(out, "Terms", terms::of(&tables));
    beside(out, report);
    for section in &page.sections {
        // The text of a section with figures stands beside these.
        if section.figures.is_empty() || !section.tables.is_empty() {
            let _ = writeln!(out, "<h3>{}</h3>", e(&section.title));
        }
        if section.figures.is_empty() {
            about(out, report, &section.about);
        }
        of_results(out, &section.tables);
    }
}

/// Starts a table that a small screen scrolls sideways, also by keyboard.
fn begin(out: &mut String, name: &str) {
    let _ =
        writeln!(out, "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Table: {}\"><table>", e(name));
}

/// Largest number of characters in a row of a table that leaves room for another one beside it.
const SLIM: usize = 58;
/// Largest number of columns of a table that needs no small letters on paper.
const BROAD: usize = 8;

/// Tables; slim ones stand side by side where there is room.
pub(super) fn of_results(out: &mut String, tables: &[Table]) {
    for same in tables.chunk_by(|a, b| is_slim(a) == is_slim(b)) {
        let _ =
            writeln!(out, "<div class=\"{}\">", if same.first().is_some_and(is_slim) { "slim" } else { "wide-tables" });
        for table in same {
            let broad = if table.columns.len() > BROAD { " broad" } else { "" };
            let _ = writeln!(out, "<div class=\"with-notes{broad}\">");
            of_result(out, table);
            out.push_str("</div>\n");
        }
        out.push_str("</div>\n");
    }
}

fn is_slim(table: &Table) -> bool {
    let rows = || table.parameters.iter().chain(table.groups.iter().flat_map(|group| &group.rows));
    let longest = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let label = longest(&mut rows().map(|row| row.label.as_str()).chain([table.axis]));
    // The words of a heading can stand below each other.
    let column = |(at, heading): (usize, &String)| {
        let cells = rows().filter_map(|row| row.cells.get(at)).map(String::as_str);
        longest(&mut cells.chain(heading.split(' '))) + 2
    };
    label + table.columns.iter().enumerate().map(column).sum::<usize>() <= SLIM
}

fn of_result(out: &mut String, table: &Table) {
    begin(out, &table.title);
    let _ = write!(
        out,
        "<caption>{}</caption>\n<thead><tr><th scope=\"col\" class=\"words\">{}</th>",
        e(&table.title),
        e(table.axis)
    );
    for column in &table.columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", e(column));
    }
    out.push_str("</tr></thead>\n");
    if !table.parameters.is_empty() {
        out.push_str("<tbody>\n");
        table.parameters.iter().for_each(|row| of_row(out, row));
        out.push_str("</tbody>\n");
    }
    for group in &table.groups {
        let span = table.columns.len() + 1;
        let _ = writeln!(out, "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"{span}\">{}</th></tr>", e(&group.title));
        group.rows.iter().for_each(|row| of_row(out, row));
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n");
    let notes: Vec<String> = table.notes.iter().enumerate().map(|(i, note)| format!("[{}] {note}", i + 1)).collect();
    list(out, "notes", &notes);
}

fn of_row(out: &mut String, row: &Row) {
    let class = if row.strong { " class=\"strong\"" } else { "" };
    let _ = write!(out, "<tr{class}><th scope=\"row\">{}</th>", e(&row.label));
    for cell in &row.cells {
        let _ = write!(out, "<td>{}</td>", e(cell));
    }
    out.push_str("</tr>\n");
}

fn beside(out: &mut String, report: &Report) {
    if report.beside.is_empty() {
        return;
    }
    let conditions = published::common_conditions(report);
    let _ = writeln!(out, "<h3>Compared with published results</h3>\n<p>{}</p>", e(&conditions));
    for c in published::compared(&report.beside) {
        let _ = writeln!(
            out,
            "<h4>{}</h4>\n<p>Published: {} <span class=\"meta\">({})</span></p>",
            e(c.title),
            e(&c.published),
            e(&c.source)
        );
        for note in c.notes {
            let _ = writeln!(out, "<p class=\"meta\">{}</p>", e(note));
        }
        let rows: Vec<Vec<&str>> = c.measured.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        simple(out, c.title, &["device", "measured", "measured / published", "conditions"], "conditions", &rows);
    }
    list(out, "notes", &published::documents(&report.beside));
}

/// A table of a heading and rows. The first column names the row; the one called `words` has sentences.
pub(super) fn simple(out: &mut String, name: &str, heading: &[&str], words: &str, rows: &[Vec<&str>]) {
    begin(out, name);
    out.push_str("<thead><tr>");
    let class = |at: usize| if at == 0 || heading[at] == words { " class=\"words\"" } else { "" };
    for (at, column) in heading.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(at), e(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let _ = match at {
                0 => write!(out, "<th scope=\"row\">{}</th>", e(cell)),
                _ => write!(out, "<td{}>{}</td>", class(at), e(cell)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}
