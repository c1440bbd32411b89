//! A run with `--skip-self-test` has no `selftest.json`, and its reports have a doubt, also after a resumption.

use record::folder::SELF_TEST_SKIPPED;
use record::store::{RESULTS, SELF_TEST, TRIALS};
use std::path::Path;
use std::process::{Command, Output};

const SET: [&str; 7] = [
    "metrics=throughput",
    "phase1-rate=200k",
    "connections=10k",
    "repetitions=1",
    "duration=10 ms",
    "max-rate=10k",
    "error=50 %",
];

#[test]
fn a_skipped_self_test_is_a_doubt() {
    let runs = tempfile::tempdir().unwrap();
    let natmeter = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_natmeter"));
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).args(args).output().unwrap()
    };
    let options = ["run", "--beside", "--quiet", "--skip-self-test", "--runs", runs.path().to_str().unwrap()];
    let set = SET.iter().flat_map(|set| ["--set", set]);
    let output = natmeter(&options.into_iter().chain(set).chain(["quickstart"]).collect::<Vec<_>>());
    // The current speed of this machine decides whether the value is only a bound.
    assert!([0, 3].contains(&output.status.code().unwrap()), "{}", String::from_utf8_lossy(&output.stderr));
    let run = std::fs::read_dir(runs.path()).unwrap().next().unwrap().unwrap().path();
    assert!(!run.join(SELF_TEST).exists());
    let has_doubt = |output: &Output| String::from_utf8_lossy(&output.stdout).contains(SELF_TEST_SKIPPED);
    assert!(has_doubt(&output), "{output:?}");
    // As a run that was killed before its first trial.
    for file in [TRIALS, RESULTS] {
        std::fs::write(run.join(file), "").unwrap();
    }
    let resumed = natmeter(&["resume", "--beside", "--quiet", run.to_str().unwrap()]);
    assert!([0, 3].contains(&resumed.status.code().unwrap()), "{}", String::from_utf8_lossy(&resumed.stderr));
    assert!(run.join(SELF_TEST).exists() && has_doubt(&resumed), "{resumed:?}");
}
