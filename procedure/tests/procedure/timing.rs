//! Delays, bursts and recovery of a device whose truth is known.

use method::simulated::{SimulatedDut, Truth};
use method::{Direction, Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError};
use procedure::back_to_back::{BACK_TO_BACK_FRAMES, BackToBack};
use procedure::delay::{IPDV, Ipdv, LATENCY, Latency, PDV, Pdv};
use procedure::recovery::{SYSTEM_RECOVERY_TIME, SystemRecovery};
use procedure::{Context, Keys, Metric};
use std::fmt::Debug;

const CAPACITY: Rate = Rate(100_000);

fn settings() -> SearchSettings {
    let precision = Precision::Relative(Ratio::from_ppm(1));
    SearchSettings { hi: Rate(1_000_000), precision, duration: Nanos::from_secs(1), ..SearchSettings::default() }
}

fn device(delay: u64, spread: u64) -> SimulatedDut {
    let truth = Truth { delay: Nanos(delay), delay_spread: Nanos(spread), ..Truth::new(CAPACITY, Rate(1)) };
    SimulatedDut::new(truth, 7)
}

fn at_capacity<K: Debug + Send + Sync + 'static>(
    dut: &mut SimulatedDut,
    metric: &'static Metric,
    keys: K,
) -> Result<SearchResult, TrialError> {
    let (keys, settings) = (Keys::of_table(keys), settings());
    Context { throughput: Some(CAPACITY), ..Context::new(metric, &keys, &settings) }.measure(dut)
}

fn measured<K: Debug + Send + Sync + 'static>(
    dut: &mut SimulatedDut,
    metric: &'static Metric,
    keys: K,
) -> SearchResult {
    let result = at_capacity(dut, metric, keys).unwrap();
    assert_eq!(result.kind, ResultKind::Observed);
    result
}

const LENGTH: Nanos = Nanos::from_secs(2);
const TAGS: Latency = Latency { duration: LENGTH, from: Nanos::from_secs(1), tags: 50_000, rate: None };
const ALL: Pdv = Pdv { duration: LENGTH, timeout: None, rate: None };

#[test]
fn a_constant_delay_is_found_exactly() {
    let result = measured(&mut device(12_345, 0), &LATENCY, TAGS);
    for direction in ["forward", "reverse"] {
        let part = |name: &str| result.parts[&format!("latency_{name}_{direction}")];
        assert_eq!([part("typical"), part("worst_case"), part("lost_tags")], [12_345, 12_345, 0]);
    }
    let forward = result.observed.delays.forward.as_ref().unwrap();
    assert_eq!((forward.frames, forward.histogram.len(), forward.differences), (50_000, 1, None));
    assert_eq!(measured(&mut device(12_345, 0), &PDV, ALL).parts["pdv_forward"], 0);
}

/// Delays of 10 µs to 20 µs, all alike likely: their median, 99.9th percentile and differences are known.
#[test]
fn an_even_delay_has_its_percentiles() {
    let near = |is: i64, should: i64, by: i64| assert!((is - should).abs() <= by, "{is} against {should}");
    let latency = measured(&mut device(10_000, 10_000), &LATENCY, TAGS).parts;
    near(latency["latency_typical_forward"], 15_000, 150);
    near(latency["latency_worst_case_reverse"], 19_990, 5);
    let pdv = measured(&mut device(10_000, 10_000), &PDV, ALL).parts;
    near(pdv["pdv_forward"], 9_990, 5);
    let ipdv = measured(&mut device(10_000, 10_000), &IPDV, Ipdv { duration: LENGTH, rate: None }).parts;
    near(ipdv["ipdv_min_forward"], -10_000, 100);
    near(ipdv["ipdv_median_forward"], 0, 50);
    near(ipdv["ipdv_max_reverse"], 10_000, 100);
}

/// Half of the frames are later than the time-out; 1 in 200 is lost, which the 99.9th percentile shows.
#[test]
fn late_and_lost_frames_count() {
    let keys = Pdv { timeout: Some(Nanos(14_999)), ..ALL };
    let result = measured(&mut device(10_000, 10_000), &PDV, keys);
    assert!((result.parts["pdv_late_forward"] - 500_000).abs() < 3_000, "{:?}", result.parts);
    let mut lossy = device(10_000, 0);
    lossy.truth.loss = Ratio::from_ppm(5_000);
    let result = measured(&mut lossy, &PDV, ALL);
    // Two seconds of the trial and two of the drain.
    assert_eq!(result.parts["pdv_forward"], 4_000_000_000 - 10_000);
}

#[test]
fn too_few_frames_for_the_tags_are_refused() {
    let error = at_capacity(&mut device(1, 0), &LATENCY, Latency { tags: 100_001, ..TAGS });
    assert!(matches!(error, Err(TrialError::Refused(text)) if text.contains("100000 frames remain")));
}

fn longest_burst(dut: &mut SimulatedDut, throughput: Rate, seconds: u64) -> Result<SearchResult, TrialError> {
    let keys = Keys::of_table(BackToBack { longest: Nanos::from_secs(seconds), rate: None });
    let settings = settings();
    Context { throughput: Some(throughput), ..Context::new(&BACK_TO_BACK_FRAMES, &keys, &settings) }.measure(dut)
}

/// A buffer of 9,000 frames in front of 100,000 frames/s: at ten times this rate a burst of 10,000 frames passes, of which 1,000
/// leave while it arrives.
#[test]
fn a_buffer_is_found_exactly() {
    let mut dut = device(0, 0);
    (dut.truth.queue, dut.truth.reverse_capacity) = (9_000, CAPACITY);
    let result = longest_burst(&mut dut, CAPACITY, 30).unwrap();
    assert_eq!((result.kind, result.error), (ResultKind::Exact, Rate(1)));
    assert!(result.rate.0.abs_diff(10_000) <= 1, "{}", result.rate);
    assert!((result.parts["buffer_time_implied"] - 10_000_000).abs() <= 1_000);
    assert!((result.parts["buffer_time_corrected"] - 9_000_000).abs() <= 1_000);
}

#[test]
fn a_burst_of_the_longest_length_is_a_lower_bound_and_none_overflows_at_the_throughput() {
    let mut dut = device(0, 0);
    dut.truth.queue = 1 << 40;
    let result = longest_burst(&mut dut, CAPACITY, 1).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::AtUpperLimit, Rate(1_000_000)));
    let refused = longest_burst(&mut dut, Rate(1_000_000), 1);
    assert!(matches!(refused, Err(TrialError::NotMeasurable(_))));
}

/// At 55,000 frames/s frames are 18.2 µs apart, which bounds the error.
#[test]
fn the_recovery_time_is_found_within_one_frame() {
    let keys = SystemRecovery { overload: Nanos::from_secs(2), after: Nanos::from_secs(1), rate: None };
    let keys = Keys::of_table(keys);
    let of = |recovery: u64| {
        let mut dut = device(0, 0);
        dut.truth.recovery = Nanos(recovery);
        let settings = SearchSettings { direction: Direction::Forward, ..settings() };
        let context = Context::new(&SYSTEM_RECOVERY_TIME, &keys, &settings);
        Context { throughput: Some(CAPACITY), ..context }.measure(&mut dut).unwrap()
    };
    let none = of(0);
    assert_eq!((none.kind, none.rate, none.trace[0].rate), (ResultKind::Observed, Rate(0), Rate(110_000)));
    let found = of(20_000_000);
    assert_eq!(found.kind, ResultKind::Observed);
    assert!(found.rate.0 <= 20_000_000 && found.rate.0 > 20_000_000 - 36_400, "{}", found.rate);
    assert_eq!(found.parts["system_recovery_time_forward"], found.rate.0.cast_signed());
    assert_eq!(of(2_000_000_000).kind, ResultKind::AtUpperLimit);
}
