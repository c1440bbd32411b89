//! The report as one HTML page: summary, figures, tables, conditions, commands, files. The page needs no network and no script,
//! follows the light or dark setting of the browser, and works with screen readers, on small screens and on paper.

mod conditions;
mod figures;
mod files;
mod summary;
mod tables;

use super::section::{self, Section};
use super::svg::escaped as e;
use super::table::Table;
use super::{Format, Report};
use std::fmt::Write;

/// A self-contained page.
pub(super) const FORMAT: Format =
    Format { name: "html", extension: "html", about: "a page with figures, for a browser", render };

const STYLE: &str = include_str!("report.css");

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
    Part { id: "figures", heading: "Figures", write: figures::write },
    Part { id: "tables", heading: "Tables", write: tables::write },
    Part { id: "conditions", heading: "Conditions", write: conditions::write },
    Part { id: "commands", heading: "Commands", write: conditions::commands },
    Part { id: "files", heading: "Files", write: files::write },
];

fn render(report: &Report) -> String {
    let page = Page { report, sections: section::ALL.iter().filter_map(|of| of(report)).collect() };
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
    let mut out = begin(&name);
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
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A page of paragraphs and tables without a report, such as that of a sizing.
pub(super) fn tables_only(title: &str, paragraphs: &[String], tables: &[Table]) -> String {
    let mut out = begin(title);
    let _ = writeln!(out, "<header>\n<h1>{}</h1>\n</header>\n<main>", e(title));
    for paragraph in paragraphs {
        let _ = writeln!(out, "<p>{}</p>", prose(paragraph));
    }
    tables::of_results(&mut out, tables);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// The head of a page, up to its content.
fn begin(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} · natmeter</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        e(title)
    )
}

fn list(out: &mut String, class: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(out, "<ul class=\"{class}\">");
        for item in items {
            let _ = writeln!(out, "<li>{}</li>", prose(item));
        }
        out.push_str("</ul>\n");
    }
}

/// A sentence as HTML; text between backticks becomes `<code>`.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{}</code>", e(part)) } else { e(part) }).collect()
}

/// Pairs of name and value under a heading of the third level.
fn pairs<N: AsRef<str>, V: AsRef<str>>(out: &mut String, title: &str, pairs: impl IntoIterator<Item = (N, V)>) {
    let mut pairs = pairs.into_iter().peekable();
    if pairs.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "<h3>{}</h3>\n<dl>", e(title));
    for (name, value) in pairs {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", e(name.as_ref()), prose(value.as_ref()));
    }
    out.push_str("</dl>\n");
}

impl Page<'_> {
    /// Whether a sentence of the report is part of the text of a section, which stands beside figures or tables.
    fn is_in_sections(&self, sentence: &str) -> bool {
        self.sections.iter().any(|section| section.about.contains(sentence))
    }
}

/// The text of a section; the sentences of the report in it as a list.
fn about(out: &mut String, report: &Report, about: &str) {
    let repeated: Vec<String> =
        report.sentences.iter().filter(|sentence| about.contains(sentence.as_str())).cloned().collect();
    let rest = repeated.iter().fold(about.to_owned(), |rest, sentence| rest.replace(sentence.as_str(), ""));
    let rest = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(out, "<p>{}</p>", prose(&rest));
    list(out, "found", &merged(&repeated));
}

/// Sentences of the form "What of a point: finding". Points with the same finding share one sentence.
fn merged(sentences: &[String]) -> Vec<String> {
    let mut found: Vec<(Vec<&str>, &str)> = Vec::new();
    for (point, finding) in sentences.iter().map(|sentence| sentence.split_once(": ").unwrap_or((sentence, ""))) {
        match found.iter_mut().find(|(_, known)| *known == finding && !finding.is_empty()) {
            Some((points, _)) => points.push(point.split_once(' ').map_or(point, |(_, point)| point)),
            None => found.push((vec![point], finding)),
        }
    }
    let sentence = |(points, finding): (Vec<&str>, &str)| match finding {
        "" => points.join("; "),
        finding => format!("{}: {finding}", points.join("; ")),
    };
    found.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_with_the_same_finding_share_a_sentence() {
        let sentences =
            ["Bottleneck of a: the tester.", "Bottleneck of b: the device.", "Bottleneck of c: the tester.", "No."];
        let sentences = sentences.map(str::to_owned);
        assert_eq!(merged(&sentences), ["Bottleneck of a; of c: the tester.", "Bottleneck of b: the device.", "No."]);
    }
}
