//! Tests of searches with trials that the tester or host noise invalidated: the device is not blamed, and the result
//! has the known bounds.

use super::{CAPACITY, ERROR, SETUP, dut, forwarding, legs, lose_one, recovers, settings, truth};
use crate::fixture::altered;
use method::search::StepVerdict;
use method::simulated::{SimulatedDut, Truth};
use method::{Invalid, Nanos, Precision, Rate, Ratio, ResultKind, SearchSettings, TrialOutcome, TrialSpec, Trials};
use procedure::throughput;
use std::ops::Range;

#[test]
fn a_tester_that_ends_before_the_dut_gives_a_lower_bound() {
    let mut dut = SimulatedDut::new(Truth { tester_ceiling: Rate(1_000_000), ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    assert_eq!(result.kind, ResultKind::TesterLimit);
    assert!(result.tester_limit.is_some());
    assert!(result.rate.0.abs_diff(1_000_000) <= ERROR.0 + 10, "{}", result.rate);
    let bounds = result.trace.iter().filter(|step| step.verdict == StepVerdict::TesterBound).count() as u64;
    assert_eq!(result.invalid_repeats, 3 * bounds);
}

/// A tester of 1 Mfps that stops sending once it is 200 ms late; the closer the rate is to its ceiling, the later that
/// happens.
fn give_up(spec: &TrialSpec, outcome: &mut TrialOutcome) {
    for leg in legs(outcome).into_iter().filter(|_| spec.rate > Rate(1_000_000)) {
        let planned = spec.send_time().0;
        leg.send_time = Nanos((200_000_000 * spec.rate.0 / (spec.rate.0 - 1_000_000)).min(planned + 200_000_000));
        leg.sent = leg.planned.min(leg.send_time.0 / 1_000);
        leg.received = leg.received.min(leg.sent);
        leg.timing.finished_late = leg.timing.finished_late.max(Nanos(200_000_000));
    }
}

#[test]
fn from_any_upper_end_the_search_comes_down_to_the_testers_bound() {
    let device = || SimulatedDut::new(Truth { tester_ceiling: Rate(1_000_000), ..truth() }, 1);
    let mut dut = altered(device(), |_, spec, outcome| give_up(spec, outcome));
    let result = throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap();
    assert_eq!(result.kind, ResultKind::TesterLimit);
    let high = SearchSettings { hi: Rate(1_000_000_000), ..settings() };
    let from_high = throughput::measure(&mut dut, &high, None, &mut |_| ()).unwrap();
    assert!(from_high.rate.0.abs_diff(result.rate.0) <= 2 * ERROR.0, "{from_high:?}");
}

/// No lower rate brings the link back.
#[test]
fn a_lost_link_ends_the_search() {
    let mut dut = altered(dut(), |_, _, outcome| outcome.host.link_lost = true);
    let result = throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.trials), (ResultKind::NothingMeasured, 3));
    assert_eq!(result.tester_limit, Some(Invalid::LinkLost));
}

#[test]
fn a_search_that_only_began_above_the_testers_end_is_exact() {
    let mut dut = SimulatedDut::new(Truth { tester_ceiling: Rate(2_000_000), ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    recovers(&result, CAPACITY);
    assert_eq!(result.tester_limit, None);
    assert!(result.trace.iter().any(|step| step.verdict == StepVerdict::TesterBound));
}

#[test]
fn a_noisy_host_does_not_change_the_result() {
    let mut dut = SimulatedDut::new(Truth { host_stalls: Ratio::from_ppm(500_000), ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    recovers(&result, CAPACITY);
    assert!(result.invalid_repeats > 0);
}

#[test]
fn a_host_that_always_stalls_and_costs_frames_gives_no_result_and_no_endless_search() {
    let mut dut = SimulatedDut::new(Truth { host_stalls: Ratio::ONE, ..Truth::new(Rate(20_000_000), SETUP) }, 1);
    let result = forwarding(&mut dut, &settings());
    assert_eq!((result.kind, result.rate), (ResultKind::NothingMeasured, Rate(0)));
    assert!(result.tester_limit.is_some(), "it says what spoiled the trials");
    let strict = result.strict.unwrap();
    assert!(!strict.decided && strict.rate == Rate(0) && strict.below < Some(Rate(10_000)), "{strict:?}");
    // Two rates with 41 trials each, then one trial a rate down to 1/4096 of the upper end.
    assert_eq!((result.trace[0].trials, result.trace[1].trials), (41, 41));
    assert!(result.trace[2..].iter().all(|step| step.trials == 1) && result.trace.len() <= 14);
}

/// Trials of a device of this capacity on a host whose noise costs no frame, all invalid except these.
fn noisy(capacity: Rate, quiet: Range<usize>) -> impl Trials {
    altered(SimulatedDut::new(Truth::new(capacity, SETUP), 1), move |n, _, outcome| {
        if !quiet.contains(&n) {
            outcome.host.dut_stall = Nanos::from_millis(2);
        }
    })
}

#[test]
fn on_a_host_too_busy_for_validity_the_strict_result_is_the_figure() {
    let settings = SearchSettings { precision: Precision::Absolute(ERROR), ..settings() };
    let mut noisy = noisy(Rate(20_000_000), 0..0);
    let result = throughput::measure(&mut noisy, &settings, None, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::Strict, Rate(10_000_000)), "the upper end");
    // A loss of 1 % or more is a fail in spite of the noise.
    let mut noisy = self::noisy(CAPACITY, 0..0);
    let result = throughput::measure(&mut noisy, &settings, None, &mut |_| ()).unwrap();
    let strict = result.strict.unwrap();
    assert_eq!((result.kind, result.rate, strict.decided), (ResultKind::Strict, strict.rate, false));
    assert!(strict.rate <= CAPACITY && CAPACITY < strict.below.unwrap() && result.error <= ERROR, "{result:?}");
    assert!(result.trace[0].verdict == StepVerdict::Fail && result.tester_limit.is_some());
}

#[test]
fn a_host_that_becomes_noisy_ends_the_search_with_the_bounds_found_until_then() {
    // 10 M fails, 5 M fails, 2.5 M fails, 1.25 M passes; 1.875 M and 1.5625 M are never decided. The strict search then
    // halves the rest.
    let mut noisy = noisy(Rate(2_000_000), 1..5);
    let settings = SearchSettings { hi: Rate(10_000_000), ..settings() };
    let result = throughput::measure(&mut noisy, &settings, None, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::Between, Rate(1_250_000)));
    assert!(result.tester_limit.is_some(), "it says what ended it");
    let undecided: Vec<u64> =
        result.trace[4..6].iter().filter(|s| s.verdict == StepVerdict::HostBound).map(|s| s.rate.0).collect();
    assert_eq!(undecided, [1_875_000, 1_562_500]);
    let strict = result.strict.unwrap();
    assert!(!strict.decided && strict.rate.0.abs_diff(2_000_000) <= ERROR.0, "{strict:?}");
}

/// The other rate of the bracket lies below, where the queues absorb longer stalls.
#[test]
fn after_an_undecided_rate_the_search_tries_a_lower_one_and_goes_on() {
    let mut stalled = stalled(CAPACITY, Nanos::from_millis(1), 800);
    // At 800 k and below, the queue of 800 frames absorbs 1 ms.
    let result = throughput::measure(&mut stalled, &settings(), None, &mut |_| ()).unwrap();
    let undecided = result.trace.iter().filter(|step| step.verdict == StepVerdict::HostBound).count();
    assert!(undecided >= 2 && result.rate > Rate(600_000), "{result:?}");
}

#[test]
fn what_failed_before_the_host_spoiled_all_is_an_upper_bound() {
    // 10 M, 5 M and 2.5 M fail, and nothing below is ever decided.
    let mut noisy = altered(SimulatedDut::new(Truth::new(Rate(2_000_000), SETUP), 1), |n, _, outcome| {
        if n > 3 {
            lose_one(outcome);
            outcome.host.dut_stall = Nanos::from_millis(50);
        }
    });
    let result = throughput::measure(&mut noisy, &settings(), None, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::Below, Rate(0), Rate(2_500_000)));
    assert!(result.tester_limit.is_some() && !result.at_least() && !result.kind.has_rate());
}

/// Trials of a device of 6 Mfps by a tester that sends three frames of four, from the third trial on.
fn slowing() -> impl Trials {
    altered(SimulatedDut::new(Truth::new(Rate(6_000_000), SETUP), 1), |n, _, outcome| {
        for leg in legs(outcome).into_iter().filter(|_| n > 2) {
            leg.sent = leg.planned / 4 * 3;
            leg.received = leg.sent;
        }
    })
}

#[test]
fn a_rate_that_failed_above_the_testers_bound_bounds_the_device_too() {
    // 10 M fails, 5 M passes, and the tester manages nothing in between.
    let settings = SearchSettings { hi: Rate(10_000_000), ..settings() };
    let result = throughput::measure(&mut slowing(), &settings, None, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::Between, Rate(5_000_000), Rate(5_000_000)));
    assert!(matches!(result.tester_limit, Some(Invalid::SentTooFew { .. })), "it says what kept it apart");
}

/// Trials of a device of this capacity and queue depth, on a host that preempts it repeatedly for this long.
fn stalled(capacity: Rate, stall: Nanos, queue: u64) -> impl Trials {
    altered(SimulatedDut::new(Truth::new(capacity, SETUP), 1), move |_, spec, outcome| {
        outcome.host.dut_queue = Some(queue);
        outcome.host.dut_stall = stall;
        outcome.host.queue_lasts = Some(spec.rate.time_for(queue));
        let overflow = spec.rate.frames_in(stall).saturating_sub(queue);
        for leg in legs(outcome) {
            leg.received = leg.received.min(leg.sent - overflow.min(leg.sent));
        }
    })
}

#[test]
fn a_host_that_is_noisy_only_at_first_leaves_an_exact_result() {
    let mut noisy = noisy(Rate(9_950_000), 42..usize::MAX);
    let result = throughput::measure(&mut noisy, &settings(), None, &mut |_| ()).unwrap();
    recovers(&result, Rate(9_950_000));
    assert_eq!((result.trace[0].verdict, result.tester_limit), (StepVerdict::HostBound, None));
}

#[test]
fn drops_of_the_tester_now_and_then_do_not_change_the_result() {
    let mut dut = SimulatedDut::new(Truth { tester_drops: Ratio::from_ppm(100_000), ..truth() }, 1);
    recovers(&forwarding(&mut dut, &settings()), CAPACITY);
}

/// The first trials return no frame, because the host preempted the device all the time.
fn starved(trials: usize) -> impl Trials {
    altered(dut(), move |n, _, outcome| {
        if n <= trials {
            outcome.host.dut_stall = Nanos::from_secs(100);
            for leg in legs(outcome) {
                leg.received = 0;
            }
        }
    })
}

#[test]
fn a_starved_dut_is_not_called_dead() {
    // The device is preempted for 41 trials at the first rate and a part of the probe; afterwards its rate is found.
    let with = |trials| throughput::measure(&mut starved(trials), &settings(), None, &mut |_| ());
    recovers(&with(43).unwrap(), CAPACITY);
    // A device that is always preempted is not measured, but not dead either.
    assert_eq!(with(usize::MAX).unwrap().kind, ResultKind::NothingMeasured);
}
