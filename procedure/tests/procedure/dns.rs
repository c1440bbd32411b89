//! DNS queries: the search recovers the rate of a simulated device.

use method::simulated::{SimulatedDut, Truth};
use method::trial::Queries;
use method::{Direction, Nanos, Precision, Rate, Ratio, ResultKind, SearchSettings, TrialError};
use procedure::dns::measure;

const QUERIES: Queries = Queries { timeout: Nanos::from_secs(1), cached: Ratio::from_ppm(0) };

fn settings() -> SearchSettings {
    SearchSettings {
        hi: Rate(100_000),
        duration: Nanos::from_secs(1),
        precision: Precision::Absolute(Rate(1)),
        direction: Direction::Both,
        ..SearchSettings::default()
    }
}

#[test]
fn the_rate_is_that_of_the_device() {
    let mut device = SimulatedDut::new(Truth::new(Rate(12_345), Rate(1)), 1);
    let result = measure(&mut device, &settings(), QUERIES, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::Exact, Rate(12_345)));
}

#[test]
fn a_time_out_of_zero_is_refused() {
    let mut device = SimulatedDut::new(Truth::new(Rate(12_345), Rate(1)), 1);
    let queries = Queries { timeout: Nanos(0), ..QUERIES };
    let refused = measure(&mut device, &settings(), queries, &mut |_| ()).unwrap_err();
    assert!(matches!(refused, TrialError::Refused(_)), "{refused}");
}
