//! Intervals of fitted parameters by the bootstrap (Efron 1979): the middle 95 % over resampled rates.

use super::{Estimate, Series};
use crate::random::SplitMix;
use crate::stats::{Interval, median_of};
use schemars::JsonSchema;
use serde::Serialize;

/// How intervals were computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bootstrap {
    /// Seed of the resampling.
    pub seed: u64,
    /// Number of resamples.
    pub resamples: u32,
    /// Nominal coverage.
    pub coverage: f64,
    /// What was resampled.
    pub basis: Basis,
}

/// What is resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The repetitions of each point.
    Repetitions,
    /// The deviations of the medians from the fit, because a point has fewer than five repetitions.
    Residuals,
}

impl Bootstrap {
    pub const SEED: u64 = 9_693;
    pub const RESAMPLES: u32 = 1_000;
    /// Their nominal coverage.
    pub const COVERAGE: f64 = 0.95;

    pub(super) fn of(series: &Series) -> Bootstrap {
        let enough = series.points.iter().all(|point| point.values.len() >= Interval::LEAST_VALUES);
        let basis = if enough { Basis::Repetitions } else { Basis::Residuals };
        Bootstrap { seed: Bootstrap::SEED, resamples: Bootstrap::RESAMPLES, coverage: Bootstrap::COVERAGE, basis }
    }

    pub(super) fn resample(self, series: &Series, fitted: &[f64], parameters: usize) -> Vec<Vec<f64>> {
        let mut rng = SplitMix(self.seed);
        match self.basis {
            Basis::Repetitions => (0..self.resamples).map(|_| of_repetitions(series, &mut rng)).collect(),
            Basis::Residuals => {
                let residuals = residuals(series, fitted, parameters);
                (0..self.resamples).map(|_| of_residuals(&residuals, fitted, &mut rng)).collect()
            }
        }
    }

    pub(super) fn estimate(self, value: f64, mut resampled: Vec<f64>) -> Estimate {
        resampled.sort_by(f64::total_cmp);
        let last = resampled.len().saturating_sub(1);
        let at = |share: f64| resampled.get((share * last as f64).round() as usize).copied().unwrap_or(value);
        let tail = (1.0 - self.coverage) / 2.0;
        let high = at(1.0 - tail).max(value);
        Estimate { value, low: at(tail).min(value), high: high.is_finite().then_some(high) }
    }
}

fn of_repetitions(series: &Series, rng: &mut SplitMix) -> Vec<f64> {
    let median = |values: &[f64]| {
        let mut drawn: Vec<f64> = values.iter().map(|_| values[rng.below(values.len() as u64) as usize]).collect();
        drawn.sort_by(f64::total_cmp);
        median_of(&drawn).unwrap_or_default()
    };
    let mut median = median;
    series.points.iter().map(|point| median(&point.values)).collect()
}

/// Relative deviations of the medians from the fit, centred on 0 and scaled by √(n / (n − p)).
fn residuals(series: &Series, fitted: &[f64], parameters: usize) -> Vec<f64> {
    let n = fitted.len();
    let larger = (n as f64 / n.saturating_sub(parameters).max(1) as f64).sqrt();
    let shares: Vec<f64> = series.points.iter().zip(fitted).map(|(point, fit)| point.median / fit - 1.0).collect();
    let mean = shares.iter().sum::<f64>() / n as f64;
    shares.into_iter().map(|share| (share - mean) * larger).collect()
}

fn of_residuals(residuals: &[f64], fitted: &[f64], rng: &mut SplitMix) -> Vec<f64> {
    // Keeps rates above 0.
    let mut draw = || residuals[rng.below(residuals.len() as u64) as usize].max(-0.9);
    fitted.iter().map(|fit| fit * (1.0 + draw())).collect()
}
