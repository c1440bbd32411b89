//! Whether a measured series has the shape of the series beside it: each value as a share of the first. METHODOLOGY.md,
//! "Comparison with published values", has the rule.

use crate::report::number::{self, apart};
use crate::report::result::{PointResult, ratio};
use method::stats::Interval;
use scenario::Scenario;
use schemars::JsonSchema;
use serde::Serialize;

/// A share is as published if it differs from the published one by at most this part of it.
const NEAR: f64 = 0.1;

/// Whether a series has the shape of the series beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AsPublished {
    /// At each place the whole interval of the measured share is near the published share.
    Yes,
    /// At one place at least, no part of the interval is.
    No,
    /// Neither, or values have no interval.
    CannotSay,
}

impl AsPublished {
    fn word(self) -> &'static str {
        match self {
            AsPublished::Yes => "yes",
            AsPublished::No => "no",
            AsPublished::CannotSay => "cannot say",
        }
    }
}

pub(super) fn place_in_words(place: f64) -> String {
    if place.fract() == 0.0 { number::grouped_f64(place) } else { number::significant(place, 3) }
}

/// The shape of a measured series beside a published one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shape {
    /// Name of the device.
    pub dut: String,
    /// Key of the metric.
    pub metric: String,
    /// Number of the published table.
    pub table: String,
    /// The verdict.
    pub as_published: AsPublished,
    /// Whether the published series falls; else it rises.
    pub falls: bool,
    /// The place that decided, with both shares or what is missing, in words.
    pub why: String,
}

impl Shape {
    /// `falls as published: yes (at 4,000,000 it is 51–55 % of the value at 1,000,000; published: 53 %)`.
    pub(super) fn in_words(&self, word: &str) -> String {
        let falls = if self.falls { "falls" } else { "rises" };
        format!("{falls} as {word}: {} ({})", self.as_published.word(), self.why)
    }
}

/// The verdict at one place, and why.
type Judged = (AsPublished, String);

/// Compares series by place. None without two places that both have.
pub(super) fn shape(
    published: &[(f64, f64)],
    measured: &[(f64, &PointResult)],
    scenario: &Scenario,
    word: &str,
) -> Option<(AsPublished, bool, String)> {
    let at = |place: f64| measured.iter().find(|(x, _)| *x == place).map(|(_, result)| *result);
    let both: Vec<(f64, f64, &PointResult)> =
        published.iter().filter_map(|(x, value)| Some((*x, *value, at(*x)?))).collect();
    let ((first_place, first, of_first), others) = both.split_first().filter(|(_, others)| !others.is_empty())?;
    let judged = |(place, value, result): &(f64, f64, &PointResult)| -> Judged {
        let places = [*place, *first_place].map(place_in_words);
        match ratio(result, of_first, scenario) {
            Ok(share) => judge(share, value / first, &places, word),
            Err(why) => (AsPublished::CannotSay, format!("{why}: at {} or {}", places[0], places[1])),
        }
    };
    let all: Vec<Judged> = others.iter().map(judged).collect();
    let find = |verdict: AsPublished| all.iter().find(|(found, _)| *found == verdict);
    let decides = find(AsPublished::No).or_else(|| find(AsPublished::CannotSay)).or(all.last())?;
    Some((decides.0, both.last()?.1 < *first, decides.1.clone()))
}

fn judge(measured: Interval, published: f64, [place, first]: &[String; 2], word: &str) -> Judged {
    let near = [1.0 - NEAR, 1.0 + NEAR].map(|factor| published * factor);
    let verdict = match () {
        () if measured.low >= near[0] && measured.high <= near[1] => AsPublished::Yes,
        () if measured.high < near[0] || measured.low > near[1] => AsPublished::No,
        () => AsPublished::CannotSay,
    };
    let [low, high] = apart([measured.low, measured.high].map(|share| share * 100.0), 2);
    let [published] = apart([published * 100.0], 2);
    (verdict, format!("at {place} it is {low}–{high} % of the value at {first}; {word}: {published} %"))
}
