//! The record of every procedure follows from its trials, as the audit repeats it.

use crate::simulated::{header_of, run_of};
use record::audit::{Basis, audit};
use record::read::Record;
use scenario::Options;
use std::collections::BTreeSet;

/// A device of 100 k frames per second with a queue, so that bursts have a longest length.
const ALL: &str = r#"
name = "all"
[dut.simulated]
capacity = "100 kfps"
set-up-rate = "50k"
table = "6k"
queue = 1000
host-noise = "0 %"
[sweep]
connections = "4k"
[measure]
metrics = [
    "max_conn_est_rate", "max_conn_est_rate_validated", "throughput", "frame_loss_rate", "latency", "pdv", "ipdv",
    "back_to_back_frames", "system_recovery_time",
]
alpha = "50 %"
repetitions = 1
duration = "100 ms"
error = "5 %"
max-rate = "200k"
"#;

#[test]
fn the_record_of_every_procedure_follows_from_its_trials() {
    let dir = tempfile::tempdir().unwrap();
    let header = header_of(ALL, Options::default());
    let planned: BTreeSet<String> = header.plan.measurements.iter().map(|m| m.metric.clone()).collect();
    let (path, outcomes) = run_of(dir.path(), ALL, &header);
    let measured: BTreeSet<String> = outcomes.iter().map(|outcome| outcome.measurement.metric.clone()).collect();
    assert_eq!((measured.len(), &measured), (9, &planned));
    let audited = audit(&Record::read(&path, tech::ALL).unwrap());
    let findings: Vec<String> = audited.findings.iter().map(ToString::to_string).collect();
    assert_eq!((audited.basis, findings), (Basis::DerivedAgain, Vec::new()));
}
