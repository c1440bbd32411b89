//! The results in sentences, at the end of a report. Each sentence must be true in every case: tester limit, no rate passed,
//! closed loop, unfinished run.

use super::number::{self, percent, plural, si};
use super::result::{PointResult, Sure, known};
use super::{Report, bottleneck, evidence, facts, limits, no_rate, parts, published, section, value, ways};
use crate::doubt::Doubt;
use crate::visit::CHANGE;
use document::report::Sentences;
use document::{Bound, Form, Quantity};
use method::stats::Interval;
use method::{Rate, ResultKind};
use procedure::Metric;
use procedure::metric::{self, Gives, Unit};
use scenario::axis::{Axis, in_order, in_words};
use std::cmp::Reverse;
use std::fmt::Write;

pub(super) fn of(report: &Report) -> Sentences {
    let found = all_found(report);
    Sentences {
        sure: sure(&report.how_sure, &found) + evidence::advice(report),
        found,
        findings: section::findings(report).into_iter().chain(bottleneck::findings(report)).collect(),
        models: section::of_models(report),
        comparison: comparison(report),
        repeated: repeated(report.repeated_points),
        kind: what_it_was(report),
    }
}

/// "2 points were repeated, because the null device changed by more than 15 %."
fn repeated(points: usize) -> Option<String> {
    let were = if points == 1 { "was" } else { "were" };
    let (points, change) = (Some(points).filter(|&n| n > 0)?, percent(CHANGE * 100.0));
    let points = plural(points as u64, "point");
    Some(format!("{points} {were} repeated, because the null device changed by more than {change}."))
}

/// "How sure: MEDIUM. 3 repetitions: an interval needs 5.", without reasons that are said before.
fn sure(Sure { word, reasons }: &Sure, found: &[String]) -> String {
    let reasons = reasons.iter().filter(|reason| !found.contains(&format!("{reason}.")));
    let sentences = [word.name()].into_iter().chain(reasons.map(String::as_str));
    format!("How sure: {}.", sentences.collect::<Vec<_>>().join(". "))
}

/// Why no figure of the run may be used.
fn unusable(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    if !report.audit.findings.is_empty() {
        sentences.push("The record of this run is damaged: do not use its figures.".to_owned());
    }
    if report.self_test.as_ref().is_some_and(|t| !t.passed) {
        sentences.push("The tester's self-test failed: do not use these figures.".to_owned());
    }
    sentences
}

fn all_found(report: &Report) -> Vec<String> {
    let mut sentences = unusable(report);
    let known: Vec<&PointResult> =
        report.results.iter().filter(|c| !c.repetitions.is_empty() || c.failing().is_some()).collect();
    let duts = document::distinct(report.results.iter().map(|c| c.dut));
    let mut bounds: Vec<(usize, String)> = Vec::new();
    for &dut in &duts {
        let results: Vec<&PointResult> = known.iter().copied().filter(|c| c.dut == dut).collect();
        let Some(first) = results.first() else { continue };
        let name = if duts.len() > 1 { format!("{}: ", first.dut_name) } else { String::new() };
        let headline = headline(&results);
        let several = results.iter().any(|c| c.cores != first.cores);
        let parts: Vec<String> =
            found(report, &headline, several).into_iter().chain(both_ways(report, &results)).collect();
        if parts.is_empty() {
            continue;
        }
        let found = format!("{}.", parts.join("; "));
        let said: Vec<&PointResult> = headline.iter().map(|h| h.result).collect();
        bounds.push((sentences.len(), limits::of(report, &results, &said).join(" ")));
        // After the name of a device the sentence continues in lower case.
        sentences.push(if name.is_empty() { number::capitalised(&found) } else { format!("{name}{found}") });
    }
    // A limit common to all devices is named once, after them.
    let first = bounds.first().map(|(_, text)| text.clone()).unwrap_or_default();
    if bounds.len() > 1 && !first.is_empty() && bounds.iter().all(|(_, text)| *text == first) {
        sentences.push(first);
    } else {
        for (at, text) in bounds.iter().filter(|(_, text)| !text.is_empty()) {
            sentences[*at].extend([" ", text]);
        }
    }
    if sentences.is_empty() {
        // Variations of delays have many figures, none of which stands for all.
        let why = report.facts.doubts.iter().find_map(|doubt| match doubt {
            Doubt::NoResult(_, why) => Some(format!("Nothing was measured: {why}.")),
            _ => None,
        });
        sentences.push(match why {
            _ if !known.is_empty() => "No rate was searched: the table has all figures.".to_owned(),
            Some(why) if report.header.scenario.bed.as_ref().is_some_and(|bed| !bed.makes_links()) => {
                format!("{why} `natmeter bed check` names cause and next step.")
            }
            why => why.unwrap_or_else(|| "Nothing was measured.".to_owned()),
        });
    }
    let free = |c: &&PointResult| {
        c.bound == ResultKind::Exact && c.closed_loop == 0 && c.median().is_some() && !is_capacity(c)
    };
    let free: Vec<&PointResult> = known.iter().copied().filter(free).collect();
    let limit = evidence::sentences(report, &free, &known).join(" ");
    if !limit.is_empty() {
        match duts.len() {
            1 => sentences.last_mut().expect("just pushed").extend([" ", &limit]),
            _ => sentences.push(limit),
        }
    }
    sentences
}

/// The results of a device at its headline point (most cores, then the highest values of the further axes, then most
/// connections), one for each metric.
fn headline<'a>(results: &[&'a PointResult]) -> Vec<Headline<'a>> {
    // The tables have the parts of metrics.
    let whole = results.iter().copied().filter(|r| parts::measured(&r.metric) == r.metric);
    let mut metrics = document::grouped_by(whole, |r| r.metric.as_str());
    // Establishment rate before throughput: connections are set up first.
    metrics.sort_by_key(|(metric, series)| (rank(known(metric, series.iter().copied())) > 0, *metric));
    let headline = |(metric, series): (&str, Vec<&'a PointResult>)| {
        let result = at_headline(&series, metric)?;
        let near =
            |c: &&PointResult| c.cores == result.cores && c.axes == result.axes && c.connections < result.connections;
        let smallest = series.iter().copied().filter(near).min_by_key(|c| c.connections);
        Some(Headline { result, smallest })
    };
    metrics.into_iter().filter_map(headline).collect()
}

/// Place of a metric: establishment rates come first, then throughputs, then all others.
fn rank(metric: Option<&Metric>) -> u8 {
    match metric.and_then(|metric| metric.gives.filter(|_| !metric.validated && metric.baseline_of.is_none())) {
        Some(Gives::SetUpRate) => 0,
        Some(Gives::Throughput) => 1,
        _ => 2,
    }
}

fn is_capacity(result: &PointResult) -> bool {
    result.known.is_some_and(|metric| metric.unit == Unit::Connections)
}

struct Headline<'a> {
    result: &'a PointResult,
    /// The result with the fewest connections, if it is another one.
    smallest: Option<&'a PointResult>,
}

/// "2.9 (2.8–3.1) M connections/s at 4 M connections, 74 % (70–79 %, coverage 88 %) of the rate at 100 k connections; …"
/// `several`: the device was measured with several numbers of cores, so each figure names its number.
fn found(report: &Report, headline: &[Headline], several: bool) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let (mut said, mut swept) = (None, false);
    for Headline { result, smallest } in headline {
        let mut part = rate(result);
        let way = result.limited.filter(|_| result.bound == ResultKind::Exact);
        part.extend(way.map(|stream| format!(" (limited {})", ways::way(stream))));
        if is_capacity(result) {
            let tried = if result.bound == ResultKind::AtUpperLimit { "all" } else { "of" };
            let _ = write!(part, " fit into the table, {tried} {} that were tried", si(result.connections as f64, 3));
        } else if result.connections == 0 {
            let baseline = result.known.is_some_and(|metric| metric.baseline_of.is_some());
            part.push_str(if baseline { " of plain forwarding" } else { ", stateless" });
        } else if said != Some(result.connections) {
            let _ = write!(part, " at {} connections", si(result.connections as f64, 3));
            said = Some(result.connections);
        }
        if !result.axes.is_empty() && !swept {
            let _ = write!(part, ", with {}", in_words(&result.axes));
            swept = true;
        }
        if result.cores > 1 || several {
            let _ = write!(part, " on {}", result.cores_in_words());
        }
        // Without a null device the drift of the host between two points is unknown, so nothing is compared.
        if evidence::is_simulated(report, result) || result.null_rates().next().is_some() {
            comparisons(&mut part, result, *smallest);
        }
        parts.push(part);
    }
    // A fault of the device stands first, because its rates may follow from it.
    let wrong = document::distinct(headline.iter().filter_map(|of| no_rate::fault(&of.result.wrong)));
    wrong.into_iter().chain(parts).collect()
}

/// Returns the values of both directions at the headline point, such as "typical latency 12 µs left to right and 13 µs
/// right to left".
fn both_ways(report: &Report, results: &[&PointResult]) -> Vec<String> {
    let of = |(what, [forward, reverse]): &(&str, [&str; 2])| {
        let said = [(forward, "left to right"), (reverse, "right to left")].into_iter().filter_map(|(key, way)| {
            let result = at_headline(results, key)?;
            Some(format!("{} {way}", value::between(result, result.median()?, 2).text_without_bound()))
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| format!("{what} {}", said.join(" and ")))
    };
    let procedures = report.header.scenario.procedures.list();
    procedures.iter().flat_map(|procedure| procedure.both_ways).filter_map(of).collect()
}

fn at_headline<'a>(results: &[&'a PointResult], metric: &str) -> Option<&'a PointResult> {
    // Words have no order of size: the one with the smallest code, such as `both`, is the headline.
    let rank = |(axis, n): (&Axis, u64)| if axis.is_number() { n } else { u64::MAX - n };
    let swept = |c: &PointResult| in_order(&c.axes).map(rank).collect::<Vec<_>>();
    let own = results.iter().copied().filter(|c| c.metric == metric);
    own.max_by_key(|c| (c.cores, swept(c), c.connections))
}

/// Compares a result with one core, with the smallest number of connections, and with plain forwarding.
fn comparisons(part: &mut String, result: &PointResult, smallest: Option<&PointResult>) {
    let cores = f64::from(result.cores);
    let alone = result.cores > 1 && !result.shares_core;
    if let Some((s_cpu, interval)) = result.s_cpu.zip(result.s_cpu_interval).filter(|_| alone) {
        let times = interval.divided(1.0 / cores);
        part.push_str(&compared(s_cpu * cores, times, " times", "the rate on one core"));
    }
    if let (Some((s_c, interval)), Some(smallest)) = (result.s_c.zip(result.s_c_interval), smallest) {
        let other = format!("the rate at {} connections", si(smallest.connections as f64, 3));
        part.push_str(&compared(s_c, interval, " %", &other));
    }
    if let Some((share, interval)) = result.forwarding_percent.zip(result.forwarding_interval) {
        part.push_str(&compared(share / 100.0, interval, " %", "plain forwarding"));
    }
}

/// ", 74 % (70–79 %, coverage 88 %) of …", or ", no difference shown from …" if the interval of the ratio contains 1.
fn compared(ratio: f64, interval: Interval, unit: &str, other: &str) -> String {
    if interval.contains(1.0) {
        return format!(", no difference shown from {other}");
    }
    let (factor, digits, of, unit_of_ends) = if unit == " %" { (100.0, 2, "of ", unit) } else { (1.0, 3, "", "") };
    let [low, ratio, high] = number::apart([interval.low, ratio, interval.high].map(|of| of * factor), digits);
    let coverage = percent(interval.coverage * 100.0);
    format!(", {ratio}{unit} ({low}–{high}{unit_of_ends}, coverage {coverage}) {of}{other}")
}

pub(super) fn rate(result: &PointResult) -> String {
    let known = result.known;
    let what = known.map_or(result.metric.clone(), |m| number::uncapitalised(m.title));
    match result.median() {
        Some(median) if !result.nothing_passed() => {
            let quantity = validated(value::between(result, median, 2), &result.metric);
            let value = format!("{}{}", quantity.bound.in_words(), quantity.text_without_bound());
            // Rates and connections say what they are by their units.
            match known.map(|m| m.unit) {
                Some(Unit::FramesPerSecond | Unit::ConnectionsPerSecond | Unit::Connections) if !is_other(result) => {
                    value
                }
                _ => format!("{what} {value}"),
            }
        }
        _ => {
            let below = |rate: Rate| Quantity { bound: Bound::LessThan, ..value::short(result, rate.0 as f64, 2) };
            if let Some(why) = no_rate::headline(result) {
                return why;
            }
            match (result.failing(), result.upper()) {
                (Some(failing), Some(upper)) if failing.most > 0.0 => {
                    format!("the device loses {}; {what} {}", failing.in_words(), below(upper))
                }
                (_, Some(upper)) => format!("the {what} is less than {}", below(upper).text_without_bound()),
                (_, None) => format!("the {what} could not be measured"),
            }
        }
    }
}

/// A rate of connections that were validated says so: it stands beside that of connections that were not.
fn validated(rate: Quantity, metric: &str) -> Quantity {
    let is_validated = |metric: &Metric| metric.validated && metric.gives == Some(Gives::SetUpRate);
    match rate.form {
        Form::Si(digits, unit, _) if metric::by_key(metric).is_some_and(is_validated) => {
            Quantity { form: Form::Si(digits, unit, "validated connections/s"), ..rate }
        }
        _ => rate,
    }
}

/// Whether it is a rate beside throughputs and establishment rates.
fn is_other(result: &PointResult) -> bool {
    result.known.is_none_or(|metric| metric.gives.is_none()) && !is_capacity(result)
}

/// "For comparison: iptables on one core of a 2016 server, 223,500 connections/s at 4 M connections (…)."
fn comparison(report: &Report) -> Option<String> {
    // The headline has the most cores, so the comparison takes the published value with the most cores.
    let best =
        report.beside.iter().min_by_key(|b| (rank(metric::by_key(&b.metric)), Reverse(b.published.under.cores)))?;
    let p = &best.published;
    let on = match p.under.cores {
        Some(1) => "one core of ".to_owned(),
        Some(n) => format!("{n} cores of "),
        None => String::new(),
    };
    let at = p.under.connections.map_or_else(String::new, |n| format!(" at {} connections", si(n as f64, 3)));
    let value = published::with_unit(&p.metric, p.value);
    let tolerance = match p.under.tolerance {
        Some(t) if t > 0.0 => format!(", acceptance {} %", number::significant((1.0 - t) * 100.0, 6)),
        _ => String::new(),
    };
    let source = p.source();
    let differs = match best.differences.join("; ") {
        none if none.is_empty() => String::new(),
        differences => format!(" Its set-up differs: {differences}."),
    };
    Some(format!(
        "For comparison: {} on {on}a {}, {value}{at}{tolerance} ({}, {}).{differs}",
        p.software(),
        source.machine,
        source.cite,
        p.under.label
    ))
}

fn what_it_was(report: &Report) -> String {
    let conformance = &report.conformance;
    let mut text = if conformance.procedure_conforms || report.header.scenario.full {
        conformance.in_words()
    } else {
        format!(
            "{}: trials of {}, {}{}.",
            conformance.quick_in_words(),
            number::duration(report.header.scenario.measure.duration.0),
            report.header.scenario.measure.repetitions.counted(),
            coverage(report)
        )
    };
    text.extend([" ", &conformance.test_bed_in_words()]);
    for fault in report.header.scenario.duts.iter().filter_map(|dut| dut.injected()?.injected.fault.as_ref()) {
        text.extend([" The scenario injects the fault `", fault, "` into the device."]);
    }
    for missing in facts::missing(report) {
        text.extend([" ", &missing]);
    }
    text
}

fn coverage(report: &Report) -> String {
    let several = || report.results.iter().filter(|c| c.repetitions.len() > 1 && c.median().is_some());
    let covered = several().filter(|c| c.has_interval()).filter_map(|c| c.interval).map(|i| i.coverage);
    match covered.min_by(f64::total_cmp) {
        Some(least) => {
            format!(", medians with {} intervals", percent(least * 100.0))
        }
        None if several().next().is_some() => {
            format!(", fewer than {} and thus not compared", Interval::LEAST_VALUES)
        }
        None => String::new(),
    }
}
