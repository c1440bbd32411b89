//! Tests of resuming from records: the same settings replay the recorded trials and continue after them, with the same
//! result; other settings are refused.

use method::simulated::{SimulatedDut, Truth};
use method::{
    Criteria, Precision, Rate, Ratio, Replay, SearchResult, SearchSettings, TrialError, TrialOutcome, TrialRecord,
    TrialSpec, Trials, judge,
};
use procedure::throughput;

fn settings() -> SearchSettings {
    SearchSettings { hi: Rate(10_000_000), precision: Precision::Absolute(Rate(100)), ..SearchSettings::default() }
}

fn dut() -> SimulatedDut {
    let jitter = Ratio::from_ppm(5_000);
    let host_stalls = Ratio::from_ppm(200_000);
    SimulatedDut::new(Truth { jitter, host_stalls, ..Truth::new(Rate(1_234_567), Rate(1)) }, 7)
}

/// Writes every trial as a line of JSON, as a run folder does.
struct Recording {
    inner: SimulatedDut,
    lines: Vec<String>,
}

impl Trials for Recording {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let outcome = self.inner.run(spec)?;
        let record = TrialRecord {
            seq: self.lines.len() as u64,
            measurement: "throughput/0".to_owned(),
            spec: spec.clone(),
            verdict: judge(spec, &outcome, &Criteria::default()),
            outcome: outcome.clone(),
        };
        self.lines.push(serde_json::to_string(&record).unwrap());
        Ok(outcome)
    }
}

/// Trials that must not be run.
struct Untouchable;

impl Trials for Untouchable {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        panic!("asked for {spec:?}")
    }
}

fn recorded() -> (SearchResult, Vec<TrialRecord>) {
    let mut recording = Recording { inner: dut(), lines: Vec::new() };
    let result = throughput::measure(&mut recording, &settings(), None, &mut |_| ()).unwrap();
    assert!(recording.lines.iter().all(|line| !line.contains('\n')));
    (result, recording.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect())
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
