//! Converts quantities ("4M", "3.5 Mfps", "10 Gbit/s", "200 ms", "0.1 %", "1024-65535", "198.18.0.0/24") exactly to
//! integers and back.

use crate::wrong::Wrong;
use method::{Count, Nanos};
use std::net::Ipv4Addr;
use wire::header::line_limit;
use wire::{AddrRange, PortRange};

/// A rate as written: a line rate needs the frame size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenRate {
    /// Frames (connections) per second.
    Frames(u64),
    /// Bits per second on the line, preamble and gap included.
    Bits(u64),
}

impl WrittenRate {
    /// Frames per second with frames of this size, FCS included.
    pub fn frames_per_second(self, frame_size: usize) -> u64 {
        match self {
            WrittenRate::Frames(rate) => rate,
            WrittenRate::Bits(bits) => line_limit(bits, frame_size),
        }
    }
}

type Result<T> = std::result::Result<T, Wrong>;

const COUNTS: &[(&str, u64)] = &[("", 1), ("k", 1_000), ("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
const DURATIONS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const BIT_RATES: &[&str] = &["bit/s", "bps"];
const FRAME_RATES: &[&str] = &["frames/s", "connections/s", "fps", "cps", "pps"];
const SHARES: &[(&str, u64)] = &[("%", 10_000), ("ppm", 1)];
const PARTS: &[(&str, u64)] = &[("", 1_000_000)];

const OTHER_UNITS: &[(&str, &str)] = &[
    ("nsec", "ns"),
    ("usec", "us"),
    ("msec", "ms"),
    ("millis", "ms"),
    ("milliseconds", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hr", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("percent", "%"),
    ("pct", "%"),
];

/// A number of frames, connections or entries: `250000`, `100k`, `1.5 M`.
pub fn count(text: &str) -> Result<Count> {
    measured(text, COUNTS, "a number", "write a whole number, or one with k, M or G: \"100k\", \"4M\"")
}

/// A duration: `60 s`, `200 ms`, or zero without a unit.
pub fn duration(text: &str) -> Result<Nanos> {
    if text.trim() == "0" {
        return Ok(Nanos(0));
    }
    let how = "write a number with ns, us, ms, s, min or h: \"200 ms\", \"60 s\"";
    measured(text, DURATIONS, "a duration", how).map(Nanos)
}

/// A share in parts per million: `0.1 %`, `500 ppm`; 0.1 without a unit may be 0.1 % or 10 %.
pub fn share_ppm(text: &str) -> Result<u32> {
    let how = "write a share of at most 100 %, in % or whole ppm: \"0.1 %\", \"500 ppm\"";
    let text = text.trim();
    if let Ok(0) = measured(text, PARTS, "a share", how) {
        return Ok(0);
    }
    match measured(text, SHARES, "a share", how) {
        Ok(ppm @ 0..=1_000_000) => Ok(ppm as u32),
        Ok(_) => Err(Wrong::new(format!("`{text}` is more than 100 %"), how)),
        Err(_) if decimal(text).is_some() => {
            let ways = [share_ppm(&format!("{text} %")).ok(), unitless_share_ppm(text)];
            let ways: Vec<String> = ways.into_iter().flatten().map(|ppm| format!("\"{}\"", show_share(ppm))).collect();
            let instead = if ways.is_empty() { how.to_owned() } else { format!("write {}", ways.join(" or ")) };
            Err(Wrong::new(format!("`{text}` has no unit"), instead))
        }
        Err(error) => Err(error),
    }
}

/// A share of 1 in parts per million, from files of earlier versions.
pub fn unitless_share_ppm(text: &str) -> Option<u32> {
    let ppm = measured(text, PARTS, "a share", "").ok()?;
    u32::try_from(ppm).ok().filter(|ppm| *ppm <= 1_000_000)
}

/// A number without the commas of its thousands: `65,536`.
pub fn without_thousands_commas(text: &str) -> Option<String> {
    let mut groups = text.trim().split(',');
    let is_number = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    let first = groups.next().filter(|group| group.len() <= 3 && is_number(group))?;
    let mut rest = groups.peekable();
    rest.peek()?;
    let rest: Vec<&str> = rest.collect();
    rest.iter().all(|group| group.len() == 3 && is_number(group)).then(|| first.to_owned() + &rest.concat())
}

/// A rate: `1000000`, `3.5M`, `3.5 Mfps`, `1 Mcps`, `10 Gbit/s`.
pub fn rate(text: &str) -> Result<WrittenRate> {
    let how = "write frames per second or the line rate: \"3.5 Mfps\", \"1M\", \"10 Gbit/s\"";
    let text = text.trim();
    let stem = |suffixes: &[&str]| suffixes.iter().find_map(|s| text.strip_suffix(s)).map(str::trim_end);
    if let Some(number) = stem(BIT_RATES) {
        return measured(number, COUNTS, "a rate", how).map(WrittenRate::Bits);
    }
    measured(stem(FRAME_RATES).unwrap_or(text), COUNTS, "a rate", how).map(WrittenRate::Frames)
}

/// Whether a text ends with the unit of a rate.
pub fn has_unit_of_rate(text: &str) -> bool {
    FRAME_RATES.iter().chain(BIT_RATES).any(|unit| text.trim().ends_with(unit))
}

/// One port or a range of ports: `80`, `1024-65535`.
pub fn ports(text: &str) -> Result<PortRange> {
    let how = "write one port or first-last, from 1 to 65535: \"1024-65535\"";
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |part: &str| match part.trim().parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(Wrong::new(format!("`{}` is not a port", part.trim()), how)),
    };
    let range = PortRange { first: port(first)?, last: port(last)? };
    if range.first > range.last {
        let swapped = format!("write the lower port first: \"{}-{}\"", range.last, range.first);
        return Err(Wrong::new("the range runs backwards", swapped));
    }
    Ok(range)
}

/// One address, `first - last`, or a prefix.
pub fn addresses(text: &str) -> Result<AddrRange> {
    let how =
        "write an address, first - last, or a prefix: \"198.18.0.2\", \"198.18.0.2 - 198.18.0.9\", \"198.18.0.0/24\"";
    let address = |part: &str| {
        let wrong = || Wrong::new(format!("`{}` is not an IPv4 address", part.trim()), how);
        part.trim().parse::<Ipv4Addr>().map_err(|_| wrong())
    };
    if let Some((base, length)) = text.split_once('/') {
        let base = address(base)?;
        let length: u32 = match length.trim().parse() {
            Ok(length) if (1..=32).contains(&length) => length,
            _ => return Err(Wrong::new(format!("`/{}` is not a prefix length", length.trim()), "write /1 to /32")),
        };
        let mask = u32::MAX << (32 - length);
        if u32::from(base) & !mask != 0 {
            let network = Ipv4Addr::from(u32::from(base) & mask);
            let meant = format!("write \"{network}/{length}\" for the whole prefix, or \"{base}\" for one address");
            return Err(Wrong::new(format!("`{base}` has bits set beyond its /{length} prefix"), meant));
        }
        return Ok(AddrRange { first: base, count: 1 << (32 - length) });
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (address(first)?, address(last)?);
    match u32::from(last).checked_sub(u32::from(first)) {
        Some(more) if more < u32::MAX => Ok(AddrRange { first, count: more + 1 }),
        Some(_) => Err(Wrong::new("the range is the whole address space", how)),
        None => {
            let swapped = format!("write the lower address first: \"{last} - {first}\"");
            Err(Wrong::new("the range runs backwards", swapped))
        }
    }
}

/// Shortest exact form of a count, for [`count`]: `4M`, `2.5M`, `100k`, `262144`.
pub fn show_count(n: Count) -> String {
    match n {
        1_000_000_000.. if n.is_multiple_of(1_000_000) => format!("{}G", thousandths(n / 1_000_000)),
        1_000_000.. if n.is_multiple_of(1_000) => format!("{}M", thousandths(n / 1_000)),
        1_000.. if n.is_multiple_of(1_000) => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}

fn thousandths(n: u64) -> String {
    let text = format!("{}.{:03}", n / 1_000, n % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Exact form of a duration, for [`duration`], in its largest unit of s, ms, us, ns.
pub fn show_duration(t: Nanos) -> String {
    const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| t.0.is_multiple_of(*unit)).unwrap_or((1, "ns"));
    format!("{} {name}", t.0 / unit)
}

/// Exact form of a duration: `365 days`, `1 h`, `60 s`, `1 ms`.
pub fn show_long(t: Nanos) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400_000_000_000, "days"), (3_600_000_000_000, "h"), (60_000_000_000, "min")];
    let unit = UNITS.into_iter().find(|(unit, _)| t.0 > *unit && t.0.is_multiple_of(*unit));
    unit.map_or_else(|| show_duration(t), |(unit, name)| format!("{} {name}", t.0 / unit))
}

/// A rounded up time: `350 ms`, `65.1 s`, `12 min 5 s`, `3 h 20 min`.
pub fn show_time(t: Nanos) -> String {
    let (millis, tenths) = (t.0.div_ceil(1_000_000), t.0.div_ceil(100_000_000));
    let (seconds, minutes) = (t.0.div_ceil(1_000_000_000), t.0.div_ceil(60_000_000_000));
    match seconds {
        _ if millis < 1_000 => format!("{millis} ms"),
        0..120 => format!("{}.{} s", tenths / 10, tenths % 10),
        120..7_200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// A number with its thousands apart: `4,294,967,296`.
pub fn show_grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn show_share(ppm: u32) -> String {
    let (whole, rest) = (ppm / 10_000, ppm % 10_000);
    if rest == 0 {
        return format!("{whole} %");
    }
    format!("{whole}.{} %", format!("{rest:04}").trim_end_matches('0'))
}

/// Bytes in a unit of memory, rounded up to a tenth.
pub fn show_bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..0x10_0000 => (1 << 10, "KiB"),
        0x10_0000..0x4000_0000 => (1 << 20, "MiB"),
        _ => (1_u128 << 30, "GiB"),
    };
    let tenths = (u128::from(bytes) * 10).div_ceil(unit);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

fn measured(text: &str, units: &[(&str, u64)], what: &str, how: &str) -> Result<u64> {
    let text = text.trim();
    if text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(',') {
        let instead = without_thousands_commas(text).map(|number| format!("write \"{number}\""));
        let wrong = format!("`{text}` has a comma, which separates values");
        return Err(Wrong::new(wrong, instead.unwrap_or_else(|| how.to_owned())));
    }
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    let Some((digits, decimals)) = decimal(number) else {
        return Err(Wrong::new(format!("`{text}` is not {what}"), how));
    };
    let Some(&(_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        if unit.is_empty() {
            return Err(Wrong::new(format!("`{text}` has no unit"), how));
        }
        let lower = unit.to_lowercase();
        let other = OTHER_UNITS.iter().find(|(other, _)| *other == lower).map(|(_, name)| *name);
        let meant = units
            .iter()
            .map(|(name, _)| *name)
            .find(|name| name.to_lowercase() == lower || Some(*name) == other)
            .map(|name| if name == "m" { "min" } else { name });
        let meant =
            meant.map(|name| format!("did you mean `{number}{}{name}`?", if units == COUNTS { "" } else { " " }));
        return Err(Wrong::new(format!("`{unit}` is not a unit of {what}"), meant.unwrap_or_else(|| how.to_owned())));
    };
    let too_large = || Wrong::new(format!("`{text}` is too large"), "write a smaller number");
    let scaled = digits.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
    let divisor = 10_u128.pow(decimals);
    if !scaled.is_multiple_of(divisor) {
        return Err(Wrong::new(format!("`{text}` has more decimals than can be kept"), how));
    }
    u64::try_from(scaled / divisor).map_err(|_| too_large())
}

/// Digits as one number, and the number of decimals.
fn decimal(text: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits_only = |part: &str| part.starts_with(|c: char| c.is_ascii_digit()) && !part.ends_with('_');
    if !digits_only(whole) || !digits_only(fraction) || fraction.contains('.') {
        return None;
    }
    let fraction = fraction.replace('_', "");
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 18 {
        return None;
    }
    let digits = whole.replace('_', "") + fraction;
    digits.parse().ok().map(|digits| (digits, fraction.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    #[test]
    fn counts() {
        for (text, n) in [
            ("0", 0),
            ("250000", 250_000),
            ("1_000", 1_000),
            ("100k", 100_000),
            ("1.5 M", 1_500_000),
            ("4G", 4_000_000_000),
        ] {
            assert_eq!(count(text), Ok(n), "{text}");
        }
        for text in
            ["", "M", "4m", "-1", "1.0001k", "1e6", "1.2.3", "_1", "99999999999999999999", "99999999999G", "1 000"]
        {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(count("4m").unwrap_err().instead, "did you mean `4M`?");
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("60 s"), Ok(Nanos::from_secs(60)));
        assert_eq!(duration("0.2s"), Ok(Nanos::from_millis(200)));
        assert_eq!(duration("10 µs"), Ok(Nanos(10_000)));
        assert_eq!(duration("0"), Ok(Nanos(0)));
        assert_eq!(duration("60").unwrap_err().what, "`60` has no unit");
        assert!(duration("0.5 ns").is_err());
    }

    #[test]
    fn shares() {
        for (text, ppm) in [("0.1 %", 1_000), ("100%", 1_000_000), ("25 ppm", 25), ("0", 0), ("0.0", 0), ("0 %", 0)] {
            assert_eq!(share_ppm(text), Ok(ppm), "{text}");
        }
        for text in ["101 %", "0.00001 %", "0.1 ppm", "%", ""] {
            assert!(share_ppm(text).is_err(), "{text}");
        }
    }

    /// 0.1 may be 0.1 % or 10 %, and 1 may be 1 % or 100 %.
    #[test]
    fn shares_need_a_unit() {
        for (text, instead) in [
            ("0.1", "write \"0.1 %\" or \"10 %\""),
            ("1", "write \"1 %\" or \"100 %\""),
            ("2", "write \"2 %\""),
            ("0.00001", "write \"0.001 %\""),
            ("200", "write a share of at most 100 %, in % or whole ppm: \"0.1 %\", \"500 ppm\""),
        ] {
            let error = share_ppm(text).unwrap_err();
            assert_eq!((error.what, error.instead), (format!("`{text}` has no unit"), instead.to_owned()));
        }
        assert_eq!(["0.1", "1", "2", "0.1 %"].map(unitless_share_ppm), [Some(100_000), Some(1_000_000), None, None]);
    }

    #[test]
    fn commas_may_separate_thousands() {
        assert_eq!(without_thousands_commas("65,536").as_deref(), Some("65536"));
        assert_eq!(without_thousands_commas("1,000,000").as_deref(), Some("1000000"));
        for text in ["64,1518", "64", "1,", ",000", "1,00", "1234,567", "64,128 k"] {
            assert_eq!(without_thousands_commas(text), None, "{text}");
        }
    }

    #[test]
    fn units_that_people_write_are_named_as_natmeter_writes_them() {
        assert_eq!(duration("10m"), duration("10 min"));
        for (text, instead) in [
            ("10 minutes", "did you mean `10 min`?"),
            ("10M", "did you mean `10 min`?"),
            ("5 Sec", "did you mean `5 s`?"),
            ("20 msec", "did you mean `20 ms`?"),
            ("2 hours", "did you mean `2 h`?"),
        ] {
            assert_eq!(duration(text).unwrap_err().instead, instead, "{text}");
        }
        assert_eq!(share_ppm("1 percent").unwrap_err().instead, "did you mean `1 %`?");
    }

    #[test]
    fn line_rates_become_the_frame_rates_of_rfc_2544() {
        let ten = rate("10 Gbit/s").unwrap();
        for (size, fps) in [(64, 14_880_952), (128, 8_445_945), (512, 2_349_624), (1518, 812_743)] {
            assert_eq!(ten.frames_per_second(size), fps, "{size}");
        }
        assert_eq!(rate("3.5 Mfps"), Ok(WrittenRate::Frames(3_500_000)));
        assert_eq!(rate("1M"), Ok(WrittenRate::Frames(1_000_000)));
        assert_eq!(rate("1 Mcps"), Ok(WrittenRate::Frames(1_000_000)));
        assert!(rate("fast").is_err());
    }

    #[test]
    fn ranges() {
        assert_eq!(ports("1024-65535"), Ok(PortRange { first: 1024, last: 65535 }));
        assert_eq!(ports("7"), Ok(PortRange { first: 7, last: 7 }));
        for text in ["0", "0-10", "10-1", "1-65536", "a-b", "1-2-3", ""] {
            assert!(ports(text).is_err(), "{text}");
        }
        assert_eq!(addresses("198.18.0.0/24").unwrap().count, 256);
        assert_eq!(addresses("198.18.0.2 - 198.18.0.9").unwrap().count, 8);
        assert_eq!(addresses("198.18.0.2"), Ok(AddrRange::one([198, 18, 0, 2].into())));
        for text in ["198.18.0.1/24", "198.18.0.0/33", "0.0.0.0/0", "198.18.0.9-198.18.0.2", "198.18", "::1", ""] {
            assert!(addresses(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shown_for_people() {
        let times = [(0, "0 ms"), (349_000_001, "350 ms"), (65_010_000_000, "65.1 s"), (725_000_000_000, "12 min 5 s")];
        for (nanos, text) in times {
            assert_eq!(show_time(Nanos(nanos)), text);
        }
        assert_eq!(show_time(Nanos::from_secs(12_000)), "3 h 20 min");
        assert_eq!([0, 999, 1_000, 4_294_967_296].map(show_grouped), ["0", "999", "1,000", "4,294,967,296"]);
        assert_eq!([512, 1536, 64_000_000, 1 << 31].map(show_bytes), ["512 B", "1.5 KiB", "61.1 MiB", "2.0 GiB"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn what_is_shown_is_read_back(n: u64, ppm in 0..=1_000_000_u32, first in 1..=u16::MAX, more: u16) {
            prop_assert_eq!(count(&show_count(n)), Ok(n));
            prop_assert_eq!(duration(&show_duration(Nanos(n))), Ok(Nanos(n)));
            prop_assert_eq!(share_ppm(&show_share(ppm)), Ok(ppm));
            let range = PortRange { first, last: first.saturating_add(more) };
            prop_assert_eq!(ports(&range.to_string()), Ok(range));
        }

        #[test]
        fn a_unit_multiplies_exactly(n in 0..1_000_000_u64, milli in 0..1_000_u64) {
            prop_assert_eq!(count(&format!("{n}.{milli:03}M")), Ok(n * 1_000_000 + milli * 1_000));
            prop_assert_eq!(duration(&format!("{n}.{milli:03} s")), Ok(Nanos::from_millis(n * 1_000 + milli)));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,24}") {
            let _ = (count(&text), duration(&text), share_ppm(&text), rate(&text), ports(&text), addresses(&text));
        }
    }
}
