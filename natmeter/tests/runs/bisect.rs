//! `natmeter bisect` with a simulated device whose rate depends on a file that the command writes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
name = "bisected"
[dut.simulated]
host-noise = "0"
capacity = "CAPACITY"
KEYS
[sweep]
connections = ["100k"]
[measure]
metrics = ["throughput"]
phase1-rate = "100k"
repetitions = 1
duration = "100 ms"
error = "1 %"
"#;

/// Installs a revision: version 6 and later are slow, 4 does not build, and each call is counted.
const INSTALL: &str = r#"
echo "$NATMETER_REVISION" >> installed
case $1 in
  4) exit 125 ;;
  6|7|8|9) rate=2500k ;;
  *) rate=3M ;;
esac
sed "s/CAPACITY/$rate/" template.toml > scenario.toml
"#;

fn folder(keys: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("template.toml"), SCENARIO.replace("KEYS", keys)).unwrap();
    fs::write(folder.path().join("install.sh"), INSTALL).unwrap();
    folder
}

fn bisect(folder: &Path, good: &str, bad: &str) -> Output {
    among("1,2,3,4,5,6,7,8,9", folder, good, bad)
}

fn among(revisions: &str, folder: &Path, good: &str, bad: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_natmeter"))
        .current_dir(folder)
        .args(["bisect", "--good", good, "--bad", bad, "--revisions", revisions, "--fail-under", "throughput < 2.8M"])
        .args(["--beside", "scenario.toml", "--", "sh", "install.sh"])
        .output()
        .unwrap()
}

fn installed(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join("installed")).unwrap().lines().map(str::to_owned).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_first_slow_revision_is_found_and_a_bisection_goes_on() {
    let folder = folder("");
    let folder = folder.path();
    let found = bisect(folder, "1", "9");
    let out = text(&found.stdout);
    assert_eq!(found.status.code(), Some(0), "{out}{}", text(&found.stderr));
    assert!(out.contains("first bad revision: 6") && out.contains("last good revision: 5"), "{out}");
    assert!(out.contains("throughput of simulated, 1 core, 100,000 connections is 2.5 Mfps"), "{out}");
    let steps = fs::read_to_string(folder.join("bisect/steps.jsonl")).unwrap();
    let order = ["1", "9", "5", "7", "6"];
    assert_eq!(installed(folder), order);
    assert_eq!(steps.lines().count(), order.len());

    // As after a kill in mid-step: the last verdicts are missing, and a line is incomplete.
    let kept: Vec<&str> = steps.lines().take(3).collect();
    fs::write(folder.join("bisect/steps.jsonl"), format!("{}\n{{\"revi", kept.join("\n"))).unwrap();
    let again = bisect(folder, "1", "9");
    assert!(text(&again.stdout).contains("first bad revision: 6"), "{}", text(&again.stderr));
    assert_eq!(installed(folder)[order.len()..], ["7", "6"]);

    let other = bisect(folder, "2", "9");
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("holds another bisection"), "{}", text(&other.stderr));
}

#[test]
fn revisions_that_cannot_be_tested_leave_a_range() {
    let folder = folder("");
    fs::write(folder.path().join("install.sh"), INSTALL.replace("  4)", "  4|5)")).unwrap();
    let found = bisect(folder.path(), "3", "7");
    assert_eq!(found.status.code(), Some(6), "{}", text(&found.stderr));
    assert!(text(&found.stdout).contains("the first bad revision is one of 4, 5, 6"), "{}", text(&found.stdout));
}

#[test]
fn ends_are_tested_first() {
    let folder = folder("");
    let wrong = bisect(folder.path(), "1", "5");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(text(&wrong.stderr).contains("5 should be bad, and is good"), "{}", text(&wrong.stderr));
    let reversed = bisect(folder.path(), "5", "1");
    assert!(text(&reversed.stderr).contains("list them from old to new"), "{}", text(&reversed.stderr));
    let twice = among("1,2,2,9", folder.path(), "1", "9");
    assert!(text(&twice.stderr).contains("`2` stands twice in --revisions"), "{}", text(&twice.stderr));
}

/// A tester limit is no verdict: each revision has three runs, and the good end stays unknown.
#[test]
fn bounds_are_repeated_and_are_no_verdict() {
    let folder = folder("tester-ceiling = \"100k\"");
    let unknown = bisect(folder.path(), "1", "9");
    assert_eq!(unknown.status.code(), Some(6), "{}", text(&unknown.stderr));
    assert!(text(&unknown.stderr).contains("1 should be good, and is skipped"), "{}", text(&unknown.stderr));
    let runs = fs::read_dir(folder.path().join("bisect/revision-0000")).unwrap().count();
    assert_eq!(runs, 3);
}

/// Revisions come from a repository too, and a command that fails ends the bisection.
#[test]
fn a_repository_gives_the_revisions() {
    let folder = folder("");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").current_dir(folder.path()).args(identity).args(arguments).output();
        let Ok(done) = done else { return false };
        assert!(done.status.success(), "{}", text(&done.stderr));
        true
    };
    if !git(&["init", "-q"]) {
        return;
    }
    for (number, rate) in ["3M", "3M", "3M", "2500k", "2500k"].into_iter().enumerate() {
        fs::write(folder.path().join("rate"), format!("{rate} {number}")).unwrap();
        git(&["add", "rate"]);
        git(&["commit", "-q", "-m", "a change"]);
        git(&["tag", &format!("v{number}")]);
    }
    let install = "rate=$(git show $1:rate | cut -d' ' -f1) && sed s/CAPACITY/$rate/ template.toml > scenario.toml";
    fs::write(folder.path().join("install.sh"), install).unwrap();
    let bisect = |command: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_natmeter"))
            .current_dir(folder.path())
            .args(["bisect", "--good", "v0", "--bad", "v4", "--git", ".", "--fail-under", "throughput < 2.8M"])
            .args(["--folder", command[0], "--beside", "scenario.toml", "--"])
            .args(command)
            .output()
            .unwrap()
    };
    let found = bisect(&["sh", "install.sh"]);
    let bad = Command::new("git").current_dir(folder.path()).args(["rev-parse", "v3"]).output().unwrap();
    let expected = format!("first bad revision: {}", text(&bad.stdout).trim());
    assert!(text(&found.stdout).contains(&expected), "{}{}", text(&found.stdout), text(&found.stderr));
    let failed = bisect(&["false"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("exit with 0 if the revision is installed"), "{}", text(&failed.stderr));
}
