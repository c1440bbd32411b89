//! The report as long (tidy) CSV: one quantity of one repetition a line, without statistics over repetitions. The columns are the
//! same for every run, so that the files of many runs can be joined.

use super::csv::{unit, verdicts};
use super::facts::technology;
use super::result::{PointResult, Repetition};
use super::{Format, Report, published};
use method::ResultKind;
use scenario::axis::AXES;
use std::fmt::Write;

/// Comma-separated values (RFC 4180), one a repetition.
pub(super) const FORMAT: Format = Format {
    name: "csv-long",
    extension: "csv",
    about: "one value of one repetition a line, for statistics programs",
    render,
};

/// Columns before and after those of the further axes.
const FIRST: &str = "run,started,natmeter,build,conformance,verdicts,device,technology,metric,cores,connections";
const LAST: &str = "repetition,quantity,unit,value,bound";

fn render(report: &Report) -> String {
    let axes = AXES.iter().map(|axis| axis.name().replace('-', "_"));
    let columns = [FIRST.to_owned()].into_iter().chain(axes).chain([LAST.to_owned()]);
    let mut out = columns.collect::<Vec<_>>().join(",") + "\n";
    for result in &report.results {
        let place = place(report, result);
        for repetition in &result.repetitions {
            for (quantity, unit, value) in quantities(result, repetition) {
                let last =
                    [repetition.repetition.to_string(), quantity, unit, value, repetition.bound.name().to_owned()];
                let line: Vec<String> = place.iter().cloned().chain(last).map(published::quoted).collect();
                let _ = writeln!(out, "{}", line.join(","));
            }
        }
    }
    out
}

/// The columns of run and point.
fn place(report: &Report, result: &PointResult) -> Vec<String> {
    let header = &report.header;
    let mut place = vec![
        report.run_name(),
        header.started.clone(),
        header.version.clone(),
        report.facts.build().unwrap_or_default().to_owned(),
        report.conformance.label.clone(),
        verdicts(report).to_owned(),
        result.dut_name.clone(),
        header.scenario.duts.get(result.dut).map_or("", technology).to_owned(),
        result.metric.clone(),
        result.known_cores.map_or_else(String::new, |cores| cores.to_string()),
        result.connections.to_string(),
    ];
    place.extend(AXES.iter().map(|axis| result.axes.get(axis.name()).map_or_else(String::new, |&n| axis.plain(n))));
    place
}

/// The quantities of a repetition, with unit and value. A missing value is empty; `bound` says why.
fn quantities(result: &PointResult, r: &Repetition) -> Vec<(String, String, String)> {
    let unit = unit(result);
    let value = match r.bound {
        ResultKind::NothingMeasured => String::new(),
        ResultKind::Below => r.error.0.to_string(),
        _ => r.value.to_string(),
    };
    let of = |quantity: &str, unit: &str, value: String| (quantity.to_owned(), unit.to_owned(), value);
    let mut all = vec![of("value", unit, value)];
    if matches!(r.bound, ResultKind::Exact | ResultKind::Between) {
        all.push(of("error", unit, r.error.0.to_string()));
    }
    all.extend(r.strict.map(|strict| of("strict", unit, strict.rate.0.to_string())));
    for goal in &r.goals {
        let rate = goal.conditional_throughput.map_or_else(String::new, |rate| rate.0.to_string());
        all.push(of(&format!("goal {}", goal.goal), unit, rate));
    }
    all.push(of("trials", "trials", r.trials.to_string()));
    all.push(of("invalid_trials", "trials", r.invalid.to_string()));
    all.extend(r.after_s.map(|seconds| of("after", "s", seconds.to_string())));
    all
}
