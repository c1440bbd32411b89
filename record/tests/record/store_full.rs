//! A disk that is full in the middle of a line. A file size limit simulates the disk; it holds for a whole process, so the test
//! starts itself as a child process.

use record::store::{RunFolder, StoreError, TRIALS};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;

const CHILD: &str = "NATMETER_TEST_STORE_FULL";

#[test]
fn a_line_that_does_not_fit_is_removed_and_the_run_can_continue() {
    if std::env::var_os(CHILD).is_some() {
        return with_a_full_disk();
    }
    let this = "store_full::a_line_that_does_not_fit_is_removed_and_the_run_can_continue";
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", this, "--nocapture"]).env(CHILD, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the test has another name now");
}

fn with_a_full_disk() {
    // Without a handler the limit would end the process.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create(dir.path(), "full", std::time::SystemTime::now(), "", &json!({})).unwrap();
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: Some(1_000), maximum: before.maximum }).unwrap();
    let mut stored = 0u64;
    let error = loop {
        match folder.append_trial(&json!({ "seq": stored, "padding": "x".repeat(70) })) {
            Ok(()) => stored += 1,
            Err(e) => break e,
        }
    };
    setrlimit(Resource::Fsize, before).unwrap();

    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let text = std::fs::read_to_string(folder.path().join(TRIALS)).unwrap();
    assert!(stored > 5 && text.ends_with("}\n"), "{text}");
    assert!(text.len() < 1_000, "the limit lies inside a line");
    folder.append_trial(&json!({ "seq": stored })).unwrap();
    let trials: Vec<Value> = folder.trials().unwrap();
    assert!(trials.iter().enumerate().all(|(i, t)| t["seq"] == i as u64));
    assert_eq!(trials.len() as u64, stored + 1);
}
