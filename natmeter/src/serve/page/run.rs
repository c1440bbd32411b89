//! The page of one run, and its live view.

use super::{e, prose};
use crate::serve::live::{FIELDS, Progress};
use crate::serve::query::encoded;
use record::report::{KNOWN, Report};
use std::fmt::Write;

/// Returns the page of a run, or of the reason why it has no report; a merged folder is not live.
pub(in super::super) fn page(name: &str, report: Result<&Report, &String>, is_live: bool) -> String {
    let mut main = format!("<h1>{}</h1>\n", e(name));
    match report {
        Ok(report) => {
            results(&mut main, report, is_live);
            files(&mut main);
        }
        Err(why) => {
            let _ =
                writeln!(main, "<p class=\"why\">This run cannot be read: {}.</p>", prose(why.trim_end_matches('.')));
        }
    }
    main.push_str("<p><a href=\"/\">All runs</a></p>\n");
    super::page(name, "", &main)
}

fn results(main: &mut String, report: &Report, is_live: bool) {
    if !report.audit.findings.is_empty() {
        main.push_str(
            "<section class=\"why\" aria-label=\"Damage\">\n<strong>The record of this run is damaged</strong>\n<ul>\n",
        );
        list(main, report.audit.findings.iter().map(ToString::to_string));
        main.push_str("</ul>\n</section>\n");
    }
    let header = &report.header;
    let live = if is_live { " <a href=\"live\">Live view</a>" } else { "" };
    let _ = write!(
        main,
        "<p>{}</p>\n<p class=\"soft\">started {} · natmeter {} · {} of {} measurements have a result</p>\n\
         <p class=\"bar\"><a href=\"report/html\">Report</a>{live}</p>\n<h2>In short</h2>\n",
        e(&header.scenario.about),
        e(&header.started),
        e(&header.version),
        report.measured,
        report.planned
    );
    for sentence in report.sentences() {
        let _ = writeln!(main, "<p>{}</p>", prose(sentence));
    }
    if !report.doubts.is_empty() {
        main.push_str("<h2>Doubts</h2>\n<ul>\n");
        list(main, report.doubts.iter().cloned());
        main.push_str("</ul>\n");
    }
}

fn list(main: &mut String, items: impl Iterator<Item = String>) {
    for item in items {
        let _ = writeln!(main, "<li>{}</li>", prose(&item));
    }
}

fn files(main: &mut String) {
    main.push_str("<h2>Files</h2>\n<ul>\n");
    for format in KNOWN {
        let _ = writeln!(
            main,
            "<li><a href=\"report/{}\">{}</a>: {}</li>",
            encoded(format.name),
            e(format.name),
            e(format.about)
        );
    }
    main.push_str("<li><a href=\"scenario.toml\">scenario.toml</a>: the scenario of the run</li>\n</ul>\n");
}

/// Returns the live view: the state after the events up to a place in the file. The script continues from there; without it,
/// the page reloads itself.
pub(in super::super) fn live(name: &str, progress: &Progress, said: &[String], place: u64) -> String {
    let reload =
        if progress.has_ended() { "" } else { "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n" };
    let head = format!("<script src=\"/live.js\" defer></script>\n{reload}");
    let status = if progress.has_ended() { "The run has ended." } else { "The run has not ended." };
    let mut main = format!(
        "<h1>{}</h1>\n<p id=\"status\" role=\"status\" data-events=\"events?from={place}\" data-ended=\"{}\">{status}</p>\n<dl class=\"live\">\n",
        e(name),
        progress.has_ended()
    );
    for ((name, heading), text) in FIELDS.iter().zip(progress.fields().texts()) {
        let text = if text.is_empty() { "–" } else { text };
        let _ = writeln!(main, "<div><dt>{heading}</dt><dd id=\"field-{name}\">{}</dd></div>", e(text));
    }
    main.push_str("</dl>\n<h2>Log</h2>\n<ol id=\"log\" class=\"log\">\n");
    for line in said {
        let _ = writeln!(main, "<li>{}</li>", e(line));
    }
    main.push_str("</ol>\n<p><a href=\"./\">Summary of the run</a></p>\n");
    super::page(&format!("Live: {name}"), &head, &main)
}
