//! The conditions that differ between two runs. The reader decides whether the values can be compared.

use super::{Run, matching};
use crate::folder::FactTable;
use scenario::Scenario;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Facts that differ between any two runs of one machine, or repeat the version.
const NOT_COMPARED: [&str; 2] = ["load at the start", "natmeter"];
/// Keys of a scenario that name it.
const NAMES: [&str; 3] = ["name", "about", "compare"];

const EMPTY: &str = "{}";

/// A condition that differs from the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unlike {
    /// Number of the run, from 2.
    pub run: usize,
    /// Its kind: `scenario`, `bed`, `natmeter`, `rules`, `order`, `tester`, or `device` and its name; if the name differs, also
    /// that in the reference.
    pub kind: String,
    /// The key or fact; empty if the kind has only one.
    pub key: String,
    /// Its value in the reference; `None` if it is absent there. No value in both: the scenarios differ in no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Its value in the run; `None` if it is absent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Unlike {
    pub fn in_words(&self) -> String {
        self.beside("reference")
    }

    /// Returns it in words; `other` is what the run is compared with.
    pub(crate) fn beside(&self, other: &str) -> String {
        if self.reference.is_none() && self.value.is_none() {
            return format!("the {}s differ", self.kind);
        }
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not given".to_owned());
        let name = if self.key.is_empty() { self.kind.clone() } else { format!("{} {}", self.kind, self.key) };
        format!("{name}: {}; {other}: {}", value(&self.value), value(&self.reference))
    }
}

/// The conditions of a run that differ from those of the reference.
struct Conditions {
    run: usize,
    unlike: Vec<Unlike>,
}

impl Conditions {
    fn add(&mut self, kind: &str, a: &FactTable, b: &FactTable) {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for key in keys.into_iter().filter(|key| a.get(*key) != b.get(*key)) {
            self.push(kind, key, a.get(key).cloned(), b.get(key).cloned());
        }
    }

    fn push(&mut self, kind: &str, key: &str, reference: Option<String>, value: Option<String>) {
        self.unlike.push(Unlike { run: self.run, kind: kind.to_owned(), key: key.to_owned(), reference, value });
    }

    fn add_scenarios(&mut self, reference: &Run, run: &Run) {
        let of = [reference, run].map(|run| &run.report.header.scenario);
        if of[0] == of[1] {
            return;
        }
        let known = self.unlike.len();
        let (mut a, mut b) = (keys_of(reference), keys_of(run));
        without_known(&mut a, &b);
        without_known(&mut b, &a);
        self.add("scenario", &a, &b);
        self.add("bed", &bed_of(reference), &bed_of(run));
        if self.unlike.len() == known && is_other_scenario(of[0], of[1]) {
            self.push("scenario", "", None, None);
        }
    }

    /// Adds the facts of the devices whose results are compared, and the devices that only one run has.
    fn add_devices(&mut self, reference: &Run, run: &Run) {
        let facts = |run: &Run, name: &str| run.report.facts.duts.get(name).cloned().unwrap_or_default();
        let measured = || Some("measured".to_owned());
        for pair in matching::devices(reference, run) {
            match pair {
                (Some(a), Some(b)) => {
                    let of_reference = if a == b { String::new() } else { format!(" (reference: {a})") };
                    self.add(&format!("device {b}{of_reference}"), &facts(reference, a), &facts(run, b));
                }
                (Some(a), None) => self.push(&format!("device {a}"), "", measured(), None),
                (None, Some(b)) => self.push(&format!("device {b}"), "", None, measured()),
                (None, None) => {}
            }
        }
    }
}

pub(crate) fn unlike(reference: &Run, run: &Run, number: usize) -> Vec<Unlike> {
    let mut found = Conditions { run: number, unlike: Vec::new() };
    let (a, b) = (&reference.report.header, &run.report.header);
    let one = |value: &str| FactTable::from([(String::new(), value.to_owned())]);
    found.add("natmeter", &one(&a.version), &one(&b.version));
    let rules = |rules: Option<u32>| rules.map_or_else(|| one("not recorded"), |rules| one(&rules.to_string()));
    found.add("rules", &rules(a.rules), &rules(b.rules));
    found.add("order", &one(&a.order), &one(&b.order));
    found.add_scenarios(reference, run);
    let tester = |run: &Run| {
        let facts = run.report.facts.tester.clone();
        facts.into_iter().filter(|(fact, _)| !NOT_COMPARED.contains(&fact.as_str())).collect::<FactTable>()
    };
    found.add("tester", &tester(reference), &tester(run));
    found.add_devices(reference, run);
    found.unlike
}

/// Whether scenarios differ in more than their names.
fn is_other_scenario(a: &Scenario, b: &Scenario) -> bool {
    let named = Scenario {
        name: a.name.clone(),
        about: a.about.clone(),
        compare: a.compare.clone(),
        limits: a.limits.clone(),
        ..b.clone()
    };
    *a != named
}

/// The keys of a run's scenario with the options of the command line.
fn keys_of(run: &Run) -> FactTable {
    let mut keys = flat(&run.report.scenario_text);
    keys.retain(|key, _| !NAMES.contains(&key.as_str()) && !key.starts_with("limits."));
    let options = &run.report.header.options;
    for set in &options.set {
        let (key, value) = set.split_once('=').unwrap_or((set, ""));
        keys.insert(format!("--set {key}"), value.to_owned());
    }
    if options.full {
        keys.insert("--full".to_owned(), "given".to_owned());
    }
    keys.extend(options.scale.iter().map(|scale| ("--scale".to_owned(), scale.clone())));
    keys.extend(options.cell.iter().map(|cell| ("--cell".to_owned(), cell.to_string())));
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
