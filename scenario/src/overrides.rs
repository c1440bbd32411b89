//! `--set KEY=VALUE`: which key a short name means.

use crate::scale;
use key::{Book, Fault, SourceSpan, Tree, did_you_mean, override_value};

/// Applies an override, the text of the last source of the tree.
pub(crate) fn apply(tree: &mut Tree, book: &Book, full: bool) -> Result<(), Box<Fault>> {
    let at = tree.sources.len() - 1;
    let text = tree.sources[at].text.clone();
    let Some((key, value)) = text.split_once('=') else {
        let fault =
            Fault::new("an override needs a key and a value").at(SourceSpan::new(at, 0..text.len()), "no `=` here");
        return Err(Box::new(fault.instead("write KEY=VALUE, for example --set connections=4M")));
    };
    let name = key.trim();
    let start = key.len() - key.trim_start().len();
    let place = SourceSpan::new(at, start..start + name.len());
    scale::refuse_path(name, place)?;
    let path = resolve(tree, book, name, place, full)?;
    let is_list = book.key(&path).is_some_and(|key| (key.shape)().is_list);
    let node = override_value(value, at, key.len() + 1, is_list);
    tree.insert(&path, place, node);
    Ok(())
}

/// Whether a key of `[measure]` makes a run conform: `--full` never takes it from there.
fn is_conforming(book: &Book, name: &str) -> bool {
    book.key(&format!("measure.{name}")).is_some_and(|key| key.default.conforming)
}

fn resolve(tree: &Tree, book: &Book, name: &str, place: SourceSpan, full: bool) -> Result<String, Box<Fault>> {
    if let Some(key) = name.strip_prefix("measure.").filter(|key| full && is_conforming(book, key)) {
        let fault = Fault::new(format!("--full does not use `{name}`")).at(place, "has no effect with --full");
        return Err(Box::new(fault.instead(format!("write {key}=… or full.{key}=…, or remove --full"))));
    }
    if name.contains('.') || book.key(name).is_some() {
        return Ok(name.to_owned());
    }
    let mut tables: Vec<&str> = book.tables_with(name).map(|chapter| chapter.path.as_str()).collect();
    tables.retain(|table| is_used(tree, table));
    // `measure` and `full` hold the same keys: which of them counts is known, so the short name is not ambiguous.
    // The same holds for `connections`, of which [full] may have its own.
    let has = |table: &str| tree.get(&format!("{table}.{name}")).is_some();
    if tables.contains(&"full") {
        let full_counts = full && (is_conforming(book, name) || has("full"));
        tables.retain(|table| (*table == "full") == full_counts);
    }
    // An axis may have the name of a key elsewhere: it is meant where the scenario sweeps it.
    if tables.len() > 1 && tables.contains(&"sweep") {
        tables.retain(|table| (*table == "sweep") == has("sweep"));
    }
    // The NAT44 of [dut.embedded] has its keys there, or in the technology's table.
    if tables.len() > 1 && tables.contains(&"dut.embedded") && tree.table("technology").is_some() {
        tables.retain(|table| *table != "dut.embedded");
    }
    match tables[..] {
        [table] => Ok(format!("{table}.{name}")),
        [] => {
            let fault = Fault::new(format!("unknown key `{name}`")).at(place, "no such key in this scenario");
            if let Some(instead) = book.slip(name) {
                return Err(Box::new(fault.instead(instead)));
            }
            let elsewhere = elsewhere(book, name);
            if !elsewhere.is_empty() {
                return Err(Box::new(fault.instead(elsewhere)));
            }
            let used = book.chapters.iter().filter(|chapter| is_used(tree, &chapter.path));
            let known = used.flat_map(|chapter| &chapter.keys).map(|key| key.name);
            Err(Box::new(match did_you_mean(name, known) {
                Some(meant) => fault.instead(format!("did you mean `{meant}`?")),
                None => fault.instead("write a key of the scenario, or its complete path, as in measure.repetitions"),
            }))
        }
        _ => {
            let paths: Vec<String> = tables.iter().map(|table| format!("`{table}.{name}`")).collect();
            let fault = Fault::new(format!("`{name}` could be several keys")).at(place, "ambiguous");
            Err(Box::new(fault.instead(format!("write one of {}", paths.join(", ")))))
        }
    }
}

/// Where a key belongs that no table of the scenario has; empty if no table of any scenario has it.
fn elsewhere(book: &Book, name: &str) -> String {
    let tables: Vec<&str> = book.tables_with(name).map(|chapter| chapter.path.as_str()).collect();
    // Links and devices beside the present ones would be a second link, or another device: a table of its own can be added.
    if let Some(table) = tables.iter().find(|table| ["link.impair", "link.capture"].contains(table)) {
        return format!("write `{table}.{name}`, which adds the table [{table}] to the scenario");
    }
    let tables: Vec<String> =
        tables.iter().filter(|table| !table.starts_with("gateway")).map(|table| format!("[{table}]")).collect();
    match &tables[..] {
        [] => String::new(),
        [table] => format!("`{name}` is a key of {table}, a table that this scenario does not have"),
        _ => format!("`{name}` is a key of {}, tables that this scenario does not have", tables.join(", ")),
    }
}

/// Whether a table takes part in short names: devices, links and technologies only when the scenario has them, and none of a
/// gateway's file.
fn is_used(tree: &Tree, table: &str) -> bool {
    (!table.contains('.') && table != "gateway") || (tree.table(table).is_some() && !table.starts_with("gateway."))
}
