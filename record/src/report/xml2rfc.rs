//! The report in the xml2rfc vocabulary, version 3 (RFC 7991): a section to paste into an Internet-Draft, or a whole draft. All text
//! is ASCII. A wide table is split by columns, so that each part fits the 72 columns of the plain text.

use super::ascii::ascii;
use super::document::{Block, Document, Line, Part, is_words, spans};
use super::rfc_text::BORDER;
use super::table::{Row, Table};
use super::xml::escaped as e;
use super::{Format, Report};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A whole Internet-Draft.
pub(super) const DRAFT: Format = Format {
    name: "xml2rfc",
    extension: "xml",
    about: "an Internet-Draft in XML, which xml2rfc renders",
    render: draft,
};

/// Its section alone.
pub(super) const SECTION: Format = Format {
    name: "xml2rfc-section",
    extension: "xml",
    about: "a section in XML, to paste into an Internet-Draft",
    render: section,
};

/// Characters of a table in the plain text, without its indentation.
const ROOM: usize = 68;

fn draft(report: &Report) -> String {
    let document = Document::of(report).map(ascii);
    let name = format!("draft-natmeter-{}-00", slug(&report.header.scenario.name));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    let _ = write!(
        out,
        "<!-- Change docName, seriesInfo, title and author before you publish this. -->\n\
         <rfc version=\"3\" xml:lang=\"en\" ipr=\"trust200902\" submissionType=\"independent\" category=\"info\" docName=\"{name}\">\n\
         <front>\n<title abbrev=\"natmeter report\">Measurements of {}</title>\n\
         <seriesInfo name=\"Internet-Draft\" value=\"{name}\"/>\n\
         <author><organization>natmeter {}</organization></author>\n{}<abstract>\n",
        e(&document.title),
        e(&ascii(&report.header.version)),
        date(&report.header.started)
    );
    paragraphs(&mut out, document.about.get(..1).unwrap_or_default());
    out.push_str("</abstract>\n</front>\n<middle>\n");
    measurements(&mut out, &document);
    out.push_str("</middle>\n</rfc>\n");
    out
}

fn section(report: &Report) -> String {
    let mut out = String::new();
    measurements(&mut out, &Document::of(report).map(ascii));
    out
}

/// The date of a draft: the start of the run, so that the same run always gives the same draft.
fn date(started: &str) -> String {
    let day = started.split('T').next().unwrap_or_default();
    let parts: Vec<&str> = day.split('-').collect();
    match parts[..] {
        [year, month, day] if parts.iter().all(|part| part.parse::<u16>().is_ok()) => {
            format!("<date year=\"{year}\" month=\"{month}\" day=\"{day}\"/>\n")
        }
        _ => "<date/>\n".to_owned(),
    }
}

/// Small letters, digits and single hyphens: what names of drafts and anchors consist of.
fn slug(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

fn measurements(out: &mut String, document: &Document) {
    let mut anchors = BTreeSet::new();
    let _ = write!(out, "<section anchor=\"measurements\">\n<name>{}</name>\n", e(&document.title));
    paragraphs(out, &document.about);
    for part in &document.parts {
        let mut anchor = format!("m-{}", slug(&part.title));
        while !anchors.insert(anchor.clone()) {
            anchor.push_str("-more");
        }
        print_part(out, part, &anchor);
    }
    out.push_str("</section>\n");
}

fn print_part(out: &mut String, part: &Part, anchor: &str) {
    let _ = write!(out, "<section anchor=\"{anchor}\">\n<name>{}</name>\n", e(&part.title));
    paragraphs(out, &part.paragraphs);
    for (i, table) in part.tables.iter().enumerate() {
        for block in Block::split(table, ROOM, BORDER) {
            let of = if block.columns.start == 0 { String::new() } else { format!("-{}", block.columns.start + 1) };
            print_block(out, table, &block, &format!("{anchor}-{}{of}", i + 1));
        }
    }
    out.push_str("</section>\n");
}

fn paragraphs(out: &mut String, paragraphs: &[String]) {
    for paragraph in paragraphs {
        let _ = writeln!(out, "<t>{}</t>", prose(paragraph));
    }
}

/// A text with its code.
fn prose(text: &str) -> String {
    let code = |(is_code, part): (bool, &str)| {
        let text = e(part);
        if is_code && !part.is_empty() { format!("<tt>{text}</tt>") } else { text }
    };
    spans(text).into_iter().map(code).collect()
}

fn print_block(out: &mut String, table: &Table, block: &Block, anchor: &str) {
    let _ = write!(out, "<table anchor=\"{anchor}\">\n<name>{}</name>\n<thead>\n<tr>", e(&block.title(table)));
    let _ = write!(out, "<th>{}</th>", e(table.axis));
    for column in block.columns.clone() {
        let _ = write!(out, "<th{}>{}</th>", aligned(table, column), e(&table.columns[column]));
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    let mut has_rows = false;
    for line in block.lines(table) {
        match line {
            Line::Group(title) => {
                if has_rows {
                    out.push_str("</tbody>\n<tbody>\n");
                }
                let _ = writeln!(out, "<tr><th colspan=\"{}\">{}</th></tr>", block.columns.len() + 1, e(title));
            }
            Line::Row(row) => print_row(out, table, block, row),
        }
        has_rows = true;
    }
    out.push_str("</tbody>\n</table>\n");
    if block.is_last(table) && !table.notes.is_empty() {
        out.push_str("<ol type=\"[%d]\">\n");
        for note in &table.notes {
            let _ = writeln!(out, "<li>{}</li>", prose(note));
        }
        out.push_str("</ol>\n");
    }
}

fn aligned(table: &Table, column: usize) -> &'static str {
    if is_words(table, column) { "" } else { " align=\"right\"" }
}

fn print_row(out: &mut String, table: &Table, block: &Block, row: &Row) {
    // Row heads as `th` would draw a double line between all rows of the plain text.
    let _ = write!(out, "<tr><td>{}</td>", e(&row.label));
    for column in block.columns.clone() {
        let _ = write!(out, "<td{}>{}</td>", aligned(table, column), prose(&row.cells[column]));
    }
    out.push_str("</tr>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_drafts_and_dates_are_valid() {
        assert_eq!([slug("Kernel_NAT44.v2"), slug("中")], ["kernel-nat44-v2", "run"]);
        assert_eq!(date("2026-01-12T10:15:30Z"), "<date year=\"2026\" month=\"01\" day=\"12\"/>\n");
        assert_eq!([date("yesterday"), date("2026-01-\"")], ["<date/>\n", "<date/>\n"]);
    }
}
