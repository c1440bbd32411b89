//! `natmeter compare` and `natmeter trend` over whole runs of simulated devices: output and exit codes.

use crate::program::{natmeter, only_run, stderr, stdout};
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) const SCENARIO: &str = r#"
name = "compared"
[dut.simulated]
host-noise = "0"
[sweep]
connections = ["100k"]
[measure]
metrics = ["throughput"]
phase1-rate = "100k"
repetitions = 5
duration = "100 ms"
error = "0.5 %"
"#;

/// Runs of devices with these capacities, in one folder.
fn runs(capacities: &[&str]) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
    let mut names: Vec<String> = Vec::new();
    for capacity in capacities {
        let set = format!("dut.simulated.capacity={capacity}");
        let run = natmeter(folder.path(), &["run", "scenario.toml", "--beside", "--quiet", "--set", &set]);
        assert!(run.status.success(), "{}", stderr(&run));
        let folders: Vec<PathBuf> =
            std::fs::read_dir(folder.path().join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
        let name = |path: &PathBuf| format!("runs/{}", path.file_name().unwrap().to_str().unwrap());
        names.extend(folders.iter().map(name).find(|name| !names.contains(name)));
    }
    (folder, names)
}

fn compared(folder: &TempDir, args: &[&str]) -> (i32, String, String) {
    let output = natmeter(folder.path(), &[&["compare"], args].concat());
    (output.status.code().unwrap(), stdout(&output), stderr(&output))
}

#[test]
fn a_slower_device_is_found_and_fails() {
    let (folder, names) = runs(&["3M", "2.7M", "3M"]);
    let [fast, slow, again] = &names[..] else { panic!("{names:?}") };
    let (code, text, errors) = compared(&folder, &[fast, slow, again]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        text.contains("run 2: of 1 value 0 higher, 1 lower") && text.contains("run 3: of 1 value 0 higher, 0 lower")
    );
    assert!(text.contains("scenario --set dut.simulated.capacity: 2.7M; reference: 3M"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (code, _, errors) = compared(&folder, &[fast, slow, "--fail-if-slower", "5 %"]);
    assert!(code == 1 && errors.contains("worse in run 2 by more than 5 %"), "{code}: {errors}");
    assert_eq!(compared(&folder, &[fast, slow, "--fail-if-slower", "15 %"]).0, 0);
    assert_eq!(compared(&folder, &[fast, again, "--fail-if-slower", "5 %"]).0, 0);
    let under = |runs: &[&str]| compared(&folder, &[runs, &["--fail-under", "throughput < 2.8M"]].concat());
    let (code, _, errors) = under(&[slow]);
    assert!(code == 1 && errors.contains("`throughput < 2.8M`") && errors.contains(slow.as_str()), "{code}: {errors}");
    assert_eq!([under(&[fast]).0, under(&[fast, slow]).0, under(&[slow, fast]).0], [0, 1, 0]);
    let (_, json, _) = compared(&folder, &[fast, slow, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["points"][0]["values"][1]["difference"]["finding"], "lower");
    let trend = natmeter(folder.path(), &["trend", "--scenario", "compared"]);
    let text = stdout(&trend);
    assert!(text.contains("compared: 3 runs") && text.contains("too few runs for change points"), "{text}");
    let several = natmeter(folder.path(), &["trend"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(stderr(&several).contains("2 different scenarios"));
}

/// A tester that is slower than the device leaves "below 2.8 M" undecided, and decides "below 50 k".
#[test]
fn a_bound_is_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = SCENARIO.replace("host-noise = \"0\"", "host-noise = \"0\"\ntester-ceiling = \"100k\"");
    std::fs::write(folder.path().join("scenario.toml"), scenario).unwrap();
    natmeter(folder.path(), &["run", "scenario.toml", "--beside", "--quiet"]);
    let run = only_run(&folder.path().join("runs")).unwrap();
    let under = |condition: &str| compared(&folder, &[run.to_str().unwrap(), "--fail-under", condition]);
    let (code, _, errors) = under("throughput < 2.8M");
    assert!(code == 3 && errors.contains("only a bound"), "{code}: {errors}");
    let bisect = |condition: &str| compared(&folder, &[run.to_str().unwrap(), "--fail-under", condition, "--bisect"]).0;
    assert_eq!([bisect("throughput < 2.8M"), bisect("max_conn_est_rate < 1M")], [125, 125]);
    assert_eq!(under("throughput < 50k").0, 0);
    let (code, _, errors) = under("latency > 1 ms");
    assert!(code == 2 && errors.contains("latency"), "{code}: {errors}");
}
