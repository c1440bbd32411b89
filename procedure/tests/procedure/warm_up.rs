//! Warm-up: what it does to a device whose caches are cold when a trial begins.

use crate::fixture::up_to;
use method::simulated::{SimulatedDut, Truth};
use method::trial::{Observed, PerDirection, WarmUp, WarmUpFrames};
use method::{Nanos, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialOptions, TrialSpec, Trials};
use procedure::throughput::measure;

/// A device of 100,000 frames per second that has a half of it for 100 ms.
fn cold() -> SimulatedDut {
    let cold = (Nanos::from_millis(100), Ratio::from_ppm(500_000));
    SimulatedDut::new(Truth { cold, ..Truth::new(Rate(100_000), Rate(0)) }, 1)
}

fn settings(warm_up: Option<WarmUp>) -> SearchSettings {
    let options = TrialOptions { warm_up, ..TrialOptions::default() };
    SearchSettings { duration: Nanos::from_secs(1), options, ..up_to(1_000_000) }
}

fn search(warm_up: Option<WarmUp>) -> SearchResult {
    measure(&mut cold(), &settings(warm_up), None, &mut |_| ()).unwrap()
}

fn for_millis(ms: u64, rate: Option<Rate>) -> WarmUp {
    WarmUp { duration: Nanos::from_millis(ms), rate }
}

#[test]
fn only_a_warm_up_that_is_long_enough_shows_the_capacity_of_a_warm_device() {
    for (warm_up, capacity) in
        [(None, 50_000), (Some(for_millis(50, None)), 50_000), (Some(for_millis(100, Some(Rate(1_000)))), 100_000)]
    {
        let found = search(warm_up);
        assert_eq!(found.kind, ResultKind::Exact);
        // A frame is lost only when a whole one does not fit into the cold time of 50 ms.
        assert!((capacity - 100..=capacity + 20).contains(&found.rate.0), "{warm_up:?}: {}", found.rate);
    }
}

#[test]
fn its_frames_are_reported_and_not_counted() {
    let warm_up = Some(for_millis(100, Some(Rate(200_000))));
    let trial = method::search::data_trial(&settings(warm_up), None).unwrap();
    let trial = TrialSpec { rate: Rate(10_000), ..trial };
    let outcome = cold().run(&trial).unwrap();
    assert_eq!((outcome.forward.sent, outcome.forward.received), (10_000, 10_000));
    let both = Some(WarmUpFrames { sent: 20_000, received: 10_000 });
    let expected = Observed { warm_up: PerDirection { forward: both, reverse: both }, ..Observed::default() };
    assert_eq!(outcome.observed, expected);
    let evidence = search(Some(for_millis(100, Some(Rate(1_000))))).evidence.warm_up.expect("trials had a warm-up");
    assert!(evidence.sent >= 2_000 && evidence.sent.is_multiple_of(200), "{evidence:?}");
}
