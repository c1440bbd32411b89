//! Visits at which the null device changed are repeated within the time limit. A simulated device has no null device, so these
//! tests write the rates of one into the folder of a run, and resume it.

use crate::folder_copy::{FolderCopy, findings, without_times};
use crate::simulated::{header, run, trials};
use method::{Nanos, Rate};
use natmeter::event::{Event, Listener};
use natmeter::rig::RunContext;
use natmeter::run::Run;
use record::folder::{Facts, Header, NullDevice, Outcome};
use record::plan::without_attempt;
use record::read::Record;
use record::report::Report;
use record::store::{NULLS, RESULTS, RunFolder, TRIALS};
use record::visit::standing;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Repetitions(Vec<(u64, f64)>);

impl Listener for Repetitions {
    fn on(&mut self, event: &Event) {
        if let Event::PointRepeated { point, change } = event {
            self.0.push((point.connections, (change * 1_000.0).round()));
        }
    }
}

fn limited(limit: Option<Nanos>) -> Header {
    let mut header = header();
    header.scenario.time_limit = limit;
    header
}

/// A limit that these runs never reach.
fn ample() -> Header {
    limited(Some(Nanos::from_secs(3_600)))
}

fn resume(path: &Path, header: &Header) -> (Vec<Outcome>, Vec<(u64, f64)>) {
    let (folder, _) = RunFolder::open_for_resume(path).unwrap();
    let mut repetitions = Repetitions::default();
    let run = Run::open(header, folder, RunContext::new(), &mut repetitions).unwrap();
    let stand = run.complete(Facts::default(), None).unwrap();
    (stand, repetitions.0)
}

/// A run with a null device of these rates before and after its first and its second visit.
fn with_null_device(parent: &Path, header: &Header, rates: [[u64; 2]; 2]) -> PathBuf {
    let (path, outcomes) = run(parent, header);
    let mut lines = String::new();
    for (visit, rates) in (1..).zip(rates) {
        let point = &outcomes.iter().find(|o| o.visit == Some(visit)).unwrap().measurement.point;
        for (before, rate) in [true, false].into_iter().zip(rates.map(Rate)) {
            let (point, set_up) = (point.clone(), Some(rate));
            let null = NullDevice { point, visit: Some(visit), before, after_s: 0.0, frames: rate, set_up };
            lines.extend([serde_json::to_string(&null).unwrap(), "\n".to_owned()]);
        }
    }
    fs::write(path.join(NULLS), lines).unwrap();
    path
}

/// A run whose second visit, with a million connections, is doubtful.
fn doubtful(parent: &Path) -> PathBuf {
    with_null_device(parent, &header(), [[100, 115], [100, 133]])
}

#[test]
fn a_visit_at_which_the_null_device_changed_is_repeated_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = doubtful(dir.path());
    let first = trials(&path);
    let (stand, told) = resume(&path, &ample());
    assert_eq!(told, [(1_000_000, 330.0)]);
    let record = Record::read(&path, tech::ALL).unwrap();
    assert_eq!((record.outcomes.len(), stand.len()), (8 + 4, 8));
    assert_eq!(standing(&record.outcomes).cloned().collect::<Vec<_>>(), stand);
    assert_eq!(record.trials[..first.len()], first, "no trial is lost");
    let later = &record.trials[first.len()..];
    assert!(later.iter().all(|t| t.measurement.ends_with("#2") && t.measurement.contains("/n=1000000/")));
    for outcome in &stand {
        let repeated = outcome.measurement.point.connections == 1_000_000;
        assert_eq!((outcome.attempt, outcome.visit), if repeated { (Some(2), Some(3)) } else { (Some(1), Some(1)) });
    }
    assert_eq!(findings(&path), [""; 0]);
    let report = Report::from_folder(&path, tech::ALL).unwrap();
    assert_eq!((report.repeated_points, report.measured, report.planned), (1, 8, 8));
    assert!(report.results.iter().all(|result| result.null.is_empty() == (result.connections == 1_000_000)));

    // Whatever comes out, each visit is repeated at most once.
    let results = fs::read(path.join(RESULTS)).unwrap();
    assert_eq!(resume(&path, &ample()).1, []);
    assert_eq!(fs::read(path.join(RESULTS)).unwrap(), results);
}

#[test]
fn the_largest_change_is_repeated_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = with_null_device(dir.path(), &header(), [[100, 120], [100, 50]]);
    assert_eq!(resume(&path, &ample()).1, [(1_000_000, 1_000.0), (100_000, 200.0)]);
    assert_eq!(findings(&path), [""; 0]);
}

/// One visit fits into the limit, the one with more connections does not.
#[test]
fn what_does_not_fit_into_the_time_limit_is_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let mut header = header();
    for m in &mut header.plan.measurements {
        m.predicted = Nanos::from_secs(if m.point.connections == 1_000_000 { 3_600 } else { 60 });
    }
    let path = with_null_device(dir.path(), &header, [[100, 120], [100, 50]]);
    header.scenario.time_limit = ample().scenario.time_limit;
    let copy = FolderCopy::of(&path);
    assert_eq!(resume(&path, &header).1, [(100_000, 200.0)]);
    // The plan comes first: its last measurement does not fit, so nothing is repeated.
    let last = header.plan.measurements.last().unwrap();
    copy.edit_lines(RESULTS, |lines| drop(lines.pop()));
    copy.edit_lines(TRIALS, |lines| lines.retain(|line| !line.contains(&format!("\"{}\"", last.key()))));
    let (stand, told) = resume(&copy.path, &header);
    assert_eq!((last.repetition, stand.len(), told), (2, 7, Vec::new()));
    for unlimited in [limited(None), limited(Some(Nanos(1)))] {
        let dir = tempfile::tempdir().unwrap();
        let path = doubtful(dir.path());
        assert_eq!(resume(&path, &unlimited).1, []);
    }
}

/// Cuts the record at any trial of the repeated visit, with the results of the measurements that had ended, and resumes it.
#[test]
fn a_repetition_that_was_interrupted_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let whole = doubtful(dir.path());
    let first = trials(&whole).len();
    resume(&whole, &ample());
    let [trials, results] = [TRIALS, RESULTS].map(|name| fs::read_to_string(whole.join(name)).unwrap());
    let lines: Vec<&str> = trials.lines().collect();
    for cut in (first..=lines.len()).step_by(5) {
        let path = dir.path().join(format!("cut-{cut}"));
        fs::create_dir(&path).unwrap();
        for name in ["scenario.toml", "run.json", "facts.json", NULLS] {
            fs::copy(whole.join(name), path.join(name)).unwrap();
        }
        let text = |lines: &mut dyn Iterator<Item = &str>| lines.flat_map(|l| [l, "\n"]).collect::<String>();
        fs::write(path.join(TRIALS), text(&mut lines[..cut].iter().copied())).unwrap();
        let ended = |result: &&str| {
            let outcome: Outcome = serde_json::from_str(result).unwrap();
            let key = format!("\"{}\"", outcome.measurement.attempt_key(outcome.attempt.unwrap()));
            lines.iter().rposition(|trial| trial.contains(&key)).is_some_and(|last| last < cut)
        };
        let mut ended: Vec<&str> = results.lines().filter(ended).collect();
        if cut == lines.len() {
            // Killed before the last result was written.
            ended.pop();
        }
        fs::write(path.join(RESULTS), text(&mut ended.into_iter())).unwrap();
        assert_eq!(findings(&path), [""; 0], "cut after {cut} trials");
        resume(&path, &ample());
        assert_eq!(fs::read_to_string(path.join(TRIALS)).unwrap(), trials, "cut after {cut} trials");
        let again = without_times(&fs::read_to_string(path.join(RESULTS)).unwrap());
        assert_eq!(again, without_times(&results), "cut after {cut} trials");
        assert_eq!(findings(&path), [""; 0], "cut after {cut} trials");
    }
}

/// Its trials are complete, so `resume` derives it again.
#[test]
fn a_later_result_that_is_missing_is_named_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = doubtful(dir.path());
    let (stand, _) = resume(&path, &ample());
    let results = fs::read_to_string(path.join(RESULTS)).unwrap();
    let mut lines: Vec<&str> = results.lines().collect();
    let lost: Outcome = serde_json::from_str(lines.remove(8)).unwrap();
    fs::write(path.join(RESULTS), lines.join("\n") + "\n").unwrap();
    let key = lost.measurement.attempt_key(2);
    assert!(without_attempt(&key) != key && findings(&path)[0].contains(&format!("`{key}` has no result, but its")));
    let (again, told) = resume(&path, &ample());
    assert_eq!((again.len(), told), (stand.len(), Vec::new()));
    assert_eq!(findings(&path), [""; 0]);
    let result = |outcomes: &[Outcome]| outcomes.iter().find(|o| o.measurement == lost.measurement).cloned().unwrap();
    assert_eq!(result(&again).result, result(&stand).result);
}
