//! Axes of figures: how values become lengths, and where the ticks are.

use crate::number::{grouped_f64, si, significant};

/// How values become lengths on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors.
    Log,
    /// Equal factors above a lane for zero.
    LogWithZero,
}

/// What an axis shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The quantity; empty if the unit says it.
    pub quantity: String,
    /// Unit; empty if the quantity has none, or is one.
    pub unit: String,
}

impl Label {
    /// Its parts that are not empty.
    fn parts(&self) -> impl Iterator<Item = &str> {
        [self.quantity.as_str(), &self.unit].into_iter().filter(|part| !part.is_empty())
    }
}

impl From<&str> for Label {
    fn from(quantity: &str) -> Label {
        Label { quantity: quantity.to_owned(), unit: String::new() }
    }
}

impl<Q: Into<String>, U: Into<String>> From<(Q, U)> for Label {
    fn from((quantity, unit): (Q, U)) -> Label {
        Label { quantity: quantity.into(), unit: unit.into() }
    }
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What the axis shows.
    pub label: Label,
    /// Scale of the axis.
    pub scale: Scale,
    /// Ends of the axis; the lower one is that of the logarithm's part.
    pub range: (f64, f64),
    /// Positions of ticks with their texts; an empty text is a grid line only.
    pub ticks: Vec<(f64, String)>,
}

impl Default for Axis {
    fn default() -> Axis {
        Axis::linear("", 1.0)
    }
}

const LANE: f64 = 36.0;

impl Axis {
    /// An axis from zero to at least `max`, ticks at 1, 2 or 5 times a power of ten.
    pub fn linear(label: impl Into<Label>, max: f64) -> Axis {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = round_step(max / 5.0);
        let last = (max / step).ceil();
        let ticks = (0..=last as u32).map(|i| (f64::from(i) * step, si(f64::from(i) * step, 3))).collect();
        Axis { label: label.into(), scale: Scale::Linear, range: (0.0, last * step), ticks }
    }

    /// An axis from zero to exactly `end`: a time that has passed.
    pub fn until(label: impl Into<Label>, end: f64) -> Axis {
        let rounded = Axis::linear(label, end);
        let ticks = rounded.ticks.into_iter().filter(|(tick, _)| *tick <= end * 1.000_001).collect();
        Axis { range: (0.0, if end > 0.0 { end } else { 1.0 }), ticks, ..rounded }
    }

    /// Steps 1 to `last`.
    pub fn steps(label: impl Into<Label>, last: usize) -> Axis {
        let step = round_step(last as f64 / 8.0).max(1.0) as usize;
        let mut ticks: Vec<(f64, String)> =
            (0..=last).step_by(step).skip(1).map(|i| (i as f64, i.to_string())).collect();
        if step > 1 {
            ticks.insert(0, (1.0, "1".to_owned()));
        }
        Axis { label: label.into(), scale: Scale::Linear, range: (0.5, last as f64 + 0.5), ticks }
    }

    /// Powers of ten; over few of them also 2 and 5, and over less than one more.
    pub fn log(label: impl Into<Label>, min: f64, max: f64) -> Axis {
        let (min, max) = (min / 1.25, max * 1.25);
        let factors: &[f64] = match max / min {
            200.0.. => &[1.0],
            5.0..200.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        };
        let mut ticks = Vec::new();
        for power in min.log10().floor() as i32..=max.log10().ceil() as i32 {
            ticks.extend(factors.iter().map(|f| f * 10f64.powi(power)));
        }
        let ticks = ticks.into_iter().filter(|t| (min..=max).contains(t)).map(|t| (t, si(t, 3))).collect();
        Axis { label: label.into(), scale: Scale::Log, range: (min, max), ticks }
    }

    /// An axis from zero, with ticks where there are values: ideal scaling is a straight line.
    pub fn at_values(label: impl Into<Label>, values: &[f64]) -> Axis {
        let max = values.iter().copied().fold(0.0, f64::max);
        let ticks = values.iter().map(|&v| (v, si(v, 3))).collect();
        Axis { label: label.into(), scale: Scale::Linear, range: (0.0, max * 1.1), ticks }
    }

    /// A share in percent with a lane for zero; `smallest` is the smallest value above zero.
    pub fn loss(label: impl Into<Label>, smallest: f64) -> Axis {
        let first = smallest.clamp(1e-9, 10.0).log10().floor() as i32;
        let powers = first..=2;
        let every = (2 - first) / 6 + 1;
        let name = |p: i32| if (2 - p) % every == 0 { percent(p) } else { String::new() };
        let mut ticks = vec![(0.0, "0".to_owned())];
        ticks.extend(powers.map(|p| (10f64.powi(p), name(p))));
        Axis { label: label.into(), scale: Scale::LogWithZero, range: (10f64.powi(first), 100.0), ticks }
    }

    /// The share of frames above a value, in percent, by its factors, from 100 % down to the smallest share above zero.
    pub fn share(label: impl Into<Label>, smallest: f64) -> Axis {
        let first = smallest.clamp(1e-9, 10.0).log10().floor() as i32;
        let ticks = (first..=2).map(|power| (10f64.powi(power), percent(power))).collect();
        Axis { label: label.into(), scale: Scale::Log, range: (10f64.powi(first), 100.0), ticks }
    }

    /// Name as printed beside the axis, which tells a logarithmic scale.
    pub fn name(&self) -> String {
        self.told(&self.label.parts().collect::<Vec<_>>().join(", "))
    }

    /// Name without the quantity, if the axis has a unit.
    pub fn short_name(&self) -> String {
        self.told(self.label.parts().last().unwrap_or_default())
    }

    fn told(&self, name: &str) -> String {
        match self.scale {
            Scale::Linear => name.to_owned(),
            Scale::Log | Scale::LogWithZero => format!("{name} (log scale)"),
        }
    }

    /// A value with its unit, or with the quantity where that is the unit.
    pub fn with_unit(&self, value: f64) -> String {
        format!("{} {}", digits(value), self.label.parts().last().unwrap_or_default())
    }

    /// Position of a value between 0 and `length`.
    pub fn place(&self, value: f64, length: f64) -> f64 {
        let (min, max) = self.range;
        match self.scale {
            Scale::Linear => (value - min) / (max - min) * length,
            Scale::Log => (value / min).ln() / (max / min).ln() * length,
            Scale::LogWithZero if value <= 0.0 => LANE / 3.0,
            Scale::LogWithZero => LANE + (value.max(min) / min).ln() / (max / min).ln() * (length - LANE),
        }
    }
}

/// A value as a mark says it, without its unit: all digits of large ones.
pub fn digits(value: f64) -> String {
    if value.abs() >= 1_000.0 { grouped_f64(value.round()) } else { significant(value, 4) }
}

/// `0.01 %`, `10 %`, and below that a power of ten.
fn percent(power: i32) -> String {
    match power {
        0.. => format!("{} %", 10i64.pow(power.unsigned_abs())),
        -3..0 => format!("{:.*} %", power.unsigned_abs() as usize, 10f64.powi(power)),
        _ => format!("1e{power} %"),
    }
}

/// The next 1, 2 or 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    // Tolerates floating-point error: 10^0.301 is not quite 2.
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step * 0.999_999).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts(&Axis::linear("", 7_600_000.0)), ["0", "2 M", "4 M", "6 M", "8 M"]);
        assert_eq!(texts(&Axis::linear("", 0.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(texts(&Axis::log("", 100_000.0, 4_000_000.0)), ["100 k", "200 k", "500 k", "1 M", "2 M", "5 M"]);
        assert_eq!(texts(&Axis::log("", 20.0, 30.0)), ["20", "25", "30"]);
        assert_eq!(texts(&Axis::log("", 1e5, 1e9)), ["100 k", "1 M", "10 M", "100 M", "1 G"]);
        assert_eq!(texts(&Axis::steps("", 9)), ["1", "2", "4", "6", "8"]);
        assert_eq!(texts(&Axis::loss("", 0.02)), ["0", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"]);
    }

    #[test]
    fn a_time_that_has_passed_ends_its_axis() {
        let axis = Axis::until(("time", "s"), 62.5);
        assert_eq!((texts(&axis), axis.range), (vec!["0", "20", "40", "60"], (0.0, 62.5)));
    }

    #[test]
    fn shares_go_down_to_the_smallest_one() {
        let axis = Axis::share(("frames with a longer delay", "%"), 0.02);
        assert_eq!(texts(&axis), ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"]);
        assert_eq!(axis.name(), "frames with a longer delay, % (log scale)");
    }

    #[test]
    fn values_carry_the_unit_of_the_label() {
        assert_eq!(Axis::linear("connections", 10.0).with_unit(1_000_000.0), "1,000,000 connections");
        assert_eq!(Axis::linear(("delay", "µs"), 10.0).with_unit(0.123_45), "0.123 µs");
    }

    #[test]
    fn zero_loss_has_its_lane_below_every_other_loss() {
        let axis = Axis::loss("", 1e-6);
        assert!(axis.place(0.0, 200.0) < axis.place(1e-6, 200.0));
        assert!((axis.place(100.0, 200.0) - 200.0).abs() < 1e-9);
    }
}
