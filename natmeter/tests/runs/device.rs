//! A whole run of the procedures that look at the device or act on it, on a simulated device of known truth: values, report and
//! audit.

use crate::values::{Ended, median};

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

/// With `cpu-in-trials` every trial with data has the idle times that were injected.
#[test]
fn the_cores_are_sampled_in_every_trial_if_asked_for() {
    let text = SCENARIO.replace(
        "metrics = [\"max_conn_est_rate\", \"throughput\", \"conn_tear_down_rate\", \"memory_per_conntrack_entry\", \"cpu_idle\", \
         \"reset\", \"failover\"]",
        "metrics = [\"max_conn_est_rate\", \"throughput\"]\ncpu-in-trials = true",
    );
    let (text, _) = text.split_once("[measure.failover]").unwrap();
    let run = Ended::of(text);
    let of_throughput = run.trials().into_iter().filter(|trial| trial.measurement.contains("/throughput/"));
    let cores: Vec<usize> =
        of_throughput.map(|trial| trial.outcome.observed.cpu.iter().map(|cpu| cpu.cores.len()).sum()).collect();
    assert!(!cores.is_empty() && cores.iter().all(|cores| *cores == 2), "{cores:?}");
}

#[test]
fn a_run_finds_what_was_injected_and_its_record_is_sound() {
    let run = Ended::of(SCENARIO);
    let csv = run.report("csv");
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
    let html = run.report("html");
    for words in [
        "one hot core limits the throughput: core 0 of the device is busy",
        "times are of the clock of the",
        "same outside address and port afterwards",
    ] {
        assert!(html.contains(words), "{words}");
    }
}
