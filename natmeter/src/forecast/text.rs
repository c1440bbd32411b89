//! The plan as text: measurements, predicted time and memory, and the assumed rates.

use super::set_up::has_null_device;
use super::{ExpectedTime, SLOWER, expected, guess, of_boxes, saved};
use crate::term::in_columns;
use method::Nanos;
use record::plan::{INVALID_FLOOR, INVALID_TIMES_PREDICTED, Measurement, Plan};
use record::report::number::percent;
use record::visit::CHANGE;
use scenario::axis::{AXES, Axis};
use scenario::quantity::{show_bytes, show_count, show_long, show_time};
use scenario::{Scenario, Sequence, conformance, label, technologies};
use std::fmt::Write;

/// One line for each value to be measured.
pub fn text(scenario: &Scenario, plan: &Plan) -> String {
    let mut out = scenario.name.clone();
    if !scenario.about.is_empty() {
        let _ = write!(out, ": {}", scenario.about);
    }
    out.push('\n');
    let assessment = conformance(scenario);
    let (label, departures) = (label(scenario, &assessment), assessment.sentences());
    out.push_str(&label);
    if !departures.is_empty() {
        let _ = write!(out, ". Departures: {}", departures.join("; "));
    }
    out.push('\n');
    for (name, words) in technologies(scenario) {
        let _ = writeln!(out, "{name}: {words}");
    }
    out.push('\n');
    table(&mut out, plan);
    let _ = writeln!(out, "\n{}", total(scenario, plan));
    if plan.order == Sequence::Interleaved && repetitions(plan).any(|group| group.len() > 1) {
        out.push_str("Interleaved: the next repetition begins after all points have had this one.\n");
    }
    if let Some(limit) = scenario.time_limit.filter(|_| has_null_device(scenario, plan)) {
        let _ = writeln!(
            out,
            "Up to the time limit of {}, natmeter repeats points at which the null device changed by more than {}.",
            show_long(limit),
            percent(CHANGE * 100.0)
        );
    }
    let floor = INVALID_FLOOR.0 / Nanos::SECOND.0;
    let _ = writeln!(
        out,
        "natmeter stops repeating the invalid trials of a measurement after {INVALID_TIMES_PREDICTED} times its predicted time, \
         or after {floor} s if that is longer."
    );
    saved::text(&mut out, scenario, plan);
    guesses(&mut out, scenario);
    out
}

/// Measurements, time, memory in one line.
pub fn total(scenario: &Scenario, plan: &Plan) -> String {
    let device = if plan.dut_memory == 0 { "not predicted".to_owned() } else { show_bytes(plan.dut_memory) };
    let tester = show_bytes(plan.tester_memory);
    let measurements = plan.measurements.len();
    let ExpectedTime { time, skipped } = expected(plan.measurements.iter(), scenario.time_limit);
    let ends = of_boxes(scenario, plan).filter(|_| skipped == 0);
    let time = match (scenario.time_limit.filter(|_| skipped > 0), ends) {
        (None, Some([fast, slow])) => {
            let [time, fast, slow] = [time, fast, slow].map(show_time);
            format!(
                "about {time}: {fast} if the box passes the first rate of every search, {slow} if it is {SLOWER} times slower than \
                 assumed"
            )
        }
        (None, None) => format!("about {}", show_time(time)),
        (Some(limit), _) => format!(
            "about {}: the time limit of {} skips about {skipped} of them (without it: about {})",
            show_time(time),
            show_long(limit),
            show_time(plan.predicted())
        ),
    };
    format!("{measurements} measurements, {time}. Memory: tester {tester}, device {device}.")
}

/// One row for all repetitions of a value.
fn table(out: &mut String, plan: &Plan) {
    // Further axes have a column each.
    let swept = |a: &&Axis| plan.measurements.iter().any(|m| m.point.axes.contains_key(a.name()));
    let axes: Vec<&Axis> = AXES.iter().filter(swept).collect();
    let mut head = vec!["device", "connections", "cores"];
    head.extend(axes.iter().map(|axis| axis.heading));
    let metric = head.len();
    head.extend(["metric", "repetitions", "predicted"]);
    let mut rows: Vec<Vec<String>> = vec![head.into_iter().map(str::to_owned).collect()];
    for group in repetitions(plan) {
        let Measurement { point, metric, .. } = group[0];
        let count = |n: u64| if n == 0 { "-".to_owned() } else { show_count(n) };
        let predicted = Nanos(group.iter().fold(0, |sum, measurement| sum.saturating_add(measurement.predicted.0)));
        let mut row = vec![point.dut_name.clone(), count(point.connections), point.cores.to_string()];
        let value = |axis: &&Axis| {
            let n = point.axes.get(axis.name()).copied().unwrap_or(0);
            axis.word(n).unwrap_or_else(|| count(n))
        };
        row.extend(axes.iter().map(value));
        row.extend([metric.clone(), group.len().to_string(), show_time(predicted)]);
        rows.push(row);
    }
    out.push_str(&in_columns("", &rows, |at| at == 0 || at == metric));
}

/// Measurements grouped by repetition, in the order of the first ones.
fn repetitions(plan: &Plan) -> impl Iterator<Item = Vec<&Measurement>> {
    document::grouped_by(&plan.measurements, |m| (&m.point, &m.metric)).into_iter().map(|(_, group)| group)
}

fn guesses(out: &mut String, scenario: &Scenario) {
    out.push_str(
        "The prediction assumes these rates, and no time for calibration, clearing tables and invalid trials:\n",
    );
    for dut in &scenario.duts {
        let guess = guess(scenario, dut);
        let set_up =
            if dut.is_stateful() { format!("{} connections/s, ", show_count(guess.set_up.0)) } else { String::new() };
        let (forward, top) = (show_count(guess.forward.0), show_count(guess.top.0));
        let direction = method::trial::of_rate(scenario.directions().iter().find_map(|direction| direction.ratio()));
        let _ = writeln!(out, "  {}: {set_up}{forward} frames/s {direction}; the search begins at {top}", dut.name());
    }
}
