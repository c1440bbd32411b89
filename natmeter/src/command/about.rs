//! Commands that describe natmeter itself: `list`, `schema`, `completions` and `man-pages`.

use super::failed;
use crate::cli::{Cli, Output, SchemaKind};
use crate::event;
use crate::exit::Exit;
use crate::listing;
use crate::term::{self, out};
use clap::CommandFactory;
use clap_complete::Shell;
use record::compare::Comparison;
use record::report::Report;
use record::size::Sizing;
use record::trend::Trend;
use record::versioned::schema_of;
use serde_json::json;
use std::path::Path;

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

pub(super) fn schema(kind: SchemaKind) -> Exit {
    let schema = match kind {
        SchemaKind::Scenario => scenario::book(tech::ALL).json_schema("natmeter: scenarios and gateways"),
        SchemaKind::Bed => scenario::bed::book().json_schema("natmeter: test beds"),
        SchemaKind::Report => schema_of::<Report>("natmeter: report"),
        SchemaKind::Size => schema_of::<Sizing>("natmeter: sizing"),
        SchemaKind::Compare => schema_of::<Comparison>("natmeter: comparison"),
        SchemaKind::Trend => schema_of::<Trend>("natmeter: trend"),
        SchemaKind::Event => schema_of::<event::EventLine>("natmeter: event of a run"),
    };
    out(&format!("{schema}\n"));
    Exit::Done
}

pub(super) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "natmeter", &mut script);
    out(&String::from_utf8_lossy(&script));
    Exit::Done
}

pub(super) fn man_pages(dir: &Path) -> Exit {
    let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    written.map_or_else(
        |error| {
            let dir = dir.display();
            failed(format_args!("cannot write manual pages to {dir}: {error}; name a folder that you can write to"))
        },
        |()| Exit::Done,
    )
}
