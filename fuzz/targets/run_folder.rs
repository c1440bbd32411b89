//! Any bytes as the files of a run folder: a report in every format, or an error, the same twice; trials that can be judged
//! and replayed, or an error. Files are divided by lines `== NAME`; a good run is in `seeds/run_folder`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use method::{Criteria, Replay, TrialRecord, judge};
use record::audit::check_resumable;
use record::read::Record;
use record::report::{KNOWN, Report};
use record::runs::Runs;
use record::store::RunFolder;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

const FILES: &[&str] = &[
    "scenario.toml",
    "run.json",
    "facts.json",
    "calibration.json",
    "selftest.json",
    "commands.jsonl",
    "events.jsonl",
    "trials.jsonl",
    "results.jsonl",
];

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(natmeter_fuzz::folder);

/// Write the files of a bundle; what it has not, is not there.
fn unpack(bundle: &[u8], to: &Path) {
    for name in FILES {
        let _ = fs::remove_file(to.join(name));
    }
    let mut file = None;
    for line in bundle.split_inclusive(|b| *b == b'\n') {
        let name = FILES.iter().find(|n| line.strip_prefix(b"== ").is_some_and(|l| l.trim_ascii() == n.as_bytes()));
        if let Some(name) = name {
            file = Some((name, Vec::new()));
        } else if let Some((name, content)) = &mut file {
            content.extend(line);
            fs::write(to.join(name), content).expect("room for a file");
        }
    }
}

fuzz_target!(|bundle: &[u8]| {
    let path = &FOLDER.path().join("run");
    fs::create_dir_all(path).expect("room for a folder");
    unpack(bundle, path);
    let listed = Runs::of(FOLDER.path()).list().expect("a folder that can be read");
    assert!(listed.iter().all(|run| run.name == "run"), "{listed:?}");
    if let Ok(report) = Report::from_folder(path, tech::ALL) {
        let again = Report::from_folder(path, tech::ALL).expect("it was there a moment ago");
        for format in KNOWN {
            let text = report.render(format.name).expect("a known format");
            assert_eq!(text, again.render(format.name).expect("a known format"));
        }
    }
    if let Ok(record) = Record::read(path, tech::ALL) {
        let _ = check_resumable(&record);
    }
    let Ok((folder, _)) = RunFolder::open_for_resume(path) else { return };
    let _ = folder.outcomes();
    if let Ok(records) = folder.trials::<TrialRecord>() {
        for r in &records {
            let _ = judge(&r.spec, &r.outcome, &Criteria::default());
        }
        let _ = Replay::new(records, ());
    }
});
