//! Numbers as text. Every format uses these functions, so that all print and round a value in the same way.

/// `12,345,678`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A median of whole numbers, which may be half: `12,345` or `12,345.5`.
pub fn grouped_f64(value: f64) -> String {
    let halves = (value.abs() * 2.0).round() as u64;
    let sign = if value < 0.0 && halves > 0 { "-" } else { "" };
    let half = if halves.is_multiple_of(2) { "" } else { ".5" };
    format!("{sign}{}{half}", grouped(halves / 2))
}

/// A number with an SI prefix and at most `digits` significant digits, trailing zeros dropped: `2.9
/// M`, `223 k`, `64`.
pub fn si(value: f64, digits: usize) -> String {
    let (mantissa, prefix) = si_parts(value, digits);
    if prefix.is_empty() { mantissa } else { format!("{mantissa} {prefix}") }
}

/// A number with a unit directly behind the prefix: `7.4 Mfps`.
pub fn si_unit(value: f64, digits: usize, unit: &str) -> String {
    let (mantissa, prefix) = si_parts(value, digits);
    format!("{mantissa} {prefix}{unit}")
}

/// Two ends with at least `digits` significant digits each, a leading 0 included, and as many as tell them apart: `0.84–0.91`.
pub fn ends(low: f64, high: f64, digits: usize) -> String {
    apart([low, high], digits).join("–")
}

/// Each value with the same digits: at least so many significant ones, and as many as tell the values apart.
pub fn apart<const N: usize>(values: [f64; N], digits: usize) -> [String; N] {
    let digits = digits_apart(&values, digits, significant);
    values.map(|value| significant(value, digits))
}

/// The ends around a value with the prefix of the upper one: `3.85–3.88 M`.
pub fn si_ends(low: f64, value: f64, high: f64, digits: usize) -> String {
    let scaled = |value: f64, digits| significant(value / prefix(high, digits).0, digits);
    let digits = digits_apart(&[low, value, high], digits, scaled);
    let (low, prefix, high) = (scaled(low, digits), prefix(high, digits).1, scaled(high, digits));
    format!("{low}–{high} {prefix}").trim_end().to_owned()
}

/// The least number of digits, from `least` to nine, with which neighbours more than half a percent of the whole width
/// apart have different texts. Equal values have three at least.
pub(crate) fn digits_apart(values: &[f64], least: usize, text: impl Fn(f64, usize) -> String) -> usize {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let width = sorted.last().zip(sorted.first()).map_or(0.0, |(high, low)| high - low);
    let pairs = || sorted.windows(2).filter(|pair| pair[1] - pair[0] > width / 200.0);
    let are_apart = |digits: &usize| pairs().all(|pair| text(pair[0], *digits) != text(pair[1], *digits));
    let is_open = values.iter().any(|value| value.is_infinite());
    let least = if is_open || pairs().next().is_some() { least } else { least.max(3) };
    (least..=9).find(are_apart).unwrap_or(least.max(3))
}

fn si_parts(value: f64, digits: usize) -> (String, &'static str) {
    let (factor, prefix) = prefix(value, digits);
    (significant(value / factor, digits), prefix)
}

pub(crate) fn prefix(value: f64, digits: usize) -> (f64, &'static str) {
    const PREFIXES: [&str; 5] = ["", "k", "M", "G", "T"];
    let mut factor = 1.0;
    let mut at = 0;
    // 999,950 with three digits is 1 M, not 1000 k: compare the rounded value.
    while at + 1 < PREFIXES.len() && rounded(value / factor, digits).abs() >= 1_000.0 {
        factor *= 1_000.0;
        at += 1;
    }
    (factor, PREFIXES[at])
}

pub(crate) fn whole_digits(value: f64) -> usize {
    if value.abs() < 1.0 { 1 } else { value.abs().log10().floor() as usize + 1 }
}

fn rounded(value: f64, digits: usize) -> f64 {
    let scale = 10f64.powf(digits.saturating_sub(whole_digits(value)) as f64);
    (value * scale).round() / scale
}

/// Errors of floating-point numbers are below this value.
const SMALLEST: f64 = 1e-9;

/// A number of at most `digits` significant digits; digits before the decimal point are always kept. Only 0 is printed as `0`.
pub fn significant(value: f64, digits: usize) -> String {
    let shown = rounded(value, digits);
    let (shown, places) = if shown == 0.0 && value.abs() >= SMALLEST {
        // Zeros after the decimal point do not count.
        (value, digits - 1 + value.abs().log10().floor().abs() as usize)
    } else {
        (shown, digits.saturating_sub(whole_digits(shown)))
    };
    let text = format!("{shown:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `61 %`; below 10 with one decimal.
pub fn percent(value: f64) -> String {
    if value < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// Parts per million as `99.9 %`.
pub fn share(ppm: u32) -> String {
    format!("{} %", significant(f64::from(ppm) / 10_000.0, 6))
}

/// A duration: `60 s`, `500 ms`, `25 µs`, `2 min 5 s`.
pub fn duration(nanos: u64) -> String {
    time(nanos, 3)
}

fn time(nanos: u64, digits: usize) -> String {
    match nanos {
        0 => "0 s".to_owned(),
        n if n < 1_000 => format!("{n} ns"),
        n if n < 1_000_000 => format!("{} µs", significant(n as f64 / 1e3, digits)),
        n if n < 1_000_000_000 => format!("{} ms", significant(n as f64 / 1e6, digits)),
        n if n < 120_000_000_000 => format!("{} s", significant(n as f64 / 1e9, digits)),
        n if n < 7_200_000_000_000 => format!("{} min {} s", n / 60_000_000_000, n / 1_000_000_000 % 60),
        n => format!("{} h {} min", n / 3_600_000_000_000, n / 60_000_000_000 % 60),
    }
}

/// A time in nanoseconds that may be negative: `12.5 µs`, `-3 ns`.
pub(crate) fn signed_duration(nanos: f64, digits: usize) -> String {
    let sign = if nanos < 0.0 { "-" } else { "" };
    format!("{sign}{}", time(nanos.abs().round() as u64, digits))
}

/// `1 core`, `2 cores`.
pub fn plural(n: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Returns items as a list in words: `1, 2 and 4`.
pub fn listed<T: ToString>(items: &[T]) -> String {
    let words: Vec<String> = items.iter().map(T::to_string).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// The text with a small first letter, unless it begins an abbreviation.
pub fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// The text with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_change_where_the_printed_value_does() {
        let cases = [
            (0.0, "0"),
            (64.0, "64"),
            (999.4, "999"),
            (999.6, "1 k"),
            (100_000.0, "100 k"),
            (223_500.0, "224 k"),
            (999_949.0, "1 M"),
            (1_562_500.0, "1.56 M"),
            (2_900_000.0, "2.9 M"),
            (30_000_000.0, "30 M"),
            (4.2e9, "4.2 G"),
        ];
        for (value, text) in cases {
            assert_eq!(si(value, 3), text, "{value}");
        }
        assert_eq!(si_unit(7_412_345.0, 2, "fps"), "7.4 Mfps");
        assert_eq!(si_unit(12.0, 2, "fps"), "12 fps");
    }

    #[test]
    fn ends_have_the_digits_that_tell_them_apart() {
        assert_eq!(
            [ends(0.842, 1.042, 3), ends(71.4, 75.8, 2), ends(0.9991, 0.9994, 3)],
            ["0.84–1.04", "71–76", "0.9991–0.9994"]
        );
        assert_eq!([si_ends(3_851e3, 3_851e3, 3_852e3, 3), si_ends(5.0, 5.0, 5.0, 3)], ["3.851–3.852 M", "5–5"]);
        assert_eq!(si_ends(3_851e3, 3_852e3, 3_860e3, 3), "3.851–3.86 M");
        assert_eq!(ends(0.000_010, 0.000_012, 3), "0.00001–0.000012");
    }

    #[test]
    fn thousands_are_grouped_and_halves_kept() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(grouped_f64(1_234.5), "1,234.5");
        assert_eq!(grouped_f64(1_234.0), "1,234");
        assert_eq!([-108_601.0, -0.5, -0.1].map(grouped_f64), ["-108,601", "-0.5", "0"]);
    }

    #[test]
    fn abbreviations_keep_their_capitals() {
        assert_eq!(uncapitalised("Throughput"), "throughput");
        assert_eq!(uncapitalised("IPv4 forwarding"), "IPv4 forwarding");
        assert_eq!(capitalised("at 1 M"), "At 1 M");
    }

    #[test]
    fn durations_have_the_unit_one_would_say() {
        let cases = [
            (0, "0 s"),
            (25_000, "25 µs"),
            (500_000_000, "500 ms"),
            (60_000_000_000, "60 s"),
            (125_000_000_000, "2 min 5 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(duration(nanos), text);
        }
    }
}
