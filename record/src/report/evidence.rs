//! Whether the device was the limit of a result, as far as the record shows it. The null device, measured on the same path
//! before and after a point, says what host and tester could do at that time. METHODOLOGY.md has the rule.

use super::facts::{self, BELIEVED_SHARE};
use super::number::{self, plural};
use super::result::PointResult;
use super::{Report, limits};
use crate::doubt::Doubt;
use crate::folder::Cost;
use crate::visit::{CHANGE, largest_factor};
use document::Bound;
use method::ResultKind;
use method::stats::{self, Interval};
use scenario::Null;
use std::mem::Discriminant;

/// Spread of the repetitions, as a share of their median, from which the device does not count as the limit.
const SPREAD: f64 = 0.2;
/// Share of the time of a frame that must be the device's own. The rest is the transfer of the frame between cores, whose speed
/// is the host's.
const OWN_SHARE: f64 = 0.5;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Limit {
    /// The device; the null device reaches this many times the highest repetition.
    Device(f64),
    Simulated,
    Host(Vec<Reason>),
    Open(Vec<Reason>),
    NoNull,
}

/// Why the device does not count as the limit. A sentence about several results prints the largest figure of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    /// The null device reaches only this many times the highest repetition.
    Headroom(f64),
    Changed(f64),
    Spread(f64),
    /// Only this share of the time of a frame is the device's own.
    Transfers(f64),
    /// The null device was measured on one side of the trials only.
    OneSide,
    /// Repetitions, fewer than show a spread.
    Few(usize),
    SharedCore,
    Doubt(&'static str),
}

impl Reason {
    /// Returns a value that is equal for reasons of the same kind.
    fn kind(&self) -> (Discriminant<Reason>, &'static str) {
        (std::mem::discriminant(self), if let Reason::Doubt(words) = self { words } else { "" })
    }

    /// The reason that says more against the device.
    fn worse(self, other: Reason) -> Reason {
        match (self, other) {
            (Reason::Headroom(a), Reason::Headroom(b)) => Reason::Headroom(a.min(b)),
            (Reason::Changed(a), Reason::Changed(b)) => Reason::Changed(a.max(b)),
            (Reason::Spread(a), Reason::Spread(b)) => Reason::Spread(a.max(b)),
            (Reason::Transfers(a), Reason::Transfers(b)) => Reason::Transfers(a.min(b)),
            (Reason::Few(a), Reason::Few(b)) => Reason::Few(a.min(b)),
            _ => self,
        }
    }

    fn in_words(self, several: bool) -> String {
        let to = if several { "up to " } else { "" };
        match self {
            Reason::Headroom(times) => {
                let least = if several { "as little as " } else { "" };
                format!("the null device reaches {least}{} of the rate", number::percent(times * 100.0))
            }
            Reason::Changed(share) => format!("the null device changed by {to}{}", number::percent(share * 100.0)),
            Reason::Spread(share) => format!("the repetitions differ by {to}{}", number::percent(share * 100.0)),
            Reason::Transfers(own) => {
                format!("{to}{} of the time of a frame passes between cores", number::percent((1.0 - own) * 100.0))
            }
            Reason::OneSide => "the null device was not measured both before and after".to_owned(),
            Reason::Few(n) => format!("{} cannot show the spread", plural(n as u64, "repetition")),
            Reason::SharedCore => "device and tester share a core, so each rate is that of both together".to_owned(),
            Reason::Doubt(words) => words.to_owned(),
        }
    }
}

/// The sentences about the results, all exact, that the device limited. The reasons of `sure` are about the others.
pub(super) fn sentences(report: &Report, results: &[&PointResult], all: &[&PointResult]) -> Vec<String> {
    let limits: Vec<(&PointResult, Limit)> = results.iter().map(|c| (*c, limit(report, c))).collect();
    // Find the results with such a limit: their places and limits.
    let of = |is: fn(&Limit) -> bool| {
        let (results, limits): (Vec<&PointResult>, Vec<&Limit>) =
            limits.iter().filter(|(_, limit)| is(limit)).map(|(result, limit)| (*result, limit)).unzip();
        (!results.is_empty()).then(|| (limits::places(&results, all), limits))
    };
    let simulated = of(|limit| *limit == Limit::Simulated);
    let device = of(|limit| matches!(limit, Limit::Device(_)));
    let sentences = [
        simulated.map(|(places, _)| format!("The simulated device was the limit{places}.")),
        device.map(|(places, limits)| {
            let headroom =
                limits.iter().map(|limit| if let Limit::Device(times) = limit { *times } else { f64::INFINITY });
            let least = number::significant(Bound::AtLeast.rounded(headroom.fold(f64::INFINITY, f64::min), 2), 2);
            format!("The device was the limit{places}: the null device reaches at least {least} times each rate.")
        }),
    ];
    sentences.into_iter().flatten().collect()
}

/// Returns in parentheses why the first device has no null device.
pub(super) fn no_null_device(report: &Report) -> String {
    let scenario = &report.header.scenario;
    match scenario.duts.first().map(|dut| dut.null_device(scenario)) {
        Some(Null::Nothing(why)) => format!(" ({why})"),
        Some(Null::T0) => " (this bed has no T0 of these frames: `natmeter bed t0`)".to_owned(),
        Some(Null::InPlace) | None => String::new(),
    }
}

/// The reasons of several results in words, each kind once.
pub(super) fn reasons(limits: &[&Limit]) -> String {
    let reasons = limits.iter().flat_map(|limit| match limit {
        Limit::Host(reasons) | Limit::Open(reasons) => reasons.as_slice(),
        Limit::Device(_) | Limit::Simulated | Limit::NoNull => &[],
    });
    let kinds = document::grouped_by(reasons.copied(), Reason::kind).into_iter();
    let in_words = kinds.filter_map(|(_, alike)| {
        let several = alike.len() > 1;
        Some(alike.into_iter().reduce(Reason::worse)?.in_words(several))
    });
    in_words.collect::<Vec<_>>().join("; ")
}

/// What to do where this host was the limit; nothing where the reasons name the cores that it lacks.
pub(super) fn advice(report: &Report) -> &'static str {
    let is_host = |c: &PointResult| c.bound == ResultKind::Exact && matches!(limit(report, c), Limit::Host(_));
    if !report.results.iter().any(is_host) || facts::too_few_cores(report).is_some() {
        return "";
    }
    let has_cost = |cost: &Cost| cost.cpu_ns_per_frame.is_some() || cost.paired_ratio.is_some();
    if report.results.iter().filter_map(|c| c.cost.as_ref()).any(has_cost) {
        " Measure on an idle machine, or compare the cost of a frame instead of the rates."
    } else {
        " Measure again on an idle machine with isolated cores."
    }
}

pub(super) fn limit(report: &Report, result: &PointResult) -> Limit {
    if is_simulated(report, result) {
        return Limit::Simulated;
    }
    if result.null_rates().next().is_none() {
        return Limit::NoNull;
    }
    let host = by_host(report, result);
    if !host.is_empty() {
        return Limit::Host(host);
    }
    let open = open(report, result);
    if !open.is_empty() {
        return Limit::Open(open);
    }
    headroom(result).map_or(Limit::NoNull, Limit::Device)
}

/// Whether what limited a result is open because its repetitions are few, so that they need not be named again.
pub(super) fn is_said_to_be_few(report: &Report, result: &PointResult) -> bool {
    let is_few = |reason: &Reason| matches!(reason, Reason::Few(_));
    result.bound == ResultKind::Exact
        && matches!(limit(report, result), Limit::Open(reasons) if reasons.iter().any(is_few))
}

pub(super) fn is_simulated(report: &Report, result: &PointResult) -> bool {
    report.header.scenario.is_simulated(result.dut)
}

/// Lowest rate of the null device divided by the highest repetition.
fn headroom(result: &PointResult) -> Option<f64> {
    let lowest = result.null_rates().min_by(f64::total_cmp)?;
    let highest = result.summary.map(|s| s.max).filter(|&max| max > 0.0)?;
    Some(lowest / highest)
}

fn by_host(report: &Report, result: &PointResult) -> Vec<Reason> {
    let mut reasons = Vec::new();
    reasons.extend(headroom(result).filter(|times| times * BELIEVED_SHARE < 1.0).map(Reason::Headroom));
    reasons.extend(change(report, result).map(Reason::Changed));
    reasons.extend(spread(result).filter(|&share| share >= SPREAD).map(Reason::Spread));
    reasons.extend(own_share(report, result).filter(|&share| share < OWN_SHARE).map(Reason::Transfers));
    reasons
}

/// Share of the time of a frame that the device itself takes, at this point: what a frame costs where nothing crosses cores,
/// divided by the time that each core of the device had for it at the measured throughput.
fn own_share(report: &Report, result: &PointResult) -> Option<f64> {
    let at_point = report.results.iter().filter(|c| c.is_beside(result));
    let shares = at_point.filter_map(|c| {
        let own = c.cost.as_ref()?.one_thread_ns_per_frame?.least;
        let frames = c.total(c.median()?) / f64::from(c.cores.max(1));
        Some(own * frames / 1e9)
    });
    shares.max_by(f64::total_cmp)
}

/// Maximum minus minimum of the repetitions, divided by their median.
fn spread(result: &PointResult) -> Option<f64> {
    let s = result.summary.filter(|s| s.median > 0.0)?;
    Some((s.max - s.min) / s.median)
}

fn open(report: &Report, result: &PointResult) -> Vec<Reason> {
    let sides = |before: bool| result.null.iter().any(|null| null.before == before);
    let n = result.summary.map_or(0, |s| s.n);
    let ceiling = facts::ceiling(report, result).is_some_and(|c| result.median() > Some(c * BELIEVED_SHARE));
    let test = report.self_test.as_ref();
    let doubts = [
        (result.one_sided > 0, "a search was one-sided"),
        (result.validation_failed > 0, "validation limited the rate"),
        (result.queued_excess(report.header.scenario.measure.duration).is_some(), "queues may hide losses"),
        (ceiling, "the rate is within 10 % of the tester ceiling"),
        (result.invalid * 2 > result.trials, "more than half of the trials were invalid"),
        (test.is_some_and(|test| !test.passed), "the self-test failed"),
        (report.facts.doubts.contains(&Doubt::SelfTestSkipped), "the self-test was skipped"),
        (test.is_some_and(|test| !test.named("inconclusive").is_empty()), "the self-test was inconclusive"),
        (!report.audit.findings.is_empty(), "the record is damaged"),
    ];
    let mut reasons = Vec::new();
    reasons.extend(result.shares_core.then_some(Reason::SharedCore));
    reasons.extend((!(sides(true) && sides(false))).then_some(Reason::OneSide));
    reasons.extend((n < Interval::LEAST_VALUES).then_some(Reason::Few(n)));
    reasons.extend(doubts.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| Reason::Doubt(words)));
    reasons
}

/// The change of the null device at a point, if it is above the limit: between its measurements there, or against the
/// median of its measurements at all points of this device with the same number of cores. The latter compares rates in
/// relation to the tester ceiling, because a larger state table slows down the null device, too.
fn change(report: &Report, result: &PointResult) -> Option<f64> {
    let alike = |c: &&PointResult| {
        (c.dut, c.cores, c.metric.as_str(), c.connections == 0)
            == (result.dut, result.cores, result.metric.as_str(), result.connections == 0)
    };
    let relative = |c: &PointResult| -> Vec<f64> {
        facts::ceiling(report, c).map_or_else(Vec::new, |ceiling| c.null_rates().map(|rate| rate / ceiling).collect())
    };
    let mut all: Vec<f64> = report.results.iter().filter(alike).flat_map(relative).collect();
    all.sort_by(f64::total_cmp);
    let median = stats::median_of(&all).and_then(|median| largest_factor(&relative(result), median));
    let own: Vec<f64> = result.null_rates().collect();
    let factors = own.iter().filter_map(|&rate| largest_factor(&own, rate)).chain(median);
    factors.max_by(f64::total_cmp).map(|factor| factor - 1.0).filter(|&change| change > CHANGE)
}

pub(super) fn doubt(report: &Report) -> Option<String> {
    let measured = |c: &&PointResult| !c.repetitions.is_empty() && c.bound != ResultKind::NothingMeasured;
    let results: Vec<&PointResult> = report.results.iter().filter(measured).collect();
    let changed: Vec<(&PointResult, f64)> = results.iter().filter_map(|c| Some((*c, change(report, c)?))).collect();
    let most = changed.iter().map(|(_, change)| *change).max_by(f64::total_cmp)?;
    let points: Vec<&PointResult> = changed.into_iter().map(|(result, _)| result).collect();
    let places = limits::places(&points, &results);
    let advice = facts::too_few_cores(report).unwrap_or_else(|| "repeat on an idle machine".to_owned());
    Some(format!("The null device changed by up to {}{places}; {advice}.", number::percent(most * 100.0)))
}
