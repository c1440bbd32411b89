//! `natmeter list`: lists devices, technologies, metrics and so on.

use crate::cli::Output;
use crate::exit::Exit;
use crate::listing;
use crate::term::{self, out};
use serde_json::json;

pub(super) fn list(what: Option<&str>, output: Output) -> Exit {
    if output.json {
        for list in listing::select(what) {
            term::json(&json!({ "event": "list", "name": list.name, "rows": (list.rows)() }));
        }
    } else {
        out(&listing::text(listing::select(what)));
    }
    Exit::Done
}
