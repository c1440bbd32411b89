//! The page of one run, and its live view.

use super::e;
use crate::serve::live::LiveView;
use document::html::{list, paragraph};
use record::report::{KNOWN, Report};
use std::fmt::Write;

/// The page of a run, or of why it has no report; a merged folder is not live.
pub(in super::super) fn page(name: &str, report: Result<&Report, &String>, is_live: bool) -> String {
    let mut main = format!("<h1>{}</h1>\n", e(name));
    match report {
        Ok(report) => results(&mut main, report, is_live),
        Err(why) => paragraph(&mut main, "why", &format!("This run cannot be read: {}.", why.trim_end_matches('.'))),
    }
    super::page(name, "", &(main + "<p><a href=\"/\">All runs</a></p>\n"))
}

fn results(main: &mut String, report: &Report, is_live: bool) {
    let damage: Vec<String> = report.audit.findings.iter().map(ToString::to_string).collect();
    if !damage.is_empty() {
        main.push_str("<p><strong>The record of this run is damaged</strong></p>\n");
        list(main, "why", &damage);
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
    report.sentences.iter().for_each(|sentence| paragraph(main, "", sentence));
    if !report.doubts.is_empty() {
        main.push_str("<h2>Doubts</h2>\n");
        list(main, "", &report.doubts);
    }
    main.push_str("<h2>Files</h2>\n<ul>\n");
    for format in KNOWN {
        let (name, about) = (format.name, e(format.about));
        let _ = writeln!(main, "<li><a href=\"report/{name}\">{name}</a>: {about}</li>");
    }
    main.push_str("<li><a href=\"scenario.toml\">scenario.toml</a>: the scenario of the run</li>\n</ul>\n");
}

/// Returns the live view. Its script takes a new page each second; without scripts, the page reloads itself.
pub(in super::super) fn live(name: &str, view: &mut LiveView) -> String {
    let (status, ended, reload) = if view.has_ended {
        ("The run has ended.", " data-ended", "")
    } else {
        ("The run has not ended.", "", "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n")
    };
    let (lines, log) = (e(&view.lines().join("\n")), e(&Vec::from(view.log.clone()).join("\n")));
    let main = format!(
        "<h1>{}</h1>\n<p id=\"status\" role=\"status\"{ended}>{status}</p>\n<pre>{lines}</pre>\n<h2>Log</h2>\n\
         <pre>{log}</pre>\n<p><a href=\"./\">Summary of the run</a></p>\n",
        e(name)
    );
    super::page(&format!("Live: {name}"), &format!("<script src=\"/live.js\" defer></script>\n{reload}"), &main)
}
