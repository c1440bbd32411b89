//! The report as CSV, one value a line, for spreadsheets and scripts: the columns of `published/all.csv`, then what
//! only a measured value has.

use super::facts::technology;
use super::result::{PointResult, Repetition};
use super::{Format, Report, number, published};
use crate::audit::Basis;
use crate::folder::{CONNTRACK_TABLE_SIZE, HASH_TABLE_SIZE, TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use method::ResultKind;
use method::metric::{self, Unit};
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
/// verdicts and results.
const LAST_COLUMNS: &str = "table_entries,table_load_ms,table_kib,build,verdicts";

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
            (axis.name(), value)
        } else if by_cores {
            ("cpu_cores", u64::from(result.cores))
        } else {
            ("connections", result.connections)
        };
        let line = Line { report, result, axis };
        line.statistics(&mut out);
    }
    out
}

struct Line<'a> {
    report: &'a Report,
    result: &'a PointResult,
    axis: (&'static str, u64),
}

impl Line<'_> {
    fn statistics(&self, out: &mut String) {
        let result = self.result;
        let unit = metric::by_key(&result.metric).map(|m| m.unit);
        let (single, total) = match unit {
            Some(Unit::FramesPerSecond) if result.directions == 2 => {
                ("fps, per direction", Some("fps, both directions"))
            }
            Some(Unit::FramesPerSecond) => ("fps, per direction", None),
            Some(Unit::ConnectionsPerSecond) => ("cps", None),
            _ => ("", None),
        };
        for r in &result.repetitions {
            // Without a valid trial there is no value. If only a failure is known, its rate is the upper bound.
            let known = match r.bound {
                ResultKind::NothingMeasured => None,
                ResultKind::Below => Some(r.error.0 as f64),
                _ => Some(r.rate.0 as f64),
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
            if let Some(total) = total {
                self.value(out, stat, total, Some(value * f64::from(result.directions)), None);
            }
        }
        // If tester and device share a core, S_CPU is not a result, and CSV has no mark for that.
        let s_cpu = result.s_cpu.filter(|_| !result.shares_core);
        let ratios = [("scaling_over_connections", result.s_c), ("rel_scale_up", s_cpu)];
        for (stat, value) in ratios {
            if let Some(value) = value {
                self.value(out, stat, "ratio", Some(value), None);
            }
        }
        if let Some(value) = result.forwarding_percent {
            self.value(out, "percent_of_forwarding", "%", Some(value), None);
        }
    }

    /// Writes one line; without a value, the value fields are empty.
    fn value(&self, out: &mut String, stat: &str, unit: &str, value: Option<f64>, repetition: Option<&Repetition>) {
        let (report, result) = (self.report, self.result);
        let scenario = &report.header.scenario;
        let here = scenario.at(result.dut, result.connections, &result.axes);
        let traffic = &here.traffic;
        let ports = |key: &str, whole: u32| result.extra.get(key).map_or(whole, |&n| n as u32).to_string();
        let extra = |key: &str| result.extra.get(key).map_or_else(String::new, |v| format!("{v:.0}"));
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
            self.axis.1.to_string(),
            value.map_or_else(String::new, |v| v.to_string()),
            value.map_or_else(String::new, if unit == "ratio" { number::ratio } else { number::grouped_f64 }),
            result.connections.to_string(),
            ports("source_ports", traffic.flows.source_ports.count()),
            ports("destination_ports", traffic.flows.destination_ports.count()),
            result.cores.to_string(),
            extra(HASH_TABLE_SIZE),
            scenario
                .duts
                .get(result.dut)
                .and_then(Dut::table_size)
                .map_or_else(|| extra(CONNTRACK_TABLE_SIZE), |n| n.to_string()),
            result.repetitions.len().to_string(),
            error.map_or_else(String::new, |error| error.0.to_string()),
            number::significant(1.0 - f64::from(acceptance) / 1e6, 6),
            traffic.frame_size.to_string(),
            bound.name().to_owned(),
            repetition,
            report.conformance.label.clone(),
        ];
        let swept = AXES.iter().map(|axis| result.axes.get(axis.name()).map_or_else(String::new, u64::to_string));
        let table = [TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY].map(|key| decimal(result.extra.get(key)));
        let all: Vec<String> = fields
            .into_iter()
            .chain(swept)
            .chain(table)
            .chain([report.facts.build().unwrap_or_default().to_owned(), verdicts(report).to_owned()])
            .map(published::quoted)
            .collect();
        let _ = writeln!(out, "{}", all.join(","));
    }
}

/// Single or dual DUT set-up, in the words of the published tables.
fn setup(dut: Option<&Dut>) -> &'static str {
    match dut {
        Some(Dut::Gateway { plays: Plays::Dual, technology, .. }) if technology.names().has_edges() => "dual DUT",
        _ => "single DUT",
    }
}

/// The basis of verdicts and results.
fn verdicts(report: &Report) -> &'static str {
    match report.audit.basis {
        _ if !report.audit.findings.is_empty() => "damaged",
        Basis::DerivedAgain => "derived-again",
        Basis::AsRecorded => "as-recorded",
    }
}

fn decimal(value: Option<&f64>) -> String {
    value.map_or_else(String::new, |v| format!("{v:.3}").trim_end_matches('0').trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_the_names_that_records_have() {
        for bound in ResultKind::WEAKEST_FIRST {
            assert_eq!(serde_json::to_value(bound).unwrap(), bound.name());
        }
    }
}
