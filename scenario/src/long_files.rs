//! Long files are read in a time that grows with their length, not with its square. These tests take a moment; with
//! quadratic time they take minutes.

use crate::{Options, Scenario, parse};
use std::fmt::Write;

fn read(text: &str) -> Result<Scenario, key::Complaints> {
    parse("long.toml", text, &Options::default(), tech::ALL).map(|loaded| loaded.scenario)
}

fn connections(values: impl Iterator<Item = u64>) -> String {
    let values: Vec<String> = values.map(|n| n.to_string()).collect();
    let values = values.join(",");
    format!("name = \"long\"\n[dut.embedded]\n[link.in-process]\ndepth = 32\n[sweep]\nconnections = [{values}]\n")
}

#[test]
fn unknown_keys_are_counted() {
    let mut text = "name = \"long\"\n[dut.embedded]\n[sweep]\nconnections = \"100k\"\n".to_owned();
    (0..20_000).for_each(|n| writeln!(text, "unknown-{n} = 1").unwrap());
    let complaints = read(&text).unwrap_err();
    let words = complaints.render(false);
    assert!(words.contains("… and 19,980 more\n"), "{words}");
    assert!(words.ends_with("20,000 errors in long.toml; nothing was changed."), "{words}");
    assert_eq!((complaints.to_json().as_array().unwrap().len(), complaints.further()), (20, 19_980));
}

#[test]
fn few_errors_are_all_shown() {
    let complaints = read("name = \"short\"\nnam = 1\n").unwrap_err();
    assert_eq!(complaints.further(), 0);
    assert!(!complaints.render(false).contains("more\n"));
}

#[test]
fn a_list_of_an_axis_has_1000_values_at_most() {
    let scenario = read(&connections(100_000..101_000)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.sweep.connections.len(), 1_000);
    for (count, shown) in [(1_001, "1,001 values"), (100_000, "100,000 values")] {
        let words = read(&connections(100_000..100_000 + count)).unwrap_err().render(false);
        assert!(words.contains(shown) && words.contains("write at most 1,000 values"), "{words}");
    }
}

/// Values of ranges count, too.
#[test]
fn ranges_of_an_axis_have_1000_values_at_most_together() {
    let ranges: Vec<String> = (0..20).map(|n| format!("\"{0}000..{0}063 step 1\"", n + 100)).collect();
    let text = "name = \"long\"\n[dut.embedded]\n[link.in-process]\ndepth = 32\n[sweep]\nconnections = ";
    let words = read(&format!("{text}[{}]\n", ranges.join(","))).unwrap_err().render(false);
    assert!(words.contains("1,280 values"), "{words}");
}

/// A list of metrics of this scenario.
fn metrics(words: impl Iterator<Item = String>) -> String {
    let words = words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(",");
    format!("name = \"long\"\n[dut.embedded]\n[sweep]\nconnections = \"100k\"\n[measure]\nmetrics = [{words}]\n")
}

#[test]
fn repeated_values_of_a_long_list_are_counted() {
    let words = read(&metrics((0..70_000).map(|_| "throughput".to_owned()))).unwrap_err().render(false);
    assert!(words.contains("`throughput` is listed twice") && words.contains("… and 69,979 more\n"), "{words}");
}

#[test]
fn wrong_values_of_a_long_list_are_counted() {
    let words = read(&metrics((0..20_000).map(|n| n.to_string()))).unwrap_err().render(false);
    assert!(words.contains("… and 19,980 more\n"), "{words}");
}
