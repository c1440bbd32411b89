//! The options of runs of version 1, which recorded values in place of `--set`: each that differs from the text is an override.

use crate::folder::{RECORD_WITHOUT_VERSION, recorded_defaults};
use crate::store::StoreError;
use scenario::{Lists, Options, Scenario, book, parse_recorded};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn scenario(
    name: &str,
    text: &str,
    recorded: &Value,
    lists: Lists,
) -> Result<(Scenario, Options), StoreError> {
    let full = recorded["full"] == true;
    let read = |set: Vec<String>| {
        let options = Options { full, set, ..Options::default() };
        let scenario =
            parse_recorded(recorded_defaults(RECORD_WITHOUT_VERSION, None), name, text, &options, lists).ok()?.scenario;
        Some((scenario, options))
    };
    // The text of the technology's table is not compared: other text may give the same values.
    let values = |(scenario, _)| Scenario { parameters: BTreeMap::new(), ..scenario };
    let plain = read(Vec::new()).map(values);
    // Drops overrides that change nothing. An override that is refused alone may be valid with others.
    let alone = |set: &String| read(vec![set.clone()]).map(values);
    let changes = |set: &String| plain.is_none() || alone(set).is_none_or(|scenario| Some(scenario) != plain);
    let all: Vec<String> = overrides(recorded, lists).into_iter().filter(changes).collect();
    let sound: Vec<String> = all.iter().filter(|set| alone(set).is_some()).cloned().collect();
    read(all)
        .or_else(|| read(sound))
        .ok_or_else(|| StoreError::Underivable { path: Path::new(name).with_file_name(crate::store::HEADER) })
}

/// An override for each recorded value that has a key.
fn overrides(recorded: &Value, lists: Lists) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["name", "about"] {
        found.extend(in_words(name, &recorded[name]).map(|text| format!("{name}={text}")));
    }
    let measure = if recorded["full"] == true { "full" } else { "measure" };
    let tables = [
        ("/traffic", "traffic"),
        ("/sweep", "sweep"),
        ("/measure", measure),
        ("/tester", "tester"),
        ("/link/in-process", "link.in-process"),
        ("/link/veth", "link.veth"),
        ("/impair", "link.impair"),
        ("/capture", "link.capture"),
    ];
    for (pointer, table) in tables {
        values(table, recorded.pointer(pointer), &mut found);
    }
    for dut in recorded["duts"].as_array().into_iter().flatten() {
        if let Some((table, recorded)) = device(dut) {
            values(&table, Some(&recorded), &mut found);
        }
    }
    let book = book(lists);
    found.retain(|set| set.split_once('=').is_some_and(|(path, _)| book.key(path).is_some()));
    found
}

/// Returns the name of a device's table in the text, and its values.
fn device(dut: &Value) -> Option<(String, Value)> {
    let (kind, values) = dut.as_object()?.iter().next()?;
    match kind.as_str() {
        "kernel" => {
            let mut nat = values["nat44"].clone();
            // The key `table` of a kernel device is recorded as `entries`; this `table` follows from the connections.
            nat.as_object_mut()?.remove("table");
            Some((format!("dut.{}", values["software"].as_str()?), nat))
        }
        "technology" => {
            let (name, values) = values["technology"].as_object()?.iter().next()?;
            Some((format!("technology.{name}"), values.clone()))
        }
        _ => Some((format!("dut.{kind}"), values.clone())),
    }
}

/// An override for each recorded value of a table. The tables within a table of version 1 are groups of keys, which the text
/// does not have.
fn values(table: &str, recorded: Option<&Value>, found: &mut Vec<String>) {
    for (name, value) in recorded.and_then(Value::as_object).into_iter().flatten() {
        if name == "axes" {
            found.extend(value.as_array().into_iter().flatten().filter_map(axis));
        } else if let Some(text) = in_words(name, value) {
            found.push(format!("{table}.{}={text}", key(name)));
        } else {
            values(table, Some(value), found);
        }
    }
}

fn key(name: &str) -> String {
    match name {
        "entries" => "table".to_owned(),
        "buckets" => "hash-size".to_owned(),
        _ => name.trim_end_matches("_ppm").replace('_', "-"),
    }
}

fn axis(swept: &Value) -> Option<String> {
    Some(format!("sweep.{}={}", swept["axis"].as_str()?, in_words("", &swept["values"])?))
}

/// Values that version 1 records in nanoseconds, beside all that end in `timeout`.
const TIMES: [&str; 7] = ["duration", "start_delay", "drain", "settle", "phase1_drain", "time_limit", "delay"];

/// A value as an override gives it; none for a group of keys.
fn in_words(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| in_words(name, item)).collect();
            items.map(|items| items.join(","))
        }
        Value::Number(n) if name.ends_with("_ppm") => Some(format!("{n} ppm")),
        Value::Number(n) if TIMES.contains(&name) || name.ends_with("timeout") => Some(format!("{n} ns")),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Object(_) => range(value),
    }
}

/// A range of addresses or ports, or a prefix.
fn range(value: &Value) -> Option<String> {
    let first = &value["first"];
    if let (Some(first), Some(count)) = (first.as_str(), value["count"].as_u64()) {
        let first: std::net::Ipv4Addr = first.parse().ok()?;
        let last = u32::from(first).checked_add(u32::try_from(count).ok()?.checked_sub(1)?)?;
        return Some(format!("{first} - {}", std::net::Ipv4Addr::from(last)));
    }
    if let (Some(first), Some(last)) = (first.as_u64(), value["last"].as_u64()) {
        return Some(format!("{first}-{last}"));
    }
    Some(format!("{}/{}", value["addr"].as_str()?, value["len"].as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = include_str!("../../tests/record/version1/embedded-nat44/scenario.toml");
    const RECORDED: &str = include_str!("../../tests/record/version1/embedded-nat44/run.json");

    /// The overrides that are found where recorded values differ from those of the folder.
    fn found(changes: &[(&str, Value)]) -> Vec<String> {
        let mut header: Value = serde_json::from_str(RECORDED).unwrap();
        let recorded = &mut header["scenario"];
        for (pointer, value) in changes {
            *recorded.pointer_mut(pointer).unwrap() = value.clone();
        }
        let (_, options) = scenario("x.toml", TEXT, recorded, tech::ALL.into()).unwrap();
        options.set
    }

    #[test]
    fn overrides_are_found_in_the_recorded_values() {
        let usual = found(&[]);
        for (pointer, value, set) in [
            ("/traffic/ttl", json!(9), "traffic.ttl=9"),
            ("/traffic/inside", json!({"first": "198.18.0.2", "count": 4}), "traffic.inside=198.18.0.2 - 198.18.0.5"),
            ("/measure/repetitions", json!(2), "measure.repetitions=2"),
            ("/measure/error_ppm", json!(150_000), "measure.error=150000 ppm"),
            ("/about", json!("Another run."), "about=Another run."),
        ] {
            // What was changed already has one override all the same.
            let key = set.split_once('=').unwrap().0;
            let mut wanted: Vec<String> =
                usual.iter().filter(|one| one.split_once('=').unwrap().0 != key).cloned().collect();
            wanted.push(set.to_owned());
            let mut found = found(&[(pointer, value)]);
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted);
        }
    }
}
