use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// Writes a run with so many results of four planned measurements.
fn write(folder: &Path, name: &str, results: usize, ended: bool) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir(&path).unwrap();
    let point = r#"{"dut":0,"dut_name":"nftables","connections":0,"cores":1}"#;
    let measurement = |n| format!(r#"{{"point":{point},"metric":"throughput","repetition":{n},"predicted":0}}"#);
    let plan = [1, 2, 3, 4].map(measurement).join(",");
    let header = format!(
        "{{\"record\":3,\"version\":\"0.1.0\",\"started\":\"2026-01-0{}T00:00:00Z\",\
         \"scenario\":{{\"name\":\"{name}\",\"devices\":\"nftables\"}},\
         \"plan\":{{\"measurements\":[{plan}],\"tester_memory\":0,\"dut_memory\":0}}}}",
        results + 1
    );
    fs::write(path.join(HEADER), header).unwrap();
    fs::write(path.join(SCENARIO), "").unwrap();
    let line = |n| format!("{{\"measurement\":{},\"rate\":{n}}}\n", measurement(n));
    let lines = (1..=results).map(line).collect::<Vec<_>>().concat();
    // The first result is replaced by a later line; the last line is incomplete.
    let again = lines.lines().next().map(|line| format!("{line}\n")).unwrap_or_default();
    fs::write(path.join(RESULTS), lines + &again + "{\"measurement\":{\"met").unwrap();
    let last = if ended { "{\"event\":\"finished\"}\n" } else { "{\"event\":\"trial\"}\n" };
    fs::write(path.join(EVENTS), format!("{{\"event\":\"finished\"}}\n{last}{{\"ev")).unwrap();
    path
}

fn states(runs: &mut Runs) -> Vec<(String, State)> {
    runs.list().unwrap().iter().map(|listed| (listed.name.clone(), listed.state())).collect()
}

#[test]
fn runs_are_listed_by_their_start_with_their_state() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a", 4, true);
    write(dir.path(), "b", 3, true);
    write(dir.path(), "c", 2, false);
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::create_dir(dir.path().join(".d.draft")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let mut runs = Runs::of(dir.path());
    let named = |name: &str, state| (name.to_owned(), state);
    let expected = [named("a", State::Complete), named("b", State::Partial), named("c", State::Unfinished)];
    assert_eq!(states(&mut runs), expected);
    let all = runs.list().unwrap();
    let brief = all[1].found.as_ref().unwrap();
    assert_eq!((brief.planned, brief.measured, brief.scenario.as_str()), (4, 3, "b"));
    assert!(all[1].has(&["nftab".to_owned(), "2026-01-04".to_owned()]) && !all[1].has(&["jool".to_owned()]));
}

#[test]
fn a_summary_follows_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "a", 3, false);
    let mut runs = Runs::of(dir.path());
    assert_eq!(states(&mut runs)[0].1, State::Unfinished);
    fs::write(path.join(EVENTS), "{\"event\":\"doubt\"}\n{\"event\":\"finished\"}\n").unwrap();
    assert_eq!(states(&mut runs)[0].1, State::Partial);
    fs::remove_dir_all(path).unwrap();
    assert_eq!(states(&mut runs), []);
}

#[test]
fn damaged_runs_are_named_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name| write(dir.path(), name, 2, true);
    fs::remove_file(path("a").join(HEADER)).unwrap();
    fs::write(path("b").join(HEADER), "{\n\"version\": 1").unwrap();
    fs::write(path("c").join(RESULTS), "{\"rate\":3}\n").unwrap();
    let later = path("d").join(HEADER);
    let text = fs::read_to_string(&later).unwrap().replace("\"record\":3", "\"record\":99");
    fs::write(&later, text).unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    let trials = path("e").join(TRIALS);
    symlink(outside.path(), trials).unwrap();
    let all = Runs::of(dir.path()).list().unwrap();
    let why = |name: &str| {
        let listed = all.iter().find(|listed| listed.name == name).unwrap();
        listed.found.clone().expect_err(name)
    };
    assert_eq!(why("a"), "run.json is missing; restore it from a copy");
    assert!(
        why("b").starts_with("run.json, line 2: ") && why("b").contains("; restore it from a copy"),
        "{}",
        why("b")
    );
    assert!(why("c").starts_with("results.jsonl, line 1: missing field `measurement`"), "{}", why("c"));
    assert!(
        why("d").starts_with("run.json: version 99 of the run folder is unknown, this natmeter reads"),
        "{}",
        why("d")
    );
    assert_eq!(why("e"), "trials.jsonl is a symbolic link, not a regular file; remove it, or restore it from a copy");
    assert!(all.iter().all(|listed| listed.state() == State::Damaged));
}

#[test]
fn a_name_leads_to_a_folder_directly_below_and_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let run = write(dir.path(), "a", 1, true);
    symlink(&run, dir.path().join("link")).unwrap();
    fs::create_dir(dir.path().join(".hidden")).unwrap();
    assert_eq!(path_of(dir.path(), "a"), Some(run));
    for name in ["", ".", "..", "link", ".hidden", "a/..", "a/run.json", "/etc", "\0", "b"] {
        assert_eq!(path_of(dir.path(), name), None, "{name:?}");
    }
    assert_eq!(Runs::of(dir.path()).list().unwrap().len(), 1);
}

#[test]
fn files_beyond_a_limit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = write(dir.path(), "a", 1, true);
    assert_eq!(check_files(&run, 1 << 20), Ok(()));
    assert!(check_files(&run, 10).unwrap_err().contains("more than 10; use `natmeter report`"));
}

#[test]
fn a_run_without_unneeded_repetitions_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "a", 3, true);
    let mut runs = Runs::of(dir.path());
    assert_eq!(states(&mut runs)[0].1, State::Partial);
    fs::write(path.join(EVENTS), "{\"event\":\"finished\",\"folder\":\"a\",\"seconds\":1,\"not_needed\":1}\n").unwrap();
    let all = runs.list().unwrap();
    let brief = all[0].found.as_ref().unwrap();
    assert_eq!((all[0].state(), brief.planned, brief.measured), (State::Complete, 3, 3));
}

/// Writes a merged folder of two runs, and returns the second run.
fn merged(folder: &Path) -> PathBuf {
    let parts = folder.join("m/parts");
    fs::create_dir_all(&parts).unwrap();
    write(&parts, "1-a", 4, true);
    let second = write(&parts, "2-b", 3, true);
    let text = r#"{"record":3,"version":"0.1.0","alike":false,"parts":["1-a","2-b"]}"#;
    fs::write(folder.join("m").join(MERGE), text).unwrap();
    second
}

#[test]
fn merged_folders_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let second = merged(dir.path());
    let mut runs = Runs::of(dir.path());
    let all = runs.list().unwrap();
    let brief = all[0].found.as_ref().unwrap();
    assert_eq!((all[0].name.as_str(), all[0].state(), brief.parts), ("m", State::Merged, Some(2)));
    assert_eq!((brief.planned, brief.measured, brief.started.as_str()), (8, 7, "2026-01-04T00:00:00Z"));
    // The summary follows the files of every run.
    fs::remove_file(second.join(HEADER)).unwrap();
    assert_eq!(runs.list().unwrap()[0].found, Err("parts/2-b/run.json is missing; restore it from a copy".to_owned()));
}

/// A list of runs stays small, whatever the files of a run folder hold.
#[test]
fn files_that_are_too_large_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    merged(dir.path());
    let why_not = |file: &str, octets: u64| {
        let path = dir.path().join("m").join(file);
        fs::File::options().append(true).open(path).unwrap().set_len(octets).unwrap();
        Runs::of(dir.path()).list().unwrap()[0].found.clone().unwrap_err()
    };
    assert!(why_not("parts/1-a/results.jsonl", (128 << 20) + 1).contains("more than 134217728 octets"));
    assert!(why_not("merge.json", (1 << 20) + 1).contains("more than 1048576 octets"));
}

#[test]
fn all_runs_of_a_merged_folder_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let second = merged(dir.path());
    let folder = dir.path().join("m");
    let size = size_of(&Dir::open(&folder.join("parts/1-a")).unwrap()).unwrap();
    assert_eq!(check_files(&folder, 1 << 20), Ok(()));
    // Each run is smaller than the limit, and both together are larger.
    assert!(check_files(&folder, size + 1).unwrap_err().contains("more than"));
    let trials = second.join(TRIALS);
    symlink(folder.join("parts/1-a").join(RESULTS), &trials).unwrap();
    let why = check_files(&folder, 1 << 20).unwrap_err();
    assert_eq!(
        why,
        "parts/2-b/trials.jsonl is a symbolic link, not a regular file; remove it, or restore it from a copy"
    );
    fs::remove_dir_all(&second).unwrap();
    symlink(folder.join("parts/1-a"), &second).unwrap();
    let why = check_files(&folder, 1 << 20).unwrap_err();
    assert_eq!(why, "parts/2-b is a symbolic link, not a folder; remove it, or restore it from a copy");
    for wrong in ["[]", "[\"../x\"]", "[\"\"]", "[\"1-a\",\"1-a\"]"] {
        fs::write(folder.join(MERGE), format!("{{\"record\":3,\"version\":\"1\",\"alike\":true,\"parts\":{wrong}}}"))
            .unwrap();
        assert!(
            check_files(&folder, 1 << 20).unwrap_err().starts_with("merge.json: it does not name the runs"),
            "{wrong}"
        );
    }
    fs::remove_file(folder.join(MERGE)).unwrap();
    symlink(second.join(HEADER), folder.join(MERGE)).unwrap();
    let why = check_files(&folder, 9).unwrap_err();
    assert_eq!(why, "merge.json is a symbolic link, not a regular file; remove it, or restore it from a copy");
}
