//! The words of events, for the terminal and for the live view of `natmeter serve`.

use crate::event::Event;
use anstyle::{AnsiColor, Style};
use method::trial::of_rate;
use method::{Rate, ResultKind};
use procedure::metric::{Unit, by_key};
use record::folder::{Ceiling, Outcome, Over, SelfTest};
use record::report::no_rate::in_words;
use record::report::number::{percent, si, significant};
use scenario::Point;
use scenario::axis::more_in_words;

const GOOD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const BAD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
const DIM: Style = Style::new().dimmed();

/// The line of an event, with colours; none for events that only change the live lines.
pub(crate) fn line_of(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted { folder, measurements, done, predicted_s } => {
            let left = measurements.saturating_sub(*done);
            format!("{folder}: {left} of {measurements} measurements to do, about {}", seconds(*predicted_s))
        }
        Event::SelfTested(self_test) => of_self_test(self_test),
        Event::Calibrated(ceiling) => of_ceiling(ceiling),
        Event::DutPreparing { dut, connections, cores, axes } => {
            format!("{dut}{}{}, {cores} core(s)", of_connections(*connections), more_in_words(axes))
        }
        Event::Doubt { text } => format!("{BAD}note{BAD:#}: {text}"),
        Event::LeftOut { measurement } => format!("  {DIM}{measurement}: skipped, time limit reached{DIM:#}"),
        Event::PointRepeated { point, change } => repeated(point, *change),
        Event::Repaired { text } => format!("{BAD}repaired{BAD:#}: {text}"),
        Event::MeasurementDone(outcome) => of_result(outcome),
        Event::Finished { folder, seconds: s, .. } => format!("{folder}: done in {}", seconds(*s)),
        Event::SelfTesting { .. }
        | Event::MeasurementStarted { .. }
        | Event::Trying { .. }
        | Event::Trial { .. }
        | Event::NullMeasured { .. } => return None,
    })
}

fn of_self_test(self_test: &SelfTest) -> String {
    let checks = &self_test.checks;
    let bad: Vec<&str> = checks.iter().filter(|c| !c.passed).map(|c| c.name.as_str()).collect();
    let bad = bad.join(", ");
    match (bad.is_empty(), self_test.passed) {
        (true, _) => format!("self-test: {GOOD}passed, {} checks{GOOD:#}", checks.len()),
        (false, true) => format!("self-test: {BAD}inconclusive, the host is busy{BAD:#}: {bad}"),
        (false, false) => format!("self-test: {BAD}FAILED{BAD:#}: {bad}"),
    }
}

fn of_ceiling(ceiling: &Ceiling) -> String {
    let (over, rate) = (ceiling.over.words(), short(ceiling.frames.0));
    if ceiling.over == Over::Dns {
        let [send, receive] = [ceiling.send_ps, ceiling.receive_ps].map(|ps| ps as f64 / 1e6);
        return format!(
            "tester ceiling over {over}: {rate} queries/s; {send:.1} µs to send, {receive:.1} µs to judge an answer"
        );
    }
    let [send, receive] = [ceiling.send_ps, ceiling.receive_ps].map(|ps| ps as f64 / 1e3);
    let set_up = ceiling.set_up.map_or_else(String::new, |Rate(r)| format!(", {} connections/s", short(r)));
    let direction = of_rate(ceiling.direction_ratio);
    format!(
        "tester ceiling over {over}: {rate} frames/s {direction}{set_up}; {send:.1} ns to send, {receive:.1} ns to judge a frame"
    )
}

/// "the null device changed by 33 %; repeating 250 k connections"
fn repeated(point: &Point, change: f64) -> String {
    let what = match point.connections {
        0 => point.dut_name.clone(),
        n => format!("{} connections", short(n)),
    };
    format!("the null device changed by {}; repeating {what}", percent(change * 100.0))
}

fn of_result(o: &Outcome) -> String {
    let result = &o.result;
    let bound = match result.kind {
        ResultKind::Exact if result.tester_limit.is_some() => {
            format!("  {BAD}+ {} at most, every trial in between was invalid{BAD:#}", short(result.error.0))
        }
        ResultKind::Exact | ResultKind::Observed => String::new(),
        ResultKind::TesterLimit => format!("  {BAD}tester limit{BAD:#}"),
        ResultKind::AtUpperLimit => format!("  {BAD}upper end of the search{BAD:#}"),
        ResultKind::Between => {
            let above = short(result.rate.0 + result.error.0);
            format!("  {BAD}below {above}, every trial in between was invalid{BAD:#}")
        }
        ResultKind::Strict => format!("  {BAD}host too busy for validity{BAD:#}"),
        ResultKind::HostLimit => format!("  {BAD}host limit{BAD:#}"),
        ResultKind::NothingPassed => format!("  {BAD}no rate passed{BAD:#}"),
        ResultKind::Below => format!("  {BAD}every trial below was invalid{BAD:#}"),
        ResultKind::NoRate => {
            let why = result.evidence.no_rate.as_ref().map(in_words).unwrap_or_default();
            format!("  {BAD}no rate: {why}{BAD:#}")
        }
        ResultKind::NothingMeasured => format!("  {BAD}not measured: every trial was invalid{BAD:#}"),
    };
    let (sign, figure) = match result.kind {
        ResultKind::Below => ("< ", short(result.error.0)),
        ResultKind::NothingMeasured | ResultKind::NoRate => ("", "–".to_owned()),
        _ if result.at_least() => ("≥ ", short(result.rate.0)),
        _ => ("", short(result.rate.0)),
    };
    let unit = match by_key(&o.measurement.metric).map(|metric| metric.unit) {
        None | Some(Unit::FramesPerSecond) => format!("frames/s {}", of_rate(o.direction_ratio)),
        Some(unit) => unit.symbol().to_owned(),
    };
    let m = &o.measurement;
    format!(
        "  {GOOD}{}{GOOD:#} {:<18} {sign:2}{figure:>7} {unit}{bound}  {DIM}{} trials, {} repeated{DIM:#}",
        m.repetition, m.metric, result.trials, result.invalid_repeats
    )
}

/// `nftables, 1 M connections, 2 cores`.
pub(crate) fn device(name: &str, connections: u64, cores: u32) -> String {
    let unit = if cores == 1 { "core" } else { "cores" };
    format!("{name}{}, {cores} {unit}", of_connections(connections))
}

fn of_connections(connections: u64) -> String {
    if connections > 0 { format!(", {} connections", short(connections)) } else { String::new() }
}

/// A loss in words: `no loss`, `0.12 % lost`.
pub(crate) fn loss(sent: u64, received: u64) -> String {
    match 100.0 * sent.saturating_sub(received) as f64 / sent.max(1) as f64 {
        0.0 => "no loss".to_owned(),
        percent if percent < 0.01 => "<0.01 % lost".to_owned(),
        percent => format!("{} % lost", significant(percent, 3)),
    }
}

/// A time in seconds, minutes or hours.
pub(crate) fn seconds(s: u64) -> String {
    match s {
        0..120 => format!("{s} s"),
        120..7200 => format!("{} min", s.div_ceil(60)),
        _ => format!("{:.1} h", s as f64 / 3600.0),
    }
}

/// Three digits with a unit prefix.
pub(crate) fn short(n: u64) -> String {
    si(n as f64, 3)
}

pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_names_the_change_and_the_point() {
        let point = |connections| {
            let point = serde_json::json!({ "dut": 0, "dut_name": "x", "connections": connections, "cores": 1 });
            serde_json::from_value(point).unwrap()
        };
        assert_eq!(repeated(&point(250_000), 0.333), "the null device changed by 33 %; repeating 250 k connections");
        assert_eq!(repeated(&point(0), 1.5), "the null device changed by 150 %; repeating x");
    }
}
