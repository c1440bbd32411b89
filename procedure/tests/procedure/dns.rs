//! DNS queries: the search recovers the rate of a simulated device.

use crate::fixture::within;
use method::simulated::{SimulatedDut, Truth};
use method::{Direction, Nanos, Rate, ResultKind, SearchSettings};
use procedure::dns::{DNS64_RESOLUTION_RATE, Dns};
use procedure::{Context, Keys};

#[test]
fn the_rate_is_that_of_the_device() {
    let settings = SearchSettings { duration: Nanos::from_secs(1), direction: Direction::Both, ..within(100_000, 1) };
    let (timeout, names) = (Nanos::SECOND, 1_000_000);
    let keys = Keys::of_table(Dns { threads: 1, ports: None, timeout, names, cached_ppm: 0, existing_ppm: 0 });
    let mut device = SimulatedDut::new(Truth::new(Rate(12_345), Rate(1)), 1);
    let result = Context::new(&DNS64_RESOLUTION_RATE, &keys, &settings).measure(&mut device).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::Exact, Rate(12_345)));
}
