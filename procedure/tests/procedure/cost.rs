//! Claims about searches over 200 seeds on the simulated clock: their results are within their width of the truth, or inside a
//! soft edge, and they cost what docs/performance.md says.

#[path = "../../examples/search_cost/model.rs"]
mod model;

use method::stats::median_of;
use method::{ResultKind, SearchResult};
use model::{CAPACITY, Device, Way, devices, hard, one_in_a_million, outside, repeat};

const SEEDS: u64 = 200;

fn results(way: Way, device: &Device, repetitions: u32) -> Vec<SearchResult> {
    (1..=SEEDS).flat_map(|seed| repeat(way, device, repetitions, seed).0).collect()
}

#[test]
fn results_are_within_their_width_of_the_truth() {
    for device in devices() {
        for way in Way::ALL {
            for result in results(way, &device, 3) {
                let off = outside(&device, result.rate);
                assert!(off == 0.0, "{}, {}: {} is off by {off}", device.name, way.name(), result.rate);
                assert_eq!(result.kind, ResultKind::Exact);
            }
        }
    }
}

/// The median of what saves time differs from that of plain binary searches by less than a tenth of a soft edge and the width; of
/// MLRsearch, whose goal tolerates no bad trial at a load, by less than half of the edge.
#[test]
fn saving_time_does_not_move_the_median_of_a_soft_edge() {
    for device in devices().iter().filter(|device| device.tolerated_ppm == 0) {
        let median = |way: Way| {
            let mut rates: Vec<f64> = results(way, device, 5).iter().map(|result| result.rate.0 as f64).collect();
            rates.sort_by(f64::total_cmp);
            median_of(&rates).unwrap()
        };
        let (edge, width) = (device.between.1 - device.between.0, CAPACITY.0 as f64 / 1_000.0);
        let plain = median(Way::Binary);
        for (way, part) in [(Way::EarlyEnd, 0.0), (Way::Warm, 0.1), (Way::Mlr, 0.5)] {
            let off = (median(way) - plain).abs();
            assert!(off <= part * edge + width, "{}, {}: {off}", device.name, way.name());
        }
    }
}

/// A device that loses one frame in a million fails every trial of a minute above a small rate, which is none of its rates.
#[test]
fn a_strict_search_of_a_lossy_device_has_no_rate() {
    for way in [Way::Binary, Way::Mlr] {
        let results = results(way, &one_in_a_million(), 1);
        let without = results.iter().filter(|result| result.kind == ResultKind::NoRate).count();
        assert!(without * 100 >= results.len() * 94, "{}: {without} of {}", way.name(), results.len());
    }
}

/// Ten repetitions of a throughput in at most a third of the trial time of ten plain binary searches.
#[test]
fn mlr_and_warm_starts_take_a_third_of_the_time() {
    let cost = |way: Way| repeat(way, &hard(), 10, 1).1;
    let plain = cost(Way::Binary);
    for way in [Way::Mlr, Way::Warm] {
        let cost = cost(way);
        assert!(cost.sending * 3.0 <= plain.sending, "{}: {} s", way.name(), cost.sending);
    }
    assert!(cost(Way::Warm).whole * 3.0 <= plain.whole && cost(Way::Warm).trials * 3 <= plain.trials);
    assert!(cost(Way::EarlyEnd).sending < plain.sending * 0.7 && cost(Way::EarlyEnd).trials == plain.trials);
}
