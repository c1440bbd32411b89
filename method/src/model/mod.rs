//! Models of rate over cores ([`cores`]) and over connections ([`sessions`]).

mod bootstrap;
pub mod cores;
mod least_squares;
pub mod sessions;

pub use bootstrap::{Basis, Bootstrap};

use crate::stats::median_of;
use schemars::JsonSchema;
use serde::Serialize;

pub const LEAST_POINTS: usize = 4;

/// Relative deviation above which a point contradicts the law.
pub const LARGEST_RESIDUAL: f64 = 0.1;

/// Why a series has no fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Refusal {
    /// Fewer than [`LEAST_POINTS`] points.
    #[error("{points} points are not enough: a fit needs at least {LEAST_POINTS}")]
    TooFewPoints {
        /// The points.
        points: usize,
    },
    /// Steps over connections with fewer than three repetitions at a point: noise would look like steps.
    #[error(
        "a point has fewer than {} repetitions: with fewer than {} points, steps cannot be told from noise",
        sessions::LEAST_REPETITIONS,
        sessions::MANY_POINTS
    )]
    TooFewRepetitions,
    /// A position or a rate that is not a number above 0.
    #[error("the rate or the position at {at} is not a number above 0")]
    NotPositive {
        /// The position.
        at: f64,
    },
}

/// What contradicts a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum Doubt {
    /// Fitted without bounds, a parameter would be below 0, or the contention above 1, with its whole interval.
    OutOfBounds {
        /// The parameter.
        parameter: Parameter,
        /// Its value without bounds.
        unbounded: Estimate,
    },
    /// A point lies further from the fit than [`LARGEST_RESIDUAL`], or, of a series over connections, than its scatter
    /// allows.
    Residual {
        /// Position of the point.
        at: f64,
        /// Measured rate by fitted rate, minus 1.
        share: f64,
    },
    /// The rate rises where the model has only falls.
    Rise {
        /// The last position before the rise.
        after: f64,
        /// The first position after it.
        until: f64,
        /// The rate after it divided by the rate before it.
        ratio: f64,
    },
}

/// A parameter of the laws over cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Parameter {
    /// σ.
    Contention,
    /// κ.
    Coherency,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end; none if the interval is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// Repetitions of a rate at several positions, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    points: Vec<Point>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// Cores or connections.
    pub x: f64,
    pub values: Vec<f64>,
    pub median: f64,
}

impl Series {
    /// Joins equal positions of (position, repetitions).
    ///
    /// # Errors
    /// With fewer than [`LEAST_POINTS`] positions, or a position or median that is not above 0.
    pub fn of(samples: &[(f64, Vec<f64>)]) -> Result<Series, Refusal> {
        let mut samples = samples.to_vec();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        samples.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1.append(&mut next.1);
            }
            same
        });
        if samples.len() < LEAST_POINTS {
            return Err(Refusal::TooFewPoints { points: samples.len() });
        }
        let point = |(x, mut values): (f64, Vec<f64>)| {
            values.sort_by(f64::total_cmp);
            let is_number = |v: f64| v.is_finite() && v > 0.0;
            let median = median_of(&values).filter(|_| is_number(x) && values.iter().all(|&v| is_number(v)));
            median.map(|median| Point { x, values, median }).ok_or(Refusal::NotPositive { at: x })
        };
        Ok(Series { points: samples.into_iter().map(point).collect::<Result<_, _>>()? })
    }

    pub fn medians(&self) -> Vec<(f64, f64)> {
        self.points.iter().map(|point| (point.x, point.median)).collect()
    }
}

#[cfg(test)]
pub(crate) mod synthetic {
    use super::Series;
    use crate::random::SplitMix;

    pub(crate) fn series(at: &[f64], law: impl Fn(f64) -> f64, repetitions: usize, noise: f64, seed: u64) -> Series {
        let mut rng = SplitMix(seed);
        let mut values = |x: f64| (0..repetitions).map(|_| law(x) * (1.0 + noise * rng.normal())).collect();
        let samples: Vec<(f64, Vec<f64>)> = at.iter().map(|&x| (x, values(x))).collect();
        Series::of(&samples).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_series_is_sorted_and_joined() {
        let samples = [(4.0, vec![4.0]), (1.0, vec![3.0, 1.0]), (8.0, vec![8.0]), (2.0, vec![2.0]), (1.0, vec![2.0])];
        assert_eq!(Series::of(&samples).unwrap().medians(), [(1.0, 2.0), (2.0, 2.0), (4.0, 4.0), (8.0, 8.0)]);
    }

    #[test]
    fn nothing_is_fitted_to_few_points_or_to_rates_of_zero() {
        let of = |rates: &[f64]| {
            let samples: Vec<_> = rates.iter().enumerate().map(|(i, &rate)| (i as f64 + 1.0, vec![rate])).collect();
            Series::of(&samples)
        };
        assert_eq!(of(&[1.0, 2.0, 3.0]), Err(Refusal::TooFewPoints { points: 3 }));
        assert_eq!(of(&[]), Err(Refusal::TooFewPoints { points: 0 }));
        assert_eq!(of(&[1.0, 0.0, 3.0, 4.0]), Err(Refusal::NotPositive { at: 2.0 }));
        assert_eq!(of(&[1.0, f64::NAN, 3.0, 4.0]), Err(Refusal::NotPositive { at: 2.0 }));
        assert!(matches!(
            Series::of(&[(1.0, vec![]), (2.0, vec![1.0]), (3.0, vec![1.0]), (4.0, vec![1.0])]),
            Err(Refusal::NotPositive { .. })
        ));
        assert!(of(&[1.0, 2.0, 3.0, 4.0]).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// However contradictory the rates are, both models have finite values within their bounds.
        #[test]
        fn every_series_of_rates_has_models(rates in proptest::collection::vec(1e-3f64..1e9, 4..12)) {
            let samples: Vec<_> = rates.iter().enumerate().map(|(i, &rate)| (i as f64 + 1.0, vec![rate])).collect();
            let series = Series::of(&samples).unwrap();
            let over_cores = cores::CoreModel::of(&series);
            for fit in &over_cores.fits {
                prop_assert!(fit.one_core.value > 0.0 && (0.0..=1.0).contains(&fit.contention.value), "{:?}", fit);
                prop_assert!(fit.coherency.is_none_or(|coherency| coherency.value >= 0.0), "{:?}", fit);
            }
            let repeated: Vec<_> = samples.iter().map(|(at, rates)| (*at, rates.repeat(3))).collect();
            let over_connections = sessions::SessionModel::of(&Series::of(&repeated).unwrap()).unwrap();
            let curves = over_cores.curve(9).into_iter().chain(over_connections.curve());
            for (at, rate) in curves {
                prop_assert!(rate.is_finite() && rate > 0.0, "{} {}", at, rate);
            }
        }
    }
}
