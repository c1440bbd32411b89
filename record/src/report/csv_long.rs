//! The report as long (tidy) CSV: one quantity of one repetition a line, without statistics over repetitions. The columns are the
//! same for every run, so that the files of many runs can be joined.

use super::csv::{head, swept, unit, verdicts};
use super::result::{PointResult, Repetition};
use super::{Format, Report};
use document::csv::{self, Field};
use method::ResultKind;

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
    let mut out = head(FIRST, LAST);
    for result in &report.results {
        let place = place(report, result);
        for repetition in &result.repetitions {
            for (quantity, unit, value) in quantities(result, repetition) {
                let last = [
                    Field::number(repetition.repetition),
                    quantity.into(),
                    unit.into(),
                    value,
                    repetition.bound.name().into(),
                ];
                out.push_str(&csv::line(place.iter().cloned().chain(last)));
            }
        }
    }
    out
}

fn place(report: &Report, result: &PointResult) -> Vec<Field> {
    let header = &report.header;
    let mut place: Vec<Field> = vec![
        report.run_name().into(),
        header.started.as_str().into(),
        header.version.as_str().into(),
        report.facts.build().unwrap_or_default().into(),
        report.conformance.label.as_str().into(),
        verdicts(report).into(),
        result.dut_name.as_str().into(),
        report.technology(result).into(),
        result.metric.as_str().into(),
        Field::optional(result.known_cores),
        Field::number(result.connections),
    ];
    place.extend(swept(result));
    place
}

/// The quantities of a repetition, with unit and value. A missing value is empty; `bound` says why.
fn quantities(result: &PointResult, r: &Repetition) -> Vec<(String, &'static str, Field)> {
    let unit = unit(result);
    let value = match r.bound {
        ResultKind::NothingMeasured | ResultKind::NoRate => Field::Number(String::new()),
        ResultKind::Below => Field::number(r.error.0),
        _ => Field::number(r.value),
    };
    let of = |quantity: &str, unit, value: Field| (quantity.to_owned(), unit, value);
    let mut all = vec![of("value", unit, value)];
    if matches!(r.bound, ResultKind::Exact | ResultKind::Between) {
        all.push(of("error", unit, Field::number(r.error.0)));
    }
    all.extend(
        r.strict.filter(|strict| strict.rate.0 > 0).map(|strict| of("strict", unit, Field::number(strict.rate.0))),
    );
    for goal in &r.goals {
        let rate = Field::optional(goal.conditional_throughput.map(|rate| rate.0));
        all.push((format!("goal {}", goal.goal), unit, rate));
    }
    all.push(of("trials", "trials", Field::number(r.trials)));
    all.push(of("invalid_trials", "trials", Field::number(r.invalid)));
    all.extend(r.after_s.map(|seconds| of("after", "s", Field::number(seconds))));
    all
}
