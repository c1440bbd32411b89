//! What was found, in sentences: the last lines that a person reads. Its own file because each sentence must be true
//! in every case, and the cases are many: tester limit, nothing passed, closed loop, an unfinished run.

use super::number::{self, grouped_f64, percent, plural, si};
use super::result::PointResult;
use super::{Report, facts, limits};
use scenario::axis::{in_order, in_words};

use method::metric::{self, MAX_CONN_EST_RATE, THROUGHPUT, Unit};
use std::cmp::Reverse;
use std::fmt::Write;

/// All sentences, in order: per device what it does and who was the limit; a comparison; what the run was.
pub fn of(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    if !report.audit.findings.is_empty() {
        sentences.push("The record of this run is damaged: believe none of its figures.".to_owned());
    }
    if report.self_test.as_ref().is_some_and(|t| !t.passed) {
        sentences.push("The tester's self-test failed: believe none of these figures.".to_owned());
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
        // Behind the name of a device the sentence goes on, without one it begins.
        sentences.push(if name.is_empty() { number::capitalised(&found) } else { format!("{name}{found}") });
    }
    // What bounds all devices alike is said once, after them.
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
        // Some devices or points may have been bounded by something else, which has been said.
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

/// The results of a device at its headline point: most cores, then most of what else is swept, then most connections, each
/// metric once.
fn headline<'a>(results: &[&'a PointResult]) -> Vec<Headline<'a>> {
    let mut metrics: Vec<&str> = Vec::new();
    for result in results {
        if !metrics.contains(&result.metric.as_str()) {
            metrics.push(&result.metric);
        }
    }
    // Set-up rate before throughput: that is the order in which a connection lives.
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
    /// The same with the fewest connections, if that is another result.
    smallest: Option<&'a PointResult>,
}

/// "2.9 M connections/s at 4 M connections, 74 % of the rate at 100 k; 4.6 Mfps a direction, 61 % of …"
/// `several`: the device was measured on several numbers of cores, so that each figure says of how many it is.
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
            let _ =
                write!(part, " ({} times the rate of one)", number::significant(s_cpu * f64::from(result.cores), 3));
        }
        if let (Some(share), Some(smallest)) = (result.s_c, smallest) {
            let _ = write!(part, ", {} of the rate at {}", percent(share * 100.0), si(smallest.connections as f64, 3));
        }
        if let Some(share) = result.forwarding_percent {
            let _ = write!(part, ", {} of plain forwarding", percent(share));
        }
        parts.push(part);
    }
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// The rate of a result, or that there is none.
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
            format!("no rate passed for the {what}, not even the lowest tried{lowest}")
        }
    }
}

fn per_second(unit: Option<Unit>, value: f64) -> String {
    match unit {
        Some(Unit::FramesPerSecond) => format!("{} a direction", number::si_unit(value, 2, "fps")),
        Some(Unit::ConnectionsPerSecond) => format!("{} connections/s", si(value, 2)),
        _ => si(value, 2),
    }
}

/// The device was the limit, as far as the calibration can say so.
fn device_limit(report: &Report, results: &[&PointResult], elsewhere: bool) -> String {
    let spare = |c: &&PointResult| Some(facts::ceiling(report, c)? / c.median().filter(|&m| m > 0.0)?);
    let least =
        |shared: bool| results.iter().filter(|c| c.shares_core == shared).filter_map(spare).min_by(f64::total_cmp);
    let (apart, shared) = (least(false), least(true));
    let Some(spare) = [apart, shared].into_iter().flatten().min_by(f64::total_cmp) else {
        return "The device lost frames above that; the tester's own limit was not calibrated.".to_owned();
    };
    if spare * facts::BELIEVED_SHARE < 1.0 {
        return "The highest rate is within 10 % of the tester's own limit: it may not be the device's.".to_owned();
    }
    if !facts::ceiling_is_whole(report) {
        // The link's own share is in every rate, and nobody knows how large it is.
        let both =
            "a rate is that of the device and of the tester with its end of the link, which has no ceiling of its own";
        return match apart {
            None => format!("Device and tester share a core: {both}."),
            Some(_) => format!("The device lost frames above that; {both}."),
        };
    }
    let Some(apart) = apart else {
        let times = number::significant(spare, 2);
        return format!(
            "Device and tester share a core, so a rate is that of both; alone, the tester reaches {times} times the highest."
        );
    };
    let times = number::significant(apart, 2);
    let the = if elsewhere { "Elsewhere the" } else { "The" };
    let both = if shared.is_some() { " Where they share a core, a rate is that of both." } else { "" };
    format!("{the} device was the limit; the tester had {times} times to spare.{both}")
}

/// "For comparison: iptables on one core of a 2016 server, 223,500 connections/s at 4 M connections (…)."
fn comparison(report: &Report) -> Option<String> {
    let rank = |metric: &str| [MAX_CONN_EST_RATE.key, THROUGHPUT.key].iter().position(|m| *m == metric).unwrap_or(2);
    // The headline has the most cores, so its neighbour is compared.
    let best = report.beside.iter().min_by_key(|b| (rank(&b.metric), Reverse(b.published.cores)))?;
    let p = &best.published;
    let on = match p.cores {
        Some(1) => "one core of ".to_owned(),
        Some(n) => format!("{n} cores of "),
        None => String::new(),
    };
    let at = p.connections.map_or_else(String::new, |n| format!(" at {} connections", si(n as f64, 3)));
    let value = match metric::by_key(&p.metric).map(|m| m.unit) {
        Some(Unit::FramesPerSecond) => format!("{} frames/s a direction", grouped_f64(p.value)),
        Some(unit) => format!("{} {}", grouped_f64(p.value), unit.symbol()),
        None => grouped_f64(p.value),
    };
    let tolerance = match p.tolerance {
        Some(t) if t > 0.0 => format!(", {} % received accepted", number::significant((1.0 - t) * 100.0, 6)),
        _ => String::new(),
    };
    let source = p.source();
    Some(format!(
        "For comparison: {} on {on}a {}, {value}{at}{tolerance} ({}, {}).",
        p.software(),
        source.machine,
        source.cite,
        p.label
    ))
}

/// What kind of run it was, and whether it is complete.
fn what_it_was(report: &Report) -> String {
    let mut text = match (report.conformance.conforming, report.header.scenario.full) {
        (true, _) => "The run conforms to RFC 2544 and RFC 9693.".to_owned(),
        (false, true) => format!("Not conforming: {}.", report.conformance.departures.join("; ")),
        (false, false) => format!(
            "Quick, not RFC 2544: trials of {}, {}; `--full` conforms.",
            number::duration(report.header.scenario.measure.duration.0),
            plural(report.header.scenario.measure.repetitions.into(), "repetition")
        ),
    };
    for missing in facts::missing(report) {
        text.extend([" ", &missing]);
    }
    text
}
