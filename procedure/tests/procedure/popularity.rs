//! Popularity of connections: a device whose cache holds a few of them is faster where these have most of the frames.

use crate::fixture::up_to;
use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth};
use method::trial::{Exponent, Popularity};
use method::{Rate, Ratio, SearchSettings, TrialOptions};
use procedure::throughput::measure;

/// The throughput of a device of 100,000 frames per second with 1,000 of 100,000 connections in its cache; with all others it
/// has a quarter of that.
fn throughput(popularity: Popularity) -> u64 {
    let truth = Truth { cache: Some((1_000, Ratio::new(1, 4).unwrap())), ..Truth::new(Rate(100_000), Rate(1_000_000)) };
    let settings =
        SearchSettings { options: TrialOptions { popularity, ..TrialOptions::default() }, ..up_to(1_000_000) };
    let phase2 = Phase2 { connections: 100_000, phase1_rate: Rate(100_000) };
    measure(&mut SimulatedDut::new(truth, 1), &settings, Some(phase2), &mut |_| ()).unwrap().rate.0
}

#[test]
fn the_rate_is_that_of_the_hits_in_the_cache() {
    // 1 % hits: 100,000 / (0.01 + 0.99 * 4) = 25,188.
    let uniform = throughput(Popularity::Uniform);
    assert!((25_160..=25_188).contains(&uniform), "{uniform}");
    // H(1,000) / H(100,000) = 7.48547 / 12.09015 = 0.61914 hits: 100,000 / (0.61914 + 0.38086 * 4) = 46,676.
    let zipf = throughput(Popularity::Zipf(Exponent::of_thousandths(1_000).unwrap()));
    assert!((46_620..=46_680).contains(&zipf), "{zipf}");
}
