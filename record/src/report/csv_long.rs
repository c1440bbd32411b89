//! The report as long (tidy) CSV: each value of a result once, a line each, told apart by the column `stat`. The columns are the
//! same for every run, so that the files of many runs can be joined.

use super::csv::{
    error, head, how_sure, interval, median, rate_direction, ratios, sign, statistics, swept, total, unit, verdicts,
};
use super::result::{PointResult, Repetition};
use super::{Format, Report};
use document::Bound;
use document::csv::{self, Field};
use method::search::GoalResult;
use method::stats::Interval;
use method::{Rate, ResultKind};

/// Comma-separated values (RFC 4180), one a line.
pub(super) const FORMAT: Format = Format {
    name: "csv-long",
    extension: "csv",
    about: "one value of a repetition or of a statistic a line, for statistics programs",
    render,
};

/// Columns before and after those of the further axes.
const FIRST: &str =
    "run,started,natmeter,build,conformance,verdicts,device,technology,metric,unit,rate_direction,cores,connections";
const LAST: &str = "stat,repetition,bound,kind,value,error,low,high,coverage,total,trials,invalid,after_s,how_sure";

/// The last columns of a line.
#[derive(Default)]
struct Row {
    stat: String,
    /// Instead of that of the metric.
    unit: Option<&'static str>,
    repetition: Option<u32>,
    bound: &'static str,
    kind: ResultKind,
    value: Option<f64>,
    error: Rate,
    interval: Option<Interval>,
    /// Trials, and invalid ones.
    trials: Option<[u64; 2]>,
    after_s: Option<f64>,
    how_sure: &'static str,
}

fn render(report: &Report) -> String {
    let mut out = head(FIRST, LAST);
    for result in &report.results {
        let rows = result.repetitions.iter().flat_map(|repetition| of_repetition(result, repetition));
        for row in rows.chain(of_all(result)) {
            out.push_str(&line(report, result, &row));
        }
    }
    out
}

fn line(report: &Report, result: &PointResult, row: &Row) -> String {
    let header = &report.header;
    let first: [Field; 13] = [
        report.run_name().into(),
        header.started.as_str().into(),
        header.version.as_str().into(),
        report.facts.build().unwrap_or_default().into(),
        report.conformance.label.as_str().into(),
        verdicts(report).into(),
        result.dut_name.as_str().into(),
        report.technology(result).into(),
        result.metric.as_str().into(),
        row.unit.unwrap_or_else(|| unit(result)).into(),
        row.unit.map_or_else(|| rate_direction(result), |_| "").into(),
        Field::optional(result.known_cores),
        Field::number(result.connections),
    ];
    let last = [
        row.stat.as_str().into(),
        Field::optional(row.repetition),
        Field::Number(row.bound.to_owned()),
        row.kind.name().into(),
        Field::optional(row.value),
        row.trials.map_or_else(|| Field::optional(None::<u64>), |_| error(row.kind, row.error)),
        Field::optional(row.interval.map(|i| i.low)),
        Field::optional(row.interval.map(|i| i.high)),
        Field::optional(row.interval.map(|i| i.coverage)),
        total(result, row.value.filter(|_| row.unit.is_none())),
        Field::optional(row.trials.map(|[all, _]| all)),
        Field::optional(row.trials.map(|[_, invalid]| invalid)),
        Field::optional(row.after_s),
        row.how_sure.into(),
    ];
    csv::line(first.into_iter().chain(swept(result)).chain(last))
}

fn of_repetition(result: &PointResult, r: &Repetition) -> impl Iterator<Item = Row> {
    let row = |stat: &str, (value, bound): (Option<f64>, Bound)| Row {
        stat: stat.to_owned(),
        repetition: Some(r.repetition),
        bound: value.map_or("", |_| sign(bound)),
        kind: r.bound,
        value,
        ..Row::default()
    };
    let own = match r.bound {
        ResultKind::NothingMeasured | ResultKind::NoRate => (None, Bound::Exact),
        ResultKind::Below => (Some(r.error.0 as f64), Bound::LessThan),
        bound if bound.at_least() => (Some(r.value as f64), Bound::AtLeast),
        _ => (Some(r.value as f64), Bound::Exact),
    };
    let of_search =
        Row { error: r.error, trials: Some([r.trials, r.invalid]), after_s: r.after_s, ..row("repetition", own) };
    let strict = r.known_strict().and_then(|strict| match strict.rate {
        Rate(0) => strict.below.map(|below| (Some(below.0 as f64), Bound::LessThan)),
        passed => Some((Some(passed.0 as f64), Bound::Exact)),
    });
    let goal = |goal: &GoalResult| {
        row(&format!("goal {}", goal.goal), (goal.conditional_throughput.map(|rate| rate.0 as f64), Bound::Exact))
    };
    let goals: Vec<Row> = r.goals.iter().map(goal).collect();
    let strict = strict.filter(|_| !result.has_no_rate()).map(|strict| row("strict", strict));
    [of_search].into_iter().chain(strict).chain(goals)
}

fn of_all(result: &PointResult) -> impl Iterator<Item = Row> {
    let row = |stat: &str, bound, value| Row {
        stat: stat.to_owned(),
        bound,
        kind: result.bound,
        value: Some(value),
        ..Row::default()
    };
    let (value, bound) = median(result);
    let of_median = Row {
        value,
        error: result.error,
        interval: interval(result),
        trials: Some([result.trials, result.invalid]),
        how_sure: how_sure(result),
        ..row("median", bound, 0.0)
    };
    let with_value = |(stat, value): (&str, Option<f64>)| {
        value.map(|value| row(stat, if stat == "sd" { "=" } else { sign(result.bound_of(value)) }, value))
    };
    let strict =
        result.strict.map(|strict| row("strict-median", if strict.is_less { "<" } else { "=" }, strict.median));
    let ratio = |(stat, unit, value, interval): (&str, _, Option<f64>, _)| {
        value.map(|value| Row { unit: Some(unit), interval, ..row(stat, "=", value) })
    };
    let statistics: Vec<Row> = statistics(result).into_iter().filter_map(with_value).collect();
    let ratios: Vec<Row> = ratios(result).into_iter().filter_map(ratio).collect();
    [of_median].into_iter().chain(statistics).chain(strict).chain(ratios)
}
