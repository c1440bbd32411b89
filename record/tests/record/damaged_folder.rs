//! Reports of run folders that were cut off, lack a file, or come from a later version: the intact part is reported, what is wrong is
//! named, and no file changes.

use record::audit;
use record::read::Record;
use record::report::{KNOWN, Report};
use record::store::{COMMANDS, EVENTS, FACTS, HEADER, RESULTS, SCENARIO, TRIALS};
use std::path::{Path, PathBuf};

/// Folders of the present rules of verdicts, and of earlier ones.
const FOLDERS: [&str; 2] = ["rules2/simulated", "version1/embedded-nat44"];

fn copy(name: &str) -> (tempfile::TempDir, PathBuf) {
    let from: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/record", name].iter().collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    std::fs::create_dir(&path).unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), path.join(file.file_name())).unwrap();
    }
    (dir, path)
}

fn read(path: &Path) -> Result<Report, String> {
    Report::from_folder(path, tech::ALL).map_err(|error| error.to_string())
}

fn render(report: &Report) {
    for format in KNOWN {
        report.render(format.name).unwrap();
    }
}

/// At whichever octet the last line is cut off, the lines before it are reported.
#[test]
fn a_line_cut_off_anywhere_is_ignored_and_named() {
    for name in FOLDERS {
        let (_dir, path) = copy(name);
        for file in [TRIALS, RESULTS, COMMANDS] {
            let whole = std::fs::read(path.join(file)).unwrap();
            let Some(end) = whole.len().checked_sub(1) else { continue };
            let begin = whole[..end].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
            for cut in [begin + 1, begin.midpoint(end), end] {
                std::fs::write(path.join(file), &whole[..cut]).unwrap();
                let report = read(&path).unwrap();
                let said = format!("{file} ends in an incomplete line of {} bytes", cut - begin);
                assert!(report.doubts.iter().any(|doubt| doubt.starts_with(&said)), "{name}: {:?}", report.doubts);
                render(&report);
                assert_eq!(std::fs::read(path.join(file)).unwrap(), whole[..cut], "{name}: {file} changed");
            }
            std::fs::write(path.join(file), &whole).unwrap();
        }
    }
}

/// A cut in a document of one value, such as the facts, is an error with its line.
#[test]
fn a_document_cut_off_is_named_with_its_line() {
    for name in FOLDERS {
        let (_dir, path) = copy(name);
        for file in [HEADER, FACTS] {
            let whole = std::fs::read(path.join(file)).unwrap();
            std::fs::write(path.join(file), &whole[..whole.len() / 2]).unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.contains(&format!("{file}, line ")) && error.contains("restore it from a copy"), "{error}");
            std::fs::write(path.join(file), &whole).unwrap();
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    for name in FOLDERS {
        let whole = read(&copy(name).1).unwrap();
        for file in [TRIALS, RESULTS, COMMANDS, EVENTS, FACTS] {
            let (_dir, path) = copy(name);
            std::fs::remove_file(path.join(file)).unwrap();
            let report = read(&path).unwrap();
            let decides = [TRIALS, RESULTS].contains(&file);
            let said =
                if decides { format!("{file}: the file is missing; ") } else { format!("{file} is missing, so ") };
            let has = |doubt: &String| doubt.contains(&said) && doubt.contains("restore the file from a copy");
            assert!(report.doubts.iter().any(has), "{name}: {:?}", report.doubts);
            assert_eq!(report.sentences[0].contains("The record of this run is damaged"), decides, "{name}: {file}");
            assert!(decides || report.results == whole.results, "{name}: {file}");
            render(&report);
            assert!(!path.join(file).exists(), "{name}: {file} is there again");
        }
        for file in [HEADER, SCENARIO] {
            let (_dir, path) = copy(name);
            std::fs::remove_file(path.join(file)).unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.contains(&format!("is not a run folder ({file} is missing)")), "{error}");
        }
    }
}

#[test]
fn a_folder_of_a_later_version_is_refused_with_the_version_to_use() {
    let (_dir, path) = copy(FOLDERS[0]);
    let header = std::fs::read_to_string(path.join(HEADER)).unwrap();
    let mut later: serde_json::Value = serde_json::from_str(&header).unwrap();
    later["record"] = 99.into();
    later["version"] = "9.9.9".into();
    std::fs::write(path.join(HEADER), later.to_string()).unwrap();
    let error = read(&path).unwrap_err();
    let said = "version 99 of the run folder is unknown, this natmeter reads versions 1 to ";
    assert!(error.contains(said) && error.contains("use natmeter 9.9.9, which wrote it"), "{error}");
}

/// A line that no version of natmeter writes is an error with its number, in every file.
#[test]
fn a_foreign_line_is_named_with_its_number() {
    for name in FOLDERS {
        for file in [TRIALS, RESULTS, COMMANDS] {
            let (_dir, path) = copy(name);
            let text = std::fs::read_to_string(path.join(file)).unwrap();
            std::fs::write(path.join(file), format!("{text}{{\"later\": true}}\n")).unwrap();
            let error = read(&path).unwrap_err();
            let line = text.lines().count() + 1;
            assert!(error.contains(&format!("{file}, line {line}: ")), "{error}");
        }
    }
}

/// A point of a device that the scenario does not have is an error with its line, in each file with points.
#[test]
fn a_device_of_another_scenario_is_named_with_its_line() {
    for (file, line) in [(HEADER, 38), (RESULTS, 2)] {
        for (right, wrong) in [("\"dut\":", "\"dut\":7"), ("\"dut_name\":", "\"dut_name\":\"x\"")] {
            let (_dir, path) = copy("rules2/simulated");
            let text = std::fs::read_to_string(path.join(file)).unwrap();
            // The second point of the file.
            let (at, _) = text.match_indices(right).nth(1).unwrap();
            let end = at + text[at..].find([',', '\n']).unwrap();
            std::fs::write(path.join(file), format!("{}{wrong}{}", &text[..at], &text[end..])).unwrap();
            let why = read(&path).unwrap_err();
            let begin = format!("{}, line {line}: device number ", path.join(file).display());
            assert!(why.starts_with(&begin) && why.ends_with("restore it from a copy"), "{file}: {why}");
        }
    }
}

/// Builds of one version may have other rules, so a refusal names the commit: that of the folder's header, or of its facts.
#[test]
fn a_refusal_to_resume_names_the_commit() {
    let (_dir, path) = copy("rules2/simulated");
    let refusal = |path: &Path| {
        let record = Record::read(path, tech::ALL).unwrap();
        audit::check_resumable(&record).unwrap_err().to_string()
    };
    let advice =
        |natmeter: &str| format!("resume it with the build that wrote it, natmeter {natmeter}, or start a new run");
    assert!(refusal(&path).ends_with(&advice("0.1.0")), "{}", refusal(&path));

    let replace = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(path.join(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        std::fs::write(path.join(file), text.replacen(from, to, 1)).unwrap();
    };
    replace(FACTS, "\"build\": \"", "\"build\": \"commit 0123456789ab, ");
    assert!(refusal(&path).ends_with(&advice("0.1.0 (commit 0123456789ab)")), "{}", refusal(&path));
    replace(HEADER, "\"version\": \"0.1.0\",", "\"version\": \"0.1.0\", \"commit\": \"ba9876543210\",");
    assert!(refusal(&path).ends_with(&advice("0.1.0 (commit ba9876543210)")), "{}", refusal(&path));

    replace(HEADER, "\"record\": 2", "\"record\": 99");
    replace(HEADER, "\"version\": \"0.1.0\"", concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\""));
    let later = read(&path).unwrap_err();
    let build = concat!(
        "use a later build of natmeter ",
        env!("CARGO_PKG_VERSION"),
        " (commit ba9876543210), which wrote it, or a later one"
    );
    assert!(later.contains(build), "{later}");
}
