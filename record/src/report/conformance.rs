//! The label of a run: whether its procedure conforms to the RFCs that define its metrics, and what its test bed is. Every report
//! prints it. It follows from the settings and from the recorded trials.

use super::result::{PointResult, Repetition};
use super::{number, parts};
use crate::folder::SelfTest;
use method::{ResultKind, TrialRecord, Verdict};
use procedure::Metric;
use procedure::requirement::{Check, Compliance, Finding, Run};
use scenario::{Scenario, TestBed, label};
use schemars::JsonSchema;
use serde::Serialize;

/// The label of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conformance {
    /// Procedure and test bed in short form, for titles.
    pub label: String,
    /// Whether RFCs define every metric, and every MUST and definition of theirs is met; without `--full`, every SHOULD, too. No
    /// test bed of this natmeter is that of RFC 2544, so this is never conformance without qualification.
    pub procedure_conforms: bool,
    /// What the run does differently, each with the section of the RFC, and which metrics natmeter defines.
    pub departures: Vec<String>,
    /// Keys of the metrics that natmeter defines, because no RFC does.
    pub defined_by_natmeter: Vec<&'static str>,
    /// The RFCs that define the other metrics.
    pub documents: Vec<&'static str>,
    /// The requirements that concern the run and that a run can fail to meet.
    pub requirements: Vec<RequirementOfRun>,
    /// The test beds of the devices, each once.
    pub test_bed: Vec<TestBed>,
}

/// A requirement that concerns a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequirementOfRun {
    /// Its document; empty: natmeter's own rule.
    pub document: &'static str,
    /// Its section; empty if the document has none.
    pub section: &'static str,
    /// `MUST`, `SHOULD`, or `defines`: a definition without a key word, as binding as MUST.
    pub level: &'static str,
    /// What it asks.
    pub asks: &'static str,
    /// The metrics of which it asks this.
    pub metrics: Vec<&'static str>,
    /// Whether the run meets it.
    pub met: bool,
    /// What the run does instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// Whether no run meets it, so that the label leaves it out: docs/requirements.md names it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub never_met: bool,
}

impl RequirementOfRun {
    fn of(compliance: Compliance) -> RequirementOfRun {
        let Compliance { document, requirement, metrics, finding } = compliance;
        RequirementOfRun {
            document: document.name,
            section: requirement.section,
            level: requirement.level.key_word().unwrap_or("defines"),
            asks: requirement.asks,
            metrics,
            met: finding == Finding::Met,
            instead: match finding {
                Finding::NotMet(words) | Finding::AnotherMetric(words) => Some(words),
                Finding::Met | Finding::NotApplicable => None,
            },
            never_met: matches!(requirement.check, Check::Named(_)),
        }
    }
}

impl Conformance {
    /// Derives the label from the settings of a scenario and from the run.
    pub fn of(scenario: &Scenario, found: &RunResults<'_>) -> Conformance {
        let run = found.run();
        let assessment = scenario.assess(|metric| Some(found.of(metric, run)));
        let documents = assessment.documents();
        Conformance {
            label: label(scenario, &assessment),
            procedure_conforms: assessment.conforms(),
            departures: assessment.sentences(),
            defined_by_natmeter: assessment.own.iter().map(|own| own.metric).collect(),
            documents,
            requirements: assessment.compliances.into_iter().map(RequirementOfRun::of).collect(),
            test_bed: TestBed::all(scenario),
        }
    }

    /// How the test bed differs from that of RFC 2544, in a sentence.
    pub fn test_bed_in_words(&self) -> String {
        let differs: Vec<&str> = self.test_bed.iter().map(|bed| bed.differs()).collect();
        format!("{}.", number::capitalised(&differs.join("; ")))
    }

    /// What a run without `--full` is.
    pub fn quick_in_words(&self) -> &'static str {
        if self.documents.is_empty() {
            "Quick run of a procedure that natmeter defines"
        } else {
            "Quick run, not RFC 2544 (that is `--full`)"
        }
    }

    /// Whether the procedure of a run with `--full` conforms, in a sentence.
    pub fn in_words(&self) -> String {
        let documents = number::listed(&self.documents);
        match (self.procedure_conforms, self.departures.is_empty()) {
            (true, true) => format!("The procedure conforms to {documents}."),
            (true, false) => format!(
                "The procedure conforms to {documents}, of which it does not follow all recommendations: {}.",
                self.departures.join("; ")
            ),
            (false, _) if self.documents.is_empty() => {
                format!("natmeter defines the procedure: {}.", self.departures.join("; "))
            }
            (false, _) => format!("The procedure departs from {documents}: {}.", self.departures.join("; ")),
        }
    }
}

pub struct RunResults<'a> {
    pub results: &'a [PointResult],
    pub trials: &'a [TrialRecord],
    pub self_test: Option<&'a SelfTest>,
}

impl RunResults<'_> {
    /// What the record shows of all metrics.
    fn run(&self) -> Run {
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
        let ended = self.results.iter().map(|c| c.ended_early + c.repetitions.iter().filter(undecided).count());
        Run {
            trials: self.trials.len() as u64,
            discarded: self.trials.iter().filter(|trial| matches!(trial.verdict, Verdict::Invalid(_))).count() as u64,
            resent: self.trials.iter().filter_map(|t| t.outcome.store.as_ref()).map(|store| store.phase1_resent).sum(),
            ended_early: ended.sum::<usize>() as u64,
            self_test_failed: self.self_test.is_some_and(|test| !test.passed),
            shares_core: self.results.iter().any(|c| c.shares_core),
            ..Run::default()
        }
    }

    /// The same with what it shows of one metric: the fewest repetitions of a point that has any, and whether a result is a bound.
    fn of(&self, metric: &Metric, run: Run) -> Run {
        let of = || self.results.iter().filter(|c| parts::measured(&c.metric) == metric.key);
        let repetitions = of().map(|c| c.repetitions.len() as u32).filter(|&n| n > 0).min();
        Run { repetitions, lower_bound: of().any(PointResult::at_least), ..run }
    }
}
