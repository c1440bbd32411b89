//! The report in the xml2rfc vocabulary, version 3 (RFC 7991): a section to paste into an Internet-Draft, or a whole draft. All text
//! is ASCII. A wide table is split by columns, so that each part fits the 72 columns of the plain text.

use crate::ascii::ascii;
use crate::report::{Document, DocumentPart};
use crate::rfc_text::BORDER;
use crate::split::{Block, Line, Sheet, Texts, with_code};
use crate::xml::escaped as e;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Characters of a table in the plain text, without its indentation.
const ROOM: usize = 68;

/// Returns a document as a whole Internet-Draft.
pub fn draft(document: &Document) -> String {
    let name = format!("draft-natmeter-{}-00", slug(&document.scenario));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    let _ = write!(
        out,
        "<!-- Change docName, seriesInfo, title and author before you publish this. -->\n\
         <rfc version=\"3\" xml:lang=\"en\" ipr=\"trust200902\" submissionType=\"independent\" category=\"info\" docName=\"{name}\">\n\
         <front>\n<title abbrev=\"natmeter report\">Measurements of {}</title>\n\
         <seriesInfo name=\"Internet-Draft\" value=\"{name}\"/>\n\
         <author><organization>natmeter {}</organization></author>\n{}<abstract>\n",
        text(&document.title),
        text(&document.version),
        date(&document.started)
    );
    paragraphs(&mut out, document.paragraphs().get(..1).unwrap_or_default());
    out.push_str("</abstract>\n</front>\n<middle>\n");
    out.push_str(&section(document));
    out.push_str("</middle>\n</rfc>\n");
    out
}

/// Returns a document as a section.
pub fn section(document: &Document) -> String {
    let mut anchors = BTreeSet::new();
    let mut out = format!("<section anchor=\"measurements\">\n<name>{}</name>\n", text(&document.title));
    paragraphs(&mut out, &document.paragraphs());
    for part in document.parts() {
        let mut anchor = format!("m-{}", slug(&ascii(&part.title)));
        while !anchors.insert(anchor.clone()) {
            anchor.push_str("-more");
        }
        print_part(&mut out, &part, &anchor);
    }
    out.push_str("</section>\n");
    out
}

fn text(text: &str) -> String {
    e(&ascii(text))
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

fn print_part(out: &mut String, part: &DocumentPart, anchor: &str) {
    let _ = write!(out, "<section anchor=\"{anchor}\">\n<name>{}</name>\n", text(&part.title));
    paragraphs(out, &part.paragraphs);
    for (i, sheet) in part.tables.iter().map(|table| Sheet::of(table, ascii)).enumerate() {
        for block in Block::split(&sheet, ROOM, BORDER) {
            let of = if block.columns.start == 0 { String::new() } else { format!("-{}", block.columns.start + 1) };
            print_block(out, &sheet, &block, &format!("{anchor}-{}{of}", i + 1));
        }
    }
    out.push_str("</section>\n");
}

fn paragraphs(out: &mut String, paragraphs: &[String]) {
    for paragraph in paragraphs {
        let _ = writeln!(out, "<t>{}</t>", prose(&ascii(paragraph)));
    }
}

fn prose(text: &str) -> String {
    with_code(text, |code| if code.is_empty() { String::new() } else { format!("<tt>{}</tt>", e(code)) }, e)
}

fn print_block(out: &mut String, sheet: &Sheet, block: &Block, anchor: &str) {
    let _ = write!(out, "<table anchor=\"{anchor}\">\n<name>{}</name>\n<thead>\n<tr>", e(&block.title(sheet)));
    let _ = write!(out, "<th>{}</th>", e(&sheet.head[0]));
    for column in block.columns.clone() {
        let _ = write!(out, "<th{}>{}</th>", aligned(sheet, column), e(&sheet.head[column + 1]));
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    let mut has_rows = false;
    for line in block.lines(sheet) {
        match line {
            Line::Group(title) => {
                if has_rows {
                    out.push_str("</tbody>\n<tbody>\n");
                }
                let _ = writeln!(out, "<tr><th colspan=\"{}\">{}</th></tr>", block.columns.len() + 1, e(title));
            }
            Line::Row(row) => print_row(out, sheet, block, row),
        }
        has_rows = true;
    }
    out.push_str("</tbody>\n</table>\n");
    if block.is_last(sheet) && !sheet.notes.is_empty() {
        out.push_str("<ol type=\"[%d]\">\n");
        for note in &sheet.notes {
            let _ = writeln!(out, "<li>{}</li>", prose(note));
        }
        out.push_str("</ol>\n");
    }
}

fn aligned(sheet: &Sheet, column: usize) -> &'static str {
    if sheet.is_words[column] { "" } else { " align=\"right\"" }
}

fn print_row(out: &mut String, sheet: &Sheet, block: &Block, row: &Texts) {
    // Row heads as `th` would draw a double line between all rows of the plain text.
    let _ = write!(out, "<tr><td>{}</td>", e(&row.label));
    for column in block.columns.clone() {
        let _ = write!(out, "<td{}>{}</td>", aligned(sheet, column), prose(&row.cells[column]));
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
