//! The report as CSV, one value a line, for spreadsheets and scripts: the columns of `published/all.csv`, then what
//! only a measured value has. Its own file: one format, one file.

use super::cell::{Cell, Repetition};
use super::facts::technology;
use super::{Format, Report, number, published};
use crate::folder::{CONNTRACK_TABLE_SIZE, HASH_TABLE_SIZE, TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use crate::scenario::Dut;
use crate::scenario::axis::{AXES, in_order};
use crate::scenario::technology::Plays;
use method::ResultKind;
use method::metric::{self, Unit};
use std::fmt::Write;

/// Comma-separated values (RFC 4180).
pub const FORMAT: Format =
    Format { name: "csv", extension: "csv", about: "one value a line, for spreadsheets", render };

const COLUMNS: &str = "table_id,document,label,technology,implementation,setup,metric,stat,unit,x_name,x_value,value,printed,\
connections,src_ports,dst_ports,cpu_cores,hash_table_size,conntrack_table_size,experiments,search_error,loss_tolerance,\
frame_size_ipv4,bound,repetition,conformance";

/// The table that the device loaded, after a column for each further axis; then what natmeter was built from, for and how.
const LAST_COLUMNS: &str = "table_entries,table_load_ms,table_kib,build";

fn render(report: &Report) -> String {
    let swept = AXES.iter().map(|axis| axis.name.replace('-', "_"));
    let columns = [COLUMNS.to_owned()].into_iter().chain(swept).chain([LAST_COLUMNS.to_owned()]);
    let mut out = columns.collect::<Vec<_>>().join(",") + "\n";
    for cell in &report.cells {
        let by_cores = report.cells.iter().any(|c| c.dut == cell.dut && c.cores != cell.cores)
            && report.cells.iter().all(|c| c.dut != cell.dut || c.connections == cell.connections);
        let axis = if let Some((axis, value)) = in_order(&cell.axes).find(|(axis, value)| {
            report.cells.iter().any(|c| c.dut == cell.dut && c.axes.get(axis.name).is_some_and(|n| n != value))
        }) {
            (axis.name, value)
        } else if by_cores {
            ("cpu_cores", u64::from(cell.cores))
        } else {
            ("connections", cell.connections)
        };
        let line = Line { report, cell, axis };
        line.statistics(&mut out);
    }
    out
}

struct Line<'a> {
    report: &'a Report,
    cell: &'a Cell,
    axis: (&'static str, u64),
}

impl Line<'_> {
    fn statistics(&self, out: &mut String) {
        let cell = self.cell;
        let unit = metric::by_key(&cell.metric).map(|m| m.unit);
        let (single, total) = match unit {
            Some(Unit::FramesPerSecond) if cell.directions == 2 => ("fps, per direction", Some("fps, both directions")),
            Some(Unit::FramesPerSecond) => ("fps, per direction", None),
            Some(Unit::ConnectionsPerSecond) => ("cps", None),
            _ => ("", None),
        };
        for r in &cell.repetitions {
            // Where nothing is known there is no value, and where only a failure is, its rate is the upper bound.
            let known = match r.bound {
                ResultKind::NothingMeasured => None,
                ResultKind::Below => Some(r.error.0 as f64),
                _ => Some(r.rate.0 as f64),
            };
            self.value(out, "value", single, known, Some(r));
        }
        let Some(s) = cell.summary else { return };
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
                self.value(out, stat, total, Some(value * f64::from(cell.directions)), None);
            }
        }
        // Where tester and device share a core, scaling over cores is no result, and a number without a mark would be one.
        let s_cpu = cell.s_cpu.filter(|_| !cell.shares_core);
        let ratios = [("scaling_over_connections", cell.s_c), ("rel_scale_up", s_cpu)];
        for (stat, value) in ratios {
            if let Some(value) = value {
                self.value(out, stat, "ratio", Some(value), None);
            }
        }
        if let Some(value) = cell.forwarding_percent {
            self.value(out, "percent_of_forwarding", "%", Some(value), None);
        }
    }

    /// One line; without a value its fields stay empty.
    fn value(&self, out: &mut String, stat: &str, unit: &str, value: Option<f64>, repetition: Option<&Repetition>) {
        let (report, cell) = (self.report, self.cell);
        let scenario = &report.header.scenario;
        let traffic = &scenario.traffic;
        let ports = |key: &str, whole: u32| cell.extra.get(key).map_or(whole, |&n| n as u32).to_string();
        let extra = |key: &str| cell.extra.get(key).map_or_else(String::new, |v| format!("{v:.0}"));
        let (repetition, bound, error) = match repetition {
            Some(r) => (r.repetition.to_string(), r.bound, r.error),
            None => (String::new(), cell.bound, cell.error),
        };
        let error = matches!(bound, ResultKind::Exact | ResultKind::Between).then_some(error);
        let acceptance = if cell.metric.starts_with("max_conn_est_rate") {
            scenario.measure.phase1_acceptance_ppm
        } else {
            scenario.measure.acceptance_ppm
        };
        let fields = [
            report.run_name(),
            format!("natmeter {}", report.header.version),
            cell.dut_name.clone(),
            scenario.duts.get(cell.dut).map_or("", technology).to_owned(),
            report.facts.duts.get(&cell.dut_name).and_then(|f| f.get("software")).cloned().unwrap_or_default(),
            setup(scenario.duts.get(cell.dut)).to_owned(),
            cell.metric.clone(),
            stat.to_owned(),
            unit.to_owned(),
            self.axis.0.to_owned(),
            self.axis.1.to_string(),
            value.map_or_else(String::new, |v| v.to_string()),
            value.map_or_else(String::new, if unit == "ratio" { number::ratio } else { number::grouped_f64 }),
            cell.connections.to_string(),
            ports("source_ports", traffic.source_ports.count()),
            ports("destination_ports", traffic.destination_ports.count()),
            cell.cores.to_string(),
            extra(HASH_TABLE_SIZE),
            conntrack_table_size(scenario.duts.get(cell.dut)).unwrap_or_else(|| extra(CONNTRACK_TABLE_SIZE)),
            cell.repetitions.len().to_string(),
            error.map_or_else(String::new, |error| error.0.to_string()),
            number::significant(1.0 - f64::from(acceptance) / 1e6, 6),
            traffic.frame_size.to_string(),
            bound_name(bound).to_owned(),
            repetition,
            report.conformance.label.clone(),
        ];
        let swept = AXES.iter().map(|axis| cell.axes.get(axis.name).map_or_else(String::new, u64::to_string));
        let table = [TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY].map(|key| decimal(cell.extra.get(key)));
        let build = report.facts.build().unwrap_or_default().to_owned();
        let all: Vec<String> =
            fields.into_iter().chain(swept).chain(table).chain([build]).map(published::quoted).collect();
        let _ = writeln!(out, "{}", all.join(","));
    }
}

/// Whether one device was tested or two in a row, as published tables say it.
fn setup(dut: Option<&Dut>) -> &'static str {
    match dut {
        Some(Dut::Technology { plays: Plays::Dual, .. }) => "dual DUT",
        _ => "single DUT",
    }
}

/// Sessions that the embedded gateway has room for; of kernels it is known when they stand.
fn conntrack_table_size(dut: Option<&Dut>) -> Option<String> {
    match dut {
        Some(Dut::Embedded(nat)) => Some(nat.table.to_string()),
        _ => None,
    }
}

fn decimal(value: Option<&f64>) -> String {
    value.map_or_else(String::new, |v| format!("{v:.3}").trim_end_matches('0').trim_end_matches('.').to_owned())
}

fn bound_name(bound: ResultKind) -> &'static str {
    match bound {
        ResultKind::Exact => "exact",
        ResultKind::TesterLimit => "tester-limit",
        ResultKind::AtUpperLimit => "at-upper-limit",
        ResultKind::HostLimit => "host-limit",
        ResultKind::Between => "between",
        ResultKind::Below => "below",
        ResultKind::NothingPassed => "nothing-passed",
        ResultKind::NothingMeasured => "nothing-measured",
    }
}
