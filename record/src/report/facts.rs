//! The facts of a report besides the results: conditions of the run, counters of the judge, and limits. Every format
//! prints the same sentences.

use super::Report;
use super::number::{self, grouped, si};
use super::ways::{self, WayCounts};
use crate::folder::{Calibration, Ceiling, Header, Over};
use crate::search::is_upper_end_the_testers;
use document::Pairs;
use method::trial::{Difference, Fault, Leg, SharedTuples, TrialOutcome};
use method::validity::{Rule, Spoiler};
use method::{Count, Example, Order, Rate, ResponderTable, TrialRecord, Verdict, witness};
use procedure::Metric;
use procedure::metric::{Gives, by_key};
use scenario::axis::{in_words, more_in_words};
use scenario::bed::Bed;
use scenario::{Link, Scenario, TestBed, VethIo};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Connections that a device and the tester counted after one phase 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Entries in the device's table.
    pub device: Count,
    /// Connections that the tester had received.
    pub tester: Count,
}

/// What the judge counted over all trials of a run, invalid ones included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrialCounts {
    /// Trials recorded.
    pub trials: u64,
    /// Of these: invalid.
    pub invalid: u64,
    /// Of these: invalid because of the host.
    pub by_host: u64,
    /// Of the invalid ones: because of the tester.
    pub by_tester: u64,
    /// Of the invalid ones: because of an incomplete phase 1.
    pub by_phase1: u64,
    /// Trials that each rule of validity decided, by name; empty if the record has other rules.
    pub by_rule: BTreeMap<&'static str, u64>,
    /// Trials after whose phase 1 the device counted fewer connections than the tester had received.
    pub uncounted: u64,
    /// The worst of these: connections in the device's table, and connections that the tester had received.
    pub worst_count: Option<Counts>,
    /// The most connections of a phase 1 that had an outside address and port of another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedTuples>,
    /// Frames sent.
    pub sent: Count,
    /// Frames received correctly, duplicates excluded.
    pub received: Count,
    /// Of these: reordered.
    pub reordered: Count,
    /// Left to right, and right to left.
    pub ways: [WayCounts; 2],
    /// All other frames received, by fault.
    pub faults: BTreeMap<Fault, Count>,
    /// The first of these of each kind at each port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<PortExample>,
    /// Frames received correctly that differ in what an RFC leaves to the device, by difference.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub differences: BTreeMap<Difference, Count>,
    /// Frames that each queue of the right port of a bed received, of several queues.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub right_queues: Vec<Count>,
    /// Frames that each queue of the left port received.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_queues: Vec<Count>,
    /// A hop limit of correctly received frames that routers do not leave of the hop limit sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_hop: Option<u8>,
}

/// A wrong frame, and where it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PortExample {
    /// `left` or `right`.
    pub port: &'static str,
    /// The frame, beside the expected one.
    #[serde(flatten)]
    pub example: Example,
}

impl TrialCounts {
    /// Adds up all trials of a run.
    pub fn of(trials: &[TrialRecord], header: &Header) -> TrialCounts {
        let sent_with = header.scenario.traffic.ttl;
        let mut sum = Leg::default();
        for outcome in trials.iter().map(|t| &t.outcome) {
            for leg in legs(outcome).into_iter().flatten() {
                sum.sent += leg.sent;
                sum.received += leg.received;
                sum.reordered += leg.reordered;
                sum.faults.merge(&leg.faults);
                leg.differences.iter().for_each(|(&of, n)| *sum.differences.entry(of).or_default() += n);
            }
            if let Some(leg) = &outcome.phase1 {
                sum.faults.merge(&leg.faults);
            }
        }
        let invalid = |by: Spoiler| {
            let mine = |t: &&TrialRecord| matches!(&t.verdict, Verdict::Invalid(reason) if reason.spoiler() == by);
            trials.iter().filter(mine).count() as u64
        };
        let metrics = header.scenario.procedures.metrics();
        let fills: Vec<&Metric> = metrics.filter(|metric| metric.gives == Some(Gives::TableSize)).collect();
        // Compares the device's table with the tester's: a connection that is missing there was never tracked.
        let counts = || {
            // A search for the capacity overfills the table.
            let trials = trials.iter().filter(|t| !fills.iter().any(|metric| t.measurement.contains(metric.key)));
            let stores = trials.filter_map(|t| t.outcome.store.as_ref());
            let counts = stores.filter_map(|s| Some(Counts { device: s.dut_entries?, tester: s.learned }));
            counts.filter(|counts| counts.device < counts.tester)
        };
        let decided_by =
            |rule: Rule| trials.iter().filter(|t| Rule::of(&t.verdict, &t.outcome) == Some(rule)).count() as u64;
        let rules: &[Rule] = if header.has_known_rules() { &Rule::ALL } else { &[] };
        let (by_host, by_tester) = (invalid(Spoiler::Host), invalid(Spoiler::Tester));
        let [right_queues, left_queues] = queues(trials, header);
        let by_phase1 = invalid(Spoiler::Phase1);
        let hops = trials.iter().flat_map(|t| t.outcome.hop_limit);
        TrialCounts {
            trials: trials.len() as u64,
            invalid: by_host + by_tester + by_phase1,
            by_host,
            by_tester,
            by_phase1,
            by_rule: rules.iter().map(|&rule| (rule.name(), decided_by(rule))).collect(),
            uncounted: counts().count() as u64,
            worst_count: counts().min_by_key(|counts| counts.device * 1_000 / counts.tester.max(1)),
            shared: trials.iter().filter_map(|t| t.outcome.store.as_ref()?.shared).max_by_key(|found| found.shared),
            sent: sum.sent,
            received: sum.received,
            reordered: sum.reordered,
            ways: ways::counts(trials),
            faults: sum.faults.iter().collect(),
            examples: examples(trials),
            differences: sum.differences,
            right_queues,
            left_queues,
            kept_hop: hops.flatten().find(|&hop| witness::hop_in_words(sent_with, hop).is_some()),
        }
    }
}

fn legs(outcome: &TrialOutcome) -> [Option<&Leg>; 3] {
    [Some(&outcome.forward), Some(&outcome.reverse), outcome.validation.as_ref()]
}

/// The first example of each fault at each port.
fn examples(trials: &[TrialRecord]) -> Vec<PortExample> {
    let mut first: BTreeMap<(Fault, &'static str), &Example> = BTreeMap::new();
    for outcome in trials.iter().map(|t| &t.outcome) {
        for (port, leg) in witness::legs(outcome) {
            for example in &leg.examples {
                first.entry((example.fault, port)).or_insert(example);
            }
        }
    }
    first.into_iter().map(|((_, port), example)| PortExample { port, example: example.clone() }).collect()
}

/// Frames that each queue of the right and of the left port of a bed received.
fn queues(trials: &[TrialRecord], header: &Header) -> [Vec<Count>; 2] {
    let mut queues = [Vec::new(), Vec::new()];
    let trials = trials.iter().filter(|_| header.scenario.bed.is_some());
    for outcome in trials.map(|t| &t.outcome) {
        for (at, leg) in [0, 1, 1].into_iter().zip(legs(outcome)) {
            let arrived = leg.map_or(&[][..], |leg| &leg.arrived);
            queues[at].resize(arrived.len().max(queues[at].len()), 0);
            queues[at].iter_mut().zip(arrived).for_each(|(sum, frames)| *sum += frames);
        }
    }
    queues
}

pub(super) fn judged_in_words(judged: &TrialCounts) -> String {
    let faults = judged.faults.iter().map(|(fault, n)| format!(", {} {}", grouped(*n), fault.name()));
    let counts = Rule::ALL.iter().filter_map(|rule| Some((rule.name(), judged.by_rule.get(rule.name())?)));
    let rules: Vec<String> = counts.map(|(rule, n)| format!("{rule} {}", grouped(*n))).collect();
    let rules = if rules.is_empty() {
        String::new()
    } else {
        format!(" Decided by the rules of validity: {}.", rules.join(", "))
    };
    let queues = [("right", &judged.right_queues), ("left", &judged.left_queues)].into_iter();
    let queues = queues.filter(|(_, queues)| !queues.is_empty()).map(|(side, queues)| {
        let each: Vec<String> = queues.iter().copied().map(grouped).collect();
        format!(" Queues of the {side} port received {}.", each.join(", "))
    });
    format!(
        "{} ({} invalid): {} frames sent, {} received correctly{}.{}{}{rules}",
        number::plural(judged.trials, "trial"),
        grouped(judged.invalid),
        grouped(judged.sent),
        grouped(judged.received),
        faults.collect::<String>(),
        ways::in_words(&judged.ways),
        queues.collect::<String>()
    )
}

/// The largest length of a frame, if translation or encapsulation makes it longer than the IPv4 frame.
fn longest(scenario: &Scenario) -> String {
    match scenario.overhead() {
        0 => String::new(),
        more => format!(" as IPv4, up to {} with IPv6 headers", scenario.traffic.frame_size + more),
    }
}

pub(super) fn conditions(report: &Report) -> Pairs {
    let scenario = &report.header.scenario;
    let (t, m) = (&scenario.traffic, &scenario.measure);
    let direction = scenario.directions_in_words();
    let waits =
        [("start delay", m.start_delay), ("drain", m.drain), ("settle", m.settle), ("phase 1 drain", m.phase1_drain)];
    let waits: Vec<String> = waits.iter().map(|(name, wait)| format!("{name} {}", number::duration(wait.0))).collect();
    let native = scenario.foreground_in_words().map_or_else(String::new, |words| format!("; {words}"));
    let frames = scenario.frame_sizes_in_words();
    let mut conditions = vec![
        ("Frames", format!("{frames} octets with FCS{}, {direction}{native}", longest(scenario))),
        ("Link", link(scenario)),
        ("Trials", format!("{}; {}", number::duration(m.duration.0), waits.join(", "))),
        (
            "Search",
            format!(
                "precision {}; acceptance {} of the frames, in phase 1 {}",
                scenario.precision_in_words(),
                number::share(m.acceptance_ppm),
                number::share(m.phase1_acceptance_ppm)
            ),
        ),
    ];
    if scenario.tester.workers > 1 {
        conditions.push(("Tester", format!("{} workers, each in both directions", scenario.tester.workers)));
    }
    let goals: Vec<String> = scenario.goals().into_iter().map(|goal| goal.name).collect();
    if !goals.is_empty() {
        conditions.push(("Goals", format!("MLRsearch (RFC 9971): {}", goals.join(", "))));
    }
    let measured = m.metrics.iter().filter_map(|key| scenario.procedures.of(key));
    conditions.extend(measured.flat_map(|procedure| (procedure.conditions)(&scenario.procedures)));
    if scenario.alpha_is_auto() {
        let words = "alpha 1, at most 0.9 of the reverse one-way throughput";
        conditions.push(("Validation", words.to_owned()));
    } else if let Some(alpha) = scenario.alpha_ppm() {
        conditions.push(("Validation", format!("alpha {}", number::significant(f64::from(alpha) / 1e6, 6))));
    }
    if let Some(words) = scenario.shortened_in_words() {
        conditions.push(("Searches", words));
    }
    if t.responder_order != Order::Random && scenario.is_stateful() {
        let words = "reads its state table round robin; RFC 9693, section 4.10, recommends pseudo-random order";
        conditions.push(("Responder", words.to_owned()));
    }
    if t.responder_table == ResponderTable::Update && scenario.is_stateful() {
        let words = "updates its state table in phase 2 (RFC 9693, section 4.7)";
        conditions.push(("State table", words.to_owned()));
    }
    if !t.popularity.is_uniform() {
        let most = scenario.sweep.connections.iter().copied().max().filter(|&n| n > 0);
        let most = most.map_or_else(String::new, |n| {
            let part = t.popularity.part_of((n / 100).max(1), n) * 100.0;
            format!("; of {} the most popular 1 % have {part:.1} % of the frames", number::plural(n, "connection"))
        });
        conditions.push(("Popularity", format!("{}{most}", t.popularity)));
    }
    conditions.push(("Seed", t.seed.to_string()));
    Pairs::new("Traffic and trials", ["condition", "value"], conditions)
}

fn link(scenario: &Scenario) -> String {
    let link = match &scenario.link {
        Link::Ports if scenario.sends_queries() => "IP stacks at two ports of the tester, DNS over UDP".to_owned(),
        _ if scenario.sends_queries() => "veth pairs between IP stacks, DNS over UDP".to_owned(),
        Link::InProcess { depth } => format!("in-process, queue depth {} frames", grouped(*depth as u64)),
        Link::Tap => "TAP pair".to_owned(),
        Link::Ports if scenario.bed.as_ref().is_some_and(Bed::makes_links) => {
            "links to boxes on the tester's machine".to_owned()
        }
        Link::Ports => "two ports of the tester".to_owned(),
        Link::Veth { io } => {
            let io = match io {
                VethIo::AfPacket => "AF_PACKET",
                VethIo::AfXdpGeneric => "AF_XDP, generic",
                VethIo::AfXdpNative => "AF_XDP, native",
            };
            format!("two veth pairs, {io}")
        }
    };
    match &scenario.impair {
        Some(impair) => format!("{link}; IMPAIRED ON PURPOSE: {}", impair.in_words()),
        None => link,
    }
}

pub(super) fn limits(report: &Report) -> Pairs {
    let Some(c) = &report.calibration else { return Pairs::default() };
    let scenario = &report.header.scenario;
    let shared = report.results.iter().filter(|c| c.shares_core).count();
    let sharing = match shared {
        0 => "no".to_owned(),
        n if n == report.results.len() => "yes: S_CPU is not a scaling result".to_owned(),
        n => format!("in {n} of {} results: their S_CPU is not a scaling result", report.results.len()),
    };
    let mut rows: Vec<_> = c.ceilings.iter().map(|c| (ceiling_over(scenario, c.over), ceiling_in_words(c))).collect();
    rows.extend([
        ("Send", format!("{} a frame, back-end excluded", from_to(&c.ceilings, |c| c.send_ps))),
        ("Receive and judge", format!("{} a frame, back-end excluded", from_to(&c.ceilings, |c| c.receive_ps))),
        (
            "Departure error",
            format!("median {} ns, 99th percentile {} ns", grouped(c.departure_p50_ns), grouped(c.departure_p99_ns)),
        ),
        ("Latency floor", floor_in_words(c)),
        ("Clock", format!("{}, {} a reading", c.clock, nanoseconds(c.clock_read_ps))),
        ("Shares a core with the device", sharing),
    ]);
    Pairs::new("Tester, calibrated before the run", ["limit", "value"], rows)
}

/// The tester's own part of a delay: over the in-process link, and over a cable like those of the device.
pub(super) fn floor_in_words(c: &Calibration) -> String {
    let within = format!("{} ns, in-process link", grouped(c.latency_floor_ns));
    match c.latency_floor() {
        (_, Over::Process) => within,
        (floor, over) => format!("{within}; {} ns, {}", grouped(floor), over.words()),
    }
}

/// The link over which a ceiling was measured. The ceiling of a scenario with TAPs is measured without them, because
/// the other end of a TAP is the kernel.
fn ceiling_over(scenario: &Scenario, over: Over) -> &'static str {
    match over {
        Over::Process if scenario.link == Link::Tap => "Ceiling without the TAP",
        Over::Process => "Ceiling, in-process link",
        Over::AfPacket => "Ceiling, veth AF_PACKET",
        Over::AfXdpGeneric => "Ceiling, veth AF_XDP generic",
        Over::AfXdpNative => "Ceiling, veth AF_XDP native",
        Over::Ports => "Send ceiling of the ports",
        Over::Dns => "Ceiling, DNS client to server",
    }
}

/// Whether the ceilings include the back-end of this scenario. They do not over a TAP, which cannot work without the kernel,
/// nor in runs of versions that did not yet calibrate over veth.
pub(super) fn ceiling_is_whole(report: &Report) -> bool {
    let link = &report.header.scenario.link;
    let over = |c: &Calibration| c.ceilings.iter().all(|c| c.over == Over::of(link));
    *link != Link::Tap && report.calibration.as_ref().is_none_or(over)
}

fn ceiling_in_words(c: &Ceiling) -> String {
    let workers = if c.workers > 1 { format!("{} workers together, ", c.workers) } else { String::new() };
    let frames = match c.over {
        Over::Dns => format!("{} queries/s", si(c.frames.0 as f64, 3)),
        _ => format!("{} {}", number::si_unit(c.frames.0 as f64, 3, "fps"), method::trial::of_rate(c.direction_ratio)),
    };
    let rates = match c.set_up {
        None if c.axes.is_empty() => frames,
        None => format!("{}: {frames}", in_words(&c.axes)),
        Some(rate) => {
            let (n, rate) = (grouped(c.connections), si(rate.0 as f64, 3));
            format!("{n} connections{}: {frames}, {rate} connections/s", more_in_words(&c.axes))
        }
    };
    workers + &rates
}

fn from_to(ceilings: &[Ceiling], figure: impl Fn(&Ceiling) -> u64) -> String {
    let figures = || ceilings.iter().map(&figure);
    match (figures().min(), figures().max()) {
        (Some(least), Some(most)) if least < most => {
            format!("{} to {}", number::significant(least as f64 / 1e3, 3), nanoseconds(most))
        }
        (least, _) => nanoseconds(least.unwrap_or(0)),
    }
}

fn nanoseconds(picoseconds: u64) -> String {
    format!("{} ns", number::significant(picoseconds as f64 / 1e3, 3))
}

/// Share of the tester ceiling above which natmeter attributes no rate to the device (METHODOLOGY.md, the tester's own
/// ceiling).
pub(super) const BELIEVED_SHARE: f64 = 0.9;

/// The tester ceiling for the metric of a result, at its number of connections, per direction.
pub(super) fn ceiling(report: &Report, result: &super::PointResult) -> Option<f64> {
    let here = report.header.scenario.at(result.dut, result.connections, &result.axes);
    let ceiling = report.calibration.as_ref()?.at(&here, result.connections, &result.axes)?.of(&result.metric)?.0;
    (ceiling > 0).then_some(ceiling as f64)
}

/// Cores of the tester's machine, where that is recorded.
pub(super) fn cores_here(report: &Report) -> Option<u32> {
    let cores = report.facts.tester.get("cores")?.split(',').count();
    u32::try_from(cores).ok()
}

/// What this machine lacks where tester, device and other programs need a core each, and more than it has.
pub(super) fn too_few_cores(report: &Report) -> Option<String> {
    let scenario = &report.header.scenario;
    let is_here = |dut: &scenario::Dut| matches!(dut.place(scenario), TestBed::SameProcess | TestBed::SameMachine);
    let of_device = report.results.iter().filter(|c| scenario.duts.get(c.dut).is_some_and(is_here)).map(|c| c.cores);
    let (here, needed) = (cores_here(report)?, of_device.max()? + 2);
    (here < needed).then(|| {
        format!(
            "{} too few: use {needed}",
            if here == 1 { "1 core is".to_owned() } else { format!("{here} cores are") }
        )
    })
}

/// Measurements of the plan that have no result, and why: one sentence each.
pub(super) fn missing(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    let without = report.facts.without_result();
    if without > 0 {
        sentences.push(format!("{} gave no result; see the doubts.", number::plural(without as u64, "measurement")));
    }
    if report.measured + without < report.planned {
        let limited = report.header.scenario.time_limit.is_some();
        let what = if limited { "Within the time limit" } else { "Not finished" };
        let all = number::plural(report.planned as u64, "measurement");
        let done = grouped((report.measured + without) as u64);
        sentences.push(format!("{what}: {done} of {all} done; `natmeter resume` continues the run."));
    }
    sentences
}

/// Whether the upper end of the searches follows from the tester ceiling and not from the scenario.
pub(super) fn is_testers_limit(report: &Report, result: &super::PointResult) -> bool {
    let here = report.header.scenario.at(result.dut, result.connections, &result.axes);
    let (ceiling, null) = testers_ends(report, result);
    is_upper_end_the_testers(here.max_rate(), ceiling, null)
}

/// The tester ceiling, and what the null device reaches.
fn testers_ends(report: &Report, result: &super::PointResult) -> (Option<Rate>, Option<Rate>) {
    let null = report.calibration.as_ref().and_then(|c| c.null_of(&result.metric, |point| result.is_at(point)));
    (ceiling(report, result).map(|c| Rate(c as u64)), null)
}

/// The upper end of a search whose highest rate passed, in words.
fn upper_end(report: &Report, result: &super::PointResult) -> &'static str {
    let (ceiling, null) = testers_ends(report, result);
    match is_testers_limit(report, result) {
        false => "the scenario's highest rate",
        true if null.is_some() && null < ceiling => {
            "90 % of the rate of the null device on its path, the highest rate that natmeter tries,"
        }
        true if ceiling_is_whole(report) => "90 % of the tester ceiling, the highest rate that natmeter tries,",
        true => "90 % of the tester ceiling, measured without the kernel's end of the link,",
    }
}

/// Whether the highest rate that passed is that of the scenario, so that the device reaches all that was asked of it.
pub(super) fn is_scenarios_limit(report: &Report, result: &super::PointResult) -> bool {
    let measured = super::parts::measured(&result.metric);
    let is_rate = by_key(measured).is_none_or(|metric| metric.bounded_by.is_none());
    is_rate && !is_testers_limit(report, result)
}

/// Why a result that no upper end bounds is a lower bound: what passed, or what was not seen.
pub(super) fn lower_bound(report: &Report, result: &super::PointResult) -> String {
    let bounded_by = by_key(super::parts::measured(&result.metric)).and_then(|metric| metric.bounded_by);
    bounded_by.map_or_else(|| format!("{} passed", upper_end(report, result)), str::to_owned)
}

pub(crate) fn place(result: &super::PointResult) -> String {
    let metric = result.known.map_or(result.metric.as_str(), |m| m.title);
    format!("{} of {}", number::uncapitalised(metric), device_at(result))
}

pub(super) fn device_at(result: &super::PointResult) -> String {
    let cores = result.cores_in_words();
    let connections = match result.connections {
        0 => String::new(),
        n => format!(", {} connections", grouped(n)),
    };
    let swept = more_in_words(&result.axes);
    format!("{}, {cores}{connections}{swept}", result.dut_name)
}
