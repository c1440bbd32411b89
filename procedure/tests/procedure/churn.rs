//! Churn rate: that of a device of known truth.

use crate::fixture::up_to;
use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth};
use method::{Nanos, Rate, ResultKind, SearchResult, SearchSettings, TrialError};
use procedure::churn::{CHURN_RATE, Churn, Limits};
use procedure::{Context, Keys};

const ALL: u64 = 10_000_000;
const HELD: u64 = 30_000;

fn keys() -> Churn {
    Churn { held_ppm: 3_000, frames: 2, timeout: Some(Nanos::from_secs(9)), held_rate: None }
}

fn limits() -> Limits {
    let (held, limits) = keys().limits(ALL, Nanos(0), 64);
    assert_eq!(held, HELD);
    limits
}

fn search(truth: Truth, keys: Churn, connections: u64, seconds: u64) -> Result<SearchResult, TrialError> {
    let settings = SearchSettings {
        duration: Nanos::from_secs(seconds),
        direction: method::Direction::Forward,
        ..up_to(1_000_000)
    };
    let keys = Keys::of_table(keys);
    let context = Context::new(&CHURN_RATE, &keys, &settings).with(Phase2 { connections, phase1_rate: Rate(10_000) });
    context.measure(&mut SimulatedDut::new(truth, 1))
}

#[test]
fn held_connections_have_three_frames_in_a_time_out() {
    assert_eq!(limits().held_frames(HELD), Rate(10_000));
    assert_eq!(Limits { held_rate: Rate(50_000), ..limits() }.held_frames(HELD), Rate(50_000));
    let never = Limits { timeout: Nanos(u64::MAX), ..limits() };
    assert_eq!(never.held_frames(HELD), Rate(1));
}

#[test]
fn the_slower_of_set_up_and_forwarding_counts() {
    // 20,000 new connections per second of 2 frames each, and 10,000 frames on held ones.
    let set_up = search(Truth::new(Rate(500_000), Rate(20_000)), keys(), ALL, 1).unwrap();
    assert_eq!(set_up.kind, ResultKind::Exact);
    assert!((19_980..=20_000).contains(&set_up.rate.0), "{}", set_up.rate);
    let forwarding = search(Truth::new(Rate(110_000), Rate(90_000)), keys(), ALL, 1).unwrap();
    assert!((49_950..=50_000).contains(&forwarding.rate.0), "{}", forwarding.rate);
    assert_eq!(forwarding.parts["churn_occupancy"], (HELD + forwarding.rate.0).cast_signed());
    assert_eq!(forwarding.parts["churn_entries"], (HELD + forwarding.rate.0).cast_signed());
    assert_eq!(forwarding.table_changes, 0, "connections come and go in these trials");
}

#[test]
fn no_new_connection_is_one_that_the_device_still_knows() {
    // Open 90,000 new connections besides the held ones.
    let few = |seconds| {
        let truth = Truth::new(Rate(10_000_000), Rate(1_000_000));
        search(truth, Churn { held_ppm: 250_000, ..keys() }, 4 * HELD, seconds).unwrap()
    };
    let of_trial = few(4);
    assert_eq!((of_trial.kind, of_trial.rate), (ResultKind::AtUpperLimit, Rate(22_500)));
    // A device forgets within two time-outs, so that connections come again in long trials.
    let long = few(400);
    assert_eq!((long.rate, long.parts["churn_occupancy"]), (Rate(5_000), (HELD + 9 * 5_000).cast_signed()));
}

#[test]
fn held_connections_alone_may_be_too_many() {
    let brief = Churn { timeout: Some(Nanos::from_millis(50)), ..keys() };
    let error = search(Truth::new(Rate(10_000_000), Rate(1_000_000)), brief, ALL, 1).unwrap_err();
    assert!(matches!(&error, TrialError::Refused(text) if text.contains("hold fewer connections")), "{error}");
}

#[test]
fn a_dead_device_is_no_churn_rate_of_0() {
    assert!(matches!(
        search(Truth::dead(), keys(), ALL, 1).unwrap_err(),
        TrialError::DutDead(_) | TrialError::Phase1(_)
    ));
}
