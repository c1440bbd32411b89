//! The report as one HTML page: summary, figures, tables, conditions, commands, files.

mod conditions;
mod files;
mod summary;

use super::figure::{COMPARISONS, DETAILS, Kind};
use super::{Format, Report, number, published, section, table, terms};
use document::html::{self, escaped as e};
use document::{Finding, Section};
use std::fmt::Write;

/// A self-contained page.
pub(super) const FORMAT: Format =
    Format { name: "html", extension: "html", about: "a page with figures, for a browser", render };

/// A part of the page, under a heading of the second level.
struct Part {
    /// Its anchor.
    id: &'static str,
    heading: &'static str,
    /// Writes it without its heading; nothing if the run has nothing for it.
    write: fn(&mut String, &Page<'_>),
}

/// The content of the parts.
struct Page<'a> {
    report: &'a Report,
    /// The sections of procedures, derived once for all parts.
    sections: Vec<Section>,
}

/// The parts in the order of the page, the most important one first.
const PARTS: &[Part] = &[
    Part { id: "summary", heading: "Summary", write: summary::write },
    Part { id: "figures", heading: "Figures", write: figures },
    Part { id: "tables", heading: "Tables", write: tables },
    Part { id: "conditions", heading: "Conditions", write: conditions::write },
    Part { id: "commands", heading: "Commands", write: conditions::commands },
    Part { id: "files", heading: "Files", write: files::write },
];

fn render(report: &Report) -> String {
    let page = Page { report, sections: section::all(report) };
    let name = report.run_name();
    let parts: Vec<(&Part, String)> = PARTS
        .iter()
        .map(|part| {
            let mut text = String::new();
            (part.write)(&mut text, &page);
            (part, text)
        })
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let mut out = html::begin(&name);
    let _ = write!(
        out,
        "<header>\n<h1>{}</h1>\n<p><span class=\"badge\">{}</span></p>\n<nav aria-label=\"Parts of the report\">\n",
        e(&name),
        e(&report.conformance.label)
    );
    for (part, _) in &parts {
        let _ = writeln!(out, "<a href=\"#{}\">{}</a>", part.id, part.heading);
    }
    out.push_str("</nav>\n</header>\n<main>\n");
    for (part, text) in &parts {
        let Part { id, heading, .. } = part;
        let _ = write!(
            out,
            "<section class=\"{id}\" aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n{text}</section>\n"
        );
    }
    out + html::END
}

/// A heading of the third level.
fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h3>{}</h3>", e(text));
}

/// The text of a section, and its findings as a list.
fn about(out: &mut String, section: &Section) {
    html::paragraph(out, "", &section.about);
    html::list(out, "found", &Finding::merged(&section.findings));
}

/// Largest number of figures of a kind of [`DETAILS`] that are visible at once. More can be opened, and are not on paper.
const VISIBLE: usize = 6;

/// Writes all figures, in the order of their kinds.
fn figures(out: &mut String, page: &Page<'_>) {
    for kind in COMPARISONS {
        of_kind(out, page.report, kind, usize::MAX);
    }
    for section in page.sections.iter().filter(|section| !section.figures.is_empty()) {
        heading(out, &section.title);
        about(out, section);
        html::figures(out, &section.figures);
    }
    for kind in DETAILS {
        of_kind(out, page.report, kind, VISIBLE);
    }
}

fn of_kind(out: &mut String, report: &Report, kind: &Kind, visible: usize) {
    let figures = (kind.draw)(report);
    if figures.is_empty() {
        return;
    }
    heading(out, kind.heading);
    html::paragraph(out, "meta", kind.about);
    if figures.len() <= visible {
        return html::figures(out, &figures);
    }
    let count = number::plural(figures.len() as u64, "figure");
    html::paragraph(out, "paper", &format!("{count} in the page, not on paper."));
    let _ = writeln!(out, "<details class=\"screen\">\n<summary>{count}</summary>");
    html::figures(out, &figures);
    out.push_str("</details>\n");
}

/// Writes all tables: results, terms, published values, and those of single procedures.
fn tables(out: &mut String, page: &Page<'_>) {
    let tables = table::tables(page.report);
    if !tables.is_empty() {
        heading(out, "Results");
        html::tables(out, &tables);
    }
    html::pairs(out, &terms::of(&tables));
    beside(out, page.report);
    for section in &page.sections {
        // The text of a section with figures stands beside these.
        if section.figures.is_empty() || !section.tables.is_empty() {
            heading(out, &section.title);
        }
        if section.figures.is_empty() {
            about(out, section);
        }
        html::tables(out, &section.tables);
    }
}

fn beside(out: &mut String, report: &Report) {
    if report.beside.is_empty() {
        return;
    }
    heading(out, "Compared with published results");
    html::paragraph(out, "", &published::common_conditions(report));
    for c in published::compared(&report.beside) {
        let _ = writeln!(
            out,
            "<h4>{}</h4>\n<p>Published: {} <span class=\"meta\">({})</span></p>",
            e(&c.table.title),
            e(&c.published),
            e(&c.source)
        );
        for note in c.notes {
            html::paragraph(out, "meta", note);
        }
        html::simple(out, &c.table);
    }
    html::list(out, "notes", &published::documents(&report.beside));
}
