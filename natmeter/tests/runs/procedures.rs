//! The record of every procedure follows from its trials, as the audit repeats it.

use crate::simulated::{header_of, run_of};
use procedure::Sends;
use record::audit::{Basis, audit};
use record::read::Record;
use scenario::Options;
use std::collections::BTreeSet;

/// A device of 100 k frames per second with a queue, so that bursts have a longest length.
const DEVICE: &str = r#"
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
alpha = "50 %"
repetitions = 1
duration = "100 ms"
error = "5 %"
max-rate = "200k"
"#;

/// Returns the metrics of all procedures with frames, or with DNS queries, which need another link. Rates of new
/// connections come first, because other metrics use them.
fn metrics(are_of_queries: bool) -> Vec<&'static str> {
    let procedures = procedure::ALL.iter().filter(|procedure| (procedure.sends == Sends::Queries) == are_of_queries);
    let mut procedures: Vec<_> = procedures.collect();
    procedures.sort_by_key(|procedure| procedure.sends != Sends::NewConnections);
    let metrics = procedures.into_iter().flat_map(|procedure| procedure.measured());
    metrics.filter(|metric| metric.baseline_of.is_none()).map(|metric| metric.key).collect()
}

#[test]
fn the_record_of_every_procedure_follows_from_its_trials() {
    for metrics in [false, true].map(metrics) {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("{DEVICE}metrics = {metrics:?}\n");
        let header = header_of(&text, Options::default());
        let (path, outcomes) = run_of(dir.path(), &text, &header);
        let measured: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.measurement.metric.as_str()).collect();
        assert_eq!(measured, metrics.iter().copied().collect());
        let audited = audit(&Record::read(&path, tech::ALL).unwrap());
        let findings: Vec<String> = audited.findings.iter().map(ToString::to_string).collect();
        assert_eq!((audited.basis, findings), (Basis::DerivedAgain, Vec::new()), "{metrics:?}");
    }
}
