//! A run with different rates in both directions: each frame of its trials and each rate of its reports is that of its direction.

use crate::program::{measured, top};
use crate::simulated::trials;
use crate::tcp::run;
use std::path::Path;

const SET: [&str; 9] = [
    "direction=1:10",
    "metrics=throughput",
    "phase1-rate=200k",
    "connections=10k",
    "repetitions=1",
    "duration=50 ms",
    "max-rate=20k",
    "error=20 %",
    "settle=10 ms",
];

#[test]
#[ignore = "slow: run by ./check slow-tests"]
fn slow_a_run_with_a_direction_ratio_reports_both_rates() {
    let runs = tempfile::tempdir().unwrap();
    let run = run(Path::new("scenarios/quickstart.toml"), &SET, runs.path());
    let report = |options: &[&str]| measured(&top(), &[&["report", run.to_str().unwrap()], options].concat());
    let trials = trials(&run);
    // The probe of a device behind a trial without an answer has the same rate in both directions.
    let with_ratio: Vec<_> = trials.iter().filter(|trial| trial.spec.direction.ratio().is_some()).collect();
    assert!(!with_ratio.is_empty());
    for trial in with_ratio {
        let [forward, reverse] = [&trial.outcome.forward, &trial.outcome.reverse].map(|leg| leg.planned);
        assert_eq!(forward, reverse / 10, "{trial:?}");
    }
    let csv = report(&["--format", "csv"]);
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let line = csv.lines().find(|line| line.contains(",throughput,median,\"fps, right to left\"")).unwrap();
    let value = |column: &str| {
        let behind = header.iter().position(|name| *name == column).unwrap();
        let before = header.iter().position(|name| *name == "x_name").unwrap();
        // The value with grouped digits is quoted.
        let fields = line.split_once("right to left\",").unwrap().1.split('"').step_by(2).collect::<String>();
        fields.split(',').nth(behind - before).unwrap().parse::<f64>().unwrap()
    };
    let faster = value("value");
    assert!(faster > 0.0);
    assert!((value("total") / faster - 1.1).abs() < 1e-6, "{csv}");
    let text = report(&[]);
    for words in ["Throughput, frames/s in the faster direction", "median, left to right", "median, right to left"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
