//! Frame loss rate: the curve of a device of known capacity.

use method::simulated::{SimulatedDut, Truth};
use method::{Nanos, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError};
use procedure::frame_loss::{FRAME_LOSS_RATE, FrameLoss, falling, loss_ppm};
use procedure::{Context, Keys};

/// Measures the loss at ten loads, from a million frames per second down.
fn measure(truth: Truth, seed: u64) -> Result<SearchResult, TrialError> {
    let settings = SearchSettings { hi: Rate(1_000_000), duration: Nanos::from_secs(1), ..SearchSettings::default() };
    let keys = Keys::of_table(FrameLoss { step_ppm: 100_000, loads: None });
    Context::new(&FRAME_LOSS_RATE, &keys, &settings).measure(&mut SimulatedDut::new(truth, seed))
}

#[test]
fn loads_fall_from_the_highest_in_equal_steps() {
    assert_eq!(
        falling(Rate(1_000), 100_000).iter().map(|r| r.0).collect::<Vec<_>>(),
        [1_000, 900, 800, 700, 600, 500, 400, 300, 200, 100]
    );
    assert_eq!(falling(Rate(900), 400_000).len(), 2);
    assert_eq!((loss_ppm(1, 3), loss_ppm(0, 0)), (333_333, 0));
}

/// A device of 600 k frames/s: above, the excess is lost; the series ends after two loads without loss.
#[test]
fn the_curve_is_that_of_the_capacity() {
    let result = measure(Truth::new(Rate(600_000), Rate(1)), 1).unwrap();
    // Both directions have the capacity; 400,000 of a million frames are lost in each.
    let lost: Vec<(u64, u64)> = result.trace.iter().map(|step| (step.rate.0, step.lost)).collect();
    assert_eq!(
        lost,
        [(1_000_000, 800_000), (900_000, 600_000), (800_000, 400_000), (700_000, 200_000), (600_000, 0), (500_000, 0)]
    );
    assert_eq!((result.kind, result.rate), (ResultKind::Observed, Rate(400_000)));
}

/// RFC 8219, section 5.3: the loss of each direction, where both are sent, and of both together.
#[test]
fn each_direction_has_its_loss() {
    let truth = Truth { reverse_capacity: Rate(500_000), ..Truth::new(Rate(2_000_000), Rate(1)) };
    let result = measure(truth, 1).unwrap();
    let parts = ["frame_loss_rate_forward", "frame_loss_rate_reverse"].map(|key| result.parts.get(key).copied());
    assert_eq!((result.rate, parts), (Rate(250_000), [Some(0), Some(500_000)]));
}

/// Every load has a random loss of 1 %, so no load is without loss.
#[test]
fn a_lossy_device_has_all_loads() {
    let truth = Truth { loss: Ratio::from_ppm(10_000), ..Truth::new(Rate(2_000_000), Rate(1)) };
    let result = measure(truth, 3).unwrap();
    assert_eq!(result.trace.len(), 10);
    assert!(result.rate.0.abs_diff(10_000) < 300, "{} ppm", result.rate.0);
}

#[test]
fn a_dead_device_is_no_loss_of_100_percent() {
    assert!(matches!(measure(Truth::dead(), 1).unwrap_err(), TrialError::DutDead(_)));
}
