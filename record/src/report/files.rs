//! Files inside the page: results as CSV and JSON, the scenario and the file of the test bed.

use super::{Report, csv, json};
use crate::printable::printable;
use document::report::File;

/// Name of the file of limits.
pub(super) const LIMITS: &str = "limits.toml";

pub(super) fn of(report: &Report) -> Vec<File> {
    let name = report.run_name();
    let file = |name: String, about: &str, media, text: &str| File {
        name,
        about: about.to_owned(),
        media,
        text: printable(text).into_owned(),
    };
    // Without indentation JSON has half the size.
    let json = json::on_one_line(report);
    let mut files = vec![
        file(format!("{name}.csv"), csv::FORMAT.about, "text/csv", &(csv::FORMAT.render)(report)),
        file(format!("{name}.json"), json::FORMAT.about, "application/json", &json),
        file(
            format!("{}.toml", report.header.scenario.name),
            "the scenario",
            "application/toml",
            &report.scenario_text,
        ),
    ];
    files.extend(report.header.options.bed.as_ref().map(|bed| {
        let name = bed.name.rsplit('/').next().unwrap_or_default().to_owned();
        file(name, "the test bed", "application/toml", &bed.text)
    }));
    let limits = report.header.options.limits.iter();
    files.extend(limits.map(|text| file(LIMITS.to_owned(), "the limits", "application/toml", text)));
    files
}
