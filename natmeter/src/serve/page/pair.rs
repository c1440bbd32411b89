//! Two runs side by side: a table of their values, point by point.

use super::e;
use crate::serve::query::encoded;
use record::report::Report;
use record::side::{Row, rows};
use std::fmt::Write;

/// Returns the page of two runs with their names.
pub(in super::super) fn page(first: (&str, &Report), second: (&str, &Report)) -> String {
    let mut main = String::from("<h1>Two runs side by side</h1>\n<dl class=\"live\">\n");
    for (name, report) in [first, second] {
        let header = &report.header;
        let _ = writeln!(
            main,
            "<div><dt><a href=\"/run/{}/\">{}</a></dt><dd>started {}, natmeter {}{}</dd></div>",
            encoded(name),
            e(name),
            e(&header.started),
            e(&header.version),
            if report.audit.findings.is_empty() { "" } else { ", <strong>its record is damaged</strong>" }
        );
    }
    main.push_str("</dl>\n");
    if first.1.header.scenario != second.1.header.scenario {
        main.push_str("<p class=\"why\">The scenarios of these runs differ, so their conditions may be unlike.</p>\n");
    }
    let rows = rows(first.1, second.1);
    if rows.is_empty() {
        main.push_str("<p>Neither run has a result.</p>\n");
    } else {
        table(&mut main, first.0, second.0, &rows);
    }
    main.push_str("<p><a href=\"/\">All runs</a></p>\n");
    super::page("Two runs", "", &main)
}

fn table(main: &mut String, first: &str, second: &str, rows: &[Row]) {
    let _ = write!(
        main,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Values\">\n<table>\n\
         <caption>Medians with the interval or range of the repetitions</caption>\n<thead><tr><th scope=\"col\">Metric</th>\
         <th scope=\"col\">Point</th><th scope=\"col\">{}</th><th scope=\"col\">{}</th></tr></thead>\n<tbody>\n",
        e(first),
        e(second)
    );
    for Row { metric, unit, point, values } in rows {
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        let _ = write!(main, "<tr><th scope=\"row\">{}</th><td>{}</td>", e(&format!("{metric}{unit}")), e(point));
        for value in values {
            let _ = write!(main, "<td>{}</td>", e(value.as_deref().unwrap_or("not in this run")));
        }
        main.push_str("</tr>\n");
    }
    main.push_str("</tbody>\n</table>\n</div>\n");
}
