//! The report as CSV, one value a line, for spreadsheets and scripts: the columns of `published/all.csv`, then what
//! only a measured value has.

use super::facts::ceiling;
use super::result::{PHASE1_RATE, PointResult, Repetition};
use super::{Format, Report, number};
use crate::audit::Basis;
use crate::folder::{CONNTRACK_TABLE_SIZE, HASH_TABLE_SIZE, Spread, TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use document::csv::{self, Field};
use method::stats::Interval;
use method::{Direction, ResultKind};
use procedure::metric::{Gives, Unit};
use scenario::Dut;
use scenario::Plays;
use scenario::axis::{AXES, in_order};

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
    let mut out = head(COLUMNS, LAST_COLUMNS);
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
        for statistic in statistics(result) {
            out.push_str(&line(report, result, &axis, &statistic));
        }
    }
    out
}

/// A value, and its name in the column `stat`.
struct Statistic<'a> {
    stat: &'static str,
    unit: &'static str,
    value: Option<f64>,
    interval: Option<Interval>,
    /// The repetition with this value; `None` for a statistic of all repetitions.
    repetition: Option<&'a Repetition>,
}

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
    match result.known.map(|m| m.unit) {
        Some(Unit::FramesPerSecond) => of_directions(result),
        Some(Unit::ConnectionsPerSecond) => ("cps", &[]),
        Some(unit) => (unit.symbol(), &[]),
        None => ("", &[]),
    }
}

pub(super) fn unit(result: &PointResult) -> &'static str {
    units(result).0
}

fn factor(result: &PointResult, unit: &str) -> f64 {
    match (unit, result.direction_ratio) {
        (BOTH, _) => result.total(1.0),
        (TO_RIGHT | TO_LEFT, Some(ratio)) => ratio.rate_of(unit == TO_RIGHT, 1.0),
        _ => 1.0,
    }
}

fn statistics(result: &PointResult) -> Vec<Statistic<'_>> {
    let (single, others) = units(result);
    let of_repetitions = result.repetitions.iter().map(|r| {
        // Without a valid trial there is no value. If only a failure is known, its rate is the upper bound.
        let value = match r.bound {
            ResultKind::NothingMeasured | ResultKind::NoRate => None,
            ResultKind::Below => Some(r.error.0 as f64),
            _ => Some(r.value as f64),
        };
        Statistic { stat: "value", unit: single, value, interval: None, repetition: Some(r) }
    });
    let mut all: Vec<Statistic> = of_repetitions.collect();
    let Some(s) = result.summary else { return all };
    let mut add = |stat, unit, value, interval: Option<Interval>, factor: f64| {
        let interval = interval.map(|i| Interval { low: i.low * factor, high: i.high * factor, ..i });
        all.push(Statistic { stat, unit, value: Some(value), interval, repetition: None });
    };
    let of_all = [
        ("median", s.median, interval(result)),
        ("min", s.min, None),
        ("max", s.max, None),
        ("p1", s.p1, None),
        ("p99", s.p99, None),
        ("mean", s.mean, None),
        ("sd", s.sd, None),
    ];
    for (stat, value, interval) in of_all {
        for unit in std::iter::once(&single).chain(others) {
            let factor = factor(result, unit);
            add(stat, unit, value * factor, interval, factor);
        }
    }
    // If tester and device share a core, S_CPU is not a result, and CSV has no mark for that.
    let s_cpu = result.s_cpu.filter(|_| !result.shares_core);
    let ratios = [
        ("scaling_over_connections", "ratio", result.s_c, result.s_c_interval, 1.0),
        ("rel_scale_up", "ratio", s_cpu, result.s_cpu_interval, 1.0),
        ("percent_of_forwarding", "%", result.forwarding_percent, result.forwarding_interval, 100.0),
    ];
    for (stat, unit, value, interval, factor) in ratios {
        if let Some(value) = value {
            add(stat, unit, value, interval, factor);
        }
    }
    all
}

/// Returns one line. Without a value, the fields of the value are empty.
fn line(report: &Report, result: &PointResult, axis: &(&str, String), of: &Statistic) -> String {
    let scenario = &report.header.scenario;
    let here = scenario.at(result.dut, result.connections, &result.axes);
    let traffic = &here.traffic;
    let ports = |key: &str, whole: u32| Field::number(result.extra.get(key).map_or(whole, |&n| n as u32));
    let extra = |key: &str| Field::optional(result.extra.get(key));
    let (bound, error) = of.repetition.map_or((result.bound, result.error), |r| (r.bound, r.error));
    let error = matches!(bound, ResultKind::Exact | ResultKind::Between).then_some(error);
    let acceptance = if result.gives(Gives::SetUpRate) {
        scenario.measure.phase1_acceptance_ppm
    } else {
        scenario.measure.acceptance_ppm
    };
    let dut = scenario.duts.get(result.dut);
    let software = report.facts.duts.get(&result.dut_name).and_then(|facts| facts.get("software"));
    let table_size = dut.and_then(|dut| dut.table_size());
    let fields: [Field; 26] = [
        report.run_name().into(),
        format!("natmeter {}", report.header.version).into(),
        result.dut_name.clone().into(),
        report.technology(result).into(),
        software.cloned().unwrap_or_default().into(),
        setup(dut).into(),
        result.metric.clone().into(),
        of.stat.into(),
        of.unit.into(),
        axis.0.into(),
        axis.1.clone().into(),
        Field::optional(of.value),
        Field::optional(of.value.map(exact)),
        Field::number(result.connections),
        ports("source_ports", traffic.flows.source_ports.count()),
        ports("destination_ports", traffic.flows.destination_ports.count()),
        Field::optional(result.known_cores),
        extra(HASH_TABLE_SIZE),
        table_size.map_or_else(|| extra(CONNTRACK_TABLE_SIZE), Field::number),
        Field::number(result.repetitions.len()),
        Field::optional(error.map(|error| error.0)),
        // In integers, because 1 - 0.9999 is not 0.0001 in floating point.
        Field::number(f64::from(1_000_000u32.saturating_sub(acceptance)) / 1e6),
        traffic.frame_sizes.as_ref().map_or_else(|| traffic.frame_size.to_string(), ToString::to_string).into(),
        bound.name().into(),
        Field::optional(of.repetition.map(|r| r.repetition)),
        report.conformance.label.clone().into(),
    ];
    let build = report.facts.build().unwrap_or_default();
    let all = fields
        .into_iter()
        .chain(swept(result))
        .chain([TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY].map(extra))
        .chain([build.into(), verdicts(report).into()])
        .chain(beside(report, result, of));
    csv::line(all)
}

pub(super) fn swept(result: &PointResult) -> impl Iterator<Item = Field> {
    AXES.iter().map(|axis| result.axes.get(axis.name()).map_or_else(String::new, |&n| axis.plain(n)).into())
}

/// The names of columns, with those of the further axes between the first and the last ones.
pub(super) fn head(first: &str, last: &str) -> String {
    let swept: String = AXES.iter().map(|axis| axis.name().replace('-', "_") + ",").collect();
    format!("{first},{swept}{last}\n")
}

/// The last columns: the interval of a median or a ratio, and the figures of the result or of one repetition.
fn beside(report: &Report, result: &PointResult, of: &Statistic) -> impl Iterator<Item = Field> + use<> {
    let repetition = of.repetition;
    let (trials, invalid, one_sided) = match repetition {
        Some(r) => (r.trials, r.invalid, usize::from(r.one_sided)),
        None => (result.trials, result.invalid, result.one_sided),
    };
    let null = |before: bool| {
        let rates = result.null.iter().filter(|null| null.before == before);
        // The last one, if a point was measured again.
        Field::optional(rates.filter_map(|null| null.of(&result.metric)).next_back().map(|rate| rate.0 as f64))
    };
    // Counts of repetitions for a result; 0 or 1 for a repetition where that is known.
    let of_result = |n: usize| Field::optional(repetition.is_none().then_some(n));
    let columns = [
        Field::optional(of.interval.map(|i| i.low)),
        Field::optional(of.interval.map(|i| i.high)),
        Field::optional(of.interval.map(|i| i.coverage)),
        Field::number(trials),
        Field::number(invalid),
        Field::number(one_sided),
        of_result(result.closed_loop),
        of_result(result.validation_failed),
        Field::number(result.shares_core),
        Field::optional(result.extra.get(PHASE1_RATE)),
        Field::number(result.phase1_lost),
        Field::optional(result.queued),
        Field::optional(repetition.and_then(|r| r.after_s)),
        Field::optional(ceiling(report, result)),
        null(true),
        null(false),
    ];
    let cost = result.cost.unwrap_or_default();
    let spread = |spread: Option<Spread>| {
        let of = |figure: fn(&Spread) -> f64| Field::optional(spread.as_ref().map(figure));
        [of(|s| s.median), of(|s| s.low), of(|s| s.high)]
    };
    columns.into_iter().chain(spread(cost.cpu_ns_per_frame)).chain(spread(cost.paired_ratio))
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

fn setup(dut: Option<&Dut>) -> &'static str {
    match dut.and_then(|dut| dut.technology()) {
        Some((Plays::Dual, technology)) if technology.names().has_edges() => "dual DUT",
        _ => "single DUT",
    }
}

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
