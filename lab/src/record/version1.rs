//! Version 1 of the run folder did not record `--set`, only the values that came of it. This file finds the options
//! again: it compares these values with those of the text alone, and writes each that differs as the override that
//! gives it. The result counts only if it gives exactly the recorded values.

use crate::scenario::{Options, Scenario, parse};
use crate::store::StoreError;
use serde_json::Value;
use std::path::Path;

/// The scenario of a run with the options that give it. Where no options are found, the recorded values themselves
/// are the scenario.
///
/// # Errors
/// When neither text nor values give a scenario.
pub(super) fn scenario(name: &str, text: &str, recorded: &Value) -> Result<(Scenario, Options), StoreError> {
    let full = recorded["full"] == true;
    let read = |set: Vec<String>| {
        let options = Options { full, set };
        let scenario = parse(name, text, &options).ok()?.scenario;
        Some((scenario, options))
    };
    let values = |scenario: &Scenario| serde_json::to_value(scenario).unwrap_or_default();
    let plain = read(Vec::new()).map_or(Value::Null, |(scenario, _)| values(&scenario));
    if let Some(found) = read(overrides(&plain, recorded)).filter(|(scenario, _)| values(scenario) == *recorded) {
        return Ok(found);
    }
    let from_values = serde_json::from_value::<Scenario>(recorded.clone());
    from_values.map(|scenario| (scenario, Options { full, set: Vec::new() })).map_err(|source| StoreError::Content {
        path: Path::new(name).with_file_name(crate::store::HEADER),
        line: source.line().max(1),
        source,
    })
}

/// The overrides that lead from the values of the text to the recorded ones.
fn overrides(plain: &Value, recorded: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["name", "about"].into_iter().filter(|&name| plain[name] != recorded[name]) {
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
        differences(table, plain.pointer(pointer), recorded.pointer(pointer), &mut found);
    }
    let before = plain["duts"].as_array();
    for (at, dut) in recorded["duts"].as_array().into_iter().flatten().enumerate() {
        let before = before.and_then(|duts| device(duts.get(at)?));
        if let Some((table, values)) = device(dut) {
            differences(&table, before.map(|(_, values)| values).as_ref(), Some(&values), &mut found);
        }
    }
    found
}

/// The table of a device in the text, and its values.
fn device(dut: &Value) -> Option<(String, Value)> {
    let (kind, values) = dut.as_object()?.iter().next()?;
    match kind.as_str() {
        "kernel" => {
            let mut nat = values["nat44"].clone();
            // The key `table` of a kernel device is recorded as `entries`; this one follows from the connections.
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

/// An override for each recorded value of a table that the text alone does not give. The tables within a table of
/// version 1 are groups of keys, which the text does not have.
fn differences(table: &str, plain: Option<&Value>, recorded: Option<&Value>, found: &mut Vec<String>) {
    for (name, value) in recorded.and_then(Value::as_object).into_iter().flatten() {
        let before = plain.and_then(|plain| plain.get(name));
        if before == Some(value) {
            continue;
        }
        if name == "axes" {
            found.extend(value.as_array().into_iter().flatten().filter_map(axis));
        } else if let Some(text) = in_words(name, value) {
            found.push(format!("{table}.{}={text}", key(name)));
        } else {
            differences(table, before, Some(value), found);
        }
    }
}

/// The key of a recorded value.
fn key(name: &str) -> String {
    match name {
        "entries" => "table".to_owned(),
        "buckets" => "hash-size".to_owned(),
        _ => name.trim_end_matches("_ppm").replace('_', "-"),
    }
}

/// A swept axis.
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

    /// Reads the values of `text` with `set` as version 1 recorded them, and finds the options again.
    fn found(text: &str, full: bool, set: &[&str]) -> Options {
        let set = set.iter().map(|&set| set.to_owned()).collect();
        let given = parse("x.toml", text, &Options { full, set });
        let given = given.unwrap_or_else(|complaints| panic!("{}", complaints.render(false))).scenario;
        let recorded = serde_json::to_value(&given).unwrap();
        let (again, options) = scenario("x.toml", text, &recorded).unwrap();
        assert_eq!(again, given);
        options
    }

    const QUICKSTART: &str = include_str!("../../../scenarios/quickstart.toml");
    const MAP_T: &str = include_str!("../../../scenarios/map-t.toml");
    const SOFTWIRES: &str = include_str!("../../../scenarios/lwaftr-softwires.toml");
    const KERNEL: &str = include_str!("../../../scenarios/kernel-nat44.toml");

    #[test]
    fn a_run_without_overrides_has_none() {
        for text in [QUICKSTART, MAP_T, SOFTWIRES, KERNEL] {
            for full in [false, true] {
                assert_eq!(found(text, full, &[]), Options { full, set: Vec::new() });
            }
        }
    }

    #[test]
    fn overrides_are_found_in_the_recorded_values() {
        for (text, full, set) in [
            (QUICKSTART, false, "connections=10k,20k | repetitions=1 | duration=20 ms | error=20 % | cores=1,2"),
            (QUICKSTART, true, "connections=50k | duration=61 s | measure.max-rate=1M"),
            (QUICKSTART, false, "inside=198.18.0.2 - 198.18.0.5 | source-ports=1024-11023 | ttl=9"),
            (QUICKSTART, false, "frame-size=128 | metrics=max_conn_est_rate | about=Another run."),
            (QUICKSTART, false, "link.impair.loss=100 ppm | link.capture.frames=64 | link.in-process.depth=256"),
            (QUICKSTART, false, "tester.workers=2 | connections=500k"),
            (MAP_T, false, "ce=4 | technology.map-t.udp-timeout=300 s | technology.map-t.table=30k | connections=20k"),
            (SOFTWIRES, false, "sweep.softwires=1000 | sweep.cores=1"),
            (KERNEL, false, "dut.nftables.hash-size=64k | dut.nftables.table=128k | connections=50k"),
        ] {
            let set: Vec<&str> = set.split(" | ").collect();
            assert!(!found(text, full, &set).set.is_empty(), "{set:?}");
        }
    }
}
