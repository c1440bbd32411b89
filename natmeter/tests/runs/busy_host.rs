//! Searches on a busy host: it may leave a search without a result, but no decision contradicts the known truth.

use crate::program::{NATMETER, measured, only_run};
use method::StepVerdict;
use record::folder::{Calibration, Outcome};
use record::store::{CALIBRATION, Dir, RESULTS};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command};

const TRUTH: &str = "name = \"busy\"\n[dut.known-truth]\ncapacity = \"300k\"\nset-up-rate = \"200k\"\n[sweep]\n\
    connections = \"10k\"\n[measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\nrepetitions = 26\n\
    duration = \"50 ms\"\nerror = \"5 %\"\nstart-delay = \"5 ms\"\ndrain = \"20 ms\"\nsettle = \"0 s\"\n\
    phase1-drain = \"20 ms\"\n";

/// A process that is busy for some milliseconds, and then pauses.
struct Busy(Child);

impl Busy {
    fn on(cores: &str, pause: &str) -> Busy {
        let work = format!("while :; do i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; sleep {pause}; done");
        Busy(Command::new("taskset").args(["-c", cores, "sh", "-c", &work]).spawn().expect("taskset starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("the process ends");
    }
}

fn results(folder: &Path) -> Vec<Outcome> {
    let run = only_run(&folder.join("runs")).unwrap();
    Dir::open(&run).unwrap().lines(RESULTS).unwrap().values
}

/// Searches of the known-truth device on the tester's thread, beside busy processes on the same cores.
fn searches(cores: &str, has_priority: bool) -> Vec<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scenario.toml"), TRUTH).unwrap();
    let _busy: Vec<Busy> = ["0", "0.1", "0.3"].map(|pause| Busy::on(cores, pause)).into();
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let without = if has_priority || !is_root { &[][..] } else { &["setpriv", "--bounding-set=-sys_nice"] };
    let run = [NATMETER, "run", "scenario.toml", "--beside", "--quiet", "--skip-self-test", "--runs", "runs"];
    let pinned = ["-c", cores];
    let args = pinned.iter().chain(without).chain(&run);
    let ended = Command::new("taskset").args(args).current_dir(folder.path()).output().expect("taskset starts");
    assert!(ended.status.code().is_some_and(|code| [0, 3, 6].contains(&code)), "{ended:?}");
    results(folder.path())
}

/// Of 208 searches on one core and on two, with real-time priority and without.
#[test]
#[ignore = "slow: run by ./check slow-tests"]
fn slow_no_decision_on_a_busy_host_contradicts_the_truth() {
    for (cores, has_priority) in [("0", true), ("0", false), ("0,1", true), ("0,1", false)] {
        let outcomes = searches(cores, has_priority);
        assert!(!outcomes.is_empty(), "cores {cores}, priority {has_priority}");
        for outcome in outcomes {
            let truth = if outcome.measurement.metric == "throughput" { 300_000 } else { 200_000 };
            for step in &outcome.result.trace {
                let contradicts = match step.verdict {
                    StepVerdict::Fail => step.rate.0 < truth * 19 / 20,
                    StepVerdict::Pass => step.rate.0 > truth * 21 / 20,
                    StepVerdict::TesterBound | StepVerdict::HostBound => false,
                };
                assert!(!contradicts, "cores {cores}, priority {has_priority}, truth {truth}: {step:?}");
            }
        }
    }
}

#[test]
fn no_search_begins_above_what_the_null_device_reaches() {
    let folder = tempfile::tempdir().unwrap();
    let embedded =
        TRUTH.replace("known-truth", "embedded").replace("capacity = \"300k\"\nset-up-rate = \"200k\"\n", "");
    std::fs::write(folder.path().join("scenario.toml"), embedded.replace("= 26", "= 1")).unwrap();
    measured(folder.path(), &["run", "scenario.toml", "--beside", "--quiet", "--skip-self-test", "--runs", "runs"]);
    let run = Dir::open(&only_run(&folder.path().join("runs")).unwrap()).unwrap();
    let nulls = run.document::<Calibration>(CALIBRATION).unwrap().unwrap().nulls;
    let [null] = &nulls[..] else { panic!("{nulls:?}") };
    for outcome in results(folder.path()) {
        let most = if outcome.measurement.metric == "throughput" { null.frames } else { null.set_up.unwrap() };
        assert!(outcome.result.trace.iter().all(|step| step.rate.0 <= most.0 / 10 * 9 + 9), "{most}: {outcome:?}");
    }
}
