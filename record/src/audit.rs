//! Whether the record of a run is whole and agrees with itself. Trials and results stand in files that anyone can edit
//! and any copy can cut, so a report does not believe them unseen, and a resumed run does not go on from them.
//!
//! Two kinds of checks. *Structure* holds for every record: the trials are numbered without gaps, trials and results
//! belong to the plan, the plan is that of the scenario, and each result has the trials that it names. *Rules* hold
//! where this natmeter has the rules of the run: each trial is judged again, and each search is repeated over its
//! recorded trials. A record of other rules keeps the verdicts that it has and is labelled so.

mod rules;
mod structure;

use crate::folder::{Header, POINT_BY_POINT};
use crate::read::Record;
use serde::Serialize;
use std::fmt;

/// What to do about a changed file.
const RESTORE: &str = "restore the file from a copy, or start a new run";

/// Something that is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file.
    pub file: &'static str,
    /// The line, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub way_out: String,
}

impl Finding {
    fn new(file: &'static str, line: impl Into<Option<usize>>, what: String) -> Finding {
        Finding { file, line: line.into(), what, way_out: RESTORE.to_owned() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}; {}", self.file, self.what, self.way_out),
            None => write!(f, "{}: {}; {}", self.file, self.what, self.way_out),
        }
    }
}

/// What the verdicts and results of a report rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// They were derived again from what the trials recorded.
    DerivedAgain,
    /// They are those that the record holds: it has other rules than this natmeter, or does not name them.
    AsRecorded,
}

/// The outcome of an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// What verdicts and results rest on.
    pub basis: Basis,
    /// What is wrong, in the order of files and lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// Why a run is not resumed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Its record is damaged.
    #[error("the record of this run is damaged, so it cannot be resumed:{}", listed(.0))]
    Damaged(Vec<Finding>),
    /// Its record does not name its rules, and they are not those of this natmeter.
    #[error(
        "run.json: the run does not name its rules, and by those of this natmeter trials or results come out otherwise; \
         resume it with natmeter {natmeter}, or start a new run:{}",
        listed(.findings)
    )]
    Unnamed {
        /// The version that wrote it.
        natmeter: String,
        /// What comes out otherwise.
        findings: Vec<Finding>,
    },
    /// It has rules that this natmeter does not have.
    #[error(
        "run.json: the run has version {rules} of the rules, and this natmeter judges by version {}; \
         resume it with natmeter {natmeter}, or start a new run",
        method::RULES
    )]
    Rules {
        /// The version of its rules.
        rules: u32,
        /// The version that wrote it.
        natmeter: String,
    },
    /// It has an order of trials that this natmeter does not know.
    #[error(
        "run.json: this natmeter does not know the order of trials `{order}`; \
         resume it with natmeter {natmeter}, or start a new run"
    )]
    Order {
        /// The order.
        order: String,
        /// The version that wrote it.
        natmeter: String,
    },
}

fn listed(findings: &[Finding]) -> String {
    findings.iter().flat_map(|finding| ["\n  ".to_owned(), finding.to_string()]).collect()
}

/// Check a record as far as its rules are known.
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

/// Whether a run can be resumed: its record is whole, and this natmeter would have found the same.
///
/// # Errors
/// Why it cannot.
pub fn see_that_it_can_be_resumed(record: &Record) -> Result<(), Refusal> {
    let Header { version, rules, order, .. } = &record.header;
    let natmeter = version.clone();
    if let Some(rules) = rules.filter(|&rules| rules != method::RULES) {
        return Err(Refusal::Rules { rules, natmeter });
    }
    if order != POINT_BY_POINT {
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
