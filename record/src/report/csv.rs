//! The report as CSV, one value a line, for spreadsheets and scripts: the columns of `published/all.csv`, then what
//! only a measured value has.

use super::facts::{ceiling, technology};
use super::result::{PointResult, Repetition};
use super::{Format, Report, number, published};
use crate::audit::Basis;
use crate::folder::{CONNTRACK_TABLE_SIZE, HASH_TABLE_SIZE, Spread, TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use method::stats::Interval;
use method::{Direction, ResultKind};
use procedure::metric::{self, Unit};
use scenario::Dut;
use scenario::Plays;
use scenario::axis::{AXES, in_order};
use std::fmt::Write;

/// Comma-separated values (RFC 4180).
pub(super) const FORMAT: Format =
    Format { name: "csv", extension: "csv", about: "one value a line, for spreadsheets", render };

const COLUMNS: &str = "table_id,document,label,technology,implementation,setup,metric,stat,unit,x_name,x_value,value,printed,\
connections,src_ports,dst_ports,cpu_cores,hash_table_size,conntrack_table_size,experiments,search_error,loss_tolerance,\
frame_size_ipv4,bound,repetition,conformance";

/// Columns after those of the further axes: the table that the device loaded, the build of natmeter, and the basis of
/// verdicts and results; then the figures of the result beside the value.
const LAST_COLUMNS: &str = "table_entries,table_load_ms,table_kib,build,verdicts,interval_low,interval_high,\
interval_coverage,trials,invalid_trials,one_sided,closed_loop,validation_failed,shares_core,phase1_rate,phase1_lost,queued,\
after_s,tester_ceiling,null_before,null_after,cpu_ns_per_frame,cpu_ns_per_frame_low,cpu_ns_per_frame_high,paired_ratio,\
paired_ratio_low,paired_ratio_high";

fn render(report: &Report) -> String {
    let swept = AXES.iter().map(|axis| axis.name().replace('-', "_"));
    let columns = [COLUMNS.to_owned()].into_iter().chain(swept).chain([LAST_COLUMNS.to_owned()]);
    let mut out = columns.collect::<Vec<_>>().join(",") + "\n";
    for result in &report.results {
        let by_cores = report.results.iter().any(|c| c.dut == result.dut && c.cores != result.cores)
            && report.results.iter().all(|c| c.dut != result.dut || c.connections == result.connections);
        let axis = if let Some((axis, value)) = in_order(&result.axes).find(|(axis, value)| {
            report.results.iter().any(|c| c.dut == result.dut && c.axes.get(axis.name()).is_some_and(|n| n != value))
        }) {
            (axis.name(), axis.plain(value))
        } else if by_cores {
            ("cpu_cores", result.cores.to_string())
        } else {
            ("connections", result.connections.to_string())
        };
        let line = Line { report, result, axis };
        line.statistics(&mut out);
    }
    out
}

struct Line<'a> {
    report: &'a Report,
    result: &'a PointResult,
    axis: (&'static str, String),
}

/// Names of ratios in the column `stat`.
const S_C: &str = "scaling_over_connections";
const S_CPU: &str = "rel_scale_up";
const OF_FORWARDING: &str = "percent_of_forwarding";

const PER_DIRECTION: &str = "fps, per direction";
const BOTH: &str = "fps, both directions";
const TO_RIGHT: &str = "fps, left to right";
const TO_LEFT: &str = "fps, right to left";

/// The unit of the searched rate, and those of the other rates that follow from it.
fn of_directions(result: &PointResult) -> (&'static str, &'static [&'static str]) {
    match result.direction() {
        Direction::Mixed(ratio) if ratio.is_faster_forward() => (TO_RIGHT, &[TO_LEFT, BOTH]),
        Direction::Mixed(_) => (TO_LEFT, &[TO_RIGHT, BOTH]),
        Direction::Both => (PER_DIRECTION, &[BOTH]),
        Direction::Forward | Direction::Reverse => (PER_DIRECTION, &[]),
    }
}

/// The unit of the values of a result, and those of other values that follow from them.
fn units(result: &PointResult) -> (&'static str, &'static [&'static str]) {
    match metric::by_key(&result.metric).map(|m| m.unit) {
        Some(Unit::FramesPerSecond) => of_directions(result),
        Some(Unit::ConnectionsPerSecond) => ("cps", &[]),
        Some(unit) => (unit.symbol(), &[]),
        None => ("", &[]),
    }
}

/// The unit of the values of a result.
pub(super) fn unit(result: &PointResult) -> &'static str {
    units(result).0
}

/// A rate in this unit divided by the searched rate.
fn factor(result: &PointResult, unit: &str) -> f64 {
    match (unit, result.direction_ratio) {
        (BOTH, _) => result.total(1.0),
        (TO_RIGHT | TO_LEFT, Some(ratio)) => ratio.rate_of(unit == TO_RIGHT, 1.0),
        _ => 1.0,
    }
}

impl Line<'_> {
    fn statistics(&self, out: &mut String) {
        let result = self.result;
        let (single, others) = units(result);
        for r in &result.repetitions {
            // Without a valid trial there is no value. If only a failure is known, its rate is the upper bound.
            let known = match r.bound {
                ResultKind::NothingMeasured => None,
                ResultKind::Below => Some(r.error.0 as f64),
                _ => Some(r.value as f64),
            };
            self.value(out, "value", single, known, Some(r));
        }
        let Some(s) = result.summary else { return };
        let statistics = [
            ("median", s.median),
            ("min", s.min),
            ("max", s.max),
            ("p1", s.p1),
            ("p99", s.p99),
            ("mean", s.mean),
            ("sd", s.sd),
        ];
        for (stat, value) in statistics {
            self.value(out, stat, single, Some(value), None);
            for unit in others {
                self.value(out, stat, unit, Some(value * factor(result, unit)), None);
            }
        }
        // If tester and device share a core, S_CPU is not a result, and CSV has no mark for that.
        let s_cpu = result.s_cpu.filter(|_| !result.shares_core);
        let ratios = [(S_C, result.s_c), (S_CPU, s_cpu)];
        for (stat, value) in ratios {
            if let Some(value) = value {
                self.value(out, stat, "ratio", Some(value), None);
            }
        }
        if let Some(value) = result.forwarding_percent {
            self.value(out, OF_FORWARDING, "%", Some(value), None);
        }
    }

    /// Writes one line; without a value, the value fields are empty.
    fn value(&self, out: &mut String, stat: &str, unit: &str, value: Option<f64>, repetition: Option<&Repetition>) {
        let (report, result) = (self.report, self.result);
        let scenario = &report.header.scenario;
        let here = scenario.at(result.dut, result.connections, &result.axes);
        let traffic = &here.traffic;
        let ports = |key: &str, whole: u32| result.extra.get(key).map_or(whole, |&n| n as u32).to_string();
        let extra = |key: &str| result.extra.get(key).map_or_else(String::new, f64::to_string);
        let whole = repetition;
        let (repetition, bound, error) = match repetition {
            Some(r) => (r.repetition.to_string(), r.bound, r.error),
            None => (String::new(), result.bound, result.error),
        };
        let error = matches!(bound, ResultKind::Exact | ResultKind::Between).then_some(error);
        let acceptance = if result.metric.starts_with("max_conn_est_rate") {
            scenario.measure.phase1_acceptance_ppm
        } else {
            scenario.measure.acceptance_ppm
        };
        let fields = [
            report.run_name(),
            format!("natmeter {}", report.header.version),
            result.dut_name.clone(),
            scenario.duts.get(result.dut).map_or("", technology).to_owned(),
            report.facts.duts.get(&result.dut_name).and_then(|f| f.get("software")).cloned().unwrap_or_default(),
            setup(scenario.duts.get(result.dut)).to_owned(),
            result.metric.clone(),
            stat.to_owned(),
            unit.to_owned(),
            self.axis.0.to_owned(),
            self.axis.1.clone(),
            value.map_or_else(String::new, |v| v.to_string()),
            value.map_or_else(String::new, exact),
            result.connections.to_string(),
            ports("source_ports", traffic.flows.source_ports.count()),
            ports("destination_ports", traffic.flows.destination_ports.count()),
            result.known_cores.map_or_else(String::new, |cores| cores.to_string()),
            extra(HASH_TABLE_SIZE),
            scenario
                .duts
                .get(result.dut)
                .and_then(Dut::table_size)
                .map_or_else(|| extra(CONNTRACK_TABLE_SIZE), |n| n.to_string()),
            result.repetitions.len().to_string(),
            error.map_or_else(String::new, |error| error.0.to_string()),
            // In integers, because 1 - 0.9999 is not 0.0001 in floating point.
            (f64::from(1_000_000u32.saturating_sub(acceptance)) / 1e6).to_string(),
            traffic.frame_sizes.as_ref().map_or_else(|| traffic.frame_size.to_string(), ToString::to_string),
            bound.name().to_owned(),
            repetition,
            report.conformance.label.clone(),
        ];
        let swept = AXES.iter().map(|axis| result.axes.get(axis.name()).map_or_else(String::new, |&n| axis.plain(n)));
        let table = [TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY].map(extra);
        let all: Vec<String> = fields
            .into_iter()
            .chain(swept)
            .chain(table)
            .chain([report.facts.build().unwrap_or_default().to_owned(), verdicts(report).to_owned()])
            .chain(self.beside(stat, unit, whole))
            .map(published::quoted)
            .collect();
        let _ = writeln!(out, "{}", all.join(","));
    }
}

impl Line<'_> {
    /// The last columns: the interval of a median or a ratio, and the figures of the result or of one repetition.
    fn beside(&self, stat: &str, unit: &str, repetition: Option<&Repetition>) -> Vec<String> {
        let (report, result) = (self.report, self.result);
        let (interval, scale) = match stat {
            "median" => (interval(result), factor(result, unit)),
            S_C => (result.s_c_interval, 1.0),
            S_CPU => (result.s_cpu_interval, 1.0),
            OF_FORWARDING => (result.forwarding_interval, 100.0),
            _ => (None, 1.0),
        };
        let interval = interval.map(|i| Interval { low: i.low * scale, high: i.high * scale, ..i });
        let (trials, invalid, one_sided) = match repetition {
            Some(r) => (r.trials, r.invalid, usize::from(r.one_sided)),
            None => (result.trials, result.invalid, result.one_sided),
        };
        let null = |before: bool| {
            let rates = result.null.iter().filter(|null| null.before == before);
            // The last one, if a point was measured again.
            rates.filter_map(|null| null.of(&result.metric)).next_back().map(|rate| rate.0 as f64)
        };
        let cost = result.cost.unwrap_or_default();
        let spread = |spread: Option<Spread>| {
            let of = |figure: fn(&Spread) -> f64| spread.as_ref().map(figure);
            [of(|s| s.median), of(|s| s.low), of(|s| s.high)]
        };
        // Counts of repetitions for a result; 0 or 1 for a repetition where that is known.
        let of_result = |n: usize| if repetition.is_none() { n.to_string() } else { String::new() };
        let decimal = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        let mut columns: Vec<String> =
            [interval.map(|i| i.low), interval.map(|i| i.high), interval.map(|i| i.coverage)].map(decimal).into();
        columns.extend([
            trials.to_string(),
            invalid.to_string(),
            one_sided.to_string(),
            of_result(result.closed_loop),
            of_result(result.validation_failed),
            result.shares_core.to_string(),
            decimal(result.extra.get("phase 1 rate").copied()),
            result.phase1_lost.to_string(),
            result.queued.map_or_else(String::new, |n| n.to_string()),
            decimal(repetition.and_then(|r| r.after_s)),
            decimal(ceiling(report, result)),
        ]);
        columns.extend([null(true), null(false)].map(decimal));
        columns.extend(spread(cost.cpu_ns_per_frame).into_iter().chain(spread(cost.paired_ratio)).map(decimal));
        columns
    }
}

/// The interval of the median over the repetitions; `None` if not all of them have a rate.
fn interval(result: &PointResult) -> Option<Interval> {
    let mut rates: Vec<f64> =
        result.repetitions.iter().filter(|r| r.bound.has_rate()).map(|r| r.value as f64).collect();
    rates.sort_by(f64::total_cmp);
    if rates.len() == result.repetitions.len() { Interval::of(&rates) } else { None }
}

/// A value with all its decimals and a comma before every three digits of its whole part.
fn exact(value: f64) -> String {
    let text = value.to_string();
    let (whole, decimals) = text.split_once('.').map_or((text.as_str(), None), |(whole, part)| (whole, Some(part)));
    let grouped = whole.parse().map_or_else(|_| whole.to_owned(), number::grouped);
    decimals.map_or(grouped.clone(), |part| format!("{grouped}.{part}"))
}

/// Single or dual DUT set-up, in the words of the published tables.
fn setup(dut: Option<&Dut>) -> &'static str {
    match dut.and_then(Dut::technology) {
        Some((Plays::Dual, technology)) if technology.names().has_edges() => "dual DUT",
        _ => "single DUT",
    }
}

/// The basis of verdicts and results.
pub(super) fn verdicts(report: &Report) -> &'static str {
    match report.audit.basis {
        _ if !report.audit.findings.is_empty() => "damaged",
        Basis::DerivedAgain => "derived-again",
        Basis::AsRecorded => "as-recorded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_values_are_those_of_the_record() {
        let values = [9_545_970.333_333_334, 12_345.5, 1_000.0, 0.743_219_8, 0.0];
        assert_eq!(values.map(exact), ["9,545,970.333333334", "12,345.5", "1,000", "0.7432198", "0"]);
    }

    #[test]
    fn bounds_have_the_names_that_records_have() {
        for bound in ResultKind::WEAKEST_FIRST {
            assert_eq!(serde_json::to_value(bound).unwrap(), bound.name());
        }
    }
}
