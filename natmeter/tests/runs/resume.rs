//! A resumed run repeats measurements that failed: a device that was dead may answer now.

use crate::simulated::{folder_of, header_of, resume, run_of, trials};
use method::{Criteria, Invalid, Load, Nanos, Rate, TrialRecord, Verdict, judge};
use natmeter::rig::RunContext;
use natmeter::run::Run;
use record::folder::{Facts, Header, Outcome, SelfTest};
use record::plan::without_attempt;
use record::store::{RESULTS, RunFolder};
use scenario::Options;
use std::path::{Path, PathBuf};

const SCENARIO: &str = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"100k\"\n[measure]\n\
                        metrics = [\"max_conn_est_rate\"]\nduration = \"1 s\"\nrepetitions = 1\n";

fn header() -> Header {
    header_of(SCENARIO, Options::default())
}

/// A run of the scenario on a device that works: its results, and its first trial.
fn alive(dir: &Path, header: &Header) -> (Vec<Outcome>, TrialRecord) {
    let (path, outcomes) = run_of(&dir.join("alive"), SCENARIO, header);
    (outcomes, trials(&path).remove(0))
}

/// Resumes a run whose device returned no frame of the first trial and of the first trials of the probe. Returns its results
/// and the measurements of its trials.
fn resumed(dir: &Path, header: &Header, first: &TrialRecord, probes: u64) -> (Vec<Outcome>, Vec<String>) {
    let (path, mut folder) = folder_of(&dir.join("dead"), SCENARIO, header);
    for seq in 0..=probes {
        let mut record = TrialRecord { seq, ..first.clone() };
        if seq > 0 {
            (record.spec.rate, record.spec.load, record.spec.connections) = (Rate(1_000), Load::Frames(1_000), 1_000);
            (record.outcome.forward.planned, record.outcome.forward.sent) = (1_000, 1_000);
        }
        record.outcome.forward.received = 0;
        record.verdict = judge(&record.spec, &record.outcome, &Criteria::default());
        folder.append_trial(&record).unwrap();
    }
    drop(folder);
    (resume(&path, header), trials(&path).into_iter().map(|trial| trial.measurement).collect())
}

#[test]
fn a_dead_device_is_measured_again() {
    let dir = tempfile::tempdir().unwrap();
    let header = header();
    let (expected, first) = alive(dir.path(), &header);
    let (found, keys) = resumed(dir.path(), &header, &first, 2);
    let untimed = |outcomes: Vec<Outcome>| -> Vec<Outcome> {
        outcomes.into_iter().map(|outcome| Outcome { after_s: None, attempt: None, ..outcome }).collect()
    };
    assert_eq!(untimed(found), untimed(expected));
    assert!(keys[..3].iter().all(|k| *k == first.measurement));
    assert!(keys[3..].iter().all(|k| *k != first.measurement && without_attempt(k) == first.measurement));
}

/// Phase 2, which the last trials are of, needs the establishment rate, whose result is lost, too.
#[test]
fn lost_results_are_derived_again_without_a_trial() {
    let dir = tempfile::tempdir().unwrap();
    let text = SCENARIO.replace("[\"max_conn_est_rate\"]", "[\"max_conn_est_rate\", \"throughput\"]");
    let header = header_of(&text, Options::default());
    let (path, expected) = run_of(dir.path(), &text, &header);
    let before = trials(&path);
    std::fs::write(path.join(RESULTS), "").unwrap();
    let found = resume(&path, &header);
    assert_eq!(found.len(), 2);
    assert!(found.iter().zip(&expected).all(|(found, expected)| found.result == expected.result), "{found:?}");
    assert_eq!(trials(&path), before);
}

/// A run that ended between the two trials of a probe, on a device that answers the second: the search goes on, and decides
/// the rate of the failed trial once more.
#[test]
fn a_device_that_answers_the_second_trial_of_a_probe_is_measured_further() {
    let dir = tempfile::tempdir().unwrap();
    let header = header();
    let (expected, first) = alive(dir.path(), &header);
    let (found, keys) = resumed(dir.path(), &header, &first, 1);
    let (found, expected) = (&found[0].result, &expected[0].result);
    assert_eq!(found.trace[0].trials, expected.trace[0].trials + 1);
    assert!(found.rate.0.abs_diff(expected.rate.0) <= 10 * expected.error.0, "{} and {}", found.rate, expected.rate);
    assert!(keys.iter().all(|k| *k == first.measurement), "{keys:?}");
}

/// One invalid trial took longer than all invalid trials may take: natmeter repeats no more of them.
#[test]
fn invalid_trials_are_repeated_for_a_limited_time_and_the_report_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let header = header();
    let limit = header.plan.measurements[0].invalid_at_most();
    let (quiet, _) = run_of(&dir.path().join("quiet"), SCENARIO, &header);
    let (busy, mut folder) = folder_of(&dir.path().join("busy"), SCENARIO, &header);
    let mut record = trials(&quiet).remove(0);
    record.outcome.forward.received = record.outcome.forward.sent - 1;
    (record.outcome.host.tester_stall, record.outcome.wall) = (Nanos::from_secs(1), limit);
    record.verdict = judge(&record.spec, &record.outcome, &Criteria::default());
    assert!(matches!(record.verdict, Verdict::Invalid(Invalid::HostStall { .. })), "{:?}", record.verdict);
    folder.append_trial(&record).unwrap();
    drop(folder);

    resume(&busy, &header);
    assert_ne!(trials(&busy)[1].spec.rate, record.spec.rate, "it was not repeated");
    let report = record::report::Report::from_folder(&busy, tech::ALL).unwrap().doubts.join("\n");
    assert!(report.contains("invalid trials took"), "{report}");
    let events = std::fs::read_to_string(busy.join(record::store::EVENTS)).unwrap();
    assert!(events.contains("invalid trials took"), "{events}");
}

/// A report reads recorded verdicts, a search judges again: both must agree.
#[test]
fn a_recorded_verdict_that_is_judged_otherwise_now_stops_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let header = header();
    let (path, _) = run_of(dir.path(), SCENARIO, &header);
    let file = path.join(record::store::TRIALS);
    let lines: Vec<String> = std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    let passed = lines.iter().position(|l| l.contains(r#""verdict":"pass""#)).unwrap();
    let mut changed: TrialRecord = serde_json::from_str(&lines[passed]).unwrap();
    changed.outcome.forward.received -= 1;
    let mut with = lines.clone();
    with[passed] = serde_json::to_string(&changed).unwrap();
    std::fs::write(&file, with.join("\n") + "\n").unwrap();
    let (folder, _) = RunFolder::open_for_resume(&path).unwrap();
    let error = Run::open(&header, folder, RunContext::new(), &mut ()).err().unwrap().to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
    let (line, seq, key) = (passed + 1, changed.seq, changed.measurement);
    let found =
        format!("\n  trials.jsonl, line {line}: trial {seq} of `{key}` is recorded as a pass, but its counters give");
    assert!(error.contains(&found), "{error}");
    assert!(
        error.contains("its counters give a fail (Left to Right: ") && error.contains("start a new run"),
        "{error}"
    );
}

/// A complete run with this verdict of its self-test.
fn complete(parent: &Path, passed: bool) -> PathBuf {
    let header = header();
    let (path, folder) = folder_of(parent, SCENARIO, &header);
    let mut listener = ();
    let run = Run::open(&header, folder, RunContext::new(), &mut listener).unwrap();
    let facts = Facts { tester: [("cpu".to_owned(), "One".to_owned())].into(), ..Facts::default() };
    assert!(!run.is_tested_on(&facts).unwrap());
    run.complete(facts, Some(SelfTest { passed, checks: Vec::new() }.into())).unwrap();
    path
}

#[test]
fn the_self_test_is_repeated_on_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, _) = RunFolder::open_for_resume(&complete(dir.path(), true)).unwrap();
    let mut listener = ();
    let run = Run::open(&header(), folder, RunContext::new(), &mut listener).unwrap();
    let with = |cpu: &str| Facts { tester: [("cpu".to_owned(), cpu.to_owned())].into(), ..Facts::default() };
    assert!(run.is_tested_on(&with("One")).unwrap());
    assert!(!run.is_tested_on(&with("Another")).unwrap());
}

#[test]
fn a_self_test_that_was_interrupted_has_no_verdict() {
    let process = RunContext::new();
    process.interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(natmeter::selftest::quick(&process, &mut ()), None);
}
