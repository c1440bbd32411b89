//! The capacity of a connection tracking table (RFC 9693 section 4.9), on simulated devices of known size.

use crate::fixture::altered;
use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth, WhenFull};
use method::{
    Nanos, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError, TrialOutcome, TrialSpec, Trials,
};
use procedure::capacity::{CONN_TABLE_CAPACITY, Capacity};
use procedure::{Context, Keys};

const SETUP: Rate = Rate(1_000_000);
const TABLE: u64 = 1_234_567;

fn truth(when_full: WhenFull) -> Truth {
    Truth { table_size: TABLE, when_full, ..Truth::new(Rate(5_000_000), SETUP) }
}

fn settings() -> SearchSettings {
    SearchSettings { hi: Rate(3_000_000), alpha: Some(Ratio::from_ppm(500_000)), ..SearchSettings::default() }
}

/// Measures from 100,000 connections up to a highest number, with a given error, on a path that can buffer a number of
/// frames.
fn measure(
    trials: &mut impl Trials,
    (connections, error, buffered): (u64, u64, u64),
) -> Result<SearchResult, TrialError> {
    let keys = Capacity { from: Some(100_000), error, beta_ppm: 200_000, gamma_ppm: 400_000, policy: None };
    let (keys, settings, phase1_rate) = (Keys::of_table(keys), settings(), Rate(1));
    let context = Context::new(&CONN_TABLE_CAPACITY, &keys, &settings).with(Phase2 { connections, phase1_rate });
    Context { buffered, ..context }.measure(trials)
}

fn search(trials: &mut impl Trials) -> SearchResult {
    measure(trials, (10_000_000, 1, 0)).unwrap()
}

/// Whether the device refuses new connections or replaces old ones, the result is the size of the table.
#[test]
fn the_capacity_is_the_size_of_the_table() {
    for when_full in [WhenFull::KeepOld, WhenFull::ReplaceOldest] {
        let result = search(&mut SimulatedDut::new(truth(when_full), 1));
        assert_eq!(
            (result.kind, result.rate, result.error),
            (ResultKind::Exact, Rate(TABLE), Rate(1)),
            "{when_full:?}"
        );
        let rates = result.capacity.unwrap();
        assert_eq!((rates.from, rates.doublings), (100_000, 4));
        // The set-up rate, within 2.5 %.
        for rate in [rates.first, rates.safe] {
            assert!(rate <= SETUP && rate.0 > 950_000, "{rate}");
        }
        assert!(rates.broken.unwrap().0 < 400_000);
    }
}

#[test]
fn the_error_is_the_one_asked_for() {
    let result = measure(&mut SimulatedDut::new(truth(WhenFull::KeepOld), 1), (10_000_000, 10_000, 0)).unwrap();
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate.0 <= TABLE && TABLE < result.rate.0 + result.error.0 && result.error.0 <= 10_000);
}

/// The rate of a large table may fall without a break-down.
#[test]
fn a_rate_that_falls_slowly_does_not_end_the_search() {
    struct Slower(SimulatedDut);
    impl Trials for Slower {
        fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
            self.0.truth.setup_rate = Rate(SETUP.0 * 200_000 / spec.connections.max(200_000));
            self.0.run(spec)
        }
    }
    let result = search(&mut Slower(SimulatedDut::new(truth(WhenFull::KeepOld), 1)));
    assert_eq!((result.kind, result.rate), (ResultKind::Exact, Rate(TABLE)));
}

#[test]
fn a_table_larger_than_the_testers_connections_is_a_lower_bound() {
    let result = measure(&mut SimulatedDut::new(truth(WhenFull::KeepOld), 1), (1_000_000, 1, 0)).unwrap();
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::AtUpperLimit, Rate(1_000_000), Rate(0)));
    assert_eq!(result.capacity.unwrap().broken, None);
}

/// A tester that sends at a third of the rate makes no table full, and no rate higher than it sent.
#[test]
fn a_slow_tester_does_not_change_the_capacity() {
    let mut device = altered(SimulatedDut::new(truth(WhenFull::KeepOld), 1), |_, spec, outcome| {
        if spec.connections > TABLE {
            return;
        }
        let leg = &mut outcome.forward;
        leg.timing.finished_late = Nanos(leg.send_time.0 * 2);
        leg.send_time.0 *= 3;
        outcome.host.tester_stall = leg.timing.finished_late;
    });
    let result = search(&mut device);
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::Exact, Rate(TABLE), Rate(1)));
    let first = result.capacity.unwrap().first;
    assert!(first <= Rate(SETUP.0 / 3 + 1), "{first}");
}

/// All of 200,000 connections answer, and the tester sent them in 4 s instead of 0.2 s.
#[test]
fn a_rate_above_the_offered_one_is_not_recorded() {
    let mut device = altered(SimulatedDut::new(truth(WhenFull::KeepOld), 1), |_, spec, outcome| {
        if spec.connections > 100_000 {
            outcome.forward.send_time = Nanos::from_secs(4);
        }
    });
    let result = measure(&mut device, (200_000, 1, 0)).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::AtUpperLimit, Rate(200_000)));
    assert_eq!(result.capacity.unwrap().safe, Rate(50_000));
    assert_eq!(result.evidence.slow_tester, Some(Rate(50_000)));
}

/// A tester that drops frames at many connections gives a lower bound, and never a size of the table.
#[test]
fn a_tester_that_drops_frames_gives_a_lower_bound() {
    let mut device = altered(SimulatedDut::new(truth(WhenFull::KeepOld), 1), |_, spec, outcome| {
        let drops = u64::from(spec.connections > 500_000);
        (outcome.host.tester_drops, outcome.forward.received) = (drops, outcome.forward.received - drops);
    });
    let result = search(&mut device);
    assert_eq!((result.kind, result.rate), (ResultKind::TesterLimit, Rate(400_000)));
    assert!(result.at_least());
}

/// Host noise in a fifth of the trials, over 200 seeds.
#[test]
fn host_noise_does_not_change_the_capacity() {
    for seed in 0..200 {
        let truth = Truth { host_stalls: Ratio::from_ppm(200_000), ..truth(WhenFull::KeepOld) };
        let result = search(&mut SimulatedDut::new(truth, seed));
        assert_eq!((result.kind, result.rate), (ResultKind::Exact, Rate(TABLE)), "seed {seed}");
    }
}

#[test]
fn buffers_that_raise_the_first_rate_are_refused() {
    let mut device = SimulatedDut::new(truth(WhenFull::KeepOld), 1);
    let error = measure(&mut device, (10_000_000, 1, 25_001)).unwrap_err().to_string();
    assert!(error.contains("capacity-from = 100004"), "{error}");
}

#[test]
fn a_dead_device_is_no_capacity_of_0() {
    let error = measure(&mut SimulatedDut::new(Truth::dead(), 1), (10_000_000, 1, 0)).unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_)));
}
