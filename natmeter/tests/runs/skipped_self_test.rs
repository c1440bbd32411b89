//! A run without a self-test has no verdict of one, and its report says so.

use record::store::SELF_TEST;
use std::path::Path;
use std::process::Command;

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
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("The self-test was skipped"), "{said}");
}
