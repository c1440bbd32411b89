//! The report as one JSON document, for programs: the whole model, in the order of its fields. `schema` describes it.

use super::{Format, Report};
use crate::printable::escaped_json;
use crate::versioned::VersionedDocument;

pub(super) const FORMAT: Format = Format { name: "json", extension: "json", about: "everything, for programs", render };

fn render(report: &Report) -> String {
    text(serde_json::to_string_pretty(&VersionedDocument::of(report)))
}

pub(super) fn on_one_line(report: &Report) -> String {
    text(serde_json::to_string(&VersionedDocument::of(report)))
}

fn text(written: serde_json::Result<String>) -> String {
    // Fields are in the order of the types and maps are sorted by key, so the same report gives the same text.
    format!("{}\n", escaped_json(&written.expect("the model has only names and numbers")))
}
