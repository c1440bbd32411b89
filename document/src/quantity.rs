//! A value with what bounds it, its interval, and how its digits and its unit are printed.

use crate::number::{self, prefix, significant};
use std::fmt::{self, Display, Formatter};

/// What is known about a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// The value itself.
    #[default]
    Exact,
    /// The strict result, because no trial was valid.
    Strict,
    /// The value is at least this.
    AtLeast,
    /// The value is at most this.
    AtMost,
    /// Less than this value.
    LessThan,
}

impl Bound {
    /// The sign before a value.
    pub fn sign(self) -> &'static str {
        match self {
            Bound::Exact | Bound::Strict => "",
            Bound::AtLeast => "≥ ",
            Bound::AtMost => "≤ ",
            Bound::LessThan => "< ",
        }
    }

    /// The bound in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Bound::Exact | Bound::Strict => "",
            Bound::AtLeast => "at least ",
            Bound::AtMost => "at most ",
            Bound::LessThan => "less than ",
        }
    }

    /// Whether it is a lower or an upper bound.
    pub fn is_one_sided(self) -> bool {
        !matches!(self, Bound::Exact | Bound::Strict)
    }

    /// What is known about the ratio of a value with this bound to another one. `None`: a ratio to a bound is withheld.
    pub fn ratio_to(self, other: Bound) -> Option<Bound> {
        (other == Bound::Exact).then_some(self)
    }

    /// Rounds a bound to `digits` significant digits: a lower bound never up, an upper bound never down. A value that is no bound stays
    /// as it is.
    pub fn rounded(self, value: f64, digits: usize) -> f64 {
        if value <= 0.0 || !value.is_finite() {
            return value;
        }
        let power = value.log10().floor() as i32;
        // Digits before the decimal point are always kept.
        let step = 10f64.powi(power + 1 - i32::try_from(digits).unwrap_or(i32::MAX).max(power.rem_euclid(3) + 1));
        self.to_multiple(value, step)
    }

    /// The same to a multiple of `step`.
    fn to_multiple(self, value: f64, step: f64) -> f64 {
        // Floating-point error must not move a value to the next step.
        let steps = value / step;
        match self {
            Bound::AtLeast if steps < 1.0 => value,
            Bound::AtLeast => (steps + 1e-9).floor() * step,
            Bound::AtMost | Bound::LessThan => (steps - 1e-9).ceil() * step,
            Bound::Exact | Bound::Strict => value,
        }
    }
}

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All digits of whole numbers and halves, then a unit: `188,937 frames/s`.
    Whole(&'static str),
    /// Significant digits, then a unit: `3.1 %`.
    Digits(usize, &'static str),
    /// So many decimals, then a unit: `0.586`, `3.10 %`.
    Decimals(usize, &'static str),
    /// Significant digits with an SI prefix, the unit that takes the prefix, and further words: `7.4 Mfps per direction`.
    Si(usize, &'static str, &'static str),
    /// Percent with one decimal below 10: `61 %`.
    Percent,
    /// A time in nanoseconds: `12.5 µs`.
    Time,
}

impl Default for Form {
    fn default() -> Form {
        Form::Whole("")
    }
}

/// An interval or a range. An infinite upper end is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantityInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Stands before the ends: `range ` of fewer repetitions than give an interval.
    pub prefix_word: &'static str,
}

/// A value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    /// Bound of the value.
    pub bound: Bound,
    /// Interval of the value.
    pub interval: Option<QuantityInterval>,
    /// Printed form.
    pub form: Form,
}

impl Quantity {
    /// An exact value.
    pub fn new(value: f64, form: Form) -> Quantity {
        Quantity { value, form, ..Quantity::default() }
    }

    /// A count with all digits.
    pub fn count(count: u64) -> Quantity {
        Quantity::new(count as f64, Form::default())
    }

    /// Adds a bound.
    pub fn bounded(self, bound: Bound) -> Quantity {
        Quantity { bound, ..self }
    }

    /// Adds an interval.
    pub fn with_interval(self, low: f64, high: f64) -> Quantity {
        Quantity { interval: Some(QuantityInterval { low, high, prefix_word: "" }), ..self }
    }

    /// The ratio to another value with this form; `None` if what bounds the other one leaves it unknown.
    pub fn ratio_to(self, other: Quantity, form: Form) -> Option<Quantity> {
        let bound = self.bound.ratio_to(other.bound)?;
        (other.value > 0.0).then(|| Quantity::new(self.value / other.value, form).bounded(bound))
    }

    /// The text without the sign of a bound.
    pub fn text_without_bound(self) -> String {
        match self.interval {
            Some(interval) => self.text_with_interval(interval),
            None => self.text_without_interval(),
        }
    }

    fn text_without_interval(self) -> String {
        let value = self.value;
        match self.form {
            Form::Whole(unit) => {
                format!("{} {unit}", number::grouped_f64(self.bound.to_multiple(value, 0.5))).trim_end().to_owned()
            }
            Form::Digits(digits, unit) => {
                let fraction = digits.saturating_sub(number::whole_digits(value));
                format!("{}{unit}", significant(self.bound.to_multiple(value, decimals_of(fraction)), digits))
            }
            Form::Decimals(decimals, unit) => {
                format!("{:.decimals$}{unit}", self.bound.to_multiple(value, decimals_of(decimals)))
            }
            Form::Si(digits, unit, rest) => {
                let value = self.bound.rounded(value, digits);
                let text =
                    if unit.is_empty() { number::si(value, digits) } else { number::si_unit(value, digits, unit) };
                format!("{text} {rest}").trim_end().to_owned()
            }
            Form::Percent => number::percent(self.bound.to_multiple(value, if value < 9.95 { 0.1 } else { 1.0 })),
            Form::Time => number::signed_duration(value, 3),
        }
    }

    fn text_with_interval(self, QuantityInterval { low, high, prefix_word }: QuantityInterval) -> String {
        let joined = |value: String, low: String, high: String| {
            let ends = if high.is_empty() { format!("{low} or more") } else { format!("{low}–{high}") };
            format!("{value} ({prefix_word}{ends})")
        };
        let all = [self.value, low, high];
        let digits_needed =
            |digits, text: &dyn Fn(f64, usize) -> String| number::digits_apart(&[low, self.value, high], digits, text);
        let (digits, unit) = match self.form {
            Form::Si(digits, unit, rest) => {
                let digits = digits_needed(digits, &|v, digits| {
                    significant(self.bound.rounded(v, digits) / prefix(self.value, digits).0, digits)
                });
                let (factor, prefix) = prefix(self.bound.rounded(self.value, digits), digits);
                let [value, low, high] =
                    all.map(|v| text_if_finite(v, |v| significant(self.bound.rounded(v, digits) / factor, digits)));
                let text = format!("{} {prefix}{unit}", joined(value, low, high));
                return format!("{} {rest}", text.trim_end()).trim_end().to_owned();
            }
            Form::Time => {
                let digits = digits_needed(3, &number::signed_duration);
                let [value, low, high] = all.map(|v| number::signed_duration(v, digits));
                return format!("{value} ({prefix_word}{low} to {high})");
            }
            Form::Whole(unit) => {
                let [value, low, high] = all.map(|v| text_if_finite(v, number::grouped_f64));
                return format!("{} {unit}", joined(value, low, high)).trim_end().to_owned();
            }
            Form::Percent => (3, " %"),
            Form::Digits(digits, unit) | Form::Decimals(digits, unit) => (digits, unit),
        };
        let digits = digits_needed(digits, &significant);
        let [value, low, high] = all.map(|v| text_if_finite(v, |v| significant(v, digits)));
        joined(value, low, high) + unit
    }
}

fn decimals_of(decimals: usize) -> f64 {
    10f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX))
}

fn text_if_finite(value: f64, text: impl Fn(f64) -> String) -> String {
    if value.is_finite() { text(value) } else { String::new() }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.bound.sign(), self.text_without_bound())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Form = Form::Si(2, "fps", "per direction");

    #[test]
    fn bounds_are_rounded_to_the_safe_side() {
        let si = |bound: Bound, value| Quantity::new(value, Form::Si(2, "", "")).bounded(bound).text_without_bound();
        assert_eq!(si(Bound::AtLeast, 12_593_922.0), "12 M");
        assert_eq!(si(Bound::AtLeast, 12_000_000.0), "12 M");
        assert_eq!(si(Bound::LessThan, 12_100_000.0), "13 M");
        assert_eq!(si(Bound::AtLeast, 217_900.0), "217 k");
        assert_eq!(si(Bound::Exact, 12_593_922.0), "13 M");
        assert_eq!(Bound::AtLeast.rounded(0.0, 2).to_bits(), 0.0f64.to_bits());
        for (value, form, texts) in [
            (3.3478, Form::Digits(3, ""), ["3.34", "3.35"]),
            (21_794.5, Form::Digits(2, ""), ["21794", "21795"]),
            (0.58649, Form::Decimals(3, ""), ["0.586", "0.587"]),
            (61.4, Form::Percent, ["61 %", "62 %"]),
            (188_937.3, Form::Whole(""), ["188,937", "188,937.5"]),
        ] {
            let both = [Bound::AtLeast, Bound::LessThan].map(|bound| Quantity::new(value, form).bounded(bound));
            assert_eq!(both.map(Quantity::text_without_bound), texts);
        }
    }

    #[test]
    fn an_interval_has_the_prefix_of_its_value() {
        let rate = Quantity::new(3_812_000.0, Form::Si(2, "fps", "")).with_interval(3_780_000.0, 9_710_000.0);
        assert_eq!(rate.to_string(), "3.81 (3.78–9.71) Mfps");
        let interval = Some(QuantityInterval { low: 912_000.0, high: 1_240_000.0, prefix_word: "range " });
        let range = Quantity { interval, ..Quantity::new(980_000.0, Form::Si(3, "", "")) };
        assert_eq!(range.to_string(), "980 (range 912–1240) k");
        assert_eq!(Quantity::new(12.0, Form::Si(2, "", "")).with_interval(9.0, 14.0).to_string(), "12 (9–14)");
        assert_eq!(
            Quantity::new(23.0, Form::Digits(3, "")).with_interval(20.0, f64::INFINITY).to_string(),
            "23 (20 or more)"
        );
        let time = |value, low, high| Quantity::new(value, Form::Time).with_interval(low, high).to_string();
        assert_eq!(time(12_000.0, 11_000.0, 13_500.0), "12 µs (11 µs to 13.5 µs)");
        assert_eq!(time(12_080.0, 12_000.0, 13_500.0), "12.1 µs (12 µs to 13.5 µs)");
    }

    /// As many digits as tell the ends and the value apart.
    #[test]
    fn digits_follow_from_the_width_of_the_interval() {
        let between = |value, low, high| Quantity::new(value, RATE).with_interval(low, high).to_string();
        assert_eq!(between(10_040_000.0, 8_830_000.0, 10_200_000.0), "10 (8.83–10.2) Mfps per direction");
        assert_eq!(between(1_000_000.0, 985_335.0, 1_016_234.0), "1 (0.99–1.02) Mfps per direction");
        assert_eq!(between(3_000_000.0, 2_999_000.0, 3_001_000.0), "3 (2.999–3.001) Mfps per direction");
        assert_eq!(between(3_000_000.0, 3_000_000.0, 3_000_000.0), "3 (3–3) Mfps per direction");
        assert_eq!(between(2_994_000.0, 2_994_000.0, 2_994_000.0), "2.99 (2.99–2.99) Mfps per direction");
        // A value that all but is its lower end.
        assert_eq!(between(297_592.0, 297_590.0, 298_000.0), "297.6 (297.6–298) kfps per direction");
        let ratio = |value, low, high| Quantity::new(value, Form::Digits(3, "")).with_interval(low, high).to_string();
        assert_eq!(ratio(0.9992, 0.9991, 0.9994), "0.9992 (0.9991–0.9994)");
        assert_eq!(ratio(0.0, 0.0010, 0.0012), "0 (0.001–0.0012)");
    }

    #[test]
    fn a_small_value_is_not_printed_as_none() {
        let share = |value| Quantity::new(value, Form::Digits(3, " %")).to_string();
        assert_eq!([share(100.0 / 60_000.0), share(0.004), share(0.0)], ["0.00167 %", "0.004 %", "0 %"]);
        assert_eq!(
            Quantity::new(2_100_000.0, RATE).with_interval(40_000.0, 2_200_000.0).to_string(),
            "2.1 (0.04–2.2) Mfps per direction"
        );
    }

    #[test]
    fn a_ratio_to_a_bound_is_withheld_and_one_of_a_bound_is_a_bound() {
        let of = |value, bound| Quantity::new(value, Form::default()).bounded(bound);
        let times = Form::Digits(3, " ×");
        let ratio = of(188_937.0, Bound::AtLeast).ratio_to(of(755_748.0, Bound::Exact), times);
        assert_eq!(ratio.unwrap().to_string(), "≥ 0.25 ×");
        assert_eq!(of(1.0, Bound::Exact).ratio_to(of(2.0, Bound::AtLeast), times), None);
        assert_eq!(of(1.0, Bound::Exact).ratio_to(of(0.0, Bound::Exact), times), None);
    }
}
