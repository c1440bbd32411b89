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
    let rate = |stat: &str, unit: &str| {
        let line = csv.lines().find(|line| line.contains(&format!(",throughput,{stat},\"fps, {unit}\"")));
        let line = line.unwrap_or_else(|| panic!("{stat} {unit}: {csv}"));
        // Behind the quoted unit: axis, its value, the rate.
        line.split("\",").nth(1).unwrap().split(',').nth(2).unwrap().parse::<f64>().unwrap()
    };
    let faster = rate("median", "right to left");
    assert!(faster > 0.0);
    for (unit, share) in [("left to right", 0.1), ("both directions", 1.1)] {
        assert!((rate("median", unit) / faster - share).abs() < 1e-6, "{unit}: {csv}");
    }
    let text = report(&[]);
    for words in ["Throughput, frames/s in the faster direction", "median, left to right", "median, right to left"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
