//! Repetitions that are not needed, because the interval of the median, with the error of each search, is already as narrow as
//! the scenario requires: at two consecutive numbers of repetitions, as the first narrow one may be narrow by chance.

use crate::folder::Outcome;
use crate::plan::Measurement;
use method::ResultKind;
use method::stats::{Interval, median_of};
use scenario::repetitions::Until;
use scenario::{Point, Scenario};
use std::collections::{BTreeMap, HashMap};

/// The percent of coverage, rounded up, by which the stopping rule lowers that of an interval at most in the simulation of
/// METHODOLOGY.md, section "Repetitions and statistics".
pub const LOST_COVERAGE: u32 = 3;

/// The values of a run whose further repetitions are not needed.
#[derive(Clone, Debug, Default)]
pub struct StoppingRule {
    until: Option<Until>,
    /// By point and metric.
    values: HashMap<Point, HashMap<String, Value>>,
}

#[derive(Clone, Debug, Default)]
struct Value {
    made: BTreeMap<u32, RateBounds>,
    judged: RateSeries,
}

#[derive(Clone, Copy, Debug)]
struct RateBounds {
    /// Highest rate that passed.
    rate: u64,
    /// Lowest rate that did not pass.
    upper: u64,
    is_exact: bool,
}

/// The first repetitions of a value, without gaps.
#[derive(Clone, Debug, Default)]
struct RateSeries {
    /// Highest rates that passed, sorted.
    rates: Vec<f64>,
    /// Lowest rates that did not pass, sorted.
    uppers: Vec<f64>,
    was_narrow: bool,
    /// The repetition after which no further ones are needed.
    last: Option<u32>,
}

impl StoppingRule {
    /// Judges the results of a run; of several results of a measurement the last one counts.
    pub fn of(scenario: &Scenario, outcomes: &[Outcome]) -> StoppingRule {
        let mut enough = StoppingRule { until: scenario.measure.repetitions.until, values: HashMap::new() };
        for outcome in outcomes {
            enough.add(outcome);
        }
        enough
    }

    /// Adds a result, or replaces an earlier one of its measurement.
    pub fn add(&mut self, outcome: &Outcome) {
        let (Some(until), m, result) = (self.until, &outcome.measurement, &outcome.result) else { return };
        let of_point = self.values.entry(m.point.clone()).or_default();
        let value = of_point.entry(m.metric.clone()).or_default();
        let (rate, is_exact) = (result.rate.0, result.kind == ResultKind::Exact);
        let made = RateBounds { rate, upper: rate.saturating_add(result.error.0), is_exact };
        if value.made.insert(m.repetition, made).is_some() {
            value.judged = RateSeries::default();
        }
        value.judged.advance(until, &value.made);
    }

    /// Whether the results of the earlier repetitions of a value are enough, so that this repetition is not needed. A
    /// repetition without a figure has no place in an interval: then all are made.
    pub fn is_enough(&self, m: &Measurement) -> bool {
        self.last(m).is_some_and(|last| m.repetition > last)
    }

    /// Whether the repetitions of a value ended with this one, because the interval was narrow.
    pub fn is_last(&self, m: &Measurement) -> bool {
        self.last(m) == Some(m.repetition)
    }

    fn last(&self, m: &Measurement) -> Option<u32> {
        self.values.get(&m.point)?.get(&m.metric)?.judged.last
    }
}

impl RateSeries {
    /// Judges the repetitions after those judged, up to the first that is missing or has no figure.
    fn advance(&mut self, until: Until, made: &BTreeMap<u32, RateBounds>) {
        while self.last.is_none() {
            let number = self.rates.len() as u32 + 1;
            let Some(next) = made.get(&number).filter(|made| made.is_exact) else { return };
            insert(&mut self.rates, next.rate as f64);
            insert(&mut self.uppers, next.upper as f64);
            let is_narrow = number >= until.least && self.is_narrow(until);
            self.last = (is_narrow && self.was_narrow).then_some(number);
            self.was_narrow = is_narrow;
        }
    }

    /// Whether the interval of the median, from that of the rates that passed to that of the rates that did not, is narrow.
    fn is_narrow(&self, until: Until) -> bool {
        let ends = Interval::of(&self.rates).zip(Interval::of(&self.uppers)).zip(median_of(&self.rates));
        ends.is_some_and(|((of_rates, of_uppers), median)| {
            (of_uppers.high - of_rates.low) * 1e6 <= f64::from(until.width_ppm) * median
        })
    }
}

fn insert(sorted: &mut Vec<f64>, value: f64) {
    sorted.insert(sorted.partition_point(|other| *other < value), value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::{Direction, Rate, SearchResult};
    use scenario::{Options, parse};

    const TEXT: &str = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"10k\"\n[measure]\n\
                        metrics = [\"max_conn_est_rate\"]\nrepetitions = { min = 5, max = 12, until-width = \"2 %\" }\n";

    fn outcome(m: &Measurement, rate: u64, error: u64, kind: ResultKind) -> Outcome {
        let result = SearchResult { rate: Rate(rate), error: Rate(error), kind, ..SearchResult::empty() };
        Outcome::new(m.clone(), Direction::Both, result)
    }

    fn plan() -> (Scenario, Vec<Measurement>) {
        let scenario = parse("x.toml", TEXT, &Options::default(), tech::ALL).unwrap().scenario;
        let plan = crate::plan::Plan::new(&scenario).measurements;
        assert_eq!(plan.len(), 12);
        (scenario, plan)
    }

    /// For these rates and this error of each search: the repetitions, counted from 1, that are needed.
    fn needed(rates: &[u64], error: u64, kind: ResultKind) -> usize {
        let (scenario, plan) = plan();
        let outcomes: Vec<Outcome> = plan.iter().zip(rates).map(|(m, &rate)| outcome(m, rate, error, kind)).collect();
        let enough = StoppingRule::of(&scenario, &outcomes);
        let needed = plan.iter().take_while(|m| !enough.is_enough(m)).count();
        assert!(plan[needed..].iter().all(|m| enough.is_enough(m)));
        assert_eq!(plan.iter().filter(|m| enough.is_last(m)).count(), usize::from(needed < 12));
        needed
    }

    #[test]
    fn repetitions_end_when_the_interval_is_narrow_twice() {
        assert_eq!(needed(&[1000, 1005, 1010, 1002, 1001], 5, ResultKind::Exact), 12);
        assert_eq!(needed(&[1000, 1005, 1010, 1002, 1001, 1003], 5, ResultKind::Exact), 6);
        assert_eq!(needed(&[1000, 1005, 1010, 1002, 1001, 1050], 5, ResultKind::Exact), 12);
        // Of eight values the interval is minimum to maximum, of nine and ten it leaves out both.
        assert_eq!(needed(&[1000, 1005, 1050, 1002, 1001, 1003, 1004, 1001, 1002], 5, ResultKind::Exact), 12);
        assert_eq!(needed(&[1000, 1005, 1050, 1002, 1001, 1003, 1004, 1001, 1002, 1003], 5, ResultKind::Exact), 10);
    }

    #[test]
    fn the_error_of_the_search_widens_the_interval() {
        // 1.0 % between the rates: with 0.9 % of error below 2 %, with 1.1 % above.
        let rates = [1000, 1005, 1010, 1002, 1001, 1003];
        assert_eq!(needed(&rates, 9, ResultKind::Exact), 6);
        assert_eq!(needed(&rates, 11, ResultKind::Exact), 12);
        assert_eq!(needed(&[1000; 6], 21, ResultKind::Exact), 12);
    }

    #[test]
    fn fewer_than_min_or_bounds_are_never_enough() {
        assert_eq!(needed(&[1000, 1000, 1000, 1000], 5, ResultKind::Exact), 12);
        assert_eq!(needed(&[1000; 6], 5, ResultKind::TesterLimit), 12);
    }

    #[test]
    fn a_gap_ends_nothing_and_a_later_result_replaces() {
        let (scenario, plan) = plan();
        let made = |at: usize, rate: u64| outcome(&plan[at], rate, 5, ResultKind::Exact);
        let with_gap: Vec<Outcome> = [0, 1, 2, 3, 5, 6, 7].map(|at| made(at, 1000)).to_vec();
        let mut enough = StoppingRule::of(&scenario, &with_gap);
        assert!(!enough.is_enough(&plan[8]));
        enough.add(&made(4, 1000));
        assert!(enough.is_last(&plan[5]) && enough.is_enough(&plan[8]));
        enough.add(&made(0, 1100));
        assert!(!enough.is_enough(&plan[8]));
    }

    /// Each result is judged once. A scan of all results for each measurement would take far more than these seconds.
    #[test]
    fn thousands_of_repetitions_are_judged_in_seconds() {
        let (mut scenario, plan) = plan();
        scenario.measure.repetitions.until = Some(Until { least: 5, width_ppm: 1 });
        let of = |n: u32| {
            outcome(&Measurement { repetition: n, ..plan[0].clone() }, 1000 + u64::from(n), 5, ResultKind::Exact)
        };
        let outcomes: Vec<Outcome> = (1..=4_000).map(of).collect();
        let began = std::time::Instant::now();
        let enough = StoppingRule::of(&scenario, &outcomes);
        assert!(outcomes.iter().all(|o| !enough.is_enough(&o.measurement)));
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    /// Of a hundred values with normal noise, those whose interval contains the median when their repetitions end.
    fn coverage(width_ppm: u32, sigma: f64, most: u32, random: &mut impl FnMut() -> f64) -> (f64, f64) {
        let until = Until { least: 5, width_ppm };
        let (mut covered, mut nominal, values) = (0.0, 0.0, 20_000);
        for _ in 0..values {
            let mut made = BTreeMap::new();
            let mut judged = RateSeries::default();
            while judged.last.is_none() && made.len() < most as usize {
                let rate = (1e9 * (1.0 + sigma * random())) as u64;
                made.insert(made.len() as u32 + 1, RateBounds { rate, upper: rate, is_exact: true });
                judged.advance(until, &made);
            }
            let interval = Interval::of(&judged.rates).unwrap();
            covered += f64::from(u8::from(interval.contains(1e9)));
            nominal += interval.coverage;
        }
        (covered / f64::from(values), nominal / f64::from(values))
    }

    /// Prints the coverages that METHODOLOGY.md names, with the command there.
    #[test]
    #[ignore = "a computation of figures"]
    fn coverage_of_repetitions_that_end() {
        let mut state = 9693u64;
        let mut unit = move || {
            // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        for (width, sigma) in
            [0.005, 0.01, 0.015, 0.02, 0.03].map(|sigma| (20_000, sigma)).into_iter().chain([(10_000, 0.01)])
        {
            let (covered, nominal) = coverage(width, sigma, 30, &mut normal);
            let width = f64::from(width) / 1e4;
            println!(
                "width {width} %, deviation {} %: {:.1} % of nominal {:.1} %",
                sigma * 100.0,
                covered * 100.0,
                nominal * 100.0
            );
        }
    }
}
