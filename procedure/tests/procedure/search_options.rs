//! What searches do to save time, against known truth: warm starts, trials that end early, one phase 1 for many trials, a limit
//! that ends loss verification, a measured limit of validation, and the one-run capacity.

use crate::fixture::{Altered, altered, listening, within};
use method::search::{Phase2, Verify, Warm};
use method::simulated::{SimulatedDut, Truth, WhenFull};
use method::trial::EarlyEnd;
use method::{
    Criteria, Direction, Invalid, Nanos, Pace, Rate, Ratio, ResultKind, SearchResult, SearchSettings, StepVerdict,
    TrialError, TrialOutcome, TrialSpec, Trials, Verdict, judge,
};
use procedure::capacity::{CONN_TABLE_CAPACITY, Capacity};
use procedure::capacity_with_policy::FullTablePolicy;
use procedure::{Context, Keys, throughput, validation};

const CAPACITY: Rate = Rate(1_234_567);
const ERROR: Rate = Rate(1_000);
const N: u64 = 1_000_000;

fn settings() -> SearchSettings {
    within(10_000_000, ERROR.0)
}

fn logged(truth: Truth) -> Altered<impl FnMut(usize, &TrialSpec, &mut TrialOutcome)> {
    listening(SimulatedDut::new(truth, 1))
}

fn forwarding(dut: &mut impl Trials, settings: &SearchSettings, phase2: Option<Phase2>) -> SearchResult {
    throughput::measure(dut, settings, phase2, &mut |_| ()).unwrap()
}

/// The truth lies between the bounds. The search tried both.
#[track_caller]
fn recovers(result: &SearchResult) {
    assert_eq!(result.kind, ResultKind::Exact);
    assert!(result.rate <= CAPACITY && CAPACITY.0 <= result.rate.0 + result.error.0 && result.error <= ERROR);
    let tried = |rate: u64, verdict| result.trace.iter().any(|step| (step.rate.0, step.verdict) == (rate, verdict));
    assert!(tried(result.rate.0, StepVerdict::Pass) && tried(result.rate.0 + result.error.0, StepVerdict::Fail));
}

#[test]
fn a_warm_start_proves_its_own_bounds_wherever_it_begins() {
    let cold = forwarding(&mut logged(Truth::new(CAPACITY, CAPACITY)), &settings(), None);
    recovers(&cold);
    let near = Warm { passed: cold.rate, failed: Rate(cold.rate.0 + cold.error.0) };
    for (passed, most) in [(near.passed.0, 2), (near.passed.0 - 3_000, 6), (near.passed.0 + 3_000, 6)]
        .into_iter()
        .chain([1, 1_000, 600_000, 9_999_000, 9_999_999, 20_000_000].map(|passed| (passed, 40)))
    {
        let warm = Warm { passed: Rate(passed), failed: Rate(passed + near.failed.0 - near.passed.0) };
        let settings = SearchSettings { warm: Some(warm), ..settings() };
        let result = forwarding(&mut logged(Truth::new(CAPACITY, CAPACITY)), &settings, None);
        recovers(&result);
        assert!(result.trials <= most, "{} trials from {passed}", result.trials);
    }
}

/// Ends of the search, and a device that passes nothing.
#[test]
fn a_warm_start_ends_where_a_cold_one_does() {
    let warm = Some(Warm { passed: Rate(1_000), failed: Rate(2_000) });
    let settings = SearchSettings { warm, lo: Rate(100), ..settings() };
    let top = forwarding(&mut logged(Truth::new(Rate(20_000_000), CAPACITY)), &settings, None);
    assert_eq!((top.kind, top.rate), (ResultKind::AtUpperLimit, Rate(10_000_000)));
    let all_lost = Truth { loss: Ratio::from_ppm(500_000), ..Truth::new(CAPACITY, CAPACITY) };
    let none = forwarding(&mut logged(all_lost), &settings, None);
    assert_eq!((none.kind, none.rate), (ResultKind::NoRate, Rate(0)));
}

#[test]
fn trials_that_end_early_change_no_result() {
    let settings = SearchSettings { early_end: true, ..settings() };
    let mut dut = logged(Truth::new(CAPACITY, CAPACITY));
    let result = forwarding(&mut dut, &settings, None);
    let full =
        forwarding(&mut logged(Truth::new(CAPACITY, CAPACITY)), &SearchSettings { early_end: false, ..settings }, None);
    assert_eq!((result.rate, result.error, result.kind), (full.rate, full.error, full.kind));
    assert!(result.evidence.ended_early >= 3, "{}", result.evidence.ended_early);
    let seconds = |log: &[(TrialSpec, TrialOutcome)]| log.iter().map(|(_, o)| o.wall.0).sum::<u64>() / 1_000_000_000;
    assert!(seconds(&dut.log) < full.trials * 50);
    for (spec, outcome) in &dut.log {
        let ended = outcome.observed.ended_early.is_some();
        assert!(!ended || matches!(judge(spec, outcome, &Criteria::default()), Verdict::Fail(_)));
        // A trial that passes is never short.
        assert_eq!(
            ended,
            outcome.forward.sent < outcome.forward.planned || outcome.reverse.sent < outcome.reverse.planned
        );
    }
}

/// A loss that noise may have touched proves nothing: the trial is repeated at full length.
#[test]
fn an_early_end_under_noise_is_repeated_at_full_length() {
    let mut stalled = 0;
    let mut dut = altered(SimulatedDut::new(Truth::new(CAPACITY, CAPACITY), 1), |_, spec, outcome| {
        if spec.options.early_end.is_some() && outcome.observed.ended_early.is_some() {
            stalled += 1;
            (outcome.host.tester_stall, outcome.host.tester_stalled) = (Nanos::from_secs(60), Nanos::from_secs(60));
        }
    });
    let result = forwarding(&mut dut, &SearchSettings { early_end: true, ..settings() }, None);
    recovers(&result);
    assert!(stalled >= 3);
    assert_eq!(result.evidence.ended_early, stalled);
    assert!(
        result.trace.iter().filter(|step| step.verdict == StepVerdict::Fail).all(|s| s.trials == 2 || s.invalid == 0)
    );
}

#[test]
fn frames_on_their_way_end_no_trial() {
    let early = EarlyEnd { acceptance: Ratio::ONE };
    let most = early.missing_at_most(60_000_000, Pace::from(Rate(1_000_000)));
    assert_eq!(most, 100_000);
    assert!(!EarlyEnd::is_lost(1_000_000, 900_000, most) && EarlyEnd::is_lost(1_000_000, 870_000, most));
    let tolerant = EarlyEnd { acceptance: Ratio::from_ppm(500_000) };
    assert_eq!(tolerant.missing_at_most(60_000_000, Pace::from(Rate(1_000_000))), 30_100_000);
}

/// ETSI GS NFV-TST 009: a loss above Z decides at once.
#[test]
fn a_large_loss_is_not_verified() {
    let trials_of_fails = |at_most| {
        let settings = SearchSettings { verify: Some(Verify { tries: 3, at_most }), ..settings() };
        let result = forwarding(&mut logged(Truth::new(CAPACITY, CAPACITY)), &settings, None);
        recovers(&result);
        result.trace.iter().filter(|s| s.verdict == StepVerdict::Fail).map(|s| (s.lost, s.trials)).collect::<Vec<_>>()
    };
    assert!(trials_of_fails(None).iter().all(|&(_, trials)| trials == 3));
    let limited = trials_of_fails(Some(1_000_000));
    assert!(limited.iter().all(|&(lost, trials)| trials == if lost > 1_000_000 { 1 } else { 3 }));
    assert!(limited.iter().any(|&(_, trials)| trials == 1) && limited.iter().any(|&(_, trials)| trials == 3));
}

const PHASE2: Option<Phase2> = Some(Phase2 { connections: N, phase1_rate: Rate(200_000) });

#[test]
fn a_kept_table_has_one_phase_1_and_a_proof() {
    let settings = SearchSettings { keep_table: true, ..settings() };
    let mut dut = logged(Truth::new(CAPACITY, CAPACITY));
    let result = forwarding(&mut dut, &settings, PHASE2);
    recovers(&result);
    let kept = result.evidence.kept_table.unwrap();
    assert!(kept.is_proven() && kept.phases1 == 1 && kept.sampled == 10_000, "{kept:?}");
    let emptied: Vec<bool> = dut.log.iter().map(|(spec, _)| !spec.keep_table).collect();
    assert!(emptied[0] && emptied[1..].iter().all(|emptied| !emptied));
    for at in [0, dut.log.len() - 1] {
        assert_eq!(dut.log[at].0.direction, Direction::Reverse);
    }
    // Without connections there is no table.
    assert!(forwarding(&mut logged(Truth::new(CAPACITY, CAPACITY)), &settings, None).evidence.kept_table.is_none());
}

#[test]
fn a_table_that_loses_connections_is_no_upper_bound() {
    let truth = Truth { forgets: 2_000, ..Truth::new(CAPACITY, CAPACITY) };
    let settings = SearchSettings { keep_table: true, direction: Direction::Forward, ..settings() };
    let result = forwarding(&mut logged(truth), &settings, PHASE2);
    let kept = result.evidence.kept_table.unwrap();
    assert!(!kept.is_proven() && kept.lost_after > 0 && kept.entries_after < kept.entries_before, "{kept:?}");
    assert_eq!(result.kind, ResultKind::TesterLimit);
    assert!(matches!(result.tester_limit, Some(Invalid::TableNotKept { .. })));
}

/// A resumed search has an empty table: it opens the connections again.
#[test]
fn an_interrupted_kept_table_is_opened_again() {
    struct Restarted(SimulatedDut, usize);
    impl Trials for Restarted {
        fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
            self.1 += 1;
            if self.1 == 6 {
                self.0 = SimulatedDut::new(self.0.truth.clone(), 1);
            }
            self.0.run(spec)
        }
    }
    let mut dut = Restarted(SimulatedDut::new(Truth::new(CAPACITY, CAPACITY), 1), 0);
    let result = forwarding(&mut dut, &SearchSettings { keep_table: true, ..settings() }, PHASE2);
    recovers(&result);
    assert_eq!(result.evidence.kept_table.unwrap().phases1, 2);
}

#[test]
fn the_limit_of_validation_is_nine_tenths_of_the_reverse_throughput() {
    let truth = Truth { reverse_capacity: Rate(150_000), ..Truth::new(CAPACITY, Rate(200_000)) };
    let mut dut = logged(truth);
    let cap = validation::measure(&mut dut, &settings(), PHASE2.unwrap(), &mut |_| ()).unwrap();
    assert!(cap.reverse <= Rate(150_000) && cap.reverse.0 > 147_000, "{}", cap.reverse);
    assert_eq!(cap.cap, Rate(cap.reverse.0 * 9 / 10));
    assert!(dut.log.iter().all(|(spec, _)| spec.direction == Direction::Reverse) && cap.trials == dut.log.len() as u64);
    assert!(cap.beside(Rate(200_000), Ratio::ONE).limited);
    let later = cap.again().beside(Rate(100_000), Ratio::ONE);
    assert!(!later.limited && later.trials == 0 && later.cap == cap.cap);
    let dead = Truth { reverse_capacity: Rate(0), ..Truth::new(CAPACITY, Rate(200_000)) };
    assert!(validation::measure(&mut logged(dead), &settings(), PHASE2.unwrap(), &mut |_| ()).is_err());
}

const TABLE: u64 = 123_456;

fn known(truth: Truth, policy: FullTablePolicy, rate: u64) -> SearchResult {
    let keys = Capacity { from: None, error: 1, beta_ppm: 200_000, gamma_ppm: 400_000, policy: Some(policy) };
    let (keys, settings) = (Keys::of_table(keys), SearchSettings { alpha: Some(Ratio::ONE), ..settings() });
    let all = Phase2 { connections: 1_000_000, phase1_rate: Rate(rate) };
    let context = Context::new(&CONN_TABLE_CAPACITY, &keys, &settings).with(all);
    context.measure(&mut SimulatedDut::new(truth, 1)).unwrap()
}

#[test]
fn one_run_shows_the_capacity_of_a_known_policy() {
    let truth = |when_full| Truth { table_size: TABLE, when_full, ..Truth::new(CAPACITY, Rate(200_000)) };
    for (when_full, policy) in
        [(WhenFull::KeepOld, FullTablePolicy::RefuseNew), (WhenFull::ReplaceOldest, FullTablePolicy::DropOldest)]
    {
        let result = known(truth(when_full), policy, 100_000);
        assert_eq!(
            (result.rate, result.error, result.kind),
            (Rate(TABLE), Rate(0), ResultKind::Observed),
            "{policy:?}"
        );
        assert_eq!(result.trials, 2);
    }
    for at_once in [1, 8, 1_000] {
        let result = known(truth(WhenFull::Collect(at_once)), FullTablePolicy::Collect(at_once), 100_000);
        assert!(result.rate.0 <= TABLE && TABLE <= result.rate.0 + result.error.0 && result.error.0 == at_once - 1);
    }
    let large = Truth { table_size: 2_000_000, ..truth(WhenFull::KeepOld) };
    let result = known(large, FullTablePolicy::RefuseNew, 100_000);
    assert_eq!((result.rate, result.kind), (Rate(1_000_000), ResultKind::AtUpperLimit));
}

/// Above the set-up rate frames are lost for another reason than a full table.
#[test]
fn a_rate_that_is_too_high_is_not_taken_for_a_full_table() {
    let truth = Truth { table_size: TABLE * 4, ..Truth::new(CAPACITY, Rate(200_000)) };
    let result = known(truth.clone(), FullTablePolicy::RefuseNew, 1_000_000);
    assert_eq!((result.rate, result.kind), (Rate(TABLE * 4), ResultKind::Observed));
    let result = known(truth, FullTablePolicy::RefuseNew, 100_000_000);
    assert!(result.kind != ResultKind::Observed || result.rate.0 == TABLE * 4, "{} {:?}", result.rate, result.kind);
}
