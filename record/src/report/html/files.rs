//! Files inside the page: results as CSV and JSON, the scenario and the file of the test bed. Each is a link with its content, so
//! that a page that was passed on still has the numbers behind its figures.

use super::{Page, e};
use crate::printable::printable;
use crate::report::{Report, csv, json, number};
use data_encoding::BASE64;
use std::fmt::Write;

/// A file in the page.
struct File {
    name: String,
    about: String,
    media: &'static str,
    content: String,
}

/// Writes the links.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    out.push_str("<ul>\n");
    for File { name, about, media, content } in files(page.report) {
        let size = number::si_unit(content.len() as f64, 2, "B");
        let _ = writeln!(
            out,
            "<li><a download=\"{0}\" href=\"data:{media};charset=utf-8;base64,{1}\">{0}</a> ({size}): {2}</li>",
            e(&name),
            BASE64.encode(printable(&content).as_bytes()),
            e(&about)
        );
    }
    out.push_str("</ul>\n");
}

fn files(report: &Report) -> Vec<File> {
    let name = report.run_name();
    let csv = File {
        name: format!("{name}.csv"),
        about: csv::FORMAT.about.to_owned(),
        media: "text/csv",
        content: (csv::FORMAT.render)(report),
    };
    // Without indentation it has half the size.
    let json = File {
        name: format!("{name}.json"),
        about: json::FORMAT.about.to_owned(),
        media: "application/json",
        content: json::on_one_line(report),
    };
    let scenario = File {
        name: format!("{}.toml", report.header.scenario.name),
        about: "the scenario".to_owned(),
        media: "application/toml",
        content: report.scenario_text.clone(),
    };
    let bed = report.header.options.bed.as_ref().map(|bed| File {
        name: bed.name.rsplit('/').next().unwrap_or_default().to_owned(),
        about: "the test bed".to_owned(),
        media: "application/toml",
        content: bed.text.clone(),
    });
    [csv, json, scenario].into_iter().chain(bed).collect()
}
