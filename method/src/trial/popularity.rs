//! How often a trial uses each connection.

use crate::units::Count;
use schemars::JsonSchema;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Popularity {
    /// All alike (RFC 4814, section 4.5; RFC 9693, section 4.10).
    #[default]
    Uniform,
    /// Rank k of a pseudo-random order has a probability proportional to 1 / k^exponent.
    Zipf(Exponent),
}

/// An exponent above 0 in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exponent(u32);

/// More ranks are integrated.
const SINGLE: Count = 4096;

impl Exponent {
    /// Thousandths: more than 99.9 % of the frames are on two connections.
    pub const MOST: u32 = 10_000;

    /// 1 to [`Exponent::MOST`].
    pub fn of_thousandths(thousandths: u32) -> Option<Exponent> {
        (1..=Exponent::MOST).contains(&thousandths).then_some(Exponent(thousandths))
    }

    fn as_f64(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Sum of 1 / k^exponent; above 4,096 by the midpoint rule (relative error below 10^-6).
    pub fn weight(self, ranks: Range<Count>) -> f64 {
        let exponent = self.as_f64();
        let single = ranks.start..ranks.end.min(SINGLE + 1);
        let alone: f64 = single.map(|rank| (rank as f64).powf(-exponent)).sum();
        let from = ranks.start.max(SINGLE + 1);
        if from >= ranks.end {
            return alone;
        }
        let (low, high) = (from as f64 - 0.5, ranks.end as f64 - 0.5);
        let integral = if self.0 == 1000 {
            (high / low).ln()
        } else {
            (high.powf(1.0 - exponent) - low.powf(1.0 - exponent)) / (1.0 - exponent)
        };
        alone + integral
    }
}

impl Popularity {
    /// Whether it is that of RFC 4814.
    pub fn is_uniform(&self) -> bool {
        *self == Popularity::Uniform
    }

    /// Part of the frames on the `most` most popular of `all` connections.
    pub fn part_of(self, most: Count, all: Count) -> f64 {
        let most = most.min(all);
        match self {
            _ if all == 0 => 1.0,
            Popularity::Uniform => most as f64 / all as f64,
            Popularity::Zipf(exponent) => exponent.weight(1..most + 1) / exponent.weight(1..all + 1),
        }
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Popularity::Uniform => f.write_str("uniform"),
            Popularity::Zipf(Exponent(thousandths)) => {
                let decimals = format!("{:03}", thousandths % 1000);
                let decimals = decimals.trim_end_matches('0');
                write!(f, "zipf {}.{}", thousandths / 1000, if decimals.is_empty() { "0" } else { decimals })
            }
        }
    }
}

impl FromStr for Popularity {
    type Err = String;

    /// `uniform`, or `zipf` and an exponent with up to three decimals.
    fn from_str(text: &str) -> Result<Popularity, String> {
        let text = text.trim();
        if text == "uniform" {
            return Ok(Popularity::Uniform);
        }
        let exponent = text.strip_prefix("zipf").filter(|rest| rest.starts_with(char::is_whitespace));
        let exponent = exponent.ok_or_else(|| format!("`{text}` is no popularity"))?.trim();
        thousandths(exponent)
            .and_then(Exponent::of_thousandths)
            .map(Popularity::Zipf)
            .ok_or_else(|| format!("`{exponent}` is no exponent from 0.001 to {}", Exponent::MOST / 1000))
    }
}

fn thousandths(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str, longest: usize| {
        (1..=longest).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit())
    };
    if !is_number(whole, 3) || !is_number(decimals, 3) {
        return None;
    }
    let decimals: u32 = format!("{decimals:0<3}").parse().ok()?;
    Some(whole.parse::<u32>().ok()? * 1000 + decimals)
}

crate::as_text!(Popularity);

impl JsonSchema for Popularity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Popularity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "`uniform`, or `zipf` and the exponent",
            "type": "string",
            "pattern": "^(uniform|zipf [0-9]+\\.[0-9]{1,3})$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_is_read() {
        for text in ["uniform", "zipf 1.0", "zipf 0.99", "zipf 1.125", "zipf 10.0", "zipf 0.001"] {
            assert_eq!(text.parse::<Popularity>().map(|p| p.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("zipf  1".parse::<Popularity>(), "zipf 1.000".parse());
        for wrong in ["zipf", "zipf 0", "zipf 10.001", "zipf -1", "zipf 1.0001", "zipf1", "zipf 1.", "pareto 1.0", ""] {
            assert!(wrong.parse::<Popularity>().is_err(), "{wrong}");
        }
    }

    /// H(1000) = 7.485470860550345 and H(10^6) = 14.392726722865724 (OEIS A001008, A002805), and the sum of inverse
    /// squares, whose limit is pi^2 / 6.
    #[test]
    fn weights_are_generalized_harmonic_numbers() {
        let weight = |thousandths, ranks| Exponent(thousandths).weight(ranks);
        assert!((weight(1000, 1..1001) - 7.485_470_860_550_345).abs() < 1e-12);
        assert!((weight(1000, 1..1_000_001) - 14.392_726_722_865_724).abs() < 1e-6);
        let rest = 1e-9;
        assert!((weight(2000, 1..1_000_000_001) + rest - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-9);
        let parts = weight(800, 1..100) + weight(800, 100..5000) + weight(800, 5000..1_000_000);
        assert!((parts - weight(800, 1..1_000_000)).abs() < 1e-6);
    }

    #[test]
    fn few_connections_have_most_of_the_frames() {
        assert!((Popularity::Uniform.part_of(10, 1000) - 0.01).abs() < 1e-12);
        let zipf = Popularity::Zipf(Exponent(1000));
        // H(10) / H(1000).
        assert!((zipf.part_of(10, 1000) - 2.928_968_253_968_254 / 7.485_470_860_550_345).abs() < 1e-12);
        assert!((zipf.part_of(2000, 1000) - 1.0).abs() < 1e-12);
    }
}
