//! The plan as text for people: what will be measured, how long it takes and what memory it needs, and on
//! which guesses that rests.

use super::forecast::guess;
use super::{Measurement, Plan};
use crate::scenario::quantity::{show_bytes, show_count, show_time};
use crate::scenario::{Scenario, conformance};
use method::Nanos;
use std::fmt::Write;

/// The plan of a scenario, one line a value that will be measured.
pub fn text(scenario: &Scenario, plan: &Plan) -> String {
    let mut out = scenario.name.clone();
    if !scenario.about.is_empty() {
        let _ = write!(out, ": {}", scenario.about);
    }
    out.push('\n');
    let departures = conformance(scenario);
    if !departures.is_empty() {
        let _ = writeln!(out, "quick, not RFC 2544: {}", departures.join("; "));
    }
    out.push('\n');
    table(&mut out, plan);
    let _ = writeln!(out, "\n{}", total(plan));
    guesses(&mut out, scenario);
    out
}

/// The whole plan in a line: measurements, time, memory.
pub fn total(plan: &Plan) -> String {
    let device = if plan.dut_memory == 0 { "as it is".to_owned() } else { show_bytes(plan.dut_memory) };
    let (time, tester) = (show_time(plan.predicted()), show_bytes(plan.tester_memory));
    format!("{} measurements, about {time}. Memory: tester {tester}, device {device}.", plan.measurements.len())
}

/// One row for all repetitions of a value.
fn table(out: &mut String, plan: &Plan) {
    let head = ["device", "connections", "cores", "metric", "repetitions", "predicted"].map(str::to_owned);
    let mut rows = vec![head];
    for group in plan.measurements.chunk_by(|a, b| a.point == b.point && a.metric == b.metric) {
        let Measurement { point, metric, .. } = &group[0];
        let connections = if point.connections == 0 { "-".to_owned() } else { show_count(point.connections) };
        let predicted = Nanos(group.iter().fold(0, |sum, measurement| sum.saturating_add(measurement.predicted.0)));
        let (cores, repetitions) = (point.cores.to_string(), group.len().to_string());
        rows.push([point.dut_name.clone(), connections, cores, metric.clone(), repetitions, show_time(predicted)]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    for row in &rows {
        let [d, n, c, m, r, t] = row;
        let [wd, wn, wc, wm, wr, wt] = widths;
        let _ = writeln!(out, "{d:<wd$}  {n:>wn$}  {c:>wc$}  {m:<wm$}  {r:>wr$}  {t:>wt$}");
    }
}

fn guesses(out: &mut String, scenario: &Scenario) {
    out.push_str("Guessed, before anything is known of this machine (calibration, clearing tables and invalid trials not counted):\n");
    for dut in &scenario.duts {
        let guess = guess(scenario, dut);
        let set_up =
            if dut.is_stateful() { format!("{} connections/s, ", show_count(guess.set_up.0)) } else { String::new() };
        let (forward, top) = (show_count(guess.forward.0), show_count(guess.top.0));
        let _ = writeln!(out, "  {}: {set_up}{forward} frames/s per direction, searched from {top} down", dut.name());
    }
}
