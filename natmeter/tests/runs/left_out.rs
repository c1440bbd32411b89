//! Runs with a time limit that are interrupted and resumed. Skipped measurements must neither come between the trials of an
//! interrupted measurement nor change its settings.

use crate::simulated::{SCENARIO, folder, header, header_of, resume, run, set, trials};
use method::{Nanos, TrialRecord};
use natmeter::event::{Event, Listener};
use natmeter::rig::RunContext;
use natmeter::run::Run;
use record::folder::{Facts, Header, Outcome};
use record::store::{RESULTS, TRIALS};
use scenario::{Setup, Simulated};
use std::fs;
use std::path::Path;
use std::time::Duration;

fn keep(path: &Path, trial: impl Fn(&TrialRecord) -> bool, result: impl Fn(&str) -> bool) {
    let lines = |name| fs::read_to_string(path.join(name)).unwrap();
    let trials = lines(TRIALS);
    let wanted = trials.lines().filter(|l| trial(&serde_json::from_str(l).unwrap()));
    let trials: String = wanted.flat_map(|l| [l, "\n"]).collect();
    let results = lines(RESULTS);
    let key = |l: &str| serde_json::from_str::<Outcome>(l).unwrap().measurement.key();
    let results: String = results.lines().filter(|l| result(&key(l))).flat_map(|l| [l, "\n"]).collect();
    fs::write(path.join(TRIALS), trials).unwrap();
    fs::write(path.join(RESULTS), results).unwrap();
}

/// A device that has become slower since the run began, so that a further repetition would lower the rate of phase 1.
fn slower(mut header: Header) -> Header {
    let Setup::Simulated(device) = header.scenario.duts[0].setup() else { panic!("not simulated") };
    let set_up_rate = scenario::quantity::WrittenRate::Frames(650_000);
    header.scenario.duts[0] = Simulated { set_up_rate, ..device.clone() }.into();
    header
}

/// A run that skips all further repetitions because of its time limit, and the same run without a limit on a slower device.
fn limited_and_not() -> (Header, Header) {
    let mut limited = header();
    limited.scenario.time_limit = Some(Nanos::from_millis(600_000));
    limited.plan.measurements.iter_mut().for_each(|m| m.predicted = Nanos::from_millis(700_000));
    let mut unlimited = slower(limited.clone());
    unlimited.scenario.time_limit = None;
    (limited, unlimited)
}

#[test]
fn an_interrupted_measurement_ends_before_skipped_ones_and_can_be_interrupted_again() {
    let dir = tempfile::tempdir().unwrap();
    let (limited, unlimited) = limited_and_not();
    for begun in ["simulated/n=100000/cores=1/throughput/1", "simulated/n=1000000/cores=1/throughput/1"] {
        let (path, _) = run(dir.path(), &limited);
        let of_it: Vec<u64> = trials(&path).iter().filter(|r| r.measurement == begun).map(|r| r.seq).collect();
        keep(
            &path,
            |r| r.seq < of_it[3],
            |key| trials(&path).iter().any(|r| r.measurement == key && r.seq < of_it[0]) && key != begun,
        );
        assert_eq!(resume(&path, &unlimited).len(), 8, "{begun}");
        let seqs: Vec<u64> = trials(&path).iter().filter(|r| r.measurement == begun).map(|r| r.seq).collect();
        assert_eq!(seqs, of_it, "{begun}: no other trial stands in between");
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn a_repeated_search_knows_the_same_results() {
    let dir = tempfile::tempdir().unwrap();
    let (limited, unlimited) = limited_and_not();
    let (path, _) = run(dir.path(), &limited);
    let without_result = "simulated/n=100000/cores=1/throughput/1";
    keep(&path, |_| true, |key| key != without_result);
    assert_eq!(resume(&path, &unlimited).len(), 8);
}

/// Interleaved, unless what is left does not fit into the limit: then each value is finished.
#[test]
fn some_values_have_all_repetitions_where_time_is_short() {
    for (limit, expected) in [
        (None, [(100_000, 1), (1_000_000, 1), (100_000, 2), (1_000_000, 2), (100_000, 3), (1_000_000, 3)]),
        (Some(5_500), [(100_000, 1), (1_000_000, 1), (100_000, 2), (100_000, 3), (1_000_000, 2), (1_000_000, 3)]),
    ] {
        let set = set(&["metrics=max_conn_est_rate", "repetitions=3", "order=interleaved"]);
        let mut header = header_of(SCENARIO, set);
        header.scenario.time_limit = limit.map(Nanos::from_secs);
        header.plan.measurements.iter_mut().for_each(|m| m.predicted = Nanos::from_secs(1_000));
        let dir = tempfile::tempdir().unwrap();
        let made = run(dir.path(), &header).1.into_iter().map(|outcome| outcome.measurement);
        let found: Vec<(u64, u32)> = made.map(|m| (m.point.connections, m.repetition)).collect();
        assert_eq!(found, expected, "{limit:?}");
    }
}

/// Counts events, and waits.
#[derive(Default)]
struct Slow {
    trials: u32,
    left_out: Vec<String>,
}

impl Listener for Slow {
    fn on(&mut self, event: &Event) {
        match event {
            Event::Trial { .. } => {
                self.trials += 1;
                if self.trials == 3 {
                    std::thread::sleep(Duration::from_millis(400));
                }
            }
            Event::LeftOut { measurement } => self.left_out.push(measurement.clone()),
            _ => {}
        }
    }
}

/// After twice the limit, no trial begins; the skipped measurements are reported, and `resume` continues them.
#[test]
fn nothing_is_begun_after_twice_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let mut limited = header();
    limited.scenario.time_limit = Some(Nanos::from_millis(200));
    let (path, folder) = folder(dir.path(), &limited);
    let mut slow = Slow::default();
    let run = Run::open(&limited, folder, RunContext::new(), &mut slow).unwrap();
    assert!(run.complete(Facts::default(), None).unwrap().is_empty());
    assert!(trials(&path).len() <= 3);
    let all: Vec<String> = limited.plan.measurements.iter().map(record::plan::Measurement::key).collect();
    assert_eq!(slow.left_out, all);
    assert_eq!(resume(&path, &header()).len(), 8);
}
