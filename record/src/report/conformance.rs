//! The conformance label of a run: whether its figures are results of RFC 2544 and RFC 9693. Every report prints it. It
//! follows from the settings and from the recorded trials.

use super::number;
use super::result::{PointResult, Repetition};
use crate::folder::SelfTest;
use method::{Count, ResultKind, TrialRecord};
use scenario::{Scenario, conformance};
use schemars::JsonSchema;
use serde::Serialize;

/// The conformance label of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conformance {
    /// Short form, for titles.
    pub label: String,
    /// Whether nothing departs from the RFCs.
    pub conforming: bool,
    /// Departures, each with the section of the RFC.
    pub departures: Vec<String>,
}

impl Conformance {
    /// Derives the label from the settings of a scenario and from the run.
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

/// Results and trials of a run.
pub struct Found<'a> {
    /// Its results.
    pub results: &'a [PointResult],
    /// Its trials.
    pub trials: &'a [TrialRecord],
    /// Verdict of the self-test.
    pub self_test: Option<&'a SelfTest>,
}

impl Found<'_> {
    /// Departures that follow from the run and not from its settings, one sentence each.
    fn departures(&self, scenario: &Scenario) -> Vec<String> {
        let mut departures = Vec::new();
        if self.self_test.is_some_and(|test| !test.passed) {
            departures.push("the tester's self-test failed".to_owned());
        }
        if scenario.capture.is_some() {
            departures.push("frames were captured during the measurements".to_owned());
        }
        let resent: Count =
            self.trials.iter().filter_map(|t| t.outcome.store.as_ref()).map(|store| store.phase1_resent).sum();
        if resent > 0 {
            departures.push(format!(
                "phase 1 before phase 2 opened {} again after losses in the host (RFC 9693 opens each connection once)",
                number::plural(resent, "connection")
            ));
        }
        let undecided = |r: &&Repetition| {
            matches!(
                r.bound,
                ResultKind::HostLimit | ResultKind::Between | ResultKind::Below | ResultKind::NothingMeasured
            )
        };
        let ended: usize =
            self.results.iter().map(|c| c.ended_early + c.repetitions.iter().filter(undecided).count()).sum();
        if ended > 0 {
            let searches = if ended == 1 { "1 search".to_owned() } else { format!("{ended} searches") };
            departures.push(format!("{searches} ended before reaching the requested precision"));
        }
        if self.results.iter().any(|c| c.shares_core) {
            departures.push("tester and device share a core".to_owned());
        }
        departures
    }
}
