//! `natmeter published`: lists the published record, shows a table of it, recomputes its derived
//! values, and shows results of other testers.

use super::{import, usage};
use crate::cli::{Output, PublishedCommand};
use crate::exit::Exit;
use crate::term::{self, columns, folded, in_columns, out};
use procedure::metric;
use record::import::Series;
use record::published::check::{self, Check};
use record::published::{self, DOCUMENTS, ERRATA, Erratum, PublishedFigure, PublishedTable, TABLES};
use record::report::number::{grouped, grouped_f64, plural};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

pub(super) fn published(command: &PublishedCommand, output: Output) -> Result<Exit, Exit> {
    match command {
        PublishedCommand::List => list(output),
        PublishedCommand::Show { id } => show(id, output)?,
        PublishedCommand::Check => check(output),
        PublishedCommand::Import { files } => imported(files, output)?,
    }
    Ok(Exit::Done)
}

fn imported(files: &[PathBuf], output: Output) -> Result<(), Exit> {
    for series in import::read(files)? {
        let Series { cite, files, title, values, notes } = &series;
        if output.json {
            values.iter().for_each(print_json);
            continue;
        }
        let values: Vec<&PublishedFigure> = values.iter().collect();
        let head = format!("{cite}, {}: {title}", files.join(", "));
        let notes: String = notes.iter().map(|note| noted(note)).collect();
        out(&format!("{}{notes}\n", described(&head, &values)));
    }
    Ok(())
}

fn print_json(value: &PublishedFigure) {
    term::json(&json!({
        "event": "value", "metric": value.metric, "stat": value.stat, "unit": value.unit, "x_name": value.x_name,
        "x": value.x, "value": value.value, "printed": value.printed,
    }));
}

fn list(output: Output) {
    if output.json {
        for table in TABLES.iter() {
            term::json(&json!({
                "event": "published", "id": table.number, "table": table.id, "label": label(table), "title": table.title,
                "values": table.values().count(),
            }));
        }
        return;
    }
    let mut text = String::new();
    for document in DOCUMENTS.iter() {
        let _ = writeln!(text, "{}\n{}", document.cite, folded(&document.full, columns()));
        for table in TABLES.iter().filter(|table| table.document().id == document.id) {
            let line = format!("  {}  {}: {}", table.number, label(table), table.title);
            let _ = writeln!(text, "{}", folded(&line, columns()));
        }
        text.push('\n');
    }
    text.push_str(
        "`natmeter published show ID` prints a table;\n`compare = [\"ID\"]` in a scenario prints it beside a run.\n",
    );
    out(&text);
}

fn label(table: &PublishedTable) -> &'static str {
    table.values().next().map_or("", |value| value.under.label.as_str())
}

fn show(id: &str, output: Output) -> Result<(), Exit> {
    let table = published::table(id).ok_or_else(|| {
        usage(format_args!("no published table has the number `{id}`; `natmeter published list` shows all"))
    })?;
    if output.json {
        table.values().for_each(print_json);
    } else {
        out(&shown(table));
    }
    Ok(())
}

/// The table with its errata.
fn shown(table: &PublishedTable) -> String {
    let values: Vec<&PublishedFigure> = table.values().collect();
    let head = format!("{}, {}: {}", table.document().cite, label(table), table.title);
    let note = |erratum: &Erratum| noted(&format!("{}: {}", erratum.id, erratum.note.as_deref().unwrap_or_default()));
    described(&head, &values) + &table.errata().map(note).collect::<String>()
}

fn noted(note: &str) -> String {
    folded(&format!("! {note}"), columns()) + "\n"
}

/// A heading, the common conditions of values, and the values as printed, a block a metric.
fn described(head: &str, values: &[&PublishedFigure]) -> String {
    let metrics = document::distinct(values.iter().map(|value| value.metric.as_str()));
    let blocks: String = metrics.into_iter().map(|metric| block(values, metric) + "\n").collect();
    format!("{}\n{}\n\n{blocks}", folded(head, columns()), folded(&conditions(values), columns()))
}

fn conditions(values: &[&PublishedFigure]) -> String {
    let mut said = Vec::new();
    let mut common = |of: &dyn Fn(&PublishedFigure) -> Option<String>| {
        let mut all = values.iter().map(|value| of(value));
        let first = all.next().flatten();
        if first.is_some() && all.all(|other| other == first) {
            said.extend(first);
        }
    };
    let count = |n: Option<u64>, unit: &str| n.map(|n| format!("{} {unit}", grouped(n)));
    let several = |n: Option<u64>, one: &str| n.map(|n| plural(n, one));
    common(&|v| Some(v.under.technology.clone()));
    common(&|v| Some(v.under.implementation.clone()));
    common(&|v| Some(v.under.setup.clone()));
    common(&|v| several(v.under.cores, "core"));
    common(&|v| several(v.under.connections, "connection"));
    common(&|v| count(v.under.hash_table, "hash buckets"));
    common(&|v| count(v.under.table_size, "entries at most"));
    common(&|v| count(v.under.frame_size, "octets"));
    common(&|v| several(v.under.experiments, "repetition"));
    common(&|v| v.under.tolerance.map(|share| format!("loss tolerance {share}")));
    said.join("; ")
}

/// A line for each place in the table, a column for median, minimum and so on.
fn block(all: &[&PublishedFigure], metric: &str) -> String {
    let values: Vec<&PublishedFigure> = all.iter().copied().filter(|value| value.metric == metric).collect();
    let stats = document::distinct(values.iter().map(|value| value.stat.as_str()));
    let places = document::distinct(values.iter().map(|value| value.x.as_str()));
    let title = metric::by_key(metric).map_or(metric, |metric| metric.title);
    let unit = values.iter().find(|value| value.stat == stats[0]).map_or("", |value| value.unit.as_str());
    // `all` is the place of results that nothing distinguishes.
    let x_name = values.first().map(|value| value.x_name.replace('_', " ")).filter(|name| name != "all");
    let x_name = x_name.unwrap_or_default();
    let cell = |place: &str, stat: &str| {
        let found = values.iter().find(|value| value.x == place && value.stat == stat);
        found.map_or_else(String::new, |value| in_unit(value))
    };
    let mut rows = vec![[vec![x_name], stats.iter().map(|stat| stat.replace('_', " ")).collect()].concat()];
    for place in &places {
        let at = place.parse().map_or_else(|_| (*place).to_owned(), grouped);
        rows.push([vec![at], stats.iter().map(|stat| cell(place, stat)).collect()].concat());
    }
    format!("{title}, {unit}\n{}", in_columns("  ", &rows, |_| false))
}

/// The value as printed, or in its unit where the document prints another one, such as thousands.
fn in_unit(value: &PublishedFigure) -> String {
    let printed = value.printed.replace(',', "").parse::<f64>();
    if printed == Ok(value.value) { value.printed.clone() } else { grouped_f64(value.value) }
}

/// Lists differences and errata. Succeeds, as the differences are in the documents.
fn check(output: Output) {
    let all = check::all();
    if output.json {
        for Check { table, metric, how, x, printed, computed, agrees } in &all {
            term::json(&json!({
                "event": "derived", "id": table.number, "metric": metric, "how": how, "x": x, "printed": printed,
                "computed": computed, "agrees": agrees,
            }));
        }
        for erratum in ERRATA.iter() {
            term::json(&json!({
                "event": "erratum", "id": erratum.id, "kind": erratum.kind, "where": erratum.r#where,
                "printed": erratum.printed, "should_be": erratum.should_be, "confidence": erratum.confidence,
            }));
        }
        return;
    }
    out(&checked(&all));
}

fn checked(all: &[Check]) -> String {
    let mut text = String::new();
    let mut line = |values: &dyn std::fmt::Display, differ: &dyn std::fmt::Display, how: &str| {
        let _ = writeln!(text, "{values:>8}  {differ:>6}  {how}");
    };
    line(&"values", &"differ", "derived as");
    for how in document::distinct(all.iter().map(|check| check.how)) {
        let of: Vec<&Check> = all.iter().filter(|check| check.how == how).collect();
        let differ = of.iter().filter(|check| !check.agrees).count();
        line(&of.len(), &differ, how);
    }
    for Check { table, metric, x, printed, computed, .. } in all.iter().filter(|check| !check.agrees) {
        let _ = writeln!(text, "! {} {metric} at {x}: printed {printed}, computed {computed:.3}", table.number);
    }
    text.push_str("\nErrata\n");
    for erratum in ERRATA.iter() {
        let certain =
            if erratum.confidence == "certain" { String::new() } else { format!(" ({})", erratum.confidence) };
        // An anomaly explains and corrects nothing.
        let is_wrong = !["anomaly", "ambiguity"].contains(&erratum.kind.as_str());
        let reads = if is_wrong { "Should be" } else { "Reading" };
        let words = format!(
            "{} {}: {}. Printed: {}. {reads}: {}{certain}.",
            erratum.id,
            erratum.kind,
            erratum.r#where.join("; "),
            erratum.printed.trim_end_matches('.'),
            erratum.should_be.trim_end_matches('.')
        );
        let _ = writeln!(text, "{}", folded(&words, columns()));
    }
    text
}
