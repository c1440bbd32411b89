//! Statistics over the repetitions of a measurement. Floating point begins here (invariant 12), but the index of a
//! percentile is computed in integers.

use crate::ratio::Ratio;
use serde::{Deserialize, Serialize};

/// Summary of the repetitions of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Summarises values; `None` without values.
    pub fn of(values: &[u64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
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

/// Returns the median of sorted values.
pub fn median(sorted: &[u64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper as f64);
    }
    let lower = sorted[sorted.len() / 2 - 1];
    Some(f64::midpoint(lower as f64, upper as f64))
}

/// Returns a percentile of sorted values, by the empirical distribution (RFC 2330 section 11.3).
pub fn percentile(sorted: &[u64], share: Ratio) -> Option<u64> {
    sorted.get(percentile_index(sorted.len(), share)?).copied()
}

/// Returns the index ceil(share × n) − 1, at least 0; `None` without values.
pub fn percentile_index(n: usize, share: Ratio) -> Option<usize> {
    if n == 0 {
        return None;
    }
    Some((share.ceil_of(n as u64) as usize).saturating_sub(1))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn first_and_99th_percentiles_of_up_to_99_values_are_min_and_max() {
        for n in [1usize, 10, 20, 50, 99] {
            assert_eq!(percentile_index(n, Ratio::from_ppm(10_000)), Some(0));
            assert_eq!(percentile_index(n, Ratio::from_ppm(990_000)), Some(n - 1));
        }
        assert_eq!(percentile_index(100, Ratio::from_ppm(990_000)), Some(98));
    }

    #[test]
    fn worst_case_percentile_of_500_and_1000_values() {
        let wcl = Ratio::from_ppm(999_000);
        assert_eq!(percentile_index(500, wcl), Some(499));
        assert_eq!(percentile_index(1_000, wcl), Some(998));
    }

    #[test]
    fn median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(Summary::of(&[4, 1, 3, 2]).unwrap().median, 2.5);
        assert_eq!(Summary::of(&[9, 1, 5]).unwrap().median, 5.0);
    }

    #[test]
    fn nothing_measured_has_no_summary() {
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn deviation_is_that_of_the_sample() {
        let s = Summary::of(&[2, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        assert_eq!(s.mean, 5.0);
        assert!((s.sd - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn a_summary_is_ordered(values in proptest::collection::vec(0u64..1_000_000_000, 1..200)) {
            let s = Summary::of(&values).unwrap();
            prop_assert!(s.min <= s.p1 && s.p1 <= s.median && s.median <= s.p99 && s.p99 <= s.max);
            prop_assert!(s.min <= s.mean + 1e-6 && s.mean <= s.max + 1e-6);
        }
    }
}
