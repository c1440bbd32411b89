//! Trials and searches with different rates in both directions.

use crate::fixture::{listening, within};
use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth};
use method::validity::FailReason;
use method::{
    Criteria, Direction, DirectionRatio, Fault, Invalid, Leg, Load, Nanos, Rate, ResultKind, SearchSettings, Spoiler,
    TrialError, TrialOutcome, TrialSpec, Verdict, judge,
};
use procedure::throughput;

fn mixed(forward: u32, reverse: u32) -> Direction {
    Direction::Mixed(DirectionRatio::new(forward, reverse).unwrap())
}

/// 1 Mfps from Right to Left and 0.1 Mfps from Left to Right, for 60 s.
fn spec() -> TrialSpec {
    TrialSpec { direction: mixed(1, 10), ..TrialSpec::stateless(Rate(1_000_000), Load::For(Nanos::from_secs(60))) }
}

fn leg(frames: u64) -> Leg {
    Leg { planned: frames, sent: frames, received: frames, ..Leg::default() }
}

fn verdict(change: impl FnOnce(&mut TrialOutcome)) -> Verdict {
    let mut outcome = TrialOutcome { forward: leg(6_000_000), reverse: leg(60_000_000), ..TrialOutcome::default() };
    change(&mut outcome);
    judge(&spec(), &outcome, &Criteria::default())
}

#[test]
fn each_direction_is_judged_by_its_own_frames() {
    assert_eq!(verdict(|_| ()), Verdict::Pass);
    for (change, stream) in [
        ((|o| o.forward.received -= 1) as fn(&mut TrialOutcome), method::validity::Stream::Forward),
        (|o| o.reverse.received -= 1, method::validity::Stream::Reverse),
    ] {
        let Verdict::Fail(failure) = verdict(change) else { panic!("a lost frame is a fail") };
        assert!(matches!(failure.reason, FailReason::Loss { stream: lost, .. } if lost == stream));
    }
    let short = verdict(|o| o.forward = leg(5_999_999));
    let Verdict::Invalid(Invalid::SentTooFew { planned, sent, .. }) = short else { panic!("{short:?}") };
    assert_eq!((planned, sent), (6_000_000, 5_999_999));
}

/// In 999 ms, 999,000 and 99,900 frames are due, and one more in each direction.
#[test]
fn noise_touches_frames_at_the_rate_of_their_direction() {
    let lose = |lost: u64| {
        verdict(|o| {
            o.reverse.received -= lost;
            (o.host.tester_stall, o.host.tester_stalled) = (Nanos::from_millis(1), Nanos::from_millis(999));
        })
    };
    assert!(matches!(lose(1_098_902), Verdict::Invalid(reason) if reason.spoiler() == Spoiler::Host));
    assert!(matches!(lose(1_098_903), Verdict::Fail(_)));
}

/// The searched rate is that of the faster direction, whichever of them limits it.
#[test]
fn a_search_recovers_the_capacity_of_the_direction_that_limits_it() {
    let truth = Truth { forward_capacity: Rate(123_456), ..Truth::new(Rate(1_500_000), Rate(223_500)) };
    for (direction, rate) in [
        (mixed(1, 10), 1_234_560),
        (mixed(1, 100), 1_500_000),
        (mixed(10, 1), 123_456),
        (mixed(2, 3), 185_184),
        (Direction::Both, 123_456),
    ] {
        let settings = SearchSettings { direction, ..within(10_000_000, 100) };
        let stateless = throughput::measure(&mut SimulatedDut::new(truth.clone(), 1), &settings, None, &mut |_| ());
        let device = &mut SimulatedDut::new(truth.clone(), 1);
        let phase2 = Some(Phase2 { connections: 1_000_000, phase1_rate: Rate(100_000) });
        let established = throughput::measure(device, &settings, phase2, &mut |_| ());
        for result in [stateless.unwrap(), established.unwrap()] {
            assert_eq!(result.kind, ResultKind::Exact, "{direction:?}");
            assert!(result.rate.0 <= rate && rate <= result.rate.0 + 100, "{direction:?}: {} for {rate}", result.rate);
        }
    }
}

/// With 10 ms and 1:10, one frame of the slower direction takes a rate of 1,000.
#[test]
fn no_trial_leaves_a_direction_without_a_frame() {
    let settings = SearchSettings {
        hi: Rate(1_000_000),
        duration: Nanos::from_millis(10),
        direction: mixed(1, 10),
        ..SearchSettings::default()
    };
    let mut device = listening(SimulatedDut::new(Truth::new(Rate(10), Rate(10)), 1));
    let result = throughput::measure(&mut device, &settings, None, &mut |_| ()).unwrap();
    assert!(device.log.iter().all(|(_, outcome)| outcome.forward.planned > 0 && outcome.reverse.planned > 0));
    let least = device.specs().iter().map(|spec| spec.rate).min();
    assert_eq!((result.kind, least), (ResultKind::NothingPassed, Some(Rate(1_000))));
    let low = SearchSettings { hi: Rate(999), ..settings };
    assert!(matches!(throughput::measure(&mut device, &low, None, &mut |_| ()), Err(TrialError::Refused(_))));
}

/// Frames of the slower direction are few; a dead direction is found nevertheless.
#[test]
fn a_dead_slower_direction_is_an_error_that_names_it() {
    let truth = Truth { forward_capacity: Rate(0), ..Truth::new(Rate(1_000_000), Rate(1_000)) };
    let settings = SearchSettings { hi: Rate(500_000), direction: mixed(1, 1_000), ..SearchSettings::default() };
    let error = throughput::measure(&mut SimulatedDut::new(truth, 1), &settings, None, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::Faulty(text) if text.starts_with("Left to Right:")), "{error}");
}

/// Wrong frames count in their own direction.
#[test]
fn faults_of_one_direction_do_not_count_in_the_other() {
    let wrong = |o: &mut TrialOutcome| o.reverse.faults.add(Fault::Duplicate);
    assert_eq!(verdict(wrong), Verdict::Pass);
}
