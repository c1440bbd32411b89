//! The values of results as typed cells and quantities.

use super::result::PointResult;
use document::{Bound, Cell, Form, Quantity, QuantityInterval};
use method::trial::of_rate;
use procedure::metric::Unit;

pub(super) fn median(result: &PointResult) -> Cell {
    cell(result, result.median())
}

/// The median of a result with its bound; `None` if the device has no rate and no bound.
pub(super) fn quantity(result: &PointResult) -> Option<Quantity> {
    bounded(result, result.median())
}

/// The median of a result with its bound and its interval or range, in words.
pub(crate) fn in_short(result: &PointResult) -> String {
    match result.median().filter(|_| !result.nothing_passed()) {
        Some(median) => between(result, median, 2).to_string(),
        None => self::median(result).to_string(),
    }
}

const NO_RATE: &str = "no rate";

pub(super) fn cell(result: &PointResult, value: Option<f64>) -> Cell {
    match bounded(result, value) {
        Some(quantity) => quantity.into(),
        None if value.is_some() => "none passed".into(),
        None if result.nothing_measured() => "not measured".into(),
        None if result.has_no_rate() => NO_RATE.into(),
        None => Cell::Nothing,
    }
}

fn bounded(result: &PointResult, value: Option<f64>) -> Option<Quantity> {
    match value.filter(|_| !result.nothing_passed()) {
        Some(value) => Some(Quantity::new(value, Form::default()).bounded(result.bound_of(value))),
        None if value.is_none() && result.nothing_measured() => None,
        None => result.upper().map(|failed| below(failed.0 as f64)),
    }
}

/// A statistic other than the median; nothing for a result without a rate.
pub(super) fn statistic(result: &PointResult, of: Option<f64>) -> Cell {
    if of.is_some() || result.nothing_measured() || result.has_no_rate() { cell(result, of) } else { Cell::Nothing }
}

pub(super) fn below(rate: f64) -> Quantity {
    Quantity::new(rate, Form::default()).bounded(Bound::LessThan)
}

/// A value of a result in a few digits, with its unit: `≥ 7.4 Mfps per direction`.
pub(super) fn short(result: &PointResult, value: f64, digits: usize) -> Quantity {
    let unit = result.known.map(|metric| metric.unit);
    let form = form(unit, digits, of_rate(result.direction_ratio));
    // Ratios of frames are recorded in parts per million.
    match unit {
        Some(Unit::PartsPerMillion) => Quantity::new(value / PPM, Form::Digits(3, " %")),
        _ => Quantity::new(value, form),
    }
    .bounded(result.bound_of(value))
}

/// The form of a value with this unit in a few characters. `direction` stands after rates of frames.
pub(super) fn form(unit: Option<Unit>, digits: usize, direction: &'static str) -> Form {
    match unit {
        Some(Unit::FramesPerSecond) => Form::Si(digits, "fps", direction),
        Some(Unit::Nanoseconds) => Form::Time,
        Some(unit) => Form::Si(digits, "", unit.symbol()),
        None => Form::Si(digits, "", ""),
    }
}

const PPM: f64 = 10_000.0;

/// The same with the interval or range of the repetitions, if there are several: `3.81 (3.78–9.71) Mfps per direction`.
pub(super) fn between(result: &PointResult, value: f64, digits: usize) -> Quantity {
    let Some(interval) = result.interval.filter(|_| result.repetitions.len() > 1) else {
        return short(result, value, digits);
    };
    let word = if result.has_interval() { "" } else { "range " };
    with_ends(result, short(result, value, digits), [interval.low, interval.high], word)
}

fn with_ends(result: &PointResult, short: Quantity, [low, high]: [f64; 2], prefix_word: &'static str) -> Quantity {
    let is_ppm = result.known.is_some_and(|metric| metric.unit == Unit::PartsPerMillion);
    let scale = if is_ppm { PPM } else { 1.0 };
    Quantity { interval: Some(QuantityInterval { low: low / scale, high: high / scale, prefix_word }), ..short }
}

/// The median with the lowest and the highest repetition, for a row whose title names the unit: `5 (4.5–5.3) M`.
pub(super) fn of_row(result: &PointResult) -> Cell {
    let (Some(median), Some(summary)) = (result.median().filter(|_| !result.nothing_passed()), result.summary) else {
        return without_rate(result);
    };
    let short = short(result, median, 2);
    let form = match (short.form, result.known.map(|metric| metric.unit)) {
        (Form::Si(digits, ..), Some(Unit::FramesPerSecond | Unit::ConnectionsPerSecond)) => Form::Si(digits, "", ""),
        (form, _) => form,
    };
    let short = Quantity { form, ..short };
    if summary.n < 2 { short.into() } else { with_ends(result, short, [summary.min, summary.max], "").into() }
}

pub(super) fn without_rate(result: &PointResult) -> Cell {
    let below = |rate: method::Rate| Quantity::new(rate.0 as f64, Form::Si(3, "", "")).bounded(Bound::LessThan);
    match (result.upper(), result.failing().filter(|failing| failing.most > 0.0)) {
        (Some(rate), Some(failing)) => format!("{}, loses {}", below(rate), failing.in_words()).into(),
        (Some(rate), None) => below(rate).into(),
        (None, _) if result.nothing_passed() => "none passed".into(),
        (None, _) if result.has_no_rate() => NO_RATE.into(),
        (None, _) => "not measured".into(),
    }
}
