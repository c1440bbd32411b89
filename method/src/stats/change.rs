//! Change points of a series: the largest CUSUM of means (Page 1955; Hinkley 1970), tested against permutations, by
//! binary segmentation (as in E-divisive, Matteson and James, JASA 2014). Values must be independent.

use crate::random::SplitMix;

pub const LEAST_VALUES: usize = 10;
/// Minimum values around a change point: an outlier is no change.
pub const LEAST_PART: usize = 3;
pub const SIGNIFICANCE: f64 = 0.01;
pub const PERMUTATIONS: u32 = 999;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub at: usize,
    /// Probability of such a CUSUM without a change.
    pub p: f64,
}

pub fn points(values: &[f64], seed: u64) -> Vec<Change> {
    let mut found = Vec::new();
    let mut parts = vec![(0, values.len())];
    while let Some((from, to)) = parts.pop() {
        if let Some(change) = point(&values[from..to], seed) {
            let at = from + change.at;
            found.push(Change { at, ..change });
            parts.extend([(from, at), (at, to)]);
        }
    }
    found.sort_by_key(|change| change.at);
    found
}

fn point(values: &[f64], seed: u64) -> Option<Change> {
    if values.len() < LEAST_VALUES {
        return None;
    }
    let (at, largest) = cusum(values);
    if largest <= 0.0 {
        return None;
    }
    let mut random = SplitMix(seed);
    let mut shuffled = values.to_vec();
    // Rounding must not make equal sums different.
    let as_large = |values: &[f64]| cusum(values).1 >= largest * (1.0 - 1e-9);
    let exceeding = (0..PERMUTATIONS).filter(|_| {
        shuffle(&mut shuffled, &mut random);
        as_large(&shuffled)
    });
    let p = (exceeding.count() as f64 + 1.0) / (f64::from(PERMUTATIONS) + 1.0);
    (p <= SIGNIFICANCE).then_some(Change { at, p })
}

/// Position and squared difference of means, weighted by k (n - k) / n.
fn cusum(values: &[f64]) -> (usize, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let (mut sum, mut best) = (0.0, (0, 0.0));
    for (i, value) in values.iter().enumerate() {
        let k = i + 1;
        sum += value - mean;
        let is_inside = k >= LEAST_PART && k + LEAST_PART <= values.len();
        // The difference of the means is sum × n / (k (n - k)).
        let weighted = sum * sum * n / (k as f64 * (n - k as f64));
        if is_inside && weighted > best.1 {
            best = (k, weighted);
        }
    }
    best
}

fn shuffle(values: &mut [f64], random: &mut SplitMix) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(seed: u64, levels: &[(usize, f64)]) -> Vec<f64> {
        let mut random = SplitMix(seed);
        let mut noise = || (0..4).map(|_| random.unit() - 0.5).sum::<f64>();
        levels
            .iter()
            .flat_map(|&(n, level)| (0..n).map(|_| level * (1.0 + 0.01 * noise())).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn a_series_without_a_change_seldom_has_a_change_point() {
        for n in [10, 30] {
            let alarms = (0..200).filter(|&seed| !points(&series(seed, &[(n, 1e6)]), 1).is_empty()).count();
            // 1 % of 200 is 2; 8 or more have a probability of about 0.1 %.
            assert!(alarms < 8, "{n} values: {alarms} of 200");
        }
    }

    /// Noise has a standard deviation of 0.6 %; levels change by 4 % and 6 %.
    #[test]
    fn known_changes_are_found_where_they_are() {
        let levels = [(12, 1e6), (15, 0.96e6), (10, 1.02e6)];
        for seed in 0..20 {
            let at: Vec<usize> = points(&series(seed, &levels), 1).iter().map(|change| change.at).collect();
            assert!(at.contains(&12) && at.contains(&27) && at.len() <= 3, "seed {seed}: {at:?}");
        }
    }

    #[test]
    fn three_last_values_are_enough_in_a_long_series_and_one_is_not() {
        for seed in 0..10 {
            let last = |n| points(&series(seed, &[(22, 1e6), (n, 0.9e6)]), 1);
            assert_eq!(last(3).iter().map(|change| change.at).collect::<Vec<_>>(), [22], "seed {seed}");
            assert!(last(1).is_empty(), "seed {seed}: {:?}", last(1));
        }
    }

    #[test]
    fn short_and_constant_series_have_none() {
        assert_eq!(points(&[1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0], 1), []);
        assert_eq!(points(&[5.0; 30], 1), []);
        assert_eq!(points(&[], 1), []);
    }
}
