//! The report as CSV, one result a line, for spreadsheets and scripts: the columns of `published/all.csv`, then what only a
//! measured value has.

use super::facts::ceiling;
use super::result::{PHASE1_RATE, PointResult};
use super::{Format, Report, number, value};
use crate::audit::Basis;
use crate::folder::{CONNTRACK_TABLE_SIZE, HASH_TABLE_SIZE, Spread, TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use document::Bound;
use document::csv::{self, Field};
use method::stats::Interval;
use method::{Direction, Rate, ResultKind};
use procedure::metric::{Gives, Unit};
use scenario::Dut;
use scenario::Plays;
use scenario::axis::{AXES, in_order};

pub(super) const FORMAT: Format =
    Format { name: "csv", extension: "csv", about: "one result a line, for spreadsheets", render };

const COLUMNS: &str = "table_id,document,label,technology,implementation,setup,metric,stat,unit,x_name,x_value,value,printed,\
connections,src_ports,dst_ports,cpu_cores,hash_table_size,conntrack_table_size,experiments,search_error,loss_tolerance,\
frame_size_ipv4,bound,kind,low,high,coverage,total,min,max,p1,p99,mean,sd,strict,scaling_over_connections,rel_scale_up,\
percent_of_forwarding,trials,invalid,conformance";

/// Columns after those of the further axes: the table that the device loaded, the build of natmeter, and the basis of
/// verdicts and results; then the figures of the result beside the value.
const LAST_COLUMNS: &str = "table_entries,table_load_ms,table_kib,build,verdicts,one_sided,closed_loop,validation_failed,\
shares_core,phase1_rate,phase1_lost,queued,tester_ceiling,null_before,null_after,cpu_ns_per_frame,cpu_ns_per_frame_low,\
cpu_ns_per_frame_high,paired_ratio,paired_ratio_low,paired_ratio_high,how_sure";

fn render(report: &Report) -> String {
    head(COLUMNS, LAST_COLUMNS) + &report.results.iter().map(|result| line(report, result)).collect::<String>()
}

/// The axis of a table with the result, and the result's place on it.
fn axis(report: &Report, result: &PointResult) -> (&'static str, String) {
    let others = || report.results.iter().filter(|c| c.dut == result.dut);
    let is_swept = |axis: &str, value: &u64| others().any(|c| c.axes.get(axis).is_some_and(|n| n != value));
    if let Some((axis, value)) = in_order(&result.axes).find(|(axis, value)| is_swept(axis.name(), value)) {
        (axis.name(), axis.plain(value))
    } else if others().any(|c| c.cores != result.cores) && others().all(|c| c.connections == result.connections) {
        ("cpu_cores", result.cores.to_string())
    } else {
        ("connections", result.connections.to_string())
    }
}

/// The unit of the values of a result, without the direction of a rate of frames.
pub(super) fn unit(result: &PointResult) -> &'static str {
    match result.known.map(|m| m.unit) {
        Some(Unit::FramesPerSecond) => "fps",
        Some(Unit::ConnectionsPerSecond) => "cps",
        unit => unit.map_or("", Unit::symbol),
    }
}

/// The direction of which a rate of frames is, `each` of them if their rates are equal; nothing for other values.
pub(super) fn rate_direction(result: &PointResult) -> &'static str {
    match result.direction() {
        _ if !is_rate_of_frames(result) => "",
        Direction::Mixed(ratio) if ratio.is_faster_forward() => "left to right",
        Direction::Mixed(_) => "right to left",
        Direction::Both | Direction::Forward | Direction::Reverse => "each",
    }
}

fn is_rate_of_frames(result: &PointResult) -> bool {
    result.known.is_some_and(|metric| metric.unit == Unit::FramesPerSecond)
}

/// All directions together.
pub(super) fn total(result: &PointResult, value: Option<f64>) -> Field {
    Field::optional(value.filter(|_| is_rate_of_frames(result)).map(|value| result.total(value)))
}

pub(super) fn sign(bound: Bound) -> &'static str {
    match bound {
        Bound::Exact | Bound::Strict => "=",
        Bound::AtLeast => ">=",
        Bound::AtMost => "<=",
        Bound::LessThan => "<",
    }
}

pub(super) fn median(result: &PointResult) -> (Option<f64>, &'static str) {
    value::quantity(result).map_or((None, ""), |quantity| (Some(quantity.value), sign(quantity.bound)))
}

pub(super) fn interval(result: &PointResult) -> Option<Interval> {
    result.interval.filter(|_| !result.nothing_passed())
}

/// The statistics beside the median, by name.
pub(super) fn statistics(result: &PointResult) -> [(&'static str, Option<f64>); 6] {
    let of = result.summary.filter(|_| !result.nothing_passed());
    [
        ("min", of.map(|s| s.min)),
        ("max", of.map(|s| s.max)),
        ("p1", of.map(|s| s.p1)),
        ("p99", of.map(|s| s.p99)),
        ("mean", of.map(|s| s.mean)),
        ("sd", of.map(|s| s.sd)),
    ]
}

/// Ratios to other results: name, unit, value, and the interval in this unit. If tester and device share a core, S_CPU is not
/// a result, and CSV has no mark for that.
pub(super) fn ratios(result: &PointResult) -> [(&'static str, &'static str, Option<f64>, Option<Interval>); 3] {
    let percent = |i: Interval| Interval { low: i.low * 100.0, high: i.high * 100.0, ..i };
    let s_cpu = result.s_cpu.filter(|_| !result.shares_core);
    let forwarding = result.forwarding_interval.map(percent);
    [
        ("scaling_over_connections", "ratio", result.s_c, result.s_c_interval),
        ("rel_scale_up", "ratio", s_cpu, result.s_cpu_interval),
        ("percent_of_forwarding", "%", result.forwarding_percent, forwarding),
    ]
}

/// The word of a result.
pub(super) fn how_sure(result: &PointResult) -> &'static str {
    result.how_sure.as_ref().map_or("", |sure| sure.word.name())
}

pub(super) fn error(bound: ResultKind, error: Rate) -> Field {
    Field::optional(matches!(bound, ResultKind::Exact | ResultKind::Between).then_some(error.0))
}

/// Returns one line. Without a value, the fields of the value are empty.
fn line(report: &Report, result: &PointResult) -> String {
    let scenario = &report.header.scenario;
    let here = scenario.at(result.dut, result.connections, &result.axes);
    let traffic = &here.traffic;
    let ports = |key: &str, whole: u32| Field::number(result.extra.get(key).map_or(whole, |&n| n as u32));
    let extra = |key: &str| Field::optional(result.extra.get(key));
    let acceptance = if result.gives(Gives::SetUpRate) {
        scenario.measure.phase1_acceptance_ppm
    } else {
        scenario.measure.acceptance_ppm
    };
    let dut = scenario.duts.get(result.dut);
    let software = report.facts.duts.get(&result.dut_name).and_then(|facts| facts.get("software"));
    let table_size = dut.and_then(|dut| dut.table_size());
    let (x_name, x_value) = axis(report, result);
    let (value, sign) = median(result);
    let interval = interval(result);
    let of_direction = match rate_direction(result) {
        "" => String::new(),
        "each" => ", per direction".to_owned(),
        one => format!(", {one}"),
    };
    let fields: [Field; 29] = [
        report.run_name().into(),
        format!("natmeter {}", report.header.version).into(),
        result.dut_name.clone().into(),
        report.technology(result).into(),
        software.cloned().unwrap_or_default().into(),
        setup(dut).into(),
        result.metric.clone().into(),
        "median".into(),
        (unit(result).to_owned() + &of_direction).into(),
        x_name.into(),
        x_value.into(),
        Field::optional(value),
        Field::optional(value.map(exact)),
        Field::number(result.connections),
        ports("source_ports", traffic.flows.source_ports.count()),
        ports("destination_ports", traffic.flows.destination_ports.count()),
        Field::optional(result.known_cores),
        extra(HASH_TABLE_SIZE),
        table_size.map_or_else(|| extra(CONNTRACK_TABLE_SIZE), Field::number),
        Field::number(result.repetitions.len()),
        error(result.bound, result.error),
        // In integers, because 1 - 0.9999 is not 0.0001 in floating point.
        Field::number(f64::from(1_000_000u32.saturating_sub(acceptance)) / 1e6),
        traffic.frame_sizes.as_ref().map_or_else(|| traffic.frame_size.to_string(), ToString::to_string).into(),
        Field::Number(sign.to_owned()),
        result.bound.name().into(),
        Field::optional(interval.map(|i| i.low)),
        Field::optional(interval.map(|i| i.high)),
        Field::optional(interval.map(|i| i.coverage)),
        total(result, value),
    ];
    let build = report.facts.build().unwrap_or_default();
    let all = fields
        .into_iter()
        .chain(statistics(result).map(|(_, value)| Field::optional(value)))
        .chain([Field::optional(result.strict.filter(|strict| !strict.is_less).map(|strict| strict.median))])
        .chain(ratios(result).map(|(_, _, value, _)| Field::optional(value)))
        .chain([Field::number(result.trials), Field::number(result.invalid), report.conformance.label.clone().into()])
        .chain(swept(result))
        .chain([TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY].map(extra))
        .chain([build.into(), verdicts(report).into()])
        .chain(beside(report, result))
        .chain([how_sure(result).into()]);
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

/// The last columns: figures of the result.
fn beside(report: &Report, result: &PointResult) -> impl Iterator<Item = Field> + use<> {
    let null = |before: bool| {
        let rates = result.null.iter().filter(|null| null.before == before);
        // The last one, if a point was measured again.
        Field::optional(rates.filter_map(|null| null.of(&result.metric)).next_back().map(|rate| rate.0 as f64))
    };
    let columns = [
        Field::number(result.one_sided),
        Field::number(result.closed_loop),
        Field::number(result.validation_failed),
        Field::number(result.shares_core),
        Field::optional(result.extra.get(PHASE1_RATE)),
        Field::number(result.phase1_lost),
        Field::optional(result.queued),
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
