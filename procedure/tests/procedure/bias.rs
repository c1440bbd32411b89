//! Bias of the rules of validity: mean results of searches on a noisy host, compared with those on a quiet host, for
//! simulated devices whose loss begins at one rate (hard edge) or over several percent of rate (soft edge).

use crate::fixture::within;
use method::simulated::{SimulatedDut, Truth};
use method::{Nanos, Rate, Ratio, ResultKind, SearchSettings};
use procedure::throughput;

const CAPACITY: u64 = 1_000_000;
const RESOLUTION: u64 = 5_000;
const SEEDS: u64 = 200;
/// Share of the noisy trials in which the noise costs frames.
const HARMFUL: u64 = 200_000;

/// Searches from an upper end that depends on the seed, so that the rates tried differ. A trial takes 100 ms. A stall
/// takes 2 ms; a harmful one costs a quarter of the frames due in it, 0.5 % of the trial. Over the edge, a device loses
/// the frames above its capacity, which varies evenly over the edge from trial to trial.
fn rate(edge: u64, noise: u64, seed: u64) -> u64 {
    let truth = Truth {
        jitter: Ratio::from_ppm(edge / 2),
        host_stalls: Ratio::from_ppm(noise),
        harmful_stalls: Ratio::from_ppm(HARMFUL),
        ..Truth::new(Rate(CAPACITY), Rate(1))
    };
    let settings = SearchSettings {
        lo: Rate(CAPACITY / 2),
        duration: Nanos::from_millis(100),
        ..within(CAPACITY * 3 / 2 + seed * CAPACITY / 10 / SEEDS, RESOLUTION)
    };
    let result = throughput::measure(&mut SimulatedDut::new(truth, seed), &settings, None, &mut |_| ()).unwrap();
    assert!(matches!(result.kind, ResultKind::Exact | ResultKind::Between), "{result:?}");
    result.rate.0
}

fn mean(edge: u64, noise: u64) -> f64 {
    (0..SEEDS).map(|seed| rate(edge, noise, seed)).sum::<u64>() as f64 / SEEDS as f64
}

/// The mean on a noisy host is higher than that on a quiet one by at most half a resolution, and lower by at most one
/// resolution or half the edge (methodology of validity, known truth).
#[test]
fn host_noise_shifts_the_mean_result_by_less_than_the_searchs_resolution() {
    for edge in [0, 5_000, 20_000, 50_000] {
        let quiet = mean(edge, 0);
        for noise in [300_000, 800_000] {
            let shift = mean(edge, noise) - quiet;
            println!("edge {edge} ppm, noise {noise} ppm: {:+.2} %", 100.0 * shift / CAPACITY as f64);
            let half_edge = (edge * CAPACITY / 2_000_000) as f64;
            assert!(shift <= RESOLUTION as f64 / 2.0, "edge {edge}, noise {noise}: {shift:+}");
            assert!(-shift <= half_edge.max(RESOLUTION as f64), "edge {edge}, noise {noise}: {shift:+}");
        }
    }
}
