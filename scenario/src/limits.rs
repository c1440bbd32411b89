//! `[limits]`: what values must be, by metric. `throughput = ">= 3M"` holds at every point,
//! `{ limit = ">= 3M", connections = "1M" }` at those that meet the conditions, `">= 95 % of baseline"` in relation to another run.
//! Limits change nothing that is measured.

use crate::exclude::{self, Exclusion};
use crate::file::{ScenarioError, text_of};
use crate::{Point, Scenario};
use key::kind::{Shape, ValueKind, path, text};
use key::quantity::{self, WrittenRate};
use key::{Book, Chapter, Complaints, Fault, Node, Refuse, TreeTable, Value, Wrong, did_you_mean, needed};
use procedure::Metric;
use procedure::metric::{Origin, Unit, by_key};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Run folder of the values behind `of baseline`.
    pub baseline: Option<PathBuf>,
    pub all: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub condition: Condition,
    /// As written, without the metric.
    pub text: String,
    at: Exclusion,
}

impl Limit {
    pub fn is_about(&self, point: &Point, metric: &str) -> bool {
        self.condition.metric.key == metric && self.at.leaves_out(point, metric)
    }
}

/// A condition on a value: `throughput >= 3M`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub text: String,
    pub metric: &'static Metric,
    sign: &'static str,
    pub amount: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// In the unit of the metric.
    Value(f64),
    /// In percent of the same value of the baseline.
    OfBaseline(f64),
}

/// The relations as written; the longer ones first.
const RELATIONS: [&str; 4] = ["<=", ">=", "<", ">"];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
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

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let form = || ConditionError::Form(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (word, rest) = (text[..at].trim(), &text[at..]);
        let sign = RELATIONS.into_iter().find(|sign| rest.starts_with(sign)).ok_or_else(form)?;
        let amount = rest[sign.len()..].trim();
        if word.is_empty() || amount.is_empty() {
            return Err(form());
        }
        let metric = by_key(word).ok_or_else(|| ConditionError::Metric {
            word: word.to_owned(),
            meant: did_you_mean(word, procedure::metrics(procedure::ALL).map(|metric| metric.key)),
        })?;
        let amount = match amount.strip_suffix("of baseline") {
            Some(share) => Amount::OfBaseline(percent(share.trim())?),
            None => Amount::Value(quantity_of(metric, amount)?),
        };
        Ok(Condition { text: text.trim().to_owned(), metric, sign, amount })
    }
}

/// Also above 100 %.
fn percent(text: &str) -> Result<f64, Wrong> {
    let wrong = || Wrong::new(format!("`{text}` is no share of the baseline"), "write >= 95 % of baseline");
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    number.filter(|percent| percent.is_finite() && *percent > 0.0).ok_or_else(wrong)
}

fn quantity_of(metric: &'static Metric, text: &str) -> Result<f64, ConditionError> {
    Ok(match metric.unit {
        Unit::FramesPerSecond | Unit::ConnectionsPerSecond | Unit::QueriesPerSecond => match quantity::rate(text)? {
            WrittenRate::Frames(rate) => rate as f64,
            WrittenRate::Bits(_) => return Err(ConditionError::Bits(text.to_owned())),
        },
        Unit::Connections | Unit::Frames | Unit::Bytes => quantity::count(text)? as f64,
        Unit::Percent => f64::from(quantity::share_ppm(text)?) / 10_000.0,
        Unit::PartsPerMillion => f64::from(quantity::share_ppm(text)?),
        Unit::Nanoseconds => quantity::duration(text)?.0 as f64,
        Unit::Ratio | Unit::Parts => return Err(ConditionError::Unit(metric.key)),
    })
}

impl Condition {
    /// Whether a value meets it: of the metric, or in percent of the baseline.
    pub fn holds(&self, value: f64) -> bool {
        let (Amount::Value(limit) | Amount::OfBaseline(limit)) = self.amount;
        match self.sign {
            "<" => value < limit,
            "<=" => value <= limit,
            ">" => value > limit,
            _ => value >= limit,
        }
    }
}

const BASELINE: &str = "baseline";
const LIMIT: &str = "limit";

pub(crate) struct LimitsOf;

impl ValueKind for LimitsOf {
    type Out = Limits;

    fn shape(&self) -> Shape {
        let metrics = procedure::metrics(procedure::ALL).map(|metric| metric.key);
        let names: Vec<&str> = metrics.chain([BASELINE]).collect();
        let item = json!({ "anyOf": [{ "type": "string" }, { "type": "object", "required": [LIMIT] }] });
        let value = json!({ "anyOf": [item, { "type": "array", "items": item }] });
        let json = json!({ "type": "object", "propertyNames": { "enum": names }, "additionalProperties": value });
        Shape::one("table: metrics, each with a limit or a list of limits; `baseline`", json)
    }

    fn absent(&self) -> Option<Limits> {
        Some(Limits::default())
    }

    fn read(&self, node: &Node, at: &str, refuse: &mut Refuse<'_>) -> Option<Limits> {
        let Some(table) = node.value.as_table() else {
            refuse(at, node.place, Wrong::new("not a table", "write [limits], and below it throughput = \">= 3M\""));
            return None;
        };
        let (mut limits, mut is_complete) = (Limits::default(), true);
        for entry in table.entries() {
            let at = format!("{at}.{}", entry.name);
            if entry.name == BASELINE {
                limits.baseline = path().read(&entry.node, &at, refuse);
                is_complete &= limits.baseline.is_some();
                continue;
            }
            let items = match &entry.node.value {
                Value::List(items) => &items[..],
                _ => std::slice::from_ref(&entry.node),
            };
            for (number, item) in items.iter().enumerate() {
                let at = if items.len() > 1 { format!("{at}[{number}]") } else { at.clone() };
                let read = limit(&entry.name, item, &at, refuse);
                is_complete &= read.is_some();
                limits.all.extend(read);
            }
        }
        is_complete.then_some(limits)
    }
}

fn limit(metric: &str, node: &Node, at: &str, refuse: &mut Refuse<'_>) -> Option<Limit> {
    let table = node.value.as_table();
    let Some(written) = table.map_or(Some(node), |table| table.get(LIMIT).map(|entry| &entry.node)) else {
        let instead = format!("write {metric} = {{ limit = \">= 3M\", connections = \"1M\" }}");
        refuse(at, node.place, Wrong::new("conditions without `limit`", instead));
        return None;
    };
    let condition = text().read(written, at, refuse)?;
    let conditions =
        table.map_or_else(|| Some(Exclusion::default()), |table| exclude::item(table, LIMIT, at, refuse))?;
    match format!("{metric} {condition}").parse::<Condition>() {
        Ok(read) => Some(Limit { condition: read, text: in_words(&condition, table), at: conditions }),
        Err(error) => {
            let instead = "write RELATION QUANTITY, such as \">= 3M\", \"<= 200 us\" or \">= 95 % of baseline\"";
            refuse(at, written.place, Wrong::new(error.to_string(), instead));
            None
        }
    }
}

fn in_words(condition: &str, table: Option<&TreeTable>) -> String {
    let entries = table.map_or(&[][..], TreeTable::entries).iter().filter(|entry| entry.name != LIMIT);
    let conditions: Vec<String> = entries.map(|entry| format!("{} = {}", entry.name, entry.node.value)).collect();
    if conditions.is_empty() { condition.to_owned() } else { format!("{condition}, {}", conditions.join(", ")) }
}

/// The faults of limits that no run of these scenarios can meet: their metric is not measured.
pub(crate) fn unmeasured(scenarios: &[&Scenario]) -> Vec<Fault> {
    let Some(first) = scenarios.first() else { return Vec::new() };
    let is_measured = |metric: &Metric| {
        let measured = match metric.origin {
            Origin::Part { of } => of,
            Origin::Measured { .. } | Origin::Derived => metric.key,
        };
        scenarios.iter().any(|scenario| scenario.measure.metrics.iter().any(|key| key == measured))
    };
    let unmeasured = first.limits.all.iter().map(|limit| limit.condition.metric).filter(|metric| !is_measured(metric));
    let fault = |metric: &Metric| {
        Fault::new(format!("the scenario does not measure `{}`", metric.key))
            .at(format!("limits.{}", metric.key), "a limit for it")
            .instead("add it to `metrics` in [measure], or remove the limit")
    };
    unmeasured.map(fault).collect()
}

key::table! {
    /// Limits alone.
    struct LimitsFile {
        /// What values must be.
        limits: Limits = "limits", LimitsOf, needed("{ throughput = \">= 3M\" }");
    }
}

/// Reads a file with a table `[limits]` and nothing else, and returns its text, too.
pub fn read(path: &Path) -> Result<(Limits, String), ScenarioError> {
    let text = text_of(path)?;
    Ok((parse(&path.display().to_string(), &text)?, text))
}

pub(crate) fn parse(name: &str, text: &str) -> Result<Limits, Complaints> {
    let book = Book { chapters: vec![Chapter::of::<LimitsFile>("").lenient()], ..Book::default() };
    let read = book.load(name, text, |sections| sections.table::<LimitsFile>(""), |_| Vec::new());
    Ok(read?.limits)
}

/// The text of a scenario without its limits, which change nothing that is measured.
pub fn without(text: &str) -> String {
    let is_header = |line: &str| line.trim_start().starts_with('[');
    let is_limits = |line: &str| line.trim_start().strip_prefix("[limits]").is_some();
    if !text.lines().any(is_limits) {
        return text.to_owned();
    }
    let mut is_inside = false;
    let kept = text.split_inclusive('\n').filter(|line| {
        is_inside = if is_header(line) { is_limits(line) } else { is_inside };
        !is_inside
    });
    kept.collect::<String>().trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_scenarios;

    #[test]
    fn conditions_are_metric_relation_and_quantity() {
        // Whether it holds below the limit, at it, and above it.
        for (text, metric, limit, holds) in [
            ("throughput < 3M", "throughput", 3e6, [true, false, false]),
            ("throughput<=1.5 Mfps", "throughput", 1.5e6, [true, true, false]),
            ("latency_typical_forward > 50 us", "latency_typical_forward", 50e3, [false, false, true]),
            ("frame_loss_rate >= 0.1 %", "frame_loss_rate", 1_000.0, [false, true, true]),
            ("conn_table_capacity < 4M", "conn_table_capacity", 4e6, [true, false, false]),
            ("throughput >= 102.5 % of baseline", "throughput", 102.5, [false, true, true]),
        ] {
            let condition: Condition = text.parse().unwrap();
            let (Amount::Value(of) | Amount::OfBaseline(of)) = condition.amount;
            assert_eq!((condition.metric.key, of), (metric, limit), "{text}");
            let found = [limit - 1.0, limit, limit + 1.0].map(|value| condition.holds(value));
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
            ("throughput > 5 of baseline", "write >= 95 % of baseline"),
            ("rel_scale_up < 2", "no value that can be compared"),
        ] {
            let error = text.parse::<Condition>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    const SCENARIO: &str = "[dut.embedded]\n[sweep]\nconnections = \"100k\"\n[measure]\nphase1-rate = \"100k\"\nmetrics = [\"throughput\", \"latency\"]\n";

    #[test]
    fn a_table_of_limits_is_read_or_refused_at_the_word_at_fault() {
        let load = |limits: &str| test_scenarios::load(&format!("{SCENARIO}[limits]\n{limits}\n"), &[]);
        let limits =
            load("baseline = \"runs/x\"\nthroughput = [\">= 3M\", { limit = \"> 5M\", connections = \"100k\" }]");
        let limits = limits.unwrap().limits;
        assert_eq!(limits.baseline, Some(PathBuf::from("runs/x")));
        assert_eq!(limits.all.len(), 2);
        let point = |connections| Point {
            dut: 0,
            dut_name: "embedded".to_owned(),
            connections,
            cores: 1,
            axes: crate::axis::AxisValues::default(),
        };
        for (n, metric, about) in
            [(100_000, "throughput", [true, true]), (1, "throughput", [true, false]), (1, "latency", [false, false])]
        {
            let found: Vec<bool> = limits.all.iter().map(|limit| limit.is_about(&point(n), metric)).collect();
            assert_eq!(found, about, "{n} {metric}");
        }
        for (written, words) in [
            ("troughput = \">= 3M\"", "did you mean `throughput`?"),
            ("throughput = 3", "write a string in quotes"),
            ("throughput = \"3M\"", "write RELATION QUANTITY"),
            ("throughput = { connections = \"1M\" }", "conditions without `limit`"),
            ("throughput = { limit = \">= 3M\", conections = \"1M\" }", "did you mean `connections`?"),
            ("max_conn_est_rate = \">= 3M\"", "the scenario does not measure `max_conn_est_rate`"),
            ("latency_typical_forward = \"<= 3M\"", "3M"),
        ] {
            let error = load(written).unwrap_err();
            assert!(error.contains(words) && error.contains("x.toml:"), "{written}: {error}");
        }
    }

    #[test]
    fn limits_are_no_part_of_what_identifies_a_scenario() {
        let limits = "[limits] # CI\nthroughput = [\n  \">= 3M\",\n]\n";
        for (with, other) in [
            (format!("name = \"x\"\n\n{limits}\n[sweep]\n"), "name = \"x\"\n\n[sweep]\n"),
            (format!("[sweep]\nn = 1\n\n{limits}"), "[sweep]\nn = 1\n"),
            ("[sweep]\n\n".to_owned(), "[sweep]\n\n"),
        ] {
            assert_eq!(without(&with), other);
        }
    }
}
