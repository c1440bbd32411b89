//! Folders that natmeter 0.1.0 wrote: an embedded NAT44, MAP-T with both edges, and a simulated device whose run was
//! killed. They name neither the version of the folder nor that of the rules.

use crate::folder_copy::FolderCopy;
use crate::program::{stderr, stdout};
use natmeter::rig::RunContext;
use natmeter::run::Run;
use record::audit::{Basis, audit};
use record::folder::RECORD_WITHOUT_VERSION;
use record::read::Record;
use record::report::{KNOWN, Report};
use record::store::{self, RunFolder};
use std::path::PathBuf;

const FOLDERS: [&str; 3] = ["embedded-nat44", "map-t", "simulated-killed"];

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../record/tests/record/version1", name].iter().collect()
}

#[test]
fn a_folder_is_read_by_its_text_and_the_options_that_it_was_run_with() {
    for name in FOLDERS {
        let record = Record::read(&folder(name), tech::ALL).unwrap();
        let header = &record.header;
        assert_eq!((header.record, header.rules), (RECORD_WITHOUT_VERSION, None), "{name}");
        assert!(header.options.set.iter().any(|set| set.starts_with("measure.error=")), "{name}: {:?}", header.options);
        let audit = audit(&record);
        assert_eq!((audit.basis, audit.findings), (Basis::AsRecorded, Vec::new()), "{name}");
    }
    let record = Record::read(&folder("simulated-killed"), tech::ALL).unwrap();
    assert_eq!((record.header.plan.measurements.len(), record.outcomes.len()), (12, 6));
}

#[test]
fn every_format_reports_the_recorded_verdicts_and_says_so() {
    for name in FOLDERS {
        let report = Report::from_folder(&folder(name), tech::ALL).unwrap();
        for format in KNOWN {
            let text = report.render(format.name).unwrap();
            let is_data = ["csv", "openmetrics"].contains(&format.extension) || format.name == "openmetrics";
            let label = if is_data { "as-recorded" } else { "does not name its rules" };
            // The text may wrap within the label, and in a cell of a table.
            let words = text.replace('|', " ");
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(label), "{name} as {}: {text}", format.name);
        }
    }
}

#[test]
fn the_same_folder_gives_the_same_bytes_in_every_format() {
    for name in FOLDERS {
        let copy = FolderCopy::of(&folder(name));
        let [there, moved] = [&folder(name), &copy.path].map(|path| Report::from_folder(path, tech::ALL).unwrap());
        for format in KNOWN {
            let render = |report: &Report| report.render(format.name).unwrap();
            assert!(render(&there) == render(&moved), "{name} moved as {}", format.name);
        }
    }
}

#[test]
fn a_report_does_not_change_the_folder() {
    let copy = FolderCopy::of(&folder("simulated-killed"));
    copy.edit(store::TRIALS, |text| text + "{\"seq\":16");
    let contents = || -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = std::fs::read_dir(&copy.path).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|f| (f.clone(), std::fs::read(f).unwrap())).collect()
    };
    let before = contents();
    let report = Report::from_folder(&copy.path, tech::ALL).unwrap();
    for format in KNOWN {
        report.render(format.name).unwrap();
    }
    assert_eq!(contents(), before);
}

#[test]
fn a_torn_line_is_ignored_and_reported() {
    let copy = FolderCopy::of(&folder("simulated-killed"));
    let whole = Report::from_folder(&copy.path, tech::ALL).unwrap();
    for name in [store::TRIALS, store::RESULTS, store::COMMANDS] {
        let before = copy.text(name);
        copy.edit(name, |text| text + "{\"measurem");
        let torn = Report::from_folder(&copy.path, tech::ALL).unwrap();
        assert_eq!((&torn.results, torn.measured), (&whole.results, whole.measured), "{name}");
        let said =
            format!("{name} ends in an incomplete line of 10 bytes, which this report ignores: the run was killed.");
        assert!(torn.doubts.contains(&said), "{:?}", torn.doubts);
        copy.edit(name, |_| before);
    }
}

/// A run can be resumed only with the rules with which it began.
#[test]
fn a_run_of_earlier_rules_is_not_resumed() {
    for name in FOLDERS {
        let copy = FolderCopy::of(&folder(name));
        let before = Record::read(&copy.path, tech::ALL).unwrap();
        let (folder, _) = RunFolder::open_for_resume(&copy.path).unwrap();
        let mut listener = ();
        let refusal = Run::open(&before.header, folder, RunContext::new(), &mut listener).err().unwrap().to_string();
        let advice = "resume it with the build that wrote it, natmeter 0.1.0, or start a new run";
        assert!(refusal.contains(advice), "{name}: {refusal}");
    }
}

/// Rules 2 excused a fail by host noise. The folder names them, and keeps its verdicts.
#[test]
fn a_folder_of_rules_2_is_reported_as_recorded() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../record/tests/record/rules2/simulated"].iter().collect();
    let record = Record::read(&path, tech::ALL).unwrap();
    assert_eq!(record.header.rules, Some(2));
    let by_burst =
        |t: &&method::TrialRecord| matches!(t.verdict, method::Verdict::Invalid(method::Invalid::HostBurst { .. }));
    assert_eq!(record.trials.iter().filter(by_burst).count(), 1);
    let audit = audit(&record);
    assert_eq!((audit.basis, audit.findings), (Basis::AsRecorded, Vec::new()));
    for format in KNOWN {
        Report::from_folder(&path, tech::ALL).unwrap().render(format.name).unwrap();
    }
}

#[test]
fn a_version_1_folder_that_was_changed_is_named_and_not_resumed() {
    let copy = FolderCopy::of(&folder("simulated-killed"));
    copy.edit_lines(store::TRIALS, |lines| drop(lines.remove(3)));
    let output = copy.natmeter(&["report"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("trials.jsonl, line 4: 1 trial is missing before trial 4"), "{}", stderr(&output));
    assert!(stdout(&output).contains("The record of this run is damaged: do not use its figures."));
    let output = copy.natmeter(&["resume", "--beside", "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot be resumed:\n  trials.jsonl, line 4"), "{}", stderr(&output));
}
