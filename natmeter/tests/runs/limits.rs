//! The limits of a scenario, judged at the end of a run and by `natmeter report`: lines, exit codes, JSON and JUnit.

use crate::compare::SCENARIO;
use crate::program::{natmeter, only_run, stderr, stdout};
use tempfile::TempDir;

const RUN: [&str; 6] = ["run", "scenario.toml", "--beside", "--quiet", "--set", "dut.simulated.capacity=3M"];

fn ended(folder: &TempDir, args: &[&str]) -> (i32, String, String) {
    let output = natmeter(folder.path(), args);
    (output.status.code().unwrap(), stdout(&output), stderr(&output))
}

/// A folder with a scenario of these limits, and what its run ends with.
fn run_of(scenario: &str) -> (TempDir, (i32, String, String)) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scenario.toml"), scenario).unwrap();
    let run = ended(&folder, &RUN);
    (folder, run)
}

#[test]
fn a_run_ends_with_a_mark_for_each_limit_and_the_code_of_the_worst() {
    let (folder, (code, text, errors)) = run_of(&format!("{SCENARIO}[limits]\nthroughput = \">= 2.5M\"\n"));
    assert_eq!(code, 0, "{errors}");
    assert!(text.contains("✓ throughput >= 2.5M: "), "{text}");
    let run = only_run(&folder.path().join("runs")).unwrap();
    let run = run.to_str().unwrap();
    // Other limits need no other run.
    let judged = |limits: &str, format: &str| {
        std::fs::write(folder.path().join("limits.toml"), format!("[limits]\n{limits}\n")).unwrap();
        ended(&folder, &["report", run, "--limits", "limits.toml", "--format", format])
    };
    for (limits, code, words) in [
        ("throughput = \"> 3.2M\"", 8, "✗ throughput > 3.2M: "),
        ("throughput = \"<= 3.2M\"", 0, "✓ throughput <= 3.2M: "),
        // The last interval of the search contains the capacity.
        ("throughput = \">= 3M\"", 9, "the interval contains the limit"),
        ("throughput = [\"> 3.2M\", \">= 3M\"]", 8, "? throughput >= 3M: "),
        ("throughput = { limit = \"> 1M\", connections = \"5\" }", 9, "the run has no such value"),
        ("max_conn_est_rate = \"> 1M\"", 9, "the run has no such value"),
        ("throughput = \">= 95 % of baseline\"", 9, "the baseline has no such value"),
        (&format!("baseline = \"{run}\"\nthroughput = \">= 95 % of baseline\""), 0, "✓ throughput >= 95 % of baseline"),
        (&format!("baseline = \"{run}\"\nthroughput = \"> 110 % of baseline\""), 8, "✗ throughput > 110 % of baseline"),
        ("troughput = \"> 1M\"", 2, "did you mean `throughput`?"),
        ("throughput = \"> 1M\"\n[sweep]", 2, "unknown table [sweep]"),
    ] {
        let (exit, text, errors) = judged(limits, "text");
        let said = format!("{text}{errors}").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(exit == code && said.contains(words), "{limits}: {exit}: {said}");
        assert!(!said.contains("error: error"), "{said}");
    }
    let (_, json, _) = judged("throughput = [\"> 3.2M\", \">= 3M\"]", "json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let verdicts: Vec<&str> =
        json["limits"].as_array().unwrap().iter().map(|limit| limit["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["missed", "undecided"]);
    let (_, junit, _) = judged("throughput = [\"> 3.2M\", \">= 3M\", \"> 1M\"]", "junit");
    let suite = junit.split("<testsuite name=\"limits\"").nth(1).unwrap();
    assert!(suite.contains("tests=\"3\" failures=\"1\"") && suite.contains("skipped=\"1\""), "{junit}");
    // The folder of a run keeps the limits of a file.
    let kept = ended(&folder, &[&RUN[..], &["--limits", "limits.toml", "--runs", "kept"]].concat());
    let run = only_run(&folder.path().join("kept")).unwrap();
    let run = run.to_str().unwrap();
    for (code, text, errors) in [kept, ended(&folder, &["report", run]), ended(&folder, &["resume", run, "--beside"])] {
        assert!(code == 8 && text.contains("✗ throughput > 3.2M: "), "{code}: {text}{errors}");
    }
    // A run goes on if its limits changed.
    std::fs::write(folder.path().join("scenario.toml"), format!("{SCENARIO}[limits]\nthroughput = \"> 3.2M\"\n"))
        .unwrap();
    let (code, text, _) = ended(&folder, &[&RUN[..], &["--continue"]].concat());
    assert!(code == 8 && text.contains("✗ throughput > 3.2M"), "{code}: {text}");
    assert!(only_run(&folder.path().join("runs")).is_some());
}

/// The tester bounds the value: a lower bound decides `>= 50k`, and neither `>= 2M` nor `<= 2M`.
#[test]
fn a_bound_decides_only_what_it_allows() {
    let slow = SCENARIO.replace("host-noise = \"0\"", "host-noise = \"0\"\ntester-ceiling = \"100k\"");
    for (limit, code, words) in [
        (">= 50k", 0, "✓ throughput >= 50k"),
        (">= 2M", 9, "tester or host bounds the value"),
        ("<= 2M", 9, "tester or host bounds the value"),
        ("<= 50k", 8, "✗ throughput <= 50k"),
    ] {
        let (_folder, (exit, text, _)) = run_of(&format!("{slow}[limits]\nthroughput = \"{limit}\"\n"));
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(exit == code && said.contains(words), "{limit}: {exit}: {text}");
    }
}
