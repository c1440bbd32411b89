//! Recomputes what the documents derived from their own values. Each input lies within half a unit of its last printed digit,
//! and so each result within a range.

use super::{PublishedFigure, PublishedTable, TABLES};

#[derive(Clone, Debug)]
pub struct Check {
    pub table: &'static PublishedTable,
    pub metric: String,
    pub how: &'static str,
    pub x: String,
    pub printed: String,
    pub computed: f64,
    /// Whether the printed value is possible with the printed inputs.
    pub agrees: bool,
}

/// A value with the distance within which rounding may have moved it.
#[derive(Clone, Copy, Debug)]
struct RoundedValue {
    value: f64,
    half: f64,
}

impl RoundedValue {
    fn exact(number: u64) -> RoundedValue {
        RoundedValue { value: number as f64, half: 0.0 }
    }

    fn times(self, factor: f64) -> RoundedValue {
        RoundedValue { value: self.value * factor, half: self.half * factor }
    }

    fn of(value: &PublishedFigure) -> RoundedValue {
        let digits = value.printed.replace(',', "");
        let Ok(printed) = digits.parse::<f64>() else { return RoundedValue { value: value.value, half: 0.0 } };
        let places = digits.split_once('.').map_or(0, |(_, behind)| i32::try_from(behind.len()).unwrap_or(i32::MAX));
        // A table in thousands prints 223.5 for 223,500.
        let unit = if printed == 0.0 { 1.0 } else { value.value / printed };
        RoundedValue { value: value.value, half: 0.5 * unit * 10f64.powi(-places) }
    }

    fn ends(self) -> [f64; 2] {
        [self.value - self.half, self.value + self.half]
    }
}

/// The derivation of a value from two inputs: in words, the inputs, and as a function.
type Derivation = (&'static str, [RoundedValue; 2], fn(f64, f64) -> f64);

const FULL: &str = "filled_table_deletion_time";
const EMPTY: &str = "empty_table_deletion_time";

/// Returns the derivation of a value; `None` if it was measured, or its inputs are not in the table.
fn derivation(value: &PublishedFigure, table: &[&PublishedFigure]) -> Option<Derivation> {
    let of = |metric: &str| median(table, metric, &value.x);
    let own = || of(&value.metric);
    let ratio = |a, b| a / b;
    let percent = |a, b| 100.0 * a / b;
    Some(match (value.stat.as_str(), value.metric.as_str()) {
        ("rel_scale_up", _) => {
            let one = first(table, &value.metric)?.times(value.place()?);
            ("P(n) / (n × P(1))", [own()?, one], ratio)
        }
        ("ratio_to_previous", _) => ("ratio to the value before", [own()?, previous(table, value)?], ratio),
        ("percent", _) => {
            let inputs = [of("throughput")?, of("ipv4_forwarding_throughput")?];
            ("throughput / throughput of forwarding, in percent", inputs, percent)
        }
        (_, "net_deletion_time") => {
            let how = "deletion time of the full table − that of the empty table";
            (how, [of(FULL)?, of(EMPTY)?], |full, empty| full - empty)
        }
        (_, "conn_tear_down_rate") => {
            let (connections, full, empty) = (RoundedValue::exact(value.under.connections?), of(FULL)?, of(EMPTY)?);
            let net = RoundedValue { value: full.value - empty.value, half: full.half + empty.half };
            ("connections / net deletion time", [connections, net], ratio)
        }
        (_, "memory_per_hash_bucket") => {
            let buckets = RoundedValue::exact(value.under.hash_table?);
            ("memory of the hash table / buckets", [of("memory_hash_table")?, buckets], ratio)
        }
        (_, "memory_per_conntrack_entry") => {
            let entries = RoundedValue::exact(value.under.connections?);
            ("memory of all entries / entries", [of("memory_conntrack_entries")?, entries], ratio)
        }
        _ => return None,
    })
}

fn is(value: &PublishedFigure, stat: &str) -> bool {
    value.stat == stat
}

fn median(table: &[&PublishedFigure], metric: &str, x: &str) -> Option<RoundedValue> {
    table.iter().find(|v| v.metric == metric && is(v, "median") && v.x == x).map(|v| RoundedValue::of(v))
}

/// The median with one core.
fn first(table: &[&PublishedFigure], metric: &str) -> Option<RoundedValue> {
    table.iter().find(|v| v.metric == metric && is(v, "median") && v.place() == Some(1.0)).map(|v| RoundedValue::of(v))
}

/// The median before that of a value, in the order of its table.
fn previous(table: &[&PublishedFigure], value: &PublishedFigure) -> Option<RoundedValue> {
    let medians: Vec<&&PublishedFigure> =
        table.iter().filter(|v| v.metric == value.metric && is(v, "median")).collect();
    let at = medians.iter().position(|v| v.x == value.x)?;
    medians.get(at.checked_sub(1)?).map(|v| RoundedValue::of(v))
}

pub fn all() -> Vec<Check> {
    TABLES.iter().flat_map(of_table).collect()
}

fn of_table(table: &'static PublishedTable) -> Vec<Check> {
    let values: Vec<&PublishedFigure> = table.values().collect();
    values.iter().filter_map(|value| of_value(table, &values, value)).collect()
}

fn of_value(table: &'static PublishedTable, values: &[&PublishedFigure], value: &PublishedFigure) -> Option<Check> {
    let (how, [a, b], f) = derivation(value, values)?;
    let corners = a.ends().map(|a| b.ends().map(|b| f(a, b)));
    let [low, high] = corners
        .iter()
        .flatten()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &corner| [low.min(corner), high.max(corner)]);
    let printed = RoundedValue::of(value).ends();
    // A value in the middle between two digits may be rounded either way.
    let slack = 1e-9 * value.value.abs();
    Some(Check {
        table,
        metric: value.metric.clone(),
        how,
        x: value.x.clone(),
        printed: value.printed.clone(),
        computed: f(a.value, b.value),
        agrees: printed[1] + slack >= low && printed[0] - slack <= high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::scaling;

    /// The documents print 250 derived values; only the slides have a wrong divisor (E02).
    #[test]
    fn all_derived_values_agree_but_those_of_one_slide() {
        let all = all();
        let wrong: Vec<(&str, &str, &str)> =
            all.iter().filter(|c| !c.agrees).map(|c| (&*c.table.number, &*c.metric, &*c.x)).collect();
        let of_slide = |metric| ["4", "8", "16"].map(|x| ("001-slide-cpu", metric, x));
        assert_eq!(wrong, [of_slide("max_conn_est_rate"), of_slide("throughput")].concat(), "{}", all.len());
        assert!(all.len() >= 234, "{}", all.len());
    }

    /// Reports compute ratios of performances as the documents do.
    #[test]
    fn ratios_of_performances_are_those_of_reports() {
        let mut compared = 0;
        for table in TABLES.iter() {
            let values: Vec<&PublishedFigure> = table.values().collect();
            for value in &values {
                let Some(check) = of_value(table, &values, value) else { continue };
                let own = || median(&values, &value.metric, &value.x).unwrap().value;
                let of_report = match value.stat.as_str() {
                    "rel_scale_up" => {
                        let one_core = first(&values, &value.metric).unwrap().value;
                        scaling::cores(value.place().unwrap() as u32, own(), one_core)
                    }
                    "ratio_to_previous" => scaling::to_previous(own(), previous(&values, value).unwrap().value),
                    _ => continue,
                };
                assert!((of_report.unwrap() - check.computed).abs() < 1e-12, "{check:?}");
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
    }
}
