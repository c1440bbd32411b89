//! Statistics over repetitions, in floating point except indices of percentiles (invariant 12).

pub mod change;
pub mod fills;
pub mod shift;
pub mod student;

use crate::ratio::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of the repetitions of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Repetitions.
    pub n: usize,
    /// Median; for even n, the mean of the middle two (RFC 9693 section 6 recommends the median).
    pub median: f64,
    /// 1st percentile; the minimum up to 100 repetitions.
    pub p1: f64,
    /// 99th percentile; the maximum up to 99 repetitions.
    pub p99: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Average.
    pub mean: f64,
    /// Standard deviation of the sample (divisor n − 1; 0 for a single value).
    pub sd: f64,
}

impl Summary {
    /// `None` without values.
    pub fn of<T: Copy + Ord + Into<i128>>(values: &[T]) -> Option<Summary> {
        let mut sorted: Vec<i128> = values.iter().map(|&value| value.into()).collect();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let mean = sorted.iter().map(|&v| v as f64).sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|&v| (v as f64 - mean).powi(2)).sum();
        Some(Summary {
            n,
            median: median(&sorted)?,
            p1: percentile(&sorted, Ratio::from_ppm(10_000))? as f64,
            p99: percentile(&sorted, Ratio::from_ppm(990_000))? as f64,
            min: min as f64,
            max: max as f64,
            mean,
            sd: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
        })
    }
}

/// The 95 % interval of a share of which `k` of `n` were seen (E. B. Wilson, 1927).
pub fn share_interval(k: u64, n: u64) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    let (k, n) = (k as f64, n.max(1) as f64);
    let (share, squared) = (k / n, Z * Z / n);
    let half = Z * (share * (1.0 - share) / n + squared / (4.0 * n)).sqrt();
    [share + squared / 2.0 - half, share + squared / 2.0 + half].map(|end| (end / (1.0 + squared)).clamp(0.0, 1.0))
}

pub fn median<T: Copy + Into<i128>>(sorted: &[T]) -> Option<f64> {
    let upper: i128 = (*sorted.get(sorted.len() / 2)?).into();
    if sorted.len() % 2 == 1 {
        return Some(upper as f64);
    }
    let lower: i128 = sorted[sorted.len() / 2 - 1].into();
    Some(f64::midpoint(lower as f64, upper as f64))
}

/// A line y = intercept + slope · x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub slope: f64,
    pub intercept: f64,
    /// 1 if all points are on the line.
    pub r_squared: f64,
}

impl Line {
    /// Least squares, if two x differ.
    pub fn through(points: &[(f64, f64)]) -> Option<Line> {
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(a, b)| of(a - x, b - y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
        if points.is_empty() || xx <= 0.0 {
            return None;
        }
        let slope = xy / xx;
        let r_squared = if yy > 0.0 { slope * xy / yy } else { 1.0 };
        Some(Line { slope, intercept: y - slope * x, r_squared })
    }
}

pub fn median_of(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) })
}

/// Percentile by the empirical distribution (RFC 2330 section 11.3).
pub fn percentile<T: Copy>(sorted: &[T], share: Ratio) -> Option<T> {
    sorted.get(percentile_index(sorted.len(), share)?).copied()
}

/// ceil(share × n) − 1, at least 0.
pub fn percentile_index(n: usize, share: Ratio) -> Option<usize> {
    if n == 0 {
        return None;
    }
    Some((share.ceil_of(n as u64) as usize).saturating_sub(1))
}

/// An interval of a median or of a ratio of two medians, with its nominal coverage: the share of such intervals that would
/// contain the true value if all repetitions were independent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Nominal coverage, between 0 and 1.
    pub coverage: f64,
}

impl Interval {
    /// Coverage, if there are enough values.
    pub const NOMINAL: f64 = 0.93;
    /// With fewer values, an interval is a range: 5 values cover a median with 94 %, 4 with 88 %.
    pub const LEAST_VALUES: usize = 5;

    /// Narrowest symmetric interval of the median of sorted values that covers
    /// [`Interval::NOMINAL`], else minimum to maximum.
    pub fn of(sorted: &[f64]) -> Option<Interval> {
        let (first, coverage) = Interval::first_rank(sorted.len())?;
        Some(Interval { low: sorted[first], high: sorted[sorted.len() - 1 - first], coverage })
    }

    /// Index of the interval's lower end among n values, and its coverage.
    pub fn first_rank(n: usize) -> Option<(usize, f64)> {
        if n == 0 {
            return None;
        }
        // The median is missed if at most k values are on one side of it: twice the lower tail of the binomial
        // distribution, in logarithms, because 2^-n is 0 for large n.
        let missed = |tail: f64| (1.0 - 2.0 * tail).max(0.0);
        let mut term = -(n as f64) * std::f64::consts::LN_2;
        let mut tail = term.exp();
        let mut best = (0, missed(tail));
        for k in 1..n.div_ceil(2) {
            term += ((n - k + 1) as f64 / k as f64).ln();
            tail += term.exp();
            if missed(tail) < Interval::NOMINAL {
                break;
            }
            best = (k, missed(tail));
        }
        Some(best)
    }

    /// Ratio to another value (Bonferroni); `None` if that reaches 0.
    pub fn over(self, other: Interval) -> Option<Interval> {
        let coverage = (self.coverage + other.coverage - 1.0).max(0.0);
        (other.low > 0.0).then(|| Interval { low: self.low / other.high, high: self.high / other.low, coverage })
    }

    /// Moves both ends outwards by a factor of `1 + drift`.
    #[must_use]
    pub fn widened(self, drift: f64) -> Interval {
        Interval { low: self.low / (1.0 + drift), high: self.high * (1.0 + drift), ..self }
    }

    #[must_use]
    pub fn divided(self, by: f64) -> Interval {
        Interval { low: self.low / by, high: self.high / by, ..self }
    }

    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn a_line_recovers_slope_and_intercept() {
        let line = Line::through(&[(1_000.0, 450_000.0), (2_000.0, 850_000.0), (4_000.0, 1_650_000.0)]).unwrap();
        assert!((line.slope - 400.0).abs() < 1e-9 && (line.intercept - 50_000.0).abs() < 1e-6, "{line:?}");
        assert!((line.r_squared - 1.0).abs() < 1e-12, "{line:?}");
        let scattered = Line::through(&[(0.0, 0.0), (1.0, 2.0), (2.0, 1.0), (3.0, 3.0)]).unwrap();
        assert!((scattered.slope - 0.8).abs() < 1e-12 && (scattered.r_squared - 0.64).abs() < 1e-12, "{scattered:?}");
        assert_eq!(Line::through(&[(7.0, 1.0), (7.0, 2.0)]), None);
        assert_eq!(Line::through(&[]), None);
    }
    use proptest::prelude::*;

    #[test]
    fn first_and_99th_percentiles_of_up_to_99_values_are_min_and_max() {
        for n in [1usize, 10, 20, 50, 99] {
            assert_eq!(percentile_index(n, Ratio::from_ppm(10_000)), Some(0));
            assert_eq!(percentile_index(n, Ratio::from_ppm(990_000)), Some(n - 1));
        }
        assert_eq!(percentile_index(100, Ratio::from_ppm(990_000)), Some(98));
        // The worst case of latencies.
        assert_eq!([500, 1_000].map(|n| percentile_index(n, Ratio::from_ppm(999_000))), [Some(499), Some(998)]);
    }

    #[test]
    fn median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(Summary::of(&[4, 1, 3, 2]).unwrap().median, 2.5);
        assert_eq!(Summary::of(&[9, 1, 5]).unwrap().median, 5.0);
        assert_eq!(Summary::of::<u64>(&[]), None);
    }

    #[test]
    fn deviation_is_that_of_the_sample() {
        let s = Summary::of(&[2, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        assert_eq!(s.mean, 5.0);
        assert!((s.sd - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    /// Coverages of order statistics (Conover, Practical Nonparametric Statistics, binomial distribution with p = 0.5).
    #[test]
    fn intervals_of_a_median_have_the_coverage_of_order_statistics() {
        let of = |n: usize| {
            let (first, coverage) = Interval::first_rank(n).unwrap();
            (first, (coverage * 1e4).round() / 1e4)
        };
        assert_eq!([1, 2, 3, 4, 5].map(of), [(0, 0.0), (0, 0.5), (0, 0.75), (0, 0.875), (0, 0.9375)]);
        assert_eq!([6, 8, 9, 10, 20].map(of), [(0, 0.9688), (0, 0.9922), (1, 0.9609), (1, 0.9785), (5, 0.9586)]);
        assert_eq!(Interval::first_rank(0), None);
        let (first, coverage) = Interval::first_rank(10_000).unwrap();
        assert!((4_900..4_920).contains(&first) && (0.93..0.94).contains(&coverage), "{first} {coverage}");
    }

    #[test]
    fn a_ratio_is_as_wide_as_both_of_its_intervals() {
        let (a, b) = (Interval::of(&[8.0, 9.0, 10.0, 11.0, 12.0]), Interval::of(&[4.0, 4.0, 4.0, 5.0, 5.0]));
        let ratio = a.unwrap().over(b.unwrap()).unwrap();
        assert_eq!((ratio.low, ratio.high, ratio.coverage), (1.6, 3.0, 0.875));
        let wider = ratio.widened(0.25);
        assert_eq!((wider.low, wider.high, wider.coverage), (1.28, 3.75, 0.875));
        assert!(wider.contains(1.3) && !ratio.contains(1.3));
        assert_eq!(a.unwrap().over(Interval { low: 0.0, high: 1.0, coverage: 0.9 }), None);
    }

    proptest! {
        /// 2^-n times the number of outcomes that it contains.
        #[test]
        fn the_coverage_is_that_of_counting_outcomes(n in 1usize..16) {
            let (first, coverage) = Interval::first_rank(n).unwrap();
            // Covered if more than `first` values are on each side of the median.
            let covers = |outcome: &u32| {
                let below = outcome.count_ones() as usize;
                below > first && n - below > first
            };
            let covered = (0..1u32 << n).filter(covers).count();
            prop_assert!((coverage - covered as f64 / f64::from(1u32 << n)).abs() < 1e-9);
        }

        #[test]
        fn a_summary_is_ordered(values in proptest::collection::vec(0u64..1_000_000_000, 1..200)) {
            let s = Summary::of(&values).unwrap();
            prop_assert!(s.min <= s.p1 && s.p1 <= s.median && s.median <= s.p99 && s.p99 <= s.max);
            prop_assert!(s.min <= s.mean + 1e-6 && s.mean <= s.max + 1e-6);
        }
    }
}
