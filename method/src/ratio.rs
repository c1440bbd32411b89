//! A share between 0 and 1 as an exact fraction. In floating point, ceil(0.999 × n) can be wrong by one frame, which
//! decides between pass and fail.

use crate::units::{Count, Rate};
use std::fmt;
use std::str::FromStr;

/// A reduced fraction. As text and in files: `0.9999`, `99.99 %` or `1/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    num: u64,
    den: u64,
}

impl Ratio {
    pub const ZERO: Ratio = Ratio { num: 0, den: 1 };
    /// The acceptance of RFC 2544.
    pub const ONE: Ratio = Ratio { num: 1, den: 1 };

    /// Returns `num`/`den`, or `None` if it is not between 0 and 1.
    pub const fn new(num: u64, den: u64) -> Option<Ratio> {
        if den == 0 || num > den {
            return None;
        }
        let divisor = gcd(num, den);
        Some(Ratio { num: num / divisor, den: den / divisor })
    }

    /// Returns `ppm` parts per million, at most 1.
    pub const fn from_ppm(ppm: u64) -> Ratio {
        match Ratio::new(ppm, 1_000_000) {
            Some(ratio) => ratio,
            None => Ratio::ONE,
        }
    }

    /// ceil(self × `n`).
    pub fn ceil_of(self, n: Count) -> Count {
        (u128::from(n) * u128::from(self.num)).div_ceil(u128::from(self.den)) as u64
    }

    /// floor(self × `n`).
    pub fn floor_of(self, n: Count) -> Count {
        (u128::from(n) * u128::from(self.num) / u128::from(self.den)) as u64
    }

    /// The ratio of a rate, rounded down.
    pub fn of(self, rate: Rate) -> Rate {
        Rate(self.floor_of(rate.0))
    }

    pub fn parts(self) -> (u64, u64) {
        (self.num, self.den)
    }

    pub fn is_zero(self) -> bool {
        self.num == 0
    }

    pub fn is_one(self) -> bool {
        self.num == self.den
    }

    /// The ratio for display, never for decisions.
    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl Default for Ratio {
    fn default() -> Ratio {
        Ratio::ZERO
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut scale = 1u128;
        for digits in 0..=18usize {
            let scaled = u128::from(self.num) * scale;
            if scaled.is_multiple_of(u128::from(self.den)) {
                let value = scaled / u128::from(self.den);
                return if digits == 0 {
                    write!(f, "{value}")
                } else {
                    write!(f, "{}.{:0digits$}", value / scale, value % scale)
                };
            }
            scale *= 10;
        }
        write!(f, "{}/{}", self.num, self.den)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a share between 0 and 1: write it as 0.9999, 99.99 % or 1/3")]
pub struct NotARatio(String);

impl FromStr for Ratio {
    type Err = NotARatio;

    fn from_str(text: &str) -> Result<Ratio, NotARatio> {
        parse(text).ok_or_else(|| NotARatio(text.to_owned()))
    }
}

crate::as_text!(Ratio);

fn parse(text: &str) -> Option<Ratio> {
    let text = text.trim();
    if let Some((num, den)) = text.split_once('/') {
        return Ratio::new(digits(num.trim())?, digits(den.trim())?);
    }
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100),
        None => (text, 1),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let scale = 10u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let num = digits(whole)?.checked_mul(scale)?.checked_add(digits(fraction)?)?;
    Ratio::new(num, scale.checked_mul(unit)?)
}

fn digits(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn acceptance_is_exact_where_floating_point_is_not() {
        // 0.07 × 100 is 7.000000000000001 as f64.
        let seven_percent: Ratio = "0.07".parse().unwrap();
        assert_eq!(seven_percent.ceil_of(100), 7);
        assert_eq!((0.07f64 * 100.0).ceil() as u64, 8);
    }

    #[test]
    fn acceptance_of_99_99_percent_lets_25_600_of_256_million_vanish() {
        // Losses that an acceptance below 1 tolerates (METHODOLOGY.md, throughput).
        let acceptance: Ratio = "99.99 %".parse().unwrap();
        assert_eq!(256_000_000 - acceptance.ceil_of(256_000_000), 25_600);
    }

    #[test]
    fn large_counts_do_not_wrap() {
        assert_eq!(Ratio::ONE.ceil_of(u64::MAX), u64::MAX);
        assert_eq!(Ratio::new(u64::MAX - 1, u64::MAX).unwrap().floor_of(u64::MAX), u64::MAX - 1);
    }

    #[test]
    fn text_forms_agree() {
        for (text, shown) in [("1", "1"), ("0.50", "0.5"), ("80%", "0.8"), ("4/5", "0.8"), ("1/3", "1/3"), ("0", "0")] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["", "1.1", "-0.5", "101 %", "1/0", "3/2", "1e-3", ".5", "0,5", "0.1234567890123456789012"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(num in 0u64..1_000_000, den in 1u64..1_000_000) {
            prop_assume!(num <= den);
            let ratio = Ratio::new(num, den).unwrap();
            prop_assert_eq!(ratio.to_string().parse::<Ratio>().unwrap(), ratio);
        }

        #[test]
        fn ceiling_is_the_smallest_count_that_reaches_the_share(num in 1u64..10_000, n in 0u64..u64::MAX) {
            let ratio = Ratio::new(num, 10_000).unwrap();
            let c = u128::from(ratio.ceil_of(n));
            let exact = u128::from(n) * u128::from(num);
            prop_assert!(c * 10_000 >= exact);
            prop_assert!(c == 0 || (c - 1) * 10_000 < exact);
        }
    }
}
