//! Losses that no rate causes, beside edges at which a rate causes them (METHODOLOGY.md, losses that no rate causes).

use crate::fixture::establish;
use method::search::mlr::Goal;
use method::search::{NoRate, SmallTable, StepVerdict};
use method::simulated::{SimulatedDut, Truth, WhenFull};
use method::trial::Fault;
use method::validity::Stream;
use method::{
    Direction, Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError, TrialOutcome,
    TrialSpec, Trials,
};
use procedure::throughput;

/// Random numbers of one search (`SplitMix64`).
struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (high - low) * ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Adds to a simulated device what it lacks: a loss that rises to 0.1 % over a part of the rates below its capacity, and
/// bursts, by which the losses of a trial below its capacity are multiplied.
struct Edge {
    device: SimulatedDut,
    capacity: f64,
    width: f64,
    share: f64,
    burst: f64,
    random: Random,
}

impl Edge {
    fn of(capacity: f64, truth: Truth, seed: u64) -> Edge {
        let device = SimulatedDut::new(truth, seed);
        Edge { device, capacity, width: 0.0, share: 0.0, burst: 0.0, random: Random(seed) }
    }

    /// Lognormal, with the mean 1.
    fn factor(&mut self) -> f64 {
        let normal = (0..12).map(|_| self.random.between(0.0, 1.0)).sum::<f64>() - 6.0;
        (self.burst * normal - self.burst * self.burst / 2.0).exp()
    }
}

impl Trials for Edge {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let above = spec.rate.0 as f64 / self.capacity - (1.0 - self.width);
        let soft = if self.width > 0.0 && above > 0.0 { (1e-3 * above / self.width).min(1e-3) } else { 0.0 };
        self.device.truth.loss = Ratio::new(((self.share + soft) * 1e12) as u64, 1_000_000_000_000).unwrap();
        let mut outcome = self.device.run(spec)?;
        if self.burst > 0.0 && spec.rate.0 as f64 <= self.capacity {
            let lost = outcome.forward.lost() as f64 * self.factor();
            outcome.forward.received = outcome.forward.sent - (lost.round() as u64).min(outcome.forward.sent);
        }
        Ok(outcome)
    }
}

fn settings(hi: f64) -> SearchSettings {
    SearchSettings {
        hi: Rate(hi as u64),
        precision: Precision::Relative(Ratio::from_ppm(10_000)),
        duration: Nanos::SECOND,
        direction: Direction::Forward,
        ..SearchSettings::default()
    }
}

fn throughput(device: &mut impl Trials, settings: &SearchSettings) -> SearchResult {
    throughput::measure(device, settings, None, &mut |_| ()).unwrap()
}

/// Trials after the search.
fn after(result: &SearchResult) -> usize {
    result.trace.iter().filter(|step| step.after).count()
}

/// Searches of devices without a flat loss that end without a rate, of `searches`.
fn false_alarms(searches: u64, width: f64, stalls: u64) -> usize {
    let alarm = |seed: &u64| {
        let mut random = Random(seed ^ 0x5eed);
        let capacity = 10f64.powf(random.between(3.5, 7.0));
        let hi = capacity * 10f64.powf(random.between(0.05, 3.0));
        let truth = Truth { host_stalls: Ratio::from_ppm(stalls), ..Truth::new(Rate(capacity as u64), Rate(1)) };
        let mut device = Edge { width, ..Edge::of(capacity, truth, *seed) };
        throughput(&mut device, &settings(hi)).kind == ResultKind::NoRate
    };
    (0..searches).filter(alarm).count()
}

/// Searches of devices that lose this share at any rate, and more at an edge 3 to 1,000 times above its reciprocal:
/// those that end without a rate, and of these those whose interval has the share. None has more than five trials more.
fn found(searches: u64, share: f64, burst: f64) -> (usize, usize) {
    let (mut found, mut covered) = (0, 0);
    for seed in 0..searches {
        let mut random = Random(seed ^ 0xf1a7);
        let capacity = (3.0 / share).max(100.0) * 10f64.powf(random.between(0.0, 2.5));
        let hi = capacity * random.between(1.05, 4.0);
        let truth = Truth::new(Rate(capacity as u64), Rate(1));
        let mut device = Edge { share, burst, ..Edge::of(capacity, truth, seed) };
        let result = throughput(&mut device, &settings(hi));
        assert!(after(&result) <= 5, "{result:?}");
        let Some(NoRate::FlatLoss(flat)) = result.evidence.no_rate else { continue };
        let [low, high] = flat[0].interval();
        found += 1;
        covered += usize::from((low..=high).contains(&share));
    }
    (found, covered)
}

const EDGES: [(&str, f64, u64); 7] = [
    ("hard", 0.0, 0),
    ("soft 0.5 %", 0.005, 0),
    ("soft 5 %", 0.05, 0),
    ("soft 30 %", 0.3, 0),
    ("hard, noise in 30 % of the trials", 0.0, 300_000),
    ("soft 5 %, noise in 30 % of the trials", 0.05, 300_000),
    ("hard, noise in 80 % of the trials", 0.0, 800_000),
];
const SHARES: [f64; 5] = [2e-6, 2e-5, 1e-3, 2e-2, 0.5];

fn tells_flat_losses_from_edges(searches: u64) {
    for (name, width, stalls) in EDGES {
        let alarms = false_alarms(searches, width, stalls);
        println!("{name}: {alarms} false alarms of {searches}");
        assert!(alarms as u64 * 1_000 <= searches, "{name}: {alarms} of {searches}");
    }
    for share in SHARES {
        for (burst, least) in [(0.0, 94), (0.7, 85)] {
            let is_large = share > 0.1;
            if burst > 0.0 && is_large {
                // A burst could take all frames.
                continue;
            }
            let (found, covered) = found(searches, share, burst);
            println!("share {share:e}, burst {burst}: {found} of {searches} found, {covered} inside the interval");
            assert!(found as u64 * 100 >= searches * least, "share {share}, burst {burst}: {found}");
            // The simulated device draws few losses from the distribution of Poisson, which scatters more for large shares.
            assert!(burst > 0.0 || is_large || covered * 100 >= found * 90, "share {share}: {covered} of {found}");
        }
    }
}

#[test]
fn flat_losses_are_told_from_edges() {
    tells_flat_losses_from_edges(200);
}

#[test]
#[ignore = "slow: 16,000 searches"]
fn slow_flat_losses_are_told_from_edges() {
    tells_flat_losses_from_edges(1_000);
}

/// Sends 20 frames in a million to a wrong port, right to left, and forwards a million frames per second.
struct Misroutes(SimulatedDut);

impl Trials for Misroutes {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.0.run(spec)?;
        let leg = &mut outcome.forward;
        leg.received += leg.faults.get(Fault::WrongPort);
        leg.faults.0[Fault::WrongPort as usize] = 0;
        Ok(outcome)
    }
}

fn misroutes() -> Misroutes {
    let truth = Truth { misrouted: Ratio::from_ppm(20), ..Truth::new(Rate(1_000_000), Rate(100_000)) };
    Misroutes(SimulatedDut::new(truth, 1))
}

#[test]
fn a_flat_loss_has_its_kind_direction_and_rates() {
    let goal = |name: &str, loss| Goal {
        name: name.to_owned(),
        initial_duration: Nanos::SECOND,
        final_duration: Nanos::SECOND,
        duration_sum: Nanos::SECOND,
        loss: Ratio::from_ppm(loss),
        exceed: Ratio::ZERO,
        width: Precision::Relative(Ratio::from_ppm(5_000)),
    };
    let both = SearchSettings { direction: Direction::Both, ..settings(1_300_000.0) };
    let goals = SearchSettings { goals: vec![goal("strict", 0), goal("tolerant", 1_000)], ..both.clone() };
    for settings in [both, goals] {
        let result = throughput(&mut misroutes(), &settings);
        assert_eq!((result.kind, result.rate, result.strict), (ResultKind::NoRate, Rate(0), None));
        let Some(NoRate::FlatLoss(flat)) = &result.evidence.no_rate else { panic!("{result:?}") };
        let [of] = &flat[..] else { panic!("{flat:?}") };
        assert_eq!((of.stream, of.fault), (Stream::Reverse, Some(Fault::WrongPort)));
        let [low, high] = of.interval();
        assert!(low < 20e-6 && 20e-6 < high && high < 40e-6, "{low} to {high}");
        assert!(of.lowest < Rate(200_000) && of.highest > Rate(250_000), "{of:?}");
        let tolerant = result.goals.get(1).and_then(|goal| goal.lower);
        assert_eq!(tolerant.is_some_and(|rate| rate > Rate(990_000)), !settings.goals.is_empty());
    }
}

/// What an acceptance or the first goal tolerates is no loss.
#[test]
fn a_tolerated_flat_loss_leaves_the_rate() {
    let mut settings = settings(1_300_000.0);
    settings.criteria.acceptance = Ratio::from_ppm(999_900);
    let result = throughput(&mut misroutes(), &SearchSettings { direction: Direction::Both, ..settings });
    assert!(result.kind == ResultKind::Exact && result.rate > Rate(980_000), "{result:?}");
}

fn set_up(truth: Truth, connections: u64, alpha: Option<Ratio>) -> SearchResult {
    let settings = SearchSettings { alpha, ..settings(1_000_000.0) };
    establish(&mut SimulatedDut::new(truth, 1), &settings, connections).unwrap()
}

/// The first trials are above the establishment rate; three at lower rates have the same number of connections.
#[test]
fn a_table_smaller_than_n_ends_the_search() {
    let truth = Truth { table_size: 29_000, ..Truth::new(Rate(2_000_000), Rate(300_000)) };
    let replaces = Truth { when_full: WhenFull::ReplaceOldest, ..truth.clone() };
    for (truth, alpha) in [(truth, None), (replaces, Ratio::new(1, 2))] {
        let result = set_up(truth, 30_000, alpha);
        let expected =
            SmallTable { holds: 29_000, opened: 30_000, counted: true, lowest: Rate(62_500), highest: Rate(250_000) };
        assert_eq!(result.evidence.no_rate, Some(NoRate::SmallTable(expected)));
        assert_eq!((result.kind, result.trials), (ResultKind::NoRate, 5));
    }
}

#[test]
fn connections_that_no_rate_loses_have_no_establishment_rate() {
    let lossy = Truth { loss: Ratio::from_ppm(1_000), ..Truth::new(Rate(2_000_000), Rate(300_000)) };
    for alpha in [None, Ratio::new(1, 2)] {
        let result = set_up(lossy.clone(), 30_000, alpha);
        let Some(NoRate::FlatLoss(flat)) = &result.evidence.no_rate else { panic!("{result:?}") };
        let [low, high] = flat[0].interval();
        assert!(low < 1e-3 && 1e-3 < high && result.trials < 15, "{low} to {high}, {} trials", result.trials);
        assert_eq!((flat[0].stream, flat[0].fault), (Stream::Forward, None));
    }
}

/// Without a flat loss no trial comes after the search.
#[test]
fn a_search_with_an_edge_takes_no_more_trials() {
    let edge = throughput(&mut SimulatedDut::new(Truth::new(Rate(1_000_000), Rate(1)), 1), &settings(1_300_000.0));
    assert_eq!((edge.kind, after(&edge)), (ResultKind::Exact, 0));
    let last = edge.trace.iter().rfind(|step| step.verdict == StepVerdict::Pass);
    assert_eq!(last.map(|step| step.rate), Some(edge.rate));
}

/// Of a slow device only what its queue holds passes at high rates, as many at each.
#[test]
fn a_slow_device_behind_a_queue_has_its_rate() {
    for queue in [0, 32] {
        let result = set_up(Truth { queue, ..Truth::new(Rate(2_000_000), Rate(1_000)) }, 3_200, None);
        assert!(result.kind == ResultKind::Exact && result.rate.0.abs_diff(1_000) < 30, "{result:?}");
    }
}
