//! A whole run of the procedures that look at the device or act on it, on a simulated device of known truth: values, report and
//! audit.

use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
name = "device"
about = "A device of known truth."
[dut.simulated]
capacity = "1M"
set-up-rate = "500k"
tear-down-rate = "2M"
tear-down-empty = "50 ms"
entry-octets = 385
idle = ["2 %", "60 %"]
reset-time = "1500 ms"
failover-time = "250 ms"
survive = "90 %"
move = "50 %"
host-noise = "0"
jitter = "0"
[sweep]
connections = "1M"
[measure]
metrics = ["max_conn_est_rate", "throughput", "conn_tear_down_rate", "memory_per_conntrack_entry", "cpu_idle", "reset", "failover"]
repetitions = 2
duration = "1 s"
error = "0.5 %"
[measure.failover]
rate = "500k"
churn = "10k"
"#;

fn natmeter(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_natmeter")).current_dir(folder).args(args).output().unwrap()
}

/// The median of a metric in the CSV report.
fn median(csv: &str, metric: &str) -> f64 {
    let line = csv.lines().find(|line| line.contains(&format!(",{metric},median,")));
    let line = line.unwrap_or_else(|| panic!("{metric}: {csv}"));
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "value").unwrap();
    // Fields with a comma are before the value only in quotes.
    let mut quoted = false;
    let plain: String = line
        .chars()
        .filter(|c| {
            quoted ^= *c == '"';
            !(quoted && *c == ',')
        })
        .collect();
    plain.split(',').nth(at).unwrap().parse().unwrap()
}

#[test]
fn a_run_finds_what_was_injected_and_its_record_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("device.toml"), SCENARIO).unwrap();
    let run = natmeter(folder.path(), &["run", "device.toml", "--beside", "--quiet", "--runs", "runs"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let path = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    let report = |format: &str| {
        let report = natmeter(folder.path(), &["report", "--format", format, path.to_str().unwrap()]);
        assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
        String::from_utf8(report.stdout).unwrap()
    };
    let csv = report("csv");
    for (metric, truth) in [
        ("conn_tear_down_rate", 2e6),
        ("net_deletion_time", 0.5e9),
        ("memory_per_conntrack_entry", 385.0),
        ("memory_per_hash_bucket", 8.0),
        ("reset", 1.5e9),
        ("failover", 0.25e9),
        ("failover_survived", 900_000.0),
        ("failover_moved", 50_000.0),
    ] {
        let found = median(&csv, metric);
        assert!((found / truth - 1.0).abs() < 0.01, "{metric}: {found}, injected {truth}");
    }
    let html = report("html");
    for words in [
        "one hot core limits the throughput: core 0 of the device is busy",
        "times are of the clock of the",
        "same outside address and port afterwards",
    ] {
        assert!(html.contains(words), "{words}");
    }
}
