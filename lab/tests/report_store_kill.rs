//! `kill -9` in the middle of appending: nothing that was reported as stored is lost, and the lock is gone. A file
//! of its own because the test starts itself as the process to be killed.

use lab::store::{HEADER, RunFolder};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const CHILD: &str = "NATMETER_TEST_STORE_CHILD";

/// Append trials for ever and say each one's number after it was stored.
fn append_until_killed(path: &Path) {
    let (mut folder, _) = RunFolder::open_for_resume(path).unwrap();
    for seq in 0u64.. {
        folder.append_trial(&json!({ "seq": seq, "padding": "x".repeat((seq as usize * 37) % 5_000) })).unwrap();
        eprintln!("{seq}");
    }
}

#[test]
fn what_was_reported_as_stored_survives_kill_9() {
    if let Some(path) = std::env::var_os(CHILD) {
        return append_until_killed(Path::new(&path));
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path(), "killed", std::time::SystemTime::now()).unwrap();
    folder.write_once(HEADER, &json!({})).unwrap();
    let path = folder.path().to_path_buf();
    drop(folder);

    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "what_was_reported_as_stored_survives_kill_9", "--nocapture"])
        .env(CHILD, &path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reported = 0;
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while reported < 40 {
        reported = lines.next().expect("the child appends until it is killed").unwrap().parse::<u64>().unwrap() + 1;
    }
    let refused = RunFolder::open_for_resume(&path).unwrap_err();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refused.to_string().contains("in use by another natmeter"), "{refused}");

    let (folder, _) = RunFolder::open_for_resume(&path).unwrap();
    let trials: Vec<Value> = folder.trials().unwrap();
    assert!(trials.len() as u64 >= reported, "{} of {reported}", trials.len());
    assert!(trials.iter().enumerate().all(|(i, t)| t["seq"] == i as u64));
}
