//! Known truth over many seeds: what is injected into a simulated device is what a procedure finds.

use crate::fixture::establish;
use key::quantity::WrittenRate;
use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth, WhenFull};
use method::{
    Criteria, Fault, Leg, Load, Nanos, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialSpec, Trials,
};
use procedure::capacity::{CONN_TABLE_CAPACITY, Capacity};
use procedure::frame_loss::{FRAME_LOSS_RATE, FrameLoss, loss_ppm};
use procedure::{Context, Keys};

const SEEDS: u64 = 200;

fn lossy(ppm: u64, seed: u64) -> SearchResult {
    let truth = Truth { loss: Ratio::from_ppm(ppm), ..Truth::new(Rate(2_000_000), Rate(1)) };
    let settings = SearchSettings { hi: Rate(1_000_000), duration: Nanos::from_secs(60), ..SearchSettings::default() };
    let keys = Keys::of_table(FrameLoss { step_ppm: 1, loads: Some(vec![WrittenRate::Frames(1_000_000)]) });
    Context::new(&FRAME_LOSS_RATE, &keys, &settings).measure(&mut SimulatedDut::new(truth, seed)).unwrap()
}

/// A trial of 60 s at a million frames per second finds a loss of 10^-6 to 10^-2: no bias over all seeds, and the spread of a
/// binomial distribution.
#[test]
fn a_random_loss_is_found_without_bias() {
    for ppm in [1, 10, 100, 1_000, 10_000] {
        let (mut lost, mut sent, mut near) = (0, 0, 0);
        for seed in 0..SEEDS {
            let result = lossy(ppm, seed);
            let step = &result.trace[0];
            let mean = step.sent as f64 * ppm as f64 / 1e6;
            let off = (step.lost as f64 - mean).abs() / mean.sqrt();
            assert!(off < 5.0, "{ppm} ppm, seed {seed}: {} lost of {}", step.lost, step.sent);
            assert_eq!(result.kind, ResultKind::Observed);
            assert_eq!(result.rate.0, loss_ppm(step.lost, step.sent));
            near += u32::from(off < 1.96);
            (lost, sent) = (lost + step.lost, sent + step.sent);
        }
        let mean = sent as f64 * ppm as f64 / 1e6;
        assert!((lost as f64 - mean).abs() < 4.0 * mean.sqrt(), "{ppm} ppm: {lost} lost of {sent}");
        // 95 % of 200 are 190, with a standard deviation of 3.
        assert!((178..=SEEDS as u32).contains(&near), "{ppm} ppm: {near} of {SEEDS} within 1.96 standard deviations");
    }
}

/// Tables of 100,000 to 8.7 million entries, with the noise of devices and hosts: the capacity is exact for all policies.
#[test]
fn table_sizes_are_exact_whatever_a_full_table_does() {
    let settings =
        SearchSettings { hi: Rate(3_000_000), alpha: Some(Ratio::from_ppm(500_000)), ..SearchSettings::default() };
    let keys = Capacity { from: Some(50_000), error: 1, beta_ppm: 200_000, gamma_ppm: 400_000, policy: None };
    let keys = Keys::of_table(keys);
    let all = Phase2 { connections: 10_000_000, phase1_rate: Rate(1) };
    let context = Context::new(&CONN_TABLE_CAPACITY, &keys, &settings).with(all);
    for seed in 0..SEEDS {
        let table_size = 100_000 + seed * seed * 217 + seed;
        for when_full in [WhenFull::KeepOld, WhenFull::ReplaceOldest, WhenFull::Collect(1 + seed * 50)] {
            let truth = Truth {
                table_size,
                when_full,
                jitter: Ratio::from_ppm(5_000),
                host_stalls: Ratio::from_ppm(50_000),
                ..Truth::new(Rate(5_000_000), Rate(1_000_000))
            };
            let result = context.measure(&mut SimulatedDut::new(truth, seed)).unwrap();
            let found = (result.kind, result.rate.0, result.error);
            assert_eq!(found, (ResultKind::Exact, table_size, Rate(1)), "seed {seed}, {when_full:?}");
        }
    }
}

/// Returns the entries that this policy leaves of `opened` connections in a table of 1,000, seen by validation.
fn validated(when_full: WhenFull, opened: u64) -> u64 {
    let truth = Truth { table_size: 1_000, when_full, ..Truth::new(Rate(1_000_000), Rate(1_000_000)) };
    let spec = TrialSpec { validate_rate: Some(Rate(1_000)), ..TrialSpec::establish(Rate(1_000), opened) };
    let outcome = SimulatedDut::new(truth, 1).run(&spec).unwrap();
    outcome.validation.map_or(0, |leg| leg.received)
}

#[test]
fn a_full_table_keeps_what_its_policy_says() {
    let left = |when_full| [1_000, 1_001, 1_002, 1_100, 1_101, 2_000].map(|opened| validated(when_full, opened));
    // Refused connections leave phase 1 incomplete, so that nothing is validated.
    assert_eq!(left(WhenFull::KeepOld), [1_000, 0, 0, 0, 0, 0]);
    assert_eq!(left(WhenFull::ReplaceOldest), [1_000; 6]);
    assert_eq!(left(WhenFull::Collect(100)), [1_000, 901, 902, 1_000, 901, 1_000]);
    assert_eq!(left(WhenFull::Collect(1)), [1_000; 6]);
    assert_eq!(left(WhenFull::Collect(5_000)), [1_000, 1, 2, 100, 101, 1_000]);
}

/// One trial of 10 s at 1 M frames/s in both directions.
fn of_data(truth: Truth) -> Leg {
    let spec = TrialSpec::stateless(Rate(1_000_000), Load::For(Nanos::from_secs(10)));
    SimulatedDut::new(truth, 1).run(&spec).unwrap().forward
}

#[test]
fn injected_faults_are_counted_by_kind() {
    let share = Ratio::from_ppm(1_000);
    let good = Truth::new(Rate(2_000_000), Rate(1));
    let near = |n: u64| n.abs_diff(10_000) < 500;
    let corrupted = of_data(Truth { corrupted: share, ..good.clone() });
    assert!(near(corrupted.faults.get(Fault::BadChecksum)));
    assert_eq!(corrupted.received + corrupted.faults.total(), corrupted.sent);
    let duplicated = of_data(Truth { duplicated: share, ..good.clone() });
    assert!(near(duplicated.faults.get(Fault::Duplicate)) && duplicated.received == duplicated.sent);
    let reordered = of_data(Truth { reordered: share, ..good.clone() });
    assert!(near(reordered.reordered) && reordered.received == reordered.sent);
    // A stall of 3 ms at 1 M frames/s, of which a queue of 1,000 frames absorbs a third.
    let stalled = of_data(Truth { stall: Nanos::from_millis(3), queue: 1_000, ..good });
    assert_eq!(stalled.lost(), 2_000);
}

/// A device that stalls for s in each phase 1 loses R·s − B frames. With a tolerance A, the highest rate is (A·N + B) / s, so that
/// it rises with the number of connections N; with none it is B / s at each. A part of a frame is not lost: a rate may be 1 / s higher.
#[test]
fn a_tolerance_makes_the_rate_of_a_stalling_device_rise_with_the_connections() {
    let found = |connections, tolerated: u64| {
        let truth = Truth { stall: Nanos(500_000), queue: 150, ..Truth::new(Rate(5_000_000), Rate(2_000_000)) };
        let share = Ratio::from_ppm(1_000_000 - tolerated);
        let criteria = Criteria { acceptance: share, phase1_acceptance: share };
        let settings = SearchSettings { hi: Rate(4_000_000), criteria, ..SearchSettings::default() };
        establish(&mut SimulatedDut::new(truth, 1), &settings, connections).unwrap().rate.0
    };
    for connections in [1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000] {
        let expected = ((connections / 10_000 + 150) * 2_000).min(2_000_000);
        let rate = found(connections, 100);
        assert!(rate.abs_diff(expected) <= 2_001 + expected / 1_000, "{connections}: {rate}, not {expected}");
        let strict = found(connections, 0);
        assert!(strict.abs_diff(300_000) <= 2_301, "{connections}: {strict}");
    }
}
