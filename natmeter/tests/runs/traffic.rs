//! Options of the traffic in whole runs, on a simulated device of known truth: each shows its effect in the results, and reports
//! name it.

use crate::simulated::{self, header_of, run_of};
use method::SearchResult;
use record::audit::audit;
use record::read::Record;
use record::report::Report;

/// A device that is cold for 20 ms, and whose cache holds 1,000 of 100,000 connections.
const SCENARIO: &str = r#"
name = "traffic"
[dut.simulated]
capacity = "1 Mfps"
set-up-rate = "700k"
cold = "20 ms"
cold-capacity = "50 %"
cache = 1000
uncached-capacity = "25 %"
jitter = 0
host-noise = 0
[sweep]
connections = "100k"
[measure]
metrics = "throughput"
phase1-rate = "100k"
repetitions = 1
duration = "100 ms"
error = "0.1 %"
"#;

fn run(set: &[&str]) -> (SearchResult, String) {
    let dir = tempfile::tempdir().unwrap();
    let (path, outcomes) = run_of(dir.path(), SCENARIO, &header_of(SCENARIO, simulated::set(set)));
    let record = Record::read(&path, tech::ALL).unwrap();
    let audit = audit(&record);
    assert!(audit.findings.is_empty(), "{:?}", audit.findings);
    (outcomes[0].result.clone(), Report::of(record, audit).render("html").unwrap())
}

fn is_near(found: &SearchResult, expected: u64) -> bool {
    found.rate.0.abs_diff(expected) <= expected / 500
}

#[test]
fn warm_up_and_popularity_show_in_rates_and_reports() {
    // 1 % hits: 1,000,000 / (0.01 + 0.99 * 4) = 251,889, and half of it while cold.
    let (cold, text) = run(&[]);
    assert!(is_near(&cold, 125_944), "{}", cold.rate);
    assert!(!text.contains("warm-up") && !text.contains("Popularity"), "{text}");
    let (warm, text) = run(&["warm-up=20 ms", "warm-up-rate=10k"]);
    assert!(is_near(&warm, 251_889), "{}", warm.rate);
    assert!(text.contains("20 ms of traffic that is not counted precede each trial"), "{text}");
    assert!(text.contains("warm-up before each trial, not counted:"), "{text}");
    // 61.914 % hits, as H(1,000) / H(100,000).
    let (popular, text) = run(&["warm-up=20 ms", "popularity=zipf 1.0"]);
    assert!(is_near(&popular, 466_764), "{}", popular.rate);
    assert!(text.contains("zipf 1.0; of 100,000 connections the most popular 1 % have 61.9 % of the frames"), "{text}");
    assert!(text.contains("connections are drawn by Zipf's law"), "{text}");
}

/// One flow is in the cache: 1,000,000 frames per second against 251,889.
#[test]
fn overload_scalability_has_its_degradation_in_the_report() {
    let metric = "metrics=overload_scalability";
    let (found, text) = run(&[metric, "warm-up=20 ms"]);
    let degradation = found.parts["overload_degradation"];
    assert!((747_000..749_500).contains(&degradation), "{degradation}");
    let percent = format!("{:.2} %", degradation as f64 / 10_000.0);
    assert!(text.contains(&percent) && text.contains("RFC 8219, section 10.2.1"), "{percent}");
    let one_by_one = [metric, "warm-up=20 ms", "connections=10k", "measure.overload-scalability.interval=10 us"];
    let (found, text) = run(&one_by_one);
    // 10 % hits: 1,000,000 / (0.1 + 0.9 * 4).
    let all = found.parts["overload_throughput_all"];
    assert!((269_000..=270_270).contains(&all), "{all}");
    assert!(text.contains("one every 10 µs (RFC 8219, section 10.2.2)"), "{text}");
}
