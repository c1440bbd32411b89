//! The difference between a value and the reference.

use crate::report::parts::is_searched;
use crate::report::result::{PointResult, Repetition, drift};
use method::ResultKind;
use method::stats::shift::{self, ValueRange};
use procedure::metric::by_key;
use schemars::JsonSchema;
use serde::Serialize;

/// The difference between a value and the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// What the difference shows.
    pub finding: Finding,
    /// In percent of the reference: the median of all ratios of a repetition to one of the reference; `None` where nothing is
    /// compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Nominal coverage of the interval, without the parts by which errors and drift widen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// Drift of the null device between both runs, by which the interval is wider, in percent; `None` without a null device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_percent: Option<f64>,
}

method::worded! {
    /// What a difference shows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Finding: in_words {
        /// The whole interval lies above 0.
        Higher = "higher",
        /// The whole interval lies below 0.
        Lower = "lower",
        /// The interval contains 0.
        NoDifferenceShown = "no difference shown",
        /// Tester, host or the end of the search bounds at least half of the repetitions of a run: a bound is not a value.
        Bounded = "not compared: a bound is not a value",
        /// The repetitions are too few for an interval.
        TooFewRepetitions = "not judged: too few repetitions",
        /// A run has no value here.
        NoValue = "not compared: no value",
        /// A value of the reference is 0, so there is no difference in percent.
        OfZero = "not compared: no percentage of 0",
    }
}

impl Finding {
    pub fn is_judged(self) -> bool {
        matches!(self, Finding::Higher | Finding::Lower | Finding::NoDifferenceShown)
    }
}

impl Difference {
    fn without(finding: Finding) -> Difference {
        Difference { finding, percent: None, low: None, high: None, coverage: None, drift_percent: None }
    }

    /// Returns the difference of values to those of the reference; `drift` is that of the null device, as a share.
    pub(crate) fn of(reference: &[ValueRange], other: &[ValueRange], drift: Option<f64>) -> Difference {
        let Some(ratio) = shift::ratio(reference, other) else {
            let is_same = reference.iter().chain(other).all(|known| known.high == 0.0);
            return Difference::without(if is_same { Finding::NoDifferenceShown } else { Finding::OfZero });
        };
        let in_percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let percent = Some(in_percent(ratio));
        let Some(interval) = shift::interval(reference, other) else {
            return Difference { percent, ..Difference::without(Finding::TooFewRepetitions) };
        };
        let interval = interval.widened(drift.unwrap_or(0.0));
        let (low, high) = (in_percent(interval.low), in_percent(interval.high));
        let finding = match () {
            () if low > 0.0 => Finding::Higher,
            () if high < 0.0 => Finding::Lower,
            () => Finding::NoDifferenceShown,
        };
        Difference {
            finding,
            percent,
            low: Some(low),
            // JSON has no infinity; without an upper end the difference can be any above the lower one.
            high: Some(high).filter(|high| high.is_finite()),
            coverage: Some(interval.coverage),
            drift_percent: drift.map(|drift| drift * 100.0),
        }
    }

    /// Whether the whole interval is worse than this difference in percent.
    pub fn is_worse_by(&self, percent: f64, metric: &str) -> bool {
        if higher_is_better(metric) {
            self.high.is_some_and(|high| high < -percent)
        } else {
            self.low.is_some_and(|low| low > percent)
        }
    }
}

/// Whether a higher value of a metric is better; unknown metrics are rates.
pub(crate) fn higher_is_better(metric: &str) -> bool {
    by_key(metric).is_none_or(|metric| metric.higher_is_better)
}

/// Compares a result with that of the reference. `is_simulated`: the device needs no host, so a null device says nothing.
pub fn between(reference: &PointResult, other: &PointResult, is_simulated: bool) -> Difference {
    let (a, b) = (known(reference), known(other));
    if a.is_empty() || b.is_empty() {
        return Difference::without(Finding::NoValue);
    }
    if is_bounded(reference) || is_bounded(other) {
        return Difference::without(Finding::Bounded);
    }
    Difference::of(&a, &b, if is_simulated { None } else { drift(reference, other) })
}

/// The repetitions of a result, each with the bounds of its true value.
pub(crate) fn known(result: &PointResult) -> Vec<ValueRange> {
    let is_searched = is_searched(&result.metric);
    result.repetitions.iter().filter_map(|r| of_repetition(r, is_searched)).collect()
}

fn of_repetition(r: &Repetition, is_searched: bool) -> Option<ValueRange> {
    let (value, error) = (r.value as f64, r.error.0 as f64);
    Some(match r.bound {
        ResultKind::NothingMeasured => return None,
        ResultKind::Below => ValueRange { value: error, low: 0.0, high: error },
        ResultKind::Exact | ResultKind::Between | ResultKind::NothingPassed if is_searched => {
            ValueRange { value, low: value, high: value + error }
        }
        bound if bound.at_least() => ValueRange { value, low: value, high: f64::INFINITY },
        _ => ValueRange::exactly(value),
    })
}

/// Whether at least half of the repetitions are bounds, so that the median is one.
pub(crate) fn is_bounded(result: &PointResult) -> bool {
    use ResultKind::{AtUpperLimit, Below, HostLimit, NothingMeasured, TesterLimit};
    let bounds = [AtUpperLimit, Below, HostLimit, NothingMeasured, TesterLimit];
    let bounded = result.repetitions.iter().filter(|r| bounds.contains(&r.bound)).count();
    bounded * 2 >= result.repetitions.len()
}
