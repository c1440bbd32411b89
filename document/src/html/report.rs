//! A report as one page: summary, figures, tables, conditions, commands, files.

use super::{END, begin, escaped as e, figures, heading, list, pairs, paragraph, prose, simple, tables};
use crate::glance::{Answer, Glance};
use crate::number;
use crate::report::{Command, Document, File, PublishedValues, Verdict};
use crate::section::{Finding, Section};
use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write;
use std::io::Write as _;

/// A part of the page, under a heading of the second level: its anchor, its heading, and what writes it.
type PagePart = (&'static str, &'static str, fn(&mut String, &Document));

/// The parts in the order of the page, the most important one first. Files come last.
const PARTS: [PagePart; 6] = [
    ("figures", "Figures", comparisons),
    ("summary", "Summary", summary),
    ("tables", "Tables", all_tables),
    ("details", "Details", details),
    ("conditions", "Conditions", conditions),
    ("commands", "Commands", commands),
];

/// What comes before the word of a report, in the head of its page.
pub const SURE: &str = "<meta name=\"how-sure\" content=\"";

/// Returns a document as a page that has these files in it.
pub fn render(document: &Document, files: &[File]) -> String {
    let written = PARTS.iter().map(|(id, heading, write)| {
        let mut text = String::new();
        write(&mut text, document);
        (*id, *heading, text)
    });
    let parts: Vec<_> =
        written.chain([("files", "Files", links(files))]).filter(|(.., text)| !text.is_empty()).collect();
    let mut out = begin(&document.title, &format!("{SURE}{}\">\n", document.glance.word));
    let _ = write!(
        out,
        "<header>\n<h1>{}</h1>\n{}<nav aria-label=\"Parts of the report\">\n",
        e(&document.title),
        cards(&document.glance)
    );
    for (id, heading, _) in &parts {
        let _ = writeln!(out, "<a href=\"#{id}\">{heading}</a>");
    }
    out.push_str("</nav>\n</header>\n<main>\n");
    for (id, heading, text) in &parts {
        let _ = write!(
            out,
            "<section class=\"{id}\" aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n{text}</section>\n"
        );
    }
    out + END
}

/// The first screen of the page.
fn cards(glance: &Glance) -> String {
    let lines =
        |all: &[String]| all.iter().map(|line| format!("<p>{}</p>\n", prose(line))).collect::<Vec<_>>().concat();
    let why = glance.reasons.first().map_or_else(String::new, |first| format!("{first}."));
    let sure = format!(
        "<p><span class=\"word {}\">{}</span></p>\n<p>{}</p>\n<p><a href=\"#summary\">All reasons and doubts</a></p>\n",
        glance.word.to_lowercase(),
        glance.word,
        prose(&why)
    );
    let on: Vec<String> = glance.on.iter().cloned().chain([glance.done.join(" · ")]).collect();
    let all = [
        ("Measured", lines(&glance.measured)),
        ("On", lines(&on)),
        ("Answer", glance.answers.iter().take(2).map(large).collect::<Vec<_>>().concat()),
        ("How sure?", sure),
    ];
    let card = |(name, text): (&str, String)| format!("<div><dt>{name}</dt><dd>\n{text}</dd></div>\n");
    format!("<dl class=\"cards\">\n{}</dl>\n", all.map(card).concat())
}

/// The value at the last point, with the most connections or cores.
fn large(answer: &Answer) -> String {
    let Some(row) = answer.rows.last() else { return String::new() };
    let at = [row.point.as_str(), answer.figures.as_str()].into_iter().filter(|part| !part.is_empty());
    let at = at.collect::<Vec<_>>().join(": ");
    format!(
        "<p class=\"large\">{}</p>\n<p>{} <span class=\"meta\">{}</span></p>\n",
        e(&row.value),
        e(&answer.title),
        e(&at)
    )
}

fn summary(out: &mut String, document: &Document) {
    heading(out, "What was measured");
    if !document.about.is_empty() {
        paragraph(out, "", &document.about);
    }
    let _ = writeln!(out, "<p>{}.</p>", e(&document.measured));
    let _ = writeln!(out, "<p class=\"meta\">natmeter {}, started {}</p>", e(&document.version), e(&document.started));
    if let Some(build) = &document.build {
        let _ = writeln!(out, "<p class=\"meta\">Build: {}</p>", e(build));
    }
    found(out, document);
    if !document.glance.reasons.is_empty() {
        heading(out, &format!("Why {}", document.glance.word));
        list(out, "", &document.glance.reasons);
    }
    if !document.doubts.is_empty() {
        out.push_str("<div class=\"doubts\">\n<h3>Doubts</h3>\n");
        list(out, "", &document.doubts);
        out.push_str("</div>\n");
    }
    if !document.departures.is_empty() {
        heading(out, "Departures of the procedure from the RFCs");
        list(out, "", &document.departures);
    }
}

/// Largest number of sentences about single points in the summary. More of them stand beside their figures only.
const POINTS: usize = 3;

fn found(out: &mut String, document: &Document) {
    let in_sections: Vec<&Finding> = document.sections.iter().flat_map(|section| &section.findings).collect();
    out.push_str("<div class=\"short\">\n");
    heading(out, "Finding");
    let few = in_sections.len() <= POINTS;
    for sentence in document.sentences.without(if few { &[] } else { &in_sections }) {
        paragraph(out, "", &sentence);
    }
    if !few {
        let count = number::plural(in_sections.len() as u64, "sentence");
        let text = format!("{count} about bottlenecks and profiles of single points stand beside their figures.");
        paragraph(out, "", &text);
    }
    out.push_str("</div>\n");
}

/// Largest number of detailed figures of a kind that are visible at once. More can be opened, and are not on paper.
const VISIBLE: usize = 6;

fn comparisons(out: &mut String, document: &Document) {
    document.comparisons.iter().for_each(|of_kind| gallery(out, of_kind, usize::MAX));
}

fn details(out: &mut String, document: &Document) {
    for section in document.sections.iter().filter(|section| !section.figures.is_empty()) {
        heading(out, &section.title);
        about(out, section);
        figures(out, &section.figures);
    }
    document.details.iter().for_each(|of_kind| gallery(out, of_kind, VISIBLE));
}

fn gallery(out: &mut String, Section { title, about, figures, .. }: &Section, visible: usize) {
    heading(out, title);
    paragraph(out, "meta", about);
    if figures.len() <= visible {
        return super::figures(out, figures);
    }
    let count = number::plural(figures.len() as u64, "figure");
    paragraph(out, "paper", &format!("{count} in the page, not on paper."));
    let _ = writeln!(out, "<details class=\"screen\">\n<summary>{count}</summary>");
    super::figures(out, figures);
    out.push_str("</details>\n");
}

fn about(out: &mut String, section: &Section) {
    paragraph(out, "", &section.about);
    list(out, "found", &Finding::merged(&section.findings));
}

fn all_tables(out: &mut String, document: &Document) {
    if !document.results.is_empty() {
        heading(out, "Results");
        tables(out, &document.results);
    }
    pairs(out, &document.terms);
    published(out, &document.published);
    for section in &document.sections {
        // The text of a section with figures stands beside these.
        if section.figures.is_empty() || !section.tables.is_empty() {
            heading(out, &section.title);
        }
        if section.figures.is_empty() {
            about(out, section);
        }
        tables(out, &section.tables);
    }
}

fn published(out: &mut String, PublishedValues { conditions, values, documents }: &PublishedValues) {
    if values.is_empty() {
        return;
    }
    heading(out, PublishedValues::TITLE);
    paragraph(out, "", conditions);
    for compared in values {
        let _ = writeln!(
            out,
            "<h4>{}</h4>\n<p>Published: {} <span class=\"meta\">({})</span></p>",
            e(&compared.table.title),
            e(&compared.published),
            e(&compared.source)
        );
        for note in &compared.notes {
            paragraph(out, "meta", note);
        }
        simple(out, &compared.table);
    }
    list(out, "notes", documents);
}

fn conditions(out: &mut String, document: &Document) {
    for of in [&document.run, &document.conditions, &document.limits] {
        pairs(out, of);
    }
    if let Some(judge_counts) = &document.judge_counts {
        heading(out, "Judge");
        paragraph(out, "", judge_counts);
    }
    if let Some((verdict, table)) = &document.self_test {
        let (class, verdict) = match verdict {
            Verdict::Passed => ("badge ok", "passed"),
            Verdict::Inconclusive => ("badge", "inconclusive"),
            Verdict::Failed => ("badge", "failed"),
        };
        heading(out, &table.title);
        let _ = writeln!(out, "<p><span class=\"{class}\">{verdict}</span></p>");
        simple(out, table);
    }
    out.push_str("<div class=\"facts\">\n");
    document.facts.iter().for_each(|facts| pairs(out, facts));
    out.push_str("</div>\n");
}

fn commands(out: &mut String, document: &Document) {
    if document.commands.is_empty() {
        return;
    }
    let count = number::plural(document.commands.len() as u64, "command");
    // Paper cannot open the list, and its length is no help there.
    let _ = writeln!(
        out,
        "<p class=\"paper\">{count} run on the devices: <code>commands.jsonl</code> in the run folder has them with their \
         output.</p>\n<details class=\"screen\">\n<summary>{count} run on the devices</summary>"
    );
    for Command { head, text } in &document.commands {
        let _ = writeln!(out, "<p class=\"meta\">{}</p>\n<pre tabindex=\"0\"><code>{}</code></pre>", e(head), e(text));
    }
    out.push_str("</details>\n");
}

/// Octets of a file from which on it is compressed.
const LARGE: usize = 1_000_000;

/// Each file as a link with its content, so that a page that was passed on still has the numbers behind its figures.
fn links(files: &[File]) -> String {
    let link = |File { name, about, media, text }: &File| {
        let size = number::si_unit(text.len() as f64, 2, "B");
        let (name, media, octets) = if text.len() < LARGE {
            (name.clone(), format!("{media};charset=utf-8"), text.as_bytes().to_vec())
        } else {
            (format!("{name}.gz"), "application/gzip".to_owned(), compressed(text))
        };
        format!(
            "<li><a download=\"{0}\" href=\"data:{media};base64,{1}\">{0}</a> ({size}): {2}</li>\n",
            e(&name),
            BASE64.encode(&octets),
            e(about)
        )
    };
    format!("<ul>\n{}</ul>\n", files.iter().map(link).collect::<String>())
}

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes all octets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_large_file_is_compressed_and_whole() {
        let file =
            |octets: usize| File { name: "x.json".to_owned(), text: "{} ".repeat(octets / 3 + 1), ..File::default() };
        let [small, large] = [file(LARGE - 3), file(LARGE)];
        let of = |file: &File| links(std::slice::from_ref(file));
        assert!(of(&small).contains("download=\"x.json\"") && of(&large).contains("download=\"x.json.gz\""));
        let encoded = of(&large).split("base64,").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&BASE64.decode(encoded.as_bytes()).unwrap()[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, large.text);
    }
}
