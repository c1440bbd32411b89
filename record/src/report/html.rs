//! The report as one HTML page: tables, figures, facts, commands. The page needs no network and no script, follows the
//! light or dark setting of the browser, and works with screen readers.

use super::figure::{self, Figure};
use super::svg::escaped as e;
use super::table::{Row, Table, tables};
use super::{Format, Report, facts, number, published, section, terms};
use crate::folder::FactTable;
use std::fmt::Write;

/// A self-contained page.
pub(super) const FORMAT: Format =
    Format { name: "html", extension: "html", about: "a page with figures, for a browser", render };

const STYLE: &str = include_str!("report.css");

fn render(report: &Report) -> String {
    let mut out = String::new();
    let name = report.run_name();
    begin(&mut out, &name);
    head(&mut out, report, &name);
    rates(&mut out, report);
    over_time(&mut out, report);
    let tables = tables(report);
    results(&mut out, &tables);
    pairs(&mut out, "Terms", &terms::of(&tables));
    beside(&mut out, report);
    sections(&mut out, report);
    searches(&mut out, report);
    pairs(&mut out, "Conditions", &facts::conditions(report));
    pairs(&mut out, "Tester, calibrated before the run", &facts::limits(report));
    judged(&mut out, report);
    self_test(&mut out, report);
    fact_tables(&mut out, report);
    commands(&mut out, report);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A page of paragraphs and tables without a report, such as that of a sizing.
pub(super) fn tables_only(title: &str, paragraphs: &[String], tables: &[Table]) -> String {
    let mut out = String::new();
    begin(&mut out, title);
    let _ = writeln!(out, "<header>\n<h1>{}</h1>\n</header>", e(title));
    for paragraph in paragraphs {
        let _ = writeln!(out, "<p>{}</p>", prose(paragraph));
    }
    for table in tables {
        result_table(&mut out, table);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Head of a page, up to its content.
fn begin(out: &mut String, title: &str) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} · natmeter</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        e(title)
    );
}

fn head(out: &mut String, report: &Report, name: &str) {
    let header = &report.header;
    let _ = write!(
        out,
        "<header>\n<h1>{}</h1>\n<p><span class=\"badge\">{}</span></p>\n</header>\n",
        e(name),
        e(&report.conformance.label),
    );
    out.push_str("<section class=\"short\" aria-label=\"In short\">\n");
    report.sentences.iter().for_each(|s| {
        let _ = writeln!(out, "<p>{}</p>", prose(s));
    });
    out.push_str("</section>\n");
    if !report.doubts.is_empty() {
        out.push_str("<section class=\"doubts\" aria-label=\"Doubts\">\n<strong>Doubts</strong>\n<ul>\n");
        list(out, &report.doubts);
        out.push_str("</ul>\n</section>\n");
    }
    let _ = write!(
        out,
        "<p>{}</p>\n<p class=\"meta\">natmeter {}, started {}; {} of {} finished{}</p>\n",
        e(&header.scenario.about),
        e(&header.version),
        e(&header.started),
        number::grouped(report.measured as u64),
        number::plural(report.planned as u64, "measurement"),
        report.facts.build().map_or_else(String::new, |build| format!("<br>Build: {}", e(build)))
    );
    if !report.conformance.departures.is_empty() {
        out.push_str(
            "<section class=\"departures\">\n<strong>Departures of the procedure from the RFCs</strong>\n<ul>\n",
        );
        list(out, &report.conformance.departures);
        out.push_str("</ul>\n</section>\n");
    }
}

fn list(out: &mut String, items: &[String]) {
    for item in items {
        let _ = writeln!(out, "<li>{}</li>", prose(item));
    }
}

/// A sentence as HTML; text between backticks becomes `<code>`.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{}</code>", e(part)) } else { e(part) }).collect()
}

fn rates(out: &mut String, report: &Report) {
    let figures = figure::overview(report);
    if !figures.is_empty() {
        out.push_str("<h2>Rates</h2>\n");
        let (wide, narrow): (Vec<&Figure>, Vec<&Figure>) = figures.iter().partition(|f| f.wide);
        for f in &wide {
            draw(out, f);
        }
        if !narrow.is_empty() {
            out.push_str("<div class=\"pair\">\n");
            for f in &narrow {
                draw(out, f);
            }
            out.push_str("</div>\n");
        }
    }
}

fn over_time(out: &mut String, report: &Report) {
    let figures = figure::over_time(report);
    if !figures.is_empty() {
        out.push_str("<h2>Rates over the time of the run</h2>\n");
        for figure in &figures {
            draw(out, figure);
        }
    }
}

fn draw(out: &mut String, figure: &Figure) {
    let _ = write!(out, "<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", figure.svg, e(&figure.caption));
}

fn results(out: &mut String, tables: &[Table]) {
    out.push_str("<h2>Results</h2>\n");
    for t in tables {
        result_table(out, t);
    }
}

fn result_table(out: &mut String, table: &Table) {
    let _ = write!(
        out,
        "<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr><th scope=\"row\">{}</th>",
        e(&table.title),
        e(table.axis)
    );
    for column in &table.columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", e(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.parameters {
        table_row(out, row);
    }
    out.push_str("</tbody>\n");
    for group in &table.groups {
        let span = table.columns.len() + 1;
        let _ = writeln!(out, "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"{span}\">{}</th></tr>", e(&group.title));
        for row in &group.rows {
            table_row(out, row);
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n");
    if !table.notes.is_empty() {
        out.push_str("<ul class=\"notes\">\n");
        for (i, note) in table.notes.iter().enumerate() {
            let _ = writeln!(out, "<li>[{}] {}</li>", i + 1, e(note));
        }
        out.push_str("</ul>\n");
    }
}

fn table_row(out: &mut String, row: &Row) {
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
    let _ =
        writeln!(out, "<h2>Compared with published results</h2>\n<p>{}</p>", e(&published::common_conditions(report)));
    for c in published::compared(&report.beside) {
        let _ = write!(
            out,
            "<h3>{}</h3>\n<p>Published: {} <span class=\"meta\">({})</span></p>\n",
            e(c.title),
            e(&c.published),
            e(&c.source)
        );
        for note in c.notes {
            let _ = writeln!(out, "<p class=\"meta\">{}</p>", e(note));
        }
        out.push_str(
            "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"row\">device</th><th scope=\"col\">measured</th>\
             <th scope=\"col\">measured / published</th><th scope=\"col\" class=\"words\">conditions</th></tr></thead>\n<tbody>\n",
        );
        for [dut, value, ratio, conditions] in &c.measured {
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"words\">{}</td></tr>",
                e(dut),
                e(value),
                e(ratio),
                e(conditions)
            );
        }
        out.push_str("</tbody>\n</table></div>\n");
    }
    out.push_str("<ul class=\"notes\">\n");
    list(out, &published::documents(&report.beside));
    out.push_str("</ul>\n");
}

/// The parts of the page that belong to one procedure.
fn sections(out: &mut String, report: &Report) {
    for section in section::ALL.iter().filter_map(|of| of(report)) {
        let _ = writeln!(out, "<h2>{}</h2>\n<p>{}</p>", e(&section.title), prose(&section.about));
        for table in &section.tables {
            result_table(out, table);
        }
        for figure in &section.figures {
            draw(out, figure);
        }
    }
}

fn searches(out: &mut String, report: &Report) {
    let mut begun = false;
    for (n, result) in report.results.iter().enumerate() {
        let figures = figure::details(result, n);
        if figures.is_empty() {
            continue;
        }
        if !begun {
            out.push_str("<h2>Searches and loss curves</h2>\n");
            begun = true;
        }
        let title = number::capitalised(&facts::place(result));
        let _ = writeln!(out, "<h3>{}</h3>\n<div class=\"pair\">", e(&title));
        for f in &figures {
            draw(out, f);
        }
        out.push_str("</div>\n");
    }
}

fn pairs(out: &mut String, title: &str, pairs: &[(&'static str, String)]) {
    if pairs.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{}</h2>\n<dl>", e(title));
    for (name, value) in pairs {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", e(name), e(value));
    }
    out.push_str("</dl>\n");
}

fn judged(out: &mut String, report: &Report) {
    if report.judged.trials > 0 {
        let _ = writeln!(out, "<h2>Judge</h2>\n<p>{}</p>", e(&facts::judged_in_words(&report.judged)));
    }
}

fn self_test(out: &mut String, report: &Report) {
    let Some(test) = &report.self_test else { return };
    let (class, verdict) = match (test.passed, test.named("inconclusive").is_empty()) {
        (true, true) => ("badge ok", "passed"),
        (true, false) => ("badge", "inconclusive"),
        (false, _) => ("badge", "failed"),
    };
    let _ = write!(
        out,
        "<h2>Self-test against known truth</h2>\n<p><span class=\"{class}\">{verdict}</span></p>\n<div class=\"scroll\"><table>\n\
         <thead><tr><th scope=\"row\">check</th><th scope=\"col\">injected</th><th scope=\"col\">measured</th>\
         <th scope=\"col\">error</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n"
    );
    for check in &test.checks {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            e(&check.name),
            e(&check.truth),
            e(&check.measured),
            e(check.error.as_deref().unwrap_or_default()),
            check.verdict()
        );
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn fact_tables(out: &mut String, report: &Report) {
    let all = [("Tester".to_owned(), &report.facts.tester)]
        .into_iter()
        .chain(report.facts.duts.iter().map(|(name, facts)| (format!("Device {name}"), facts)))
        .filter(|(_, facts)| !facts.is_empty());
    let all: Vec<(String, &FactTable)> = all.collect();
    if all.is_empty() {
        return;
    }
    out.push_str("<h2>Facts</h2>\n");
    for (title, facts) in all {
        let _ = writeln!(out, "<h3>{}</h3>\n<dl>", e(&title));
        for (name, value) in facts {
            let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", e(name), e(value));
        }
        out.push_str("</dl>\n");
    }
}

fn commands(out: &mut String, report: &Report) {
    if report.commands.is_empty() {
        return;
    }
    let count = number::plural(report.commands.len() as u64, "command");
    // Paper cannot open the list, and its length is no help there.
    let _ = writeln!(
        out,
        "<h2>Commands</h2>\n<p class=\"paper\">{count} run on the devices: <code>commands.jsonl</code> in the run folder \
         has them with their output.</p>\n<details class=\"screen\">\n<summary>{count} run on the devices</summary>"
    );
    for c in &report.commands {
        let status = match c.status {
            Some(0) => String::new(),
            Some(n) => format!(" · status {n}"),
            None => " · no exit status".to_owned(),
        };
        let _ = writeln!(
            out,
            "<p class=\"meta\">{} · {} · {}{status}</p>\n<pre><code>{}</code></pre>",
            e(&c.at),
            e(&c.dut),
            e(&c.why),
            e(&[c.command.trim_end(), c.output.trim_end()].join("\n")).trim_end()
        );
    }
    out.push_str("</details>\n");
}
