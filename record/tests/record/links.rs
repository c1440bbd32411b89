//! What another user may put into a folder of runs: links, FIFOs, devices, folders and endless files in the place of its files.
//! Each is refused by name, and nothing changes, inside the folder or outside.

use record::merge::{MERGE, merge};
use record::report::Report;
use record::runs::Runs;
use record::store::{
    CALIBRATION, CAPTURES, COMMANDS, Dir, EVENTS, FACTS, HEADER, NULLS, PAGE, RESULTS, RunFolder, SCENARIO, SELF_TEST,
    SELF_TEST_TRIALS, StoreError, TRIALS, write_whole,
};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// What is in the place of a file.
const KINDS: [&str; 5] = ["a symbolic link", "a dangling link", "a FIFO", "a folder", "a link to a device"];

/// A copy of a recorded run in a folder, and a file outside.
struct Place {
    dir: tempfile::TempDir,
    run: PathBuf,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("runs/run");
        fs::create_dir_all(&run).unwrap();
        let from: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/record/rules2/simulated"].iter().collect();
        for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), run.join(file.file_name())).unwrap();
        }
        fs::write(dir.path().join("outside"), "another line\nand one without an end").unwrap();
        Place { dir, run }
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// Puts something in the place of a file.
    fn put(&self, kind: &str, name: &str) {
        let path = self.run.join(name);
        let _ = fs::remove_file(&path);
        match kind {
            "a symbolic link" => symlink("../../outside", path).unwrap(),
            "a dangling link" => symlink("../../new", path).unwrap(),
            "a FIFO" => mkfifoat(CWD, path, Mode::RWXU).unwrap(),
            "a folder" => fs::create_dir(path).unwrap(),
            "a link to a device" => symlink("/dev/zero", path).unwrap(),
            _ => unreachable!(),
        }
    }

    /// The texts of all files, outside and inside.
    fn texts(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = [self.dir.path(), &self.run].map(|folder| fs::read_dir(folder).unwrap());
        let paths = files.into_iter().flatten().map(|entry| entry.unwrap().path());
        let is_file = |path: &PathBuf| fs::symlink_metadata(path).unwrap().is_file();
        paths.filter(is_file).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

fn words(kind: &str) -> &str {
    if kind.contains("link") { "a symbolic link" } else { kind }
}

#[test]
fn a_run_is_not_resumed_through_what_is_no_regular_file() {
    let drafts = [FACTS, CALIBRATION, PAGE].map(|name| format!("{name}.draft"));
    let names = [TRIALS, RESULTS, EVENTS, COMMANDS, NULLS, FACTS, CALIBRATION, SELF_TEST, SELF_TEST_TRIALS, PAGE];
    for name in names.into_iter().chain(drafts.iter().map(String::as_str)) {
        for kind in KINDS {
            let place = Place::new();
            // An incomplete line of another file, which is not removed either.
            let other = place.run.join(if name == TRIALS { RESULTS } else { TRIALS });
            let text = fs::read(&other).unwrap();
            fs::write(&other, &text[..text.len() - 3]).unwrap();
            place.put(kind, name);
            let before = place.texts();
            let error = RunFolder::open_for_resume(&place.run).map(drop).unwrap_err().to_string();
            let path = place.run.join(name).display().to_string();
            let said = format!("{path} is {}, not a regular file; remove it, or restore it from a copy", words(kind));
            assert_eq!(error, said);
            assert!(place.texts() == before, "{name}: {kind}");
        }
    }
}

#[test]
fn a_second_name_of_a_file_elsewhere_is_not_written() {
    let place = Place::new();
    fs::remove_file(place.run.join(EVENTS)).unwrap();
    fs::hard_link(place.outside(), place.run.join(EVENTS)).unwrap();
    let before = place.texts();
    let error = RunFolder::open_for_resume(&place.run).map(drop).unwrap_err().to_string();
    assert!(error.contains("events.jsonl has a second name (a hard link)"), "{error}");
    assert!(place.texts() == before);
}

#[test]
fn a_run_is_not_read_through_what_is_no_regular_file() {
    for name in [SCENARIO, HEADER, FACTS, CALIBRATION, SELF_TEST, COMMANDS, EVENTS, TRIALS, RESULTS, NULLS] {
        for kind in KINDS {
            let place = Place::new();
            place.put(kind, name);
            let error = Report::from_folder(&place.run, tech::ALL).map(drop).unwrap_err().to_string();
            let said = format!("{name} is {}, not a regular file", words(kind));
            assert!(error.contains(&said), "{name}: {kind}: {error}");
            let listed = Runs::of(&place.dir.path().join("runs")).list().unwrap().remove(0);
            let why = listed.found.expect_err(name);
            assert_eq!(why, format!("{said}; remove it, or restore it from a copy"), "{kind}");
        }
    }
}

/// A file with a hole takes no room on the disk.
#[test]
fn what_is_larger_than_any_file_of_a_run_is_not_read() {
    for (name, octets) in [(FACTS, 65 << 20), (HEADER, 1 << 40), (TRIALS, 65 << 20), (TRIALS, 1 << 40)] {
        let place = Place::new();
        File::create(place.run.join(name)).unwrap().set_len(octets).unwrap();
        for error in [
            Report::from_folder(&place.run, tech::ALL).map(drop).unwrap_err().to_string(),
            RunFolder::open_for_resume(&place.run)
                .map_err(|error| error.to_string())
                .and_then(|_| Report::from_folder(&place.run, tech::ALL).map(drop).map_err(|error| error.to_string()))
                .unwrap_err(),
        ] {
            assert!(error.contains(&format!("{name} has more than ")), "{error}");
        }
        assert_eq!(fs::metadata(place.run.join(name)).unwrap().len(), octets, "it was not cut");
    }
}

#[test]
fn a_draft_of_a_killed_process_is_replaced_and_one_in_use_is_not() {
    let place = Place::new();
    let (path, draft) = (place.run.join(FACTS), place.run.join("facts.json.draft"));
    fs::write(&draft, "half a te").unwrap();
    write_whole(&path, "{}").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert!(!draft.exists());
    let folder = Dir::open(&place.run).unwrap();
    let in_use = folder.draft(FACTS).unwrap();
    let error = write_whole(&path, "[]").unwrap_err().to_string();
    assert!(error.contains("facts.json.draft is in use by another natmeter: wait until it has finished"), "{error}");
    in_use.publish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
    assert!(!draft.exists());
}

#[test]
fn only_names_in_the_folder_are_opened() {
    let place = Place::new();
    let folder = Dir::open(&place.run).unwrap();
    let outside = place.outside();
    for name in ["", ".", "..", "../../outside", "a/b", "run.json/", outside.to_str().unwrap()] {
        assert!(folder.text(name).is_err() && folder.folder(name).is_err(), "{name}");
        assert!(
            folder.append(name).is_err() && folder.rewrite(name).is_err() && folder.create(name).is_err(),
            "{name}"
        );
    }
}

#[test]
fn captures_are_not_written_through_a_link() {
    let place = Place::new();
    symlink("../..", place.run.join(CAPTURES)).unwrap();
    let before = place.texts();
    for error in [
        RunFolder::open_for_resume(&place.run).map(drop).unwrap_err().to_string(),
        Dir::open(&place.run).unwrap().folder_or_new(CAPTURES).map(drop).unwrap_err().to_string(),
    ] {
        assert!(error.contains("captures is a symbolic link, not a folder; remove it"), "{error}");
    }
    assert!(place.texts() == before);
}

/// Merges the run with itself into `merged`.
fn merged(place: &Place) -> Result<(), String> {
    let into = place.dir.path().join("merged");
    merge(&[place.run.clone(), place.run.clone()], true, &into, tech::ALL).map_err(|error| error.to_string())
}

#[test]
fn a_draft_of_a_killed_merge_is_replaced() {
    let place = Place::new();
    let draft = place.dir.path().join("merged.draft");
    fs::create_dir_all(draft.join("parts/1-run")).unwrap();
    fs::write(draft.join("parts/1-run/run.json"), "half").unwrap();
    symlink(place.dir.path(), draft.join("parts/2-run")).unwrap();
    let in_use = File::open(&draft).unwrap();
    in_use.lock().unwrap();
    let error = merged(&place).unwrap_err();
    assert!(error.contains("merged.draft is in use by another natmeter: wait until it has finished"), "{error}");
    drop(in_use);
    merged(&place).unwrap();
    assert!(!draft.exists() && place.outside().exists());
    assert!(Report::from_folder(&place.dir.path().join("merged"), tech::ALL).is_ok());
}

#[test]
fn a_folder_of_the_user_with_the_name_of_a_draft_stays() {
    let place = Place::new();
    let theirs = place.dir.path().join("merged.draft");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("thesis.tex"), "").unwrap();
    let error = merged(&place).unwrap_err();
    assert!(error.contains("merged.draft is in the way, and is no draft of natmeter: rename it"), "{error}");
    assert!(theirs.join("thesis.tex").exists());
}

#[test]
fn parts_of_a_merged_folder_are_not_read_through_links() {
    let place = Place::new();
    merged(&place).unwrap();
    let folder = place.dir.path().join("merged");
    let whole = |path: &Path| Report::from_folder(path, tech::ALL).map(drop).map_err(|error| error.to_string());
    whole(&folder).unwrap();
    let part = folder.join("parts/2-run");
    fs::rename(&part, place.dir.path().join("elsewhere")).unwrap();
    symlink("../../elsewhere", &part).unwrap();
    assert!(whole(&folder).unwrap_err().contains("2-run is a symbolic link, not a folder"));
    fs::rename(folder.join(MERGE), place.dir.path().join("elsewhere.json")).unwrap();
    symlink("../elsewhere.json", folder.join(MERGE)).unwrap();
    assert!(whole(&folder).unwrap_err().contains("merge.json is a symbolic link, not a regular file"));
}

/// A copy belongs to the user who merges: a program with the set-user-ID bit would run as this user.
#[test]
fn a_merge_copies_no_special_permissions_and_no_links() {
    let place = Place::new();
    let program = place.run.join("program");
    fs::write(&program, "").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(place.run.join(FACTS), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("/dev/zero", place.run.join("link")).unwrap();
    merged(&place).unwrap();
    let copy = place.dir.path().join("merged/parts/1-run");
    let mode = |name: &str| fs::metadata(copy.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("program"), mode(FACTS)), (0o644, 0o600));
    assert!(fs::symlink_metadata(copy.join("link")).is_err());
}

#[test]
fn a_merge_copies_no_endless_file() {
    let place = Place::new();
    File::create(place.run.join(EVENTS)).unwrap().set_len(1 << 40).unwrap();
    assert!(merged(&place).unwrap_err().contains("events.jsonl has more than 4294967296 octets"));
    assert!(!place.dir.path().join("merged.draft").exists());
}

#[test]
fn a_missing_file_and_a_missing_folder_are_told_apart() {
    let place = Place::new();
    assert!(matches!(Dir::open(&place.run).unwrap().document::<()>("nothing.json"), Ok(None)));
    assert!(matches!(Dir::open(&place.run.join("no")), Err(StoreError::Io { .. })));
}
