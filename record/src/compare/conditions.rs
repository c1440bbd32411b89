//! The conditions that differ between two runs. The reader decides whether the values can be compared.

use super::Run;
use crate::folder::FactTable;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Facts that differ between any two runs of one machine, or repeat the version.
const NOT_COMPARED: [&str; 2] = ["load at the start", "natmeter"];
/// Keys of a scenario that name it.
const NAMES: [&str; 3] = ["name", "about", "compare"];

/// A table without keys.
const EMPTY: &str = "{}";

/// A condition that differs from the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unlike {
    /// Number of the run, from 2.
    pub run: usize,
    /// Its kind: `scenario`, `bed`, `natmeter`, `rules`, `order`, `tester`, or `device` and its name.
    pub kind: String,
    /// The key or fact.
    pub key: String,
    /// Its value in the reference; `None` if it is absent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Its value in the run; `None` if it is absent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Unlike {
    /// Returns it in words.
    pub fn in_words(&self) -> String {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not given".to_owned());
        let name = if self.key.is_empty() { self.kind.clone() } else { format!("{} {}", self.kind, self.key) };
        format!("{name}: {}; reference: {}", value(&self.value), value(&self.reference))
    }
}

/// Returns the conditions of a run that differ from those of the reference.
pub(crate) fn unlike(reference: &Run, run: &Run, number: usize) -> Vec<Unlike> {
    let mut found = Vec::new();
    let mut add = |kind: &str, a: &FactTable, b: &FactTable| {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for key in keys.into_iter().filter(|key| a.get(*key) != b.get(*key)) {
            let (reference, value) = (a.get(key).cloned(), b.get(key).cloned());
            found.push(Unlike { run: number, kind: kind.to_owned(), key: key.clone(), reference, value });
        }
    };
    let (a, b) = (&reference.report.header, &run.report.header);
    let one = |value: &str| FactTable::from([(String::new(), value.to_owned())]);
    add("natmeter", &one(&a.version), &one(&b.version));
    let rules = |rules: Option<u32>| rules.map_or_else(|| one("not recorded"), |rules| one(&rules.to_string()));
    add("rules", &rules(a.rules), &rules(b.rules));
    add("order", &one(&a.order), &one(&b.order));
    if a.scenario != b.scenario {
        let (mut a, mut b) = (keys_of(reference), keys_of(run));
        without_known(&mut a, &b);
        without_known(&mut b, &a);
        add("scenario", &a, &b);
        add("bed", &bed_of(reference), &bed_of(run));
    }
    let tester = |run: &Run| {
        let facts = run.report.facts.tester.clone();
        facts.into_iter().filter(|(fact, _)| !NOT_COMPARED.contains(&fact.as_str())).collect::<FactTable>()
    };
    add("tester", &tester(reference), &tester(run));
    let duts: BTreeMap<&String, &FactTable> = reference.report.facts.duts.iter().collect();
    for (name, facts) in &run.report.facts.duts {
        if let Some(of_reference) = duts.get(name) {
            add(&format!("device {name}"), of_reference, facts);
        }
    }
    found
}

/// The keys of a run's scenario with the options of the command line.
fn keys_of(run: &Run) -> FactTable {
    let mut keys = flat(&run.text);
    keys.retain(|key, _| !NAMES.contains(&key.as_str()));
    let options = &run.report.header.options;
    for set in &options.set {
        let (key, value) = set.split_once('=').unwrap_or((set, ""));
        keys.insert(format!("--set {key}"), value.to_owned());
    }
    if options.full {
        keys.insert("--full".to_owned(), "given".to_owned());
    }
    keys
}

/// Removes tables without keys if the other scenario has keys in them: each of these keys is a difference of its own.
fn without_known(keys: &mut FactTable, other: &FactTable) {
    let is_given = |table: &str| other.keys().any(|key| key.starts_with(&format!("{table}.")));
    keys.retain(|key, value| value != EMPTY || !is_given(key));
}

fn bed_of(run: &Run) -> FactTable {
    run.report.header.options.bed.as_ref().map(|bed| flat(&bed.text)).unwrap_or_default()
}

/// The keys of a TOML text with dots between tables. A text that is not TOML has none.
pub(crate) fn flat(text: &str) -> FactTable {
    let mut keys = FactTable::new();
    if let Ok(table) = text.parse::<toml::Table>() {
        add_table("", &table, &mut keys);
    }
    keys
}

fn add_table(prefix: &str, table: &toml::Table, keys: &mut FactTable) {
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        match value {
            toml::Value::Table(inner) if !inner.is_empty() => add_table(&format!("{path}."), inner, keys),
            other => {
                keys.insert(path, shown(other));
            }
        }
    }
}

fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Table(_) => EMPTY.to_owned(),
        other => other.to_string(),
    }
}
