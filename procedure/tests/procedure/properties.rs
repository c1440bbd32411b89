//! Properties of every search, tested with random devices and settings.

use crate::fixture::{establish, within};
use method::search::StepVerdict;
use method::simulated::{SimulatedDut, Truth};
use method::{
    Attempt, Criteria, Decision, Judgement, Nanos, Patience, Precision, Rate, Ratio, ResultKind, SearchResult, Trials,
    Verdict, judge, search::binary,
};
use procedure::throughput;
use proptest::prelude::*;

/// Every rate in a result was tried, and its verdict in the result is that of the trial.
fn is_honest(result: &SearchResult) -> Result<(), TestCaseError> {
    let passed: Vec<Rate> =
        result.trace.iter().filter(|s| s.verdict == StepVerdict::Pass && !s.after).map(|s| s.rate).collect();
    match result.kind {
        ResultKind::NothingPassed | ResultKind::NothingMeasured | ResultKind::Below => {
            prop_assert!(passed.is_empty() && result.rate == Rate(0));
        }
        ResultKind::NoRate => {
            prop_assert!(result.rate == Rate(0) && result.evidence.no_rate.is_some());
            return Ok(());
        }
        ResultKind::Strict => {
            let strict = result.strict.expect("a result of these rules has a strict result");
            prop_assert!(passed.is_empty() && result.rate == strict.rate && !strict.decided);
            return Ok(());
        }
        ResultKind::Exact | ResultKind::Between | ResultKind::AtUpperLimit => {
            prop_assert!(passed.contains(&result.rate));
        }
        ResultKind::Observed => prop_assert!(false, "a search has bounds"),
        ResultKind::TesterLimit | ResultKind::HostLimit => {
            prop_assert!(result.rate == Rate(0) || passed.contains(&result.rate));
        }
    }
    prop_assert_eq!(passed.into_iter().max().unwrap_or_default(), result.rate);
    if matches!(result.kind, ResultKind::Exact | ResultKind::Between | ResultKind::Below) {
        let bound = Rate(result.rate.0 + result.error.0);
        prop_assert!(result.trace.iter().any(|s| s.rate == bound && s.verdict == StepVerdict::Fail));
    }
    prop_assert_eq!(result.trials, result.trace.iter().map(|s| s.trials).sum::<u64>());
    Ok(())
}

/// A judgement of a synthetic trial.
fn judgement(rate: Rate, passes: bool) -> Judgement {
    let mut device = SimulatedDut::new(Truth::new(Rate(if passes { u64::MAX } else { 1 }), Rate(1)), 0);
    let spec = method::TrialSpec {
        direction: method::Direction::Forward,
        ..method::TrialSpec::stateless(rate, method::Load::For(Nanos::from_secs(60)))
    };
    let outcome = device.run(&spec).unwrap();
    let verdict = judge(&spec, &outcome, &Criteria::default());
    let decision = match verdict.clone() {
        Verdict::Pass => Decision::Pass,
        Verdict::Fail(failure) => Decision::Fail(failure),
        Verdict::Invalid(reason) if reason.spoiler() == method::Spoiler::Host => Decision::HostBound(reason),
        Verdict::Invalid(reason) => Decision::TesterBound(reason),
    };
    Judgement { decision, attempts: vec![Attempt { spec, outcome, verdict }] }
}

proptest! {
    #[test]
    fn a_steady_device_is_bracketed(capacity in 1u64..50_000_000, hi in 2u64..50_000_000, error in 1u64..10_000) {
        let mut dut = SimulatedDut::new(Truth::new(Rate(capacity), Rate(1)), 0);
        let result = throughput::measure(&mut dut, &within(hi, error), None, &mut |_| ()).unwrap();
        is_honest(&result)?;
        if capacity >= hi {
            prop_assert_eq!((result.kind, result.rate), (ResultKind::AtUpperLimit, Rate(hi)));
        } else {
            prop_assert!(result.error.0 <= error);
            prop_assert!(result.rate.0 <= capacity && capacity < result.rate.0 + result.error.0);
        }
    }

    #[test]
    fn set_up_rate_is_bracketed(setup in 1_000u64..5_000_000, n in 1_000_000u64..4_000_000_000) {
        let mut dut = SimulatedDut::new(Truth::new(Rate(10_000_000), Rate(setup)), 0);
        let result = establish(&mut dut, &within(8_000_000, 100), n).unwrap();
        is_honest(&result)?;
        // A rate that is too high by less than one frame in N cannot be told from the truth.
        let blur = setup / n + 1;
        prop_assert!(result.rate.0 <= setup + blur && setup < result.rate.0 + result.error.0 + blur);
    }

    #[test]
    fn trouble_never_makes_a_result_dishonest(
        seed: u64,
        jitter in 0u64..200_000,
        loss in 0u64..3,
        stalls in 0u64..1_000_000,
        drops in 0u64..1_000_000,
        ceiling in 100_000u64..20_000_000,
        closed: bool,
    ) {
        let truth = Truth {
            jitter: Ratio::from_ppm(jitter),
            loss: Ratio::new(loss, 100_000_000).unwrap(),
            host_stalls: Ratio::from_ppm(stalls),
            tester_drops: Ratio::from_ppm(drops),
            tester_ceiling: Rate(ceiling),
            dut_loop: if closed { method::Loop::Closed } else { method::Loop::Open },
            ..Truth::new(Rate(1_000_000), Rate(1))
        };
        let mut dut = SimulatedDut::new(truth, seed);
        let result = throughput::measure(&mut dut, &within(10_000_000, 1_000), None, &mut |_| ()).unwrap();
        is_honest(&result)?;
        // Never above the capacity of DUT and tester, except for the allowed lateness.
        prop_assert!(result.rate.0 <= 1_200_000u64.min(ceiling + ceiling / 90_000 + 1));
    }

    #[test]
    fn a_device_without_order_still_gives_a_rate_that_passed(
        lo in 0u64..1_000, above in 1u64..1_000_000, error in 1u64..100, verdicts in any::<u64>(),
    ) {
        let (lo, hi) = (Rate(lo), Rate(lo + above));
        let decide = |rate: Rate, _: Patience| {
            Ok(judgement(rate, (verdicts >> (rate.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)) & 1 == 1))
        };
        let how = Precision::Absolute(Rate(error));
        let result = binary::search(None, (lo, hi), (Rate(0), Rate(0)), (how, binary::never), decide, &mut |_| ()).unwrap();
        is_honest(&result)?;
        prop_assert!(result.trace.len() <= 2 + (u64::BITS - (above / error).leading_zeros()) as usize + 1);
    }

    #[test]
    fn the_same_seed_gives_the_same_result(seed: u64, loss in 0u64..5) {
        let truth = Truth {
            jitter: Ratio::from_ppm(30_000),
            loss: Ratio::new(loss, 1_000_000_000).unwrap(),
            host_stalls: Ratio::from_ppm(300_000),
            ..Truth::new(Rate(1_000_000), Rate(1))
        };
        let dut = SimulatedDut::new(truth, seed);
        let run = |mut dut: SimulatedDut| throughput::measure(&mut dut, &within(10_000_000, 100), None, &mut |_| ());
        prop_assert_eq!(run(dut.clone()), run(dut));
    }
}
