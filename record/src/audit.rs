//! Checks whether the record of a run is complete and consistent: its *structure*, and if this natmeter has the rules of the
//! run, its verdicts and results, which it derives again. A record with other rules keeps its recorded verdicts.

mod rules;
mod structure;

use crate::folder::{Header, version_in_words};
use crate::plan::Measurement;
use crate::read::Record;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

const RESTORE: &str = "restore the file from a copy, or start a new run";

/// An error in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The file.
    pub file: &'static str,
    /// The line, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// How to fix it.
    #[serde(rename = "way_out")]
    pub remedy: String,
}

impl Finding {
    fn new(file: &'static str, line: impl Into<Option<usize>>, what: String) -> Finding {
        Finding { file, line: line.into(), what, remedy: RESTORE.to_owned() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}; {}", self.file, self.what, self.remedy),
            None => write!(f, "{}: {}; {}", self.file, self.what, self.remedy),
        }
    }
}

/// The basis of the verdicts and results of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// They were derived again from what the trials recorded.
    DerivedAgain,
    /// They are as recorded: the record has other rules than this natmeter, or does not name its rules.
    AsRecorded,
}

/// The outcome of an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Audit {
    /// Basis of verdicts and results.
    pub basis: Basis,
    /// Errors in the order of files and lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the record of this run is damaged, so it cannot be resumed:{}", listed(.0))]
    Damaged(Vec<Finding>),
    #[error(
        "run.json: the run does not name the version of its rules, and the rules of this natmeter give other verdicts or \
         results; resume it with the build that wrote it, natmeter {natmeter}, or start a new run:{}",
        listed(.findings)
    )]
    Unnamed { natmeter: String, findings: Vec<Finding> },
    #[error(
        "run.json: the run has version {rules} of the rules, but this natmeter has version {}; \
         resume it with the build that wrote it, natmeter {natmeter}, or start a new run",
        method::RULES
    )]
    Rules { rules: u32, natmeter: String },
    #[error(
        "run.json: the order of trials `{order}` is unknown to this natmeter; \
         resume it with the build that wrote it, natmeter {natmeter}, or start a new run"
    )]
    Order { order: String, natmeter: String },
}

fn listed(findings: &[Finding]) -> String {
    findings.iter().flat_map(|finding| ["\n  ".to_owned(), finding.to_string()]).collect()
}

/// Checks a record as far as its rules are known.
pub fn audit(record: &Record) -> Audit {
    let mut findings = structure::findings(record);
    if !record.header.has_known_rules() {
        return Audit { basis: Basis::AsRecorded, findings };
    }
    if findings.is_empty() {
        findings = rules::findings(record);
        findings.extend(rules::lost_results(record));
    }
    Audit { basis: Basis::DerivedAgain, findings }
}

/// Returns the measurements whose recorded trials give a result that is not recorded.
pub fn lost(record: &Record) -> Vec<Measurement> {
    rules::lost(record).map(|(measurement, ..)| measurement.clone()).collect()
}

/// Checks that a run can be resumed: its record is complete, and this natmeter derives the same verdicts and results.
pub fn check_resumable(record: &Record) -> Result<(), Refusal> {
    let Header { version, commit, rules, order, .. } = &record.header;
    let commit = commit.clone().or_else(|| record.facts.natmeter().commit);
    let natmeter = version_in_words(version, commit.as_deref());
    if let Some(rules) = rules.filter(|&rules| rules != method::RULES) {
        return Err(Refusal::Rules { rules, natmeter });
    }
    if record.header.sequence().is_none() {
        return Err(Refusal::Order { order: order.clone(), natmeter });
    }
    let findings = structure::findings(record);
    if !findings.is_empty() {
        return Err(Refusal::Damaged(findings));
    }
    let findings = rules::findings(record);
    match (findings.is_empty(), rules) {
        (true, _) => Ok(()),
        (false, Some(_)) => Err(Refusal::Damaged(findings)),
        (false, None) => Err(Refusal::Unnamed { natmeter, findings }),
    }
}
