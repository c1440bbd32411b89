//! The limits of a scenario, judged: a verdict for each limit and each result that it is about.

use super::result::PointResult;
use super::value::in_short;
use super::{Report, facts};
use crate::compare::threshold::{Amount, Baseline, Meets, judge};
use document::{Section, Table, row};
use scenario::Point;
use scenario::limits::{Limit, Limits};
use schemars::JsonSchema;
use serde::Serialize;

/// A limit, and what a result says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JudgedLimit {
    /// Key of the metric.
    pub metric: String,
    /// The limit as written.
    pub limit: String,
    /// Device and point; empty if there is no result.
    pub place: String,
    /// The median with its bound and its interval or range, in words; empty without one.
    pub value: String,
    /// The verdict.
    pub verdict: LimitVerdict,
    /// Why it is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

method::worded! {
    /// Whether a value meets a limit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum LimitVerdict: word {
        /// The whole interval meets it.
        Met = "met",
        /// No part of the interval meets it.
        Missed = "missed",
        /// A part of the interval meets it, or there is no value.
        Undecided = "undecided",
    }
}

impl LimitVerdict {
    fn mark(self) -> &'static str {
        match self {
            LimitVerdict::Met => "✓",
            LimitVerdict::Missed => "✗",
            LimitVerdict::Undecided => "?",
        }
    }
}

impl JudgedLimit {
    /// A line: `✓ throughput >= 3M: 3.98 Mfps per direction (embedded, 1 core, 100,000 connections)`.
    pub fn line(&self) -> String {
        let JudgedLimit { metric, limit, place, value, verdict, why } = self;
        let said = [Some(value.as_str()).filter(|value| !value.is_empty()), why.as_deref()];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
        let said = if said.is_empty() { verdict.word() } else { &said };
        format!("{} {metric} {limit}: {said}{place}", verdict.mark())
    }
}

impl Report {
    /// Judges the results by these limits, in place of the scenario's.
    pub fn judge(&mut self, limits: &Limits, baseline: Option<&Report>) {
        let of = |limit: &Limit| {
            let about = |result: &&PointResult| limit.is_about(&point(result), &result.metric);
            let judged: Vec<JudgedLimit> =
                self.results.iter().filter(about).map(|result| judged(limit, result, baseline, self)).collect();
            if judged.is_empty() { vec![without(limit)] } else { judged }
        };
        self.limits = limits.all.iter().flat_map(of).collect();
    }
}

fn point(result: &PointResult) -> Point {
    let PointResult { dut, dut_name, connections, cores, axes, .. } = result;
    Point { dut: *dut, dut_name: dut_name.clone(), connections: *connections, cores: *cores, axes: axes.clone() }
}

fn without(limit: &Limit) -> JudgedLimit {
    JudgedLimit {
        metric: limit.condition.metric.key.to_owned(),
        limit: limit.text.clone(),
        place: String::new(),
        value: String::new(),
        verdict: LimitVerdict::Undecided,
        why: Some("the run has no such value".to_owned()),
    }
}

fn judged(limit: &Limit, result: &PointResult, baseline: Option<&Report>, report: &Report) -> JudgedLimit {
    let reference = baseline.and_then(|of| reference(of, result, report.technology(result)));
    let is_relative = matches!(limit.condition.amount, Amount::OfBaseline(_));
    let (verdict, why) = match judge(&limit.condition, result, reference) {
        Meets::Yes => (LimitVerdict::Met, None),
        Meets::No => (LimitVerdict::Missed, None),
        Meets::Bounded => (LimitVerdict::Undecided, Some("tester or host bounds the value")),
        Meets::Near if is_relative => (LimitVerdict::Undecided, Some("the interval of the ratio contains the limit")),
        Meets::Near => (LimitVerdict::Undecided, Some("the interval contains the limit")),
        Meets::NoValue if is_relative && reference.is_none() => {
            (LimitVerdict::Undecided, Some("the baseline has no such value"))
        }
        Meets::NoValue => (LimitVerdict::Undecided, Some("no value")),
    };
    JudgedLimit {
        place: facts::device_at(result),
        value: if result.repetitions.is_empty() { String::new() } else { in_short(result) },
        verdict,
        why: why.map(str::to_owned),
        ..without(limit)
    }
}

/// The same point of the baseline: of the device with this name, or of the only one of its technology.
fn reference<'a>(baseline: &'a Report, result: &PointResult, technology: &str) -> Baseline<'a> {
    let is_same = |other: &&PointResult| {
        let at = |of: &PointResult| (of.metric.clone(), of.connections, of.cores, of.axes.clone());
        at(other) == at(result)
    };
    let all: Vec<&PointResult> = baseline.results.iter().filter(is_same).collect();
    let named = all.iter().find(|other| other.dut_name == result.dut_name);
    let alike: Vec<_> = all.iter().filter(|other| baseline.technology(other) == technology).collect();
    let found = named.or_else(|| alike.first().copied().filter(|_| alike.len() == 1))?;
    Some((*found, baseline.header.scenario.is_simulated(found.dut)))
}

pub(super) fn section(report: &Report) -> Option<Section> {
    let rows = report.limits.iter().map(|judged| {
        let verdict = format!("{} {}", judged.verdict.mark(), judged.verdict.word());
        let why = judged.why.clone().unwrap_or_default();
        row(format!("{} {}", judged.metric, judged.limit), [verdict, judged.value.clone(), judged.place.clone(), why])
    });
    let table = Table::new("Limits", "limit", ["verdict", "value", "at", "why"]).with_parameters(rows);
    let section = || Section { title: "Limits".to_owned(), tables: vec![table], ..Section::default() };
    (!report.limits.is_empty()).then(section)
}
