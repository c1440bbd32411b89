//! The index of runs, read by the library of SQLite.

use super::fixture::Run;
use super::{compared_runs, report};
use procedure::metric::THROUGHPUT;
use record::index::{self, Indexed};
use record::store::{HEADER, RunFolder, SCENARIO, TRIALS};
use rusqlite::{Connection, OpenFlags};
use scenario::{Options, parse};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const TEXT: &str = r#"
name = "kernel-nat44"
[dut.simulated]
seed = 7
[sweep]
connections = ["100k", "1M"]
[measure]
metrics = ["max_conn_est_rate", "throughput"]
repetitions = 5
"#;

/// A folder with so many runs, each a percent slower than the run before.
fn folder(runs: u64) -> tempfile::TempDir {
    let parent = tempfile::tempdir().unwrap();
    for number in 0..runs {
        write(parent.path(), number);
    }
    parent
}

fn write(parent: &Path, number: u64) -> (PathBuf, Run) {
    write_with(parent, number, TEXT, &Options::default())
}

fn write_with(parent: &Path, number: u64, text: &str, options: &Options) -> (PathBuf, Run) {
    let scenario = parse("test.toml", text, options, tech::ALL).unwrap().scenario;
    let mut run = compared_runs::run(scenario, number * 5, 1_000 - 10 * number);
    run.header.options = options.clone();
    run.header.started = format!("2026-01-{:02}T10:00:00Z", number + 1);
    run.facts.duts = [("simulated".to_owned(), [("software".to_owned(), format!("1.{number}"))].into())].into();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(number);
    let mut folder = RunFolder::create(parent, "kernel-nat44", at, text, &run.header).unwrap();
    run.trials.iter().for_each(|trial| folder.append_trial(trial).unwrap());
    run.outcomes.iter().for_each(|outcome| folder.append_outcome(outcome).unwrap());
    fs::write(folder.path().join("facts.json"), serde_json::to_string(&run.facts).unwrap()).unwrap();
    (folder.path().to_path_buf(), run)
}

fn indexed(parent: &Path) -> (Indexed, Connection) {
    let file = parent.join(index::FILE);
    let indexed = index::index(parent, &file, tech::ALL).unwrap();
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    (indexed, connection)
}

fn number(connection: &Connection, sql: &str) -> f64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

#[test]
fn tables_hold_what_the_folders_hold() {
    let parent = tempfile::tempdir().unwrap();
    let (_, first) = write(parent.path(), 0);
    let (_, second) = write(parent.path(), 1);
    let (indexed, connection) = indexed(parent.path());
    let trials = first.trials.len() + second.trials.len();
    assert_eq!(indexed, Indexed { runs: 2, results: 8, trials, skipped: Vec::new() });
    let rows = |table: &str| number(&connection, &format!("SELECT CAST(count(*) AS REAL) FROM {table}")) as usize;
    assert_eq!([rows("runs"), rows("points"), rows("results"), rows("repetitions")], [2, 4, 8, 40]);
    assert_eq!((rows("trials"), rows("all_results"), rows("skipped")), (trials, 8, 0));
    for result in report(&second).results.iter().filter(|result| result.metric == THROUGHPUT.key) {
        let connections = result.connections;
        let of = format!("FROM all_results WHERE run = 2 AND metric = 'throughput' AND connections = {connections}");
        assert_eq!(number(&connection, &format!("SELECT median {of}")), result.median().unwrap());
        assert_eq!(number(&connection, &format!("SELECT low {of}")), result.interval.unwrap().low);
    }
    let sent: u64 = second.trials.iter().map(|trial| trial.outcome.forward.sent + trial.outcome.reverse.sent).sum();
    assert_eq!(number(&connection, "SELECT CAST(sum(sent) AS REAL) FROM trials WHERE run = 2"), sent as f64);
    let failed = "SELECT CAST(count(*) AS REAL) FROM trials WHERE verdict = 'fail' AND lost > 0 AND reason IS NOT NULL";
    let is_fail = |trial: &&method::TrialRecord| matches!(trial.verdict, method::Verdict::Fail(_));
    let fails = first.trials.iter().chain(&second.trials).filter(is_fail).count();
    assert_eq!(number(&connection, failed) as usize, fails);
    let seed: String = connection
        .query_row("SELECT value FROM settings WHERE key = 'dut.simulated.seed' AND run = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(seed, "7");
}

#[test]
fn options_that_change_the_scenario_are_settings() {
    let parent = tempfile::tempdir().unwrap();
    let text = TEXT.to_owned() + "[scale.small.measure]\nrepetitions = 3\n";
    let (scale, cell) = (Some("small".to_owned()), Some("1/2".parse().unwrap()));
    write_with(parent.path(), 0, &text, &Options { full: true, scale, cell, ..Options::default() });
    let (indexed, connection) = indexed(parent.path());
    assert_eq!(indexed.skipped, Vec::new());
    let options = "SELECT group_concat(source || ' ' || ifnull(value, '')) FROM settings WHERE source LIKE '--%'";
    let options: String = connection.query_row(options, [], |row| row.get(0)).unwrap();
    assert_eq!(options, "--full ,--scale small,--cell 1/2");
}

/// Indexing again follows the folders: a new run appears, a damaged one leaves and is named.
#[test]
fn an_index_is_written_anew_and_names_damaged_folders() {
    let parent = folder(3);
    let (before, _) = indexed(parent.path());
    assert_eq!((before.runs, before.skipped.len()), (3, 0));
    let (gap, _) = write(parent.path(), 3);
    let text = fs::read_to_string(gap.join(TRIALS)).unwrap();
    let without_second: Vec<&str> = text.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
    fs::write(gap.join(TRIALS), without_second.join("\n") + "\n").unwrap();
    let (cut, _) = write(parent.path(), 4);
    fs::remove_file(cut.join(HEADER)).unwrap();
    let (torn, run) = write(parent.path(), 5);
    fs::write(torn.join(TRIALS), fs::read_to_string(torn.join(TRIALS)).unwrap() + "{\"seq\":").unwrap();
    let (wrong, _) = write(parent.path(), 6);
    fs::write(wrong.join(SCENARIO), "name = 3").unwrap();
    let (after, connection) = indexed(parent.path());
    assert_eq!((after.runs, after.trials), (4, before.trials + run.trials.len()), "a torn last line hides no other");
    let reasons: Vec<&String> = after.skipped.iter().map(|(_, reason)| reason).collect();
    assert!(reasons[0].contains("trial 1 is missing") && reasons[1].contains("run.json is missing"), "{reasons:#?}");
    assert!(reasons[2].contains("not valid"), "{reasons:#?}");
    assert_eq!(number(&connection, "SELECT CAST(count(*) AS REAL) FROM skipped WHERE reason <> ''"), 3.0);
    let ids = "SELECT CAST(count(*) AS REAL) FROM repetitions JOIN results ON results.id = repetitions.result \
               JOIN runs ON runs.id = results.run WHERE results.repetitions = 5";
    assert_eq!(number(&connection, ids), 80.0);
}

#[test]
fn nothing_else_is_overwritten() {
    let parent = folder(1);
    let file = parent.path().join("other");
    let refused = |file: &Path| index::index(parent.path(), file, tech::ALL).unwrap_err().to_string();
    fs::write(&file, "my notes").unwrap();
    assert!(refused(&file).contains("is not overwritten"), "{}", refused(&file));
    fs::remove_file(&file).unwrap();
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE mine(a)").unwrap();
    assert!(refused(&file).contains("is not overwritten"));
    fs::remove_file(&file).unwrap();
    index::index(parent.path(), &file, tech::ALL).unwrap();
    fs::write(parent.path().join("other-wal"), "").unwrap();
    assert!(refused(&file).contains("another program has changed"));
    assert!(refused(Path::new("/nowhere/index")).contains("cannot be written"));
}

/// The queries of the documentation are valid, and find something in a folder of runs.
#[test]
fn the_queries_of_the_documentation_work() {
    let page = include_str!("../../../../docs/index-of-runs.md");
    let parent = folder(4);
    let (_, connection) = indexed(parent.path());
    let queries: Vec<&str> = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(queries.len() >= 6, "{}", queries.len());
    for query in queries {
        let mut statement = connection.prepare(query).unwrap_or_else(|e| panic!("{query}: {e}"));
        let mut rows = statement.query([]).unwrap();
        assert!(rows.next().unwrap().is_some(), "{query}");
    }
}
