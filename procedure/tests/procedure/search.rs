//! Every procedure recovers the truth of a simulated device within its error, or reports why it cannot. Further tests
//! cover known faults of other testers' searches.

mod spoiled;

use crate::fixture::{altered, establish, listening, within};
use method::search::{Phase2, StepVerdict, Verify};
use method::simulated::{SimulatedDut, Truth, WhenFull};
use method::trial::{Fault, Leg};
use method::{
    Criteria, Direction, Loop, Nanos, Precision, Progress, Rate, Ratio, ResultKind, SearchResult, SearchSettings,
    TrialError, TrialOutcome, TrialSpec, Trials,
};
use procedure::establishment::{MAX_CONN_EST_RATE, validation_rate};
use procedure::{Context, Keys, throughput};

const CAPACITY: Rate = Rate(1_234_567);
const SETUP: Rate = Rate(223_500);
const ERROR: Rate = Rate(100);
const N: u64 = 4_000_000;

fn settings() -> SearchSettings {
    within(10_000_000, ERROR.0)
}

fn truth() -> Truth {
    Truth::new(CAPACITY, SETUP)
}

fn dut() -> SimulatedDut {
    SimulatedDut::new(truth(), 1)
}

fn forwarding(dut: &mut SimulatedDut, settings: &SearchSettings) -> SearchResult {
    throughput::measure(dut, settings, None, &mut |_| ()).unwrap()
}

fn set_up(dut: &mut SimulatedDut, settings: &SearchSettings) -> SearchResult {
    establish(dut, settings, N).unwrap()
}

/// The truth lies in [rate, rate + error], and the error is the one asked for.
#[track_caller]
fn recovers(result: &SearchResult, truth: Rate) {
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate <= truth && truth.0 <= result.rate.0 + result.error.0, "{} for {truth}", result.rate);
    assert!(result.error <= ERROR, "error {}", result.error);
}

fn legs(outcome: &mut TrialOutcome) -> [&mut Leg; 2] {
    [&mut outcome.forward, &mut outcome.reverse]
}

fn lose_one(outcome: &mut TrialOutcome) {
    for leg in legs(outcome) {
        leg.received = leg.sent.saturating_sub(1);
    }
}

/// Loses one frame in this trial, counted from 1.
fn once_bad(device: SimulatedDut, trial: usize) -> impl Trials {
    altered(device, move |n, _, outcome| {
        if n == trial {
            lose_one(outcome);
        }
    })
}

/// Phase 2 on N connections.
fn phase2(phase1_rate: u64) -> Phase2 {
    Phase2 { connections: N, phase1_rate: Rate(phase1_rate) }
}

#[test]
fn throughput_recovers_the_capacity() {
    recovers(&forwarding(&mut dut(), &settings()), CAPACITY);
}

#[test]
fn throughput_is_that_of_the_weaker_direction() {
    let mut dut = SimulatedDut::new(Truth { reverse_capacity: Rate(700_000), ..truth() }, 1);
    recovers(&forwarding(&mut dut, &settings()), Rate(700_000));
    let one_way = SearchSettings { direction: Direction::Forward, ..settings() };
    recovers(&forwarding(&mut dut, &one_way), CAPACITY);
}

#[test]
fn throughput_in_phase_2_recovers_the_capacity() {
    let result = throughput::measure(&mut dut(), &settings(), Some(phase2(178_800)), &mut |_| ()).unwrap();
    recovers(&result, CAPACITY);
    assert_eq!(result.phase1_rate, Some(Rate(178_800)));
    assert_eq!(result.phase1_lost, 0);
}

#[test]
fn establishment_recovers_the_set_up_rate() {
    recovers(&set_up(&mut dut(), &settings()), SETUP);
}

#[test]
fn validated_establishment_recovers_the_set_up_rate() {
    let validated = SearchSettings { alpha: Ratio::new(1, 2), ..settings() };
    recovers(&set_up(&mut dut(), &validated), SETUP);
}

#[test]
fn a_validation_rate_above_the_forwarding_rate_lowers_the_result() {
    // The published rates with alpha 0.8 and 0.6 (draft-lencse-v6ops-transition-scalability-05, Figure 11)
    // give one alpha × R of 258 k: the one-way forwarding rate of that device.
    let mut dut = SimulatedDut::new(Truth::new(Rate(258_300), Rate(479_000)), 1);
    for (alpha, published, off) in [("0.8", 323_534, 2_000), ("0.6", 429_491, 2_000), ("0.5", 479_296, 1_000)] {
        let with = SearchSettings { alpha: Some(alpha.parse().unwrap()), ..settings() };
        let result = set_up(&mut dut, &with);
        let rate = result.rate.0;
        assert_eq!(result.validation_failed, alpha != "0.5", "alpha {alpha}");
        assert!(rate.abs_diff(published) < off, "alpha {alpha}: {rate} for {published}");
    }
}

#[test]
fn a_capped_validation_rate_does_not_lower_the_result() {
    let mut dut = SimulatedDut::new(Truth::new(Rate(258_300), Rate(479_000)), 1);
    let with = SearchSettings { alpha: Ratio::new(4, 5), ..settings() };
    let (keys, validate_at_most) = (Keys::of_table(()), Some(Rate(232_000)));
    let capped = Context { connections: N, validate_at_most, ..Context::new(&MAX_CONN_EST_RATE, &keys, &with) };
    recovers(&capped.measure(&mut dut).unwrap(), Rate(479_000));
}

#[test]
fn the_validation_rate_is_alpha_times_the_rate_capped_and_never_zero() {
    let half = Ratio::new(1, 2).unwrap();
    assert_eq!(validation_rate(Rate(1_001), half, None), Rate(500));
    assert_eq!(validation_rate(Rate(1_001), half, Some(Rate(300))), Rate(300));
    assert_eq!(validation_rate(Rate(1), half, None), Rate(1));
}

#[test]
fn a_table_that_replaces_old_entries_shows_only_with_validation() {
    let mut dut = SimulatedDut::new(Truth { table_size: N - 1, when_full: WhenFull::ReplaceOldest, ..truth() }, 1);
    recovers(&set_up(&mut dut, &settings()), SETUP);
    let validated = SearchSettings { alpha: Ratio::new(1, 2), ..settings() };
    let result = set_up(&mut dut, &validated);
    assert_eq!((result.kind, result.trials), (ResultKind::NoRate, 11), "one connection at five rates");
}

#[test]
fn a_table_smaller_than_n_gives_no_rate() {
    let result = set_up(&mut SimulatedDut::new(Truth { table_size: N - 1, ..truth() }, 1), &settings());
    assert_eq!((result.kind, result.rate), (ResultKind::NoRate, Rate(0)));
}

#[test]
fn misrouted_frames_are_not_received() {
    let mut dut = SimulatedDut::new(Truth { misrouted: Ratio::ONE, ..truth() }, 1);
    let error = throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::Faulty(ref text) if text.contains("with a wrong port")));
}

#[test]
fn a_tolerated_loss_is_counted_with_the_result() {
    let tolerant = Criteria { acceptance: "0.9999".parse().unwrap(), ..Criteria::default() };
    let mut dut = SimulatedDut::new(Truth { loss: Ratio::from_ppm(50), ..truth() }, 1);
    let result = forwarding(&mut dut, &SearchSettings { criteria: tolerant, ..settings() });
    // At a tolerance of 0.01 % and a loss of 0.005 % the rate lies 0.005 % above the capacity.
    assert!(result.rate.0.abs_diff(CAPACITY.0) <= CAPACITY.0 / 10_000 + ERROR.0);
    assert!(result.lost_at_rate > 0);
}

#[test]
fn a_relative_error_is_relative_to_the_result() {
    let relative = SearchSettings { precision: Precision::Relative(Ratio::from_ppm(1_000)), ..settings() };
    let result = forwarding(&mut dut(), &relative);
    assert!(result.error.0 <= result.rate.0 / 1_000);
    assert!(result.rate <= CAPACITY && CAPACITY.0 <= result.rate.0 + result.error.0);
}

#[test]
fn the_upper_end_is_tried_and_a_pass_there_is_a_lower_bound() {
    let result = forwarding(&mut SimulatedDut::new(Truth::new(Rate(20_000_000), SETUP), 1), &settings());
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::AtUpperLimit, Rate(10_000_000), Rate(0)));
    assert!(result.at_least());
    assert_eq!(result.trials, 1);
}

#[test]
fn the_lower_end_counts_only_if_it_passed() {
    let narrow = SearchSettings { lo: Rate(2_000_000), ..settings() };
    let result = forwarding(&mut dut(), &narrow);
    assert_eq!((result.kind, result.rate), (ResultKind::NothingPassed, Rate(0)));
}

#[test]
fn a_lower_end_that_passes_is_the_result() {
    let narrow = SearchSettings { lo: CAPACITY, hi: Rate(CAPACITY.0 + 300), ..settings() };
    assert_eq!(forwarding(&mut dut(), &narrow).rate, CAPACITY);
}

#[test]
fn a_closed_loop_gives_a_marked_result() {
    let mut dut = SimulatedDut::new(Truth { dut_loop: Loop::Closed, ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    assert!(result.closed_loop);
    // Lateness is tolerated up to 0.001 % of the duration.
    assert!(result.rate.0.abs_diff(CAPACITY.0) <= ERROR.0 + CAPACITY.0 / 100_000 + 1, "{}", result.rate);
}

#[test]
fn no_trial_is_without_a_frame() {
    // At 60 ms a rate below 17 is less than one frame.
    let mut dut = listening(SimulatedDut::new(Truth { loss: Ratio::from_ppm(990_000), ..truth() }, 1));
    let short = SearchSettings { duration: Nanos::from_millis(60), ..settings() };
    // A trial of one frame may pass by chance; the test checks that the tester is not blamed.
    match throughput::measure(&mut dut, &short, None, &mut |_| ()) {
        Ok(result) => assert!(result.trace.iter().all(|s| s.verdict != StepVerdict::TesterBound)),
        Err(error) => assert!(matches!(error, TrialError::DutDead(_)), "{error}"),
    }
    assert!(dut.specs().len() > 5 && dut.specs().iter().all(|spec| spec.frames() > 0));
}

#[test]
fn the_result_is_the_last_rate_that_passed_and_not_the_last_tried() {
    // 8 fails, 4 passes, 6 fails, 5 fails: another tester's scripts report 5.
    let small = SearchSettings { hi: Rate(8), precision: Precision::Absolute(Rate(1)), ..settings() };
    let result = forwarding(&mut SimulatedDut::new(Truth::new(Rate(4), SETUP), 1), &small);
    assert_eq!(result.trace.last().map(|step| (step.rate, step.verdict)), Some((Rate(5), StepVerdict::Fail)));
    assert_eq!((result.rate, result.error), (Rate(4), Rate(1)));
    let highest = result.trace.iter().filter(|s| s.verdict == StepVerdict::Pass).map(|s| s.rate).max();
    assert_eq!(Some(result.rate), highest);
}

#[test]
fn a_dead_dut_is_an_error_and_not_a_low_rate() {
    let error =
        throughput::measure(&mut SimulatedDut::new(Truth::dead(), 1), &settings(), None, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::DutDead(text) if text.contains("Left to Right and Right to Left")));
    let error = establish(&mut SimulatedDut::new(Truth::dead(), 1), &settings(), N).unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_)));
}

#[test]
fn a_dead_dut_is_noticed_at_once() {
    let mut dut = SimulatedDut::new(Truth::dead(), 1);
    throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap_err();
    assert_eq!(dut.trials(), 3, "one trial and its probe of two");
}

/// Like a router that limits the rate of its ICMP errors: the first trial received one, and the probes none.
#[test]
fn an_icmp_error_before_the_probes_says_more_than_their_silence() {
    let refusing = || {
        altered(SimulatedDut::new(Truth::dead(), 1), |n, _, outcome| {
            if n == 1 {
                outcome.reverse.faults.add(Fault::IcmpError);
            }
        })
    };
    let throughput = throughput::measure(&mut refusing(), &settings(), None, &mut |_| ()).unwrap_err();
    let phase1 = throughput::measure(&mut refusing(), &settings(), Some(phase2(1_000)), &mut |_| ()).unwrap_err();
    for error in [throughput, phase1, establish(&mut refusing(), &settings(), N).unwrap_err()] {
        assert!(matches!(&error, TrialError::Faulty(text) if text.contains("1 ICMP errors")), "{error}");
    }
}

/// Like a router that resolves the tester's address only at the end of the first trial of the probe: the rate that failed
/// before, below the DUT's capacity, is decided once more.
#[test]
fn a_dut_that_answers_the_second_trial_of_a_probe_is_not_dead() {
    let mut dut = altered(self::dut(), |n, _, outcome| {
        if n <= 2 {
            for leg in legs(outcome) {
                leg.received = 0;
            }
        }
    });
    let below = SearchSettings { hi: Rate(CAPACITY.0 / 2), ..settings() };
    let result = throughput::measure(&mut dut, &below, None, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::AtUpperLimit, below.hi));
    assert_eq!(result.trace[0].trials, 2, "the failed trial, and the one that decides");
    let frames: Vec<u64> = dut.specs().into_iter().map(TrialSpec::frames).collect();
    assert_eq!(frames, [frames[0], 1_000, 1_000, frames[0]]);
}

/// Each direction answers in one trial of the probe.
#[test]
fn a_probe_counts_the_answers_of_both_its_trials() {
    let mut dut = altered(self::dut(), |n, _, outcome| {
        let [forward, reverse] = legs(outcome);
        if n <= 2 {
            forward.received = 0;
        }
        if n == 1 || n == 3 {
            reverse.received = 0;
        }
    });
    recovers(&throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap(), CAPACITY);
}

/// A probe of few connections lasts a second, so that a router can repeat a neighbor solicitation meanwhile.
#[test]
fn a_probe_of_few_connections_lasts_a_second() {
    let mut dut = listening(SimulatedDut::new(Truth::dead(), 1));
    establish(&mut dut, &settings(), 100).unwrap_err();
    let probe = &dut.specs()[1];
    assert_eq!((probe.connections, probe.frames(), probe.rate), (100, 100, Rate(100)));
}

#[test]
fn a_dut_that_answers_in_one_direction_only_is_an_error_that_names_the_other() {
    let mut dut = SimulatedDut::new(Truth { reverse_capacity: Rate(0), ..truth() }, 1);
    let error = throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::Faulty(text) if text.starts_with("Right to Left:")), "{error}");
}

#[test]
fn a_dut_that_dies_during_a_search_is_an_error_and_not_a_low_rate() {
    let mut dut = SimulatedDut::new(Truth { dies_at: Some(6), ..truth() }, 1);
    let error = throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_)));
}

#[test]
fn a_dut_that_dies_before_a_phase_1_is_dead_and_not_slow() {
    let mut dut = SimulatedDut::new(Truth { dies_at: Some(6), ..truth() }, 1);
    let error = throughput::measure(&mut dut, &settings(), Some(phase2(178_800)), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::DutDead(text) if text.starts_with("phase 1:")), "{error}");
    assert_eq!(dut.trials(), 8, "one trial and its probe of two");
}

#[test]
fn a_dut_without_a_way_back_fails_validation() {
    let mut dut = SimulatedDut::new(Truth { reverse_capacity: Rate(0), ..truth() }, 1);
    let validated = SearchSettings { alpha: Ratio::new(1, 2), ..settings() };
    let error = establish(&mut dut, &validated, N).unwrap_err();
    assert!(matches!(&error, TrialError::Faulty(text) if text.starts_with("validation:")));
}

#[test]
fn a_living_dut_that_loses_at_every_rate_is_alive_but_has_no_rate() {
    let mut dut = SimulatedDut::new(Truth { loss: Ratio::from_ppm(100_000), ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    assert_eq!((result.kind, result.rate), (ResultKind::NoRate, Rate(0)));
}

#[test]
fn rates_above_32_bits_are_searched() {
    let truth = Rate(12_345_678_901);
    let wide = SearchSettings { hi: Rate(40_000_000_000), ..settings() };
    recovers(&forwarding(&mut SimulatedDut::new(Truth::new(truth, SETUP), 1), &wide), truth);
}

#[test]
fn eight_equal_verdicts_at_the_end_are_flagged_one_sided() {
    // One bad trial at 7.5 M pins the search just below, although the DUT carries 10 M.
    let mut dut = once_bad(SimulatedDut::new(Truth::new(Rate(9_999_999), SETUP), 1), 3);
    let result = throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap();
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate < Rate(7_500_000) && result.one_sided);
    assert!(!forwarding(&mut self::dut(), &settings()).one_sided);
}

#[test]
fn loss_verification_survives_a_bad_trial() {
    let verified = SearchSettings { verify: Some(Verify { tries: 3, at_most: None }), ..settings() };
    let truth = Truth::new(Rate(9_999_900), SETUP);
    // The first rate fails three times, the second passes.
    let mut dut = once_bad(SimulatedDut::new(truth.clone(), 1), 5);
    let result = throughput::measure(&mut dut, &verified, None, &mut |_| ()).unwrap();
    recovers(&result, truth.forward_capacity);
    let tried_again: Vec<usize> = result
        .trace
        .iter()
        .enumerate()
        .filter(|(_, s)| s.verdict == StepVerdict::Pass && s.trials > 1)
        .map(|(i, _)| i)
        .collect();
    assert_eq!(tried_again.len(), 1);
}

#[test]
fn an_incomplete_phase_1_is_repeated_and_then_slowed_down() {
    // 300 k is above the set-up rate; 300 × 0.9³ = 218.7 k is below.
    let mut dut = listening(dut());
    let result = throughput::measure(&mut dut, &settings(), Some(phase2(300_000)), &mut |_| ()).unwrap();
    recovers(&result, CAPACITY);
    assert_eq!(result.phase1_rate, Some(Rate(218_700)));
    assert_eq!(result.trace[0].invalid, 9);
    assert!(result.phase1_lost > 0);
    // Later trials start with the rate that worked.
    assert!(dut.specs()[10..].iter().all(|spec| spec.phase1_rate == Some(Rate(218_700))));
}

#[test]
fn a_phase_1_that_never_completes_is_an_error() {
    for is_wrong in [false, true] {
        let mut dut = altered(SimulatedDut::new(Truth { table_size: N - 1, ..truth() }, 1), |trial, _, outcome| {
            if is_wrong {
                // The first attempt is the best.
                outcome.store.as_mut().unwrap().learned -= u64::from(trial > 1);
                let mut leg = Leg { planned: N, sent: N, received: N - 1, ..Leg::default() };
                leg.faults.add(Fault::WrongPort);
                outcome.phase1 = Some(leg);
            }
        });
        let error = throughput::measure(&mut dut, &settings(), Some(phase2(1_000)), &mut |_| ()).unwrap_err();
        let TrialError::Phase1(words) = error else { panic!("{error}") };
        let attempts = if is_wrong { "in 1 of 33 attempts" } else { "in 33 of 33 attempts" };
        assert!(words.contains(&format!("at best {} of {N} connections, {attempts}", N - 1)), "{words}");
        let (fault, advice) = (words.contains("1 with a wrong port"), words.contains("the same at each rate: check"));
        assert_eq!((fault, advice, words.contains("lower")), (is_wrong, !is_wrong, false), "{words}");
    }
}

#[test]
fn every_trial_of_phase_2_has_its_own_phase_1() {
    let mut dut = listening(dut());
    throughput::measure(&mut dut, &settings(), Some(phase2(100_000)), &mut |_| ()).unwrap();
    assert!(dut.specs().iter().all(|spec| !spec.keep_table));
}

#[test]
fn a_slow_start_shows_in_one_repetition_only() {
    let mut dut = SimulatedDut::new(Truth { slow_start: (20, Ratio::from_ppm(500_000)), ..truth() }, 1);
    let [first, second, third] =
        [(); 3].map(|()| throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap());
    assert!(first.rate < second.rate);
    recovers(&second, CAPACITY);
    recovers(&third, CAPACITY);
}

#[test]
fn a_buffer_bound_measurement_is_refused_before_the_first_trial() {
    let mut dut = dut();
    let (keys, settings) = (Keys::of_table(()), settings());
    let deep = Context { connections: N, buffered: N, ..Context::new(&MAX_CONN_EST_RATE, &keys, &settings) };
    let error = deep.measure(&mut dut).unwrap_err();
    assert!(matches!(error, TrialError::Refused(_)));
    assert_eq!(dut.trials(), 0);
}

#[test]
fn settings_without_a_result_are_refused() {
    for bad in [
        SearchSettings { hi: Rate(0), ..settings() },
        SearchSettings { lo: Rate(10_000_000), ..settings() },
        SearchSettings { alpha: Some(Ratio::ZERO), ..settings() },
        SearchSettings { verify: Some(Verify { tries: 0, at_most: None }), ..settings() },
        SearchSettings { duration: Nanos(0), ..settings() },
        SearchSettings { criteria: Criteria { acceptance: Ratio::ZERO, ..Criteria::default() }, ..settings() },
    ] {
        let mut dut = dut();
        assert!(matches!(throughput::measure(&mut dut, &bad, None, &mut |_| ()), Err(TrialError::Refused(_))));
        assert_eq!(dut.trials(), 0);
    }
}

#[test]
fn an_error_of_zero_ends_at_one_frame_a_second() {
    let finest = SearchSettings { precision: Precision::Absolute(Rate(0)), ..settings() };
    let result = forwarding(&mut dut(), &finest);
    assert_eq!((result.rate, result.error), (CAPACITY, Rate(1)));
}

#[test]
fn progress_never_promises_fewer_steps_than_follow() {
    let mut told: Vec<Progress> = Vec::new();
    throughput::measure(&mut dut(), &settings(), None, &mut |progress| told.push(*progress)).unwrap();
    for (i, progress) in told.iter().enumerate() {
        assert!(progress.lo <= progress.rate && progress.rate <= progress.hi);
        assert!(progress.steps_left as usize >= told.len() - i, "step {i}: {progress:?}");
    }
}

#[test]
fn settings_and_results_survive_a_file() {
    let with = SearchSettings { alpha: Ratio::new(1, 2), ..settings() };
    let text = serde_json::to_string(&with).unwrap();
    assert_eq!(serde_json::from_str::<SearchSettings>(&text).unwrap(), with);
    let result = forwarding(&mut dut(), &settings());
    let text = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<SearchResult>(&text).unwrap(), result);
}

/// Host noise makes every trial invalid, and each trial takes a second.
#[test]
fn invalid_trials_are_repeated_until_their_time_is_over() {
    let fast = SimulatedDut::new(Truth::new(Rate(20_000_000), SETUP), 1);
    let mut dut = altered(fast, |_, _, outcome| {
        outcome.host.tester_stall = Nanos::from_millis(2);
        outcome.forward.received -= 1;
        outcome.wall = Nanos::from_secs(1);
    });
    let patient = throughput::measure(&mut dut, &settings(), None, &mut |_| ()).unwrap();
    assert_eq!((patient.kind, patient.trace[0].trials), (ResultKind::NothingMeasured, 41));
    let limited = SearchSettings { invalid_at_most: Some(Nanos::from_secs(5)), ..settings() };
    let result = throughput::measure(&mut dut, &limited, None, &mut |_| ()).unwrap();
    // Five at the first rate, and one at each further rate.
    assert_eq!((result.kind, result.trace[0].trials), (ResultKind::NothingMeasured, 5));
    assert!(result.trace[1..].iter().all(|step| step.trials == 1));
}

/// Host noise makes every phase 1 invalid. At low rates a trial would take minutes; the search tries none of them.
#[test]
fn a_noisy_host_does_not_slow_phase_1_down_without_end() {
    let mut dut = altered(SimulatedDut::new(truth(), 1), |_, spec, outcome| {
        outcome.host.tester_stall = Nanos::from_secs(300);
        outcome.host.queue_lasts = Some(Nanos::from_millis(1));
        outcome.forward.received -= 1;
        outcome.wall = spec.rate.time_for(N);
    });
    let limited = SearchSettings { invalid_at_most: Some(Nanos::from_secs(5)), ..settings() };
    let result = establish(&mut dut, &limited, N).unwrap();
    assert_eq!(result.kind, ResultKind::NothingMeasured);
    let slowest = dut.specs().iter().map(|spec| spec.rate.time_for(N)).max().unwrap();
    assert!(slowest > Nanos::from_secs(2) && slowest <= Nanos::from_secs(5), "{slowest:?}");
}

#[test]
fn a_phase_1_that_stays_incomplete_is_slowed_down_until_its_time_is_over() {
    let mut dut = altered(SimulatedDut::new(Truth { table_size: N - 1, ..truth() }, 1), |_, _, outcome| {
        outcome.wall = Nanos::from_secs(1);
    });
    let limited = SearchSettings { invalid_at_most: Some(Nanos::from_secs(5)), ..settings() };
    let error = throughput::measure(&mut dut, &limited, Some(phase2(1_000)), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::Phase1(_)));
    assert_eq!(dut.specs().len(), 5);
}
