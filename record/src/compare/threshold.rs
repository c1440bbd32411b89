//! Thresholds of values. `throughput < 3M` fails for every point whose throughput is below 3 million frames per
//! second and direction. A bound decides only if every value that it allows gives the same answer.

use super::difference::{is_bounded, known};
use crate::report::result::PointResult;
use method::stats::median_of;
use procedure::Metric;
use procedure::metric::{Unit, by_key};
use scenario::quantity::{self, WrittenRate};
use scenario::{Wrong, did_you_mean};
use std::str::FromStr;

/// A condition that no value may meet.
#[derive(Clone, Debug)]
pub struct Threshold {
    pub text: String,
    metric: &'static Metric,
    relation: Relation,
    /// In the unit of the metric.
    limit: f64,
}

type Relation = fn(&f64, &f64) -> bool;

/// The relations as written; the longer ones first.
const RELATIONS: [(&str, Relation); 4] = [("<=", f64::le), (">=", f64::ge), ("<", f64::lt), (">", f64::gt)];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    #[error("`{0}` is not a condition: write METRIC < QUANTITY, such as \"throughput < 3M\", with <, <=, > or >=")]
    Form(String),
    #[error("`{word}` is not a metric{}; `natmeter list metrics` prints all", .meant.map(|m| format!(": did you mean `{m}`?")).unwrap_or_default())]
    Metric { word: String, meant: Option<&'static str> },
    #[error("`{0}` has no value that can be compared: name one of its parts, or the metric from which it is computed")]
    Unit(&'static str),
    #[error(transparent)]
    Quantity(#[from] Wrong),
    #[error("`{0}` is a rate in bits per second: write the frames per second and direction, such as 3M")]
    Bits(String),
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        let form = || ThresholdError::Form(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (word, rest) = (text[..at].trim(), &text[at..]);
        let (sign, relation) = RELATIONS.into_iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(form)?;
        let amount = rest[sign.len()..].trim();
        if word.is_empty() || amount.is_empty() {
            return Err(form());
        }
        let metric = by_key(word).ok_or_else(|| ThresholdError::Metric {
            word: word.to_owned(),
            meant: did_you_mean(word, procedure::metrics(procedure::ALL).map(|metric| metric.key)),
        })?;
        Ok(Threshold { text: text.trim().to_owned(), metric, relation, limit: limit(metric, amount)? })
    }
}

fn limit(metric: &'static Metric, text: &str) -> Result<f64, ThresholdError> {
    Ok(match metric.unit {
        Unit::FramesPerSecond | Unit::ConnectionsPerSecond | Unit::QueriesPerSecond => match quantity::rate(text)? {
            WrittenRate::Frames(rate) => rate as f64,
            WrittenRate::Bits(_) => return Err(ThresholdError::Bits(text.to_owned())),
        },
        Unit::Connections | Unit::Frames | Unit::Bytes => quantity::count(text)? as f64,
        Unit::Percent => f64::from(quantity::share_ppm(text)?) / 10_000.0,
        Unit::PartsPerMillion => f64::from(quantity::share_ppm(text)?),
        Unit::Nanoseconds => quantity::duration(text)?.0 as f64,
        Unit::Ratio | Unit::Parts => return Err(ThresholdError::Unit(metric.key)),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meets {
    Yes,
    No,
    Bounded,
    NoValue,
}

impl Threshold {
    pub fn is_about(&self, result: &PointResult) -> bool {
        result.metric == self.metric.key
    }

    /// Whether the median of a result meets the threshold.
    pub fn judge(&self, result: &PointResult) -> Meets {
        let known = known(result);
        let median = |of: fn(&method::stats::shift::ValueRange) -> f64| {
            let mut values: Vec<f64> = known.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            median_of(&values)
        };
        let (Some(low), Some(high), Some(value)) = (median(|k| k.low), median(|k| k.high), median(|k| k.value)) else {
            return Meets::NoValue;
        };
        let ends = if is_bounded(result) { [low, high] } else { [value; 2] };
        match ends.map(|end| (self.relation)(&end, &self.limit)) {
            [true, true] => Meets::Yes,
            [false, false] => Meets::No,
            _ => Meets::Bounded,
        }
    }

    /// Whether another run can have another verdict: the interval of a result's median lies on both sides of the threshold, or
    /// the repetitions are too few for an interval.
    pub fn is_near(&self, result: &PointResult) -> bool {
        let holds = |value: f64| (self.relation)(&value, &self.limit);
        let is_on_both_sides = result.interval.is_none_or(|interval| holds(interval.low) != holds(interval.high));
        is_on_both_sides || !result.has_interval()
    }

    pub fn near(&self, result: &PointResult) -> String {
        let value = Threshold::value(result);
        format!("{value}: its interval contains the limit of `{}`, or it has fewer than five repetitions", self.text)
    }

    fn value(result: &PointResult) -> String {
        format!("{} is {}", crate::report::place(result), crate::report::in_short(result))
    }

    /// Returns the sentence about a value that meets the threshold or leaves it undecided; `None` for other values.
    pub fn sentence(&self, meets: Meets, result: &PointResult) -> Option<String> {
        let (value, condition) = (Threshold::value(result), &self.text);
        Some(match meets {
            Meets::No => return None,
            Meets::Yes => format!("{value}: `{condition}`"),
            Meets::Bounded => format!("{value}: only a bound, so `{condition}` is not decided"),
            Meets::NoValue => {
                format!("{} has no value, so `{condition}` is not decided", crate::report::place(result))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Threshold, String> {
        text.parse().map_err(|e: ThresholdError| e.to_string())
    }

    #[test]
    fn conditions_are_metric_relation_and_quantity() {
        // Whether it holds below the limit, at it, and above it.
        for (text, metric, limit, holds) in [
            ("throughput < 3M", "throughput", 3e6, [true, false, false]),
            ("throughput<=1.5 Mfps", "throughput", 1.5e6, [true, true, false]),
            ("latency_typical_forward > 50 us", "latency_typical_forward", 50e3, [false, false, true]),
            ("frame_loss_rate >= 0.1 %", "frame_loss_rate", 1_000.0, [false, true, true]),
            ("conn_table_capacity < 4M", "conn_table_capacity", 4e6, [true, false, false]),
        ] {
            let threshold = parsed(text).unwrap();
            assert_eq!((threshold.metric.key, threshold.limit), (metric, limit), "{text}");
            let found = [limit - 1.0, limit, limit + 1.0].map(|value| (threshold.relation)(&value, &threshold.limit));
            assert_eq!(found, holds, "{text}");
        }
    }

    #[test]
    fn mistakes_say_how_to_write_it() {
        for (text, words) in [
            ("throughput 3M", "write METRIC < QUANTITY"),
            ("< 3M", "write METRIC < QUANTITY"),
            ("troughput < 3M", "did you mean `throughput`?"),
            ("throughput < 10 Gbit/s", "frames per second"),
            ("throughput < fast", "fast"),
            ("rel_scale_up < 2", "no value that can be compared"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
