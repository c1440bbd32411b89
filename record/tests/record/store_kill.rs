//! `kill -9` while a process appends or creates run folders: nothing reported as stored is lost, the lock is released, and every
//! folder that looks like a run is one. The tests start themselves as the processes to kill.

use record::store::{HEADER, RunFolder, SCENARIO};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::SystemTime;

const CHILD: &str = "NATMETER_TEST_STORE_CHILD";

/// Appends trials for ever, and prints the number of each after it was stored.
fn append_until_killed(path: &Path) {
    let (mut folder, _) = RunFolder::open_for_resume(path).unwrap();
    for seq in 0u64.. {
        folder.append_trial(&json!({ "seq": seq, "padding": "x".repeat((seq as usize * 37) % 5_000) })).unwrap();
        eprintln!("{seq}");
    }
}

/// Creates run folders for ever, and prints the number of each after it was created.
fn create_until_killed(parent: &Path) {
    for number in 0u64.. {
        create(parent);
        eprintln!("{number}");
    }
}

fn create(parent: &Path) -> RunFolder {
    RunFolder::create(parent, "killed", SystemTime::UNIX_EPOCH, "name = \"killed\"\n", &json!({ "a": 1 })).unwrap()
}

/// Starts this test again as a child process, with a folder.
fn child(test: &str, path: &Path) -> (Child, std::io::Lines<BufReader<ChildStderr>>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("store_kill::{test}"), "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    (child, lines)
}

/// Waits until a child has reported at least `least`, and returns its last number.
fn wait_for(lines: &mut std::io::Lines<BufReader<ChildStderr>>, least: u64) -> u64 {
    let mut numbers = lines.map(|line| line.unwrap().parse::<u64>().unwrap() + 1);
    numbers.find(|&number| number >= least).expect("the child continues until it is killed")
}

#[test]
fn every_folder_that_a_killed_run_leaves_is_a_run_or_a_hidden_draft() {
    if let Some(path) = std::env::var_os(CHILD) {
        return create_until_killed(Path::new(&path));
    }
    for least in 1..=8 {
        let dir = tempfile::tempdir().unwrap();
        let test = "every_folder_that_a_killed_run_leaves_is_a_run_or_a_hidden_draft";
        let (mut child, mut lines) = child(test, dir.path());
        let reported = wait_for(&mut lines, least);
        child.kill().unwrap();
        child.wait().unwrap();
        let names =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let (drafts, runs): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with('.'));
        assert!(drafts.len() <= 1 && drafts.iter().all(|name| name.rsplit('.').next() == Some("draft")), "{drafts:?}");
        assert!(runs.len() as u64 >= reported);
        for path in runs.iter().map(|name| dir.path().join(name)) {
            let header: Value = serde_json::from_str(&std::fs::read_to_string(path.join(HEADER)).unwrap()).unwrap();
            assert_eq!(header, json!({ "a": 1 }));
            assert_eq!(std::fs::read_to_string(path.join(SCENARIO)).unwrap(), "name = \"killed\"\n");
            RunFolder::open_for_resume(&path).unwrap();
        }
        create(dir.path());
    }
}

#[test]
fn what_was_reported_as_stored_survives_kill_9() {
    if let Some(path) = std::env::var_os(CHILD) {
        return append_until_killed(Path::new(&path));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = create(dir.path()).path().to_path_buf();
    let (mut child, mut lines) = child("what_was_reported_as_stored_survives_kill_9", &path);
    let reported = wait_for(&mut lines, 40);
    let refused = RunFolder::open_for_resume(&path).unwrap_err();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refused.to_string().contains("in use by another natmeter"), "{refused}");

    let (folder, _) = RunFolder::open_for_resume(&path).unwrap();
    let trials: Vec<Value> = folder.trials().unwrap();
    assert!(trials.len() as u64 >= reported, "{} of {reported}", trials.len());
    assert!(trials.iter().enumerate().all(|(i, t)| t["seq"] == i as u64));
}
