//! Every kind of damage to a record of this version: truncated, duplicated or edited. natmeter names file and line, and refuses to
//! resume the run.

use crate::folder_copy::{FolderCopy, findings, without_times};
use crate::program::stderr;
use crate::simulated::{header_of, run_of, set};
use method::{Rate, ResultKind, StepVerdict, TrialRecord};
use natmeter::rig::RunContext;
use natmeter::run::Run;
use record::audit::{Basis, audit};
use record::folder::{Facts, NullDevice, Outcome, RECORD};
use record::read::{Record, RecordError, header};
use record::store::{HEADER, NULLS, RESULTS, RunFolder, TRIALS};
use serde::Serialize;
use serde::de::DeserializeOwned;

const SCENARIO: &str = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = [\"20k\"]\n[measure]\n\
                        metrics = [\"max_conn_est_rate\", \"throughput\"]\nduration = \"100 ms\"\nrepetitions = 9\n";

/// A run of four measurements on a device of known truth.
fn whole() -> FolderCopy {
    let dir = tempfile::tempdir().unwrap();
    let header = header_of(SCENARIO, set(&["repetitions=2", "error=5 %"]));
    FolderCopy::of(&run_of(dir.path(), SCENARIO, &header).0)
}

/// Changes the value in one line of a file.
fn change<T: Serialize + DeserializeOwned>(copy: &FolderCopy, file: &str, line: usize, change: impl FnOnce(&mut T)) {
    copy.edit_lines(file, |lines| {
        let mut value: T = serde_json::from_str(&lines[line - 1]).unwrap();
        change(&mut value);
        lines[line - 1] = serde_json::to_string(&value).unwrap();
    });
}

fn result(copy: &FolderCopy, line: usize, edit: impl FnOnce(&mut Outcome)) {
    change(copy, RESULTS, line, edit);
}

/// Returns the errors found after a change, and checks that the run cannot be resumed.
fn found(damage: impl FnOnce(&FolderCopy)) -> Vec<String> {
    let copy = whole();
    damage(&copy);
    let found = findings(&copy.path);
    assert!(!found.is_empty(), "nothing was found");
    let output = copy.natmeter(&["resume", "--beside", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(&found[0]), "{}", stderr(&output));
    found
}

fn begins(found: &[String], with: &str) {
    assert!(found[0].starts_with(with), "{found:#?}");
}

#[test]
fn a_whole_record_derives_its_results_again() {
    let copy = whole();
    let record = Record::read(&copy.path, tech::ALL).unwrap();
    let header = &record.header;
    assert_eq!((header.record, header.rules, header.order.as_str()), (RECORD, Some(method::RULES), "point-by-point"));
    assert_eq!(header.options.set, ["repetitions=2", "error=5 %"]);
    assert_eq!((header.plan.measurements.len(), record.outcomes.len()), (4, 4));
    let audit = audit(&record);
    assert_eq!((audit.basis, audit.findings), (Basis::DerivedAgain, Vec::new()));
    assert_eq!(copy.natmeter(&["report", "--format", "csv"]).status.code(), Some(0));
}

#[test]
fn trials_that_are_missing_doubled_or_swapped_are_named() {
    let lines = |edit: fn(&mut Vec<String>)| found(|copy| copy.edit_lines(TRIALS, edit));
    begins(&lines(|l| drop(l.remove(4))), "trials.jsonl, line 5: 1 trial is missing before trial 5; restore the file");
    begins(&lines(|l| drop(l.drain(..3))), "trials.jsonl, line 1: 3 trials are missing before trial 3;");
    begins(&lines(|l| l.insert(3, l[2].clone())), "trials.jsonl, line 4: trial 2 is recorded twice, first in line 3;");
    begins(&lines(|l| l.swap(5, 6)), "trials.jsonl, line 7: trial 5 comes after trial 6;");
    let forged = found(|copy| change(copy, TRIALS, 3, |trial: &mut TrialRecord| trial.seq = u64::MAX));
    assert!(forged[0].contains("trials are missing before trial 18446744073709551615;"), "{forged:#?}");
}

#[test]
fn trials_and_results_of_another_plan_are_named() {
    let unplanned =
        found(|copy| change(copy, TRIALS, 2, |trial: &mut TrialRecord| trial.measurement = "y/1".to_owned()));
    begins(&unplanned, "trials.jsonl, line 2: trial 1 belongs to `y/1`, which is not in the plan;");
    let outcome = found(|copy| result(copy, 1, |outcome| outcome.measurement.repetition = 7));
    assert!(
        outcome
            .iter()
            .any(|f| f.starts_with("results.jsonl, line 1: the result of `") && f.contains("not in the plan"))
    );
    let doubled = found(|copy| copy.edit_lines(RESULTS, |l| l.insert(1, l[0].clone())));
    assert!(
        doubled[0].contains("results.jsonl, line 2: `") && doubled[0].contains("has two results, the first in line 1")
    );
    // A later attempt replaces a result only if it has trials.
    let forged = found(|copy| {
        copy.edit_lines(RESULTS, |l| l.insert(1, l[0].clone()));
        result(copy, 2, |outcome| outcome.attempt = Some(2));
    });
    assert!(
        forged[0].contains("results.jsonl, line 2: ") && forged[0].contains("does not follow from its trials"),
        "{forged:#?}"
    );
    let elsewhere = found(|copy| {
        let first: Outcome = serde_json::from_str(copy.text(RESULTS).lines().next().unwrap()).unwrap();
        let mut point = first.measurement.point;
        point.cores = 2;
        let (visit, after_s) = (first.visit, 1.0);
        let null = NullDevice { point, visit, before: true, after_s, frames: Rate(1), set_up: Some(Rate(1)) };
        std::fs::write(copy.path.join(NULLS), serde_json::to_string(&null).unwrap() + "\n").unwrap();
    });
    assert!(
        elsewhere.iter().any(|f| f.contains("but its null device was measured at another point")),
        "{elsewhere:#?}"
    );
}

#[test]
fn a_plan_that_is_not_that_of_the_scenario_is_named() {
    let edit = |edit: fn(&mut Vec<serde_json::Value>)| {
        found(|copy| {
            copy.edit(HEADER, |text| {
                let mut header: serde_json::Value = serde_json::from_str(&text).unwrap();
                edit(header["plan"]["measurements"].as_array_mut().unwrap());
                header.to_string()
            });
        })
    };
    let emptied = edit(Vec::clear);
    begins(&emptied, "run.json: the plan has 0 measurements, but the scenario asks for 4: `simulated/n=20000/");
    begins(&edit(|m| drop(m.pop())), "run.json: the plan has 3 measurements, but the scenario asks for 4: `simulated/");
    begins(&edit(|m| m.swap(0, 1)), "run.json: the plan has 4 measurements, but the scenario asks for 4: they are in");
}

#[test]
fn a_verdict_that_is_not_what_its_trial_recorded_is_named() {
    let verdict = found(|copy| {
        change(copy, TRIALS, 1, |trial: &mut TrialRecord| trial.outcome.forward.received = trial.outcome.forward.sent);
    });
    begins(
        &verdict,
        "trials.jsonl, line 1: trial 0 of `simulated/n=20000/cores=1/max_conn_est_rate/1` is recorded as a fail (Left to Right: ",
    );
}

#[test]
fn results_that_do_not_follow_from_their_trials_are_named() {
    let edited = |edit: fn(&mut Outcome)| found(|copy| result(copy, 1, edit));
    let key = "results.jsonl, line 1: the result of `simulated/n=20000/cores=1/max_conn_est_rate/1` does not follow";
    for found in [
        edited(|o| o.result.rate = Rate(o.result.rate.0 + 1)),
        edited(|o| o.result.kind = ResultKind::TesterLimit),
        edited(|o| o.result.error = Rate(1)),
        edited(|o| o.result.trials += 1),
        edited(|o| o.result.trace.clear()),
        edited(|o| o.result.trace[0].verdict = StepVerdict::Pass),
        edited(|o| o.result.invalid_repeats = 3),
        edited(|o| o.directions = 2),
    ] {
        begins(&found, key);
    }
    // Step and result agree, but the search would not have tried this rate.
    let lowered = edited(|o| {
        let lowest = o.result.trace.iter().filter(|s| s.verdict == StepVerdict::Pass).map(|s| s.rate).min().unwrap();
        o.result.trace.retain(|s| s.verdict != StepVerdict::Pass || s.rate == lowest);
        o.result.trials = o.result.trace.iter().map(|s| s.trials).sum();
        o.result.rate = lowest;
    });
    begins(&lowered, key);
    // The rate of phase 1 comes from the results before.
    let earlier = found(|copy| copy.edit_lines(RESULTS, |lines| drop(lines.drain(..2))));
    assert!(
        earlier[0].contains("/throughput/1` does not follow from its trials: phase 1 does not complete"),
        "{earlier:#?}"
    );
}

/// Its trials are complete, so `resume` derives it again; a report cannot.
#[test]
fn a_result_that_is_missing_is_named_and_found_again() {
    let copy = whole();
    let before = copy.text(RESULTS);
    copy.edit_lines(RESULTS, |lines| drop(lines.remove(3)));
    assert_eq!(findings(&copy.path), [] as [&str; 0], "killed before the last result was written");
    copy.edit_lines(RESULTS, |lines| drop(lines.remove(1)));
    let key = "simulated/n=20000/cores=1/max_conn_est_rate/2";
    begins(&findings(&copy.path), &format!("results.jsonl: `{key}` has no result, but its trials give "));
    let (folder, _) = RunFolder::open_for_resume(&copy.path).unwrap();
    let header = header(&copy.path, tech::ALL).unwrap();
    let again = Run::open(&header, folder, RunContext::new(), &mut ()).unwrap().complete(Facts::default(), None);
    assert_eq!(again.unwrap().len(), 4);
    let (after, before) = (without_times(&copy.text(RESULTS)), without_times(&before));
    assert_eq!(sorted(&after), sorted(&before));
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn another_version_is_named() {
    let with = |from: &str, to: &str| {
        let copy = whole();
        let changed = copy.text(HEADER).replacen(from, to, 1);
        assert_ne!(changed, copy.text(HEADER), "{from}");
        copy.edit(HEADER, |_| changed);
        copy
    };
    let own = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    let later = findings(&with(own, "\"version\": \"9.9.9\"").path);
    assert!(
        later[0].starts_with("run.json: the run was written by natmeter 9.9.9, which is newer than this one ("),
        "{later:?}"
    );
    assert!(later[0].contains("use natmeter 9.9.9 if it wrote this run"), "{later:?}");
    let none = findings(&with(own, "\"version\": \"mine\"").path);
    assert!(none[0].starts_with("run.json: `mine` is not a version of natmeter;"), "{none:?}");

    let record = header(&with("\"record\": 3", "\"record\": 4").path, tech::ALL).unwrap_err();
    assert!(matches!(record, RecordError::Later { found: 4, .. }), "{record}");
    assert!(record.to_string().contains("reads versions 1 to 3; use a later build of natmeter"), "{record}");

    let rules = format!("\"rules\": {}", method::RULES);
    let rules = with(&rules, "\"rules\": 99");
    let report = String::from_utf8(rules.natmeter(&["report"]).stdout).unwrap();
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("The run has version 99 of the rules") && report.contains("not derived again"), "{report}");
    let order = with("point-by-point", "at-random");
    for (copy, says) in [(rules, "has version 99 of the rules"), (order, "the order of trials `at-random` is unknown")]
    {
        let output = copy.natmeter(&["resume", "--beside", "--quiet"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}
