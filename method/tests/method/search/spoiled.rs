//! Tests of searches with trials that the tester or host noise invalidated: the device is not blamed, and the result
//! has the known bounds.

use super::{CAPACITY, ERROR, SETUP, altered, dut, forwarding, legs, lose_one, recovers, settings, truth};
use method::procedure::{StepVerdict, throughput};
use method::simulated::{SimulatedDut, Truth};
use method::{Invalid, Nanos, Precision, Rate, Ratio, ResultKind, SearchSettings, TrialOutcome, TrialSpec, Trials};
use std::ops::Range;

#[test]
fn a_tester_that_ends_before_the_dut_gives_a_lower_bound() {
    let mut dut = SimulatedDut::new(Truth { tester_ceiling: Rate(1_000_000), ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    assert_eq!(result.kind, ResultKind::TesterLimit);
    assert!(result.tester_limit.is_some());
    assert!(result.rate.0.abs_diff(1_000_000) <= ERROR.0 + 10, "{}", result.rate);
    // Three times at each rate, once where the tester is less than half as fast.
    let bounds = result.trace.iter().filter(|step| step.verdict == StepVerdict::TesterBound);
    let trials: u64 = bounds.map(|step| if step.rate > Rate(2_000_000) { 1 } else { 3 }).sum();
    assert_eq!(result.invalid_repeats, trials);
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
fn a_tester_that_sends_less_than_half_is_not_tried_again() {
    let device = || SimulatedDut::new(Truth { tester_ceiling: Rate(1_000_000), ..truth() }, 1);
    let mut dut = altered(device(), |_, spec, outcome| give_up(spec, outcome));
    let result = throughput::stateless(&mut dut, &settings(), &mut |_| ()).unwrap();
    assert_eq!(result.kind, ResultKind::TesterLimit);
    let bounds = || result.trace.iter().filter(|step| step.verdict == StepVerdict::TesterBound);
    let far = bounds().filter(|step| step.rate > Rate(2_000_000)).count() as u64;
    assert!(far > 1);
    assert_eq!(result.invalid_repeats, 3 * (bounds().count() as u64 - far) + far);
    // From any upper end, the search comes down to the tester ceiling.
    let high = SearchSettings { hi: Rate(1_000_000_000), ..settings() };
    let from_high = throughput::stateless(&mut dut, &high, &mut |_| ()).unwrap();
    assert!(from_high.rate.0.abs_diff(result.rate.0) <= 2 * ERROR.0, "{from_high:?}");
    // Without lateness, sending too few frames may be chance.
    let mut dut = altered(device(), |_, spec, outcome| {
        give_up(spec, outcome);
        outcome.host.link_lost = true;
    });
    let lost = throughput::stateless(&mut dut, &high, &mut |_| ()).unwrap();
    assert_eq!((lost.kind, lost.invalid_repeats), (ResultKind::NothingMeasured, 3 * lost.trace.len() as u64));
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
fn a_host_that_always_stalls_is_no_result_and_no_endless_search() {
    let mut dut = SimulatedDut::new(Truth { host_stalls: Ratio::ONE, ..Truth::new(Rate(20_000_000), SETUP) }, 1);
    let result = forwarding(&mut dut, &settings());
    assert_eq!((result.kind, result.rate), (ResultKind::NothingMeasured, Rate(0)));
    assert!(result.tester_limit.is_some(), "it says what spoiled the trials");
    assert_eq!((result.trace.len(), result.trials), (4, 44));
}

/// Trials of a device of this capacity, all invalid because of host noise except these.
fn noisy(capacity: Rate, quiet: Range<usize>) -> impl Trials {
    altered(SimulatedDut::new(Truth::new(capacity, SETUP), 1), move |n, _, outcome| {
        if !quiet.contains(&n) {
            lose_one(outcome);
            outcome.host.dut_stall = Nanos::from_millis(50);
        }
    })
}

#[test]
fn a_host_that_becomes_noisy_ends_the_search_with_the_bounds_found_until_then() {
    // 10 M fails, 5 M fails, 2.5 M fails, 1.25 M passes, 1.875 M is never decided.
    let mut noisy = noisy(Rate(2_000_000), 1..5);
    let settings = SearchSettings { hi: Rate(10_000_000), ..settings() };
    let result = throughput::stateless(&mut noisy, &settings, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::Between, Rate(1_250_000), Rate(1_250_000)));
    assert!(result.tester_limit.is_some(), "it says what ended it");
    assert_eq!((result.trials, result.trace.last().unwrap().verdict), (4 + 11, StepVerdict::HostBound));
}

#[test]
fn a_search_that_the_host_ended_near_its_end_is_exact() {
    // The same search with an error of 312,500 asked for: four times that is what it reached.
    let mut noisy = noisy(Rate(2_000_000), 1..5);
    let settings = SearchSettings { precision: Precision::Absolute(Rate(312_500)), ..settings() };
    let result = throughput::stateless(&mut noisy, &settings, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.error), (ResultKind::Exact, Rate(1_250_000)));
    assert!(result.tester_limit.is_some() && !result.at_least());
}

#[test]
fn what_failed_before_the_host_spoiled_all_is_an_upper_bound() {
    // 10 M, 5 M and 2.5 M fail, and nothing below is ever decided.
    let mut noisy = noisy(Rate(2_000_000), 1..4);
    let result = throughput::stateless(&mut noisy, &settings(), &mut |_| ()).unwrap();
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
    let result = throughput::stateless(&mut slowing(), &settings, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::Between, Rate(5_000_000), Rate(5_000_000)));
    assert!(matches!(result.tester_limit, Some(Invalid::SentTooFew { .. })), "it says what kept it apart");

    // Where that is about as close as asked for, it is the device's rate.
    let settings = SearchSettings { precision: Precision::Absolute(Rate(1_250_000)), ..settings };
    let result = throughput::stateless(&mut slowing(), &settings, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.error), (ResultKind::Exact, Rate(5_000_000)));
    assert!(result.tester_limit.is_some() && !result.at_least());
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

/// 2,048 frames in 8 ms are 256,000 per second. Halving four times from 20 M ends at 2.5 M, where every trial is
/// invalid.
#[test]
fn on_a_busy_host_the_search_goes_down_to_rates_at_which_queues_absorb_stalls() {
    let settings = SearchSettings { hi: Rate(20_000_000), ..settings() };
    let on = |capacity| {
        let mut host = stalled(Rate(capacity), Nanos::from_millis(8), 2_048);
        throughput::stateless(&mut host, &settings, &mut |_| ()).unwrap()
    };
    // The search tries half of the rate at which the queue absorbs the stalls, then twice that. Above, every trial is
    // invalid.
    let result = on(50_000_000);
    assert_eq!((result.kind, result.rate), (ResultKind::HostLimit, Rate(256_000)));
    assert!(result.trials <= 60, "{}", result.trials);
    // If the device is slower, its rate is found.
    let result = on(100_000);
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate.0 <= 100_000 && result.rate.0 + result.error.0 > 100_000, "{result:?}");
}

#[test]
fn a_host_that_is_noisy_only_at_first_leaves_an_exact_result() {
    let mut noisy = noisy(CAPACITY, 12..usize::MAX);
    let result = throughput::stateless(&mut noisy, &settings(), &mut |_| ()).unwrap();
    recovers(&result, CAPACITY);
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
    // The device is preempted for eleven trials at the first rate and a part of the probe; afterwards its rate is
    // found.
    let with = |trials| throughput::stateless(&mut starved(trials), &settings(), &mut |_| ());
    let result = with(13).unwrap();
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate <= CAPACITY && CAPACITY.0 < result.rate.0 + result.error.0);
    // A device that is always preempted is not measured, but not dead either.
    assert_eq!(with(usize::MAX).unwrap().kind, ResultKind::NothingMeasured);
}
