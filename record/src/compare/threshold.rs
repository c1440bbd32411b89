//! Judges conditions on values: `throughput < 3M` of `compare --fail-under`, and the limits of a scenario. A condition is compared
//! with the interval of a value, and decided only if every value that interval and bounds allow gives the same answer.

use super::difference::{Finding, between, known};
use crate::report::facts::place;
use crate::report::result::PointResult;
use crate::report::value::in_short;
use method::ResultKind;
use method::stats::Interval;
use method::stats::shift::ValueRange;
pub use scenario::limits::{Amount, Condition, ConditionError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meets {
    Yes,
    No,
    /// Tester or host bounds the value, and the bound allows both answers.
    Bounded,
    /// The interval contains the limit.
    Near,
    NoValue,
}

/// A value of the baseline, and whether its device is simulated.
pub type Baseline<'a> = Option<(&'a PointResult, bool)>;

pub fn is_about(condition: &Condition, result: &PointResult) -> bool {
    result.metric == condition.metric.key
}

/// Whether a result meets a condition.
pub fn judge(condition: &Condition, result: &PointResult, baseline: Baseline<'_>) -> Meets {
    let ends = match condition.amount {
        Amount::Value(_) => ends(result),
        Amount::OfBaseline(_) => in_percent(result, baseline),
    };
    match ends.map(|ends| ends.map(|end| condition.holds(end))) {
        Ok([true, true]) => Meets::Yes,
        Ok([false, false]) => Meets::No,
        Ok(_) if super::difference::is_bounded(result) => Meets::Bounded,
        Ok(_) => Meets::Near,
        Err(without) => without,
    }
}

/// The lowest and the highest median that interval, errors and bounds of the repetitions allow.
fn ends(result: &PointResult) -> Result<[f64; 2], Meets> {
    let known = known(result);
    if known.is_empty() {
        return Err(Meets::NoValue);
    }
    let anything = ValueRange { value: 0.0, low: 0.0, high: f64::INFINITY };
    let unknown = std::iter::repeat_n(anything, result.count(ResultKind::NothingMeasured));
    let all: Vec<ValueRange> = known.into_iter().chain(unknown).collect();
    let of = |end: fn(&ValueRange) -> f64| {
        let mut values: Vec<f64> = all.iter().map(end).collect();
        values.sort_by(f64::total_cmp);
        Interval::of(&values).ok_or(Meets::NoValue)
    };
    Ok([of(|known| known.low)?.low, of(|known| known.high)?.high])
}

fn in_percent(result: &PointResult, baseline: Baseline<'_>) -> Result<[f64; 2], Meets> {
    let (reference, is_simulated) = baseline.ok_or(Meets::NoValue)?;
    let difference = between(reference, result, is_simulated);
    match (difference.finding, difference.low) {
        (_, Some(low)) => Ok([100.0 + low, 100.0 + difference.high.unwrap_or(f64::INFINITY)]),
        (Finding::Bounded, _) => Err(Meets::Bounded),
        (Finding::TooFewRepetitions, _) => Err(Meets::Near),
        _ => Err(Meets::NoValue),
    }
}

fn value(result: &PointResult) -> String {
    format!("{} is {}", place(result), in_short(result))
}

/// Returns the sentence about a value that meets the condition or leaves it undecided; `None` for other values.
pub fn sentence(condition: &Condition, meets: Meets, result: &PointResult) -> Option<String> {
    let (value, condition) = (value(result), &condition.text);
    Some(match meets {
        Meets::No => return None,
        Meets::Yes => format!("{value}: `{condition}`"),
        Meets::Bounded => format!("{value}: only a bound, so `{condition}` is not decided"),
        Meets::Near => {
            format!("{value}: its interval contains the limit of `{condition}`, or it has fewer than five repetitions")
        }
        Meets::NoValue => format!("{} has no value, so `{condition}` is not decided", place(result)),
    })
}
