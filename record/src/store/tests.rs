//! The guarantees of the store, for a kill at every byte.

use super::*;
use crate::plan::Measurement;
use method::{Direction, Invalid, Nanos, Rate, ResultKind, SearchResult, SearchStep};
use scenario::Point;
use scenario::axis::AxisValues;
use serde::Deserialize;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    seq: u64,
    text: String,
}

fn line(seq: u64) -> Line {
    Line { seq, text: format!("trial {seq}: \"quoted\", ünïcode,\nnewline") }
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_768_212_930)
}

fn create(parent: &Path, name: &str) -> Result<RunFolder, StoreError> {
    RunFolder::create(parent, name, now(), "name = \"a\"\n", &serde_json::json!({}))
}

fn folder() -> (tempfile::TempDir, RunFolder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = create(dir.path(), "quickstart").unwrap();
    (dir, folder)
}

#[test]
fn a_folder_is_named_after_the_run_and_its_start_and_never_taken_twice() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..3)
        .map(|_| create(&dir.path().join("runs"), "quickstart").unwrap())
        .map(|f| f.path().file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["quickstart-20260112-101530", "quickstart-20260112-101530-2", "quickstart-20260112-101530-3"]);
}

#[test]
fn a_name_cannot_leave_the_parent() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["", ".", "..", "a/b", "../a", ".hidden", "-rf", "a b"] {
        assert!(matches!(create(dir.path(), name), Err(StoreError::Name(_))), "{name}");
    }
}

#[test]
fn killed_at_every_byte_all_whole_lines_are_read_and_the_run_goes_on() {
    let (_dir, mut folder) = folder();
    for seq in 0..3 {
        folder.append_trial(&line(seq)).unwrap();
    }
    let path = folder.path().to_path_buf();
    drop(folder);
    let whole = fs::read(path.join(TRIALS)).unwrap();
    for cut in 0..=whole.len() {
        fs::write(path.join(TRIALS), &whole[..cut]).unwrap();
        fs::write(path.join(EVENTS), "").unwrap();
        let lines = whole[..cut].split(|&b| b == b'\n').count() as u64 - 1;
        let torn = cut - whole[..cut].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);

        // A read-only reader sees the same trials as a resumed run.
        let read: Lines<Line> = Dir::open(&path).unwrap().lines(TRIALS).unwrap();
        assert_eq!(read.values.len() as u64, lines, "cut at {cut}");
        assert_eq!(read.torn, (torn > 0).then_some(torn as u64), "cut at {cut}");

        let (mut folder, repairs) = RunFolder::open_for_resume(&path).unwrap();
        assert_eq!(folder.trials::<Line>().unwrap(), (0..lines).map(line).collect::<Vec<_>>(), "cut at {cut}");
        assert_eq!(repairs.iter().map(|r| r.bytes).sum::<u64>(), torn as u64, "cut at {cut}");
        let events: Lines<serde_json::Value> = Dir::open(&path).unwrap().lines(EVENTS).unwrap();
        assert_eq!(events.values.len(), usize::from(torn > 0), "cut at {cut}");

        for seq in lines..3 {
            folder.append_trial(&line(seq)).unwrap();
        }
        drop(folder);
        assert_eq!(fs::read(path.join(TRIALS)).unwrap(), whole, "resumed at {cut}");
    }
}

#[test]
fn a_torn_line_longer_than_a_block_is_found() {
    let (_dir, mut folder) = folder();
    folder.append_trial(&line(0)).unwrap();
    let path = folder.path().to_path_buf();
    drop(folder);
    let mut text = fs::read(path.join(TRIALS)).unwrap();
    text.extend(std::iter::repeat_n(b'x', 200_000));
    fs::write(path.join(TRIALS), text).unwrap();
    let (folder, repairs) = RunFolder::open_for_resume(&path).unwrap();
    assert_eq!(repairs[0].bytes, 200_000);
    assert_eq!(folder.trials::<Line>().unwrap(), [line(0)]);
}

#[test]
fn a_damaged_line_in_the_middle_is_named_and_not_skipped() {
    let (_dir, folder) = folder();
    fs::write(folder.path().join(TRIALS), "{\"seq\":0,\"text\":\"\"}\nrubbish\n{\"seq\":1,\"text\":\"\"}\n").unwrap();
    match folder.trials::<Line>() {
        Err(StoreError::Content { line: 2, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_processes_cannot_append_to_one_run() {
    let (_dir, folder) = folder();
    let path = folder.path().to_path_buf();
    assert!(matches!(RunFolder::open_for_resume(&path), Err(StoreError::InUse(_))));
    drop(folder);
    assert!(RunFolder::open_for_resume(&path).is_ok());
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn killed_before_it_has_its_header_a_run_leaves_a_draft_that_blocks_no_later_run() {
    let dir = tempfile::tempdir().unwrap();
    let parent = Dir::open(dir.path()).unwrap();
    let draft = Draft::new(&parent, "quickstart-20260112-101530").unwrap();
    draft.dir.replace(SCENARIO, "name").unwrap();
    assert_eq!(names(dir.path()), [".quickstart-20260112-101530.draft"]);
    let path = parent.path_of(&draft.name);
    assert!(matches!(RunFolder::open_for_resume(&path), Err(StoreError::NotARun { .. })));
    // Like kill -9: nothing is cleaned up.
    std::mem::forget(draft);
    let folder = create(dir.path(), "quickstart").unwrap();
    assert_eq!(names(dir.path()), [".quickstart-20260112-101530.draft", "quickstart-20260112-101530-2"]);
    assert_eq!(names(folder.path()), [COMMANDS, EVENTS, RESULTS, HEADER, SCENARIO, TRIALS]);
}

#[test]
fn a_folder_that_cannot_be_made_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let parent = Dir::open(dir.path()).unwrap();
    assert!(Draft::new(&parent, "a").unwrap().publish(&[("no/such", "")]).is_err());
    assert!(names(dir.path()).is_empty());
    // If another run takes the name first, its folder is not overwritten.
    let (draft, path) = (Draft::new(&parent, "a").unwrap(), dir.path().join("a"));
    fs::create_dir(&path).unwrap();
    fs::write(path.join(HEADER), "{}").unwrap();
    assert!(draft.publish(&[(HEADER, "[]")]).is_err());
    assert_eq!(fs::read_to_string(path.join(HEADER)).unwrap(), "{}");
    assert_eq!(names(dir.path()), ["a"]);
}

#[test]
fn another_folder_is_not_taken_for_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let error = RunFolder::open_for_resume(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotARun { missing: HEADER, .. }), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is created in a foreign folder");
}

#[test]
fn a_full_disk_is_named_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(HEADER), "{}").unwrap();
    let (mut folder, _) = RunFolder::open_for_resume(dir.path()).unwrap();
    // Every write to this device fails as on a full disk.
    let full = File::options().read(true).append(true).open("/dev/full").unwrap();
    folder.trials = Appender::over(full, dir.path().join(TRIALS)).unwrap().0;
    let error = folder.append_trial(&line(0)).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("trials.jsonl could not be extended: No space left on device"), "{text}");
    assert!(text.contains("Free disk space, then run `natmeter resume`"), "{text}");
    // The device cannot be truncated, so nothing more is written to a file whose end is unknown.
    assert!(matches!(folder.append_trial(&line(1)), Err(StoreError::Broken(_))));
}

#[test]
fn results_come_back_as_they_were() {
    let (_dir, mut folder) = folder();
    let point =
        Point { dut: 0, dut_name: "embedded".into(), connections: 1_000_000, cores: 1, axes: AxisValues::new() };
    let measurement = Measurement { point, metric: "throughput".into(), repetition: 1, predicted: Nanos::SECOND };
    let mut result = SearchResult {
        rate: Rate(7_400_000),
        kind: ResultKind::TesterLimit,
        error: Rate(7_400),
        trials: 12,
        invalid_repeats: 1,
        phase1_rate: Some(Rate(1_000_000)),
        tester_limit: Some(Invalid::TesterDrops { frames: 7 }),
        ..SearchResult::empty()
    };
    let (rate, sent) = (Rate(7_400_000), 1_480_000);
    result.trace.push(SearchStep { rate, trials: 1, sent, ..SearchStep::default() });
    let outcome = Outcome::new(measurement, Direction::Both, result);
    folder.append_outcome(&outcome).unwrap();
    // One flat object with names, for people and scripts.
    let line = fs::read_to_string(folder.path().join(RESULTS)).unwrap();
    assert!(line.contains(r#","rate":7400000,"kind":"tester-limit","error":7400,"#), "{line}");
    assert_eq!(folder.outcomes().unwrap(), [outcome]);
}
