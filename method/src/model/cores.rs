//! Rate over cores: Amdahl's law (AFIPS 1967) and the Universal Scalability Law (Gunther, "A General Theory of
//! Computational Scalability Based on Rational Functions", 2008).
//!
//! P(n) = λ n / (1 + σ (n − 1) + κ n (n − 1)), with the rate λ of one core, the contention σ and the coherency κ.
//! Amdahl's law has κ = 0. n / P(n) is linear in 1/λ, σ/λ and κ/λ, so the fit is linear least squares.

use super::least_squares::solve;
use super::{Bootstrap, Doubt, Estimate, LARGEST_RESIDUAL, Parameter, Series};
use schemars::JsonSchema;
use serde::Serialize;

crate::worded! {
    /// A law.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Law: name {
        /// Amdahl's law.
        Amdahl = "Amdahl's law",
        /// The Universal Scalability Law.
        Usl = "Universal Scalability Law",
    }
}

impl Law {
    pub fn parameters(self) -> usize {
        match self {
            Law::Amdahl => 2,
            Law::Usl => 3,
        }
    }
}

/// Both laws, fitted to one series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CoreModel {
    /// The law that describes the series: the Universal Scalability Law if the interval of κ is above 0, else Amdahl's.
    pub preferred: Law,
    /// The fits, in the order of [`Law::ALL`].
    pub fits: Vec<Fit>,
    /// How the intervals were computed.
    pub bootstrap: Bootstrap,
    /// Fewest cores of the series.
    pub least: f64,
    /// Most cores of the series. What a fit says of more cores is extrapolated.
    pub most: f64,
}

/// One law, fitted to one series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fit {
    /// The law.
    pub law: Law,
    /// λ, in the unit of the series.
    pub one_core: Estimate,
    /// σ, 0 to 1.
    pub contention: Estimate,
    /// κ, at least 0; Amdahl's law has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coherency: Option<Estimate>,
    /// λ/σ, which the rate of Amdahl's law approaches with ever more cores: extrapolated. None without contention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Estimate>,
    /// The highest rate, if the law has one: if κ is above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// The largest deviation of a point from the fit.
    pub residual: Residual,
    /// What contradicts it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// The highest rate of the Universal Scalability Law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Peak {
    /// √((1 − σ) / κ): the cores that have it; an open interval if some resamples have no peak.
    pub cores: Estimate,
    /// The rate there, in the unit of the series.
    pub rate: Estimate,
    /// Whether it lies beyond the cores that were measured.
    pub extrapolated: bool,
}

/// A deviation from a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Residual {
    /// Position of the point.
    pub at: f64,
    /// Measured rate by fitted rate, minus 1.
    pub share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Parameters {
    one_core: f64,
    contention: f64,
    coherency: f64,
}

impl Parameters {
    fn rate(self, n: f64) -> f64 {
        let Parameters { one_core, contention, coherency } = self;
        one_core * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0))
    }

    /// Cores of the highest rate: at least one, infinite without coherency.
    fn peak_cores(self) -> f64 {
        if self.coherency > 0.0 {
            ((1.0 - self.contention).max(0.0) / self.coherency).sqrt().max(1.0)
        } else {
            f64::INFINITY
        }
    }

    fn peak_rate(self) -> f64 {
        let cores = self.peak_cores();
        if cores.is_finite() { self.rate(cores) } else { self.limit() }
    }

    fn limit(self) -> f64 {
        if self.contention > 0.0 { self.one_core / self.contention } else { f64::INFINITY }
    }
}

impl CoreModel {
    pub fn of(series: &Series) -> CoreModel {
        let bootstrap = Bootstrap::of(series);
        let fits: Vec<Fit> = Law::ALL.iter().map(|&law| fit(law, series, bootstrap)).collect();
        let shows_coherency = |fit: &Fit| fit.coherency.is_some_and(|coherency| coherency.low > 0.0);
        let preferred = if fits.iter().any(shows_coherency) { Law::Usl } else { Law::Amdahl };
        let medians = series.medians();
        CoreModel { preferred, fits, bootstrap, least: medians[0].0, most: medians[medians.len() - 1].0 }
    }

    pub fn fit(&self) -> &Fit {
        self.fits.iter().find(|fit| fit.law == self.preferred).expect("every law is fitted")
    }

    /// Returns the fitted curve as (cores, rate).
    pub fn curve(&self, points: usize) -> Vec<(f64, f64)> {
        let step = (self.most - self.least) / points.saturating_sub(1).max(1) as f64;
        (0..points).map(|i| self.least + step * i as f64).map(|n| (n, self.fit().rate(n))).collect()
    }
}

impl Fit {
    pub fn rate(&self, n: f64) -> f64 {
        let coherency = self.coherency.map_or(0.0, |coherency| coherency.value);
        Parameters { one_core: self.one_core.value, contention: self.contention.value, coherency }.rate(n)
    }
}

fn fit(law: Law, series: &Series, bootstrap: Bootstrap) -> Fit {
    let medians = series.medians();
    let found = bounded(law, &medians);
    let fitted: Vec<f64> = medians.iter().map(|&(n, _)| found.rate(n)).collect();
    let resamples: Vec<Vec<(f64, f64)>> = bootstrap
        .resample(series, &fitted, law.parameters())
        .into_iter()
        .map(|rates| medians.iter().map(|point| point.0).zip(rates).collect())
        .collect();
    let all: Vec<Parameters> = resamples.iter().map(|points| bounded(law, points)).collect();
    let estimate = |of: fn(Parameters) -> f64| bootstrap.estimate(of(found), all.iter().copied().map(of).collect());
    let most = medians[medians.len() - 1].0;
    let peak = (found.coherency > 0.0).then(|| Peak {
        cores: estimate(Parameters::peak_cores),
        rate: estimate(Parameters::peak_rate),
        extrapolated: found.peak_cores() > most,
    });
    let residual = residual(&medians, found);
    let mut doubts = out_of_bounds(law, &medians, &resamples, bootstrap);
    if residual.share.abs() > LARGEST_RESIDUAL {
        doubts.push(Doubt::Residual { at: residual.at, share: residual.share });
    }
    Fit {
        law,
        one_core: estimate(|p| p.one_core),
        contention: estimate(|p| p.contention),
        coherency: (law == Law::Usl).then(|| estimate(|p| p.coherency)),
        limit: (law == Law::Amdahl && found.contention > 0.0).then(|| estimate(Parameters::limit)),
        peak,
        residual,
        doubts,
    }
}

fn residual(points: &[(f64, f64)], found: Parameters) -> Residual {
    let all = points.iter().map(|&(n, rate)| Residual { at: n, share: rate / found.rate(n) - 1.0 });
    all.max_by(|a, b| a.share.abs().total_cmp(&b.share.abs())).expect("a series has points")
}

fn out_of_bounds(law: Law, points: &[(f64, f64)], resamples: &[Vec<(f64, f64)>], bootstrap: Bootstrap) -> Vec<Doubt> {
    let free = |points: &[(f64, f64)]| linear(points, law == Law::Usl, Sigma::Free);
    let Some(found) = free(points) else { return Vec::new() };
    let all: Vec<Parameters> = resamples.iter().filter_map(|points| free(points)).collect();
    let doubt = |parameter, of: fn(&Parameters) -> f64, most: f64| {
        let unbounded = bootstrap.estimate(of(&found), all.iter().map(of).collect());
        let is_outside = unbounded.low > most || unbounded.high.is_some_and(|high| high < 0.0);
        is_outside.then_some(Doubt::OutOfBounds { parameter, unbounded })
    };
    let contention = doubt(Parameter::Contention, |p| p.contention, 1.0);
    let coherency = (law == Law::Usl).then(|| doubt(Parameter::Coherency, |p| p.coherency, f64::INFINITY)).flatten();
    contention.into_iter().chain(coherency).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sigma {
    Free,
    Fixed(f64),
}

/// σ free, 0 or 1; κ free or 0.
fn bounded(law: Law, points: &[(f64, f64)]) -> Parameters {
    let allowed = |p: &Parameters| p.one_core > 0.0 && (0.0..=1.0).contains(&p.contention) && p.coherency >= 0.0;
    let sigmas = [Sigma::Fixed(0.0), Sigma::Free, Sigma::Fixed(1.0)];
    let kinds = sigmas.into_iter().flat_map(|sigma| [(sigma, false), (sigma, true)]);
    let fits = kinds.filter(|&(_, coherency)| law == Law::Usl || !coherency);
    let found = fits.filter_map(|(sigma, coherency)| linear(points, coherency, sigma)).filter(allowed);
    let error = |p: &Parameters| points.iter().map(|&(n, rate)| (rate / p.rate(n) - 1.0).powi(2)).sum::<f64>();
    found.min_by(|a, b| error(a).total_cmp(&error(b))).expect("the mean of n / P is above 0")
}

/// Least squares of n / P(n) = 1/λ + σ/λ (n − 1) + κ/λ n (n − 1). `None` if the points do not determine it.
fn linear(points: &[(f64, f64)], coherency: bool, sigma: Sigma) -> Option<Parameters> {
    let (is_free, fixed) = match sigma {
        Sigma::Free => (true, 0.0),
        Sigma::Fixed(fixed) => (false, fixed),
    };
    // Divided by n / P, so that relative deviations count.
    let row = |&(n, rate): &(f64, f64)| {
        let weight = rate / n;
        let terms = [(true, 1.0 + fixed * (n - 1.0)), (is_free, n - 1.0), (coherency, n * (n - 1.0))];
        terms.into_iter().filter(|(used, _)| *used).map(|(_, term)| term * weight).collect()
    };
    let rows: Vec<Vec<f64>> = points.iter().map(row).collect();
    let mut found = solve(&rows, &vec![1.0; points.len()])?.into_iter();
    let inverse = found.next()?;
    // Adding 0 changes -0 to 0.
    let mut next = |used: bool, or: f64| if used { found.next().map(|x| x / inverse + 0.0) } else { Some(or) };
    Some(Parameters { one_core: 1.0 / inverse, contention: next(is_free, fixed)?, coherency: next(coherency, 0.0)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Basis;
    use crate::model::synthetic::series;
    use proptest::prelude::*;

    const CORES: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    fn law(one_core: f64, contention: f64, coherency: f64) -> impl Fn(f64) -> f64 {
        move |n| Parameters { one_core, contention, coherency }.rate(n)
    }

    fn near(value: f64, truth: f64, tolerance: f64) -> bool {
        (value - truth).abs() <= tolerance
    }

    fn of(model: &CoreModel, law: Law) -> &Fit {
        model.fits.iter().find(|fit| fit.law == law).unwrap()
    }

    #[test]
    fn parameters_without_noise_are_recovered_exactly() {
        let model = CoreModel::of(&series(&CORES, law(2e6, 0.03, 0.001), 5, 0.0, 1));
        assert_eq!(model.preferred, Law::Usl);
        let fit = model.fit();
        assert!(near(fit.one_core.value, 2e6, 1.0) && near(fit.contention.value, 0.03, 1e-6), "{fit:?}");
        assert!(near(fit.coherency.unwrap().value, 0.001, 1e-6));
        let peak = fit.peak.unwrap();
        assert!(near(peak.cores.value, (0.97f64 / 0.001).sqrt(), 1e-3) && !peak.extrapolated, "{peak:?}");
        assert!(fit.doubts.is_empty() && fit.residual.share.abs() < 1e-9);
    }

    #[test]
    fn amdahls_law_is_recovered_and_preferred_without_coherency() {
        let model = CoreModel::of(&series(&CORES, law(1e6, 0.1, 0.0), 10, 0.01, 2));
        assert_eq!((model.preferred, model.bootstrap.basis), (Law::Amdahl, Basis::Repetitions));
        let fit = model.fit();
        assert!(near(fit.contention.value, 0.1, 0.005), "{fit:?}");
        let limit = fit.limit.unwrap();
        assert!(near(limit.value, 1e7, 2e5), "{limit:?}");
        assert_eq!((fit.peak, fit.coherency), (None, None));
    }

    #[test]
    fn a_peak_beyond_the_measured_cores_is_extrapolated() {
        let model = CoreModel::of(&series(&CORES[..5], law(1e6, 0.02, 0.0005), 10, 0.002, 3));
        let peak = model.fit().peak.unwrap();
        assert!(peak.extrapolated && peak.cores.low < 44.3 && peak.cores.high > Some(44.2), "{peak:?}");
        let curve = model.curve(31);
        assert_eq!((curve.len(), curve[0].0, curve[30].0), (31, 1.0, 16.0));
    }

    #[test]
    fn a_rate_that_rises_faster_than_the_cores_is_contradictory() {
        let model = CoreModel::of(&series(&CORES, |n| 1e6 * n * (1.0 + 0.02 * (n - 1.0)), 5, 0.002, 4));
        for law in Law::ALL {
            let doubts = &of(&model, law).doubts;
            let negative = |d: &Doubt| matches!(d, Doubt::OutOfBounds { parameter: Parameter::Contention, .. });
            assert!(doubts.iter().any(negative), "{law:?} {doubts:?}");
        }
        assert_eq!(model.fit().contention.value, 0.0);
    }

    #[test]
    fn a_rate_that_falls_contradicts_amdahls_law_and_is_coherency() {
        let model = CoreModel::of(&series(&CORES, law(1e6, 0.9, 0.05), 5, 0.002, 8));
        let amdahl = of(&model, Law::Amdahl);
        assert_eq!(amdahl.contention.value, 1.0);
        let above = |d: &Doubt| matches!(d, Doubt::OutOfBounds { unbounded, .. } if unbounded.low > 1.0);
        assert!(amdahl.doubts.iter().any(above), "{amdahl:?}");
        assert_eq!(model.preferred, Law::Usl);
        let coherency = model.fit().coherency.unwrap();
        assert!(near(coherency.value, 0.05, 0.005), "{coherency:?}");
    }

    #[test]
    fn points_far_from_every_law_are_contradictory() {
        let model = CoreModel::of(&series(&CORES, |n| if n == 4.0 { 9e5 } else { 1e6 * n }, 5, 0.002, 5));
        let doubt = |d: &Doubt| matches!(d, Doubt::Residual { at, share } if *at == 4.0 && *share < -0.5);
        assert!(model.fit().doubts.iter().any(doubt), "{:?}", model.fit());
    }

    #[test]
    fn few_repetitions_resample_the_residuals() {
        let model = CoreModel::of(&series(&CORES, law(1e6, 0.05, 0.0), 2, 0.01, 6));
        assert_eq!(model.bootstrap.basis, Basis::Residuals);
        let contention = model.fit().contention;
        assert!(contention.low <= 0.05 && contention.high >= Some(0.05), "{contention:?}");
    }

    /// draft-lencse-v6ops-transition-scalability-05, Figure 8: the set-up rate of Jool on 1 to 16 cores, in 1,000.
    #[test]
    fn the_published_saturation_of_jool_has_an_explanation_by_amdahls_law() {
        let rates = [228.6, 358.5, 537.4, 569.9, 602.6];
        let samples: Vec<_> = CORES.into_iter().zip(rates).map(|(n, rate)| (n, vec![rate])).collect();
        let model = CoreModel::of(&Series::of(&samples).unwrap());
        let fit = of(&model, Law::Amdahl);
        assert!((0.25..0.4).contains(&fit.contention.value), "{fit:?}");
        // 1/σ: the limit in the draft's figure.
        assert!((600.0..900.0).contains(&fit.limit.unwrap().value), "{fit:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn the_truth_is_recovered_from_noise(seed: u64, contention in 0.0f64..0.3, coherency in 0.0f64..0.005) {
            let truth = law(3e6, contention, coherency);
            let model = CoreModel::of(&series(&CORES, &truth, 10, 0.01, seed));
            let fit = of(&model, Law::Usl);
            prop_assert!(near(fit.one_core.value, 3e6, 6e4), "{:?}", fit);
            prop_assert!(near(fit.contention.value, contention, 0.02 + 0.1 * contention), "{:?}", fit);
            prop_assert!(near(fit.coherency.unwrap().value, coherency, 0.0005 + 0.1 * coherency), "{:?}", fit);
            for (n, rate) in CORES.into_iter().map(|n| (n, truth(n))) {
                prop_assert!((fit.rate(n) / rate - 1.0).abs() < 0.03);
            }
        }
    }

    #[test]
    fn intervals_cover_the_truth_nearly_as_often_as_they_say() {
        let covered = |repetitions: usize, seeds: u64| {
            let covers = |seed: &u64| {
                let model = CoreModel::of(&series(&CORES, law(1e6, 0.05, 0.001), repetitions, 0.01, *seed));
                let Estimate { low, high, .. } = of(&model, Law::Usl).contention;
                low <= 0.05 && high >= Some(0.05)
            };
            (0..seeds).filter(covers).count() as f64 / seeds as f64
        };
        let (ten, two) = (covered(10, 30), covered(2, 30));
        // With 300 series each, the shares were 97 % and 82 %.
        assert!(ten >= 0.85 && two >= 0.6, "{ten} {two}");
    }
}
