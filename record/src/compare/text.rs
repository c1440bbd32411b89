//! A comparison as text, for 80 columns after folding.

use super::difference::higher_is_better;
use super::{ComparedPoint, ComparedValue, Comparison, Difference, Finding, RunInfo};
use crate::report::number::{plural, significant};
use document::grouped_by;
use std::fmt::Write;

/// Returns the comparison as text. Lines may be longer than a screen; the caller folds them.
pub fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    let is_alone = comparison.runs.len() < 2;
    for (run, number) in comparison.runs.iter().zip(1..) {
        let name = if is_alone { "run".to_owned() } else { name(number) };
        let _ = writeln!(text, "{}", head(run, &name));
    }
    for number in 2..=comparison.runs.len() {
        let unlike: Vec<_> = comparison.unlike.iter().filter(|unlike| unlike.run == number).collect();
        let what = if unlike.is_empty() { "no condition differs from the reference" } else { "unlike the reference" };
        let _ = writeln!(text, "\n{}: {what}", name(number));
        for unlike in unlike {
            let _ = writeln!(text, "  {}", unlike.in_words());
        }
    }
    for point in comparison.points.iter().filter(|point| is_alone || point.values.len() > 1) {
        text.push_str(&block(point, is_alone));
    }
    if !is_alone {
        missing(comparison, &mut text);
        summary(comparison, &mut text);
    }
    text.push('\n');
    text + &builds(&comparison.runs, name)
}

/// A line for each build of natmeter, with the runs that it measured if there are several.
pub(crate) fn builds(runs: &[RunInfo], name: impl Fn(usize) -> String) -> String {
    let words = |run: &RunInfo| run.parts_of_build.in_words(&run.natmeter);
    let builds = grouped_by(runs.iter().zip(1..), |(run, _)| words(run));
    let is_one = builds.len() == 1;
    let line = |(words, runs): &(String, Vec<(&RunInfo, usize)>)| {
        let names: Vec<String> = runs.iter().map(|(_, number)| name(*number)).collect();
        if is_one { format!("{words}\n") } else { format!("{}: {words}\n", names.join(", ")) }
    };
    builds.iter().map(line).collect()
}

fn name(number: usize) -> String {
    if number == 1 { "reference".to_owned() } else { format!("run {number}") }
}

fn head(run: &RunInfo, name: &str) -> String {
    let RunInfo { folder, scenario, started, natmeter, .. } = run;
    let damaged = if run.findings > 0 { "; its record is damaged: do not use its values" } else { "" };
    let doubts = if run.doubts > 0 { format!("; {}", plural(run.doubts as u64, "doubt")) } else { String::new() };
    format!("{name:<9}  {folder}: {scenario}, {started}, natmeter {natmeter}{doubts}{damaged}")
}

fn block(point: &ComparedPoint, is_alone: bool) -> String {
    let mut text = format!("\n{}\n", point.place);
    for value in &point.values {
        let device = if value.device == point.device { String::new() } else { format!(" ({})", value.device) };
        let n = plural(value.repetitions as u64, "repetition");
        let run = if is_alone { "run".to_owned() } else { name(value.run) };
        let _ = writeln!(text, "  {run:<9}  {}{device}; {n}", value.words);
        if let Some(difference) = &value.difference {
            let _ = writeln!(text, "  {:<9}  {}", "", difference_in_words(difference, &point.metric));
        }
    }
    text
}

impl ComparedValue {
    /// The difference to the reference in words, for a metric; none of the reference, and where the reference has no such point.
    pub fn difference_in_words(&self, metric: &str) -> Option<String> {
        self.difference.as_ref().map(|difference| difference_in_words(difference, metric))
    }
}

/// `-5.5 % (-7.1 to -3.9 %): lower, which is worse`.
pub(crate) fn difference_in_words(difference: &Difference, metric: &str) -> String {
    let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, significant(value, 3));
    let words = match difference.finding {
        finding @ (Finding::Higher | Finding::Lower) => {
            let is_better = (finding == Finding::Higher) == higher_is_better(metric);
            format!("{}, which is {}", finding.in_words(), if is_better { "better" } else { "worse" })
        }
        other => other.in_words().to_owned(),
    };
    match (difference.percent, difference.low, difference.high) {
        (Some(percent), Some(low), Some(high)) => {
            format!("{} % ({} to {} %): {words}", signed(percent), signed(low), signed(high))
        }
        (Some(percent), Some(low), None) => format!("{} % (at least {} %): {words}", signed(percent), signed(low)),
        (Some(percent), ..) => format!("{} %: {words}", signed(percent)),
        _ => words,
    }
}

fn missing(comparison: &Comparison, text: &mut String) {
    let all = comparison.runs.len();
    let some: Vec<&ComparedPoint> = comparison.points.iter().filter(|point| point.values.len() < all).collect();
    if some.is_empty() {
        return;
    }
    text.push_str("\nNot in every run\n");
    for point in some {
        let runs: Vec<String> = point.values.iter().map(|value| name(value.run)).collect();
        let _ = writeln!(text, "  {}: only in {}", point.place, runs.join(", "));
    }
}

fn summary(comparison: &Comparison, text: &mut String) {
    text.push('\n');
    let mut judged = 0;
    let mut coverage: f64 = 1.0;
    for number in 2..=comparison.runs.len() {
        let values = || comparison.points.iter().flat_map(|point| &point.values).filter(|value| value.run == number);
        let differences: Vec<&Difference> =
            values().filter_map(|value: &ComparedValue| value.difference.as_ref()).collect();
        let count = |finding: Finding| differences.iter().filter(|difference| difference.finding == finding).count();
        let with_interval = differences.iter().filter(|difference| difference.finding.is_judged());
        coverage = with_interval.clone().filter_map(|difference| difference.coverage).fold(coverage, f64::min);
        judged += with_interval.count();
        let rest = differences.iter().filter(|difference| !difference.finding.is_judged()).count();
        let of = plural(differences.len() as u64, "value");
        let (higher, lower) = (count(Finding::Higher), count(Finding::Lower));
        let none = count(Finding::NoDifferenceShown);
        let _ =
            write!(text, "{}: of {of} {higher} higher, {lower} lower, {none} without a difference shown", name(number));
        let _ = writeln!(text, "{}", if rest > 0 { format!(", {rest} not judged") } else { String::new() });
    }
    if judged > 0 {
        let _ = writeln!(
            text,
            "Intervals are those of the Mann–Whitney test, with a coverage of {} % or more, wider by the errors of the \
             searches and the drift of the null device. At most about one in {} excludes 0 by chance.",
            significant((coverage * 1_000.0).floor() / 10.0, 3),
            (1.0 / (1.0 - coverage)).floor()
        );
    }
}
