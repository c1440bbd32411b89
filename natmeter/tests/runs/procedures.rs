//! The record of every procedure follows from its trials, as the audit repeats it.

use natmeter::forecast;
use natmeter::rig::Process;
use natmeter::run::Run;
use record::audit::{Basis, audit};
use record::folder::{Facts, Header};
use record::read::Record;
use record::store::RunFolder;
use scenario::{Options, parse};
use std::collections::BTreeSet;
use std::time::SystemTime;

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
    let options = Options::default();
    let loaded = parse("all.toml", ALL, &options, tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false)));
    let plan = forecast::plan(&loaded.scenario);
    let planned: BTreeSet<String> = plan.measurements.iter().map(|m| m.metric.clone()).collect();
    let header = Header::new("2026-01-01T00:00:00Z".to_owned(), loaded.scenario, options, plan);
    let folder = RunFolder::create(dir.path(), "all", SystemTime::UNIX_EPOCH, ALL, &header).unwrap();
    let path = folder.path().to_path_buf();
    let outcomes = Run::begin(&header, folder, Process::new(), &mut ()).complete(Facts::default(), None).unwrap();
    let measured: BTreeSet<String> = outcomes.iter().map(|outcome| outcome.measurement.metric.clone()).collect();
    assert_eq!((measured.len(), &measured), (9, &planned));
    let audited = audit(&Record::read(&path, tech::ALL).unwrap());
    let findings: Vec<String> = audited.findings.iter().map(ToString::to_string).collect();
    assert_eq!((audited.basis, findings), (Basis::DerivedAgain, Vec::new()));
}
