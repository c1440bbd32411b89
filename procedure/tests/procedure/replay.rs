//! Tests of resuming from records: the same settings replay the recorded trials and continue after them, with the same
//! result; other settings are refused.

use crate::fixture::{listening, within};
use method::simulated::{SimulatedDut, Truth};
use method::{
    Criteria, Rate, Ratio, Replay, SearchResult, SearchSettings, TrialError, TrialOutcome, TrialRecord, TrialSpec,
    Trials, judge,
};
use procedure::throughput;

fn settings() -> SearchSettings {
    within(10_000_000, 100)
}

fn dut() -> SimulatedDut {
    let jitter = Ratio::from_ppm(5_000);
    let host_stalls = Ratio::from_ppm(200_000);
    SimulatedDut::new(Truth { jitter, host_stalls, ..Truth::new(Rate(1_234_567), Rate(1)) }, 7)
}

/// Trials that must not be run.
struct Untouchable;

impl Trials for Untouchable {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        panic!("asked for {spec:?}")
    }
}

/// A result, and its trials after they were lines of JSON, as in a run folder.
fn recorded() -> (SearchResult, Vec<TrialRecord>) {
    let mut device = listening(dut());
    let result = throughput::measure(&mut device, &settings(), None, &mut |_| ()).unwrap();
    let read = |(seq, (spec, outcome)): (usize, (TrialSpec, TrialOutcome))| {
        let verdict = judge(&spec, &outcome, &Criteria::default());
        let record = TrialRecord { seq: seq as u64, measurement: "throughput/0".to_owned(), spec, verdict, outcome };
        let line = serde_json::to_string(&record).unwrap();
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).unwrap()
    };
    (result, device.log.into_iter().enumerate().map(read).collect())
}

#[test]
fn a_complete_record_gives_the_same_result_without_a_trial() {
    let (result, records) = recorded();
    let mut replay = Replay::new(records, Untouchable).unwrap();
    assert_eq!(throughput::measure(&mut replay, &settings(), None, &mut |_| ()).unwrap(), result);
}

#[test]
fn a_run_killed_after_any_trial_resumes_to_the_same_bytes() {
    let (result, records) = recorded();
    let bytes = serde_json::to_string(&result).unwrap();
    for kept in 0..records.len() {
        // The simulated device continues its random sequence; a real device needs nothing like that.
        let mut device = dut();
        for record in &records[..kept] {
            device.run(&record.spec).unwrap();
        }
        let mut replay = Replay::new(records[..kept].to_vec(), &mut device).unwrap();
        let resumed = throughput::measure(&mut replay, &settings(), None, &mut |_| ()).unwrap();
        assert_eq!(serde_json::to_string(&resumed).unwrap(), bytes, "killed after {kept} trials");
        assert_eq!(device.trials(), records.len() as u64);
    }
}

#[test]
fn records_of_other_settings_are_refused_and_kept() {
    let (result, records) = recorded();
    let mut replay = Replay::new(records, Untouchable).unwrap();
    let other = SearchSettings { hi: Rate(9_000_000), ..settings() };
    let error = throughput::measure(&mut replay, &other, None, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::Mismatch(_)));
    assert_eq!(throughput::measure(&mut replay, &settings(), None, &mut |_| ()).unwrap(), result);
}

#[test]
fn a_gap_in_the_records_is_refused() {
    let (_, mut records) = recorded();
    records.remove(2);
    assert!(matches!(Replay::new(records, Untouchable), Err(TrialError::Mismatch(_))));
    let (_, mut records) = recorded();
    records[0].seq = u64::MAX;
    assert!(matches!(Replay::new(records, Untouchable), Err(TrialError::Mismatch(_))), "no number follows the largest");
}
