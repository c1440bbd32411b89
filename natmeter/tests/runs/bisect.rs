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

const BED: &str = r#"
[bed.left]
interface = "left"
addresses = ["198.18.0.2/24", "2001:2:0:1800::1/64"]
gateway = "198.18.0.1"
[bed.right]
interface = "right"
addresses = ["198.19.0.2/24", "2001:2:0:1900::1/64"]
gateway = "198.19.0.1"
[dut]
clear = "true"
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

/// Runs of the good end, and the text of a bisection.
fn runs_of_the_good_end(repetitions: u32) -> (usize, String) {
    let folder = folder("");
    let template = SCENARIO.replace("KEYS", "").replace("repetitions = 1", &format!("repetitions = {repetitions}"));
    fs::write(folder.path().join("template.toml"), template).unwrap();
    let found = among("1,6", folder.path(), "1", "6");
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    (fs::read_dir(folder.path().join("bisect/revision-0000")).unwrap().count(), text(&found.stdout))
}

/// Five repetitions have an interval, one has none: then most of three runs decide.
#[test]
fn values_without_an_interval_are_repeated() {
    let (runs, text) = runs_of_the_good_end(1);
    assert!(runs == 3 && text.contains("6: bad; bad in 3 of 3 runs") && text.contains("too few"), "{runs}: {text}");
    let (runs, text) = runs_of_the_good_end(5);
    assert!(runs == 1 && !text.contains("too few"), "{runs}: {text}");
}

/// An edited scenario or bed, and another number of runs, are another bisection.
#[test]
fn edited_texts_and_other_tries_are_another_bisection() {
    let folder = folder("");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("scenario.toml"), SCENARIO.replace("KEYS", "").replace("CAPACITY", "3M")).unwrap();
    let nat64 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/plat.toml");
    fs::copy(nat64, path("nat64.toml")).unwrap();
    fs::write(path("bed.toml"), BED).unwrap();
    // The command fails, so nothing is measured.
    let again = |of_scenario: &[&str], name: &str| {
        let done = Command::new(env!("CARGO_BIN_EXE_natmeter"))
            .current_dir(folder.path())
            .args(["bisect", "--good", "1", "--bad", "2", "--revisions", "1,2", "--fail-under", "throughput < 2.8M"])
            .args(["--folder", name])
            .args(of_scenario)
            .args(["--", "false"])
            .output()
            .unwrap();
        (done.status.code().unwrap(), text(&done.stderr))
    };
    let edit = |name: &str| fs::write(path(name), fs::read_to_string(path(name)).unwrap() + "# edited\n").unwrap();
    let (alone, with_bed) = (["scenario.toml"], ["nat64.toml", "--bed", "bed.toml"]);
    assert_eq!([again(&alone, "a").0, again(&alone, "a").0], [1; 2]);
    assert_eq!([again(&with_bed, "b").0, again(&with_bed, "b").0], [1; 2]);
    let (code, errors) = again(&["scenario.toml", "--tries", "5"], "a");
    assert!(code == 2 && errors.contains("holds another bisection"), "{code}: {errors}");
    edit("bed.toml");
    let (code, errors) = again(&with_bed, "b");
    assert!(code == 2 && errors.contains("its test bed changed during the bisection in b"), "{code}: {errors}");
    assert_eq!(again(&alone, "a").0, 1);
    edit("scenario.toml");
    let (code, errors) = again(&alone, "a");
    assert!(code == 2 && errors.contains("scenario.toml or its test bed changed"), "{code}: {errors}");
}

/// Runs git in a folder; `None` without git.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
    let done = Command::new("git").current_dir(folder).args(identity).args(arguments).output().ok()?;
    assert!(done.status.success(), "{}", text(&done.stderr));
    Some(text(&done.stdout).trim().to_owned())
}

/// The good commit must be one of the first parents of the bad one: otherwise a commit of another branch would be blamed.
#[test]
fn a_good_commit_elsewhere_is_refused() {
    let folder = folder("");
    let folder = folder.path();
    let Some(_) = git(folder, &["init", "-q", "-b", "line"]) else { return };
    let commit = |name: &str| {
        git(folder, &["commit", "-q", "--allow-empty", "-m", name]);
        git(folder, &["tag", name]);
    };
    commit("base");
    git(folder, &["checkout", "-q", "-b", "side"]);
    commit("merged");
    git(folder, &["checkout", "-q", "line"]);
    commit("next");
    git(folder, &["merge", "-q", "--no-ff", "-m", "merge", "merged"]);
    commit("last");
    git(folder, &["checkout", "-q", "side"]);
    commit("apart");
    let between = |good: &str, bad: &str| {
        let done = Command::new(env!("CARGO_BIN_EXE_natmeter"))
            .current_dir(folder)
            .args(["bisect", "--good", good, "--bad", bad, "--git", ".", "--fail-under", "throughput < 2.8M"])
            .args(["scenario.toml", "--", "false"])
            .output()
            .unwrap();
        (done.status.code().unwrap(), text(&done.stderr))
    };
    for (good, bad, words) in [
        ("last", "base", "`last` is not an ancestor of `base`: exchange --good and --bad"),
        ("apart", "last", "`apart` is not an ancestor of `last`"),
        ("merged", "last", "`merged` came to `last` by a merge"),
        ("last", "last", "are the same commit"),
    ] {
        let (code, errors) = between(good, bad);
        assert!(code == 2 && errors.contains(words), "{code}: {errors}");
    }
    // Only the command fails.
    assert_eq!(between("base", "last").0, 1);
}

/// Revisions come from a repository too, and a command that fails ends the bisection.
#[test]
fn a_repository_gives_the_revisions() {
    let folder = folder("");
    let git = |arguments: &[&str]| git(folder.path(), arguments);
    if git(&["init", "-q"]).is_none() {
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
