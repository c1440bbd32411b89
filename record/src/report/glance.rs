//! The first screen of a report: what was measured, on what, the answer, and how sure it is.

use super::number::{self, plural, si};
use super::result::{PointResult, known};
use super::{Report, facts, parts, sentences, value};
use document::distinct;
use document::glance::{Answer, AnswerRow, Glance};
use procedure::metric::{Gives, Unit};
use scenario::axis::in_words;
use scenario::{Dut, TestBed};

pub(super) fn of(report: &Report) -> Glance {
    // Without any value the screen has room for all doubts.
    let is_any = report.results.iter().any(|result| !result.repetitions.is_empty());
    let shown: Vec<&PointResult> = report.results.iter().filter(|result| is_any && is_shown(result)).collect();
    Glance {
        measured: measured(report),
        on: on(report),
        done: done(report),
        answers: answers(report, &shown),
        remarks: remarks(report, &shown),
        word: report.how_sure.word.name(),
        reasons: report.how_sure.reasons.iter().map(|text| in_plain_words(text)).collect(),
        doubts: report.doubts.iter().map(|text| in_plain_words(text)).collect(),
    }
}

/// Terms that need the manual, in other words.
fn in_plain_words(text: &str) -> String {
    text.replace("null device", "same path without the device")
}

/// The whole of a metric, or its parts where the whole has no value.
fn is_shown(result: &PointResult) -> bool {
    let whole = parts::measured(&result.metric);
    whole == result.metric
        || known(whole, std::iter::empty())
            .or_else(|| procedure::metric::by_key(whole))
            .is_none_or(|metric| metric.unit == Unit::Parts)
}

/// `Stateful NAT44 of nftables, iptables-legacy`.
fn measured(report: &Report) -> Vec<String> {
    let scenario = &report.header.scenario;
    let devices = scenario.duts.iter().map(|dut| (number::capitalised(dut.function()), device(report, dut)));
    let alike = document::grouped_by(devices, |(function, _)| function.clone()).into_iter();
    let in_words = |(function, alike): (String, Vec<(String, Option<String>)>)| {
        let names = distinct(alike.into_iter().filter_map(|(_, name)| name));
        if names.is_empty() { function } else { format!("{function} of {}", names.join(", ")) }
    };
    alike.map(in_words).collect()
}

/// What a device is; `None` where its function says that.
fn device(report: &Report, dut: &Dut) -> Option<String> {
    let software = report.facts.duts.get(dut.name()).and_then(|facts| facts.get("software"));
    match dut.place(&report.header.scenario) {
        TestBed::Simulated => None,
        TestBed::SameProcess => Some("natmeter's own gateway".to_owned()),
        _ => Some(software.cloned().unwrap_or_else(|| dut.name().to_owned())),
    }
}

fn on(report: &Report) -> Vec<String> {
    let beds = TestBed::all(&report.header.scenario);
    let is_here = beds.iter().any(|bed| matches!(bed, TestBed::SameProcess | TestBed::SameMachine));
    let cores = facts::cores_here(report).map(|cores| plural(cores.into(), "core"));
    let machine: Vec<String> = cores.into_iter().chain(report.facts.tester.get("cpu").cloned()).collect();
    let machine = machine.join(", ");
    let place = match (is_here, machine.is_empty()) {
        (true, true) => "this machine".to_owned(),
        (true, false) => format!("this machine, {machine}"),
        (false, _) => format!("tester: {machine}"),
    };
    [place, report.conformance.label.clone()].into_iter().filter(|part| !part.is_empty()).collect()
}

fn done(report: &Report) -> Vec<String> {
    let tested = report.self_test.as_ref().map(|test| match (test.passed, test.named("inconclusive").is_empty()) {
        (true, true) => "self-test passed",
        (true, false) => "self-test inconclusive",
        (false, _) => "self-test FAILED",
    });
    let counted =
        format!("{} of {}", number::grouped(report.measured as u64), plural(report.planned as u64, "measurement"));
    let ends = report.results.iter().flat_map(|result| &result.repetitions).filter_map(|one| one.after_s);
    let lasted = ends.max_by(f64::total_cmp).map(|s| number::duration((s.ceil() * 1e9) as u64));
    let commit = report.facts.natmeter().commit.unwrap_or_default();
    let natmeter = ["natmeter", &report.header.version, &commit].join(" ").trim_end().to_owned();
    tested.map(str::to_owned).into_iter().chain([counted]).chain(lasted).chain([natmeter]).collect()
}

fn answers(report: &Report, shown: &[&PointResult]) -> Vec<Answer> {
    let metrics = document::grouped_by(shown.iter().copied(), |result| parts::measured(&result.metric));
    metrics.into_iter().map(|(whole, results)| answer(report, whole, &results)).collect()
}

fn answer(report: &Report, whole: &str, results: &[&PointResult]) -> Answer {
    let most = results.iter().filter_map(|result| result.median()).fold(0.0, f64::max);
    let is_one_unit = results.iter().all(|result| result.metric == results[0].metric);
    let has_bars = results.len() > 1 && is_one_unit && most > 0.0;
    let row = |result: &&PointResult| AnswerRow {
        point: point(report, result, results),
        permille: result
            .median()
            .filter(|_| has_bars && !result.nothing_passed())
            .map(|median| (median / most * 1000.0) as u16),
        value: value::of_row(result).to_string(),
    };
    let most = results.iter().map(|result| result.repetitions.len()).max().unwrap_or(0);
    Answer {
        title: if is_one_unit { title(report, results) } else { title_of_whole(whole) },
        figures: if most > 1 { format!("median (range of {most})") } else { String::new() },
        rows: results.iter().map(row).collect(),
    }
}

fn title_of_whole(whole: &str) -> String {
    procedure::metric::by_key(whole).map_or_else(|| whole.to_owned(), |metric| metric.title.to_owned())
}

/// In words that need no manual, where these say as much as the name of the metric.
fn title(report: &Report, results: &[&PointResult]) -> String {
    let result = results[0];
    let measure = &report.header.scenario.measure;
    let plain = result.known.filter(|metric| !metric.validated && metric.key == metric.whole());
    let of_baseline = if plain.is_some_and(|metric| metric.baseline_of.is_some()) { "plain forwarding, " } else { "" };
    let loses = |acceptance: u32| match acceptance {
        1_000_000 => "none lost".to_owned(),
        _ => format!("{} lost at most", number::share(1_000_000 - acceptance)),
    };
    match plain.and_then(|metric| metric.gives) {
        Some(Gives::SetUpRate) => format!("New connections per second, {}", loses(measure.phase1_acceptance_ppm)),
        Some(Gives::Throughput) if results.iter().all(|result| result.direction_ratio.is_none()) => {
            format!("Frames per second and direction, {of_baseline}{}", loses(measure.acceptance_ppm))
        }
        _ => super::table::titled(&result.metric, results),
    }
}

/// What tells a point from the others of its metric; the connections always.
fn point(report: &Report, result: &PointResult, all: &[&PointResult]) -> String {
    let differs = |of: fn(&PointResult) -> u64| all.iter().any(|other| of(other) != of(all[0]));
    let mut words = Vec::new();
    words.extend((report.header.scenario.duts.len() > 1).then(|| result.dut_name.clone()));
    if all.iter().any(|other| other.metric != all[0].metric) {
        words.extend(result.known.map(|metric| number::uncapitalised(metric.title)));
    }
    words.extend((result.connections > 0).then(|| format!("with {} connections", si(result.connections as f64, 3))));
    words.extend(differs(|result| result.cores.into()).then(|| format!("on {}", result.cores_in_words())));
    words.extend((!result.axes.is_empty()).then(|| in_words(&result.axes)));
    words.join(", ")
}

/// Why there is no rate, and what more connections show.
fn remarks(report: &Report, shown: &[&PointResult]) -> Vec<String> {
    if shown.is_empty() {
        return report.said.found.iter().take(1).cloned().collect();
    }
    let without = shown.iter().filter(|result| result.has_no_rate());
    let mut remarks: Vec<String> =
        distinct(without.map(|result| format!("{}.", number::capitalised(&sentences::rate(result)))));
    // A bound has no ratio: of it nothing is said.
    let is_further = |result: &&&PointResult| {
        let near = |other: &&PointResult| other.metric == result.metric && other.series() == result.series();
        shown.iter().any(|other| near(other) && other.connections < result.connections)
    };
    let mut further = shown.iter().filter(is_further).peekable();
    let has_further = further.peek().is_some();
    if has_further && further.all(|result| result.s_c_interval.is_some_and(|interval| interval.contains(1.0))) {
        remarks.push("More connections: no difference shown.".to_owned());
    }
    remarks
}
