//! Runs with TCP connections, through the embedded gateway's NAT44 and, as root, this kernel's.

use crate::program::{measured, only_run, top};
use crate::simulated::trials;
use method::{Fault, FaultCounts, TrialRecord};
use std::path::{Path, PathBuf};

pub(crate) fn run(scenario: &Path, set: &[&str], runs: &Path) -> PathBuf {
    let mut args = vec!["run", "--beside", "--quiet", "--skip-self-test"];
    args.extend(set.iter().flat_map(|set| ["--set", set]));
    args.extend(["--runs", runs.to_str().unwrap(), scenario.to_str().unwrap()]);
    measured(&top(), &args);
    only_run(runs).unwrap()
}

const SHORT: [&str; 9] = [
    "connections=20k",
    "repetitions=1",
    "duration=50 ms",
    "phase1-rate=50k",
    "max-rate=200k",
    "error=50 %",
    "depth=64",
    "settle=10 ms",
    "time-limit=60 s",
];

#[test]
fn a_run_with_tcp_connections_reports_their_segments() {
    let runs = tempfile::tempdir().unwrap();
    let run = run(Path::new("scenarios/tcp.toml"), &SHORT, runs.path());
    let mut complete = 0;
    for outcome in trials(&run).iter().map(|trial| &trial.outcome).filter(|outcome| outcome.forward.sent > 0) {
        let counts = outcome.observed.tcp.as_ref().unwrap();
        let faults = |count: fn(&FaultCounts) -> u64| count(&outcome.forward.faults) + count(&outcome.reverse.faults);
        // After a lost segment, the next one of its connection counts as unexpected.
        let is_whole = outcome.host.tester_drops == 0 && outcome.forward.refused == 0;
        let expected = if is_whole { 0 } else { faults(|faults| faults.get(Fault::Unexpected)) };
        assert_eq!(faults(FaultCounts::total), expected, "{outcome:?}");
        if outcome.forward.received == outcome.forward.planned && counts.established > 0 {
            complete += 1;
            // SYN, ACK, FIN and the last ACK; SYN-ACK and FIN.
            let n = outcome.forward.planned;
            assert_eq!((counts.established, counts.from_initiator, counts.from_responder), (n, 4 * n, 2 * n));
        }
    }
    assert!(complete > 0);
    let text = measured(&top(), &["report", run.to_str().unwrap()]);
    for words in ["Maximum TCP connection rate", "Throughput of TCP segments"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(std::fs::read_to_string(run.join("report.html")).unwrap().contains("segments of the Initiator"));
}

/// A kernel with `nf_conntrack_tcp_be_liberal` = 0 translates only segments in their windows: so it has seen each segment of a
/// connection that completes as valid. Its garbage collector removes closed connections within minutes, so that they are still
/// there after a second.
#[test]
#[ignore = "needs root: the connection tracking of the kernel"]
fn the_connection_tracking_of_this_kernel_follows_the_connections() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.toml");
    let text = "name = \"kernel\"\n[dut.nftables]\n[link.veth]\n[traffic]\ndirection = \"both\"\n[sweep]\nconnections = 8000\n\
        [measure]\nmetrics = [\"max_tcp_conn_rate\", \"tcp_throughput\"]\nphase1-rate = \"10k\"\nrepetitions = 1\n\
        duration = \"100 ms\"\nmax-rate = \"20k\"\nerror = \"50 %\"\ntime-limit = \"120 s\"\n[measure.tcp]\ndata = 2\n\
        close = \"rst\"\nwatch = \"1 s\"\n";
    std::fs::write(&file, text).unwrap();
    let run = run(&file, &[], &folder.path().join("runs"));
    let trials = trials(&run);
    let passed = |trial: &&TrialRecord| {
        trial.outcome.forward.sent > 0 && trial.outcome.forward.received == trial.outcome.forward.planned
    };
    assert!(trials.iter().filter(passed).count() > 1, "{trials:?}");
    let is_life = |trial: &&TrialRecord| trial.measurement.contains("max_tcp_conn_rate") && passed(trial);
    for trial in trials.iter().filter(is_life) {
        let store = trial.outcome.store.as_ref().unwrap();
        // A quarter is held.
        let entries = (store.dut_entries, store.dut_entries_after);
        assert_eq!(entries, (Some(2_000), Some(2_000 + trial.outcome.forward.sent)), "{trial:?}");
    }
    let watched = trials.iter().filter_map(|trial| trial.outcome.observed.tcp.as_ref()?.emptying).count();
    assert_eq!(watched, 1);
}
