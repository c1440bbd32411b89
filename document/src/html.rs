//! Pages in HTML: paragraphs, lists, pairs, tables and figures. A page needs no network and no script, follows the light or dark
//! setting of the browser, and works with screen readers, on small screens and on paper.

mod report;

use crate::section::{Figure, Pairs};
use crate::split::with_code;
pub use crate::svg::escaped;
use crate::table::{Column, Row, Table};
use escaped as e;
use std::fmt::Write;

pub use report::{SURE, render};

const STYLE: &str = include_str!("report.css");

/// A page of paragraphs, figures and tables without a report, such as that of a sizing.
pub fn page(title: &str, paragraphs: &[String], figures: &[Figure], tables: &[Table]) -> String {
    let mut out = begin(title, "");
    let _ = writeln!(out, "<header>\n<h1>{}</h1>\n</header>\n<main>", e(title));
    for paragraph in paragraphs {
        self::paragraph(&mut out, "", paragraph);
    }
    self::figures(&mut out, figures);
    self::tables(&mut out, tables);
    out + END
}

/// `head`: further elements of the head.
fn begin(title: &str, head: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{head}\
         <title>{} · natmeter</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        e(title)
    )
}

const END: &str = "</main>\n</body>\n</html>\n";

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h3>{}</h3>", e(text));
}

/// A paragraph of a class, if it has one.
pub fn paragraph(out: &mut String, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(out, "<p{class}>{}</p>", prose(text));
}

/// A list of a class; nothing without items.
pub fn list(out: &mut String, class: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(out, "<ul class=\"{class}\">");
        for item in items {
            let _ = writeln!(out, "<li>{}</li>", prose(item));
        }
        out.push_str("</ul>\n");
    }
}

/// A sentence; text between backticks becomes `<code>`.
pub fn prose(text: &str) -> String {
    with_code(text, |code| format!("<code>{}</code>", e(code)), escaped)
}

/// Pairs of name and value under a heading of the third level; nothing without pairs.
fn pairs(out: &mut String, Pairs { title, pairs, .. }: &Pairs) {
    if pairs.is_empty() {
        return;
    }
    heading(out, title);
    out.push_str("<dl>\n");
    for (name, value) in pairs {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", e(name), prose(value));
    }
    out.push_str("</dl>\n");
}

/// Largest number of characters in a row of a table that leaves room for another one beside it.
const SLIM: usize = 58;
/// Largest number of columns of a table that needs no small letters on paper.
const BROAD: usize = 8;

/// Tables; slim ones stand side by side where there is room.
pub fn tables(out: &mut String, tables: &[Table]) {
    for same in tables.chunk_by(|a, b| is_slim(a) == is_slim(b)) {
        let _ =
            writeln!(out, "<div class=\"{}\">", if same.first().is_some_and(is_slim) { "slim" } else { "wide-tables" });
        for table in same {
            let broad = if table.columns.len() > BROAD { " broad" } else { "" };
            let _ = writeln!(out, "<div class=\"with-notes{broad}\">");
            self::table(out, table);
            out.push_str("</div>\n");
        }
        out.push_str("</div>\n");
    }
}

fn is_slim(table: &Table) -> bool {
    let count = |text: &str| text.chars().count();
    let label = table.all_rows().map(|row| count(&row.label)).max().unwrap_or(0).max(count(table.axis));
    let column = |at: usize| {
        let cells = table.all_rows().filter_map(|row| row.cells.get(at)).map(|cell| count(&cell.to_string()));
        // The words of a heading can stand below each other.
        cells.chain(table.columns[at].name.split(' ').map(count)).max().unwrap_or(0) + 2
    };
    label + (0..table.columns.len()).map(column).sum::<usize>() <= SLIM
}

fn table(out: &mut String, table: &Table) {
    body(out, table, &format!("<caption>{}</caption>\n", e(&table.title)));
    let notes: Vec<String> = table.notes.iter().enumerate().map(|(i, note)| format!("[{}] {note}", i + 1)).collect();
    list(out, "notes", &notes);
}

/// A table without caption and notes, which the page has.
fn simple(out: &mut String, table: &Table) {
    body(out, table, "");
}

/// Writes a table that a small screen scrolls sideways, also by keyboard.
fn body(out: &mut String, table: &Table, caption: &str) {
    let _ = writeln!(
        out,
        "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Table: {}\"><table>",
        e(&table.title)
    );
    let _ = write!(out, "{caption}<thead><tr><th scope=\"col\" class=\"words\">{}</th>", e(table.axis));
    for column in &table.columns {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class_of(column), e(&column.name));
    }
    out.push_str("</tr></thead>\n");
    if !table.parameters.is_empty() {
        rows(out, table, "", &table.parameters);
    }
    for group in &table.groups {
        let (span, title) = (table.columns.len() + 1, e(&group.title));
        let head = format!("<tr><th scope=\"rowgroup\" colspan=\"{span}\">{title}</th></tr>\n");
        rows(out, table, &head, &group.rows);
    }
    out.push_str("</table></div>\n");
}

fn class_of(column: &Column) -> &'static str {
    if column.is_words { " class=\"words\"" } else { "" }
}

fn rows(out: &mut String, table: &Table, head: &str, rows: &[Row]) {
    let _ = write!(out, "<tbody>\n{head}");
    for row in rows {
        let class = if row.is_main() { " class=\"strong\"" } else { "" };
        let _ = write!(out, "<tr{class}><th scope=\"row\">{}</th>", e(&row.label));
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let _ = write!(out, "<td{}>{}</td>", class_of(column), e(&cell.to_string()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n");
}

/// Figures; narrow ones stand in pairs.
fn figures(out: &mut String, figures: &[Figure]) {
    for same in figures.chunk_by(|a, b| a.wide == b.wide) {
        let wide = same.first().is_some_and(|figure| figure.wide);
        if !wide {
            out.push_str("<div class=\"pair\">\n");
        }
        for Figure { caption, drawing, .. } in same {
            let (caption, svg) = (e(caption), drawing.svg());
            let _ = if wide {
                write!(
                    out,
                    "<figure class=\"wide\">\n<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{caption}\">{svg}</div>\n"
                )
            } else {
                write!(out, "<figure>\n{svg}")
            };
            let _ = write!(out, "<figcaption>{caption}</figcaption>\n</figure>\n");
        }
        if !wide {
            out.push_str("</div>\n");
        }
    }
}
