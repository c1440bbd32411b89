//! The results in sentences, at the end of a report. Each sentence must be true in every case: tester limit, no rate passed,
//! closed loop, unfinished run.

use super::number::{self, grouped_f64, percent, plural, si};
use super::result::PointResult;
use super::{Report, facts, limits};
use scenario::axis::{in_order, in_words};

use method::metric::{self, MAX_CONN_EST_RATE, THROUGHPUT, Unit};
use std::cmp::Reverse;
use std::fmt::Write;

/// All sentences, in order: for each device its rates and its limit; a comparison; the kind of run.
pub(super) fn of(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    if !report.audit.findings.is_empty() {
        sentences.push("The record of this run is damaged: do not use its figures.".to_owned());
    }
    if report.self_test.as_ref().is_some_and(|t| !t.passed) {
        sentences.push("The tester's self-test failed: do not use these figures.".to_owned());
    }
    let duts: Vec<usize> = {
        let mut duts: Vec<usize> = report.results.iter().map(|c| c.dut).collect();
        duts.dedup();
        duts
    };
    let mut unbounded = Vec::new();
    let mut bounds: Vec<(usize, String)> = Vec::new();
    for &dut in &duts {
        let results: Vec<&PointResult> =
            report.results.iter().filter(|c| c.dut == dut && !c.repetitions.is_empty()).collect();
        let Some(first) = results.first() else { continue };
        let name = if duts.len() > 1 { format!("{}: ", first.dut_name) } else { String::new() };
        let headline = headline(&results);
        let several = results.iter().any(|c| c.cores != first.cores);
        let Some(found) = found(&headline, several) else { continue };
        let said: Vec<&PointResult> = headline.iter().map(|h| h.result).collect();
        let limits = limits::of(report, &results, &said);
        if limits.is_empty() {
            unbounded.extend(results.iter().filter(|c| !c.nothing_passed()));
        }
        bounds.push((sentences.len(), limits.join(" ")));
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
        sentences.push("Nothing was measured.".to_owned());
    }
    if !unbounded.is_empty() {
        // The sentences before may name another limit for some devices or points.
        let elsewhere =
            report.results.iter().any(PointResult::nothing_passed) || bounds.iter().any(|(_, text)| !text.is_empty());
        let limit = device_limit(report, &unbounded, elsewhere);
        match duts.len() {
            1 => sentences.last_mut().expect("just pushed").extend([" ", &limit]),
            _ => sentences.push(limit),
        }
    }
    sentences.extend(comparison(report));
    sentences.push(what_it_was(report));
    sentences
}

/// The results of a device at its headline point (most cores, then the highest values of the further axes, then most
/// connections), one for each metric.
fn headline<'a>(results: &[&'a PointResult]) -> Vec<Headline<'a>> {
    let mut metrics: Vec<&str> = Vec::new();
    for result in results {
        if !metrics.contains(&result.metric.as_str()) {
            metrics.push(&result.metric);
        }
    }
    // Establishment rate before throughput: connections are set up first.
    metrics.sort_by_key(|&m| (m != MAX_CONN_EST_RATE.key, m));
    let series = |metric| results.iter().copied().filter(move |c| c.metric == metric);
    metrics
        .into_iter()
        .filter_map(|metric| {
            let swept = |c: &PointResult| in_order(&c.axes).map(|(_, n)| n).collect::<Vec<_>>();
            let result = series(metric).max_by_key(|c| (c.cores, swept(c), c.connections))?;
            let near = |c: &&PointResult| {
                c.cores == result.cores && c.axes == result.axes && c.connections < result.connections
            };
            let alike = series(metric).filter(near);
            Some(Headline { result, smallest: alike.min_by_key(|c| c.connections) })
        })
        .collect()
}

struct Headline<'a> {
    result: &'a PointResult,
    /// The result with the fewest connections, if it is another one.
    smallest: Option<&'a PointResult>,
}

/// "2.9 M connections/s at 4 M connections, 74 % of the rate at 100 k connections; 4.6 Mfps per direction, 61 % of …"
/// `several`: the device was measured with several numbers of cores, so each figure names its number.
fn found(headline: &[Headline], several: bool) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let (mut said, mut swept) = (None, false);
    for Headline { result, smallest } in headline {
        let mut part = rate(result);
        if result.connections == 0 {
            let baseline = result.metric == method::metric::IPV4_FORWARDING_THROUGHPUT.key;
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
            let _ = write!(part, " on {}", plural(result.cores.into(), "core"));
        }
        if let Some(s_cpu) = result.s_cpu.filter(|_| result.cores > 1 && !result.shares_core) {
            let _ = write!(
                part,
                " ({} times the rate on one core)",
                number::significant(s_cpu * f64::from(result.cores), 3)
            );
        }
        if let (Some(share), Some(smallest)) = (result.s_c, smallest) {
            let _ = write!(
                part,
                ", {} of the rate at {} connections",
                percent(share * 100.0),
                si(smallest.connections as f64, 3)
            );
        }
        if let Some(share) = result.forwarding_percent {
            let _ = write!(part, ", {} of plain forwarding", percent(share));
        }
        parts.push(part);
    }
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// The rate of a result in words.
fn rate(result: &PointResult) -> String {
    let known = metric::by_key(&result.metric);
    let unit = known.map(|m| m.unit);
    match result.median() {
        Some(median) if !result.nothing_passed() => {
            let sign = result.sign(median);
            let bound = match sign {
                "≥ " => "at least ",
                "< " => "less than ",
                _ => "",
            };
            format!("{bound}{}", per_second(unit, number::bound(sign, median, 2)))
        }
        None => {
            let what = known.map_or(result.metric.clone(), |m| number::uncapitalised(m.title));
            match result.below() {
                Some(failed) => format!("the {what} is less than {}", per_second(unit, failed.0 as f64)),
                None => format!("the {what} could not be measured"),
            }
        }
        Some(_) => {
            let what = known.map_or(result.metric.clone(), |m| number::uncapitalised(m.title));
            let lowest =
                result.lowest_tried().map_or_else(String::new, |r| format!(", {}", per_second(unit, r.0 as f64)));
            format!("no rate passed for the {what}, not even the lowest one tried{lowest}")
        }
    }
}

fn per_second(unit: Option<Unit>, value: f64) -> String {
    match unit {
        Some(Unit::FramesPerSecond) => format!("{} per direction", number::si_unit(value, 2, "fps")),
        Some(Unit::ConnectionsPerSecond) => format!("{} connections/s", si(value, 2)),
        _ => si(value, 2),
    }
}

/// Whether the device was the limit, as far as the calibration shows it.
fn device_limit(report: &Report, results: &[&PointResult], elsewhere: bool) -> String {
    let spare = |c: &&PointResult| Some(facts::ceiling(report, c)? / c.median().filter(|&m| m > 0.0)?);
    let least =
        |shared: bool| results.iter().filter(|c| c.shares_core == shared).filter_map(spare).min_by(f64::total_cmp);
    let (apart, shared) = (least(false), least(true));
    let Some(spare) = [apart, shared].into_iter().flatten().min_by(f64::total_cmp) else {
        return "The device lost frames at higher rates; the tester ceiling was not calibrated.".to_owned();
    };
    if spare * facts::BELIEVED_SHARE < 1.0 {
        return "The highest rate is within 10 % of the tester ceiling: the tester may be the limit.".to_owned();
    }
    if !facts::ceiling_is_whole(report) {
        // Every rate includes the cost of the link, which the calibration did not measure.
        let both = "each rate is that of the device and the tester's end of the link together, whose ceiling was not calibrated";
        return match apart {
            None => format!("Device and tester share a core: {both}."),
            Some(_) => format!("The device lost frames at higher rates; {both}."),
        };
    }
    let Some(apart) = apart else {
        let times = number::significant(spare, 2);
        return format!(
            "Device and tester share a core, so each rate is that of both together; the tester alone reaches {times} times the \
             highest rate."
        );
    };
    let times = number::significant(apart, 2);
    let the = if elsewhere { "For the other results the" } else { "The" };
    let both = if shared.is_some() { " Where they share a core, each rate is that of both together." } else { "" };
    format!("{the} device was the limit; the tester ceiling is at least {times} times each rate.{both}")
}

/// "For comparison: iptables on one core of a 2016 server, 223,500 connections/s at 4 M connections (…)."
fn comparison(report: &Report) -> Option<String> {
    let rank = |metric: &str| [MAX_CONN_EST_RATE.key, THROUGHPUT.key].iter().position(|m| *m == metric).unwrap_or(2);
    // The headline has the most cores, so the comparison takes the published value with the most cores.
    let best = report.beside.iter().min_by_key(|b| (rank(&b.metric), Reverse(b.published.cores)))?;
    let p = &best.published;
    let on = match p.cores {
        Some(1) => "one core of ".to_owned(),
        Some(n) => format!("{n} cores of "),
        None => String::new(),
    };
    let at = p.connections.map_or_else(String::new, |n| format!(" at {} connections", si(n as f64, 3)));
    let value = match metric::by_key(&p.metric).map(|m| m.unit) {
        Some(Unit::FramesPerSecond) => format!("{} frames/s per direction", grouped_f64(p.value)),
        Some(unit) => format!("{} {}", grouped_f64(p.value), unit.symbol()),
        None => grouped_f64(p.value),
    };
    let tolerance = match p.tolerance {
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
        p.label
    ))
}

/// The kind of run, and whether it is complete.
fn what_it_was(report: &Report) -> String {
    let conformance = &report.conformance;
    let mut text = match (conformance.procedure_conforms, report.header.scenario.full) {
        (true, _) => "The procedure conforms to RFC 2544 and RFC 9693.".to_owned(),
        (false, true) => {
            format!("The procedure departs from RFC 2544 or RFC 9693: {}.", conformance.departures.join("; "))
        }
        (false, false) => format!(
            "Quick run, not RFC 2544: trials of {}, {}; `--full` has the times and repetitions of the RFCs.",
            number::duration(report.header.scenario.measure.duration.0),
            plural(report.header.scenario.measure.repetitions.into(), "repetition")
        ),
    };
    text.extend([" ", &conformance.test_bed_in_words()]);
    for missing in facts::missing(report) {
        text.extend([" ", &missing]);
    }
    text
}
