//! Churn rate: that of a device of known truth.

use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth};
use method::{Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError};
use procedure::churn::{Limits, measure};

const HELD: u64 = 30_000;

fn limits() -> Limits {
    Limits { different: 10_000_000, frames: 2, timeout: Nanos::from_secs(9), held_rate: Rate(0) }
}

fn search(truth: Truth, limits: Limits, seconds: u64) -> Result<SearchResult, TrialError> {
    let settings = SearchSettings {
        hi: Rate(1_000_000),
        precision: Precision::Relative(Ratio::from_ppm(1_000)),
        duration: Nanos::from_secs(seconds),
        direction: method::Direction::Forward,
        ..SearchSettings::default()
    };
    let phase2 = Phase2 { connections: HELD, phase1_rate: Rate(10_000) };
    measure(&mut SimulatedDut::new(truth, 1), &settings, phase2, limits, &mut |_| ())
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
    let set_up = search(Truth::new(Rate(500_000), Rate(20_000)), limits(), 1).unwrap();
    assert_eq!(set_up.kind, ResultKind::Exact);
    assert!((19_980..=20_000).contains(&set_up.rate.0), "{}", set_up.rate);
    let forwarding = search(Truth::new(Rate(110_000), Rate(90_000)), limits(), 1).unwrap();
    assert!((49_950..=50_000).contains(&forwarding.rate.0), "{}", forwarding.rate);
    assert_eq!(forwarding.parts["churn_occupancy"], (HELD + forwarding.rate.0).cast_signed());
    assert_eq!(forwarding.parts["churn_entries"], (HELD + forwarding.rate.0).cast_signed());
    assert_eq!(forwarding.table_changes, 0, "connections come and go in these trials");
}

#[test]
fn no_new_connection_is_one_that_the_device_still_knows() {
    let few = Limits { different: 40_000, ..limits() };
    let fast = || Truth::new(Rate(10_000_000), Rate(1_000_000));
    let of_trial = search(fast(), few, 4).unwrap();
    assert_eq!((of_trial.kind, of_trial.rate), (ResultKind::AtUpperLimit, Rate(10_000)));
    // A device forgets within two time-outs, so that connections come again in long trials.
    assert_eq!(search(fast(), few, 400).unwrap().rate, Rate(2_222));
    assert_eq!(few.occupancy(HELD, Rate(2_222), Nanos::from_secs(400)), HELD + 9 * 2_222);
}

#[test]
fn held_connections_alone_may_be_too_many() {
    let brief = Limits { timeout: Nanos::from_millis(50), ..limits() };
    let error = search(Truth::new(Rate(10_000_000), Rate(1_000_000)), brief, 1).unwrap_err();
    assert!(matches!(&error, TrialError::Refused(text) if text.contains("hold fewer connections")), "{error}");
}

#[test]
fn a_dead_device_is_no_churn_rate_of_0() {
    assert!(matches!(search(Truth::dead(), limits(), 1).unwrap_err(), TrialError::DutDead(_) | TrialError::Phase1(_)));
}
