//! `natmeter schema`: the JSON Schemas of the files that natmeter reads and of the JSON that it writes.

use crate::cli::SchemaKind;
use crate::event;
use crate::exit::Exit;
use crate::term::out;
use record::compare::Comparison;
use record::report::Report;
use record::size::Sizing;
use record::trend::Trend;
use record::versioned::schema_of;

pub(super) fn schema(kind: SchemaKind) -> Exit {
    let schema = match kind {
        SchemaKind::Scenario => scenario::book(tech::ALL).json_schema("natmeter: scenarios and gateways"),
        SchemaKind::Bed => scenario::bed::book().json_schema("natmeter: test beds"),
        SchemaKind::Report => schema_of::<Report>("natmeter: report"),
        SchemaKind::Size => schema_of::<Sizing>("natmeter: sizing"),
        SchemaKind::Compare => schema_of::<Comparison>("natmeter: comparison"),
        SchemaKind::Trend => schema_of::<Trend>("natmeter: trend"),
        SchemaKind::Event => schema_of::<event::Line>("natmeter: event of a run"),
    };
    out(&format!("{schema}\n"));
    Exit::Done
}
