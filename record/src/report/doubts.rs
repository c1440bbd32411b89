//! Doubts about a run: why its record or its results may mislead. Every format prints the same sentences.

use super::facts::{self, BELIEVED_SHARE, Counts, TrialCounts, ceiling, place};
use super::number::{self, grouped};
use super::result::PointResult;
use super::{Report, evidence, parts, section, ways};
use crate::audit::Basis;
use crate::doubt::Doubt;
use crate::folder::SHARED_CORES;
use crate::plan::Measurement;
use crate::search::lowered;
use crate::store::{RESULTS, TRIALS};
use method::trial::{Difference, Fault};
use method::witness::hop_in_words;
use method::{Count, ResultKind};
use std::collections::BTreeSet;

/// All doubts: those recorded with the facts, and those that follow from the results.
pub(super) fn of(report: &Report, torn: &[(&'static str, u64)], missing: &[&'static str]) -> Vec<String> {
    let mut doubts: Vec<String> =
        report.audit.findings.iter().map(|finding| format!("The record is damaged: {finding}.")).collect();
    doubts.extend(rules_of_another_version(report));
    if let Some(test) = report.self_test.as_ref().filter(|t| !t.passed) {
        let failed = test.named("failed").join(", ");
        doubts.push(format!("The self-test failed ({failed}): do not use any of these figures."));
    }
    let open = report.self_test.as_ref().map(|t| t.named("inconclusive").join(", ")).filter(|open| !open.is_empty());
    if let Some(open) = open {
        doubts.push(format!("The self-test was inconclusive ({open}) because the host was too busy: repeat it."));
    }
    doubts.extend(report.facts.doubts.iter().map(Doubt::to_string));
    wrong_frames(report, &mut doubts);
    let shared = report.results.iter().filter(|c| c.shares_core).count();
    if shared > 0 {
        let everywhere = shared == report.results.len();
        let at = if everywhere { String::new() } else { format!(" in {shared} of {} results", report.results.len()) };
        let there = if everywhere { "" } else { " there" };
        doubts.push(format!(
            "Tester and device share a core{}{at}: each rate{there} is that of tester and device together, and S_CPU{there} is not a scaling result. Use a machine with more cores.",
            shared_cores(report)
        ));
    }
    doubts.extend(evidence::doubt(report));
    near_the_ceiling(report, &mut doubts);
    doubts.extend(lowered_rates(report));
    let repetitions = || report.results.iter().flat_map(|c| &c.repetitions);
    let of_searches = |n: usize, what: &str| {
        let were = if n == 1 { "was" } else { "were" };
        (n > 0).then(|| format!("{n} of {} searches {were} {what}", repetitions().count()))
    };
    let early = "one-sided: a single early verdict may have decided the result; check the search traces.";
    doubts.extend(of_searches(repetitions().filter(|r| r.one_sided).count(), early));
    let j = &report.judged;
    let phase1_lost: Count = report.results.iter().map(|c| c.phase1_lost).sum();
    let lost = number::plural(phase1_lost, "frame");
    if j.invalid * 10 > j.trials {
        let lost = if phase1_lost > 0 { format!("; phase 1 lost {lost} and was repeated") } else { String::new() };
        let idle = facts::too_few_cores(report).unwrap_or_else(|| "an idle machine has fewer".to_owned());
        let idle = format!("; {idle}");
        let by = [(j.by_host, "host"), (j.by_tester, "tester"), (j.by_phase1, "phase 1")];
        let by = by.iter().filter(|(n, _)| *n > 0).map(|(n, cause)| format!("{cause} {}", grouped(*n)));
        doubts.push(format!(
            "{} of {} trials were invalid ({}{lost}){}.",
            grouped(j.invalid),
            grouped(j.trials),
            by.collect::<Vec<_>>().join(", "),
            if j.by_host * 2 > j.invalid { idle } else { String::new() }
        ));
    }
    if phase1_lost > 0 && j.invalid * 10 <= j.trials {
        doubts.push(format!("Phase 1 before phase 2 lost {lost} in total; it was repeated."));
    }
    if let Some(Counts { device, tester }) = j.worst_count {
        doubts.push(format!(
            "In {} the device's own table held fewer entries after phase 1 than the tester had received connections, at worst \
             {} of {}: the device may not track every connection.",
            number::plural(j.uncounted, "trial"),
            grouped(device),
            grouped(tester)
        ));
    }
    if let Some(found) = j.shared.filter(|found| found.shared > 0) {
        doubts.push(format!(
            "{} of {} connections of a phase 1 share outside address and port, and remote address and port, with another one: \
             the device gave out a port twice (RFC 4787, REQ-3), and a frame to such a connection reaches one of them.",
            grouped(found.shared),
            grouped(found.of)
        ));
    }
    let is_wrong = j.faults.keys().any(|fault| fault.is_of_device());
    let alpha = if is_wrong { "" } else { ": a smaller alpha may give a higher rate" };
    let validation = format!("limited by the validation, not by connection set-up{alpha}.");
    doubts.extend(of_searches(report.results.iter().map(|c| c.validation_failed).sum(), &validation));
    different_frames(report, &mut doubts);
    doubts.extend(ways::doubt(&j.ways));
    doubts.extend(section::doubts(report));
    starved_queues(j, &mut doubts);
    let hop = j.kept_hop.and_then(|hop| hop_in_words(report.header.scenario.traffic.ttl, hop));
    doubts.extend(hop.map(|words| format!("Frames were received with {words}.")));
    for (file, torn) in torn {
        doubts.push(format!(
            "{file} ends in an incomplete line of {torn} bytes, which this report ignores: the run was killed."
        ));
    }
    // The audit reports the other files.
    for file in missing.iter().filter(|file| ![TRIALS, RESULTS].contains(file)) {
        doubts.push(format!("{file} is missing, so this report lacks its content: restore the file from a copy."));
    }
    doubts
}

/// Returns a doubt if verdicts and results were not derived again.
fn rules_of_another_version(report: &Report) -> Option<String> {
    let header = &report.header;
    if report.audit.basis == Basis::DerivedAgain {
        return None;
    }
    let rules = match header.rules {
        None => format!("Version {} of the run folder does not name its rules", header.record),
        Some(rules) => format!("The run has version {rules} of the rules, this natmeter version {}", method::RULES),
    };
    let natmeter = &header.version;
    Some(format!("{rules}: verdicts and results are as natmeter {natmeter} recorded them, not derived again."))
}

/// The cores that tester and devices share, where the facts of the devices name them.
fn shared_cores(report: &Report) -> String {
    let shared = report.facts.duts.values().filter_map(|facts| facts.get(SHARED_CORES));
    let cores: BTreeSet<&str> = shared.flat_map(|cores| cores.split(", ")).collect();
    let cores: Vec<&str> = cores.into_iter().collect();
    if cores.is_empty() { String::new() } else { format!(" (number {})", cores.join(", ")) }
}

fn near_the_ceiling(report: &Report, doubts: &mut Vec<String>) {
    let near = |c: &&PointResult| {
        let believed = ceiling(report, c).map(|ceiling| ceiling * BELIEVED_SHARE);
        c.bound == ResultKind::Exact && c.median().zip(believed).is_some_and(|(median, believed)| median > believed)
    };
    let results: Vec<String> = report.results.iter().filter(near).map(place).collect();
    if !results.is_empty() {
        doubts
            .push(format!(
                "Above 90 % of the tester ceiling, so the tester may be the limit: {}. Use a faster machine, or `workers` in [tester].",
                results.join("; ")
            ));
    }
}

/// Returns doubts about rates that the scenario gives but its trials did not reach.
fn lowered_rates(report: &Report) -> BTreeSet<String> {
    let calibration = report.calibration.clone().unwrap_or_default();
    let is_of = |result: &PointResult, m: &Measurement| {
        result.is_at(&m.point) && parts::measured(&result.metric) == m.metric && !result.repetitions.is_empty()
    };
    let is_measured = |m: &&Measurement| report.results.iter().any(|result| is_of(result, m));
    let doubt = |m: &Measurement| {
        let (given, most) = lowered(m, &report.header.scenario, &calibration)?;
        let metric = procedure::metric::by_key(&m.metric).map_or(m.metric.as_str(), |metric| metric.title);
        Some(format!(
            "The trials of {} had {} frames/s, not the {} that the scenario gives: `max-rate` or the tester allows no more.",
            number::uncapitalised(metric),
            grouped(most.0),
            grouped(given.0)
        ))
    };
    report.header.plan.measurements.iter().filter(is_measured).filter_map(doubt).collect()
}

fn starved_queues(judged: &TrialCounts, doubts: &mut Vec<String>) {
    for (side, queues) in [("right", &judged.right_queues), ("left", &judged.left_queues)] {
        if let Some((queue, frames)) = method::starved_queue(queues) {
            doubts.push(format!(
                "Queue {queue} of the {side} port received {} of {} frames, less than half of its share: the tester's other \
                 queues may be its limit.",
                grouped(frames),
                grouped(queues.iter().sum())
            ));
        }
    }
}

fn different_frames(report: &Report, doubts: &mut Vec<String>) {
    let differ = |(difference, n): (&Difference, &Count)| format!("{} {}", grouped(*n), difference.name());
    let different: Vec<String> = report.judged.differences.iter().map(differ).collect();
    if !different.is_empty() {
        doubts.push(format!(
            "Of {} right frames, the device delivered {}.",
            grouped(report.judged.received),
            different.join(", ")
        ));
    }
}

fn wrong_frames(report: &Report, doubts: &mut Vec<String>) {
    let wrong: Vec<String> = report
        .judged
        .faults
        .iter()
        .filter(|(fault, _)| !matches!(fault, Fault::Foreign | Fault::Late))
        .map(|(fault, n)| {
            let example = report.judged.examples.iter().find(|example| example.example.fault == *fault);
            let example = example.map(|at| format!(" (at the {} port, {})", at.port, at.example.in_words()));
            format!("{} {}{}", grouped(*n), fault.name(), example.unwrap_or_default())
        })
        .collect();
    if !wrong.is_empty() {
        doubts.push(format!(
            "Faulty frames arrived and do not count as received: {}. `[link.capture]` keeps frames to look at.",
            wrong.join(", ")
        ));
    }
}
