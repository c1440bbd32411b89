//! The directions in which a trial sends.

use crate::units::{Count, Nanos, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The direction or directions in which a trial sends. Forward is Left to Right, which in a stateful
/// test is Initiator to Responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Both directions at the same rate (RFC 2544, section 14): the default.
    Both,
    /// Left to Right only.
    Forward,
    /// Right to Left only.
    Reverse,
    /// Both directions at different rates. The rate of the trial is that of the faster one.
    #[serde(untagged)]
    Mixed(DirectionRatio),
}

impl Direction {
    pub fn forward(self) -> bool {
        self != Direction::Reverse
    }

    pub fn reverse(self) -> bool {
        self != Direction::Forward
    }

    pub fn count(self) -> u64 {
        1 + u64::from(self.forward() && self.reverse())
    }

    pub fn ratio(self) -> Option<DirectionRatio> {
        if let Direction::Mixed(ratio) = self { Some(ratio) } else { None }
    }

    /// Rate of one direction of a trial, Left to Right if `forward`.
    pub fn pace(self, forward: bool, rate: Rate) -> Pace {
        let [part, of] = self.ratio().map_or([1, 1], |ratio| [ratio.part(forward), ratio.faster()]);
        Pace { rate, part, of }
    }

    /// Frames of one direction, 0 if it is not active, where the faster one has this many.
    pub fn frames(self, forward: bool, frames: Count) -> Count {
        match self.ratio() {
            Some(ratio) => scaled(frames, ratio.part(forward), ratio.faster()),
            None if forward => frames * u64::from(self.forward()),
            None => frames * u64::from(self.reverse()),
        }
    }

    /// Frames of all directions, where the faster one has this many.
    pub fn all_frames(self, frames: Count) -> Count {
        self.frames(true, frames).saturating_add(self.frames(false, frames))
    }

    /// The faster direction's part of `all` frames.
    pub fn fastest_of(self, all: Count) -> Count {
        match self.ratio() {
            Some(ratio) => scaled(all, ratio.faster(), ratio.forward + ratio.reverse),
            None => all / self.count(),
        }
    }

    /// The faster direction's rate, where one has this rate.
    pub fn fastest_with(self, forward: bool, rate: Rate) -> Rate {
        self.ratio().map_or(rate, |ratio| rate.scaled(ratio.faster().into(), ratio.part(forward).into()))
    }

    /// Rate of all directions divided by the faster one's, for reports.
    pub fn total(self) -> f64 {
        match self.ratio() {
            Some(ratio) => f64::from(ratio.forward + ratio.reverse) / f64::from(ratio.faster()),
            None => self.count() as f64,
        }
    }

    /// A ratio n:m as 10,000 × n + m.
    pub fn code(self) -> u64 {
        match self {
            Direction::Both => 1,
            Direction::Forward => 2,
            Direction::Reverse => 3,
            Direction::Mixed(ratio) => RATIOS * u64::from(ratio.forward) + u64::from(ratio.reverse),
        }
    }

    pub fn of_code(code: u64) -> Option<Direction> {
        let part = |n: u64| u32::try_from(n).ok();
        match code {
            1 => Some(Direction::Both),
            2 => Some(Direction::Forward),
            3 => Some(Direction::Reverse),
            _ => DirectionRatio::new(part(code / RATIOS)?, part(code % RATIOS)?).map(Direction::Mixed),
        }
    }

    /// Fewest frames of the faster direction that give every direction one.
    pub fn least_frames(self) -> Count {
        self.ratio().map_or(1, |ratio| u64::from(ratio.faster().div_ceil(ratio.slower())))
    }
}

/// Code of the first ratio, above [`DirectionRatio::MOST`].
const RATIOS: u64 = 10_000;

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Direction::Both => f.write_str("both"),
            Direction::Forward => f.write_str("forward"),
            Direction::Reverse => f.write_str("reverse"),
            Direction::Mixed(ratio) => ratio.fmt(f),
        }
    }
}

/// Words after a rate.
pub fn of_rate(ratio: Option<DirectionRatio>) -> &'static str {
    if ratio.is_some() { "in the faster direction" } else { "per direction" }
}

fn scaled(count: Count, part: u32, of: u32) -> Count {
    Rate(count).scaled(part.into(), of.into()).0
}

/// Left to Right : Right to Left, two different coprime numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectionRatio {
    forward: u32,
    reverse: u32,
}

impl DirectionRatio {
    pub const MOST: u32 = 1_000;

    /// A ratio of two different coprime numbers up to [`DirectionRatio::MOST`].
    pub fn new(forward: u32, reverse: u32) -> Option<DirectionRatio> {
        let allowed = 1..=DirectionRatio::MOST;
        let fits = allowed.contains(&forward) && allowed.contains(&reverse) && forward != reverse;
        (fits && divisor(forward, reverse) == 1).then_some(DirectionRatio { forward, reverse })
    }

    pub fn reduced(forward: u32, reverse: u32) -> (u32, u32) {
        let divisor = divisor(forward, reverse).max(1);
        (forward / divisor, reverse / divisor)
    }

    pub fn is_faster_forward(self) -> bool {
        self.forward > self.reverse
    }

    /// Left to Right if `forward`.
    pub fn part(self, forward: bool) -> u32 {
        if forward { self.forward } else { self.reverse }
    }

    pub fn faster(self) -> u32 {
        self.forward.max(self.reverse)
    }

    pub fn slower(self) -> u32 {
        self.forward.min(self.reverse)
    }

    /// A direction's rate where the faster one has `rate`, for reports.
    pub fn rate_of(self, forward: bool, rate: f64) -> f64 {
        rate * f64::from(self.part(forward)) / f64::from(self.faster())
    }
}

fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl fmt::Display for DirectionRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.forward, self.reverse)
    }
}

crate::as_text!(DirectionRatio);

impl FromStr for DirectionRatio {
    type Err = String;

    fn from_str(text: &str) -> Result<DirectionRatio, String> {
        let numbers = text.split_once(':').and_then(|(n, m)| Some((n.parse().ok()?, m.parse().ok()?)));
        let ratio = numbers.and_then(|(n, m)| DirectionRatio::new(n, m));
        ratio.ok_or_else(|| format!("`{text}` is not a ratio of two rates: two different coprime numbers, as 1:10"))
    }
}

impl JsonSchema for DirectionRatio {
    fn schema_name() -> Cow<'static, str> {
        "DirectionRatio".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The rates of two directions as a ratio, Left to Right : Right to Left: different coprime numbers.",
            "type": "string",
            "pattern": "^[1-9][0-9]*:[1-9][0-9]*$",
        })
    }
}

/// Not rounded, so that a ratio holds in a trial of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    rate: Rate,
    part: u32,
    of: u32,
}

impl From<Rate> for Pace {
    fn from(rate: Rate) -> Pace {
        Pace { rate, part: 1, of: 1 }
    }
}

impl Pace {
    /// Frames in seconds, saturating.
    pub fn frames_in_seconds(self) -> (Count, u64) {
        (self.rate.0.saturating_mul(self.part.into()), self.of.into())
    }

    /// Frames per second, rounded up.
    pub fn per_second(self) -> Rate {
        let (frames, seconds) = self.frames_in_seconds();
        Rate(frames.div_ceil(seconds))
    }

    /// The rate of the same frames in `seconds` times the time.
    #[must_use]
    pub fn in_times(self, seconds: u32) -> Pace {
        Pace { of: self.of.saturating_mul(seconds), ..self }
    }

    /// Frames in `time`, rounded down.
    pub fn frames_in(self, time: Nanos) -> Count {
        let (frames, seconds) = self.frames_in_seconds();
        let due = u128::from(frames) * u128::from(time.0) / (1_000_000_000 * u128::from(seconds));
        u64::try_from(due).unwrap_or(u64::MAX)
    }

    /// Time for `frames`, rounded up.
    pub fn time_for(self, frames: Count) -> Nanos {
        let (of_rate, seconds) = self.frames_in_seconds();
        if of_rate == 0 || seconds == 1 {
            return Rate(of_rate).time_for(frames);
        }
        let time = (u128::from(frames) * 1_000_000_000 * u128::from(seconds)).div_ceil(u128::from(of_rate));
        Nanos(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(forward: u32, reverse: u32) -> Direction {
        Direction::Mixed(DirectionRatio::new(forward, reverse).unwrap())
    }

    #[test]
    fn a_mix_is_of_different_coprime_numbers() {
        for (forward, reverse) in [(1, 1), (2, 10), (0, 1), (1, 0), (1, 1_001)] {
            assert_eq!(DirectionRatio::new(forward, reverse), None, "{forward}:{reverse}");
        }
        assert_eq!(DirectionRatio::reduced(10, 4), (5, 2));
    }

    #[test]
    fn records_have_a_mix_as_scenarios_have_it() {
        let text = |direction: Direction| serde_json::to_string(&direction).unwrap();
        let all = [Direction::Both, Direction::Forward, Direction::Reverse, mixed(1, 10), mixed(1_000, 1)];
        assert_eq!(all.map(text), ["\"both\"", "\"forward\"", "\"reverse\"", "\"1:10\"", "\"1000:1\""]);
        for direction in all {
            assert_eq!(serde_json::from_str::<Direction>(&text(direction)).unwrap(), direction);
        }
        for wrong in ["\"2:20\"", "\"1:1\"", "\"0:1\"", "\"1:10:2\"", "\"up\"", "7"] {
            assert!(serde_json::from_str::<Direction>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_code_names_one_direction() {
        let all =
            [Direction::Both, Direction::Forward, Direction::Reverse, mixed(1, 10), mixed(10, 1), mixed(1_000, 999)];
        assert_eq!(all.map(|direction| Direction::of_code(direction.code())), all.map(Some));
        assert_eq!(
            all.map(|direction| direction.to_string()),
            ["both", "forward", "reverse", "1:10", "10:1", "1000:999"]
        );
        for code in [0, 4, 10_001, 20_004, u64::MAX] {
            assert_eq!(Direction::of_code(code), None, "{code}");
        }
    }

    #[test]
    fn the_slower_direction_has_its_part_of_frames_and_rate() {
        let direction = mixed(1, 10);
        assert_eq!([true, false].map(|forward| direction.frames(forward, 1_005)), [100, 1_005]);
        assert_eq!((direction.all_frames(1_005), direction.fastest_of(1_100), direction.count()), (1_105, 1_000, 2));
        let [slow, fast] = [true, false].map(|forward| direction.pace(forward, Rate(15)));
        assert_eq!((slow.per_second(), fast.per_second()), (Rate(2), Rate(15)));
        assert_eq!([true, false].map(|forward| direction.fastest_with(forward, Rate(70))), [Rate(700), Rate(70)]);
        // 1.5 frames per second.
        assert_eq!((slow.time_for(3), slow.frames_in(Nanos::from_secs(2))), (Nanos::from_secs(2), 3));
        assert_eq!(fast.time_for(30), Nanos::from_secs(2));
        let day = Nanos::from_secs(86_400);
        assert_eq!(mixed(3, 7).pace(true, Rate(40_000_001)).frames_in(day), 40_000_001 * 86_400 * 3 / 7);
    }

    #[test]
    fn without_a_mix_every_active_direction_has_all_frames() {
        let frames = |direction: Direction| [true, false].map(|forward| direction.frames(forward, 9));
        assert_eq!([Direction::Both, Direction::Forward, Direction::Reverse].map(frames), [[9, 9], [9, 0], [0, 9]]);
        assert_eq!((Direction::Both.fastest_of(9), Direction::Forward.fastest_of(9)), (4, 9));
    }

    #[test]
    fn fewer_frames_than_the_least_leave_a_direction_without_one() {
        for direction in [mixed(1, 10), mixed(7, 3), mixed(999, 1_000), Direction::Both] {
            let least = direction.least_frames();
            let slower = |frames| direction.frames(true, frames).min(direction.frames(false, frames));
            assert!(slower(least) >= 1 && slower(least - 1) == 0, "{direction:?}");
        }
    }
}
