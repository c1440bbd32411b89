//! Overload scalability: the degradation of a device of known truth.

use crate::fixture::{listening, up_to};
use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth};
use method::{Nanos, Rate, Ratio, ResultKind, SearchResult, TrialError, Trials};
use procedure::overload::{OVERLOAD_SCALABILITY, OverloadScalability};
use procedure::{Context, Keys};

fn search(trials: &mut dyn Trials, flows: u64, interval: Option<Nanos>, hi: u64) -> Result<SearchResult, TrialError> {
    let (settings, keys) = (up_to(hi), Keys::of_table(OverloadScalability { flows, interval }));
    let all = Phase2 { connections: 100_000, phase1_rate: Rate(100_000) };
    Context::new(&OVERLOAD_SCALABILITY, &keys, &settings).with(all).measure(trials)
}

/// 1,000 connections fit into the cache: with one flow it forwards 100,000 frames per second. With 100,000 flows 1 % of the frames
/// hit, and the others take four times as long: 25,188, which is 74.812 % less.
fn cached() -> SimulatedDut {
    let truth = Truth { cache: Some((1_000, Ratio::new(1, 4).unwrap())), ..Truth::new(Rate(100_000), Rate(1_000_000)) };
    SimulatedDut::new(truth, 1)
}

#[test]
fn the_degradation_is_that_of_the_cache() {
    let found = search(&mut cached(), 1, None, 1_000_000).unwrap();
    assert_eq!(found.kind, ResultKind::Observed);
    let [few, all, degradation] =
        ["overload_throughput_few", "overload_throughput_all", "overload_degradation"].map(|key| found.parts[key]);
    assert!((99_900..=100_000).contains(&few), "{few}");
    assert!((25_160..=25_188).contains(&all), "{all}");
    assert!((747_500..749_000).contains(&degradation), "{degradation}");
    let flows: Vec<u64> = found.trace.iter().filter_map(|step| step.connections).collect();
    assert!(flows.is_sorted() && flows.first() == Some(&1) && flows.last() == Some(&100_000));
    // As many flows as the cache holds are as fast as one.
    let of_thousand = search(&mut cached(), 1_000, None, 1_000_000).unwrap().parts["overload_throughput_few"];
    assert!((99_900..=100_000).contains(&of_thousand));
}

/// A device forwards 100,000 frames per second of up to 1,000 flows and 25,188 of 100,000 flows; of flows that begin one after the
/// other, too: the rate is highest when all have begun.
#[test]
fn flows_that_begin_one_after_the_other_have_the_same_degradation() {
    let mut device = listening(cached());
    let found = search(&mut device, 1, Some(Nanos::from_millis(1)), 1_000_000).unwrap();
    let all = found.parts["overload_throughput_all"];
    assert!((25_160..=25_188).contains(&all), "{all}");
    // 60 s with all flows, after 99,999 intervals.
    let longest =
        device.log.iter().map(|(spec, outcome)| outcome.forward.send_time.min(spec.send_time())).max().unwrap();
    assert!((Nanos::from_millis(159_998)..Nanos::from_millis(160_100)).contains(&longest), "{longest:?}");
}

#[test]
fn a_bound_has_no_degradation() {
    let found = search(&mut cached(), 1, None, 50_000).unwrap();
    assert_eq!(found.kind, ResultKind::NothingMeasured, "with one flow the upper end passed");
    assert!(found.parts.is_empty());
}
