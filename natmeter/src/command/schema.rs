//! `natmeter schema`: the JSON Schema of the files that natmeter reads, from the tables that read them.

use crate::exit::Exit;
use crate::term;

/// `natmeter schema`.
pub(super) fn schema() -> Exit {
    term::json(&scenario::book(tech::ALL).json_schema("natmeter: scenarios and gateways"));
    Exit::Done
}
