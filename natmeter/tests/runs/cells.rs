//! Cells of a matrix: their runs together give the report of one run of the whole matrix, and what differs between them is named.

use crate::program::{NATMETER, natmeter, only_run, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCENARIO: &str = r#"
name = "campaign"
about = "A simulated device over connections and cores."
[dut.simulated]
set-up-rate = "400k"
capacity = "2 Mfps"
jitter = "1 %"
[sweep]
connections = "10k..40k double"
cores = "1..2 double"
exclude = [{ connections = "40k", cores = 2 }]
[measure]
repetitions = 5
error = "1 %"
max-rate = "4M"
duration = "10 ms"
start-delay = "0 s"
drain = "0 s"
settle = "0 s"
phase1-drain = "0 s"
"#;

struct Campaign {
    folder: tempfile::TempDir,
}

impl Campaign {
    fn new() -> Campaign {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("campaign.toml"), SCENARIO).unwrap();
        Campaign { folder }
    }

    fn natmeter(&self, args: &[&str]) -> Output {
        natmeter(self.folder.path(), args)
    }

    fn said(&self, args: &[&str]) -> String {
        let output = self.natmeter(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn cell(&self, cell: &str) -> PathBuf {
        let runs = format!("runs/{}", cell.replace('/', "-"));
        self.said(&["run", "campaign.toml", "--cell", cell, "--runs", &runs, "--beside", "--quiet", "--continue"]);
        only_run(&self.folder.path().join(&runs)).unwrap()
    }

    fn merge(&self, into: &str, runs: &[PathBuf], more: &[&str]) -> Output {
        let runs: Vec<&str> = runs.iter().map(|run| run.to_str().unwrap()).collect();
        self.natmeter(&[&["merge", into], &runs[..], more].concat())
    }
}

/// The report without the time that it took, and without the load of the machine.
fn body(report: &str) -> String {
    let results = report.lines().take_while(|line| !line.starts_with('!'));
    results.filter(|line| !line.contains(" measurements · ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_runs_of_all_cells_give_the_report_of_the_whole_matrix() {
    let campaign = Campaign::new();
    let runs: Vec<PathBuf> = ["1/3", "2/3", "3/3"].map(|cell| campaign.cell(cell)).into();
    // A second start of a complete cell measures nothing.
    assert_eq!(campaign.cell("2/3"), runs[1]);
    let whole = campaign.said(&["run", "campaign.toml", "--runs", "runs/whole", "--beside", "--quiet"]);
    assert!(campaign.merge("merged", &runs, &[]).status.success());
    let merged = campaign.said(&["report", "merged"]);
    let report_of_whole = whole.split("\nReport    ").next().unwrap();
    assert_eq!(body(&merged), body(report_of_whole));
    for format in ["csv", "json", "html"] {
        assert!(!campaign.said(&["report", "merged", "--format", format]).is_empty());
    }
    let resumed = campaign.natmeter(&["resume", "merged"]);
    assert!(stderr(&resumed).contains("joins several runs"), "{}", stderr(&resumed));
}

/// A cell that was killed goes on in its folder: cut off behind some of its results, as a kill leaves it.
#[test]
fn a_killed_cell_goes_on() {
    let campaign = Campaign::new();
    let run = campaign.cell("1/2");
    let report = campaign.said(&["report", run.to_str().unwrap()]);
    for file in ["results.jsonl", "trials.jsonl"] {
        let path = run.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        // The rest of the results, and a part of the trials, with an incomplete line.
        let keep = if file == "results.jsonl" { 3 } else { lines * 3 / 4 };
        let kept: usize = text.split_inclusive('\n').take(keep).map(str::len).sum();
        fs::write(&path, &text[..kept + usize::from(file == "trials.jsonl") * 40]).unwrap();
    }
    assert_eq!(campaign.cell("1/2"), run);
    assert_eq!(body(&campaign.said(&["report", run.to_str().unwrap()])), body(&report));
}

#[test]
fn cells_of_different_testers_are_kept_apart() {
    let campaign = Campaign::new();
    let runs: Vec<PathBuf> = ["1/2", "2/2"].map(|cell| campaign.cell(cell)).into();
    change(&runs[1].join("facts.json"), "\"cpu\": \"", "\"cpu\": \"Another ");
    assert!(campaign.merge("apart", &runs, &[]).status.success());
    let apart = campaign.said(&["report", "apart", "--verbose"]);
    for words in ["simulated (bed 1)", "simulated (bed 2)", "differ in cpu", "kept apart"] {
        assert!(apart.contains(words), "{words}: {apart}");
    }
    assert!(campaign.merge("alike", &runs, &["--alike"]).status.success());
    let alike = campaign.said(&["report", "alike", "--verbose"]);
    assert!(!alike.contains("(bed 1)") && alike.contains("differ in cpu") && alike.contains("as declared"), "{alike}");
}

/// A software that changed between two cells is another device, and what no bed measured is missing.
#[test]
fn cells_of_changed_devices_are_kept_apart_and_gaps_are_counted() {
    let campaign = Campaign::new();
    let runs: Vec<PathBuf> = ["1/3", "2/3"].map(|cell| campaign.cell(cell)).into();
    change(&runs[1].join("facts.json"), "\"simulated\": {}", "\"simulated\": {\"software\": \"x 2.0\"}");
    assert!(campaign.merge("apart", &runs, &[]).status.success());
    let apart = campaign.said(&["report", "apart", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&apart).unwrap();
    assert_eq!((&report["measured"], &report["planned"]), (&40.into(), &50.into()));
    let text = campaign.said(&["report", "apart", "--verbose"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("software of simulated"), "{text}");
}

/// Nothing of the user is deleted, and a run is not copied into itself.
#[test]
fn a_merge_touches_nothing_else() {
    let campaign = Campaign::new();
    let runs: Vec<PathBuf> = ["1/2", "2/2"].map(|cell| campaign.cell(cell)).into();
    let draft = campaign.folder.path().join("m.draft");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("mine"), "mine").unwrap();
    assert!(!campaign.merge("m", &runs, &[]).status.success());
    assert!(draft.join("mine").exists());
    let inside = runs[0].join("m");
    let output = campaign.merge(inside.to_str().unwrap(), &runs, &[]);
    assert!(stderr(&output).contains("would be in the run"), "{}", stderr(&output));
    assert!(campaign.merge("slash/", &runs, &[]).status.success());
    change(&runs[1].join("trials.jsonl"), "\"seq\":0,", "\"seq\":18446744073709551615,");
    let output = campaign.merge("damaged", &runs, &[]);
    assert!(stderr(&output).contains("is damaged"), "{}", stderr(&output));
}

#[test]
fn what_is_not_of_one_campaign_is_refused() {
    let campaign = Campaign::new();
    let runs: Vec<PathBuf> = ["1/2", "2/2"].map(|cell| campaign.cell(cell)).into();
    let said = |into: &str, runs: &[PathBuf]| {
        let output = campaign.merge(into, runs, &[]);
        assert!(!output.status.success() && !campaign.folder.path().join(into).join("merge.json").exists());
        stderr(&output)
    };
    assert!(said("m", &runs[..1]).contains("name two or more"));
    assert!(said("m", &[runs[0].clone(), PathBuf::from("nowhere")]).contains("nowhere does not exist"));
    fs::create_dir(campaign.folder.path().join("there")).unwrap();
    assert!(said("there", &runs).contains("exists: name a new folder"));
    change(&runs[1].join("scenario.toml"), "400k", "401k");
    assert!(said("m", &runs).contains("differ in the scenario"));
    let leftovers = fs::read_dir(campaign.folder.path()).unwrap();
    assert!(leftovers.flatten().all(|entry| !entry.file_name().to_string_lossy().contains("draft")));
}

/// Two runs of one cell have the same measurements: those of the run named first stand.
#[test]
fn a_measurement_of_two_runs_is_named() {
    let campaign = Campaign::new();
    let runs = [campaign.cell("1/2"), campaign.cell("1/2")];
    assert!(campaign.merge("twice", &runs, &[]).status.success());
    let report = campaign.said(&["report", "twice", "--verbose"]);
    assert!(report.contains("the results are those of the run named first"), "{report}");
}

#[test]
fn a_cell_beyond_the_points_is_refused() {
    let campaign = Campaign::new();
    let output = campaign.natmeter(&["plan", "campaign.toml", "--cell", "1/6"]);
    assert!(stderr(&output).contains("the matrix has 5 points"), "{}", stderr(&output));
    let output = campaign.natmeter(&["plan", "campaign.toml", "--cell", "6/5"]);
    assert!(stderr(&output).contains("NUMBER/OF"), "{}", stderr(&output));
}

#[test]
fn a_makefile_measures_all_cells() {
    let campaign = Campaign::new();
    let makefile = campaign.said(&["plan", "campaign.toml", "--cells", "make"]);
    fs::write(campaign.folder.path().join("cells.mk"), makefile.replace("--wait", "--beside")).unwrap();
    let path = Path::new(NATMETER).parent().unwrap().display().to_string();
    let path = format!("{path}:{}", std::env::var("PATH").unwrap_or_default());
    let make = || {
        Command::new("make").current_dir(campaign.folder.path()).env("PATH", &path).args(["-f", "cells.mk"]).output()
    };
    let made = make().expect("make(1) is needed for this test");
    assert!(made.status.success(), "{}", stderr(&made));
    let runs = fs::read_dir(campaign.folder.path().join("runs/campaign-cells")).unwrap();
    let run = |cell: fs::DirEntry| fs::read_dir(cell.path()).unwrap().next().unwrap().unwrap().path();
    let mut runs: Vec<PathBuf> = runs.flatten().map(run).collect();
    runs.sort();
    assert_eq!(runs.len(), 5);
    assert!(campaign.merge("merged", &runs, &[]).status.success());
}

fn change(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}
