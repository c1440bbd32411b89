//! Every procedure recovers the truth of a simulated device within its error, and says so honestly when it
//! cannot. Also here, by name: the faults of other testers that a search can have.

use method::procedure::establishment::{self, Phase1, safe_phase1_rate, validation_rate};
use method::procedure::{Repetitions, StepVerdict, Verify, repeat, throughput};
use method::simulated::{SimulatedDut, Truth, WhenFull};
use method::{
    Criteria, Direction, Invalid, Loop, Nanos, Precision, Progress, Rate, Ratio, ResultKind, SearchResult,
    SearchSettings, TrialError, TrialOutcome, TrialSpec, Trials,
};

const CAPACITY: Rate = Rate(1_234_567);
const SETUP: Rate = Rate(223_500);
const ERROR: Rate = Rate(100);
const N: u64 = 4_000_000;

fn settings() -> SearchSettings {
    SearchSettings { hi: Rate(10_000_000), precision: Precision::Absolute(ERROR), ..SearchSettings::default() }
}

fn truth() -> Truth {
    Truth::new(CAPACITY, SETUP)
}

fn dut() -> SimulatedDut {
    SimulatedDut::new(truth(), 1)
}

fn forwarding(dut: &mut SimulatedDut, settings: &SearchSettings) -> SearchResult {
    throughput::stateless(dut, settings, &mut |_| ()).unwrap()
}

fn phase1(connections: u64) -> Phase1 {
    Phase1 { connections, buffered: 0, validate_at_most: None }
}

fn set_up(dut: &mut SimulatedDut, settings: &SearchSettings) -> SearchResult {
    establishment::measure(dut, settings, phase1(N), &mut |_| ()).unwrap()
}

/// The truth lies in [rate, rate + error], and the error is the one asked for.
#[track_caller]
fn recovers(result: &SearchResult, truth: Rate) {
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate <= truth && truth.0 <= result.rate.0 + result.error.0, "{} for {truth}", result.rate);
    assert!(result.error <= ERROR, "error {}", result.error);
}

/// Keeps what was asked for.
struct Listening<T> {
    inner: T,
    specs: Vec<TrialSpec>,
}

impl<T: Trials> Trials for Listening<T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        self.specs.push(spec.clone());
        self.inner.run(spec)
    }
}

/// Loses one frame too many in the third trial.
struct OnceBad(SimulatedDut);

impl Trials for OnceBad {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.0.run(spec)?;
        if self.0.trials() == 3 {
            for leg in [&mut outcome.forward, &mut outcome.reverse] {
                leg.received = leg.sent.saturating_sub(1);
            }
        }
        Ok(outcome)
    }
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
    let result = throughput::established(&mut dut(), &settings(), N, Rate(178_800), &mut |_| ()).unwrap();
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
    let capped = Phase1 { validate_at_most: Some(Rate(232_000)), ..phase1(N) };
    recovers(&establishment::measure(&mut dut, &with, capped, &mut |_| ()).unwrap(), Rate(479_000));
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
    assert_eq!(set_up(&mut dut, &validated).kind, ResultKind::NothingPassed);
}

#[test]
fn a_table_smaller_than_n_gives_no_rate() {
    let result = set_up(&mut SimulatedDut::new(Truth { table_size: N - 1, ..truth() }, 1), &settings());
    assert_eq!((result.kind, result.rate), (ResultKind::NothingPassed, Rate(0)));
}

#[test]
fn misrouted_frames_are_not_received() {
    let mut dut = SimulatedDut::new(Truth { misrouted: Ratio::ONE, ..truth() }, 1);
    let error = throughput::stateless(&mut dut, &settings(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_)));
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
fn the_lower_end_is_not_believed_unless_it_passed() {
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

/// A tester that stops sending when it is far behind, and perhaps loses its link too.
struct GivesUp(SimulatedDut, bool);

impl Trials for GivesUp {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.0.run(spec)?;
        for leg in [&mut outcome.forward, &mut outcome.reverse].into_iter().filter(|_| spec.rate > Rate(1_000_000)) {
            // 200 ms late, it stops: after a longer time the nearer it is to what it can.
            let planned = spec.send_time().0;
            leg.send_time = Nanos((200_000_000 * spec.rate.0 / (spec.rate.0 - 1_000_000)).min(planned + 200_000_000));
            leg.sent = leg.planned.min(leg.send_time.0 / 1_000);
            leg.received = leg.received.min(leg.sent);
            leg.timing.finished_late = leg.timing.finished_late.max(Nanos(200_000_000));
        }
        if self.1 {
            outcome.host.link_lost = true;
        }
        Ok(outcome)
    }
}

#[test]
fn a_tester_that_sends_less_than_half_is_not_tried_again() {
    let mut dut = GivesUp(SimulatedDut::new(Truth { tester_ceiling: Rate(1_000_000), ..truth() }, 1), false);
    let result = throughput::stateless(&mut dut, &settings(), &mut |_| ()).unwrap();
    assert_eq!(result.kind, ResultKind::TesterLimit);
    let bounds = || result.trace.iter().filter(|step| step.verdict == StepVerdict::TesterBound);
    let far = bounds().filter(|step| step.rate > Rate(2_000_000)).count() as u64;
    assert!(far > 1);
    assert_eq!(result.invalid_repeats, 3 * (bounds().count() as u64 - far) + far);
    // However far above the search begins, it comes down to what the tester can send.
    let high = SearchSettings { hi: Rate(1_000_000_000), ..settings() };
    let from_high = throughput::stateless(&mut dut, &high, &mut |_| ()).unwrap();
    assert!(from_high.rate.0.abs_diff(result.rate.0) <= 2 * ERROR.0, "{from_high:?}");
    // What is no lateness may be chance, however little was sent.
    dut.1 = true;
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
fn a_closed_loop_gives_a_marked_result() {
    let mut dut = SimulatedDut::new(Truth { dut_loop: Loop::Closed, ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    assert!(result.closed_loop);
    // Lateness is tolerated up to 0.001 % of the duration.
    assert!(result.rate.0.abs_diff(CAPACITY.0) <= ERROR.0 + CAPACITY.0 / 100_000 + 1, "{}", result.rate);
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

/// Trials of a device, all of them spoiled by the host while this many have been asked for.
struct Noisy {
    device: SimulatedDut,
    quiet: std::ops::Range<usize>,
    asked: usize,
}

impl Trials for Noisy {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.device.run(spec)?;
        if !self.quiet.contains(&self.asked) {
            for leg in [&mut outcome.forward, &mut outcome.reverse] {
                leg.received = leg.sent.saturating_sub(1);
            }
            outcome.host.dut_stall = Nanos::from_millis(50);
        }
        self.asked += 1;
        Ok(outcome)
    }
}

#[test]
fn a_host_that_becomes_noisy_ends_the_search_with_the_bounds_found_until_then() {
    // 10 M fails, 5 M fails, 2.5 M fails, 1.25 M passes, 1.875 M is never decided.
    let mut noisy = Noisy { device: SimulatedDut::new(Truth::new(Rate(2_000_000), SETUP), 1), quiet: 0..4, asked: 0 };
    let settings = SearchSettings { hi: Rate(10_000_000), ..settings() };
    let result = throughput::stateless(&mut noisy, &settings, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::Between, Rate(1_250_000), Rate(1_250_000)));
    assert!(result.tester_limit.is_some(), "it says what ended it");
    assert_eq!((result.trials, result.trace.last().unwrap().verdict), (4 + 11, StepVerdict::HostBound));
}

#[test]
fn a_search_that_the_host_ended_near_its_end_is_exact() {
    // The same search with an error of 312,500 asked for: four times that is what it reached.
    let mut noisy = Noisy { device: SimulatedDut::new(Truth::new(Rate(2_000_000), SETUP), 1), quiet: 0..4, asked: 0 };
    let settings = SearchSettings { precision: Precision::Absolute(Rate(312_500)), ..settings() };
    let result = throughput::stateless(&mut noisy, &settings, &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.error), (ResultKind::Exact, Rate(1_250_000)));
    assert!(result.tester_limit.is_some() && !result.at_least());
}

#[test]
fn what_failed_before_the_host_spoiled_all_is_an_upper_bound() {
    // 10 M, 5 M and 2.5 M fail, and nothing below is ever decided.
    let mut noisy = Noisy { device: SimulatedDut::new(Truth::new(Rate(2_000_000), SETUP), 1), quiet: 0..3, asked: 0 };
    let result = throughput::stateless(&mut noisy, &settings(), &mut |_| ()).unwrap();
    assert_eq!((result.kind, result.rate, result.error), (ResultKind::Below, Rate(0), Rate(2_500_000)));
    assert!(result.tester_limit.is_some() && !result.at_least() && !result.kind.has_rate());
}

/// Trials of a device by a tester that sends three frames of four, from this trial on.
struct Slowing {
    device: SimulatedDut,
    from: usize,
    asked: usize,
}

impl Trials for Slowing {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.device.run(spec)?;
        if self.asked >= self.from {
            for leg in [&mut outcome.forward, &mut outcome.reverse] {
                leg.sent = leg.planned / 4 * 3;
                leg.received = leg.sent;
            }
        }
        self.asked += 1;
        Ok(outcome)
    }
}

#[test]
fn a_rate_that_failed_above_the_testers_bound_bounds_the_device_too() {
    // 10 M fails, 5 M passes, and the tester manages nothing in between.
    let slowing = || Slowing { device: SimulatedDut::new(Truth::new(Rate(6_000_000), SETUP), 1), from: 2, asked: 0 };
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

/// Trials on a host that takes the device's core away for so long again and again; its queue holds so many frames.
struct Stalled {
    device: SimulatedDut,
    stall: Nanos,
    queue: u64,
}

impl Trials for Stalled {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.device.run(spec)?;
        outcome.host.dut_queue = Some(self.queue);
        outcome.host.dut_stall = self.stall;
        outcome.host.queue_lasts = Some(spec.rate.time_for(self.queue));
        let overflow = spec.rate.frames_in(self.stall).saturating_sub(self.queue);
        for leg in [&mut outcome.forward, &mut outcome.reverse] {
            leg.received = leg.received.min(leg.sent - overflow.min(leg.sent));
        }
        Ok(outcome)
    }
}

/// 2,048 frames in 8 ms are 256,000 a second. Halving four times from 20 M ends at 2.5 M, where nothing can be told.
#[test]
fn on_a_busy_host_the_search_goes_where_the_queues_last_through_the_stalls() {
    let settings = SearchSettings { hi: Rate(20_000_000), ..settings() };
    let on = |capacity| {
        let device = SimulatedDut::new(Truth::new(Rate(capacity), SETUP), 1);
        let mut host = Stalled { device, stall: Nanos::from_millis(8), queue: 2_048 };
        throughput::stateless(&mut host, &settings, &mut |_| ()).unwrap()
    };
    // Half of what the queue bridges is tried, and twice that is all of it; above nothing can be told.
    let result = on(50_000_000);
    assert_eq!((result.kind, result.rate), (ResultKind::HostLimit, Rate(256_000)));
    assert!(result.trials <= 60, "{}", result.trials);
    // Where the device is slower than that, its rate is found.
    let result = on(100_000);
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate.0 <= 100_000 && result.rate.0 + result.error.0 > 100_000, "{result:?}");
}

#[test]
fn no_trial_is_without_a_frame() {
    // At 60 ms a rate below 17 is less than one frame.
    let mut dut = Listening {
        inner: SimulatedDut::new(Truth { loss: Ratio::from_ppm(990_000), ..truth() }, 1),
        specs: Vec::new(),
    };
    let short = SearchSettings { duration: Nanos::from_millis(60), ..settings() };
    // A trial of one frame may be lucky: what counts is that the tester is not blamed.
    match throughput::stateless(&mut dut, &short, &mut |_| ()) {
        Ok(result) => assert!(result.trace.iter().all(|s| s.verdict != StepVerdict::TesterBound)),
        Err(error) => assert!(matches!(error, TrialError::DutDead(_)), "{error}"),
    }
    assert!(dut.specs.len() > 5 && dut.specs.iter().all(|spec| spec.frames() > 0));
}

#[test]
fn a_host_that_is_noisy_only_at_first_leaves_an_exact_result() {
    let quiet = 11..usize::MAX;
    let mut noisy = Noisy { device: SimulatedDut::new(Truth::new(CAPACITY, SETUP), 1), quiet, asked: 0 };
    let result = throughput::stateless(&mut noisy, &settings(), &mut |_| ()).unwrap();
    recovers(&result, CAPACITY);
    assert_eq!((result.trace[0].verdict, result.tester_limit), (StepVerdict::HostBound, None));
}

#[test]
fn drops_of_the_tester_now_and_then_do_not_change_the_result() {
    let mut dut = SimulatedDut::new(Truth { tester_drops: Ratio::from_ppm(100_000), ..truth() }, 1);
    recovers(&forwarding(&mut dut, &settings()), CAPACITY);
}

#[test]
fn the_result_is_the_last_rate_that_passed_and_not_the_last_tried() {
    // 8 fails, 4 passes, 6 fails, 5 fails: a peer's scripts report 5.
    let small = SearchSettings { hi: Rate(8), precision: Precision::Absolute(Rate(1)), ..settings() };
    let result = forwarding(&mut SimulatedDut::new(Truth::new(Rate(4), SETUP), 1), &small);
    assert_eq!(result.trace.last().map(|step| (step.rate, step.verdict)), Some((Rate(5), StepVerdict::Fail)));
    assert_eq!((result.rate, result.error), (Rate(4), Rate(1)));
    let highest = result.trace.iter().filter(|s| s.verdict == StepVerdict::Pass).map(|s| s.rate).max();
    assert_eq!(Some(result.rate), highest);
}

#[test]
fn a_dead_dut_is_an_error_and_not_a_low_rate() {
    let error = throughput::stateless(&mut SimulatedDut::new(Truth::dead(), 1), &settings(), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::DutDead(text) if text.contains("Left to Right and Right to Left")));
    let error = establishment::measure(&mut SimulatedDut::new(Truth::dead(), 1), &settings(), phase1(N), &mut |_| ())
        .unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_)));
}

/// Trials of which the first bring nothing back, because the host kept the device from its core all the time.
struct Starved {
    device: SimulatedDut,
    trials: usize,
}

impl Trials for Starved {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.device.run(spec)?;
        if self.trials > 0 {
            self.trials -= 1;
            outcome.host.dut_stall = Nanos::from_secs(100);
            for leg in [&mut outcome.forward, &mut outcome.reverse] {
                leg.received = 0;
            }
        }
        Ok(outcome)
    }
}

#[test]
fn a_starved_dut_is_not_called_dead() {
    // Eleven trials at the first rate and a part of the probe: then it is let go, and its rate is found below.
    let with = |trials| throughput::stateless(&mut Starved { device: dut(), trials }, &settings(), &mut |_| ());
    let result = with(13).unwrap();
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate <= CAPACITY && CAPACITY.0 < result.rate.0 + result.error.0);
    // One that never gets its core is not measured, and not dead either.
    assert_eq!(with(usize::MAX).unwrap().kind, ResultKind::NothingMeasured);
}

#[test]
fn a_dead_dut_is_noticed_at_once() {
    let mut dut = SimulatedDut::new(Truth::dead(), 1);
    throughput::stateless(&mut dut, &settings(), &mut |_| ()).unwrap_err();
    assert_eq!(dut.trials(), 2);
}

#[test]
fn a_dut_that_is_dead_in_one_direction_is_an_error_that_names_it() {
    let mut dut = SimulatedDut::new(Truth { reverse_capacity: Rate(0), ..truth() }, 1);
    let error = throughput::stateless(&mut dut, &settings(), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::DutDead(text) if text.starts_with("Right to Left:")), "{error}");
}

#[test]
fn a_dut_that_dies_during_a_search_is_an_error_and_not_a_low_rate() {
    let mut dut = SimulatedDut::new(Truth { dies_at: Some(6), ..truth() }, 1);
    let error = throughput::stateless(&mut dut, &settings(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_)));
}

#[test]
fn a_dut_that_dies_before_a_phase_1_is_dead_and_not_slow() {
    let mut dut = SimulatedDut::new(Truth { dies_at: Some(6), ..truth() }, 1);
    let error = throughput::established(&mut dut, &settings(), N, Rate(178_800), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::DutDead(text) if text.starts_with("phase 1:")), "{error}");
    assert_eq!(dut.trials(), 7, "one trial, one probe");
}

#[test]
fn a_dut_without_a_way_back_fails_validation_as_dead() {
    let mut dut = SimulatedDut::new(Truth { reverse_capacity: Rate(0), ..truth() }, 1);
    let validated = SearchSettings { alpha: Ratio::new(1, 2), ..settings() };
    let error = establishment::measure(&mut dut, &validated, phase1(N), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrialError::DutDead(text) if text.starts_with("validation:")));
}

#[test]
fn a_living_dut_that_loses_at_every_rate_is_alive_but_has_no_rate() {
    let mut dut = SimulatedDut::new(Truth { loss: Ratio::from_ppm(100_000), ..truth() }, 1);
    let result = forwarding(&mut dut, &settings());
    assert_eq!((result.kind, result.rate), (ResultKind::NothingPassed, Rate(0)));
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
    let mut dut = OnceBad(SimulatedDut::new(Truth::new(Rate(9_999_999), SETUP), 1));
    let result = throughput::stateless(&mut dut, &settings(), &mut |_| ()).unwrap();
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate < Rate(7_500_000) && result.one_sided);
    assert!(!forwarding(&mut self::dut(), &settings()).one_sided);
}

#[test]
fn loss_verification_survives_a_bad_trial() {
    let verified = SearchSettings { verify: Some(Verify { tries: 3, hopeless_loss: Some(1_000) }), ..settings() };
    let truth = Truth::new(Rate(9_999_900), SETUP);
    let mut dut = OnceBad(SimulatedDut::new(truth.clone(), 1));
    let result = throughput::stateless(&mut dut, &verified, &mut |_| ()).unwrap();
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
fn a_hopeless_loss_is_not_verified() {
    let verified = SearchSettings { verify: Some(Verify { tries: 3, hopeless_loss: Some(1_000) }), ..settings() };
    let result = forwarding(&mut dut(), &verified);
    assert_eq!(result.trace[0].trials, 1);
}

#[test]
fn an_incomplete_phase_1_is_repeated_and_then_slowed_down() {
    // 300 k is above the set-up rate; 300 × 0.9³ = 218.7 k is below.
    let mut dut = Listening { inner: dut(), specs: Vec::new() };
    let result = throughput::established(&mut dut, &settings(), N, Rate(300_000), &mut |_| ()).unwrap();
    recovers(&result, CAPACITY);
    assert_eq!(result.phase1_rate, Some(Rate(218_700)));
    assert_eq!(result.trace[0].invalid, 9);
    assert!(result.phase1_lost > 0);
    // Later trials start with the rate that worked.
    assert!(dut.specs[10..].iter().all(|spec| spec.phase1_rate == Some(Rate(218_700))));
}

#[test]
fn a_phase_1_that_never_completes_is_an_error() {
    let mut dut = SimulatedDut::new(Truth { table_size: N - 1, ..truth() }, 1);
    let error = throughput::established(&mut dut, &settings(), N, Rate(1_000), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::Phase1(_)));
}

#[test]
fn every_trial_of_phase_2_has_its_own_phase_1_unless_told_otherwise() {
    let mut dut = Listening { inner: dut(), specs: Vec::new() };
    throughput::established(&mut dut, &settings(), N, Rate(100_000), &mut |_| ()).unwrap();
    assert!(dut.specs.iter().all(|spec| !spec.keep_table));
}

#[test]
fn a_kept_table_serves_as_long_as_it_is_unchanged() {
    struct Leaky(Listening<SimulatedDut>);
    impl Trials for Leaky {
        fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
            let mut outcome = self.0.run(spec)?;
            if self.0.inner.trials() == 4 {
                outcome.store.as_mut().unwrap().dut_entries_after = Some(N - 1);
            }
            Ok(outcome)
        }
    }
    let mut dut = Leaky(Listening { inner: dut(), specs: Vec::new() });
    let kept = SearchSettings { keep_table: true, ..settings() };
    let result = throughput::established(&mut dut, &kept, N, Rate(100_000), &mut |_| ()).unwrap();
    assert_eq!(result.table_changes, 1);
    let fresh: Vec<usize> =
        dut.0.specs.iter().enumerate().filter(|(_, spec)| !spec.keep_table).map(|(i, _)| i).collect();
    assert_eq!(fresh, [0, 4]);
}

#[test]
fn phase_1_runs_at_a_share_of_the_smallest_rate() {
    let mut noisy = SimulatedDut::new(Truth { jitter: Ratio::from_ppm(20_000), ..truth() }, 1);
    let found = repeat(5, |_| establishment::measure(&mut noisy, &settings(), phase1(N), &mut |_| ())).unwrap();
    let smallest = found.rates().into_iter().min().unwrap();
    assert_eq!(safe_phase1_rate(&found, settings().phase1_share), Some(Rate(smallest * 7 / 10)));
    assert_eq!(safe_phase1_rate(&Repetitions { results: Vec::new() }, Ratio::ONE), None);
}

#[test]
fn repetitions_are_bounded_by_the_weakest_of_them() {
    let mut capacities = [Rate(1_000_000), Rate(20_000_000)].into_iter();
    let found = repeat(2, |_| {
        let mut dut = SimulatedDut::new(Truth::new(capacities.next().unwrap(), SETUP), 1);
        throughput::stateless(&mut dut, &settings(), &mut |_| ())
    })
    .unwrap();
    assert_eq!(found.kind(), Some(ResultKind::AtUpperLimit));
    assert_eq!(found.summary().unwrap().n, 2);
}

#[test]
fn a_slow_start_shows_in_one_repetition_only() {
    let mut dut = SimulatedDut::new(Truth { slow_start: (20, Ratio::from_ppm(500_000)), ..truth() }, 1);
    let found = repeat(3, |_| throughput::stateless(&mut dut, &settings(), &mut |_| ())).unwrap();
    assert!(found.results[0].rate < found.results[1].rate);
    recovers(&found.results[1], CAPACITY);
    recovers(&found.results[2], CAPACITY);
}

#[test]
fn a_buffer_bound_measurement_is_refused_before_the_first_trial() {
    let mut dut = dut();
    let deep = Phase1 { buffered: N, ..phase1(N) };
    let error = establishment::measure(&mut dut, &settings(), deep, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrialError::Refused(_)));
    assert_eq!(dut.trials(), 0);
}

#[test]
fn settings_without_a_result_are_refused() {
    for bad in [
        SearchSettings { hi: Rate(0), ..settings() },
        SearchSettings { lo: Rate(10_000_000), ..settings() },
        SearchSettings { alpha: Some(Ratio::ZERO), ..settings() },
        SearchSettings { verify: Some(Verify { tries: 0, hopeless_loss: None }), ..settings() },
        SearchSettings { duration: Nanos(0), ..settings() },
        SearchSettings { criteria: Criteria { acceptance: Ratio::ZERO, ..Criteria::default() }, ..settings() },
    ] {
        let mut dut = dut();
        assert!(matches!(throughput::stateless(&mut dut, &bad, &mut |_| ()), Err(TrialError::Refused(_))));
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
    throughput::stateless(&mut dut(), &settings(), &mut |progress| told.push(*progress)).unwrap();
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
