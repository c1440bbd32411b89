//! The capacity of a connection tracking table (RFC 9693 section 4.9), on simulated devices of known size.

use method::simulated::{SimulatedDut, Truth, WhenFull};
use method::{Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError, TrialOutcome, TrialSpec, Trials};
use procedure::capacity::{self, Limits};

const SETUP: Rate = Rate(1_000_000);
const TABLE: u64 = 1_234_567;

fn truth(when_full: WhenFull) -> Truth {
    Truth { table_size: TABLE, when_full, ..Truth::new(Rate(5_000_000), SETUP) }
}

fn settings() -> SearchSettings {
    SearchSettings { hi: Rate(3_000_000), alpha: Some(Ratio::from_ppm(500_000)), ..SearchSettings::default() }
}

fn limits() -> Limits {
    Limits {
        from: 100_000,
        most: 10_000_000,
        beta: Ratio::from_ppm(200_000),
        gamma: Ratio::from_ppm(400_000),
        error: 1,
        buffered: 0,
        validate_at_most: None,
    }
}

fn search(trials: &mut impl Trials, limits: Limits) -> SearchResult {
    capacity::measure(trials, &settings(), limits, &mut |_| ()).unwrap()
}

/// Whether the device refuses new connections or replaces old ones, the result is the size of the table.
#[test]
fn the_capacity_is_the_size_of_the_table() {
    for when_full in [WhenFull::KeepOld, WhenFull::ReplaceOldest] {
        let result = search(&mut SimulatedDut::new(truth(when_full), 1), limits());
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
    let result = search(&mut SimulatedDut::new(truth(WhenFull::KeepOld), 1), Limits { error: 10_000, ..limits() });
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
    let result = search(&mut Slower(SimulatedDut::new(truth(WhenFull::KeepOld), 1)), limits());
    assert_eq!((result.kind, result.rate), (ResultKind::Exact, Rate(TABLE)));
}

#[test]
fn a_table_larger_than_the_testers_connections_is_a_lower_bound() {
    let result = search(&mut SimulatedDut::new(truth(WhenFull::KeepOld), 1), Limits { most: 1_000_000, ..limits() });
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::AtUpperLimit, Rate(1_000_000), Rate(0)));
    assert_eq!(result.capacity.unwrap().broken, None);
}

/// A tester that drops frames at many connections gives a lower bound, and never a size of the table.
#[test]
fn a_tester_that_drops_frames_gives_a_lower_bound() {
    struct Drops(SimulatedDut);
    impl Trials for Drops {
        fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
            let mut outcome = self.0.run(spec)?;
            outcome.host.tester_drops = u64::from(spec.connections > 500_000);
            Ok(outcome)
        }
    }
    let result = search(&mut Drops(SimulatedDut::new(truth(WhenFull::KeepOld), 1)), limits());
    assert_eq!((result.kind, result.rate), (ResultKind::TesterLimit, Rate(400_000)));
    assert!(result.at_least());
}

/// Host noise in a fifth of the trials, over 200 seeds.
#[test]
fn host_noise_does_not_change_the_capacity() {
    for seed in 0..200 {
        let truth = Truth { host_stalls: Ratio::from_ppm(200_000), ..truth(WhenFull::KeepOld) };
        let result = search(&mut SimulatedDut::new(truth, seed), limits());
        assert_eq!((result.kind, result.rate), (ResultKind::Exact, Rate(TABLE)), "seed {seed}");
    }
}

#[test]
fn what_has_no_result_is_refused() {
    let refused = |settings: &SearchSettings, limits: Limits| {
        let mut device = SimulatedDut::new(truth(WhenFull::KeepOld), 1);
        capacity::measure(&mut device, settings, limits, &mut |_| ()).unwrap_err().to_string()
    };
    assert!(refused(&SearchSettings { alpha: None, ..settings() }, limits()).contains("alpha"));
    assert!(refused(&settings(), Limits { from: 0, ..limits() }).contains("begins above"));
    assert!(refused(&settings(), Limits { most: 99_999, ..limits() }).contains("begins above"));
    assert!(refused(&settings(), Limits { error: 0, ..limits() }).contains("error of 0"));
    assert!(refused(&settings(), Limits { beta: Ratio::ZERO, ..limits() }).contains("beta"));
    assert!(refused(&settings(), Limits { buffered: 25_001, ..limits() }).contains("capacity-from = 100004"));
    let mut dead = SimulatedDut::new(Truth::dead(), 1);
    let error = capacity::measure(&mut dead, &settings(), limits(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_)));
}
