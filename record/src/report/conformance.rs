//! The label of a run: whether its procedure conforms to RFC 2544 and RFC 9693, and what its test bed is. Every report prints
//! it. It follows from the settings and from the recorded trials.

use super::number;
use super::result::{PointResult, Repetition};
use crate::folder::SelfTest;
use method::{Count, ResultKind, TrialRecord, Verdict};
use scenario::{Scenario, TestBed, conformance, label};
use schemars::JsonSchema;
use serde::Serialize;

/// The label of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conformance {
    /// Procedure and test bed in short form, for titles.
    pub label: String,
    /// Whether the procedure departs from the RFCs nowhere. No test bed of this natmeter is that of RFC 2544, so this is
    /// never conformance without qualification.
    pub procedure_conforms: bool,
    /// Departures of the procedure, each with the section of the RFC.
    pub departures: Vec<String>,
    /// The test beds of the devices, each once.
    pub test_bed: Vec<TestBed>,
}

impl Conformance {
    /// Derives the label from the settings of a scenario and from the run.
    pub fn of(scenario: &Scenario, run: &Found<'_>) -> Conformance {
        let mut departures = conformance(scenario);
        departures.extend(run.departures(scenario));
        Conformance {
            label: label(scenario, departures.len()),
            procedure_conforms: departures.is_empty(),
            departures,
            test_bed: TestBed::all(scenario),
        }
    }

    /// How the test bed differs from that of RFC 2544, in a sentence.
    pub fn test_bed_in_words(&self) -> String {
        let differs: Vec<&str> = self.test_bed.iter().map(|bed| bed.differs()).collect();
        format!("{}.", number::capitalised(&differs.join("; ")))
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
        let discarded = self.trials.iter().filter(|trial| matches!(trial.verdict, Verdict::Invalid(_))).count();
        if discarded > 0 {
            departures.push(format!(
                "{} of {} were discarded as invalid (RFC 2544, section 26.1 has no invalid trials)",
                number::grouped(discarded as u64),
                number::plural(self.trials.len() as u64, "trial")
            ));
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
                ResultKind::Strict
                    | ResultKind::HostLimit
                    | ResultKind::Between
                    | ResultKind::Below
                    | ResultKind::NothingMeasured
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
