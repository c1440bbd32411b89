//! Overload scalability: the degradation of a device of known truth.

use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth};
use method::{
    Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError, TrialOutcome, TrialSpec,
    Trials,
};
use procedure::overload::{OVERLOAD_SCALABILITY, OverloadScalability};
use procedure::{Context, Keys};

fn search(truth: Truth, few: u64, hi: u64) -> Result<SearchResult, TrialError> {
    let settings = SearchSettings {
        hi: Rate(hi),
        precision: Precision::Relative(Ratio::from_ppm(1_000)),
        ..SearchSettings::default()
    };
    let all = Phase2 { connections: 100_000, phase1_rate: Rate(100_000) };
    let keys = Keys::of_table(OverloadScalability { flows: few, interval: None });
    Context::new(&OVERLOAD_SCALABILITY, &keys, &settings).with(all).measure(&mut SimulatedDut::new(truth, 1))
}

/// 1,000 connections fit into the cache: with one flow it forwards 100,000 frames per second. With 100,000 flows 1 % of the frames
/// hit, and the others take four times as long: 25,188, which is 74.812 % less.
fn cached() -> Truth {
    Truth { cache: Some((1_000, Ratio::new(1, 4).unwrap())), ..Truth::new(Rate(100_000), Rate(1_000_000)) }
}

#[test]
fn the_degradation_is_that_of_the_cache() {
    let found = search(cached(), 1, 1_000_000).unwrap();
    assert_eq!(found.kind, ResultKind::Observed);
    let [few, all, degradation] =
        ["overload_throughput_few", "overload_throughput_all", "overload_degradation"].map(|key| found.parts[key]);
    assert!((99_900..=100_000).contains(&few), "{few}");
    assert!((25_160..=25_188).contains(&all), "{all}");
    assert!((747_500..749_000).contains(&degradation), "{degradation}");
    let flows: Vec<u64> = found.trace.iter().filter_map(|step| step.connections).collect();
    assert!(flows.is_sorted() && flows.first() == Some(&1) && flows.last() == Some(&100_000));
    // As many flows as the cache holds are as fast as one.
    let of_thousand = search(cached(), 1_000, 1_000_000).unwrap().parts["overload_throughput_few"];
    assert!((99_900..=100_000).contains(&of_thousand));
}

/// A device forwards 100,000 frames per second of up to 1,000 flows and 25,188 of 100,000 flows; of flows that begin one after the
/// other, too: the rate is highest when all have begun.
#[test]
fn flows_that_begin_one_after_the_other_have_the_same_degradation() {
    let settings = SearchSettings {
        hi: Rate(1_000_000),
        precision: Precision::Relative(Ratio::from_ppm(1_000)),
        ..SearchSettings::default()
    };
    let all = Phase2 { connections: 100_000, phase1_rate: Rate(100_000) };
    let mut device = SimulatedDut::new(cached(), 1);
    let keys = Keys::of_table(OverloadScalability { flows: 1, interval: Some(Nanos::from_millis(1)) });
    let mut longest = Nanos(0);
    let context = Context::new(&OVERLOAD_SCALABILITY, &keys, &settings).with(all);
    let found = context.measure(&mut Watched(&mut device, &mut longest)).unwrap();
    let all = found.parts["overload_throughput_all"];
    assert!((25_160..=25_188).contains(&all), "{all}");
    // 60 s with all flows, after 99,999 intervals.
    assert!((Nanos::from_millis(159_998)..Nanos::from_millis(160_100)).contains(&longest), "{longest:?}");
}

/// Notes how long the longest trial sends.
struct Watched<'a>(&'a mut SimulatedDut, &'a mut Nanos);

impl Trials for Watched<'_> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let outcome = self.0.run(spec)?;
        *self.1 = (*self.1).max(outcome.forward.send_time.min(spec.send_time()));
        Ok(outcome)
    }
}

#[test]
fn a_bound_has_no_degradation() {
    let found = search(cached(), 1, 50_000).unwrap();
    assert_eq!(found.kind, ResultKind::NothingMeasured, "with one flow the upper end passed");
    assert!(found.parts.is_empty());
}
