//! The label of a run: whether its figures may be called results of RFC 2544 and RFC 9693. Its own file because the
//! label stands on every report and must follow from the settings and from what became of them, not from what somebody hoped for.

use super::number;
use super::result::{PointResult, Repetition};
use crate::folder::SelfTest;
use method::{Count, ResultKind, TrialRecord};
use scenario::{Scenario, conformance};
use serde::Serialize;

/// The label of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// In a few words, for a title.
    pub label: String,
    /// Nothing departs from the RFCs.
    pub conforming: bool,
    /// What departs, each with the section that asks for something else.
    pub departures: Vec<String>,
}

impl Conformance {
    /// Judge the settings of a scenario, and what became of them.
    pub fn of(scenario: &Scenario, run: &Found<'_>) -> Conformance {
        let mut departures = conformance(scenario);
        departures.extend(run.departures(scenario));
        let label = match (scenario.full, departures.is_empty()) {
            (_, true) => "conforms to RFC 2544 and RFC 9693",
            (false, false) => "quick, not RFC 2544",
            (true, false) => "not conforming",
        };
        Conformance { label: label.to_owned(), conforming: departures.is_empty(), departures }
    }
}

/// What a run found.
pub struct Found<'a> {
    /// Its results.
    pub results: &'a [PointResult],
    /// Its trials.
    pub trials: &'a [TrialRecord],
    /// Verdict of the self-test.
    pub self_test: Option<&'a SelfTest>,
}

impl Found<'_> {
    /// What no setting asked for, one sentence each.
    fn departures(&self, scenario: &Scenario) -> Vec<String> {
        let mut departures = Vec::new();
        if self.self_test.is_some_and(|test| !test.passed) {
            departures.push("the tester's self-test failed".to_owned());
        }
        if scenario.capture.is_some() {
            departures.push("frames were captured while they were measured".to_owned());
        }
        let resent: Count =
            self.trials.iter().filter_map(|t| t.outcome.store.as_ref()).map(|store| store.phase1_resent).sum();
        if resent > 0 {
            departures.push(format!(
                "preparing phases 1 sent {} again that the host had swallowed (RFC 9693 has each connection opened once)",
                number::plural(resent, "connection")
            ));
        }
        let by_host = |r: &&Repetition| {
            matches!(
                r.bound,
                ResultKind::HostLimit | ResultKind::Between | ResultKind::Below | ResultKind::NothingMeasured
            )
        };
        let ended: usize =
            self.results.iter().map(|c| c.ended_early + c.repetitions.iter().filter(by_host).count()).sum();
        if ended > 0 {
            let searches = if ended == 1 { "1 search".to_owned() } else { format!("{ended} searches") };
            departures.push(format!("{searches} ended before the bounds were as close as asked for"));
        }
        if self.results.iter().any(|c| c.shares_core) {
            departures.push("tester and device share a core".to_owned());
        }
        departures
    }
}
