//! The report as OpenMetrics text, for Prometheus and programs that read its format: the values of one run as gauges.
//! (OpenMetrics 1.0.0, sections 5 and 6.)

use super::result::PointResult;
use super::{Format, Report, csv};
use procedure::Metric;
use procedure::metric::Unit;
use scenario::axis::in_order;
use std::fmt::Write;

pub(super) const FORMAT: Format =
    Format { name: "openmetrics", extension: "om", about: "gauges, for Prometheus", render };

/// A figure of a result: suffix of its family, and words behind the metric's definition.
struct Figure {
    suffix: &'static str,
    help: &'static str,
    of: fn(&PointResult) -> Option<f64>,
}

const FIGURES: [Figure; 5] = [
    Figure { suffix: "", help: "Median of the repetitions.", of: PointResult::median },
    Figure {
        suffix: "_low",
        help: "Lower end of the interval of the median, or of the range of fewer than five repetitions.",
        of: |result| result.interval.map(|interval| interval.low),
    },
    Figure { suffix: "_high", help: "Upper end.", of: |result| result.interval.map(|interval| interval.high) },
    Figure {
        suffix: "_repetitions",
        help: "Repetitions with a value.",
        of: |result| result.summary.map(|summary| summary.n as f64),
    },
    Figure {
        suffix: "_trials",
        help: "Trials of all repetitions.",
        of: |result| result.summary.map(|_| result.trials as f64),
    },
];

fn render(report: &Report) -> String {
    let mut text = String::new();
    let header = &report.header;
    let _ = writeln!(text, "# TYPE natmeter_run info\n# HELP natmeter_run The run that this is a report of.");
    let run = [
        ("run", report.run_name()),
        ("scenario", header.scenario.name.clone()),
        ("started", header.started.clone()),
        ("version", header.version.clone()),
        ("build", report.facts.build().unwrap_or_default().to_owned()),
        ("conformance", report.conformance.label.clone()),
        ("verdicts", csv::verdicts(report).to_owned()),
    ];
    let _ = writeln!(text, "natmeter_run_info{} 1", labels(&run));
    let gauges = [
        ("measurements_planned", "Planned measurements.", report.planned),
        ("measurements_done", "Finished measurements.", report.measured),
        ("doubts", "Doubts about the results.", report.doubts.len()),
        ("findings", "Errors in the record: above 0, do not use the values.", report.audit.findings.len()),
    ];
    for (name, help, value) in gauges {
        let _ = writeln!(text, "# TYPE natmeter_{name} gauge\n# HELP natmeter_{name} {help}");
        let _ = writeln!(text, "natmeter_{name}{} {value}", labels(&run[..1]));
    }
    for metric in report.header.scenario.procedures.metrics() {
        let results: Vec<&PointResult> = report.results.iter().filter(|result| result.metric == metric.key).collect();
        for figure in &FIGURES {
            family(report, metric, figure, &results, &mut text);
        }
    }
    text.push_str("# EOF\n");
    text
}

/// A metric family; nothing without values.
fn family(report: &Report, metric: &Metric, figure: &Figure, results: &[&PointResult], text: &mut String) {
    let with_value: Vec<(&&PointResult, f64)> =
        results.iter().filter_map(|result| Some((result, (figure.of)(result)?))).collect();
    if with_value.is_empty() {
        return;
    }
    let (unit, scale) = unit_of(metric.unit);
    let is_value = matches!(figure.suffix, "" | "_low" | "_high");
    // The unit is the last word of a family's name.
    let (unit, scale) = if is_value { (unit, scale) } else { ("", 1.0) };
    let end = if unit.is_empty() { String::new() } else { format!("_{unit}") };
    let name = format!("natmeter_{}{}{end}", metric.key, figure.suffix);
    let _ = writeln!(text, "# TYPE {name} gauge");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {} {}", escaped(metric.definition), figure.help);
    for (result, value) in with_value {
        let _ = writeln!(text, "{name}{} {}", labels(&point(report, result)), value * scale);
    }
}

/// The base unit of OpenMetrics, and the factor to it. Rates have none: they are per direction, as everywhere.
fn unit_of(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::FramesPerSecond => ("frames_per_second", 1.0),
        Unit::ConnectionsPerSecond => ("connections_per_second", 1.0),
        Unit::QueriesPerSecond => ("queries_per_second", 1.0),
        Unit::Connections => ("connections", 1.0),
        Unit::Frames => ("frames", 1.0),
        Unit::Bytes => ("bytes", 1.0),
        Unit::Nanoseconds => ("seconds", 1e-9),
        Unit::Percent => ("ratio", 1e-2),
        Unit::PartsPerMillion => ("ratio", 1e-6),
        Unit::Ratio | Unit::Parts => ("", 1.0),
    }
}

fn point(report: &Report, result: &PointResult) -> Vec<(&'static str, String)> {
    let mut labels = vec![
        ("run", report.run_name()),
        ("device", result.dut_name.clone()),
        ("technology", report.technology(result).to_owned()),
        ("cores", result.known_cores.map_or_else(String::new, |cores| cores.to_string())),
        ("connections", result.connections.to_string()),
        ("bound", result.bound.name().to_owned()),
    ];
    labels.extend(in_order(&result.axes).map(|(axis, value)| (axis.name(), axis.plain(value))));
    labels
}

fn labels(pairs: &[(&str, String)]) -> String {
    let pair = |(name, value): &(&str, String)| format!("{}=\"{}\"", name.replace('-', "_"), escaped(value));
    format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
}

/// A value of a label, or a help text (section 3.2.3 and the grammar).
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
