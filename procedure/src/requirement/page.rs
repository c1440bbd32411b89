//! The requirements as Markdown: the page of all, and the table of METHODOLOGY.md.

use super::{Check, DOCUMENTS, Document, Level, Metrics, Requirement, all, is_of_an_rfc, metrics::EVERY, of};
use crate::Metric;
use std::fmt::Write;

/// Returns a page below docs/requirements without its head: every requirement of the documents that `of` accepts.
pub fn page(of: impl Fn(&Document) -> bool) -> String {
    let mut page = String::new();
    for document in DOCUMENTS.iter().filter(|document| of(document)) {
        let name = if document.is_rfc { format!("{}: ", document.name) } else { String::new() };
        let _ = write!(page, "\n## {name}{}\n\n", document.title);
        page.push_str("| section | level | what it asks | metrics | natmeter |\n| --- | --- | --- | --- | --- |\n");
        for requirement in document.requirements {
            let Requirement { section, level, asks, of, .. } = requirement;
            let _ =
                writeln!(page, "| {section} | {} | {asks} | {} | {} |", word(*level), keys(*of), state(requirement));
        }
    }
    page
}

fn word(level: Level) -> &'static str {
    level.key_word().unwrap_or("defines")
}

fn keys(metrics: Metrics) -> String {
    let keys: Vec<String> = metrics.all().map(|metric| format!("`{}`", metric.key)).collect();
    match keys.len() {
        0 => "–".to_owned(),
        n if n == EVERY.all().count() => "all".to_owned(),
        _ => keys.join(", "),
    }
}

fn state(requirement: &Requirement) -> String {
    match requirement.check {
        Check::Met(how) => format!("met: {how}"),
        Check::Named(instead) => format!("named: {instead}"),
        Check::NotApplicable(why) => format!("not applicable: {why}"),
        Check::If(_) => "**in the label** of each run".to_owned(),
    }
}

/// Returns the table of METHODOLOGY.md: of each measured metric the sections whose requirements decide its label; then what no run
/// meets.
pub fn of_metrics() -> String {
    let mut text = "| metric | MUST and definitions | SHOULD |\n| --- | --- | --- |\n".to_owned();
    for metric in crate::ALL.iter().flat_map(|procedure| procedure.measured()) {
        let [binding, recommended] =
            if is_of_an_rfc(metric) { [false, true].map(|should| sections(metric, should)) } else { own() };
        let _ = writeln!(text, "| `{}` | {binding} | {recommended} |", metric.key);
    }
    text.push_str("\nWhat no run meets, or only a further run:\n\n");
    text.push_str("| source | what is asked | natmeter |\n| --- | --- | --- |\n");
    for (document, row) in all() {
        if let Check::Named(instead) = row.check {
            let _ = writeln!(text, "| {}, section {} | {} | {instead} |", document.name, row.section, row.asks);
        }
    }
    text
}

fn own() -> [String; 2] {
    ["defined by natmeter".to_owned(), String::new()]
}

/// The sections of RFCs with requirements that decide the label of a metric.
fn sections(metric: &Metric, should: bool) -> String {
    let mut documents: Vec<(&str, Vec<&str>)> = Vec::new();
    let decides = |(document, row): &(&Document, &Requirement)| {
        document.is_rfc && matches!(row.check, Check::If(_)) && (row.level == Level::Should) == should
    };
    for (document, row) in of(metric).filter(decides) {
        match documents.iter_mut().find(|(name, _)| *name == document.name) {
            Some((_, sections)) if sections.contains(&row.section) => {}
            Some((_, sections)) => sections.push(row.section),
            None => documents.push((document.name, vec![row.section])),
        }
    }
    let each = documents.iter().map(|(name, sections)| format!("{name}: {}", sections.join(", ")));
    each.collect::<Vec<_>>().join("; ")
}
