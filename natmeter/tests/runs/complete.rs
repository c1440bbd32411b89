//! Whole runs on the simulated device, whose bytes are known, and counting checks on the real engine and gateway. A killed and
//! resumed run must equal an uninterrupted run.

use crate::folder_copy::without_times;
use crate::simulated::{header, resume, run, trials};
use method::ResultKind;
use natmeter::rig::RunContext;
use record::folder::Outcome;
use scenario::SearchError;
use scenario::quantity::WrittenRate;
use std::fs;

#[test]
fn the_injected_truth_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (_, outcomes) = run(dir.path(), &header());
    assert_eq!(outcomes.len(), 2 * 2 * 2);
    for o in outcomes {
        let truth = if o.measurement.metric == "throughput" { 3_000_000 } else { 700_000 };
        let r = o.result;
        assert_eq!(r.kind, ResultKind::Exact);
        // A simulated device varies by 0.5 % from trial to trial.
        let noise = truth / 200;
        assert!(r.rate.0 <= truth + noise && r.rate.0 + r.error.0 >= truth - noise, "{} is not {truth}", r.rate);
        assert!(r.error.0 <= truth / 90, "{} is no error of 1 %", r.error);
    }
}

#[test]
fn an_absolute_error_ends_every_search_at_the_same_width() {
    let dir = tempfile::tempdir().unwrap();
    let mut header = header();
    header.scenario.measure.error = SearchError::Rate(WrittenRate::Frames(1_000));
    let (_, outcomes) = run(dir.path(), &header);
    let errors: Vec<u64> = outcomes.iter().map(|o| o.result.error.0).collect();
    assert!(errors.iter().all(|error| (500..=1_000).contains(error)), "{errors:?}");
}

/// The predicted time of each search exceeds the limit: natmeter runs one repetition of each, and no more.
#[test]
fn a_time_limit_skips_repetitions_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut header = header();
    header.scenario.time_limit = Some(method::Nanos::from_millis(600_000));
    header.plan.measurements.iter_mut().for_each(|m| m.predicted = method::Nanos::from_millis(700_000));
    let (_, outcomes) = run(dir.path(), &header);
    assert_eq!(outcomes.iter().map(|o| o.measurement.repetition).collect::<Vec<_>>(), [1; 4]);
}

/// The scenario's settings reach the search.
#[test]
fn a_failed_rate_is_verified_and_phase_1_has_its_share_where_the_scenario_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut header = header();
    let measure = &mut header.scenario.measure;
    (measure.verify, measure.phase1_share_ppm, measure.min_rate) =
        (Some(2), Some(100_000), Some(scenario::quantity::WrittenRate::Frames(100_000)));
    let (path, _) = run(dir.path(), &header);
    let trials = trials(&path);
    assert_eq!(trials[0].spec, trials[1].spec, "the upper end failed, and was tried again");
    assert!(trials.iter().filter_map(|t| t.spec.phase1_rate).all(|rate| rate.0 < 75_000), "a tenth of 700 k");
    // A probe for a dead device is not a step of the search.
    assert!(trials.iter().all(|t| t.spec.rate.0 >= 100_000 || t.spec.rate.0 == 1_000));
}

/// Truncates the run after any number of trials and their results, resumes it, and compares bytes.
#[test]
fn a_resumed_run_has_the_bytes_of_one_that_was_not_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, _) = run(dir.path(), &header());
    let trials = fs::read_to_string(whole.join("trials.jsonl")).unwrap();
    let results = fs::read_to_string(whole.join("results.jsonl")).unwrap();
    let lines: Vec<&str> = trials.lines().collect();
    // Without random values the comparison would prove nothing.
    assert!(trials.contains(r#""verdict":{"invalid":{"host-"#));
    for cut in (0..=lines.len()).step_by(7) {
        let path = dir.path().join(format!("cut-{cut}"));
        fs::create_dir(&path).unwrap();
        for name in ["scenario.toml", "run.json", "facts.json"] {
            fs::copy(whole.join(name), path.join(name)).unwrap();
        }
        // A torn last line, as after kill -9.
        let torn = lines.get(cut).map_or("", |l| &l[..l.len() / 2]);
        let kept: String = lines[..cut].iter().flat_map(|l| [l, "\n"]).collect();
        fs::write(path.join("trials.jsonl"), format!("{kept}{torn}")).unwrap();
        let finished = results.lines().filter(|r| all_trials_kept(r, &lines, cut));
        fs::write(path.join("results.jsonl"), finished.flat_map(|l| [l, "\n"]).collect::<String>()).unwrap();
        resume(&path, &header());
        assert_eq!(fs::read_to_string(path.join("trials.jsonl")).unwrap(), trials, "cut after {cut} trials");
        let again = without_times(&fs::read_to_string(path.join("results.jsonl")).unwrap());
        assert_eq!(again, without_times(&results), "cut after {cut} trials");
    }
}

/// Whether the last trial of a result's measurement is before the cut, and a later measurement had begun.
fn all_trials_kept(result: &str, trials: &[&str], cut: usize) -> bool {
    let outcome: Outcome = serde_json::from_str(result).unwrap();
    let key = format!("\"measurement\":\"{}\"", outcome.measurement.key());
    trials.iter().rposition(|t| t.contains(&key)).is_some_and(|last| last < cut)
}

/// Engine, gateway and judge together, on one thread: every injected fault is counted exactly.
#[test]
fn injected_faults_are_counted() {
    for check in natmeter::selftest::counting(&RunContext::new(), 100_000) {
        // If the host is too busy to send every frame even slowly, the check is inconclusive.
        assert!(
            check.passed || check.inconclusive,
            "{}: truth {}, measured {}",
            check.name,
            check.truth,
            check.measured
        );
    }
}
