//! A second opinion on MLRsearch: the Python package MLRsearch of FD.io searches the same simulated devices for the same goals.
//! `MLRSEARCH_PYTHON` names a Python that has the package; without it the test says that it is not run.

use method::search::mlr::Goal;
use method::simulated::{SimulatedDut, Truth};
use method::{Nanos, Precision, Rate, Ratio, SearchSettings};
use procedure::throughput;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/second-opinion/mlrsearch.py");

/// Final trial duration and duration sum in seconds, loss ratio and exceed ratio in parts per million: as `GOALS` of the script.
const GOALS: [(u64, u64, u64, u64); 4] =
    [(60, 60, 0, 0), (60, 120, 0, 500_000), (1, 21, 0, 500_000), (1, 21, 5_000, 500_000)];
/// 0.5 %.
const WIDTH_PPM: u64 = 5_000;

fn goals(loss_ppm: u64) -> Vec<Goal> {
    let goal = |(at, &(last, sum, loss, exceed)): (usize, &(u64, u64, u64, u64))| Goal {
        name: at.to_string(),
        final_duration: Nanos::from_secs(last),
        initial_duration: Nanos::SECOND,
        duration_sum: Nanos::from_secs(sum),
        loss: Ratio::from_ppm(loss),
        exceed: Ratio::from_ppm(exceed),
        width: Precision::Relative(Ratio::from_ppm(WIDTH_PPM)),
    };
    GOALS.iter().enumerate().filter(|(_, goal)| goal.2 >= loss_ppm).map(goal).collect()
}

/// The bounds of both overlap for every goal: they are of one truth, and no wider than asked for.
#[test]
fn the_package_mlrsearch_finds_the_same_bounds() {
    let Some(python) = std::env::var_os("MLRSEARCH_PYTHON") else {
        println!(
            "not run: second opinion on MLRsearch, because MLRSEARCH_PYTHON names no Python with the package MLRsearch"
        );
        return;
    };
    for (capacity, loss_ppm) in [(1_234_567, 0), (98_765, 0), (7_654_321, 0), (1_234_567, 2_000)] {
        let loss = loss_ppm as f64 / 1e6;
        let ran = Command::new(&python).args([SCRIPT, &capacity.to_string(), &loss.to_string()]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let text = String::from_utf8(ran.stdout).unwrap();
        let theirs: Vec<Vec<f64>> =
            text.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();

        let truth = Truth { loss: Ratio::from_ppm(loss_ppm), ..Truth::new(Rate(capacity), Rate(capacity)) };
        let (lo, hi) = (Rate(10_000), Rate(14_880_952));
        let settings = SearchSettings { lo, hi, goals: goals(loss_ppm), ..SearchSettings::default() };
        let mut device = SimulatedDut::new(truth, 1);
        let ours = throughput::measure(&mut device, &settings, None, &mut |_| ()).unwrap().goals;
        assert_eq!((ours.len(), theirs.len()), (settings.goals.len(), settings.goals.len()));
        for our in ours {
            let number: f64 = our.goal.parse().unwrap();
            let [_, low, high] = theirs.iter().find(|their| their[0] == number).unwrap()[..] else { panic!("{text}") };
            let (lower, upper) = (our.lower.unwrap().0 as f64, our.upper.unwrap().0 as f64);
            println!("{capacity}, goal {number}: {lower}..{upper} here, {low}..{high} there");
            assert!(lower <= high && low <= upper, "{lower}..{upper} and {low}..{high}");
            assert!(upper - lower <= lower * 0.005 + 1.0);
        }
    }
}
