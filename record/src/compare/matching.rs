//! Matches the results of several runs.

use super::Run;
use crate::report::result::PointResult;
use scenario::Dut;
use std::collections::BTreeSet;

#[derive(Clone, Copy)]
pub(crate) struct RunResult<'a> {
    pub(crate) number: usize,
    pub(crate) run: &'a Run,
    pub(crate) result: &'a PointResult,
}

impl RunResult<'_> {
    /// Whether the device is simulated, so that no host can slow it down.
    pub(crate) fn is_simulated(&self) -> bool {
        self.run.report.header.scenario.is_simulated(self.result.dut)
    }
}

fn dut<'a>(run: &'a Run, result: &PointResult) -> Option<&'a Dut> {
    run.report.header.scenario.duts.get(result.dut)
}

pub(crate) fn technology_of(run: &Run, result: &PointResult) -> &'static str {
    dut(run, result).map_or("", |dut| dut.function())
}

/// Returns the results of all runs in groups of one metric and point, each run at most once in a group.
pub(crate) fn groups<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Vec<RunResult<'a>>> {
    let mut groups: Vec<Vec<RunResult>> = Vec::new();
    for (run, number) in runs.into_iter().zip(1..) {
        let results: Vec<RunResult> =
            run.report.results.iter().map(|result| RunResult { number, run, result }).collect();
        let known = groups.len();
        let by_name = |a: &RunResult, b: &RunResult| a.result.dut_name == b.result.dut_name;
        let mut left: Vec<RunResult> = Vec::new();
        for result in results {
            match groups[..known].iter_mut().find(|group| is_same(&group[0], &result, by_name)) {
                Some(group) => group.push(result),
                None => left.push(result),
            }
        }
        for result in &left {
            let by_technology =
                |a: &RunResult, b: &RunResult| technology_of(a.run, a.result) == technology_of(b.run, b.result);
            let is_one = left.iter().filter(|other| is_same(other, result, by_technology)).count() == 1;
            let is_open = |group: &Vec<RunResult>| {
                is_same(&group[0], result, by_technology) && group.iter().all(|other| other.number != number)
            };
            let open: Vec<usize> = (0..known).filter(|&at| is_open(&groups[at])).collect();
            match open[..] {
                [one] if is_one => groups[one].push(*result),
                _ => groups.push(vec![*result]),
            }
        }
    }
    groups
}

/// Returns the devices of two runs in pairs: those with matched results; of the others those with one name, and each that only
/// one run has.
pub(crate) fn devices<'a>(reference: &'a Run, run: &'a Run) -> BTreeSet<(Option<&'a str>, Option<&'a str>)> {
    let names = |run: &'a Run| -> BTreeSet<&'a str> {
        let of_results = run.report.results.iter().map(|result| result.dut_name.as_str());
        of_results.chain(run.report.facts.duts.keys().map(String::as_str)).collect()
    };
    let name = |result: &RunResult<'a>| Some(result.result.dut_name.as_str());
    let matched: BTreeSet<_> = groups([reference, run])
        .iter()
        .filter_map(|group| if let [a, b] = &group[..] { Some((name(a), name(b))) } else { None })
        .collect();
    let (mut left, mut left_of_run) = (names(reference), names(run));
    left.retain(|name| matched.iter().all(|(a, _)| *a != Some(name)));
    left_of_run.retain(|name| matched.iter().all(|(_, b)| *b != Some(name)));
    let pair = |name| (left.get(name).copied(), left_of_run.get(name).copied());
    matched.iter().copied().chain(left.union(&left_of_run).map(|name| pair(*name))).collect()
}

fn is_same(a: &RunResult, b: &RunResult, of_device: impl Fn(&RunResult, &RunResult) -> bool) -> bool {
    let key = |p: &RunResult| (p.result.connections, p.result.cores, p.result.axes.clone());
    a.result.metric == b.result.metric && key(a) == key(b) && of_device(a, b)
}
