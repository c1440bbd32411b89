//! The ratio between two independent samples, with an interval: Hodges and Lehmann (1963), and the Mann–Whitney test
//! (Conover, Practical Nonparametric Statistics, section 5.4). It assumes that the samples differ only by a factor, but
//! no distribution.

use super::{Interval, median_of};

/// A value known up to an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    pub value: f64,
    pub low: f64,
    /// Upper bound of the shift; infinite if unknown.
    pub high: f64,
}

impl ValueRange {
    pub fn exactly(value: f64) -> ValueRange {
        ValueRange { value, low: value, high: value }
    }
}

/// Minimum coverage of an interval.
pub const COVERAGE: f64 = 0.95;

/// Pairs up to which the test's distribution is exact.
const EXACT_PAIRS: usize = 2_500;

pub fn ratio(reference: &[ValueRange], other: &[ValueRange]) -> Option<f64> {
    let ratios = pairs(reference, other, |reference, other| other.value / reference.value)?;
    median_of(&ratios)
}

/// Widened by the errors of the samples; `None` for samples that are too small or not above 0.
pub fn interval(reference: &[ValueRange], other: &[ValueRange]) -> Option<Interval> {
    let (first, coverage) = first_rank(reference.len(), other.len())?;
    let lows = pairs(reference, other, |reference, other| other.low / reference.high)?;
    let highs = pairs(reference, other, |reference, other| other.high / reference.low)?;
    Some(Interval { low: lows[first], high: highs[highs.len() - 1 - first], coverage })
}

fn pairs(
    reference: &[ValueRange],
    other: &[ValueRange],
    ratio: impl Fn(&ValueRange, &ValueRange) -> f64,
) -> Option<Vec<f64>> {
    if reference.iter().any(|known| known.low <= 0.0) {
        return None;
    }
    let mut all: Vec<f64> =
        reference.iter().flat_map(|r| other.iter().map(|o| ratio(r, o)).collect::<Vec<_>>()).collect();
    all.sort_by(f64::total_cmp);
    (!all.is_empty()).then_some(all)
}

/// Index of the narrowest interval's lower end among the sorted pairs, and its coverage, at least [`COVERAGE`].
pub fn first_rank(n: usize, m: usize) -> Option<(usize, f64)> {
    if n == 0 || m == 0 {
        return None;
    }
    if n * m > EXACT_PAIRS {
        let pairs = (n * m) as f64;
        let deviation = (pairs * (n + m + 1) as f64 / 12.0).sqrt();
        return Some(((pairs / 2.0 - 1.96 * deviation - 0.5).max(0.0) as usize, COVERAGE));
    }
    let (mut tail, mut best) = (0.0, None);
    for (rank, probability) in mann_whitney(n, m).into_iter().enumerate() {
        tail += probability;
        let coverage = 1.0 - 2.0 * tail;
        if coverage < COVERAGE {
            break;
        }
        best = Some((rank, coverage));
    }
    best
}

/// Probabilities of U from 0 to n × m: the largest value adds the size of the other sample, or nothing.
fn mann_whitney(n: usize, m: usize) -> Vec<f64> {
    // For 0 to m values of the other sample.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=m {
            let mut of = vec![0.0; i * j + 1];
            let (is_of_first, is_of_other) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
            for (u, p) in row[j].iter().enumerate() {
                of[u + j] += is_of_first * p;
            }
            for (u, p) in next[j - 1].iter().enumerate() {
                of[u] += is_of_other * p;
            }
            next.push(of);
        }
        row = next;
    }
    row.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// Two-sided critical values of the Mann–Whitney test at 5 % (Mann and Whitney 1947; Conover, table A7).
    #[test]
    fn ranks_are_those_of_published_tables() {
        let rank = |n, m| first_rank(n, m).map(|(rank, _)| rank);
        assert_eq!([rank(3, 3), rank(3, 4), rank(3, 5), rank(4, 4)], [None, None, Some(0), Some(0)]);
        assert_eq!([rank(5, 5), rank(10, 10), rank(5, 10), rank(20, 20)], [Some(2), Some(23), Some(8), Some(127)]);
        let (_, coverage) = first_rank(5, 5).unwrap();
        assert!((coverage - (1.0 - 8.0 / 252.0)).abs() < 1e-12, "{coverage}");
        // The normal approximation continues without a step.
        assert_eq!(rank(50, 50), Some(965));
        assert!(rank(51, 51).unwrap().abs_diff(1_008) < 4, "{:?}", rank(51, 51));
        assert_eq!([rank(0, 5), rank(5, 0)], [None, None]);
    }

    fn exactly(values: &[f64]) -> Vec<ValueRange> {
        values.iter().copied().map(ValueRange::exactly).collect()
    }

    #[test]
    fn a_known_factor_is_found() {
        let reference = [100.0, 101.0, 99.0, 100.5, 99.5];
        let other: Vec<f64> = reference.iter().map(|value| value * 0.9).collect();
        let (reference, other) = (exactly(&reference), exactly(&other));
        assert!((ratio(&reference, &other).unwrap() - 0.9).abs() < 1e-12);
        let found = interval(&reference, &other).unwrap();
        assert!(found.low < 0.9 && 0.9 < found.high && found.high < 0.92, "{found:?}");
        assert_eq!(interval(&exactly(&[0.0; 5]), &other), None);
        assert_eq!(interval(&exactly(&[1.0; 3]), &exactly(&[1.0; 3])), None);
    }

    #[test]
    fn errors_widen_the_interval() {
        let known = |value: f64| vec![ValueRange { value, low: value, high: value * 1.01 }; 5];
        let found = interval(&known(100.0), &known(102.0)).unwrap();
        assert!((found.low - 1.02 / 1.01).abs() < 1e-12 && (found.high - 1.02 * 1.01).abs() < 1e-12, "{found:?}");
        let (reference, mut bounded) = ([known(100.0), known(100.0)].concat(), [known(102.0), known(102.0)].concat());
        bounded[..2].iter_mut().for_each(|known| known.high = f64::INFINITY);
        assert!(interval(&reference, &bounded).unwrap().high.is_finite(), "two bounds of ten are no end");
        bounded[2].high = f64::INFINITY;
        assert_eq!(interval(&reference, &bounded).unwrap().high, f64::INFINITY);
    }

    #[test]
    fn the_interval_misses_as_often_as_it_says() {
        for (n, m, factor) in [(5, 5, 1.0), (10, 10, 0.95), (5, 10, 1.2)] {
            let (_, coverage) = first_rank(n, m).unwrap();
            let missed = (0..2_000u64).filter(|&seed| {
                let mut random = SplitMix(seed);
                let reference = exactly(&sample(&mut random, n, 1.0));
                let other = exactly(&sample(&mut random, m, factor));
                !interval(&reference, &other).unwrap().contains(factor)
            });
            let (missed, expected) = (missed.count() as f64 / 2_000.0, 1.0 - coverage);
            // Four standard deviations of a share in 2,000 trials.
            let allowed = 4.0 * (expected * coverage / 2_000.0).sqrt();
            assert!((missed - expected).abs() < allowed, "{n} {m}: missed {missed}, expected {expected}");
        }
    }

    /// Around 1,000 × factor, skewed to the right by up to 10 %.
    fn sample(random: &mut SplitMix, n: usize, factor: f64) -> Vec<f64> {
        let mut uniform = || random.unit();
        (0..n).map(|_| factor * 1_000.0 * (1.0 + 0.1 * uniform() * uniform())).collect()
    }
}
